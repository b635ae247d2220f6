"""Where `Cache` keeps replies in memory. Called by the drivers, like the file, so that no hook reads a clock."""

from __future__ import annotations

import time
from threading import Lock


class Memory:
    """A store of this process. The oldest go first.

    Args:
        ttl: seconds that a text is kept, or None.
        most: how many are kept.
    """

    blocks = False

    def __init__(self, ttl: float | None, most: int) -> None:
        self._ttl = ttl
        self._most = most
        self._lock = Lock()
        self._texts: dict[str, tuple[float, str]] = {}

    def get(self, key: str) -> tuple[float, str] | None:
        """The text for a key with its age in seconds."""
        with self._lock:
            made, text = self._texts.get(key, (0.0, ""))
        return fresh(made, text, self._ttl) if text else None

    def put(self, key: str, text: str) -> None:
        """Keep a text."""
        with self._lock:
            self._texts.pop(key, None)
            self._texts[key] = time.time(), text
            while len(self._texts) > self._most:
                del self._texts[next(iter(self._texts))]

    def close(self) -> None:
        """Nothing is open."""


def fresh(made: float, text: str, ttl: float | None) -> tuple[float, str] | None:
    """A text with its age in seconds, or None if it is too old."""
    age = max(0.0, time.time() - made)
    return None if ttl is not None and age >= ttl else (age, text)
