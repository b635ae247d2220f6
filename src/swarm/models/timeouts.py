"""How long things may take: the limits a caller can set, and the two waits that nobody needs to."""

from __future__ import annotations

KEEP_ALIVE = 50.0
"""Seconds an idle connection is kept: load balancers commonly drop theirs after a minute."""

DRAIN = 0.25
"""Seconds that the end of a body may lag behind the end of its events before the connection is given up."""


class Timeout:
    """The time limits of one call, in seconds; None is no limit.

    The whole call gets ten minutes, the default of the official client, since a reasoning model can be that slow. A silence of five
    minutes means a lost connection: routers forget idle ones after about that time, and nobody is told.

    Args:
        connect: until a connection stands, TLS included.
        read: longest silence while the answer is awaited or read.
        total: the whole call, the wait for a free connection included. In a stream, the caller's own time between two chunks counts too.

    Raises:
        ValueError: a limit that is not above zero.
    """

    __slots__ = ("connect", "read", "total")

    def __init__(self, connect: float | None = 10.0, read: float | None = 300.0, total: float | None = 600.0) -> None:
        for limit in (connect, read, total):
            if limit is not None and not limit > 0:
                raise ValueError(f"a time limit must be more than 0 seconds, not {limit!r}; None is no limit")
        self.connect = connect
        self.read = read
        self.total = total

    def __repr__(self) -> str:
        return f"Timeout(connect={self.connect!r}, read={self.read!r}, total={self.total!r})"
