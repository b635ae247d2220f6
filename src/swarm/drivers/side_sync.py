"""Flows side by side in the sync driver: one worker thread for each, events through a queue."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from ..effects import Flow, Together
from ..events import Event
from ..run import Signal
from .common import at_once
from .threads import POOL, Job

Tell: TypeAlias = Callable[[Event], Any]


class Side:
    """The flows of one Together.

    Args:
        effect: the flows.
        signal: the run's.
        drive: drives a flow to its end in this thread, telling its events; returns its result.
    """

    def __init__(self, effect: Together, signal: Signal, drive: Callable[[Flow, Signal, Tell], Any]) -> None:
        self._effect = effect
        self._drive = drive
        self._news: queue.SimpleQueue[tuple[int, Event | None]] = queue.SimpleQueue()
        self._waiting = list(enumerate(effect.flows))[::-1]
        self._running: dict[int, Job] = {}
        self._results: dict[int, Any] = {}
        self._held: list[Event] | None = None if effect.decides is None else []
        self._signal = signal if effect.decides is None else signal.inner()
        self._left = False

    def goes_on(self) -> bool:
        """Start what may run now; whether anything runs."""
        slots = at_once(self._effect)
        while self._waiting and len(self._running) < slots:
            number, flow = self._waiting.pop()
            job = self._running[number] = Job(lambda flow=flow, number=number: self._drive(flow, self._signal, self._tell(number)))
            job.when_done(lambda number=number: self._news.put((number, None)))
            POOL.submit(job)
        return bool(self._running)

    def news(self) -> Iterator[Event]:
        """Wait for what comes next, and give the events that may be told now."""
        number, event = self._news.get()
        if event is None:
            job = self._running.pop(number)
            if self._left:
                if job.error is None:
                    self._results[number] = job.value
                return
            self._results[number] = job.result()
            if number == 0 and self._held is not None:
                yield from self._decided()
        elif self._left:
            return
        elif self._held is None or number == 0:
            yield event
        else:
            self._held.append(event)

    def _decided(self) -> Iterator[Event]:
        """The first flow has ended: let the others go on, or leave them. Whoever is left is waited for, so that no thread outlives this."""
        assert self._effect.decides is not None
        held, self._held = self._held or [], None
        if self._effect.decides(self._results[0]):
            yield from held
            return
        self._left = True
        self._signal.cancel()
        self.give_up()

    def give_up(self) -> None:
        """Stop what can be stopped."""
        for job in list(self._running.values()):
            job.give_up()
        for _, flow in self._waiting:
            flow.close()
        self._waiting.clear()

    def results(self) -> list[Any]:
        """What the flows came to, in their order; None for one that was left."""
        return [self._results.get(number) for number in range(len(self._effect.flows))]

    def _tell(self, number: int) -> Tell:
        return lambda event: self._news.put((number, event))
