"""What a caller holds while an async run goes on. Apart from `streams`, so that sync code never loads asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from types import TracebackType
from typing import Any, Generic, TypeVar

from .drivers.aio import AsyncDriver
from .errors import Cancelled
from .events import Delta, Done, Event
from .run import Run, logger
from .state import State, dump
from .streams import response_of
from .texts import Texts
from .types import Response

Item = TypeVar("Item")


class AsyncStream(AsyncIterator[Item], Generic[Item]):
    """A run, read as it happens: `Stream` under asyncio, with `async for`, `async with` and `aclose()`.

    Args:
        events: the driver's generator of events.
        driver: holds the response when the events are over.
        run: the run itself.
        item_of: the item for an event, or None for an event that this stream leaves out.
        items_of: the items for texts, which `events` may give in the place of Deltas.
        observe: awaited with every event before it is handed out.
    """

    def __init__(
        self,
        events: AsyncGenerator[Event, None],
        driver: AsyncDriver,
        run: Run,
        item_of: Callable[[Event], Item | None],
        items_of: Callable[[Texts], Iterator[Item]],
        observe: Callable[[Event], Awaitable[None]] | None = None,
    ) -> None:
        self._observe = observe
        self._events = events
        self._driver = driver
        self._run = run
        self._signal = run.signal
        self._item_of = item_of
        self._items_of = items_of
        self._items: Iterator[Item] = iter(())
        self._begun = False
        self._reader: asyncio.Task[Any] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_interrupted = False
        self._done: Response | None = None
        self._left: asyncio.Event | None = None
        self._closed: asyncio.Event | None = None

    @property
    def response(self) -> Response | None:
        """What the run came to, once it is over."""
        return self._done or self._driver.result

    def __aiter__(self) -> AsyncStream[Item]:
        return self

    async def __anext__(self) -> Item:
        if not self._signal.cancelled:  # else the driver takes back those that are left
            for item in self._items:
                return item
        if self._closed is not None:
            await self._closed.wait()
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        while True:
            self._begun = True
            self._reader = asyncio.current_task()
            try:
                event = await self._events.__anext__()
            except Cancelled:  # a policy did not let it pass
                raise StopAsyncIteration from None
            except BaseException as error:
                self._done = response_of(error) or self._done
                raise
            finally:
                self._reader, self._is_interrupted = None, False
                if self._left is not None:
                    self._left.set()
                    self._left = None
            kind = type(event)
            if kind is Texts:
                self._items = self._items_of(event)  # type: ignore[arg-type]  # pyright does not narrow on `kind`, which is faster
                return next(self._items)
            item = self._item_of(event) if kind is Delta and self._observe is None else await self._told(event)
            if item is not None:
                return item

    async def _told(self, event: Event) -> Item | None:
        if type(event) is Done:
            self._done = event.response
        if self._observe is not None:
            await self._observe(event)
        return self._item_of(event)

    async def aclose(self) -> None:
        """End the run here. May be called twice, and from another task while an item is being read.

        Nothing is raised; what goes wrong is logged at debug level, and `response` is what was done until then.
        """
        self._signal.cancel()
        if self._reader is not None:
            if self._reader is not asyncio.current_task():  # else one of the run's own functions closes it, which the signal ends
                left = self._left = self._left or asyncio.Event()
                self._interrupt()
                await left.wait()
        elif self._closed is not None:
            await self._closed.wait()
        else:
            self._closed = asyncio.Event()
            try:
                await self._end()
            finally:
                self._closed.set()

    async def _end(self) -> None:
        try:
            await self._told(await (self._events.athrow(Cancelled()) if self._begun else self._events.__anext__()))
            await self._events.aclose()
        except (StopAsyncIteration, Cancelled):
            pass  # it was over already
        except BaseException as error:
            self._done = response_of(error) or self._done
            if not isinstance(error, Exception):
                raise
            logger.debug("closing a stream failed", exc_info=True)

    def close(self) -> None:
        """Ask the run to end at its next step; for code that cannot await. Safe from any thread."""
        self.cancel()

    def cancel(self, after_turn: bool = False) -> None:
        """Ask the run to end: at once, or when its turn is complete. Reading on gives what is left. Safe from any thread."""
        self._signal.after_turn = True
        if after_turn:
            return
        self._signal.cancel()
        if self._loop is not None and self._reader is not None:
            self._loop.call_soon_threadsafe(self._interrupt)

    def _interrupt(self) -> None:
        if self._reader is not None and not self._is_interrupted:  # a second cancellation would look like one of somebody else
            self._is_interrupted = self._driver.interrupted = True
            self._reader.cancel()

    def state(self) -> State:
        """The run as it is now, as plain JSON; see `Stream.state`."""
        return dump(self._run)

    async def __aenter__(self) -> AsyncStream[Item]:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()
