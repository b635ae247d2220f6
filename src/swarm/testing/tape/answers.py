"""Answers of a model as a tape keeps them, and back: whole replies, chunks of a stream, failures.

What providers put in at random (ids, times, padding) is left out, so that recording again changes nothing but what was said.
"""

from __future__ import annotations

from typing import Any, cast

from ... import errors
from ...effects import Reply
from ...errors import ModelError
from ...models.chunks import whole_as_chunk
from .lines import Line, as_json

# `obfuscation` is random padding: https://platform.openai.com/docs/api-reference/chat/create#chat-create-stream_options
_NOISE = frozenset(("created", "id", "obfuscation", "object", "service_tier", "system_fingerprint"))


def written_reply(reply: Reply) -> Line:
    """A reply as JSON."""
    message = {key: value for key, value in reply.message.items() if value is not None or key == "content"}
    fields = {"message": message, "finish_reason": reply.finish_reason, "model": reply.model, "usage": reply.usage}
    return as_json({key: value for key, value in fields.items() if value is not None})


def reply_of(line: Line) -> Reply:
    """The reply that `written_reply` wrote; nothing is shared with it."""
    kept = as_json(line)
    return Reply(kept["message"], kept.get("usage"), kept.get("finish_reason"), kept.get("model"))


def reply_as_chunk(line: Line) -> Line:
    """The same reply as one chunk of a stream."""
    reply = reply_of(line)
    return whole_as_chunk({"model": reply.model, "usage": reply.usage}, reply)


def written_chunks(chunks: list[Line]) -> list[Line]:
    """Chunks as JSON; the model is named in the first one only."""
    return [_written_chunk(chunk, is_first=number == 0) for number, chunk in enumerate(chunks)]


def _written_chunk(chunk: Line, is_first: bool) -> Line:
    kept = {key: value for key, value in chunk.items() if value is not None and key not in _NOISE and (is_first or key != "model")}
    choices = kept.get("choices")
    if isinstance(choices, list):
        kept["choices"] = [_without_nulls(choice) for choice in cast("list[Any]", choices)]
    return as_json(kept)


def _without_nulls(choice: Any) -> Any:
    if not isinstance(choice, dict):
        return choice
    return {key: value for key, value in cast("Line", choice).items() if value is not None}


def written_error(error: ModelError) -> Line:
    """A failure as JSON."""
    fields = {"status": error.status, "body": error.body, "retry_after": getattr(error, "retry_after", None)}
    kept = {key: value for key, value in fields.items() if value is not None}
    return as_json({"kind": type(error).__name__, "text": str(error), **kept})


def error_of(line: Line) -> ModelError:
    """The failure that `written_error` wrote; one of a kind that is not ours is a plain ModelError."""
    kind: Any = getattr(errors, line["kind"], None)
    if not (isinstance(kind, type) and issubclass(kind, ModelError)):
        kind = ModelError
    error: ModelError = kind(line["text"], status=line.get("status"), body=line.get("body"))
    if "retry_after" in line:
        error.retry_after = line["retry_after"]  # type: ignore[attr-defined]  # only transient errors were written with one
    return error
