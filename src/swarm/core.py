"""Swarm and AsyncSwarm: options in, driver chosen, Response out."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Coroutine, Sequence
from contextlib import aclosing
from typing import Any, Literal, TypeVar, overload

from . import calls, loop
from .context import copied
from .debug import trace
from .drivers.aio import AsyncDriver
from .drivers.sync import SyncDriver, finish, settled
from .effects import CallModel, CallTool, Flow, HandOff, hooks_of
from .events import Event, as_stream_item
from .limits import Limits
from .lowlevel import LowLevel, OverriddenModel, overridden
from .messages import repaired
from .models.default import default_client
from .models.profiles import Profile
from .run import Options, Run, Signal, logger
from .state import State, revive
from .streams import AsyncStream, Stream
from .types import Agent, Response

logger.addHandler(logging.NullHandler())

Messages = str | list[dict[str, Any]]
Approvals = dict[str, Any]
Observer = Callable[[Event], Any]
Item = TypeVar("Item")
INFINITE = float("inf")
_USUAL: dict[str, Any] = {"max_turns": INFINITE, "timeout": None, "limits": None, "execute_tools": True}


class _Base:
    """What both classes share: the options, and how a run is prepared from them. Nothing of a run is kept between calls.

    Args:
        client: who is asked: any object with `chat.completions.create`, sync or async, or a `Model`. None: our own client, set up by
            OPENAI_API_KEY and OPENAI_BASE_URL, or the offline model if SWARM_OFFLINE=1; it is made when it is first needed.
        policies: objects whose hooks stand around what a run does; the first is outermost.
        profile: how this provider wants its messages, a Profile or its name; by default told by base URL and model name.
        parallel_tools: whether the calls of one reply run side by side; a number is how many at once.
        tool_errors: "report" tells the model what went wrong; "raise" raises it, after the whole batch has run.
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
        self._default_model: str | None = None
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
            self._default_model = os.environ.get("SWARM_MODEL")
        return self._client

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
        given = {**_USUAL, **given}
        max_turns, timeout = given["max_turns"], given["timeout"]
        if max_turns is None:
            given["max_turns"] = INFINITE
        elif max_turns < 0:
            raise ValueError(f"max_turns={max_turns!r} must not be negative; 0 asks no model, leave it out for no limit")
        if timeout is not None and timeout <= 0:
            raise ValueError(f"timeout={timeout!r} must be above zero seconds; leave it out for no limit")
        given["limits"] = given["limits"] or Limits()
        given["watched"] = given.get("watched", False) or bool(self._observers)
        return Options(
            client=agent.client if agent.client is not None and self._client is None else self.client,
            default_model=self._default_model,
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
        paused_is_fine = approvals is not None or not options.execute_tools or options.max_turns == 0
        run = Run(agent, repaired(start, allow_open_tail=paused_is_fine), copied(context) if context else {}, options)
        run.approvals = approvals
        return run

    def _resumed(self, state: State, approvals: Approvals | None, context: dict[str, Any] | None, **given: Any) -> Run:
        if not isinstance(state, State):  # type: ignore[redundant-expr]
            raise TypeError(f"resume takes a State, not {type(state).__name__}: load_state(data, agents=[...]) makes one")
        agent = state.agents[state["agent"]] if state.get("agent") in state.agents else next(iter(state.agents.values()), None)
        return revive(state, self._options(agent, **given), Signal(), approvals or {}, context or {})  # type: ignore[arg-type]


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


class Swarm(_Base, LowLevel):
    __doc__ = _Base.__doc__

    @overload
    def run(
        self,
        agent: Agent,
        messages: Messages,
        context_variables: dict[str, Any] | None = None,
        model_override: str | None = None,
        stream: Literal[False] = False,
        debug: bool = False,
        max_turns: float = INFINITE,
        execute_tools: bool = True,
        *,
        limits: Limits | None = None,
        approvals: Approvals | None = None,
        timeout: float | None = None,
    ) -> Response: ...

    @overload
    def run(
        self,
        agent: Agent,
        messages: Messages,
        context_variables: dict[str, Any] | None = None,
        model_override: str | None = None,
        *,
        stream: Literal[True],
        debug: bool = False,
        max_turns: float = INFINITE,
        execute_tools: bool = True,
        limits: Limits | None = None,
        approvals: Approvals | None = None,
        timeout: float | None = None,
    ) -> Stream[dict[str, Any]]: ...

    def run(
        self,
        agent: Agent,
        messages: Messages,
        context_variables: dict[str, Any] | None = None,
        model_override: str | None = None,
        stream: bool = False,
        debug: bool = False,
        max_turns: float = INFINITE,
        execute_tools: bool = True,
        *,
        limits: Limits | None = None,
        approvals: Approvals | None = None,
        timeout: float | None = None,
    ) -> Response | Stream[dict[str, Any]]:
        """Let an agent work on a conversation, with its functions and whoever it hands over to, until its model asks for no more.

        Args:
            agent: who begins.
            messages: the conversation so far as Chat Completions dicts, or a text for one user message. Never changed.
            context_variables: what functions and instructions see; never sent to a model. Copied, so the caller's stay as they are.
            model_override: the model for every agent of this run.
            stream: return an iterator of dicts as they come: {"delim": "start"}, deltas with `sender`, {"delim": "end"} for each turn,
                and one {"response": Response} at the end. Nothing is asked before the first is read.
            debug: print a trace of this run.
            max_turns: stop when so many messages have been added; 0 asks no model.
            execute_tools: False returns the calls instead of running them.
            limits: what the run may use; see Limits.
            approvals: decisions by call id for the calls that the history leaves open: True, False, Approve(...) or Refuse(...).
                Without it, a history that ends in unanswered calls is refused, since it may have been forged.
            timeout: seconds for the whole run; what still runs then is abandoned.

        Raises:
            HistoryError: messages that cannot be sent.
            ModelError: the model's side failed. This, and whatever else ends the run, carries the response so far as `.response`.
            RunTimeout: `timeout` ran out.
            LimitExceeded: a limit, if `Limits(on_limit="raise")`.
            StateError: an approval for a call that is not open.
        """
        run = self._begin(
            agent,
            messages,
            context_variables,
            approvals,
            model_override=model_override,
            stream=stream,
            max_turns=max_turns,
            execute_tools=execute_tools,
            limits=limits,
            timeout=timeout,
            watched=stream or debug,
        )
        return self._stream(run, debug, as_stream_item) if stream else self._finish(run, debug)

    def stream(
        self,
        agent: Agent,
        messages: Messages,
        context_variables: dict[str, Any] | None = None,
        model_override: str | None = None,
        debug: bool = False,
        max_turns: float = INFINITE,
        execute_tools: bool = True,
        *,
        limits: Limits | None = None,
        approvals: Approvals | None = None,
        timeout: float | None = None,
    ) -> Stream[Event]:
        """The same run as typed events (`swarm.events`), the last of them Done(response). See `run` for the arguments."""
        run = self._begin(
            agent,
            messages,
            context_variables,
            approvals,
            model_override=model_override,
            stream=True,
            max_turns=max_turns,
            execute_tools=execute_tools,
            limits=limits,
            timeout=timeout,
            watched=True,
        )
        return self._stream(run, debug, _itself)

    def resume(
        self,
        state: State,
        approvals: Approvals | None = None,
        context_variables: dict[str, Any] | None = None,
        *,
        model_override: str | None = None,
        debug: bool = False,
        max_turns: float = INFINITE,
        limits: Limits | None = None,
        timeout: float | None = None,
    ) -> Response:
        """Go on with a run that was saved.

        Args:
            state: `load_state(...)`, or `response.state()` itself.
            approvals: decisions for its open calls, by the ids in `response.pending`.
            context_variables: live objects, put over those that were saved.
            model_override, debug, max_turns, limits, timeout: as for `run`; counts go on where they were.

        Returns:
            the response of the whole run: its messages begin where the first part's began.

        Raises:
            StateError: the state does not fit its agents, or an approval names no open call.
        """
        run = self._resumed(
            state,
            approvals,
            context_variables,
            model_override=model_override,
            stream=False,
            max_turns=max_turns,
            execute_tools=True,
            limits=limits,
            timeout=timeout,
            watched=debug,
        )
        return self._finish(run, debug)

    def _stream(self, run: Run, debug: bool, item_of: Callable[[Event], Item | None]) -> Stream[Item]:
        driver = SyncDriver(run.signal, run.options.timeout)
        return Stream(driver.drive(loop.conversation(run)), run.signal, self._observed(debug, item_of))

    def _finish(self, run: Run, debug: bool) -> Response:
        events = SyncDriver(run.signal, run.options.timeout).drive(loop.conversation(run))
        return finish(events, self._observed(debug, _itself) if run.options.watched else None)

    def _observed(self, debug: bool, item_of: Callable[[Event], Any]) -> Callable[[Event], Any]:
        read = self._reader(debug, item_of)
        if not self._observers:
            return read

        def observe(event: Event) -> Any:
            for observer in self._observers:
                try:
                    told = observer(event)
                    if hasattr(told, "__await__"):
                        settled(told)
                except Exception:
                    logger.exception("an on_event observer failed")
            return read(event)

        return observe


class AsyncSwarm(_Base):
    __doc__ = _Base.__doc__

    @overload
    def run(
        self,
        agent: Agent,
        messages: Messages,
        context_variables: dict[str, Any] | None = None,
        model_override: str | None = None,
        stream: Literal[False] = False,
        debug: bool = False,
        max_turns: float = INFINITE,
        execute_tools: bool = True,
        *,
        limits: Limits | None = None,
        approvals: Approvals | None = None,
        timeout: float | None = None,
    ) -> Coroutine[Any, Any, Response]: ...

    @overload
    def run(
        self,
        agent: Agent,
        messages: Messages,
        context_variables: dict[str, Any] | None = None,
        model_override: str | None = None,
        *,
        stream: Literal[True],
        debug: bool = False,
        max_turns: float = INFINITE,
        execute_tools: bool = True,
        limits: Limits | None = None,
        approvals: Approvals | None = None,
        timeout: float | None = None,
    ) -> AsyncStream[dict[str, Any]]: ...

    def run(
        self,
        agent: Agent,
        messages: Messages,
        context_variables: dict[str, Any] | None = None,
        model_override: str | None = None,
        stream: bool = False,
        debug: bool = False,
        max_turns: float = INFINITE,
        execute_tools: bool = True,
        *,
        limits: Limits | None = None,
        approvals: Approvals | None = None,
        timeout: float | None = None,
    ) -> Coroutine[Any, Any, Response] | AsyncStream[dict[str, Any]]:
        """`await run(...)` gives the Response, `async for item in run(..., stream=True)` the dicts. Arguments as for `Swarm.run`.

        A blocking function runs in a worker thread, so it does not stall the event loop; `@tool(inline=True)` spares that hop.
        """
        run = self._begin(
            agent,
            messages,
            context_variables,
            approvals,
            model_override=model_override,
            stream=stream,
            max_turns=max_turns,
            execute_tools=execute_tools,
            limits=limits,
            timeout=timeout,
            watched=stream or debug,
        )
        return self._stream(run, debug, as_stream_item) if stream else self._finish(run, debug)

    def stream(
        self,
        agent: Agent,
        messages: Messages,
        context_variables: dict[str, Any] | None = None,
        model_override: str | None = None,
        debug: bool = False,
        max_turns: float = INFINITE,
        execute_tools: bool = True,
        *,
        limits: Limits | None = None,
        approvals: Approvals | None = None,
        timeout: float | None = None,
    ) -> AsyncStream[Event]:
        """The same run as typed events (`swarm.events`), the last of them Done(response). Arguments as for `Swarm.run`."""
        run = self._begin(
            agent,
            messages,
            context_variables,
            approvals,
            model_override=model_override,
            stream=True,
            max_turns=max_turns,
            execute_tools=execute_tools,
            limits=limits,
            timeout=timeout,
            watched=True,
        )
        return self._stream(run, debug, _itself)

    async def resume(
        self,
        state: State,
        approvals: Approvals | None = None,
        context_variables: dict[str, Any] | None = None,
        *,
        model_override: str | None = None,
        debug: bool = False,
        max_turns: float = INFINITE,
        limits: Limits | None = None,
        timeout: float | None = None,
    ) -> Response:
        """Go on with a run that was saved. Arguments as for `Swarm.resume`."""
        run = self._resumed(
            state,
            approvals,
            context_variables,
            model_override=model_override,
            stream=False,
            max_turns=max_turns,
            execute_tools=True,
            limits=limits,
            timeout=timeout,
            watched=debug,
        )
        return await self._finish(run, debug)

    def _stream(self, run: Run, debug: bool, item_of: Callable[[Event], Item | None]) -> AsyncStream[Item]:
        driver = AsyncDriver(run.signal, run.options.timeout)
        observe = self._observe if self._observers else None
        return AsyncStream(driver.drive(loop.conversation(run)), driver, run.signal, self._reader(debug, item_of), observe)

    async def _finish(self, run: Run, debug: bool) -> Response:
        driver = AsyncDriver(run.signal, run.options.timeout)
        read = self._reader(debug, _itself)
        async with aclosing(driver.drive(loop.conversation(run))) as events:
            async for event in events:
                await self._observe(event)
                read(event)
        return driver.result

    async def _observe(self, event: Event) -> None:
        for observer in self._observers:
            try:
                told = observer(event)
                if hasattr(told, "__await__"):
                    await told
            except Exception:
                logger.exception("an on_event observer failed")


def _itself(event: Event) -> Event:
    return event
