"""The blocking transport: urllib3's connections, and a pool of them that keeps the promises of a model call.

The pool is ours. urllib3's own does not count the wait for a connection towards the limit of the whole call, cannot hold a server to that
limit that sends a byte now and then, and does not say whether a connection was used before. Answers are read through the standard
library's response, which hands out each piece as it arrives at half the cost of urllib3's.
"""

from __future__ import annotations

import http.client
import os
import threading
import weakref
from collections import deque
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING

from ..errors import ModelError
from .dechunking import Dechunker
from .decoding import decoder_for
from .endpoint import Endpoint
from .failures import Header, connection_lost, no_answer_in_time, no_connection, no_http
from .timeouts import DRAIN, KEEP_ALIVE, Timeout

if TYPE_CHECKING:
    from socket import socket

    from urllib3.connection import HTTPConnection

_PIECE = 65536
_FOREVER = float("inf")
_FAILURES = (OSError, http.client.HTTPException)


class SyncTransport:
    """Sends requests to one endpoint, from any thread and after a fork.

    Args:
        endpoint: where to.
        limit: how many connections there may be at once.
    """

    def __init__(self, endpoint: Endpoint, limit: int) -> None:
        self._endpoint = endpoint
        self._limit = limit
        self._pools: dict[int, _Pool] = {}

    def post(self, endpoint: Endpoint, body: bytes, limits: Timeout) -> SyncAnswer:
        """Send a request and wait for the head of its answer.

        Args:
            endpoint: this transport's own, maybe with other headers and arguments.
            body: the request.
            limits: what it may take.

        Raises:
            ConnectionFailed, ModelTimeout: no answer came.
        """
        process = os.getpid()
        # A child made by fork must not touch the connections and locks of its parent. `setdefault` is atomic, so no lock is needed here.
        pool = self._pools.get(process) or self._pools.setdefault(process, _Pool(self._endpoint, self._limit))
        return pool.post(endpoint, body, limits)

    def close(self) -> None:
        """Close the idle connections; those in use close when their answers are read."""
        pool = self._pools.pop(os.getpid(), None)
        if pool is not None:
            pool.close()


class _Pool:
    """The connections of one process."""

    def __init__(self, endpoint: Endpoint, limit: int) -> None:
        self._endpoint = endpoint
        self._slots = threading.BoundedSemaphore(limit)
        self._idle: deque[tuple[HTTPConnection, float]] = deque()
        self._closed = False
        weakref.finalize(self, _close_all, self._idle)

    def post(self, endpoint: Endpoint, body: bytes, limits: Timeout) -> SyncAnswer:
        deadline = _FOREVER if limits.total is None else monotonic() + limits.total
        if not self._slots.acquire(timeout=limits.total):
            raise no_answer_in_time(self._endpoint, "total", limits.total)
        try:
            conn = self._take()
            reused = conn is not None
            while True:
                if conn is None:
                    conn = self._connect(limits, deadline)
                try:
                    return self._exchange(conn, endpoint, body, limits, deadline)
                except http.client.RemoteDisconnected as error:
                    if not reused:
                        reason = None if error.__cause__ else "it was closed before an answer came"
                        raise connection_lost(self._endpoint, reason, error) from None
                # The server closed an idle connection just as it was taken and answered nothing: once, try a new one.
                conn, reused = None, False
        except BaseException:
            self._slots.release()
            raise

    def _take(self) -> HTTPConnection | None:
        while True:
            try:
                conn, since = self._idle.pop()
            except IndexError:
                return None
            if monotonic() - since < KEEP_ALIVE and conn.is_connected:
                return conn
            conn.close()

    def _connect(self, limits: Timeout, deadline: float) -> HTTPConnection:
        from urllib3.exceptions import HTTPError

        conn = self._new()
        conn.timeout = _shorter(limits.connect, deadline)
        try:
            conn.connect()
        except BaseException as error:
            conn.close()
            if isinstance(error, TimeoutError) or isinstance(error.__cause__, TimeoutError):
                raise _timed_out(self._endpoint, "connect", limits, deadline, error) from None
            if isinstance(error, (*_FAILURES, HTTPError)):
                raise no_connection(self._endpoint, error) from None
            raise
        return conn

    def _new(self) -> HTTPConnection:
        from urllib3.connection import HTTPConnection, HTTPSConnection

        endpoint, proxy = self._endpoint, self._endpoint.proxy
        host, port = (proxy.host, proxy.port) if proxy else (endpoint.host, endpoint.port)
        conn = HTTPSConnection(host, port, ssl_context=endpoint.ssl_context) if endpoint.tls else HTTPConnection(host, port)
        conn.response_class = _Response
        if proxy and endpoint.tls:
            conn.set_tunnel(endpoint.host, endpoint.port, {"Proxy-Authorization": proxy.authorization} if proxy.authorization else {})
        return conn

    def _exchange(self, conn: HTTPConnection, endpoint: Endpoint, body: bytes, limits: Timeout, deadline: float) -> SyncAnswer:
        target, headers = endpoint.target, endpoint.headers
        if endpoint.proxy and not endpoint.tls:
            target = endpoint.url
            if endpoint.proxy.authorization:
                headers = {**headers, "Proxy-Authorization": endpoint.proxy.authorization}
        conn.timeout = _shorter(limits.read, deadline)
        sock = conn.sock
        assert sock is not None  # it is connected
        try:
            # A server may answer and close before it has read everything.
            with suppress(BrokenPipeError, ConnectionResetError):
                conn.request("POST", target, body, headers)
            response = http.client.HTTPConnection.getresponse(conn)
        except BaseException as error:
            conn.close()
            if isinstance(error, http.client.RemoteDisconnected) or not isinstance(error, _FAILURES):
                raise
            raise _broken(endpoint, error, limits, deadline) from None
        return SyncAnswer(self, endpoint, conn, sock, response, limits, deadline)

    def give_back(self, conn: HTTPConnection | None) -> None:
        """Free the slot of an exchange, and keep its connection if it can be used again."""
        if conn is not None and not self._closed:
            self._idle.append((conn, monotonic()))
        elif conn is not None:
            conn.close()
        self._slots.release()

    def close(self) -> None:
        self._closed = True
        _close_all(self._idle)


class _Response(http.client.HTTPResponse):
    """An answer that knows whether a byte of it came before its connection was reset."""

    def begin(self) -> None:
        try:
            self.fp.peek(1)
        except ConnectionError as error:
            raise http.client.RemoteDisconnected(str(error)) from error
        super().begin()


class SyncAnswer:
    """The answer to one request: its head, and its body as it arrives. It must be read to the end or closed.

    Attributes:
        endpoint: who answers.
        status: HTTP status.
        header: looks up a header.
    """

    __slots__ = ("_chunked", "_conn", "_deadline", "_decoder", "_limits", "_pool", "_response", "_sock", "endpoint", "header", "status")

    def __init__(
        self,
        pool: _Pool,
        endpoint: Endpoint,
        conn: HTTPConnection,
        sock: socket,
        response: http.client.HTTPResponse,
        limits: Timeout,
        deadline: float,
    ) -> None:
        self._pool = pool
        self.endpoint = endpoint
        self._conn: HTTPConnection | None = conn
        self._sock = sock
        self._response = response
        self._limits = limits
        self._deadline = deadline
        self.status = response.status
        self.header: Header = response.headers.get
        self._decoder = decoder_for(endpoint, self.header)
        self._chunked = Dechunker() if response.chunked else None

    def piece(self) -> bytes:
        """The next bytes of the body as soon as there are any, or b"" at its end.

        Raises:
            ConnectionFailed, ModelTimeout: the body did not come to its end.
            InvalidReply: it is compressed and damaged.
        """
        piece = b""
        try:
            while self._conn is not None and not piece:
                left = self._deadline - monotonic()
                if left < (self._limits.read or _FOREVER):
                    if left <= 0:
                        raise TimeoutError
                    self._sock.settimeout(left)
                piece = self._some()
                if piece and self._decoder is not None:
                    piece = self._decoder.feed(piece)
            return piece
        except BaseException as error:
            self.close()
            if not isinstance(error, _FAILURES):
                raise
            raise _broken(self.endpoint, error, self._limits, self._deadline) from None

    def _some(self) -> bytes:
        """What one read brings of the body; at its end the connection is given back."""
        if self._chunked is None:
            piece = self._response.read1(_PIECE)
            if not piece and self._response.length:
                raise http.client.IncompleteRead(b"", self._response.length)
            if not piece:
                self._release()
            return piece
        raw = self._response.fp.read1(_PIECE)
        if not raw:
            raise http.client.IncompleteRead(b"")
        piece = self._chunked.feed(raw)
        if self._chunked.surplus:
            self.close()  # who knows what that would answer
        elif self._chunked.done:
            self._release()
        return piece

    def read(self) -> bytes:
        """The whole body."""
        pieces: list[bytes] = []
        while piece := self.piece():
            pieces.append(piece)
        return b"".join(pieces)

    def finish(self) -> None:
        """Take the end of a body whose events have ended, so that the connection can be used again."""
        until = monotonic() + DRAIN
        try:
            while self._conn is not None and (left := until - monotonic()) > 0:
                self._sock.settimeout(left)
                self._some()
        except _FAILURES:
            pass
        finally:
            self.close()

    def _release(self) -> None:
        conn, self._conn = self._conn, None
        self._response.close()
        if conn is not None:
            if conn.sock is None:  # a server that closes after each answer
                conn.close()
            self._pool.give_back(None if conn.sock is None else conn)

    def close(self) -> None:
        """Close the connection, unless the body was read to its end."""
        conn, self._conn = self._conn, None
        if conn is not None:
            self._response.close()
            conn.close()
            self._pool.give_back(None)


def _shorter(limit: float | None, deadline: float) -> float | None:
    """The seconds that an operation may take: its own limit, or what is left of the call; never 0, which would mean not to block."""
    left = max(deadline - monotonic(), 0.001)
    seconds = left if limit is None else min(limit, left)
    return None if seconds == _FOREVER else seconds


def _timed_out(endpoint: Endpoint, limit: str, limits: Timeout, deadline: float, error: BaseException) -> ModelError:
    if monotonic() >= deadline:
        limit = "total"
    return no_answer_in_time(endpoint, limit, getattr(limits, limit), error)


def _broken(endpoint: Endpoint, error: Exception, limits: Timeout, deadline: float) -> ModelError:
    if isinstance(error, TimeoutError):
        return _timed_out(endpoint, "read", limits, deadline, error)
    if isinstance(error, http.client.IncompleteRead):
        return connection_lost(endpoint, "it ended in the middle of the answer", error)
    if isinstance(error, http.client.HTTPException):
        return no_http(endpoint, str(error))
    return connection_lost(endpoint, None, error)


def _close_all(idle: deque[tuple[HTTPConnection, float]]) -> None:
    while idle:
        idle.pop()[0].close()
