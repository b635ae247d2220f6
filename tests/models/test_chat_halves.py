"""Half characters: those that a server makes by cutting, and those that Python makes of file names, harm nobody."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarm.models.chat import ChatClient
from swarm.models.chunks import ChunkReader
from swarm.models.endpoint import Endpoint
from swarm.models.halves import parsed, whole
from tests.loopback import Answer, chunk, completion, event, json_answer, sse, text_chunks
from tests.models.conftest import Ask
from tests.reading import chunks_of

KEY = "sk-test-0123456789"
HIGH, LOW = "\ud83d", "\ude00"  # together U+1F600


def joined(chunks: list[dict[str, Any]]) -> str:
    return "".join(choice["delta"].get("content") or "" for piece in chunks for choice in piece["choices"])


def begun(text: str, finish_reason: str | None = None) -> dict[str, Any]:
    return chunk({"role": "assistant", "content": text}, finish_reason)


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ([begun(HIGH), chunk({"content": LOW}, "stop")], "😀"),
        ([begun("a" + HIGH), chunk({"content": LOW + "b"}), chunk({}, "stop")], "a😀b"),
        ([begun("a" + HIGH), chunk({"content": ""}), chunk({}), chunk({"content": LOW}), chunk({}, "stop")], "a😀"),
        ([begun(HIGH), chunk({"content": LOW + HIGH}), chunk({"content": LOW}), chunk({}, "stop")], "😀😀"),
        ([begun("a" + HIGH), chunk({"content": "b"}), chunk({}, "stop")], "a\ufffdb"),
        ([begun("a" + HIGH), chunk({}, "stop")], "a\ufffd"),
        ([begun("a"), chunk({"content": HIGH}, "stop")], "a\ufffd"),
        ([begun("a" + HIGH)], "a\ufffd"),
        ([begun("a"), chunk({"content": LOW}), chunk({}, "stop")], "a\ufffd"),
        ([begun("a" + HIGH), chunk({"content": HIGH + LOW}), chunk({}, "stop")], "a\ufffd😀"),
        ([begun(HIGH + LOW), chunk({"content": "\\ud83d"}, "stop")], "😀\\ud83d"),
    ],
)
def test_a_character_cut_in_two_is_whole_again(ask: Ask, serve: Any, pieces: list[Any], text: str) -> None:
    """The deltas joined are the text, and no delta holds a half."""
    chunks = ask.stream(ChatClient(serve(sse(*pieces)).url, KEY))
    assert joined(chunks) == text
    assert json.dumps(chunks, ensure_ascii=False).encode()
    assert [piece["choices"][0]["finish_reason"] for piece in chunks if piece["choices"][0]["finish_reason"]] == ["stop"] * (
        len(pieces) > 1
    )


def test_each_text_of_a_stream_has_its_own_halves(ask: Ask, serve: Any) -> None:
    def arguments(index: int, text: str) -> dict[str, Any]:
        return {"index": index, "function": {"arguments": text}}

    pieces = [
        chunk({"role": "assistant", "reasoning_content": "r" + HIGH, "tool_calls": [arguments(0, HIGH), arguments(1, "x" + HIGH)]}),
        chunk({"tool_calls": [arguments(1, LOW)], "content": "c" + HIGH}),
        chunk({"tool_calls": [arguments(0, LOW)], "reasoning_content": LOW}),
        chunk({}, "tool_calls"),
    ]
    chunks = ask.stream(ChatClient(serve(sse(*pieces)).url, KEY))
    deltas = [piece["choices"][0]["delta"] for piece in chunks]
    assert "".join(delta.get("reasoning_content", "") for delta in deltas) == "r😀"
    calls = [call for delta in deltas for call in delta.get("tool_calls", ())]
    texts = ["".join(call["function"]["arguments"] for call in calls if call["index"] == index) for index in (0, 1)]
    assert texts == ["😀", "x😀"]
    assert joined(chunks) == "c\ufffd"


def test_a_half_of_arguments_that_is_never_completed_is_told_before_the_end(ask: Ask, serve: Any) -> None:
    call = {"index": 2, "id": "c", "function": {"name": "f", "arguments": '{"a": "' + HIGH}}
    chunks = ask.stream(ChatClient(serve(sse(chunk({"tool_calls": [call]}), chunk({}, "tool_calls"))).url, KEY))
    assert chunks[1]["choices"][0] == {
        "index": 0,
        "delta": {"tool_calls": [{"index": 2, "function": {"arguments": "\ufffd"}}]},
        "finish_reason": None,
    }
    assert chunks[2]["choices"][0]["finish_reason"] == "tool_calls"


@given(st.text(st.sampled_from("aü😀\u2028"), min_size=1, max_size=8), st.lists(st.integers(1, 16), max_size=6))
def test_any_cut_between_utf_16_units_gives_the_text(text: str, cuts: list[int]) -> None:
    units = text.encode("utf-16-le")
    places = sorted({0, len(units), *(2 * cut for cut in cuts if 2 * cut < len(units))})
    pieces = [units[start:end].decode("utf-16-le", "surrogatepass") for start, end in pairwise(places)]
    reader = ChunkReader(Endpoint("http://h/v1", None, None, None, None), lambda _: None)
    raw = b"".join(event(chunk({"content": piece})) for piece in pieces) + event(chunk({}, "stop"))
    assert joined(list(chunks_of(reader, [raw]))) == text


def test_a_whole_answer_may_hold_halves(ask: Ask, serve: Any) -> None:
    body = completion("a" + HIGH, provider={"note" + LOW: [LOW, 1.5, None, True]})
    server = serve(json_answer(body))
    client = ChatClient(server.url, KEY)
    assert ask.complete(client).message["content"] == "a\ufffd"
    assert joined([piece | {"choices": piece["choices"]} for piece in ask.stream(client)]) == "a\ufffd"


def test_an_error_may_hold_halves(ask: Ask, serve: Any) -> None:
    words = {"error": {"message": "slow " + HIGH, "code": 429}}
    client = ChatClient(serve(json_answer(words, 429), sse(words, done=False)).url, KEY)
    with pytest.raises(Exception, match="429: slow \ufffd"):
        ask.complete(client)
    assert ask.stream(client) == [{"error": {"message": "slow \ufffd", "code": 429}}]


def test_bytes_that_are_no_utf_8_do_no_harm(ask: Ask, serve: Any) -> None:
    raw = json.dumps(completion("Gr__e")).encode().replace(b"__", b"\xfc\xdf")
    assert ask.complete(ChatClient(serve(Answer(raw)).url, KEY)).message["content"] == "Gr\ufffd\ufffde"


@pytest.mark.parametrize("raw", [b'{"a": "\\ud83d"', b'{"a": "\\ud8"}', b"[" * 100_000 + b"]" * 100_000, b'{"\\ud83d": ' + b"[" * 100_000])
def test_what_is_no_json_stays_no_json(raw: bytes) -> None:
    with pytest.raises(ValueError, match="line 1"):
        parsed(raw)


@given(st.text())
def test_a_text_without_halves_is_not_touched(text: str) -> None:
    assert whole(text) == text


def test_halves_are_never_sent(ask: Ask, serve: Any) -> None:
    """What is sent holds U+FFFD; the caller's own messages stay as they are."""
    server = serve(json_answer(completion()), sse(*text_chunks("a")))
    client = ChatClient(server.url, KEY)
    messages = [
        {"role": "user", "content": "file \udcff"},
        {"role": "assistant", "content": HIGH + LOW, "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": HIGH}}]},
        {"role": "user", "content": [{"type": "text", "text": LOW}]},
    ]
    before = json.dumps(messages)
    ask.complete(client, messages=messages, user="\udcff")
    ask.stream(client, messages=messages, user="\udcff")
    for request in server.requests:
        first, second, third = request.json["messages"]
        assert first["content"] == "file \ufffd"
        assert second["content"] == "😀"
        assert second["tool_calls"][0]["function"]["arguments"] == "\ufffd"
        assert third["content"][0]["text"] == request.json["user"] == "\ufffd"
    assert json.dumps(messages) == before
