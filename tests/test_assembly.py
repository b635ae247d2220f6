"""Any stream of a valid message, however it is cut and deformed, gives the message back."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarm.assembly import Assembler
from swarm.errors import InvalidReply, ModelError, RateLimitError, ServerError
from swarm.messages import assistant_message, read_reply


def chunk(delta: Any = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


def piece(index: Any = None, id: Any = None, name: Any = None, arguments: Any = None, **more: Any) -> dict[str, Any]:
    """An entry of tool_calls; what is None is left out."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {key: value for key, value in (("index", index), ("id", id)) if value is not None} | {"function": function, **more}


def calls_of(*chunks: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Id, name and arguments of the calls that come out when each list of entries is one chunk."""
    assembler = Assembler("A")
    for entries in chunks:
        assembler.feed(chunk({"tool_calls": entries}))
    message = assembler.reply().message
    return [(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls", ())]


def feed_all(*chunks: dict[str, Any], sender: str = "A") -> tuple[list[dict[str, Any]], Any]:
    assembler = Assembler(sender)
    deltas = [delta for one in chunks if (delta := assembler.feed(one)) is not None]
    return deltas, assembler.reply()


def added_up(deltas: list[dict[str, Any]]) -> tuple[str, list[tuple[str, str, str]]]:
    """What a plain client makes of the deltas: strings joined by index."""
    calls: dict[int, list[str]] = {}
    for delta in deltas:
        for entry in delta.get("tool_calls", ()):
            call = calls.setdefault(entry["index"], ["", "", ""])
            call[0] += entry.get("id", "")
            call[1] += entry.get("function", {}).get("name", "")
            call[2] += entry.get("function", {}).get("arguments", "")
    return "".join(delta.get("content") or "" for delta in deltas), [tuple(calls[index]) for index in sorted(calls)]  # type: ignore[misc]


# Plain streams


def test_a_plain_stream() -> None:
    """K18, K19, S12"""
    chunks = [
        chunk({"role": "assistant", "content": ""}),
        chunk({"content": "Hel"}),
        chunk({"content": "lo"}),
        chunk({}, "stop"),
        {"choices": [], "usage": {"prompt_tokens": 3}},
    ]
    deltas, reply = feed_all(*chunks)
    assert deltas == [{"role": "assistant", "sender": "A", "content": "Hel"}, {"content": "lo"}]
    assert reply.message == {"role": "assistant", "content": "Hello"}
    assert (reply.usage, reply.finish_reason, reply.model, reply.id, reply.told) == ({"prompt_tokens": 3}, "stop", "m", "c", True)


def test_nothing_is_handed_on_before_there_is_something_to_show() -> None:
    """D12: a broken stream of which nothing was shown may be tried again."""
    assembler = Assembler("A")
    assert assembler.feed(chunk({"role": "assistant", "content": "", "tool_calls": None})) is None
    assert not assembler.started
    assert assembler.feed(chunk({"content": "x"})) == {"role": "assistant", "sender": "A", "content": "x"}
    assert assembler.started


def test_a_call_in_pieces() -> None:
    """K18, S07"""
    chunks = [
        [piece(0, "a", "f", "", type="function")],
        [piece(0, arguments='{"x"')],
        [piece(0, arguments=": ")],
        [piece(0, arguments="1}")],
    ]
    deltas, reply = feed_all(*(chunk({"tool_calls": entries}) for entries in chunks), chunk({}, "tool_calls"))
    assert deltas[0] == {
        "role": "assistant",
        "sender": "A",
        "tool_calls": [{"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}],
    }
    assert deltas[1] == {"tool_calls": [{"index": 0, "function": {"arguments": '{"x"'}}]}
    assert reply.message == {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}],
    }


def test_text_before_calls_stays() -> None:
    _, reply = feed_all(chunk({"content": "I look."}), chunk({"tool_calls": [piece(0, "a", "f", "{}")]}))
    assert reply.message["content"] == "I look."
    assert reply.message["tool_calls"][0]["function"]["name"] == "f"


def test_only_calls_leave_null_content() -> None:
    """P03"""
    _, reply = feed_all(chunk({"role": "assistant", "content": ""}), chunk({"content": "", "tool_calls": [piece(0, "a", "f", "{}")]}))
    assert reply.message["content"] is None


def test_an_empty_answer_is_empty_text() -> None:
    """L04"""
    deltas, reply = feed_all(chunk({"role": "assistant", "content": ""}), chunk({}, "stop"))
    assert deltas == []
    assert reply.message == {"role": "assistant", "content": ""}


# Shapes seen in the wild


@pytest.mark.parametrize(
    "empty", [{"choices": []}, {"choices": None}, {}, {"choices": [None]}, chunk(None), {"choices": [{"index": 0}]}, chunk({})]
)
def test_chunks_without_a_choice_or_delta_are_skipped(empty: dict[str, Any]) -> None:
    """S01, S02"""
    deltas, reply = feed_all(empty, chunk({"content": "a"}), empty, chunk({"content": "b"}), empty)
    assert reply.message["content"] == "ab"
    assert [delta["content"] for delta in deltas] == ["a", "b"]


def test_null_is_never_text() -> None:
    """S02"""
    null = {"content": None, "role": None, "tool_calls": None, "function_call": None, "refusal": None}
    deltas, reply = feed_all(chunk({"content": "a"}), chunk(null), chunk(None, "stop"))
    assert reply.message == {"role": "assistant", "content": "a"}
    assert len(deltas) == 1


@pytest.mark.parametrize(
    "usages",
    [
        [{"n": 1}, None, None],
        [None, {"n": 1}, None],
        [{"n": 0}, {"n": 1}, {}],
        [None, None, {"n": 1}],
    ],
)
def test_usage_may_come_anywhere_and_the_last_counts(usages: list[Any]) -> None:
    """S12"""
    chunks = [chunk({"content": "x"}, usage=usage) for usage in usages]
    deltas, reply = feed_all(*chunks)
    assert reply.usage == {"n": 1}
    assert "".join(delta["content"] for delta in deltas) == "xxx"


def test_usage_of_groq_and_of_moonshot() -> None:
    assert feed_all(chunk({"content": "x"}), chunk({}, "stop", x_groq={"usage": {"n": 1}}))[1].usage == {"n": 1}
    moonshot = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": {"n": 2}}]}
    assert feed_all(chunk({"content": "x"}), moonshot)[1].usage == {"n": 2}


@pytest.mark.parametrize(
    "message", [{"role": "assistant", "content": "Hello"}, {"content": "Hello", "tool_calls": []}, {"content": "Hello"}]
)
def test_a_final_message_is_not_said_twice(message: dict[str, Any]) -> None:
    """S18"""
    last = {"choices": [{"index": 0, "delta": {}, "message": message, "finish_reason": "stop"}]}
    deltas, reply = feed_all(chunk({"content": "Hel"}), chunk({"content": "lo"}), last)
    assert "".join(delta.get("content", "") for delta in deltas) == reply.message["content"] == "Hello"


def test_a_message_beside_each_delta_is_not_said_twice() -> None:
    """S18"""
    chunks = [{"choices": [{"index": 0, "delta": {"content": text}, "message": {"content": text}}]} for text in ("Hel", "lo", "")]
    assert feed_all(*chunks)[1].message["content"] == "Hello"


def test_a_whole_message_is_taken_if_nothing_was_streamed() -> None:
    """S18"""
    message = {"content": "Hello", "tool_calls": [piece(None, "a", "f", {"x": 1})]}
    deltas, reply = feed_all({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
    assert deltas[0]["content"] == "Hello"
    assert deltas[0]["sender"] == "A"
    assert reply.message["tool_calls"][0]["function"] == {"name": "f", "arguments": '{"x":1}'}


def test_calls_of_a_final_message_are_not_made_twice() -> None:
    """S18"""
    entry = piece(0, "a", "f", "{}")
    last = {"choices": [{"index": 0, "message": {"content": None, "tool_calls": [entry]}}]}
    _, reply = feed_all(chunk({"tool_calls": [entry]}), last)
    assert len(reply.message["tool_calls"]) == 1


def test_only_the_first_of_several_choices_counts() -> None:
    def of(index: int, text: str) -> dict[str, Any]:
        return {"index": index, "delta": {"content": text}}

    chunks = [{"choices": [of(0, "a")]}, {"choices": [of(1, "X")]}, {"choices": [of(1, "Y"), of(0, "b")]}, {"choices": [of(0, "c")]}]
    assert feed_all(*chunks)[1].message["content"] == "abc"


def test_role_in_every_delta() -> None:
    deltas, _ = feed_all(*(chunk({"role": "assistant", "content": text}) for text in "ab"))
    assert deltas == [{"role": "assistant", "sender": "A", "content": "a"}, {"content": "b"}]


def test_reasoning_and_unknown_fields_are_kept() -> None:
    """D26, P11"""
    details = [{"type": "reasoning.text", "index": 0, "text": "a"}], [{"type": "reasoning.text", "index": 0, "text": "b", "signature": "s"}]
    deltas, reply = feed_all(
        chunk({"reasoning_content": "Let ", "content": None}),
        chunk({"reasoning_content": "me ", "x": {"a": 1}, "reasoning_details": details[0]}),
        chunk({"reasoning_content": "me ", "x": {"b": 2}, "y": "whole", "reasoning_details": details[1]}),
        chunk({"content": "Hi", "y": "whole", "thought_signature": "sig", "z": [1]}),
        chunk({"thought_signature": "sig", "z": [2]}),
    )
    assert reply.message == {
        "role": "assistant",
        "content": "Hi",
        "reasoning_content": "Let me me ",
        "x": {"a": 1, "b": 2},
        "y": "whole",
        "reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "ab", "signature": "s"}],
        "thought_signature": "sig",
        "z": [1, 2],
    }
    assert deltas[0] == {"role": "assistant", "sender": "A", "reasoning_content": "Let "}


def test_an_empty_reasoning_is_kept_too() -> None:
    """D26: a server that thinks wants the field back, an empty one as well."""
    _, reply = feed_all(chunk({"reasoning_content": "", "tool_calls": [piece(0, "a", "f", "{}")]}))
    assert reply.message["reasoning_content"] == ""


def test_private_fields_of_calls_are_kept() -> None:
    """P11"""
    signature = {"google": {"thought_signature": "s"}}
    entries = [piece(0, "a", "f", "", extra_content=signature)], [piece(0, arguments="{}", more="x")]
    deltas, reply = feed_all(*(chunk({"tool_calls": one}) for one in entries))
    assert reply.message["tool_calls"][0]["extra_content"] == signature
    assert reply.message["tool_calls"][0]["more"] == "x"
    assert deltas[0]["tool_calls"][0]["extra_content"] == signature


def test_a_refusal_in_pieces() -> None:
    deltas, reply = feed_all(chunk({"refusal": "I "}), chunk({"refusal": "won't."}), chunk({}, "stop"))
    assert reply.message == {"role": "assistant", "content": None, "refusal": "I won't."}
    assert [delta["refusal"] for delta in deltas] == ["I ", "won't."]


def test_function_call_of_older_servers_becomes_a_tool_call() -> None:
    pieces = {"name": "f", "arguments": ""}, {"arguments": '{"x"'}, {"arguments": ": 1}"}
    _, reply = feed_all(*(chunk({"function_call": one}) for one in pieces), chunk({}, "function_call"))
    assert [call["function"] for call in reply.message["tool_calls"]] == [{"name": "f", "arguments": '{"x": 1}'}]
    assert reply.finish_reason == "function_call"


def test_content_in_parts_keeps_what_is_not_text() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    deltas, reply = feed_all(
        chunk({"content": [thinking]}), chunk({"content": [{"type": "text", "text": "Hel"}]}), chunk({"content": "lo"})
    )
    assert reply.message["content"] == [thinking, {"type": "text", "text": "Hello"}]
    assert "".join(delta.get("content", "") for delta in deltas) == "Hello"


def test_parts_without_a_type_are_text() -> None:
    """M04: a history must not hold what the next run would refuse."""
    assert feed_all(chunk({"content": ["a", "b"]}), chunk({"content": ["c"]}))[1].message["content"] == "abc"
    assert feed_all(chunk({"content": [{"text": "a"}, {"type": "text", "text": "b"}]}))[1].message["content"] == "ab"
    picture = {"type": "image_url", "image_url": {"url": "u"}}
    assert assistant_message({"content": ["a", picture]}, "A")["content"] == [{"type": "text", "text": "a"}, picture]


def test_a_number_of_a_choice_may_be_text() -> None:
    """P08"""
    assert (
        feed_all({"choices": [{"index": "1", "delta": {"content": "b"}}, {"index": "0", "delta": {"content": "a"}}]})[1].message["content"]
        == "a"
    )
    assert read_reply({"choices": [{"index": "0", "message": {"content": "a"}}]}).message["content"] == "a"


@pytest.mark.parametrize("index", ["0", 0.0, "0.0"])
@pytest.mark.parametrize("other", ["1", 1.0, "1.0"])
def test_numbers_of_calls_may_be_text(index: Any, other: Any) -> None:
    """S09"""
    pieces = [[piece(index, "a", "f")], [piece(other, "b", "g")], [piece(index, None, None, "{}")], [piece(other, None, None, '{"x": 1}')]]
    assert calls_of(*pieces) == [("a", "f", "{}"), ("b", "g", '{"x": 1}')]


@pytest.mark.parametrize("index", ["", "x", "-1", "9" * 5000, float("inf"), float("nan"), 0.5])
def test_numbers_that_are_none_are_left_out(index: Any) -> None:
    """S03"""
    assert calls_of([piece(index, "a", "f", "{}")]) == [("a", "f", "{}")]


def test_content_in_text_parts_is_text() -> None:
    assert feed_all(chunk({"content": [{"type": "text", "text": "a"}]}), chunk({"content": "b"}))[1].message["content"] == "ab"


# Which piece belongs to which call


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        pytest.param([[piece(None, "a", "f")], [piece(arguments="{}")]], [("a", "f", "{}")], id="S03-no-index"),
        pytest.param(
            [[piece(0, "a", "f", "")], [piece(0, "", "", "{")], [piece(0, None, None, "}")]], [("a", "f", "{}")], id="S07-empty-id-and-name"
        ),
        pytest.param(
            [[piece(0, "a", "f", "{")], [piece(1, "b", "g", '{"x"')], [piece(0, arguments="}")], [piece(1, arguments=": 1}")]],
            [("a", "f", "{}"), ("b", "g", '{"x": 1}')],
            id="S09-interleaved",
        ),
        pytest.param([[piece(1, "b", "g", "{}")], [piece(0, "a", "f", "{}")]], [("a", "f", "{}"), ("b", "g", "{}")], id="by-number"),
        pytest.param(
            [[piece(0, "a", "f", "")], [piece(1, arguments='{"x"')], [piece(1, arguments=": 1}")]],
            [("a", "f", '{"x": 1}')],
            id="S09-two-indexes",
        ),
        pytest.param(
            [[piece(0, "a", "f", "")], [piece(1, "a", None, '{"x"')], [piece(2, "a", None, ": 1}")]],
            [("a", "f", '{"x": 1}')],
            id="D27-same-id",
        ),
        pytest.param([[piece(0, "f", "f", "{}")], [piece(1, "f", "f", "{}")]], [("f", "f", "{}"), ("f_2", "f", "{}")], id="D27-name-as-id"),
        pytest.param(
            [[piece(0, "f", "f", "{")], [piece(0, "f", None, "}")], [piece(1, "f", "f", "{")], [piece(1, "f", None, "}")]],
            [("f", "f", "{}"), ("f_2", "f", "{}")],
            id="D27-name-as-id-in-pieces",
        ),
        pytest.param([[piece(0, "a", "f", '{"x"')], [piece(1, "a", "f", ": 1}")]], [("a", "f", '{"x": 1}')], id="D52-known-id-not-whole"),
        pytest.param(
            [[piece(0, "a", "f", "{}")], [piece(0, "b", "f", "{}")]], [("a", "f", "{}"), ("b", "f", "{}")], id="D27-new-id-used-index"
        ),
        pytest.param(
            [[piece(0, "a", "f", "{}")], [piece(0, "b", "g", "{")], [piece(0, None, None, "}")]],
            [("a", "f", "{}"), ("b", "g", "{}")],
            id="D27-new-id-used-index-goes-on",
        ),
        pytest.param(
            [[piece(None, "a", "f", "{")], [piece(None, "b", "g", "{")], [piece(None, "a", None, "}")], [piece(None, "b", None, "}")]],
            [("a", "f", "{}"), ("b", "g", "{}")],
            id="D27-by-id",
        ),
        pytest.param(
            [[piece(0, None, "f", "")], [piece(0, "a", None, "{")], [piece(0, None, None, "}")]], [("a", "f", "{}")], id="late-id"
        ),
        pytest.param([[piece(0, None, "f", "{}")], [piece(0, "a")]], [("a", "f", "{}")], id="very-late-id"),
        pytest.param([[piece(0, "a", None, "{")], [piece(0, None, "f", "}")]], [("a", "f", "{}")], id="late-name"),
        pytest.param([[piece(0, "a", "f", "{")], [piece(0, "b", None, "}")]], [("a", "f", "{}")], id="ids-that-change"),
        pytest.param([[piece(0, "a", "f", ""), piece(1, "b", "g", "")]], [("a", "f", ""), ("b", "g", "")], id="two-in-one-chunk"),
        pytest.param([[piece(name="f"), piece(name="g")]], [("", "f", "{}"), ("", "g", "{}")], id="two-in-one-chunk-without-anything"),
        pytest.param(
            [[piece(name="f", arguments="{}")], [piece(name="f", arguments="{}")]],
            [("", "f", "{}"), ("", "f", "{}")],
            id="D27-name-after-whole",
        ),
        pytest.param(
            [[piece(name="f", arguments="")], [piece(name="g", arguments="")]], [("", "f", ""), ("", "g", "")], id="no-ids-no-arguments"
        ),
        pytest.param(
            [[piece(0, name="f", arguments="", type="function")], [piece(0, name="g", arguments="", type="function")]],
            [("", "f", ""), ("", "g", "")],
            id="same-index-no-ids-no-arguments",
        ),
        pytest.param([[piece(0, "", "f", "{}")], [piece(0, "", "f", "{}")]], [("", "f", "{}"), ("", "f", "{}")], id="same-index-no-ids"),
        pytest.param(
            [[piece(0, "a", "f", "{")], [piece(0, "a", "f", "}")], [piece(0, "a", "f", "")]], [("a", "f", "{}")], id="everything-repeated"
        ),
        pytest.param([[piece(0, "a", "f", '{"x": 1}')], [piece(0, "a", "f", {"x": 1})]], [("a", "f", '{"x": 1}')], id="call-said-again"),
        pytest.param(
            [[piece(0, "f", "f", '{"x": 1}')], [piece(0, "f", "f", '{"x": 2}')]],
            [("f", "f", '{"x": 1}'), ("f_2", "f", '{"x": 2}')],
            id="name-as-id-same-index",
        ),
        pytest.param(
            [[piece(0, "a", "edit_", "")], [piece(0, None, "file", "")], [piece(0, None, None, "{}")]],
            [("a", "edit_file", "{}")],
            id="name-in-pieces",
        ),
        pytest.param([[piece(None, "a", "f", "{}")], [piece(None, None, "f", "")]], [("a", "f", "{}")], id="name-said-again-after-the-end"),
        pytest.param(
            [[piece(None, "a", "f", "{}")], [piece(None, None, "g", "")]],
            [("a", "f", "{}"), ("", "g", "")],
            id="another-name-after-the-end",
        ),
        pytest.param([[piece(0, "a", "f", {"x": "é"})]], [("a", "f", '{"x":"é"}')], id="T06-object"),
        pytest.param([[{"index": 0, "id": "a", "function": {"name": "f", "arguments": None}}]], [("a", "f", "{}")], id="T03-null"),
        pytest.param([[piece(0, "a", "f", "")]], [("a", "f", "")], id="T02-empty"),
        pytest.param([[piece("0", 7, "f", "{}")]], [("7", "f", "{}")], id="odd-types"),
        pytest.param(
            [[piece(name="f", arguments="{}")], [piece(name="f", arguments="")]], [("", "f", "{}")], id="name-said-again-without-ids"
        ),
        pytest.param(
            [[piece(name="f", arguments="{}")], [piece(name="f", arguments="")], [piece(arguments='{"x": 1}')]],
            [("", "f", "{}"), ("", "f", '{"x": 1}')],
            id="second-call-without-ids",
        ),
        pytest.param(
            [[piece(0, "a", "f", "{}", type="function")], [piece(0, None, "f", "", type="function")]],
            [("a", "f", "{}")],
            id="name-and-type-said-again",
        ),
        pytest.param(
            [[piece(name="get_weather", arguments="{}")], [piece(name="get_weather_now", arguments="")]],
            [("", "get_weather", "{}"), ("", "get_weather_now", "")],
            id="longer-name-after-the-end",
        ),
        pytest.param([[piece(0, "", None, "{}")], [piece(0, "", "f", "")]], [("", "f", "{}")], id="name-after-all-arguments"),
        pytest.param([[piece(0, "a", "f", "{}")], [piece(1, arguments="")]], [("a", "f", "{}")], id="empty-piece-under-a-new-number"),
        pytest.param(
            [[piece(0, "a", "f", "{")], [piece(0, None, None, "}")], [piece(0, None, None, "\n")]],
            [("a", "f", "{}\n")],
            id="blank-at-the-end",
        ),
    ],
)
def test_pieces_find_their_call(chunks: list[list[dict[str, Any]]], expected: list[tuple[str, str, str]]) -> None:
    assert calls_of(*chunks) == expected


def test_entries_that_say_nothing_are_no_call() -> None:
    empty = {"index": 0}, {"index": 0, "id": None, "function": None}, {"index": 0, "id": "a", "function": {"name": ""}}
    deltas, reply = feed_all(*(chunk({"tool_calls": [entry]}) for entry in empty), chunk({}, "stop"))
    assert deltas == []
    assert reply.message == {"role": "assistant", "content": ""}


def test_what_came_before_a_call_was_one_is_in_its_first_delta() -> None:
    """K18"""
    chunks = [[{"index": 0, "id": "a", "type": "function", "x": 1}], [piece(0, name="f", arguments="{")], [piece(0, arguments="}")]]
    deltas, reply = feed_all(*(chunk({"tool_calls": entries}) for entries in chunks))
    assert deltas[0]["tool_calls"] == [{"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": "{"}, "x": 1}]
    assert added_up(deltas)[1] == [("a", "f", "{}")]
    assert reply.message["tool_calls"][0]["x"] == 1


@pytest.mark.parametrize(
    "chunks",
    [
        [[piece(None, "a", "f", "")], [piece(None, None, "g", "")]],
        [[piece(0, "a", "f", "")], [piece(0, "b", "g", "")], [piece(0, None, "h", "")]],
        [[piece(0, None, "f", "")], [piece(0, None, "g", "")]],
        [[piece(0, "a", "f", ""), piece(1, "b", "g", "")], [piece(0, None, "g", "")]],
    ],
    ids=["no number", "a number of two calls", "no ids", "the name of another call"],
)
def test_a_name_that_may_be_a_piece_or_another_call_is_an_error(chunks: list[list[dict[str, Any]]]) -> None:
    """Putting names together on a guess would make one that nobody said."""
    with pytest.raises(InvalidReply, match="neither an id nor a number of its own tells whether that is another call"):
        calls_of(*chunks)


def test_a_custom_tools_input_comes_in_pieces() -> None:
    pieces = {"name": "run", "input": ""}, {"input": "1"}, {"input": "+1"}
    entries = [{"index": 0, **({"id": "a", "type": "custom"} if at == 0 else {}), "custom": one} for at, one in enumerate(pieces)]
    deltas, reply = feed_all(*(chunk({"tool_calls": [entry]}) for entry in entries), chunk({}, "tool_calls"))
    assert reply.message["tool_calls"] == [{"id": "a", "type": "custom", "custom": {"name": "run", "input": "1+1"}}]
    assert deltas[0]["tool_calls"] == [{"index": 0, "id": "a", "type": "custom", "custom": {"name": "run", "input": ""}}]


@pytest.mark.parametrize("reason", ["error", "abort", "insufficient_system_resource"])
@pytest.mark.parametrize("shown", [True, False])
def test_an_end_that_is_a_failure_is_raised(reason: str, shown: bool) -> None:
    """P08: such an answer is cut in the middle, though the stream has its end; whole answers alike."""
    assembler = Assembler("A")
    if shown:
        assembler.feed(chunk({"content": "Hel"}))
    with pytest.raises(ServerError, match=rf"gave no error \(finish_reason: {reason}, WHY\)"):
        assembler.feed({"choices": [{"index": 0, "delta": {"content": "lo"}, "finish_reason": reason, "native_finish_reason": "WHY"}]})
    assert assembler.partial() == ({"role": "assistant", "content": "Hel"} if shown else None)
    with pytest.raises(ServerError, match=f"finish_reason: {reason}"):
        read_reply({"choices": [{"message": {"role": "assistant", "content": "Hello"}, "finish_reason": reason}]})


def test_numbered_details_with_other_ids_are_other_details() -> None:
    """P11: glued together, signatures are void."""
    details = [{"type": "reasoning.encrypted", "index": 0, "id": id, "data": data} for id, data in (("a", "QQ"), ("b", "Qg"), ("a", "QQ"))]
    _, reply = feed_all(*(chunk({"content": "x", "reasoning_details": [detail]}) for detail in details))
    assert reply.message["reasoning_details"] == details[:2]


def test_thoughts_in_pieces_end_with_their_signature() -> None:
    """P11: a server that gets a thought back in pieces refuses it."""
    said = [("Let ", ""), ("me.", None), ("", "s1"), ("And", ""), ("And", "s2"), ("So", "s3")]
    blocks = [{"type": "thinking", "thinking": text, "signature": signature} for text, signature in said]
    _, reply = feed_all(*(chunk({"content": "", "thinking_blocks": [block]}) for block in blocks), chunk({"content": "Yes"}))
    assert [(block["thinking"], block["signature"]) for block in reply.message["thinking_blocks"]] == [
        ("Let me.", "s1"),
        ("And", "s2"),
        ("So", "s3"),
    ]


def test_parts_of_content_that_go_on_are_one_part_and_others_are_not() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:,"}}
    think = [{"type": "thinking", "thinking": [{"type": "text", "text": text}]} for text in ("h", "m")]
    parts: list[Any] = ["", [think[0]], [think[1]], {"type": "text", "text": "Hi"}, [image], [image], "!"]
    deltas, reply = feed_all(*(chunk({"content": part}) for part in parts))
    whole = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    assert reply.message["content"] == [whole, {"type": "text", "text": "Hi"}, image, image, {"type": "text", "text": "!"}]
    assert "".join(delta.get("content", "") for delta in deltas) == "Hi!"


def test_an_entry_instead_of_a_list_of_entries() -> None:
    _, reply = feed_all(chunk({"tool_calls": piece(0, "a", "f", "{}")}))
    assert reply.message["tool_calls"][0]["id"] == "a"


def test_deltas_are_handed_on_in_the_plain_form() -> None:
    """K18: a client that joins strings by index gets what we got."""
    chunks = [
        [piece(0, "f", "f", "{", type="function")],
        [piece(0, "f", "f", "}")],
        [piece(1, "f", "f", "{")],
        [piece(1, "f", "f", "}")],
        [piece(0, "b", "g", {})],
    ]
    deltas, reply = feed_all(*(chunk({"tool_calls": entries}) for entries in chunks))
    expected = [("f", "f", "{}"), ("f_2", "f", "{}"), ("b", "g", "{}")]
    assert added_up(deltas)[1] == expected
    assert [(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in reply.message["tool_calls"]] == expected


# Errors, cuts, sharing


@pytest.mark.parametrize(
    ("bad", "kind", "words"),
    [
        ({"error": {"message": "slow down", "code": 429}}, RateLimitError, "429: slow down"),
        ({"error": "gone"}, InvalidReply, "gone"),
        ({"object": "error", "message": "boom", "code": 500}, ServerError, "boom"),
        (
            {"choices": [{"index": 0, "delta": {"content": ""}, "error": {"code": 502, "message": "upstream"}, "finish_reason": "error"}]},
            ServerError,
            "502: upstream",
        ),
        ("text", InvalidReply, "text"),
        (None, InvalidReply, "no message"),
        (chunk({"tool_calls": ["f"]}), InvalidReply, "not objects"),
    ],
)
def test_an_error_in_the_stream_is_raised_in_the_providers_words(bad: Any, kind: type[ModelError], words: str) -> None:
    """P08"""
    assembler = Assembler("A")
    assembler.feed(chunk({"content": "Hel"}))
    with pytest.raises(kind, match=words):
        assembler.feed(bad)
    assert assembler.partial() == {"role": "assistant", "content": "Hel"}


@pytest.mark.parametrize("chunks", [[], [{"choices": []}], [chunk({"role": "assistant"})], [{"choices": [], "usage": {"n": 1}}]])
def test_a_stream_of_nothing_is_an_invalid_reply(chunks: list[dict[str, Any]]) -> None:
    with pytest.raises(InvalidReply, match="ended before any part"):
        feed_all(*chunks)


def test_partial_keeps_text_and_drops_calls() -> None:
    """D13"""
    assembler = Assembler("A")
    assert assembler.partial() is None
    assembler.feed(chunk({"tool_calls": [piece(0, "a", "f", "{}")]}))
    assert assembler.partial() is None
    assembler.feed(chunk({"content": "Hel"}))
    assert assembler.partial() == {"role": "assistant", "content": "Hel"}


def test_nothing_is_shared_with_chunks_and_deltas() -> None:
    """K19: an event is not changed after it was handed out. D27"""
    chunks = [
        chunk({"content": "a", "x": {"y": [1]}, "tool_calls": [piece(0, "a", "f", "{", extra_content={"z": 1})]}, usage={"n": {"m": 1}}),
        chunk({"content": "b"}),
        chunk({"x": {"w": 2}, "tool_calls": [piece(0, arguments="}", more={"z": 1})]}),
    ]
    expected = feed_all(*copy.deepcopy(chunks))
    assembler = Assembler("A")
    deltas = []
    for one in chunks:
        delta = assembler.feed(one)
        assert delta is not None
        deltas.append(copy.deepcopy(delta))
        wreck(delta)
        wreck(one)
    reply = assembler.reply()
    assert deltas == expected[0]
    assert (reply.message, reply.usage) == (expected[1].message, expected[1].usage)


def wreck(value: Any) -> None:
    for inner in list(value.values() if isinstance(value, dict) else value):
        if isinstance(inner, (dict, list)):
            wreck(inner)
    value.clear()


# Properties

TEXTS = st.text(max_size=12)
ARGUMENTS = st.dictionaries(st.sampled_from(["a", "b}", "{"]), st.sampled_from([1, "x", "}", "{}", None, {"c": {}}, []]), max_size=2).map(
    json.dumps
)
NAMES = st.sampled_from(["f", "g", "get_weather", "get_weather_now"])


def cut(draw: st.DrawFn, text: str) -> list[str]:
    at = sorted(draw(st.sets(st.integers(1, max(1, len(text) - 1)), max_size=3)))
    return [text[a:b] for a, b in zip([0, *at], [*at, len(text)], strict=True) if text[a:b]]


@st.composite
def streamed_calls(draw: st.DrawFn) -> tuple[list[tuple[str, str, str]], list[list[dict[str, Any]]]]:
    """Calls, and the chunks of a stream of them with one server's habits."""
    numbers = draw(st.sampled_from(["right", "missing", "zero"]))
    ids = draw(st.sampled_from(["first", "every", "empty later", "late", "none", "empty"]))
    repeats_name = draw(st.booleans())
    whole = draw(st.booleans())
    as_object = whole and draw(st.booleans())
    opens_empty = not whole and draw(st.booleans())
    mixed = draw(st.booleans()) and (numbers == "right" or ids == "every")
    calls: list[tuple[str, str, str]] = []
    streams: list[list[dict[str, Any]]] = []
    for at, (name, text) in enumerate(draw(st.lists(st.tuples(NAMES, ARGUMENTS), min_size=1, max_size=4))):
        pieces: list[Any] = [json.loads(text)] if as_object else [text] if whole else cut(draw, text)
        if opens_empty:
            pieces.insert(0, draw(st.sampled_from(["", None])))
        if ids == "late" and len(pieces) == 1:
            pieces.append(None)
        entries: list[dict[str, Any]] = []
        for number, part in enumerate(pieces):
            first = number == 0
            entry: dict[str, Any] = {"function": {"arguments": part}}
            if numbers != "missing":
                entry["index"] = at if numbers == "right" else 0
            elif draw(st.booleans()):
                entry["index"] = None
            if ids == "every" or (ids in ("first", "empty later") and first) or (ids == "late" and number == 1):
                entry["id"] = f"id{at}"
            elif ids == "empty" or (ids == "empty later" and not first):
                entry["id"] = ""
            if first:
                entry["type"] = "function"
            if first or repeats_name:
                entry["function"]["name"] = name
            entries.append(entry)
        wanted = json.dumps(json.loads(text), separators=(",", ":")) if as_object else text
        calls.append((f"id{at}" if ids not in ("none", "empty") else "", name, wanted))
        streams.append(entries)
    order = [entry for entries in streams for entry in entries]
    if mixed:
        order = []
        while any(streams):
            order.append(draw(st.sampled_from([entries for entries in streams if entries])).pop(0))
    chunks: list[list[dict[str, Any]]] = []
    for entry in order:
        together = bool(chunks) and "type" in entry and draw(st.booleans())
        chunks[-1].append(entry) if together else chunks.append([entry])
    return calls, chunks


@given(streamed_calls(), st.lists(TEXTS, max_size=3), st.data())
def test_any_stream_gives_its_message_back(streamed: Any, texts: list[str], data: st.DataObject) -> None:
    """D27, S01, S02, S03, S07, S09, K18"""
    calls, entries = streamed
    chunks = [chunk({"content": text}) for text in texts] + [chunk({"tool_calls": one}) for one in entries]
    noise = st.sampled_from(
        [{"choices": []}, chunk(None), chunk({"role": "assistant", "content": None}), {"choices": [], "usage": {"n": 1}}]
    )
    for _ in range(data.draw(st.integers(0, 2))):
        chunks.insert(data.draw(st.integers(0, len(chunks))), data.draw(noise))
    deltas, reply = feed_all(*chunks, chunk({}, "tool_calls"))
    found = [(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in reply.message["tool_calls"]]
    is_numbered = any(entry.get("index") for one in entries for entry in one)
    assert found == calls if is_numbered else sorted(found) == sorted(calls)
    assert (reply.message["content"] or "") == "".join(texts)
    assert added_up(deltas) == ("".join(texts), found)
    assert ("role" in deltas[0], deltas[0]["sender"]) == (True, "A")
    assert all("role" not in delta for delta in deltas[1:])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 2) | st.sampled_from(["", "a", "{}", '{"a"', "function"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "delta",
                    "message",
                    "content",
                    "tool_calls",
                    "index",
                    "id",
                    "type",
                    "function",
                    "name",
                    "arguments",
                    "usage",
                    "x",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
DELTAS = st.dictionaries(st.sampled_from(["role", "content", "tool_calls", "function_call", "refusal", "reasoning", "x"]), JSON, max_size=4)
ENTRIES = st.builds(
    lambda index, id, name, arguments: piece(index, id, name, arguments),
    st.sampled_from([None, 0, 1, -1, "0", True]),
    st.sampled_from([None, "", "a", "b", 3]),
    st.sampled_from([None, "", "f", "g", 3]),
    st.sampled_from([None, "", "{", "}", "{}", '{"a": 1}', {}, {"a": 1}, 3, "null"]),
)
CHUNKS = st.builds(chunk, DELTAS) | st.builds(lambda entries: chunk({"tool_calls": entries}), st.lists(ENTRIES, max_size=3)) | JSON


@given(st.lists(CHUNKS, max_size=6))
def test_no_stream_crashes_and_joined_text_is_the_text(chunks: list[Any]) -> None:
    """K18: never a crash, a call without name and arguments, or a name that nobody sent."""
    assembler = Assembler("A")
    deltas: list[dict[str, Any]] = []
    for one in chunks:
        try:
            delta = assembler.feed(one)
        except ModelError:
            continue
        if delta is not None:
            deltas.append(delta)
    try:
        message = assembler.reply().message
    except InvalidReply:
        assert deltas == []
        return
    text, calls = added_up(deltas)
    content = message["content"]
    said = (
        content
        if isinstance(content, str)
        else "".join(p["text"] for p in content or () if isinstance(p, dict) and isinstance(p.get("text"), str))
    )
    assert said == text
    made = {call["function"]["name"] + call["function"]["arguments"] for call in message.get("tool_calls", ())}
    assert all(made)
    json.dumps([message, deltas])
    assert {name for _, name, _ in calls} >= {call["function"]["name"] for call in message.get("tool_calls", ())}


RAW_CALLS = st.builds(
    lambda id, name, arguments, more: {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}, **more},
    st.sampled_from(["a", "b", "c", ""]),
    st.sampled_from(["f", "g.h", ""]),
    st.sampled_from(["{}", '{"a": 1', "", None, {"a": 1}]),
    st.sampled_from([{}, {"extra_content": {"s": "x"}}]),
)
EXTRAS = st.fixed_dictionaries(
    {},
    optional={
        "refusal": st.sampled_from([None, "", "No."]),
        "annotations": st.sampled_from([None, [], [{"a": 1}]]),
        "reasoning_content": st.sampled_from([None, "", "hm"]),
        "function_call": st.none(),
        "x": st.sampled_from([{"a": None}, [1], 0, False]),
    },
)


@given(st.sampled_from(["Hi", "", None]), st.lists(RAW_CALLS, max_size=3, unique_by=lambda call: call["id"]), EXTRAS)
def test_streamed_or_not_the_response_is_the_same(content: Any, calls: list[Any], extra: dict[str, Any]) -> None:
    """K19"""
    calls = [call for call in calls if call["function"]["name"] or (call["id"] and call["function"]["arguments"])]
    raw = {"role": "assistant", "content": content, **extra, **({"tool_calls": calls} if calls else {})}
    whole = read_reply({"choices": [{"message": copy.deepcopy(raw), "finish_reason": "stop"}]})
    entries = [{"index": index, **call} for index, call in enumerate(calls)]
    deltas = [{"role": "assistant", "content": ""}, {"content": content, **extra}, *({"tool_calls": [entry]} for entry in entries)]
    _, streamed = feed_all(*(chunk(copy.deepcopy(delta)) for delta in deltas), chunk({}, "stop"))
    assert assistant_message(streamed.message, "A") == assistant_message(whole.message, "A")
