"""Where `Cache` keeps replies that several processes share: an SQLite file.

Called by the drivers, in a worker thread, so that no hook waits for a disk or reads a clock. It never raises: a cache that cannot be read
is no cache, and the run goes on without.
"""

from __future__ import annotations

import os
import time
import weakref
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Any

from ..run import logger
from .memory_storage import fresh

if TYPE_CHECKING:
    from sqlite3 import Connection

BUSY = 2.0
"""Seconds to wait for another process that writes."""

PAUSE = 60.0
"""Seconds before a file that failed is tried again."""

_TABLE = """CREATE TABLE IF NOT EXISTS replies (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, made REAL NOT NULL, reply TEXT NOT NULL)"""


class File:
    """A store in an SQLite file, which is made readable for its owner only. One connection a process, behind a lock.

    Args:
        path: the file.
        ttl, most: as for `Memory`.
    """

    blocks = True

    def __init__(self, path: str | os.PathLike[str], ttl: float | None, most: int) -> None:
        self._path = os.fspath(path)
        self._ttl = ttl
        self._most = most
        self._lock = Lock()
        self._connection: tuple[Connection, int] | None = None
        self._inherited: list[Any] = []
        self._close: Any = None
        self._off_until = 0.0
        self._is_told = False

    def get(self, key: str) -> tuple[float, str] | None:
        """The text for a key with its age in seconds."""
        rows = self._done(False, ("SELECT CAST(made AS REAL), CAST(reply AS TEXT) FROM replies WHERE key = ?", (key,)))
        return fresh(rows[0][0], rows[0][1], self._ttl) if rows else None

    def put(self, key: str, text: str) -> None:
        """Keep a text. A new one has the highest id, so that the oldest are those so many below."""
        self._done(
            True,
            ("INSERT OR REPLACE INTO replies (key, made, reply) VALUES (?, ?, ?)", (key, time.time(), text)),
            ("DELETE FROM replies WHERE id <= (SELECT max(id) FROM replies) - ?", (self._most,)),
        )

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        with self._lock:
            self._drop()

    def _done(self, writes: bool, *statements: tuple[str, tuple[Any, ...]]) -> list[Any]:
        """The rows of the last statement; none if the file cannot be used now."""
        from sqlite3 import Error

        with self._lock:
            if time.monotonic() < self._off_until:
                return []
            try:
                connection = self._opened()
                with connection:  # commits, or rolls back
                    if writes:
                        connection.execute("BEGIN IMMEDIATE")
                    rows: list[list[Any]] = [connection.execute(text, values).fetchall() for text, values in statements]
                return rows[-1]
            except (Error, OSError) as error:
                self._fail(error)
                return []

    def _opened(self) -> Connection:
        if self._connection is not None and self._connection[1] != os.getpid():
            self._inherited.append(self._connection)  # https://www.sqlite.org/howtocorrupt.html: never used nor closed across a fork
            self._connection = None
        if self._connection is None:
            import sqlite3

            os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
            made = sqlite3.connect(self._path, timeout=BUSY, isolation_level=None, check_same_thread=False)
            self._connection = made, os.getpid()
            self._close = weakref.finalize(self, _close, made, os.getpid())
            with suppress(sqlite3.OperationalError):  # another process is just doing it; it lasts
                made.execute("PRAGMA journal_mode=WAL")
            made.execute("PRAGMA synchronous=NORMAL")
            made.execute(_TABLE)
        return self._connection[0]

    def _fail(self, error: Exception) -> None:
        self._off_until = time.monotonic() + PAUSE
        if not self._is_told:
            self._is_told = True
            logger.warning("the cache %s cannot be used, and the run goes on without it: %s", self._path, error)
        self._drop()

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection = None
            self._close()


def _close(connection: Connection, pid: int) -> None:
    if pid == os.getpid():
        connection.close()
