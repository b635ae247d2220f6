"""What a stream says beside its text: who answered, why it ended, what it cost, and a whole message instead of pieces."""

from __future__ import annotations

from typing import Any

import pytest

from swarm.assembly import Assembler
from swarm.effects import Reply
from swarm.errors import InvalidReply


def read(*chunks: dict[str, Any]) -> tuple[Reply, list[dict[str, Any]]]:
    """The reply, and the deltas that were handed on."""
    assembler = Assembler("A")
    shown = [delta for chunk in chunks if (delta := assembler.feed(chunk)) is not None]
    return assembler.reply(), shown


def chunk(delta: Any = None, finish: Any = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}], **more}


def test_who_answered_is_who_said_so_first() -> None:
    """P18: what is no text, or empty, says nothing."""
    told: list[dict[str, Any]] = [
        chunk({"content": "a"}, id="", model=None),
        chunk(id=5, model=""),
        chunk(id=[], model=5),
        chunk(id="one", model="m"),
        chunk(id="two", model="n"),
        chunk(id=None, model=None),
    ]
    reply, _ = read(*told)
    assert (reply.id, reply.model) == ("one", "m")
    assert (read(chunk({"content": "a"}))[0].id, read(chunk({"content": "a"}))[0].model) == (None, None)


def test_why_it_ended_is_what_was_said_last() -> None:
    """S01"""
    reply, _ = read(chunk({"content": "a"}, "length"), chunk(None, ""), chunk(None, 5), chunk(None, None))
    assert reply.finish_reason == "length"
    assert read(chunk({"content": "a"}, "stop"), chunk(None, "tool_calls"))[0].finish_reason == "tool_calls"


@pytest.mark.parametrize(
    ("chunks", "tokens"),
    [
        ([chunk({"content": "a"}, usage={"prompt_tokens": 1}), chunk(usage={"prompt_tokens": 2}), chunk(usage=None)], 2),
        ([chunk({"content": "a"}, usage={"prompt_tokens": 1}, x_groq={"usage": {"prompt_tokens": 9}})], 1),
        ([chunk({"content": "a"}, usage={}, x_groq={"usage": {"prompt_tokens": 9}})], 9),
        ([chunk({"content": "a"}, usage="odd", x_groq={"usage": {"prompt_tokens": 9}})], 9),
        ([{"choices": [{"delta": {"content": "a"}, "usage": {"prompt_tokens": 4}}]}], 4),
        ([chunk({"content": "a"}), chunk({"content": "b"}, usage={"prompt_tokens": 3}), chunk({"content": "c"})], 3),
        ([chunk({"content": "a"}, usage=[1], x_groq=5)], None),
    ],
)
def test_what_it_cost(chunks: list[dict[str, Any]], tokens: int | None) -> None:
    """S12: the last count, wherever it stands."""
    usage = read(*chunks)[0].usage
    assert (usage or {}).get("prompt_tokens") == tokens


CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def whole(message: Any) -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": "stop"}]}


@pytest.mark.parametrize(
    ("before", "message", "content", "new"),
    [
        ([], {"content": "Hello"}, "Hello", "Hello"),
        (["Hel"], {"content": "Hello"}, "Hello", "lo"),
        (["Hello"], {"content": "Hello"}, "Hello", None),
        (["Hello"], {"content": None}, "Hello", None),
        (["Hello"], {"content": "Other"}, "Hello", None),
    ],
)
def test_a_whole_message_brings_what_was_not_streamed(before: list[str], message: Any, content: str, new: str | None) -> None:
    """S18"""
    reply, shown = read(*(chunk({"content": piece}) for piece in before), whole(message))
    assert reply.message["content"] == content
    assert "".join(delta.get("content") or "" for delta in shown) == content
    assert (shown[-1].get("content") if len(shown) > len(before) else None) == new


def test_a_whole_message_does_not_say_calls_and_fields_twice() -> None:
    """S18, S09"""
    delta = {"tool_calls": [{"index": 0, **CALL}], "reasoning_content": "hm"}
    said = {"content": "", "tool_calls": [CALL], "function_call": CALL["function"], "reasoning_content": "hm", "more": "new"}
    reply, shown = read(chunk(delta), whole(said))
    assert [entry["function"]["name"] for entry in reply.message["tool_calls"]] == ["f"]
    assert (reply.message["reasoning_content"], reply.message["more"]) == ("hm", "new")
    assert sum(len(piece.get("tool_calls", ())) for piece in shown) == 1
    only, _ = read(whole({"content": None, "tool_calls": [CALL]}))
    assert [entry["id"] for entry in only.message["tool_calls"]] == ["c"]


def test_a_message_beside_a_delta_that_says_something_is_passed_over() -> None:
    """S18: some servers send both, the message with the text so far."""
    both = {"choices": [{"delta": {"content": "a"}, "message": {"content": "ab"}}]}
    assert read(both, chunk({"content": "b"}))[0].message["content"] == "ab"


def test_the_sender_that_a_server_writes_is_not_taken_over() -> None:
    """K18"""
    reply, shown = read(chunk({"role": "user", "sender": "Z", "content": "a"}))
    assert (shown[0]["sender"], shown[0]["role"]) == ("A", "assistant")
    assert "sender" not in reply.message


def test_nothing_at_all_is_an_error() -> None:
    """P09"""
    with pytest.raises(InvalidReply, match="before any part"):
        read({"choices": []}, {"choices": [{"delta": {}}]})
    assert read({"choices": [{"delta": {}, "finish_reason": "stop"}]})[0].message == {"role": "assistant", "content": ""}


def test_what_had_come_of_a_reply() -> None:
    """D13: its text, whatever else had come; None without any."""
    assembler = Assembler("A")
    assembler.feed(chunk({"tool_calls": [{"index": 0, **CALL}]}))
    assert assembler.partial() is None
    assembler.feed(chunk({"content": "half"}))
    assert assembler.partial() == {"role": "assistant", "content": "half"}


def test_parts_of_any_kind_keep_their_order() -> None:
    """P11: text that goes on behind a picture is a part of its own."""
    picture = {"type": "image", "url": "x"}
    reply, shown = read(chunk({"content": [{"type": "text", "text": "a"}, picture]}), chunk({"content": "b"}))
    assert reply.message["content"] == [{"type": "text", "text": "a"}, picture, {"type": "text", "text": "b"}]
    assert [delta.get("content") for delta in shown] == ["a", "b"]
