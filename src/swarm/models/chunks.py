"""From the bytes of a streamed answer to its chunks, and the rule for whether the stream came to its end.

Shared by the sync and the async client: they differ only in who waits for the next piece.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from pydantic_core import from_json

from ..effects import Reply
from ..errors import InvalidReply
from .endpoint import Endpoint
from .failures import Header, connection_lost, invalid, read_object
from .sse import EventParser

_DONE = b"[DONE]"
_EVENT_STARTS = (b":", b"data", b"event", b"id", b"retry", b"\xef\xbb\xbf")


class ChunkReader:
    """Reads the chunks of one streamed answer.

    Args:
        endpoint: who answers, for error texts.
        header: looks up a header of the answer.

    Attributes:
        done: whether the server said that this was all.
    """

    __slots__ = ("_endpoint", "_finished", "_header", "_parser", "_start", "done")

    def __init__(self, endpoint: Endpoint, header: Header) -> None:
        self._endpoint = endpoint
        self._header = header
        self._parser = EventParser()
        self._finished = False
        self._start = b""
        self.done = False

    def feed(self, piece: bytes) -> Iterator[dict[str, Any]]:
        """The chunks that are complete with this piece of the body.

        Raises:
            InvalidReply: an event that is no JSON object.
        """
        if not self._start:
            self._start = piece
        return self._chunks(self._parser.feed(piece))

    def end(self) -> Iterator[dict[str, Any]]:
        """The last chunk, if the body ended without closing it.

        Raises:
            ConnectionFailed: the stream ended before its end: neither a finish_reason nor [DONE] came.
            InvalidReply: it was no event stream at all.
        """
        try:
            yield from self._chunks(self._parser.end())
        except InvalidReply:  # cut in the middle of an event
            self._finished = False
        if self.done or self._finished:
            return
        if self._start.strip() and not self._start.lstrip().startswith(_EVENT_STARTS):
            raise invalid(self._endpoint, self._header, "is no event stream", self._start)
        raise connection_lost(self._endpoint, "the stream ended in the middle, without finish_reason and [DONE]")

    def _chunks(self, events: list[bytes]) -> Iterator[dict[str, Any]]:
        for data in events:
            if data.startswith(_DONE):
                self.done = True
                return
            try:
                chunk: Any = from_json(data)
                reason = chunk["choices"][0]["finish_reason"]
            except (ValueError, LookupError, TypeError):  # usage, an error, a field left out, or something wrong
                chunk, reason = read_object(self._endpoint, self._header, data), None
            if reason == "error" or chunk.get("error"):
                chunk, reason = from_json(self._endpoint.mask(data)), "error"
            if reason:
                self._finished = True
            yield chunk


def whole_as_chunk(completion: dict[str, Any], reply: Reply) -> dict[str, Any]:
    """One chunk that says all of a completion, for a server that was asked for a stream and sent the whole.

    Args:
        completion: the answer as it came.
        reply: what was read out of it.
    """
    delta = dict(reply.message)
    calls: Any = delta.get("tool_calls")
    if calls:
        delta["tool_calls"] = [{"index": index, **call} for index, call in enumerate(cast("list[dict[str, Any]]", calls))]
    choice = {"index": 0, "delta": delta, "finish_reason": reply.finish_reason}
    return {**completion, "object": "chat.completion.chunk", "choices": [choice]}
