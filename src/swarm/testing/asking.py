"""Asks any model as the drivers do, outside of a run: a Model or a client, sync or async, from sync or async code."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any

from ..drivers.aio import asked, hop
from ..drivers.common import close_stream, iterator_of
from ..drivers.sync import opened, settled
from ..effects import CallModel
from ..models.client import blocks, faster, model_for


def ask(call: CallModel) -> Any:
    """What the `complete` of the call's client comes to."""
    return settled(model_for(call.client).complete(call))


def read(call: CallModel) -> Generator[Any, None, None]:
    """The chunks of its `stream`. Closing the generator closes the stream."""
    chunks = None
    try:
        chunks = opened(model_for(call.client).stream(call), call)
        yield from chunks
    finally:
        close_stream(chunks)


async def aask(call: CallModel) -> Any:
    """`ask` for asyncio; a client that may block is asked in a worker thread."""
    return await _awaited(*_method_for_asyncio(model_for(call.client), "complete"), call)


async def aread(call: CallModel) -> AsyncGenerator[Any, None]:
    """`read` for asyncio."""
    method, is_blocking = _method_for_asyncio(model_for(call.client), "stream")
    chunks = iterator_of(await _awaited(method, is_blocking, call), call)
    is_in_worker = False
    try:
        if hasattr(chunks, "__anext__"):
            async for chunk in chunks:
                yield chunk
            return
        while True:
            is_in_worker = is_blocking  # a generator cannot be closed while another thread runs it
            if is_blocking:
                chunk = await hop(lambda: next(chunks, None), None, lambda _: close_stream(chunks))
            else:
                chunk = next(chunks, None)
            is_in_worker = False
            if chunk is None:
                return
            yield chunk
    finally:
        if not is_in_worker:
            close = getattr(chunks, "aclose", None) or getattr(chunks, "close", None)
            closing: Any = close() if close is not None else None
            if hasattr(closing, "__await__"):
                await closing


def _method_for_asyncio(model: Any, name: str) -> tuple[Callable[[CallModel], Any], bool]:
    """The method of that name that the async driver would take, and whether it may block."""
    own = faster(model, f"a{name}", name)
    method = own or getattr(model, name)
    return method, own is None and blocks(model, method)


async def _awaited(method: Callable[[CallModel], Any], is_blocking: bool, call: CallModel) -> Any:
    answer = await asked(call, method, is_blocking, None)
    return await answer if hasattr(answer, "__await__") else answer
