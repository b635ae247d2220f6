"""Our client for Chat Completions servers: what lies between a request dict and a reply, and nothing else.

The official client validates every message of a history against every type of a union, so a call costs ten times its transport, and a
long conversation hundreds. This one reads JSON once. The transports are aiohttp and urllib3, imported at the first call; the pieces are:
`endpoint` (where and with what), `outgoing` (what is sent), `timeouts`, `transport_sync` and `transport_async`, `decoding`, `sse` and
`chunks` (streams), `halves` (of characters), `failures` (errors).
"""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping
from contextlib import aclosing
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias

from ..effects import CallModel, Reply
from ..errors import ModelError
from ..messages import read_reply
from .chunks import ChunkReader, whole_as_chunk
from .endpoint import Endpoint
from .failures import identified, read_object, refused
from .outgoing import outgoing
from .profiles import Profile, checked
from .record import Chunks, Record
from .timeouts import Timeout

if TYPE_CHECKING:
    from ssl import SSLContext

    from .transport_async import AsyncAnswer, AsyncTransport
    from .transport_sync import SyncAnswer, SyncTransport

    Answer: TypeAlias = AsyncAnswer | SyncAnswer

__all__ = ["ChatClient", "Timeout"]

USUAL_TIMEOUT = Timeout()


class ChatClient:
    """A client for one Chat Completions endpoint, sync and async, for any number of threads, event loops and forked processes.

    It is configured by the environment variables of the official client. Nothing is opened before the first call. It need not be closed:
    idle connections close when it is dropped, or with their event loop. `close()` and `with` do it earlier; a later call opens anew.

    Args:
        base_url: the endpoint up to and without "/chat/completions"; else OPENAI_BASE_URL, else "https://api.openai.com/v1".
        api_key: sent as a bearer token; else OPENAI_API_KEY. With a base URL there need not be one, and none is sent.
        timeout: seconds for a whole call, or a Timeout with separate limits. Default: 10 s to connect, 300 s of silence, 600 s in all.
        max_connections: how many calls may run at once, in each process and event loop; the wait for a turn counts towards the time limit.
        headers: further headers, or other values for ours.
        query: arguments added to the URL, such as Azure's "api-version".
        ssl_context: for servers with certificates of their own; default: certificates from SSL_CERT_FILE, certifi if installed, the system.
        profile: how the server wants its messages, a `swarm.models.profiles.Profile` or the name of one; by default told by base URL and
            model name.

    OPENAI_ORG_ID and OPENAI_PROJECT_ID are sent if set. HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY are honoured.

    Raises:
        ConfigError: neither key nor base URL, or one that HTTP does not allow.
        ValueError: a limit that is not above zero.
    """

    encodes = True  # asks the lists of a request for their JSON text; see `encoded`

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float | Timeout = USUAL_TIMEOUT,
        max_connections: int = 1000,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        ssl_context: SSLContext | None = None,
        profile: Profile | str | None = None,
    ) -> None:
        if max_connections < 1:
            raise ValueError(f"max_connections must be at least 1, not {max_connections}")
        self._endpoint = Endpoint(base_url, api_key, headers, query, ssl_context)
        self._timeout = timeout if isinstance(timeout, Timeout) else Timeout(read=timeout, total=timeout)
        self._max_connections = max_connections
        self.profile = checked(profile)
        self._making = threading.Lock()
        self._sync_transport: SyncTransport | None = None
        self._async_transport: AsyncTransport | None = None

    def __copy__(self) -> ChatClient:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> ChatClient:
        """The client itself: a copy of an agent calls through the same connections."""
        return self

    def __repr__(self) -> str:
        return f"ChatClient(base_url={self.base_url!r})"

    @property
    def base_url(self) -> str:
        """The endpoint, without query."""
        return self._endpoint.base_url

    @property
    def chat(self) -> _Chat:
        """For code written for the official client: `client.chat.completions.create(...)`."""
        return _Chat(self._whole, self._chunks)

    # What the drivers call

    def complete(self, call: CallModel) -> Reply:
        """Ask for one whole answer.

        Args:
            call: its `request` holds the arguments of `chat.completions.create`, with `extra_headers`, `extra_query`, `extra_body` and
                `timeout` as the official client has them; its `timeout` the seconds left for it, or None.

        Raises:
            ConfigError, HistoryError: an argument or a message that cannot be sent.
            ModelError: of the kind that fits; see `swarm.errors`.
        """
        return self._whole(call.request, call.timeout)[1]

    def stream(self, call: CallModel) -> Generator[dict[str, Any], None, None]:
        """Ask for an answer in chunks. Nothing is sent before the first is asked for; closing the generator closes the connection at once.

        Args:
            call: as for `complete`.

        Raises:
            ModelError: ConnectionFailed too if the stream ends before its end.
        """
        for batch in self.batches(call):
            yield from batch

    def batches(self, call: CallModel) -> Generator[Iterable[dict[str, Any]], None, None]:
        """`stream` by the chunks that came together, which the sync driver prefers. All of a batch must be read before the next."""
        return self._batches(call.request, call.timeout)

    async def acomplete(self, call: CallModel) -> Reply:
        """`complete` for asyncio."""
        answer = await self._async().post(*outgoing(self._endpoint, self._timeout, call.request, call.timeout, stream=False))
        return _completion(answer, await answer.read())[1]

    async def astream(self, call: CallModel) -> AsyncGenerator[dict[str, Any], None]:
        """`stream` for asyncio."""
        async with aclosing(self.abatches(call)) as batches:
            async for batch in batches:
                for chunk in batch:
                    yield chunk

    async def abatches(self, call: CallModel) -> AsyncGenerator[Iterable[dict[str, Any]], None]:
        """`astream` by the chunks that came together, which the async driver prefers. All of a batch must be read before the next."""
        answer = await self._async().post(*outgoing(self._endpoint, self._timeout, call.request, call.timeout, stream=True))
        try:
            if not _is_stream(answer):
                yield [whole_as_chunk(*_completion(answer, await answer.read()))]
                return
            reader = ChunkReader(answer.endpoint, answer.header)
            while piece := await answer.piece():
                yield reader.feed(piece)
                if reader.done:
                    await answer.finish()
                    return
            yield reader.end()
            reader.check_end()
        finally:
            answer.close()

    # What `create` calls

    def _whole(self, request: dict[str, Any], timeout: float | None) -> tuple[dict[str, Any], Reply]:
        answer = self._sync().post(*outgoing(self._endpoint, self._timeout, request, timeout, stream=False))
        return _completion(answer, answer.read())

    def _chunks(self, request: dict[str, Any]) -> Generator[dict[str, Any], None, None]:
        for batch in self._batches(request, None):
            yield from batch

    def _batches(self, request: dict[str, Any], timeout: float | None) -> Generator[Iterable[dict[str, Any]], None, None]:
        answer = self._sync().post(*outgoing(self._endpoint, self._timeout, request, timeout, stream=True))
        try:
            if not _is_stream(answer):
                yield [whole_as_chunk(*_completion(answer, answer.read()))]
                return
            reader = ChunkReader(answer.endpoint, answer.header)
            while piece := answer.piece():
                yield reader.feed(piece)
                if reader.done:
                    answer.finish()
                    return
            yield reader.end()
            reader.check_end()
        finally:
            answer.close()

    # The transports

    def _sync(self) -> SyncTransport:
        if self._sync_transport is None:
            from .transport_sync import SyncTransport

            with self._making:
                if self._sync_transport is None:
                    self._sync_transport = SyncTransport(self._endpoint, self._max_connections)
        return self._sync_transport

    def _async(self) -> AsyncTransport:
        if self._async_transport is None:
            from .transport_async import AsyncTransport

            with self._making:
                if self._async_transport is None:
                    self._async_transport = AsyncTransport(self._endpoint, self._max_connections)
        return self._async_transport

    def close(self) -> None:
        """Close the idle connections of the sync side."""
        if self._sync_transport is not None:
            self._sync_transport.close()

    async def aclose(self) -> None:
        """Close the sync side and the connections of the running event loop."""
        self.close()
        if self._async_transport is not None:
            await self._async_transport.aclose()

    def __enter__(self) -> ChatClient:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    async def __aenter__(self) -> ChatClient:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        await self.aclose()


class _Chat:
    """The attribute path of the official client."""

    __slots__ = ("_chunks", "_whole")

    def __init__(
        self, whole: Callable[..., tuple[dict[str, Any], Reply]], chunks: Callable[..., Generator[dict[str, Any], None, None]]
    ) -> None:
        self._whole = whole
        self._chunks = chunks

    @property
    def completions(self) -> _Chat:
        return self

    def create(self, *, stream: bool = False, timeout: float | Timeout | None = None, **request: Any) -> Record | Chunks:
        """Ask for a completion, as with the official client.

        Args:
            stream: whether to return an iterator of chunks.
            timeout: seconds for this call, or a Timeout, instead of the client's own limit.
            request: the body, `model=` and `messages=` above all; `extra_body=`, `extra_headers=` and `extra_query=` as in the official
                client.

        Raises:
            ModelError: of the kind that fits; see `swarm.errors`.
        """
        if stream:
            return Chunks(self._chunks({**request, "timeout": timeout}))
        return Record.of(self._whole({**request, "timeout": timeout}, None)[0])


def _completion(answer: Answer, raw: bytes) -> tuple[dict[str, Any], Reply]:
    endpoint, header = answer.endpoint, answer.header
    if not 200 <= answer.status < 300:
        raise refused(endpoint, answer.status, header, raw)
    try:
        completion = read_object(endpoint, header, raw)
        return completion, read_reply(completion)
    except ModelError:
        pass
    try:  # what the provider says goes into the error, so it is read again without secrets
        completion = read_object(endpoint, header, endpoint.mask(raw))
        return completion, read_reply(completion)
    except ModelError as error:
        raise identified(error, header) from None


def _is_stream(answer: Answer) -> bool:
    return 200 <= answer.status < 300 and "json" not in (answer.header("content-type") or "")
