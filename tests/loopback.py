"""A model server on loopback that does exactly what a test says: real sockets, real HTTP, real server-sent events.

    with Loopback(json_answer(completion("Hello"))) as server:
        client = ChatClient(server.url, "key")
        ...
    assert server.requests[0].json["model"] == "gpt-4o"

A script is one answer, several (one for each request in turn, the last one again and again), or a function from a Request to an answer.
An answer is written down as what is sent and what happens in between:

    Answer(b"first piece", 0.01, b"second piece")      a pause in seconds
    Answer(b"first piece", event, b"second piece")      waits until the test sets the threading.Event: no test needs to guess times
    Answer(b"first piece", CUT)                         closes the connection in the middle; RESET resets it
    HANG                                                reads the request and never answers
    DROP                                                reads the request and closes the connection

It also serves as an HTTP proxy: requests for other hosts are answered like any other, and CONNECT opens a tunnel to the named port on
loopback (with `tunnels=False` it is answered like any other request).
"""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, TypeAlias


class Signal:
    """Something that happens to a connection in the course of an answer."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


CUT = Signal("CUT")
RESET = Signal("RESET")
WAIT = Signal("WAIT")
Step: TypeAlias = bytes | float | threading.Event | Signal


class Answer:
    """One HTTP answer.

    Args:
        steps: pieces of the body, and what happens between them.
        status: HTTP status.
        headers: further headers.
        framing: how the end of the body is told: "chunked", "length" (of all pieces), or "close".
        head: whether an answer is begun at all.
    """

    def __init__(
        self, *steps: Step, status: int = 200, headers: Mapping[str, str] | None = None, framing: str = "chunked", head: bool = True
    ) -> None:
        self.steps = steps
        self.status = status
        self.headers = dict(headers or {})
        self.framing = framing
        self.head = head

    def first_bytes(self) -> bytes:
        """Status line and headers."""
        headers = dict(self.headers)
        if self.framing == "chunked":
            headers["Transfer-Encoding"] = "chunked"
        elif self.framing == "length":
            headers["Content-Length"] = str(sum(len(step) for step in self.steps if isinstance(step, bytes)))
        else:
            headers["Connection"] = "close"
        lines = [f"HTTP/1.1 {self.status} Status", *(f"{name}: {value}" for name, value in headers.items())]
        return "\r\n".join([*lines, "", ""]).encode()

    def framed(self, piece: bytes) -> bytes:
        """A piece of the body as it goes over the wire."""
        return b"%x\r\n%s\r\n" % (len(piece), piece) if self.framing == "chunked" and piece else piece


HANG = Answer(WAIT, head=False)
DROP = Answer(CUT, head=False)


def completion(text: str | None = "Hello", tool_calls: list[dict[str, Any]] | None = None, **fields: Any) -> dict[str, Any]:
    """The body of a whole answer, as the API reference shows it.

    Args:
        text: the content.
        tool_calls: the calls, if there are any.
        fields: further or other top-level fields.
    """
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None, "annotations": []}
    if tool_calls:
        message["tool_calls"] = tool_calls
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "tool_calls" if tool_calls else "stop"}
    usage = {"prompt_tokens": 9, "completion_tokens": 12, "total_tokens": 21, "prompt_tokens_details": {"cached_tokens": 0}}
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "gpt-4o", "choices": [choice], "usage": usage} | fields


def tool_call(name: str, arguments: Mapping[str, Any], id: str = "call_1") -> dict[str, Any]:
    """A tool call as it stands in a message."""
    return {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def chunk(delta: Mapping[str, Any], finish_reason: str | None = None, **fields: Any) -> dict[str, Any]:
    """One chunk of a streamed answer."""
    choice = {"index": 0, "delta": dict(delta), "logprobs": None, "finish_reason": finish_reason}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o", "choices": [choice]} | fields


def text_chunks(*words: str) -> list[dict[str, Any]]:
    """The chunks of a text answer: the role, one for each word, the finish_reason."""
    return [chunk({"role": "assistant", "content": ""}), *(chunk({"content": word}) for word in words), chunk({}, "stop")]


def event(data: Mapping[str, Any] | str) -> bytes:
    """One server-sent event."""
    return f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode()


def json_answer(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """An answer with a JSON body."""
    return Answer(
        json.dumps(body).encode(), status=status, headers={"Content-Type": "application/json", **(headers or {})}, framing="length"
    )


def sse(*steps: Step | Mapping[str, Any], done: bool = True, framing: str = "chunked", headers: Mapping[str, str] | None = None) -> Answer:
    """A streamed answer.

    Args:
        steps: chunks as dicts, each sent as one event; or the steps of an Answer.
        done: whether "[DONE]" ends it.
        framing: as for Answer.
        headers: further headers.
    """
    pieces: list[Step] = [event(step) if isinstance(step, Mapping) else step for step in steps]
    if done:
        pieces.append(event("[DONE]"))
    return Answer(*pieces, headers={"Content-Type": "text/event-stream", **(headers or {})}, framing=framing)


class Request:
    """A request that came.

    Attributes:
        method, target: of the request line.
        headers: by lower-case name.
        body: as it came.
        connection: number of the connection it came on, from 0.
    """

    def __init__(self, head: bytes, connection: int) -> None:
        first, *lines = head.decode("latin-1").split("\r\n")
        self.method, self.target, _ = first.split(" ")
        pairs = (line.partition(":") for line in lines if line)
        self.headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        self.body = b""
        self.connection = connection

    @property
    def json(self) -> Any:
        """The body, parsed."""
        return json.loads(self.body)


Script: TypeAlias = Callable[[Request], Answer]


class Loopback:
    """The server; it runs in a thread of its own while the `with` block lasts.

    Args:
        script: see the top of this file.
        tls: a server's TLS context, for https.
        tunnels: whether CONNECT opens a tunnel.

    Attributes:
        url: its base URL, ending in /v1.
        port: where it listens, on 127.0.0.1.
        requests: what came, in order.
        open_connections: how many connections stand now.
        connections: how many were ever made.
    """

    def __init__(self, *script: Answer | Script, tls: ssl.SSLContext | None = None, tunnels: bool = True) -> None:
        self.tunnels = tunnels
        self._script: Iterable[Answer | Script] = iter(script)
        self._answer: Answer | Script = DROP
        self._tls = tls
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="loopback", daemon=True)
        self._peers: set[_Connection] = set()
        self.requests: list[Request] = []
        self.open_connections = 0
        self.connections = 0
        self.port = 0
        self.url = ""

    def __enter__(self) -> Loopback:
        self._thread.start()
        self.wait_until(lambda: bool(self.url))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def wait_until(self, condition: Callable[[], bool], seconds: float = 10.0) -> None:
        """Wait until a condition on this server holds; it is looked at whenever something happens here.

        Raises:
            AssertionError: it never did.
        """
        with self._changed:
            assert self._changed.wait_for(condition, seconds), (
                f"{self.open_connections} connections open, {len(self.requests)} requests came"
            )

    def answer_to(self, request: Request) -> Answer:
        """The next answer of the script."""
        self._answer = next(iter(self._script), self._answer)
        return self._answer(request) if callable(self._answer) else self._answer

    def changed(self, opened: int = 0, request: Request | None = None) -> None:
        """Take note of what happened, and tell who waits for it."""
        with self._changed:
            self.open_connections += opened
            self.connections += max(opened, 0)
            if request is not None:
                self.requests.append(request)
            self._changed.notify_all()

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        server = await self._loop.create_server(lambda: _Connection(self, self._peers), "127.0.0.1", 0, ssl=self._tls)
        self.port = server.sockets[0].getsockname()[1]
        self.url = f"{'https' if self._tls else 'http'}://{'localhost' if self._tls else '127.0.0.1'}:{self.port}/v1"
        self.changed()
        await self._stop.wait()
        server.close()
        for peer in list(self._peers):
            peer.transport.abort()
        await server.wait_closed()


class _Connection(asyncio.Protocol):
    """One connection. It is a protocol, since its end must be noticed at any time, also during a pause."""

    transport: asyncio.Transport

    def __init__(self, server: Loopback, peers: set[_Connection]) -> None:
        self._server = server
        self._peers = peers
        self._data = bytearray()
        self._news = asyncio.Event()
        self._number = 0
        self._tunnel: asyncio.StreamWriter | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._number = self._server.connections
        self._peers.add(self)
        self._server.changed(opened=1)
        self._task = asyncio.get_running_loop().create_task(self._serve())

    def data_received(self, data: bytes) -> None:
        if self._tunnel is not None:
            self._tunnel.write(data)
        else:
            self._data += data
            self._news.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._peers.discard(self)
        self._task.cancel()
        asyncio.get_running_loop().call_soon(self._server.changed, -1)  # the socket is closed when this method has returned

    async def _serve(self) -> None:
        while not self.transport.is_closing():
            request = await self._request()
            self._server.changed(request=request)
            if request.method == "CONNECT" and self._server.tunnels:
                await self._open_tunnel(request.target)
                return
            await self._send(self._server.answer_to(request))

    async def _request(self) -> Request:
        while (end := self._data.find(b"\r\n\r\n")) < 0:
            await self._more()
            if not self._data[:1].isalpha():  # a TLS handshake, for one
                self.transport.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                self.transport.close()
                await asyncio.Event().wait()
        request = Request(bytes(self._data[:end]), self._number)
        size = end + 4 + int(request.headers.get("content-length", "0"))
        while len(self._data) < size:
            await self._more()
        request.body = bytes(self._data[end + 4 : size])
        del self._data[:size]
        return request

    async def _more(self) -> None:
        self._news.clear()
        await self._news.wait()

    async def _send(self, answer: Answer) -> None:
        if answer.head:
            self.transport.write(answer.first_bytes())
        for step in answer.steps:
            if isinstance(step, bytes):
                self.transport.write(answer.framed(step))
            elif isinstance(step, float):
                await asyncio.sleep(step)
            elif isinstance(step, threading.Event):
                while not step.is_set():
                    await asyncio.sleep(0.002)
            elif step is WAIT:
                await asyncio.Event().wait()
            else:
                await self._break_off(reset=step is RESET)
                return
        if answer.framing == "chunked":
            self.transport.write(b"0\r\n\r\n")
        elif answer.framing == "close":
            self.transport.close()

    async def _break_off(self, reset: bool) -> None:
        if reset:
            sock: socket.socket = self.transport.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    async def _open_tunnel(self, target: str) -> None:
        reader, self._tunnel = await asyncio.open_connection("127.0.0.1", int(target.rpartition(":")[2]))
        self.transport.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        try:
            while data := await reader.read(65536):
                self.transport.write(data)
        finally:
            self._tunnel.close()
            self.transport.close()
