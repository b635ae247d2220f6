"""The asyncio transport: aiohttp's connections, with one pool for each event loop, closed by the loop itself.

Of aiohttp it takes what is hard (the pool, happy eyeballs, TLS, proxies, the parser of HTTP in C) and leaves out `ClientSession.post`,
which makes a request and a response object for everything that HTTP can do and so costs as much again as all the rest. Timers are saved
too: one for each answer, looked at when it fires, instead of a new one whenever bytes come.

A pool belongs to the loop it was made in, and somebody must close it before that loop ends. Whoever calls `run` should not have to know
that. So at the first call in a loop an async generator is started that holds the pool: `asyncio.run` closes all async generators when
it ends, and a loop closes one that is dropped earlier. Asking users for `async with` was the alternative; they may, they need not.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import weakref
from collections.abc import AsyncGenerator
from functools import lru_cache, partial
from time import monotonic
from typing import TYPE_CHECKING, Any

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ClientRequest
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

from ..errors import ModelError
from .decoding import decoder_for
from .endpoint import Endpoint
from .failures import Header, connection_lost, no_answer_in_time, no_connection, no_http
from .timeouts import DRAIN, KEEP_ALIVE, Timeout

if TYPE_CHECKING:
    from aiohttp.connector import Connection
    from aiohttp.http_parser import RawResponseMessage
    from aiohttp.streams import StreamReader

INFINITE = float("inf")
_living: weakref.WeakSet[AsyncTransport] = weakref.WeakSet()


class AsyncTransport:
    """Sends requests to one endpoint, from any event loop.

    Args:
        endpoint: where to.
        limit: how many connections a loop may have at once.
    """

    def __init__(self, endpoint: Endpoint, limit: int) -> None:
        self._endpoint = endpoint
        self._limit = limit
        self._head: bytes | None = None
        self._pools: dict[asyncio.AbstractEventLoop, _Pool] = {}
        # Not a __del__: the garbage collector runs those in any order, and aiohttp's own, which complains, might be first.
        weakref.finalize(self, _let_go_of_all, self._pools).atexit = False
        _living.add(self)

    async def post(self, endpoint: Endpoint, body: bytes, limits: Timeout) -> AsyncAnswer:
        """Send a request and wait for the head of its answer.

        Args:
            endpoint: this transport's own, maybe with other headers and arguments.
            body: the request.
            limits: what it may take.

        Raises:
            ConnectionFailed, ModelTimeout: no answer came.
        """
        loop = asyncio.get_running_loop()
        pool = self._pools.get(loop)
        if pool is None or pool.process != os.getpid() or pool.connector.closed:
            pool = await self._new_pool(loop)
        deadline = INFINITE if limits.total is None else monotonic() + limits.total
        try:
            return await self._exchange(pool, endpoint, body, limits, deadline)
        except (aiohttp.ClientError, OSError, HttpProcessingError) as error:
            raise _translated(self._endpoint, error, limits, deadline) from None

    async def _exchange(
        self, pool: _Pool, endpoint: Endpoint, body: bytes, limits: Timeout, deadline: float, again: bool = False
    ) -> AsyncAnswer:
        """Send a request and read the head of its answer, over an idle connection if there is one."""
        connection = await pool.connect(max(deadline - monotonic(), 0.001) if again and limits.total else limits.total, limits.connect)
        protocol: Any = connection.protocol
        try:
            protocol.begin(limits.read, deadline)
            # Bodies are unpacked by us, so that it is done alike in sync and async.
            protocol.set_response_params(read_until_eof=True, auto_decompress=False)
            protocol.transport.write(b"%b%d\r\n\r\n%b" % (self._head_of(endpoint), len(body), body))
            message, payload = await protocol.read()
            while 100 <= message.code < 200 and message.code != 101:  # RFC 9110, section 15.2: any number of interim answers
                message, payload = await protocol.read()
            return AsyncAnswer(endpoint, connection, message, payload, limits, deadline)
        except BaseException as error:
            protocol.end()
            connection.close()
            # The server closed an idle connection just as it was taken, and answered nothing: once, try another.
            if again or protocol.uses == 1 or protocol.heard or not _is_closing(error):
                raise
        return await self._exchange(pool, endpoint, body, limits, deadline, again=True)

    def _head_of(self, endpoint: Endpoint) -> bytes:
        if endpoint is not self._endpoint:
            return _head(endpoint)
        if self._head is None:
            self._head = _head(endpoint)
        return self._head

    async def _new_pool(self, loop: asyncio.AbstractEventLoop) -> _Pool:
        for old in [old for old in self._pools if old is loop or old.is_closed()]:
            self._pools.pop(old).let_go(old)
        pool = self._pools[loop] = _Pool(self._endpoint, self._limit, loop)
        await anext(pool.keeper)
        return pool

    async def aclose(self) -> None:
        """Close the pool of the running loop. The others are closed by their loops."""
        pool = self._pools.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            await pool.keeper.aclose()

    def detach(self) -> None:
        """Forget all pools without closing anything."""
        self._pools.clear()


class _Pool:
    """The connections of one loop, and the generator that closes them."""

    def __init__(self, endpoint: Endpoint, limit: int, loop: asyncio.AbstractEventLoop) -> None:
        self.process = os.getpid()
        self.connector = _Connector(endpoint, limit)
        proxy, tunnel_headers = endpoint.proxy, None
        if proxy and proxy.authorization and endpoint.tls:  # with the Host that aiohttp would add, which would change the pool's key
            tunnel_headers = {"Proxy-Authorization": proxy.authorization, "Host": endpoint.authority}
        # What aiohttp is told about the server; nothing of it is sent.
        self._request = ClientRequest(
            "POST",
            URL(endpoint.url, encoded=True),
            loop=loop,
            ssl=endpoint.ssl_context if endpoint.tls else True,
            proxy=URL(proxy.url) if proxy else None,
            proxy_headers=tunnel_headers,
        )
        self.keeper = self._keep()

    async def connect(self, left: float | None, limit: float | None) -> Connection:
        """An idle connection, or a new one, as soon as there may be one more.

        Args:
            left: seconds that the wait for it may take, all in all.
            limit: seconds that making it may take.
        """
        try:
            return await self.connector.connect(self._request, [], _timeout(left, limit))
        except TimeoutError:
            raise aiohttp.ConnectionTimeoutError from None

    async def _keep(self) -> AsyncGenerator[None, None]:
        connector, process = self.connector, self.process
        del self  # a generator that held its owner would be a reference cycle
        try:
            yield
        finally:
            if process == os.getpid():  # a child made by fork shares the parent's selector, and would make it deaf
                await connector.close()

    def let_go(self, loop: asyncio.AbstractEventLoop) -> None:
        """Give the connections up from outside of their loop."""
        if self.process == os.getpid() and not loop.is_running() and not loop.is_closed():
            loop.call_soon_threadsafe(self.connector.hang_up)  # if it ever runs again; a running one closes a generator that is dropped


def _let_go_of_all(pools: dict[asyncio.AbstractEventLoop, _Pool]) -> None:
    while pools:
        loop, pool = pools.popitem()
        pool.let_go(loop)


@atexit.register
def _detach_all() -> None:
    """At exit the sockets close with the process, and loops in daemon threads close nothing any more."""
    for transport in list(_living):
        transport.detach()


class _Protocol(ResponseHandler):
    """A connection that knows how often it was used, whether the server has said anything, and how long it may be silent.

    Attributes:
        uses: how many requests it has carried.
        heard: whether a byte has come since the last of them.
    """

    uses = 0
    heard = False

    def begin(self, silence: float | None, deadline: float) -> None:
        """Wait for an answer from now on: for so many seconds of silence at most, and until `deadline` on the monotonic clock."""
        self.uses += 1
        self.heard, self._last = False, monotonic()
        self._silence, self._deadline = INFINITE if silence is None else silence, deadline
        self._timer: asyncio.TimerHandle | None = None
        self._look_later(self._last)

    def end(self) -> None:
        """Wait no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look_later(self, now: float) -> None:
        left = min(self._last + self._silence, self._deadline) - now
        if left < INFINITE:
            self._timer = self._loop.call_later(left, self._look)

    def _look(self) -> None:
        now = monotonic()
        if self._reading_paused:  # the reader is slow, not the server
            self._last = now
        if now >= self._last + self._silence or now >= self._deadline:
            self._timer = None
            self._on_read_timeout()
        else:
            self._look_later(now)

    def data_received(self, data: bytes) -> None:
        if data:  # aiohttp calls it with none when reading goes on
            self.heard, self._last = True, monotonic()
        ResponseHandler.data_received(self, data)


class _Connector(aiohttp.TCPConnector):
    """Knows all its connections, so that they can be closed from outside of their loop."""

    def __init__(self, endpoint: Endpoint, limit: int) -> None:
        # aiohttp's own hints leave a type open.
        super().__init__(  # pyright: ignore[reportUnknownMemberType]  # not fully typed there
            limit=limit, keepalive_timeout=KEEP_ALIVE, ssl=endpoint.ssl_context if endpoint.tls else True
        )
        self._used: weakref.WeakSet[ResponseHandler] = weakref.WeakSet()
        self._factory = partial(_remembered, self._used, self._loop)

    def hang_up(self) -> None:
        """Close all connections, without waiting for anything."""
        for protocol in list(self._used):
            protocol.close()

    def __del__(self, _warnings: Any = None) -> None:
        """Nothing: its sockets close themselves, and a message on stderr would tell a user about a session that he never saw."""


def _remembered(all: weakref.WeakSet[ResponseHandler], loop: asyncio.AbstractEventLoop) -> _Protocol:
    protocol = _Protocol(loop)
    all.add(protocol)
    return protocol


def _head(endpoint: Endpoint) -> bytes:
    """The head of a request, up to the length of its body (RFC 9112, section 3)."""
    headers, target = {"Host": endpoint.authority, **endpoint.headers}, endpoint.target
    if endpoint.proxy and not endpoint.tls:
        target = endpoint.url
        if endpoint.proxy.authorization:
            headers["Proxy-Authorization"] = endpoint.proxy.authorization
    lines = [f"POST {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "Content-Length: "]
    return "\r\n".join(lines).encode("ascii")


class AsyncAnswer:
    """The answer to one request: its head, and its body as it arrives. It must be read to the end or closed.

    Attributes:
        endpoint: who answers.
        status: HTTP status.
        header: looks up a header.
    """

    __slots__ = ("_connection", "_deadline", "_decoder", "_limits", "_payload", "endpoint", "header", "status")

    def __init__(
        self,
        endpoint: Endpoint,
        connection: Connection,
        message: RawResponseMessage,
        payload: StreamReader,
        limits: Timeout,
        deadline: float,
    ) -> None:
        self.endpoint = endpoint
        self._connection: Connection | None = connection
        self._payload = payload
        self._limits = limits
        self._deadline = deadline
        self.status = message.code
        self.header: Header = message.headers.get
        self._decoder = decoder_for(endpoint, self.header)

    async def piece(self) -> bytes:
        """The next bytes of the body as soon as there are any, or b"" at its end.

        Raises:
            ConnectionFailed, ModelTimeout: the body did not come to its end.
            InvalidReply: it is compressed and damaged.
        """
        piece = b""
        try:
            while self._connection is not None and not piece:
                if monotonic() >= self._deadline:
                    raise TimeoutError
                piece = await self._payload.readany()
                if not piece:
                    self._release()
                elif self._decoder is not None:
                    piece = self._decoder.feed(piece)
        except BaseException as error:
            self._fail(error)
            raise
        return piece

    async def read(self) -> bytes:
        """The whole body."""
        if self._connection is None:
            return b""
        try:
            raw = await self._payload.read()
            if raw and self._decoder is not None:
                raw = self._decoder.feed(raw)
        except BaseException as error:
            self._fail(error)
            raise
        self._release()
        return raw

    def _release(self) -> None:
        """The body has ended: the connection may be used again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            _end(connection)
            connection.release()

    def _fail(self, error: BaseException) -> None:
        self.close()
        if isinstance(error, aiohttp.ClientError | OSError | HttpProcessingError):
            raise _translated(self.endpoint, error, self._limits, self._deadline) from None

    async def finish(self) -> None:
        """Take the end of a body whose events have ended, so that the connection can be used again."""
        if self._connection is None:
            return
        try:
            async with asyncio.timeout(DRAIN):
                while await self._payload.readany():
                    pass
            self._release()
        except (aiohttp.ClientError, OSError, HttpProcessingError):
            pass
        finally:
            self.close()

    def close(self) -> None:
        """Close the connection, unless the body was read to its end."""
        connection, self._connection = self._connection, None
        if connection is not None:
            _end(connection)
            connection.close()


def _end(connection: Connection) -> None:
    protocol = connection.protocol
    if isinstance(protocol, _Protocol):
        protocol.end()


@lru_cache(maxsize=64)
def _timeout(total: float | None, connect: float | None) -> aiohttp.ClientTimeout:
    """Limits for getting a connection: aiohttp calls the wait for it, which is all of the time that is left, `connect`."""
    return aiohttp.ClientTimeout(connect=total, sock_connect=connect)


def _is_closing(error: BaseException) -> bool:
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return True
    return isinstance(error, aiohttp.ClientOSError) and isinstance(error.__cause__, ConnectionError)


def _translated(endpoint: Endpoint, error: Exception, limits: Timeout, deadline: float) -> ModelError:
    if isinstance(error, TimeoutError):
        limit = "connect" if isinstance(error, aiohttp.ConnectionTimeoutError) else "read"
        if monotonic() >= deadline or not isinstance(error, aiohttp.ServerTimeoutError):
            limit = "total"
        return no_answer_in_time(endpoint, limit, getattr(limits, limit), error)
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return no_connection(endpoint, OSError(f"the proxy answered {error.status} {error.message}"))
    if isinstance(error, aiohttp.ClientConnectorError):
        return no_connection(endpoint, error)
    if isinstance(error, aiohttp.ClientPayloadError):
        return connection_lost(endpoint, "it ended in the middle of the answer", error)
    if isinstance(error, HttpProcessingError):
        return no_http(endpoint, error.message)
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return connection_lost(endpoint, "it was closed before an answer came", error)
    return connection_lost(endpoint, None, error)
