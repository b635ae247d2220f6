"""How bytes reach an MCP server: a process and its pipes, or HTTP; and what the SDK's transports do not tell.

Four things are added to them. The end of the stream is seen at once, so that a dead session is not used again. What a process writes
to its standard error goes to the log, and its last lines into the error if it cannot be used. What it prints
between messages is a line of our log. And of an HTTP request that failed it is
told whether the server can have seen it, without ending the requests beside it.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

import httpx2
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import JSONRPCError
from pydantic import ValidationError

logger = logging.getLogger("swarm.mcp")

# Codes of our own, outside of the ranges that JSON-RPC and MCP reserve: what became of a request.
NOT_RECEIVED = 7101
LOST = 7102

_CONNECTING_SECONDS = 30.0
_LAST_LINES = 20
_MOST_CHARS = 200

_speaker: ContextVar[str | None] = ContextVar("speaker", default=None)
"""The server whose standard output is read in this context."""


def _keep(record: logging.LogRecord) -> bool:
    """Whether the SDK's log keeps a record: of a line that is no message it would print a traceback, at level ERROR."""
    error, name = record.exc_info[1] if record.exc_info else None, _speaker.get()
    if name is None or not isinstance(error, ValidationError):
        return True
    line = str(error.errors(include_url=False)[0]["input"])
    logger.info("%s: no message of the protocol: %s", name, line[:_MOST_CHARS])
    return False


logging.getLogger("mcp.client.stdio").addFilter(_keep)


class Watched:
    """A stream of messages that says when it has ended.

    Args:
        stream: the transport's.
        ended: called once there is nothing more to come.
    """

    def __init__(self, stream: Any, ended: Callable[[], None]) -> None:
        self._stream = stream
        self._ended = ended

    @property
    def last_context(self) -> Any:
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> Any:
        try:
            return await self._stream.receive()
        except Exception:
            self._ended()
            raise

    async def aclose(self) -> None:
        self._ended()
        await self._stream.aclose()

    def __aiter__(self) -> Watched:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._stream.__anext__()
        except Exception:  # StopAsyncIteration too
            self._ended()
            raise

    async def __aenter__(self) -> Watched:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> Any:
        return await self._stream.__aexit__(kind, error, trace)


class Process:
    """A server that is a process of ours.

    Args:
        command, args, env, cwd: as for `McpServer`.
        name: what its lines are called in the log.
    """

    def __init__(self, command: str, args: Sequence[str], env: Mapping[str, str], cwd: str | Path | None, name: str) -> None:
        self._parameters = StdioServerParameters(command=command, args=list(args), env=dict(env), cwd=cwd)
        self._name = name
        self._said: deque[str] = deque(maxlen=_LAST_LINES)
        self._reader: threading.Thread | None = None

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[tuple[Any, Any]]:
        """The streams of a new process; it ends with the context."""
        self._said.clear()
        reading, writing = os.pipe()
        with os.fdopen(writing, "w") as errors:
            self._reader = threading.Thread(
                target=self._read, args=(os.fdopen(reading, errors="replace"),), name="swarm-mcp-stderr", daemon=True
            )
            self._reader.start()
            _speaker.set(self._name)
            async with stdio_client(self._parameters, errors) as streams:
                yield streams

    def _read(self, lines: TextIO) -> None:
        with lines:
            for line in lines:
                self._said.append(line)
                logger.info("%s: %s", self._name, line.rstrip())

    def last_words(self) -> str:
        """The last lines that the process wrote to its standard error, or ""."""
        if self._reader is not None:
            self._reader.join(0.5)  # it has what there is, unless a process of the process lives on
        return "".join(self._said).strip()


class Http:
    """A server behind a URL.

    Args:
        url: its endpoint.
        headers: sent with every request.
    """

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._url = url
        self._headers = dict(headers)

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[tuple[Any, Any]]:
        """The streams of a new session."""
        timeout = httpx2.Timeout(_CONNECTING_SECONDS, read=None, pool=None)  # how long an answer may take is each request's matter
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
        async with (
            _Client(headers=self._headers, timeout=timeout, limits=limits) as client,
            streamable_http_client(self._url, http_client=client) as streams,
        ):
            yield streams

    def last_words(self) -> str:
        """Nothing: what such a server has to say is in its answers."""
        return ""


class _Client(httpx2.AsyncClient):
    """Answers a request that failed with an error of JSON-RPC; an exception would end the whole session, and all calls beside this one."""

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        try:
            response = await super().send(request, **options)
            if not response.headers.get("content-type", "").startswith("text/event-stream"):  # the SDK itself minds breaks of those
                await response.aread()
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            return _failed(request, NOT_RECEIVED, f"no connection: {str(error) or type(error).__name__}")
        except httpx2.TransportError as error:
            return _failed(request, LOST, f"the connection broke: {str(error) or type(error).__name__}")
        if response.status_code == 404 and "mcp-session-id" in request.headers:
            # The server has forgotten the session: modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
            return _failed(request, NOT_RECEIVED, "the session is over")
        if response.status_code in (401, 403):
            await response.aclose()
            return _failed(
                request, response.status_code, f"the server answers {response.status_code} {response.reason_phrase}: give headers="
            )
        return response


def _failed(request: httpx2.Request, code: int, text: str) -> httpx2.Response:
    body = JSONRPCError.model_validate({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": text}})
    return httpx2.Response(503, json=body.model_dump(mode="json"), request=request)
