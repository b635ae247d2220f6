"""A run that is kept in a session: loaded before its first step, saved before each next one, so that what was shown or done is there.

It is a flow around the run's own, so it serves every driver, and a run without a session does not know of it. Saving at events was
rejected: a run that nobody watches tells none, and a policy may keep one back. Any store will do: it gives sessions that are a
`BaseSession`, and their `Hold`s.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, Literal, Protocol, TypeAlias

from ...batches import UNKNOWN
from ...effects import Call, Emit, Flow, Message, Together
from ...errors import Cancelled, StateError, SwarmError, attach
from ...events import Done
from ...history import NOT_EXECUTED, open_calls, tool_message
from ...history import checked as checked_history
from ...legal import call_name
from ...loop import conversation
from ...messages import assistant_message
from ...run import Run, logger
from ...state import State, dump, revive
from ...types import Agent, Response

Status: TypeAlias = Literal["running", "waiting", "idle"]
"""Whether a run is at work on a session, it waits for decisions about calls, or nothing goes on."""


class Hold(Protocol):
    """One run's hold of a session.

    Attributes:
        state: what the session holds, its messages in full, with the agents that it names; None if nothing.
        status: how the last run left it.
    """

    state: State | None
    status: Status

    def save(self, number: int, state: State, first: int, status: Status) -> Any:
        """Keep a step; when it returns (it may be async), the step is kept. Called from several threads if calls run side by side.

        Args:
            number: counts the steps of this hold; one that comes after a higher one is left out.
            state: the run, of its messages only those from `first` on; those before are kept already.
            first: how many of the messages kept stay as they are; what is kept after them goes.
            status: whether the run goes on.

        Raises:
            Exception: it could not be kept; the run ends with that.
        """
        ...

    def release(self) -> None:
        """The run is over, or was left. Must not block."""
        ...


class BaseSession:
    """A conversation in any store: what a store's own class of sessions is made of. It says in `begin` how a run takes hold of it."""

    def begin(self, agent: Agent) -> Any:
        """A Hold for a run that begins with `agent`, or an awaitable of one. It may block.

        Raises:
            Exception: another run is at work on it, or it cannot be read.
        """
        raise NotImplementedError(f"{type(self).__name__} needs a method begin(agent) that returns a Hold")

    def keep(self, run: Run, messages: list[Message], context: dict[str, Any], approvals: dict[str, Any] | None) -> Flow:
        """The run's flow, kept: see `swarm.options.Session`. Returns its Response.

        Raises:
            StateError: approvals beside new messages, or new messages while the session waits for decisions.
        """
        try:
            hold: Hold = yield Call(self.begin, (run.agent,), worker=True)
        except Cancelled:
            response = run.response("cancelled")
            if run.options.watched:
                yield from run.tell(Done(run.agent.name, response, "cancel"))
            return response
        try:
            return (yield from _Keeping(hold, messages, context, approvals).flow(run))
        finally:
            hold.release()


class _Keeping:
    """What one run does with its session."""

    def __init__(self, hold: Hold, messages: list[Message], context: dict[str, Any], approvals: dict[str, Any] | None) -> None:
        self._hold = hold
        self._messages = messages
        self._context = context
        self._approvals = approvals
        self._kept: list[Message] = []
        self._numbers = count()

    def flow(self, run: Run) -> Flow:
        self._take_up(run)
        try:
            return (yield from self._stepping(run, conversation(run), True))
        except GeneratorExit:
            raise
        except BaseException as error:
            _keep_shown(run, error)
            try:
                yield from self._save(run, True)
            except Exception:
                logger.debug("the end of a run that failed could not be saved", exc_info=True)
            raise

    def _take_up(self, run: Run) -> None:
        """Make the run one that goes on from what the session holds."""
        state, signal = self._hold.state, run.signal
        if state is not None and not self._messages:
            self._kept = state["messages"]
            _become(run, revive(state, run.options, self._approvals or {}, self._context, signal))
            return
        agent, history, context = run.agent, self._messages, self._context
        if state is not None:
            self._check_that_nothing_waits(state)
            self._kept = state["messages"]
            agent, history, context = _continued(state, self._messages, self._context)
        is_open = self._approvals is not None or not run.options.execute_tools or run.options.max_turns == 0
        fresh = Run(agent, checked_history(history, allow_open_tail=is_open), context, run.options, signal)
        fresh.approvals = self._approvals
        _become(run, fresh)

    def _check_that_nothing_waits(self, state: State) -> None:
        if self._approvals is not None:
            raise StateError(
                "approvals decide about the calls that the session waits for: give them with messages=[], and say more afterwards"
            )
        if self._hold.status == "waiting":
            waiting = ", ".join(f"{call['id']!r} ({call_name(call)})" for call in open_calls(state["messages"]))
            raise StateError(
                f"the session waits for decisions about its calls {waiting}; decide first, with "
                "run(agent, [], session=..., approvals={id: True or False}), and say more afterwards"
            )

    def _stepping(self, run: Run, flow: Flow, is_whole: bool) -> Flow:
        """A flow of the run, saved before each of its effects if there is anything new. The flows side by side in it are too."""
        answer: Any = None
        failure: BaseException | None = None
        mark = None if is_whole else _mark(run)
        try:
            while True:
                try:
                    effect = flow.send(answer) if failure is None else flow.throw(failure)
                except StopIteration as stop:
                    if is_whole or mark != _mark(run):
                        yield from self._save(run, is_whole, stop.value)
                    return stop.value
                answer = failure = None
                done = effect.event if isinstance(effect, Emit) and isinstance(effect.event, Done) else None
                try:
                    now = _mark(run)
                    if mark != now or done is not None:
                        yield from self._save(run, done is not None, done and done.response)
                        mark = now
                    if type(effect) is Together:
                        effect = Together([self._stepping(run, part, False) for part in effect.flows], effect.limit, effect.decides)
                    answer = yield effect
                except GeneratorExit:
                    flow.close()
                    raise
                except BaseException as error:
                    failure = error
        finally:
            failure = None  # a frame that kept its exception would be a reference cycle

    def _save(self, run: Run, is_over: bool, response: Response | None = None) -> Flow:
        number, history = next(self._numbers), list(run.history)
        first = len(self._kept)
        if history[:first] != self._kept:
            pairs = enumerate(zip(history, self._kept, strict=False))
            first = next((at for at, (new, old) in pairs if new != old), min(first, len(history)))
        try:
            status: Status = "running" if not is_over else "waiting" if run.pending else "idle"
            save: Callable[..., Any] = self._hold.save
            yield Call(save, (number, dump(run, first), first, status), worker=True, lasting=True)
        except Exception as error:
            if response is not None:  # the run itself, which puts it on what it raises, is over
                attach(error, response)
            raise
        self._kept = history


def _become(run: Run, other: Run) -> None:
    """Make a run, which the holder of its stream knows, one that was made later."""
    for name in Run.__slots__:
        setattr(run, name, getattr(other, name))


def _keep_shown(run: Run, error: BaseException) -> None:
    """Put what was shown of a reply that broke off into the history. After a cancellation it stands there already."""
    partial: Message | None = getattr(error, "partial", None) if isinstance(error, SwarmError) else None
    if partial and partial.get("content") and not open_calls(run.history):
        run.history.append({**assistant_message(partial, run.agent.name), "tool_calls": None})


def _mark(run: Run) -> Any:
    """What changes with each step of a run, or of a run inside it."""
    nested = [_mark(inner) for inner in list(run.nested.values())] if run.nested else None
    return len(run.history), len(run.begun), len(run.finished), run.over, nested


def _continued(state: State, messages: list[Message], given: dict[str, Any]) -> tuple[Agent, list[Message], dict[str, Any]]:
    """Who speaks to new messages, after what history and with which context variables; calls that the last run left open are answered.

    The new messages may themselves answer them.
    """
    agent, history, context = state["agent"], list(state["messages"]), dict(state["context_variables"])
    if messages[0].get("role") != "tool":
        begun = {*state["begun"], *state["nested"]}
        for call in open_calls(history):
            id, held = call["id"], state["held"].get(call["id"])
            text = held["text"] if held is not None else UNKNOWN if id in begun else NOT_EXECUTED
            history.append(tool_message(id, call_name(call), text))
            if held is not None:
                context |= held["variables"] or {}
                agent = held["agent"] or agent
    return state.agents[agent], [*history, *messages], context | given
