"""A clock of the tests' own under the drivers: a wait takes no time, and what was waited is noted."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

import pytest

from swarm.drivers.aio import AsyncDriver
from swarm.drivers.sync import SyncDriver
from swarm.effects import Emit, Flow, Now, Sleep


class Clock:
    """Answers Now and Sleep in the place of the drivers.

    Attributes:
        now: the time.
        waits: the seconds of each wait so far.
    """

    def __init__(self) -> None:
        self.now = 1000.0
        self.waits: list[float] = []

    def answer(self, effect: Any) -> float | None:
        if isinstance(effect, Now):
            return self.now
        self.waits.append(effect.seconds)
        self.now += effect.seconds
        return None


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of all runs of a test."""
    made = Clock()

    async def answer(_: Any, effect: Any) -> float | None:
        return made.answer(effect)

    monkeypatch.setattr(SyncDriver, "_clock", lambda _, effect: made.answer(effect))
    monkeypatch.setattr(AsyncDriver, "_clock", answer)
    return made


class Simulation:
    """Runs hooks side by side in virtual time, as threads and event loops would: each goes on when its wait is over.

    Attributes:
        now: the time.
        sleeps: how often something slept.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.sleeps = 0
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._number = 0

    def at(self, time: float, act: Callable[[], None]) -> None:
        """Do something at a time."""
        self._number += 1
        heapq.heappush(self._due, (time, self._number, act))

    def start(self, flow: Flow, answer: Callable[[Any], tuple[float, Any]], done: Callable[[Any], None] = lambda _: None) -> None:
        """Drive a flow from now on.

        Args:
            flow: a hook's generator.
            answer: gives for an effect that is no Now, Sleep or Emit how long it takes and its answer, an exception to throw it in.
            done: called with what the flow came to, its value or the exception.
        """
        self._go_on(flow, None, answer, done)

    def run(self) -> None:
        """Until nothing is left to do."""
        while self._due:
            time, _, act = heapq.heappop(self._due)
            self.now = max(self.now, time)
            act()

    def _go_on(self, flow: Flow, given: Any, answer: Callable[[Any], tuple[float, Any]], done: Callable[[Any], None]) -> None:
        try:
            while True:
                effect = flow.throw(given) if isinstance(given, BaseException) else flow.send(given)
                if isinstance(effect, Now):
                    given = self.now
                elif isinstance(effect, Emit):
                    given = None
                else:
                    break
        except StopIteration as end:
            done(end.value)
            return
        except BaseException as error:
            done(error)
            return
        if isinstance(effect, Sleep):
            self.sleeps += 1
            seconds, value = effect.seconds, None
        else:
            seconds, value = answer(effect)
        self.at(self.now + seconds, lambda: self._go_on(flow, value, answer, done))
