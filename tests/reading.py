"""Reads a streamed body as the client does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from swarm.models.chunks import ChunkReader


def chunks_of(reader: ChunkReader, pieces: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """The chunks in these pieces of a body; raises what the client would raise."""
    for piece in pieces:
        yield from reader.feed(piece)
        if reader.done:
            return
    yield from reader.end()
    reader.check_end()
