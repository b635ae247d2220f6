"""What Swarm and AsyncSwarm share: the options, and how a run is prepared from them."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from typing import Any

from . import calls, loop
from .context import copied
from .debug import trace
from .effects import CallModel, CallTool, Flow, HandOff, hooks_of
from .events import Event
from .limits import Limits
from .lowlevel import LowLevel, OverriddenModel, overridden
from .messages import repaired
from .models.default import default_client
from .models.profiles import Profile
from .run import Options, Run, Signal, logger
from .state import State, revive
from .types import Agent

logger.addHandler(logging.NullHandler())

Observer = Callable[[Event], Any]
INFINITE = float("inf")


class Base:
    """Runs agents. Nothing of a run is kept between calls, so one object may serve any number of threads or tasks.

    Args:
        client: who is asked: any object with `chat.completions.create`, sync or async, or a `Model`. None: our own client, set up by
            OPENAI_API_KEY and OPENAI_BASE_URL, or the offline model if SWARM_OFFLINE=1; it is made when it is first needed.
        policies: objects whose hooks stand around what a run does; the first is outermost.
        profile: how this provider wants its messages, a Profile or its name; by default told by base URL and model name.
        parallel_tools: whether the calls of one reply run side by side; a number is how many at once.
        tool_errors: "report" tells the model what went wrong; "raise" raises it, after the whole batch has run, with the response so
            far as `.response` (as `.swarm_response` if the exception has a `.response` of its own).
        on_event: functions called with every event of every run, sync or async; what they raise is logged and goes no further.
        redact: called with an exception before its text goes to the model, and with a text before `debug` prints it; returns a text.

    Raises:
        TypeError: a policy that is none.
        ValueError: another value of `tool_errors`.
    """

    def __init__(
        self,
        client: Any = None,
        *,
        policies: Sequence[Any] = (),
        profile: Profile | str | None = None,
        parallel_tools: bool | int = False,
        tool_errors: str = "report",
        on_event: Observer | Sequence[Observer] = (),
        redact: Callable[[Any], Any] | None = None,
    ) -> None:
        if tool_errors not in ("report", "raise"):
            raise ValueError(f"tool_errors={tool_errors!r} must be 'report' or 'raise'")
        self._client = client
        self._is_default = client is None
        self._hooks = hooks_of(policies)
        self._profile = profile
        self._parallel_tools = parallel_tools
        self._raise_errors = tool_errors == "raise"
        self._observers: tuple[Observer, ...] = (on_event,) if callable(on_event) else tuple(on_event)
        self._redact = redact
        self._overrides: dict[str, Any] = overridden(self) if isinstance(self, LowLevel) else {}
        if "get_chat_completion" in self._overrides:
            self._overrides["model"] = OverriddenModel(self._overrides["get_chat_completion"])

    @property
    def client(self) -> Any:
        """The client given, or the default one, made now if need be.

        Raises:
            ConfigError: none was given and the environment names none.
        """
        if self._client is None:
            self._client = default_client()
        return self._client

    @client.setter
    def client(self, client: Any) -> None:
        self._client = client
        self._is_default = client is None

    def _reader(self, debug: bool, item_of: Callable[[Event], Any]) -> Callable[[Event], Any]:
        """The function through which a stream reads events: prints the trace, then gives the item."""

        def read(event: Event) -> Any:
            if debug:
                trace(event, self._redact)
            return item_of(event)

        return read if debug else item_of

    def __repr__(self) -> str:
        return f"{type(self).__name__}(client={type(self._client).__name__ if self._client is not None else None})"

    def _options(self, agent: Agent, **given: Any) -> Options:
        if not isinstance(agent, Agent):  # type: ignore[redundant-expr]  # callers without a type checker
            raise TypeError(f"agent must be an Agent, not {type(agent).__name__}")
        max_turns, timeout, limits = given.get("max_turns"), given.get("timeout"), given.get("limits")
        for name, value in (("max_turns", max_turns), ("timeout", timeout)):
            if value is not None and not isinstance(value, int | float):
                raise TypeError(f"{name} must be a number, not {value!r}")
        if limits is not None and not isinstance(limits, Limits):
            raise TypeError(f"limits must be a Limits, not {limits!r}: limits=Limits(model_calls=10)")
        if max_turns is None:
            given["max_turns"] = INFINITE
        elif max_turns < 0:
            raise ValueError(f"max_turns={max_turns!r} must not be negative; 0 asks no model, leave it out for no limit")
        if timeout is not None and timeout <= 0:
            raise ValueError(f"timeout={timeout!r} must be above zero seconds; leave it out for no limit")
        if self._observers:
            given["watched"] = True
        return Options(
            client=self._client if agent.client is not None else self.client,
            default_client=lambda: self.client,
            default_model=os.environ.get("SWARM_MODEL") if self._is_default else None,
            hooks=self._hooks,
            innermost=innermost,
            overrides=self._overrides,
            logs=logger.isEnabledFor(logging.DEBUG),
            parallel_tools=self._parallel_tools,
            profile=self._profile,
            raise_errors=self._raise_errors,
            redact=self._redact,
            **given,
        )

    def _begin(self, agent: Agent, messages: Any, context: dict[str, Any] | None, approvals: Any = None, **given: Any) -> Run:
        options = self._options(agent, **given)
        start = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
        if context is not None and not isinstance(context, dict):  # type: ignore[redundant-expr]  # callers without a type checker
            raise TypeError(f"context_variables must be a dict, not {context!r}")
        paused_is_fine = approvals is not None or not options.execute_tools or options.max_turns == 0
        run = Run(agent, repaired(start, allow_open_tail=paused_is_fine), copied(context) if context else {}, options)
        run.approvals = approvals
        return run

    def _resumed(self, state: State, approvals: dict[str, Any] | None, context: dict[str, Any] | None, **given: Any) -> Run:
        if not isinstance(state, State):  # type: ignore[redundant-expr]  # callers without a type checker
            raise TypeError(f"resume takes a State, not {type(state).__name__}: load_state(data, agents=[...]) makes one")
        agent = state.agents[state["agent"]] if state.get("agent") in state.agents else next(iter(state.agents.values()), None)
        return revive(state, self._options(agent, **given), Signal(), approvals or {}, context or {})  # type: ignore[arg-type]  # None is refused there


def innermost(run: Run, effect: Any) -> Flow:
    """What performs an effect behind the last policy."""
    if isinstance(effect, CallModel):
        return (yield from loop.model(run, effect))
    if isinstance(effect, CallTool):
        return (yield from calls.perform(run, effect))
    if isinstance(effect, HandOff):
        return effect.target
    if effect.kind == "run":
        return (yield from loop.turns(run))
    return (yield effect)
