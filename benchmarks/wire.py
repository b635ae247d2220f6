"""The bytes of a model's turns, made beforehand: as one completion and as server-sent events, with and without usage."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.scenarios import USUAL, Dialect, Scenario, Turn, turns_for

USAGE = {"prompt_tokens": 57, "completion_tokens": 17, "total_tokens": 74, "prompt_tokens_details": {"cached_tokens": 0}}
IDENTITY = {"id": "chatcmpl-0123456789", "created": 1700000000, "model": "gpt-4o"}


@dataclass(frozen=True)
class Step:
    """What the server needs for one turn: the texts to find in the request, and the answers to plain and to streamed requests."""

    needs: tuple[bytes, ...]
    whole: bytes
    streamed: bytes
    streamed_with_usage: bytes


def steps_of(scenario: Scenario, dialect: Dialect) -> list[Step]:
    return [_step(number, turn, dialect) for number, turn in enumerate(turns_for(scenario, dialect))]


def _step(number: int, turn: Turn, dialect: Dialect) -> Step:
    calls = calls_of(number, turn, dialect)
    text = None if dialect.final and turn.pieces == 1 else turn.text
    needs = tuple(json.dumps(need)[1:-1].encode() for need in turn.needs)
    return Step(needs, _whole(text, calls), _stream(turn, text, calls, False), _stream(turn, text, calls, True))


def message_of(number: int, turn: Turn) -> dict[str, Any]:
    """The assistant message of a turn, for models that are no servers."""
    calls = calls_of(number, turn, USUAL)
    return {"role": "assistant", "content": turn.text or None, **({"tool_calls": calls} if calls else {})}


def calls_of(number: int, turn: Turn, dialect: Dialect) -> list[dict[str, Any]]:
    """The tool calls of a turn, ids included."""
    named = list(turn.calls)
    if turn.hands_to and turn.hands_to in dialect.transfers:
        named.append(dialect.transfers[turn.hands_to])
    if turn.text and dialect.final:
        named.append((dialect.final, {"answer": turn.text}))
    return [
        {"id": f"call_{number}_{place}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for place, (name, arguments) in enumerate(named)
    ]


def _whole(text: str | None, calls: list[dict[str, Any]]) -> bytes:
    message: dict[str, Any] = {"role": "assistant", "content": text or None, "refusal": None}
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _reason(calls)}
    body = json.dumps({**IDENTITY, "object": "chat.completion", "choices": [choice], "usage": USAGE}).encode()
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-request-id: req_1\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)


def _stream(turn: Turn, text: str | None, calls: list[dict[str, Any]], usage: bool) -> bytes:
    """All chunks in one piece: reading costs next to nothing then, so what a client adds shows as clearly as it can."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    events = [_event([_choice(delta, reason)]) for delta, reason in _deltas(turn, text, calls)]
    if usage:
        events.append(_event([], USAGE))
    return head + b"".join(b"%x\r\n%b\r\n" % (len(data), data) for data in [*events, b"data: [DONE]\n\n", b""])


def _deltas(turn: Turn, text: str | None, calls: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], str | None]]:
    yield {"role": "assistant", "content": None if calls and not text else ""}, None
    if text:
        size = len(text) // turn.pieces
        for place in range(turn.pieces):
            yield {"content": text[place * size : (place + 1) * size if place < turn.pieces - 1 else None]}, None
    if calls:
        yield {"tool_calls": [{"index": index, **call} for index, call in enumerate(calls)]}, None
    yield {}, _reason(calls)


def _reason(calls: list[dict[str, Any]]) -> str:
    return "tool_calls" if calls else "stop"


def _choice(delta: dict[str, Any], finish_reason: str | None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}


def _event(choices: list[dict[str, Any]], usage: dict[str, Any] | None = None) -> bytes:
    chunk = {**IDENTITY, "object": "chat.completion.chunk", "choices": choices, **({"usage": usage} if usage else {})}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"
