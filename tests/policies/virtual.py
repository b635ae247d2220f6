"""A clock of the tests' own under the drivers: a wait takes no time, and what was waited is noted."""

from __future__ import annotations

from typing import Any

import pytest

from swarm.drivers.aio import AsyncDriver
from swarm.drivers.sync import SyncDriver
from swarm.effects import Now


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
