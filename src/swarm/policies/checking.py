"""How a check is asked, and what its answer means. Shared by the guardrail and the gates that a stream passes."""

from __future__ import annotations

from collections.abc import Callable
from inspect import isgenerator
from typing import TYPE_CHECKING, Any, cast

from ..effects import Call, Flow, Together
from ..offers import OFFER_NAMES
from ..tools import callback_parameters

if TYPE_CHECKING:
    from ..run import Run

CHECK_NAMES = ("text", "tool", "arguments", *OFFER_NAMES)
"""What a check may ask for by parameter name."""


class Block:
    """What a check returns to block what it looked at.

    Args:
        message: what is said in its place, to the user or, about a call, to the model; by default what the guardrail says.
        reason: why, for events and logs; nobody else is told.
    """

    __slots__ = ("message", "reason")

    def __init__(self, message: str = "", reason: str = "") -> None:
        self.message = message
        self.reason = reason

    def __repr__(self) -> str:
        return f"Block({self.message!r}, {self.reason!r})"


class Asking:
    """A check that is asked with what its parameters ask for.

    Args:
        check: sync, async, or a generator of effects.
        name: what it is called in errors.

    Raises:
        AgentError: a parameter that nobody fills.
    """

    def __init__(self, check: Callable[..., Any], name: str) -> None:
        self._check = check
        self._name = name
        self._wanted = callback_parameters(check, CHECK_NAMES) or ()

    def verdict(self, run: Run, text: str, tool: str = "", arguments: dict[str, Any] | None = None, *, hook: bool = True) -> Flow:
        """None if the check lets pass, a Block, or what to put in the place of what it looked at.

        Args:
            run: the run.
            text: what is looked at.
            tool: the tool's name, about a call.
            arguments: the call's arguments, if it is about them.
            hook: whether a hook asks; else the flow goes to a driver as it is.
        """
        about = {"text": text, "tool": tool, "arguments": arguments}
        given = {name: about[name] if name in about else run.about(name) for name in self._wanted}
        value: Any = yield Call(self._check, (), given)
        if isgenerator(value):
            flow = _driven(value, run)
            value = (yield from carried(flow)) if hook else (yield from flow)
        if value is None or value is True or (isinstance(value, str) and value == text):
            return None
        if value is False:
            return Block()
        if isinstance(value, Block):
            return value
        if not isinstance(value, str if arguments is None else str | dict):
            raise TypeError(
                f"the check of guardrail {self._name!r} returned {value!r}; it returns None or True to let pass, "
                "False or Block(...) to block, or what to put in the place of what it looked at"
            )
        return cast("Any", value)


def carried(flow: Flow) -> Flow:
    """A flow for a driver, run from a hook: its effects have passed the policies, so they must not pass them again."""
    (result,) = yield Together([flow])
    return result


def caught(flow: Flow) -> Flow:
    """A flow that comes to the Exception it failed with."""
    try:
        return (yield from flow)
    except Exception as error:
        return error


def _driven(flow: Flow, run: Run) -> Flow:
    """A generator check: its model calls pass the policies."""
    answer: Any = None
    failure: BaseException | None = None
    try:
        while True:
            try:
                asked = flow.send(answer) if failure is None else flow.throw(failure)
            except StopIteration as end:
                return end.value
            answer = failure = None
            try:
                answer = (yield asked) if asked.kind is None else (yield from run.through(asked))
            except BaseException as error:
                failure = error
    finally:
        failure = None  # a frame that kept its exception would be a reference cycle
