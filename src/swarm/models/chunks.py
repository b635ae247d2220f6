"""From the bytes of a streamed answer to its chunks, and the rule for whether the stream came to its end.

Shared by the sync and the async client: they differ only in who waits for the next piece.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from pydantic_core import from_json

from ..effects import Reply
from ..errors import InvalidReply
from ..legal import is_dict
from ..messages import first_choice
from .endpoint import Endpoint
from .failures import Header, connection_lost, invalid
from .halves import Halves, parsed, with_halves
from .sse import EventParser

_DONE = b"[DONE]"
_EVENT_STARTS = (b":", b"data", b"event", b"id", b"retry", b"error", b"\xef\xbb\xbf")
_ENOUGH = 2_000
_WORDS = ("message", "detail", "msg")


class ChunkReader:
    """Reads the chunks of one streamed answer.

    Args:
        endpoint: who answers, for error texts.
        header: looks up a header of the answer.

    Attributes:
        done: whether the server said that this was all.
    """

    __slots__ = ("_endpoint", "_finished", "_halves", "_header", "_parser", "_start", "done")

    def __init__(self, endpoint: Endpoint, header: Header) -> None:
        self._endpoint = endpoint
        self._header = header
        self._parser = EventParser()
        self._finished = False
        self._halves: Halves | None = None
        self._start = b""
        self.done = False

    def feed(self, piece: bytes) -> Iterator[dict[str, Any]]:
        """The chunks that are complete with this piece of the body, each read when it is asked for. All must be, before the next piece.

        Raises:
            InvalidReply: an event that is no JSON object, in its place.
        """
        if len(self._start) < _ENOUGH:  # to tell what it is, and to quote it; the first piece may be one byte
            self._start += piece
        return self._read(self._parser.feed(piece))

    def end(self) -> Iterator[dict[str, Any]]:
        """The last chunks, if the body ended without closing the last event."""
        try:
            yield from self._read(self._parser.end())
        except InvalidReply:  # cut in the middle of an event
            self._finished = False

    def check_end(self) -> None:
        """Look, behind the last chunks, whether the stream came to its end.

        Raises:
            ConnectionFailed: neither a finish_reason nor [DONE] came.
            InvalidReply: it was no event stream at all.
        """
        if self.done or self._finished:
            return
        if self._start.strip() and not self._start.lstrip().startswith(_EVENT_STARTS):
            raise invalid(self._endpoint, self._header, "is no event stream", self._start)
        raise connection_lost(self._endpoint, "the stream ended in the middle, without finish_reason and [DONE]")

    def _read(self, events: list[bytes]) -> Iterator[dict[str, Any]]:
        for at, data in enumerate(events, 1):
            try:
                chunk: Any = from_json(data)
                reason = chunk["choices"][0].get("finish_reason")
            except (ValueError, LookupError, TypeError, AttributeError):  # the end, usage, an error, half a character, or something wrong
                if data.startswith(_DONE):
                    self.done = True
                    break
                if b"\n" in data and _is_json(data.partition(b"\n")[0]):  # chunks without the empty line between them
                    events[at:at] = filter(None, data.split(b"\n"))
                    continue
                chunk, reason = self._unusual(data)
            if reason is not None or "error" in chunk:
                if reason == "error" or chunk.get("error"):
                    self.done = True
                    yield self._error(data)
                    break
                if reason:
                    self._finished = True
            if self._halves is None:
                yield chunk
            else:
                yield from self._halves.settled(chunk)
        if self._parser.error is not None and not self.done:
            self.done = True
            yield self._error(self._parser.error)
        if self.done and self._halves is not None:
            yield from self._halves.rest()

    def _unusual(self, data: bytes) -> tuple[dict[str, Any], Any]:
        """A chunk that is not as most are, and its finish_reason, or "error" if it is the words of one."""
        try:
            chunk: Any = from_json(data)
        except ValueError as error:
            try:
                chunk = with_halves(data)
            except (ValueError, RecursionError):
                raise invalid(self._endpoint, self._header, f"is no JSON ({error})", data) from None
            self._halves = self._halves or Halves()
        if not is_dict(chunk):
            raise invalid(self._endpoint, self._header, "is no JSON object", data)
        if "choices" not in chunk and (chunk.get("object") == "error" or any(isinstance(chunk.get(name), str) for name in _WORDS)):
            return chunk, "error"
        return chunk, (first_choice(chunk) or {}).get("finish_reason")

    def _error(self, data: bytes) -> dict[str, Any]:
        """A chunk that says what the server said of an error, without secrets."""
        data = self._endpoint.mask(data)
        try:
            said: Any = parsed(data)
        except ValueError:
            said = None
        if is_dict(said) and (said.get("error") or said.get("choices")):
            return said
        return {"error": said if said and isinstance(said, dict | str) else data.decode("utf-8", "replace") or "an error without words"}


def _is_json(line: bytes) -> bool:
    try:
        return is_dict(from_json(line))
    except ValueError:
        return False


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
