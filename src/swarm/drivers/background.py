"""Async functions under the sync driver: a private event loop in a daemon thread, made when the first one is met.

So `Swarm().run` works in a script, in a notebook (whose own loop is running) and in any thread, and code without async never sees
an event loop.

A sync run inside an async function blocks the loop that runs it, so what it waits for runs on the next loop, a level deeper. The level
is kept in a context variable, since what is waited for may go through tasks, workers and further runs before it comes to a loop again.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Iterator
from typing import Any

from ..errors import Cancelled
from .common import drop
from .threads import adopt, current_job


class _Background(threading.Thread):
    """A loop and the thread that runs it.

    Args:
        level: how many loops wait for what runs on this one.
    """

    def __init__(self, level: int) -> None:
        super().__init__(name="swarm-async", daemon=True)
        self.level = level
        self.process = os.getpid()
        self.loop = asyncio.new_event_loop()
        self.start()

    def run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()


_lock = threading.RLock()  # the collector may close a stream, which comes here, at any time
_backgrounds: dict[int, _Background] = {}
_level: contextvars.ContextVar[int] = contextvars.ContextVar("swarm_level", default=0)


def _free() -> _Background:
    """The loop on which code may be waited for from here."""
    level, here = _level.get(), threading.current_thread()
    if isinstance(here, _Background):  # a callback of the loop, or a task with another context
        level = max(level, here.level + 1)
    with _lock:
        found = _backgrounds.get(level)
        if found is None or found.process != os.getpid():  # a thread does not survive a fork
            found = _backgrounds[level] = _Background(level)
        return found


def wait_for(awaitable: Awaitable[Any], stoppable: bool = True) -> Any:
    """Run an awaitable to its end from sync code.

    Args:
        awaitable: a coroutine or other awaitable.
        stoppable: whether it is cancelled when the job of this worker thread is given up.

    Raises:
        Cancelled: the job was given up.
        RuntimeError: the interpreter is shutting down, and its daemon threads stand still.
    """
    if sys.is_finalizing():
        drop(awaitable)
        raise RuntimeError("the interpreter is shutting down: nothing asynchronous can run any more")
    background = _free()
    waiting = _Waiting(awaitable, background.level)
    job = current_job() if stoppable else None
    background.loop.call_soon_threadsafe(waiting.start)

    def stop() -> None:
        background.loop.call_soon_threadsafe(waiting.stop)

    try:
        if job is not None:
            job.stopped_by(stop)
        waiting.done.wait()
    except BaseException:  # Ctrl-C: what runs in the background must not go on
        stop()
        raise
    finally:
        if job is not None:
            job.stopped_by(None)
    if job is not None and job.given_up:
        raise Cancelled
    return waiting.result()


class _Waiting:
    """An awaitable in the background that a thread waits for."""

    def __init__(self, awaitable: Awaitable[Any], level: int) -> None:
        self._awaitable = awaitable
        self._context = contextvars.copy_context()
        self._context.run(_level.set, level + 1)
        self._before = self._context.copy()
        self._task: asyncio.Task[tuple[Any, BaseException | None]] | None = None
        self.done = threading.Event()

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(_outcome(self._awaitable), context=self._context)
        self._task.add_done_callback(self._ended)

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _ended(self, task: asyncio.Task[Any]) -> None:
        if task.cancelled():  # before it began
            drop(self._awaitable)
        self.done.set()

    def result(self) -> Any:
        assert self._task is not None
        value, error = self._task.result()
        self._task = None
        if error is not None:
            try:
                raise error
            finally:
                del error  # a frame that kept its exception would be a reference cycle
        adopt(self._context, self._before)
        return value


async def _outcome(awaitable: Awaitable[Any]) -> tuple[Any, BaseException | None]:
    """What an awaitable comes to. It never raises, since SystemExit or KeyboardInterrupt out of a task would end the loop."""
    try:
        return await awaitable, None
    except BaseException as error:
        return None, error


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
        """Close the source, if it can be closed. What is left of it when the interpreter ends goes with the process."""
        if sys.is_finalizing():
            return
        close = getattr(self._source, "aclose", None) or getattr(self._source, "close", None)
        if close is not None:
            result = close()
            if hasattr(result, "__await__"):
                wait_for(result, stoppable=False)


async def _next(source: AsyncIterator[Any]) -> Any:
    return await source.__anext__()
