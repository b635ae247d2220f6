"""Flows side by side in the async driver: one task for each, events through a queue."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from ..effects import Flow, Together
from ..events import Event
from .common import at_once

if TYPE_CHECKING:
    from .aio import AsyncDriver


class Side:
    """The flows of one Together.

    Args:
        driver: the driver of the flow that asks for them.
        effect: the flows.
    """

    def __init__(self, driver: AsyncDriver, effect: Together) -> None:
        self._driver = driver
        self._news: asyncio.Queue[tuple[int, Event | None]] = asyncio.Queue()
        self._results: dict[int, Any] = {}
        self._slots = asyncio.Semaphore(at_once(effect))
        self._failed = False
        self._flows = effect.flows
        self._decides = effect.decides
        self._held: list[Event] | None = None if effect.decides is None else []
        self._tasks = [asyncio.create_task(self._drive(number, flow)) for number, flow in enumerate(effect.flows)]
        self._open = len(self._tasks)
        self._ready: list[Event] = []
        self._left = False

    async def _drive(self, number: int, flow: Flow) -> None:
        driver = self._driver.beside()
        try:
            async with self._slots, aclosing(driver.drive(flow)) as events:
                async for event in events:
                    self._news.put_nowait((number, event))
            self._results[number] = driver.result
        except BaseException:
            self._failed = True
            raise
        finally:
            self._news.put_nowait((number, None))

    async def more(self) -> bool:
        """Wait for an event; whether there is one."""
        self._ready = []
        while self._open and not self._ready:
            self._driver.look_for_an_end()
            number, event = await self._news.get()
            if event is None:
                self._open -= 1
                if self._failed:
                    _look_for_failure(self._tasks)
                if number == 0 and self._held is not None:
                    self._decide()
            elif self._held is None or number == 0:
                self._ready.append(event)
            else:
                self._held.append(event)
        return bool(self._ready)

    def _decide(self) -> None:
        """The first flow has ended: let the others go on, or leave them, which closing does."""
        assert self._decides is not None and self._held is not None
        self._ready, self._held = self._held, None
        if not self._decides(self._results[0]):
            self._ready, self._open, self._left = [], 0, True

    def news(self) -> Iterator[Event]:
        """The events that came."""
        return iter(self._ready)

    def result(self) -> list[Any]:
        """What the flows came to, in their order; None for one that was left."""
        return [self._results.get(number) for number in range(len(self._flows))]

    def explain(self, error: BaseException) -> BaseException:
        return error

    async def close(self) -> None:
        tasks = list(self._tasks)
        self._tasks.clear()  # a task keeps its exception, which leads back here
        if self._open or self._left or self._failed:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        for flow in self._flows:
            flow.close()


def _look_for_failure(tasks: list[asyncio.Task[None]]) -> None:
    """Raise what the first of the flows that failed raised, a cancellation too."""
    task = None
    try:
        for task in tasks:
            if task.done():
                task.result()
    finally:
        del task  # as above
