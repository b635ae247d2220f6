"""Runs one hook of a policy by hand, without a driver: what it asks for is noted, and answered by the suite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core import Swarm
from ...effects import CallModel, CallTool, Decide, Emit, Flow, HandOff, Now, StartRun, Together
from ...types import Agent


class Came:
    """What a hook came to.

    Attributes:
        asked: what it yielded, in order.
        value: what it returned, if it did.
        error: what it raised, or None.
        went_on: whether it was stopped because it asked too often.
    """

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.value: Any = None
        self.error: BaseException | None = None
        self.went_on = False

    def told(self) -> str:
        """The end of the hook, in words."""
        if self.went_on:
            return f"asking for {self.asked[-1]!r} and on"
        return f"raising {self.error!r}" if self.error is not None else f"returning {self.value!r}"


def by_hand(flow: Flow, answer: Callable[[Any], Any], most: int = 100) -> Came:
    """Run a hook.

    Args:
        flow: the hook's generator, new.
        answer: gives the answer to each thing it yields; an exception is thrown in.
        most: how often it may ask.
    """
    came = Came()
    given: Any = None
    try:
        for _ in range(most):
            asked = flow.throw(given) if isinstance(given, BaseException) else flow.send(given)
            came.asked.append(asked)
            given = answer(asked)
        came.went_on = True
    except StopIteration as end:
        came.value = end.value
    except BaseException as error:
        came.error = error
    return came


def answering(kind: str, value: Any) -> Callable[[Any], Any]:
    """Answers each effect of one kind with a value, an exception to throw or not; time stands still, and nothing else happens."""

    def answer(asked: Any) -> Any:
        if getattr(asked, "kind", None) == kind:
            return value
        if isinstance(asked, Now):
            return 0.0
        if isinstance(asked, Together):
            return [None for _ in asked.flows]
        return asked.target if isinstance(asked, HandOff) else None

    return answer


class _Spy:
    """Keeps the first effect of each kind with what it came to."""

    def __init__(self) -> None:
        self.seen: dict[str, tuple[Any, Any]] = {}

    def _note(self, effect: Any) -> Flow:
        answer = yield effect
        self.seen.setdefault(effect.kind, (effect, answer))
        return answer

    def run(self, effect: StartRun) -> Flow:
        return (yield from self._note(effect))

    def model(self, effect: CallModel) -> Flow:
        return (yield from self._note(effect))

    def approval(self, effect: Decide) -> Flow:
        return (yield from self._note(effect))

    def tool(self, effect: CallTool) -> Flow:
        return (yield from self._note(effect))

    def handoff(self, effect: HandOff) -> Flow:
        return (yield from self._note(effect))

    def event(self, effect: Emit) -> Flow:
        return (yield from self._note(effect))


def captured(client: Any, agent: Agent, messages: Any) -> dict[str, tuple[Any, Any]]:
    """The first effect of each kind of a run, with its answer."""
    spy = _Spy()
    Swarm(client, policies=[spy], on_event=lambda _: None).run(agent, messages)
    return spy.seen
