"""The event loop on which sessions with MCP servers live: one daemon thread for the process, whoever calls.

A session belongs to the loop that opened it, but its tools are called from sync code, from several threads and from event loops that
come and go. So all of them hand their calls to this one loop; nothing of the caller's ever runs on it.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

_T = TypeVar("_T")
_CLOSING_SECONDS = 10.0
"""How long the end of the interpreter waits for servers to end. The SDK kills a process that does not within six."""


class _Loop(threading.Thread):
    def __init__(self) -> None:
        super().__init__(name="swarm-mcp", daemon=True)
        self.process = os.getpid()
        self.loop = asyncio.new_event_loop()
        self.open: set[Callable[[], Coroutine[Any, Any, None]]] = set()
        self.start()
        atexit.register(self.close)

    def run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def close(self) -> None:
        """End every session that is open when the interpreter ends."""
        if self.process == os.getpid() and self.open:
            with suppress(Exception):
                asyncio.run_coroutine_threadsafe(self._ends(), self.loop).result(_CLOSING_SECONDS)

    async def _ends(self) -> None:
        await asyncio.gather(*(end() for end in list(self.open)), return_exceptions=True)


_lock = threading.Lock()
_running: _Loop | None = None


def _thread() -> _Loop:
    global _running
    with _lock:
        if _running is None or _running.process != os.getpid():  # a thread does not survive a fork
            _running = _Loop()
        return _running


def submit(work: Coroutine[Any, Any, _T]) -> Future[_T]:
    """Run a coroutine on the loop."""
    return asyncio.run_coroutine_threadsafe(work, _thread().loop)


def wait(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine on the loop, and wait for it in this thread.

    Raises:
        RuntimeError: this is the loop's own thread, which cannot wait for itself; a function given as `include`, say, asks the server.
    """
    if isinstance(threading.current_thread(), _Loop):
        work.close()
        raise RuntimeError("an McpServer cannot be asked from a function that it calls itself, such as include=")
    future = submit(work)
    try:
        return future.result()
    except BaseException:  # Ctrl-C: nobody waits for it any more
        future.cancel()
        raise


async def hand_over(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine on the loop, and wait for it on the caller's; cancelling the one cancels the other."""
    return await asyncio.wrap_future(submit(work))


def at_exit(end: Callable[[], Coroutine[Any, Any, None]], wanted: bool) -> None:
    """Have something awaited on the loop when the interpreter ends, or no longer."""
    thread = _thread()
    (thread.open.add if wanted else thread.open.discard)(end)
