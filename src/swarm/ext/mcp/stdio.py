"""Standard input and output for a protocol alone.

What agents' code reads and prints must not touch the protocol, by whatever means it does so: the descriptors 0 and 1 lead elsewhere while
a server runs. And the wait for the next line must not hold up the end, as it would in the SDK's own transport, whose reading thread
is waited for when Ctrl-C comes.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress


@contextmanager
def own_pipes() -> Generator[tuple[int, int]]:
    """Descriptors of what was standard input and output. Others find nothing to read meanwhile, and print to standard error."""
    reading, writing, nothing = os.dup(0), os.dup(1), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    try:
        yield reading, writing
    finally:
        sys.stdout.flush()  # what was printed meanwhile still belongs elsewhere
        os.dup2(reading, 0)
        os.dup2(writing, 1)
        os.close(writing)  # the other is left to the thread that may still read it


class Lines:
    """The lines that come from a descriptor, as an async iterator; read by a thread that nobody has to wait for."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        threading.Thread(target=self._read, name="swarm-mcp-stdin", daemon=True).start()

    def _read(self) -> None:
        rest = b""
        while chunk := os.read(self._descriptor, 65_536):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self._tell(line.decode("utf-8", "replace"))
        self._tell(None)

    def _tell(self, line: str | None) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody listens any more
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)

    def __aiter__(self) -> Lines:
        return self

    async def __anext__(self) -> str:
        line = await self._lines.get()
        if line is None:
            raise StopAsyncIteration
        return line
