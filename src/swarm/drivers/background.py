"""Async functions under the sync driver: one private event loop in a daemon thread, made when the first one is met.

So `Swarm().run` works in a script, in a notebook (whose own loop is running) and in any thread, and code without async never sees
an event loop.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Iterator
from typing import Any

from .threads import POOL, Job, adopt


class _Background:
    def __init__(self) -> None:
        self.process = os.getpid()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._serve, name="swarm-async", daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()


_lock = threading.Lock()
_background: _Background | None = None


def _running() -> _Background:
    global _background
    with _lock:
        if _background is None or _background.process != os.getpid():  # a thread does not survive a fork
            _background = _Background()
        return _background


def wait_for(awaitable: Awaitable[Any], timeout: float | None = None) -> Any:
    """Run an awaitable to its end from sync code.

    Args:
        awaitable: a coroutine or other awaitable.
        timeout: seconds until it is cancelled, or None.

    Raises:
        TimeoutError: it took longer than `timeout`.
    """
    background = _running()
    if threading.current_thread() is background.thread:  # a sync run inside one of its own async tools
        job = Job(lambda: asyncio.run(_timed(awaitable, timeout)))
        POOL.submit(job)
        job.done.wait()
        return job.result()
    context = contextvars.copy_context()
    done = threading.Event()
    box: list[asyncio.Task[Any]] = []

    def start() -> None:
        task = background.loop.create_task(_outcome(_timed(awaitable, timeout)), context=context)
        box.append(task)
        task.add_done_callback(lambda _: done.set())

    background.loop.call_soon_threadsafe(start)
    try:
        done.wait()
    except BaseException:  # Ctrl-C: what runs in the background must not go on
        background.loop.call_soon_threadsafe(lambda: box[0].cancel())
        raise
    value, error = box[0].result()
    if error is not None:
        raise error
    adopt(context)
    return value


async def _outcome(awaitable: Awaitable[Any]) -> tuple[Any, BaseException | None]:
    """What an awaitable comes to. It never raises, since SystemExit or KeyboardInterrupt out of a task would end the loop."""
    try:
        return await awaitable, None
    except BaseException as error:
        return None, error


async def _timed(awaitable: Awaitable[Any], timeout: float | None) -> Any:
    if timeout is None:
        return await awaitable
    async with asyncio.timeout(timeout):
        return await awaitable


class SyncIterator(Iterator[Any]):
    """An async iterator, read from sync code."""

    def __init__(self, source: AsyncIterator[Any]) -> None:
        self._source = source

    def __next__(self) -> Any:
        try:
            return wait_for(_next(self._source))
        except StopAsyncIteration:
            raise StopIteration from None

    def close(self) -> None:
        """Close the source, if it can be closed."""
        close = getattr(self._source, "aclose", None) or getattr(self._source, "close", None)
        if close is not None:
            result = close()
            if hasattr(result, "__await__"):
                wait_for(result)


async def _next(source: AsyncIterator[Any]) -> Any:
    return await source.__anext__()
