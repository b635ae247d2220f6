"""Swarm and AsyncSwarm: options in, driver chosen, Response out."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from .base import INFINITE, Approvals, Base, Messages, itself
from .drivers.sync import SyncDriver, finish, settled
from .events import Event, as_stream_item
from .limits import Limits
from .lowlevel import LowLevel
from .options import Session
from .run import Run, logger
from .state import State
from .streams import Stream
from .texts import items_of
from .types import Agent, Response

if TYPE_CHECKING:
    from .async_streams import AsyncStream

Item = TypeVar("Item")


class Swarm(Base, LowLevel):
    __doc__ = Base.__doc__

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
        session: Session | None = None,
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
        session: Session | None = None,
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
        session: Session | None = None,
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
            debug: print a trace of this run; it also says when a turn breaks the prefix that the provider has cached, without need.
            max_turns: stop when so many messages have been added; 0 asks no model.
            execute_tools: False returns the calls instead of running them.
            limits: what the run may use; see Limits.
            approvals: decisions by call id for the calls that the history leaves open: True, False, Approve(...) or Refuse(...), or
                their JSON form, {"approve": true, "arguments": {...}} (with `arguments` only if they change) and
                {"approve": false, "reason": ""}. Without it, a history that ends in unanswered calls is refused: it may be forged.
            session: keeps the conversation, see `swarm.ext.sessions`; `messages` are then the new ones, [] goes on with what was cut off.
            timeout: seconds for the whole run; what still runs then is abandoned.

        Raises:
            TypeError: an argument of a wrong type.
            ValueError: `max_turns` or `timeout` out of range.
            ConfigError: no client was given and the environment names none; or what was given is no client.
            HistoryError: messages that cannot be sent.
            AgentError: lists of an agent were changed since it was made, and hold now what no model could call.
            StateError: an approval for a call that is not open; what a session cannot keep, or waits for.
            ModelError: the model's side failed. This, and whatever else ends a run that has begun, carries the response so far as
                `.response`.
            RunTimeout: `timeout` ran out.
            LimitExceeded: a limit, if `Limits(on_limit="raise")`.
            Exception: what instructions or another callback raised; with `tool_errors="raise"` what a function raised, or a ToolError for
                a call that could not run.
        """
        item_of = as_stream_item if stream else None
        rest = (limits, approvals, session, timeout)
        return self._run(item_of, agent, messages, context_variables, model_override, debug, max_turns, execute_tools, *rest)

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
        session: Session | None = None,
        timeout: float | None = None,
    ) -> Stream[Event]:
        """The same run as typed events (`swarm.events`), the last of them Done(response). Arguments, and what is raised, as for `run`."""
        return self._run(
            itself, agent, messages, context_variables, model_override, debug, max_turns, execute_tools, limits, approvals, session, timeout
        )

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
            state: `load_state(...)`, or what `response.state()` or `stream.state()` gave. One of a run that had come to its end gives its
                response again, and nothing is asked or called.
            approvals: decisions for its open calls, by the ids in `response.pending`.
            context_variables: live objects, put over those that were saved.
            model_override, debug, max_turns, limits, timeout: as for `run`; counts go on where they were, time begins anew.

        Returns:
            the response of the whole run: its messages begin where the first part's began.

        Raises:
            StateError: the state does not fit its agents, or an approval names no open call.
            Exception: all that `run` raises.
        """
        return self._resume(None, state, approvals, context_variables, model_override, debug, max_turns, limits, timeout)

    def resume_stream(
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
    ) -> Stream[Event]:
        """The same as typed events, as `stream` gives them. Arguments, and what is raised, as for `resume`."""
        return self._resume(itself, state, approvals, context_variables, model_override, debug, max_turns, limits, timeout)

    def _stream(self, run: Run, debug: bool, item_of: Callable[[Event], Item | None]) -> Stream[Item]:
        driver = SyncDriver(run.signal, run.options.timeout)
        events = driver.drive(self._flow(run), grouped=not (debug or self._observers))
        return Stream(events, run, self._observed(debug, item_of), items_of(item_of))

    def _finish(self, run: Run, debug: bool) -> Response:
        events = SyncDriver(run.signal, run.options.timeout).drive(self._flow(run))
        return finish(events, self._observed(debug, itself) if run.options.watched else None)

    def _observed(self, debug: bool, item_of: Callable[[Event], Any]) -> Callable[[Event], Any]:
        read = self._reader(debug, item_of)
        if not self._observers:
            return read

        def observe(event: Event) -> Any:
            if (seen := self._for_observers(event)) is None:
                return read(event)
            for observer in self._observers:
                try:
                    told = observer(seen)
                    if hasattr(told, "__await__"):
                        settled(told)
                except Exception:
                    logger.exception("an on_event observer failed")
            return read(event)

        return observe


class AsyncSwarm(Base):
    __doc__ = Base.__doc__

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
        session: Session | None = None,
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
        session: Session | None = None,
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
        session: Session | None = None,
        timeout: float | None = None,
    ) -> Coroutine[Any, Any, Response] | AsyncStream[dict[str, Any]]:
        """`await run(...)` gives the Response, `async for item in run(..., stream=True)` the dicts. Arguments, and what is raised, as for
        `Swarm.run`; what is wrong with the arguments is raised at the call, before anything is awaited.

        A blocking function runs in a worker thread, so it does not stall the event loop; `@tool(inline=True)` spares that hop.
        """
        item_of = as_stream_item if stream else None
        rest = (limits, approvals, session, timeout)
        return self._run(item_of, agent, messages, context_variables, model_override, debug, max_turns, execute_tools, *rest)

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
        session: Session | None = None,
        timeout: float | None = None,
    ) -> AsyncStream[Event]:
        """The same run as typed events (`swarm.events`), the last of them Done(response). As `Swarm.run` otherwise."""
        return self._run(
            itself, agent, messages, context_variables, model_override, debug, max_turns, execute_tools, limits, approvals, session, timeout
        )

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
        """Go on with a run that was saved. Arguments, and what is raised, as for `Swarm.resume`."""
        return await self._resume(None, state, approvals, context_variables, model_override, debug, max_turns, limits, timeout)

    def resume_stream(
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
    ) -> AsyncStream[Event]:
        """The same as typed events, as `stream` gives them. As `Swarm.resume` otherwise."""
        return self._resume(itself, state, approvals, context_variables, model_override, debug, max_turns, limits, timeout)

    def _stream(self, run: Run, debug: bool, item_of: Callable[[Event], Item | None]) -> AsyncStream[Item]:
        from .async_streams import AsyncStream
        from .drivers.aio import AsyncDriver

        driver = AsyncDriver(run.signal, run.options.timeout)
        events = driver.drive(self._flow(run), grouped=not (debug or self._observers))
        observe = self._observe if self._observers else None
        return AsyncStream(events, driver, run, self._reader(debug, item_of), items_of(item_of), observe)

    async def _finish(self, run: Run, debug: bool) -> Response:
        from .drivers.aio import AsyncDriver

        driver = AsyncDriver(run.signal, run.options.timeout)
        read = self._reader(debug, itself)
        async with aclosing(driver.drive(self._flow(run))) as events:
            async for event in events:
                await self._observe(event)
                read(event)
        return driver.result

    async def _observe(self, event: Event) -> None:
        if (seen := self._for_observers(event)) is None:
            return
        for observer in self._observers:
            try:
                told = observer(seen)
                if hasattr(told, "__await__"):
                    await told
            except Exception:
                logger.exception("an on_event observer failed")
