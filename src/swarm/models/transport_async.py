"""The asyncio transport: aiohttp, with one session for each event loop, closed by the loop itself.

A session belongs to the loop it was made in, and somebody must close it before that loop ends. Whoever calls `run` should not have to know
that. So at the first call in a loop an async generator is started that holds the session: `asyncio.run` closes all async generators when
it ends, and a loop closes one that is dropped earlier. Asking users for `async with` was the alternative; they may, they need not.
"""

from __future__ import annotations

import asyncio
import atexit
import io
import os
import weakref
from collections.abc import AsyncGenerator, Mapping
from contextvars import ContextVar
from functools import lru_cache, partial
from time import monotonic
from typing import TYPE_CHECKING, Any

import aiohttp
from aiohttp.client_proto import ResponseHandler
from yarl import URL

from ..errors import ModelError
from .decoding import decoder_for
from .endpoint import Endpoint
from .failures import Header, connection_lost, no_answer_in_time, no_connection, no_http
from .timeouts import DRAIN, KEEP_ALIVE, Timeout

if TYPE_CHECKING:
    from aiohttp.client_reqrep import ClientRequest
    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace

# aiohttp warns about a longer body given as bytes; as a file it is sent in parts.
_LARGE = 2**20
_living: weakref.WeakSet[AsyncTransport] = weakref.WeakSet()


class _Use:
    """One use of a connection: whether it is another than the first, and whether a byte has come."""

    __slots__ = ("again", "answered")

    def __init__(self, again: bool) -> None:
        self.again = again
        self.answered = False


_use: ContextVar[_Use | None] = ContextVar("swarm_connection_use", default=None)


class AsyncTransport:
    """Sends requests to one endpoint, from any event loop.

    Args:
        endpoint: where to.
        limit: how many connections a loop may have at once.
    """

    def __init__(self, endpoint: Endpoint, limit: int) -> None:
        self._endpoint = endpoint
        self._limit = limit
        self._url = URL(endpoint.url, encoded=True)
        self._sessions: dict[asyncio.AbstractEventLoop, _Session] = {}
        # Not a __del__: the garbage collector runs those in any order, and aiohttp's own, which complains, might be first.
        weakref.finalize(self, _let_go_of_all, self._sessions).atexit = False
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
        session = await self._session()
        deadline = monotonic() + (float("inf") if limits.total is None else limits.total)
        try:
            try:
                response = await self._send(session, endpoint, body, limits, limits.total)
            except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
                # The server closed an idle connection just as it was taken, and answered nothing: once, try another.
                use = _use.get()
                if use is None or not use.again or use.answered or not _is_closing(error):
                    raise
                left = None if limits.total is None else max(deadline - monotonic(), 0.001)
                response = await self._send(session, endpoint, body, limits, left)
        except (aiohttp.ClientError, OSError) as error:
            raise _translated(self._endpoint, error, limits, deadline) from None
        return AsyncAnswer(endpoint, response, limits, deadline)

    async def _send(
        self, session: aiohttp.ClientSession, endpoint: Endpoint, body: bytes, limits: Timeout, total: float | None
    ) -> aiohttp.ClientResponse:
        headers: Mapping[str, str] = endpoint.headers
        proxy, tunnel_headers = endpoint.proxy, None
        if proxy and proxy.authorization:
            tunnel_headers = {"Proxy-Authorization": proxy.authorization}
            if not endpoint.tls:
                headers, tunnel_headers = {**headers, **tunnel_headers}, None
        return await session.post(
            self._url if endpoint is self._endpoint else URL(endpoint.url, encoded=True),
            data=body if len(body) < _LARGE else io.BytesIO(body),
            headers=headers,
            allow_redirects=False,
            timeout=_timeout(total, limits.connect, limits.read),
            proxy=proxy.url if proxy else None,
            proxy_headers=tunnel_headers,
        )

    async def _session(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        held = self._sessions.get(loop)
        if held is None or held.process != os.getpid() or held.session.closed:
            for old in [old for old in self._sessions if old is loop or old.is_closed()]:
                self._sessions.pop(old).let_go(old)
            held = self._sessions[loop] = _Session(self._endpoint, self._limit)
            await anext(held.keeper)
        return held.session

    async def aclose(self) -> None:
        """Close the session of the running loop. The others are closed by their loops."""
        held = self._sessions.pop(asyncio.get_running_loop(), None)
        if held is not None:
            await held.keeper.aclose()

    def detach(self) -> None:
        """Forget all sessions without closing anything."""
        for held in self._sessions.values():
            held.session.detach()


class _Session:
    """An aiohttp session, and the generator that closes it."""

    def __init__(self, endpoint: Endpoint, limit: int) -> None:
        self.process = os.getpid()
        # Bodies are unpacked by us, so that it is done alike in sync and async.
        self.session = aiohttp.ClientSession(
            connector=_Connector(endpoint, limit), cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False
        )
        self.keeper = self._keep()

    async def _keep(self) -> AsyncGenerator[None, None]:
        session, process = self.session, self.process
        del self  # a generator that held its owner would be a reference cycle
        try:
            yield
        finally:
            if process == os.getpid():
                await session.close()
            else:  # a child made by fork shares the parent's selector, and would make it deaf
                session.detach()

    def let_go(self, loop: asyncio.AbstractEventLoop) -> None:
        """Give the session up from outside of its loop."""
        if self.process == os.getpid() and loop.is_running():
            return  # the loop closes a generator that is dropped
        connector = self.session.connector
        self.session.detach()
        if self.process == os.getpid() and not loop.is_closed() and isinstance(connector, _Connector):
            loop.call_soon_threadsafe(connector.hang_up)  # if it ever runs again


def _let_go_of_all(sessions: dict[asyncio.AbstractEventLoop, _Session]) -> None:
    while sessions:
        loop, held = sessions.popitem()
        held.let_go(loop)


@atexit.register
def _detach_all() -> None:
    """At exit the sockets close with the process, and loops in daemon threads close nothing any more."""
    for transport in list(_living):
        transport.detach()


class _Protocol(ResponseHandler):
    """A connection that tells the request at hand when a byte comes."""

    use: _Use | None = None

    def data_received(self, data: bytes) -> None:
        if self.use is not None:
            self.use.answered = True
        super().data_received(data)


class _Connector(aiohttp.TCPConnector):
    """Tells the request at hand whether its connection was used before."""

    def __init__(self, endpoint: Endpoint, limit: int) -> None:
        # aiohttp's own hints leave a type open.
        super().__init__(  # pyright: ignore[reportUnknownMemberType]  # not fully typed there
            limit=limit, keepalive_timeout=KEEP_ALIVE, ssl=endpoint.ssl_context if endpoint.tls else True
        )
        self._factory = partial(_Protocol, loop=self._loop)
        self._used: weakref.WeakSet[ResponseHandler] = weakref.WeakSet()

    async def connect(self, req: ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout) -> Connection:
        _use.set(None)
        connection = await super().connect(req, traces, timeout)
        protocol = connection.protocol
        if isinstance(protocol, _Protocol):
            if protocol.use is None:
                self._used.add(protocol)
            protocol.use = _Use(protocol.use is not None)
            _use.set(protocol.use)
        return connection

    def hang_up(self) -> None:
        """Close all connections, without waiting for anything."""
        for protocol in list(self._used):
            protocol.close()

    def __del__(self, _warnings: Any = None) -> None:
        """Nothing: its sockets close themselves, and a message on stderr would tell a user about a session that he never saw."""


class AsyncAnswer:
    """The answer to one request: its head, and its body as it arrives. It must be read to the end or closed.

    Attributes:
        endpoint: who answers.
        status: HTTP status.
        header: looks up a header.
    """

    __slots__ = ("_deadline", "_decoder", "_limits", "_response", "endpoint", "header", "status")

    def __init__(self, endpoint: Endpoint, response: aiohttp.ClientResponse, limits: Timeout, deadline: float) -> None:
        self.endpoint = endpoint
        self._response: aiohttp.ClientResponse | None = response
        self._limits = limits
        self._deadline = deadline
        self.status = response.status
        self.header: Header = response.headers.get
        self._decoder = decoder_for(endpoint, self.header)

    async def piece(self) -> bytes:
        """The next bytes of the body as soon as there are any, or b"" at its end.

        Raises:
            ConnectionFailed, ModelTimeout: the body did not come to its end.
            InvalidReply: it is compressed and damaged.
        """
        piece = b""
        try:
            while self._response is not None and not piece:
                if monotonic() >= self._deadline:
                    raise TimeoutError
                piece = await self._response.content.readany()
                if not piece:
                    self._response = None
                elif self._decoder is not None:
                    piece = self._decoder.feed(piece)
        except BaseException as error:
            self._fail(error)
            raise
        return piece

    async def read(self) -> bytes:
        """The whole body."""
        if self._response is None:
            return b""
        try:
            raw = await self._response.read()
            if raw and self._decoder is not None:
                raw = self._decoder.feed(raw)
        except BaseException as error:
            self._fail(error)
            raise
        self._response = None
        return raw

    def _fail(self, error: BaseException) -> None:
        self.close()
        if isinstance(error, aiohttp.ClientError | OSError):
            raise _translated(self.endpoint, error, self._limits, self._deadline) from None

    async def finish(self) -> None:
        """Take the end of a body whose events have ended, so that the connection can be used again."""
        if self._response is None:
            return
        try:
            async with asyncio.timeout(DRAIN):
                while await self._response.content.readany():
                    pass
            self._response = None
        except (aiohttp.ClientError, OSError):
            pass
        finally:
            self.close()

    def close(self) -> None:
        """Close the connection, unless the body was read to its end."""
        response, self._response = self._response, None
        if response is not None:
            response.close()


@lru_cache(maxsize=64)
def _timeout(total: float | None, connect: float | None, read: float | None) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=total, sock_connect=connect, sock_read=read)


def _is_closing(error: aiohttp.ClientOSError | aiohttp.ServerDisconnectedError) -> bool:
    return isinstance(error, aiohttp.ServerDisconnectedError) or isinstance(error.__cause__, ConnectionError)


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
    if isinstance(error, aiohttp.ClientResponseError):
        return no_http(endpoint, error.message)
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return connection_lost(endpoint, "it was closed before an answer came", error)
    return connection_lost(endpoint, None, error)
