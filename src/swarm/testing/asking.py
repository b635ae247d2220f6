"""Asks any model as the drivers do, outside of a run: a Model or a client, sync or async, from sync or async code."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from typing import Any

from ..drivers.aio import asked, hop
from ..drivers.common import close_stream, iterator_of
from ..drivers.sync import opened, settled
from ..effects import CallModel
from ..models.client import blocks, model_for


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
    return await _awaited(model_for(call.client), "complete", call)


async def aread(call: CallModel) -> AsyncGenerator[Any, None]:
    """`read` for asyncio."""
    model = model_for(call.client)
    chunks = iterator_of(await _awaited(model, "stream", call), call)
    is_blocking = getattr(model, "astream", None) is None and blocks(model, model.stream)
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


async def _awaited(model: Any, way: str, call: CallModel) -> Any:
    own = getattr(model, f"a{way}", None)
    method = own or getattr(model, way)
    answer = await asked(call, method, own is None and blocks(model, method), None)
    return await answer if hasattr(answer, "__await__") else answer
