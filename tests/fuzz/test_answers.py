"""Answers of servers, as bytes and as objects: a reply or an error of ours, whatever comes."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from swarm.assembly import Assembler
from swarm.errors import ModelError
from swarm.messages import assistant_message, body_error, read_reply, unique_ids
from swarm.models.chunks import ChunkReader, whole_as_chunk
from swarm.models.client import as_dict
from swarm.models.endpoint import Endpoint
from swarm.models.failures import read_object, refused
from swarm.models.sse import EventParser
from tests.fuzz.material import FUZZ, chunks, completions, cut, damaged, deep, errors, garbage, outcome, text_of_json
from tests.reading import chunks_of

pytestmark = pytest.mark.check

ENDPOINT = Endpoint("http://localhost:1/v1", "sk-secret", None, None, None)

CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "look_up", "arguments": '{"q": "b'}}
MORE = {"index": 0, "function": {"arguments": 'ée"}'}}
CHUNKS: list[dict[str, Any]] = [
    {"id": "x", "model": "m", "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]},
    {"choices": [{"index": 0, "delta": {"content": "Hé"}, "finish_reason": None}]},
    {"choices": [{"index": 0, "delta": {"tool_calls": [CALL]}, "finish_reason": None}]},
    {"choices": [{"index": 0, "delta": {"tool_calls": [MORE]}, "finish_reason": None}]},
    {"choices": [{"index": 0, "delta": {"reasoning_content": "hm", "content": None}, "finish_reason": "tool_calls"}]},
    {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}},
]
EVENTS = [b"data: " + json.dumps(chunk, ensure_ascii=bool(number % 2)).encode() for number, chunk in enumerate(CHUNKS)]
STREAMS = (
    b"\n\n".join([*EVENTS, b"data: [DONE]", b""]),
    b"\r\n\r\n".join([b": hello", *EVENTS, b""]),
    b"\r\r".join([b"\xef\xbb\xbfevent: x\rid: 1", *EVENTS[:3], b"data: [DONE]", b""]),
    EVENTS[1] + b'\n\nevent: error\ndata: {"error": {"message": "overloaded", "code": 503}}\n\n',
    EVENTS[1] + b'\n\n{"error": {"message": "no"}}\n',
    b'data: {"choices": [{"delta": {"content": "\\ud83d"}}]}\n\ndata: {"choices": [{"delta": {"content": "\\udc1d"}}]}\n\n',
)
MESSAGE = {"role": "assistant", "content": None, "refusal": None, "tool_calls": [{**CALL, "function": {"name": "f", "arguments": "{}"}}]}
WHOLE: dict[str, Any] = {
    "id": "x",
    "object": "chat.completion",
    "model": "m",
    "choices": [{"index": 0, "message": MESSAGE, "finish_reason": "tool_calls"}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}},
}
BODIES = (
    json.dumps(WHOLE).encode(),
    json.dumps({**WHOLE, "choices": [{"message": {"role": "assistant", "content": "Grüß ü"}}]}, ensure_ascii=False).encode(),
    b'{"error": {"message": "Rate limit", "type": "rate_limit_error", "code": "429"}}',
    b'[{"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}]',
    b'{"detail": [{"loc": ["body"], "msg": "field required"}]}',
    b"<html><body>502 Bad Gateway</body></html>",
)


def no_header(name: str) -> None:
    """An answer without headers."""


def assembled(items: list[dict[str, Any]]) -> Any:
    """What a driver makes of chunks: the reply, each delta looked at, in the form in which a run keeps it."""
    assembler = Assembler("A")
    shown: list[dict[str, Any]] = []
    for item in items:
        delta = assembler.feed(item)
        if delta is not None:
            shown.append(delta)
            assert all(entry["index"] >= 0 for entry in delta.get("tool_calls", ()))
    assembler.partial()
    reply = assembler.reply()
    text = "".join(delta["content"] for delta in shown if "content" in delta)
    content = reply.message["content"]
    if not isinstance(content, list):
        assert text == (content or "")
    if shown:
        assert (shown[0]["role"], shown[0]["sender"]) == ("assistant", "A")
    return kept(reply)


def kept(reply: Any) -> Any:
    """A reply as the message of a run: its calls have ids of their own, names and texts, and JSON can carry it."""
    message = unique_ids(assistant_message(reply.message, "A"), {"c1"}, 3)
    ids = [call["id"] for call in message["tool_calls"] or ()]
    assert all(ids)
    assert len({*ids, "c1"}) == len(ids) + 1
    for call in message["tool_calls"] or ():
        assert isinstance(call["type"], str)
        if "function" in call:
            assert isinstance(call["function"]["arguments"], str)
            assert 0 < len(call["function"]["name"]) <= 64
    content = message["content"]
    assert content is None or isinstance(content, str | list)
    return reply


@FUZZ
@given(st.data(), st.binary(max_size=40) | damaged(STREAMS))
def test_bytes_of_a_stream(data: st.DataObject, raw: bytes) -> None:
    """P08, S01: the reader gives dicts, the parser never more than it got, however the network cuts it."""
    parser = EventParser()
    events = [event for piece in data.draw(cut(raw)) for event in parser.feed(piece)] + parser.end()
    assert sum(map(len, events)) <= len(raw)

    def read() -> Any:
        found = list(chunks_of(ChunkReader(ENDPOINT, no_header), data.draw(cut(raw))))
        assert all(isinstance(chunk, dict) for chunk in found)
        return assembled(found)

    outcome(read, ModelError)


@FUZZ
@given(st.lists(chunks | garbage.filter(lambda value: isinstance(value, dict)), max_size=6))
def test_chunks_of_any_shape(items: list[Any]) -> None:
    """S01, S02, S03, S09: as dicts."""
    before = repr(items)
    outcome(lambda: assembled(items), ModelError)
    assert repr(items) == before


@FUZZ
@given(st.lists(garbage, max_size=3))
def test_chunks_that_are_none(items: list[Any]) -> None:
    outcome(lambda: assembled(items), ModelError)


def as_object(value: Any) -> Any:
    """The same with attributes, as a client library has it; names that no attribute can have are kept all the same."""
    if isinstance(value, dict):
        made = SimpleNamespace()
        made.__dict__.update({name: as_object(item) for name, item in value.items()})
        return made
    return [as_object(item) for item in value] if isinstance(value, list) else value


@FUZZ
@given(st.lists(chunks, max_size=5))
def test_chunks_that_are_objects(items: list[Any]) -> None:
    """P18, S02: read field by field."""
    outcome(lambda: assembled([as_dict(as_object(item)) for item in items]), ModelError)


@FUZZ
@given(completions | errors | garbage)
def test_whole_answers(body: Any) -> None:
    """P08, P09: as dict and as object."""
    before = repr(body)
    outcome(lambda: kept(read_reply(body)), ModelError)
    assert repr(body) == before
    if isinstance(body, dict):
        outcome(lambda: kept(read_reply(as_dict(as_object(body)))), ModelError)


@FUZZ
@given(st.binary(max_size=40) | damaged(BODIES) | (completions | errors | garbage).map(text_of_json))
def test_bytes_of_a_whole_answer(raw: bytes) -> None:
    """P08, P09: also as the one chunk of a stream that came whole."""

    def read() -> Any:
        completion = read_object(ENDPOINT, no_header, raw)
        reply = kept(read_reply(completion))
        return assembled([whole_as_chunk(completion, reply)])

    outcome(read, ModelError)


@FUZZ
@given(
    st.binary(max_size=40) | damaged(BODIES) | errors.map(text_of_json), st.sampled_from((301, 400, 401, 404, 408, 418, 429, 500, 503, 599))
)
def test_bytes_of_a_refusal(raw: bytes, status: int) -> None:
    """P08: any body with a status is one error that says the status, without the key."""
    error = refused(ENDPOINT, status, no_header, raw.replace(b"look", b"sk-secret"))
    assert isinstance(error, ModelError)
    assert error.status == status
    assert str(error).startswith(f"{status}: ")
    assert "sk-secret" not in str(error)


@FUZZ
@given(errors | garbage, st.none() | st.sampled_from((400, 429, 500)))
def test_bodies_of_errors(body: Any, status: int | None) -> None:
    """P08"""
    error = body_error(body, status)
    assert str(error).strip()
    assert status is None or error.status == status


DEPTHS = (150, 210, 900, 3_000, 100_000)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("place", ["delta", "content", "arguments", "extra", "usage", "error", "half"])
def test_nesting_without_end(depth: int, place: str) -> None:
    """P08: a server that nests its answer deeply is told so; no stack runs over."""
    nest = '{"a":' * depth + "0" + "}" * depth
    inside = {
        "delta": f'"delta": {nest}',
        "content": f'"delta": {{"content": [{nest}]}}',
        "arguments": f'"delta": {{"tool_calls": [{{"function": {{"name": "f", "arguments": {nest}}}}}]}}',
        "extra": f'"delta": {{"content": "x", "more": {nest}}}',
        "usage": f'"delta": {{"content": "x"}}, "usage": {nest}',
        "error": f'"error": {nest}',
        "half": f'"delta": {{"content": "\\ud83d", "more": {nest}}}',
    }[place]
    chunk = f'{{"choices": [{{{inside}, "finish_reason": "stop"}}]}}'.encode()

    def streamed() -> Any:
        return assembled(list(chunks_of(ChunkReader(ENDPOINT, no_header), [b"data: " + chunk + b"\n\ndata: [DONE]\n\n"])))

    outcome(streamed, ModelError)
    body = chunk.replace(b'"delta"', b'"message"')
    outcome(lambda: kept(read_reply(read_object(ENDPOINT, no_header, body))), ModelError)
    assert str(refused(ENDPOINT, 500, no_header, body)).startswith("500: ")


@pytest.mark.parametrize("depth", DEPTHS[:4])
@pytest.mark.parametrize("place", ["delta", "content", "arguments", "extra", "error"])
def test_objects_without_end(depth: int, place: str) -> None:
    """P08: the same from a client of somebody else's, which has no reader that stops it."""
    nest = deep(depth)
    delta: Any = {
        "delta": nest,
        "content": {"content": [nest]},
        "arguments": {"tool_calls": [{"id": "c", "function": {"name": "f", "arguments": nest}}]},
        "extra": {"content": "x", "more": nest},
        "error": {"content": "x"},
    }[place]
    item: dict[str, Any] = {"choices": [{"delta": delta, "message": delta, "finish_reason": "stop"}]}
    if place == "error":
        item = {"error": {"message": nest}}
    outcome(lambda: assembled([item]), ModelError)
    outcome(lambda: kept(read_reply(item)), ModelError)


@pytest.mark.parametrize("count", [3_000])
@pytest.mark.parametrize("form", ["new ids", "one id", "no ids", "names only", "one chunk", "braces"])
def test_floods_of_calls_end(count: int, form: str) -> None:
    """S09: thousands of pieces are put together, none is lost, and it takes no longer than a test may."""
    entries = [
        {
            "new ids": {"index": 0, "id": f"c{number}", "function": {"name": "f", "arguments": "{}"}},
            "one id": {"id": "c", "function": {"name": "f", "arguments": "{}"}},
            "no ids": {"index": number, "function": {"name": "f", "arguments": "{}"}},
            "names only": {"function": {"name": f"f{number}"}},
            "one chunk": {"index": number, "id": f"c{number}", "type": "function", "function": {"name": "f", "arguments": "{}"}},
            "braces": {"index": 0, "id": "c0", "function": {"name": "f", "arguments": "}"}},
        }[form]
        for number in range(count)
    ]
    batches = [entries] if form == "one chunk" else [[entry] for entry in entries]
    items = [{"choices": [{"delta": {"tool_calls": batch}}]} for batch in batches]
    reply = outcome(lambda: assembled(items), ModelError)
    if form in ("new ids", "no ids", "one chunk"):
        assert len(reply.message["tool_calls"]) == count  # type: ignore[union-attr]


@example(b"\xff")
@FUZZ
@given(st.binary(max_size=60))
def test_noise(raw: bytes) -> None:
    outcome(lambda: list(chunks_of(ChunkReader(ENDPOINT, no_header), [raw])), ModelError)
    outcome(lambda: read_object(ENDPOINT, no_header, raw), ModelError)
