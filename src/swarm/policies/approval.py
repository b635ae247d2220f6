"""Approval: asks for decisions while the run waits, so that it needs no pause."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from ..approvals import read, told
from ..context import own
from ..effects import Call, Decide, Emit, Flow
from ..inside import inside
from ..offers import CALL_NAMES
from ..tools import callback_parameters
from ..types import Pending

ASK_NAMES = ("call", *CALL_NAMES)
"""What `ask` and `when` may ask for by parameter name."""

logger = logging.getLogger("swarm.audit")


class Approval:
    """Asks a function, which may ask a person, about each call that needs an approval, before any call of its reply runs.

    Asked are the calls whose tools say so (`@tool(approval=...)`) and those that `when` picks, one after another in the order of the reply.
    What the caller decided already (`approvals=`) is not asked again. Each decision is an event `PolicyActed`, whose `detail` says what was
    decided about which call, and a line at level INFO of the logger "swarm.audit"; neither holds the arguments.

    Both functions, sync or async, get what their parameters are called: `call` (a Pending: `id`, `name`, `arguments`, `agent`),
    `arguments`, `context_variables`, `messages`, `agent`, `run`. A sync `ask` runs in a worker thread under `AsyncSwarm`, so it may wait
    for a person. Agents that work side by side as tools may ask at the same time.

    Args:
        ask: returns True, False, `Approve(arguments=...)`, `Refuse("why")`, the JSON form of one of them, or None for "not now": then the
            run pauses, with every call that needs an approval in `Response.pending`.
        when: whether a call needs an approval though its tool does not say so; asked about every such call, so it must not block.

    Attributes:
        only_marked: whether calls of tools that ask for no approval are none of its business, which makes them cost nothing.

    Raises:
        AgentError: one of them asks for a parameter that nobody fills.
        TypeError: one of them is no function.
        StateError: `ask` returned something else, or arguments that do not fit the tool. Ends the run.
    """

    def __init__(self, ask: Callable[..., Any], *, when: Callable[..., Any] | None = None) -> None:
        self._ask = ask
        self._when = when
        self.only_marked = when is None
        self._names: dict[str, tuple[str, ...]] = {}
        for name, function in (("ask", ask), ("when", when)):
            if function is not None or name == "ask":
                if not callable(function):
                    raise TypeError(f"Approval({name}={function!r}) must be a function")
                self._names[name] = callback_parameters(function, ASK_NAMES) or ()

    def approval(self, call: Decide) -> Flow:
        """Decide about a call that waits for a decision."""
        decision = yield call
        if decision is True and self._when is not None and (yield self._question("when", self._when, call)):
            decision = None
        if decision is not None:
            return decision
        answer = yield self._question("ask", self._ask, call)
        if answer is not None:
            decision = read(call.id, answer, "what Approval(ask=...) says about the call {!r}")
        event = told(call.agent.name, "Approval", call.id, call.tool.name, decision)
        logger.info("%s", event.detail, extra={"audit": event.detail})
        yield Emit(event)
        return decision

    def _question(self, name: str, function: Callable[..., Any], call: Decide) -> Call:
        run = inside(call.run)
        arguments = own(call.arguments)  # a function that changes them must not change the call
        pending = Pending("/".join((*run.path, call.id)), call.tool.name, arguments, call.agent.name)
        mine = {"call": pending, "arguments": arguments}
        given = {wanted: mine[wanted] if wanted in mine else run.about(wanted) for wanted in self._names[name]}
        return Call(function, (), given, worker=name == "ask")
