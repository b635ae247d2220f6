"""Where answers go that could go to several calls, and what stays the caller's own object: the fine print of a repair."""

from __future__ import annotations

from typing import Any

import pytest

from swarm.errors import HistoryError
from swarm.history import NOT_EXECUTED, repaired, tool_message, unique_ids
from swarm.legal import normal_call

USER = {"role": "user", "content": "Hi"}
TEXT = {"role": "assistant", "content": "x"}


def call(id: Any, name: str = "f") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}}


def asks(*calls: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def answer(id: Any, content: str, **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": content, **more}


def pairs(messages: list[Any]) -> list[tuple[str, str]]:
    """The answers as (id, content)."""
    return [
        (message["tool_call_id"], message["content"]) for message in repaired(messages, allow_open_tail=False) if message["role"] == "tool"
    ]


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([asks(call("a", "f"), call("b", "g")), answer(None, "1", tool_name="g"), answer(None, "2")], [("a", "2"), ("b", "1")]),
        ([asks(call("a", "f"), call("b", "g")), answer(None, "1", name="g"), answer(None, "2", name="f")], [("a", "2"), ("b", "1")]),
        ([asks(call("a", "f"), call("b", "g")), answer(None, "1", name="h"), answer("b", "2")], [("a", "1"), ("b", "2")]),
        ([asks(call("a", "f"), call("b", "g")), TEXT, answer(None, "1", name="g"), answer("a", "2")], [("a", "2"), ("b", "1")]),
        ([asks(call(""), call("b")), answer(None, "1"), answer(None, "2")], [("call_0_0", "1"), ("b", "2")]),
        ([asks(call("")), answer("zzz", "1")], [("call_0_0", "1")]),
        (
            [asks(call("", "f"), call("", "g")), answer(None, "1", name="g"), answer(None, "2", name="f")],
            [("call_0_0", "2"), ("call_0_1", "1")],
        ),
        ([asks(call("", "f"), call("", "g")), answer("x", "1", name="g"), answer("y", "2")], [("call_0_0", "2"), ("call_0_1", "1")]),
        ([asks(call("a", "f"), call("a", "g")), answer("a", "1", tool_name="g"), answer("a", "2")], [("a", "2"), ("a_2", "1")]),
        ([asks(call("")), answer("", "1")], [("call_0_0", "1")]),
        ([asks(call(""), call("")), answer("", "1"), answer("", "2")], [("call_0_0", "1"), ("call_0_1", "2")]),
        ([asks(call("a")), answer("zzz", "1"), answer("a", "2")], [("a", "2")]),
        ([asks(call("a")), answer("a", "1"), answer("a", "2"), USER], [("a", "1")]),
        ([asks(call("a")), USER, asks(call("a")), answer("a", "1"), answer("a", "2")], [("a", NOT_EXECUTED), ("a_2", "1")]),
        ([asks(call("a")), USER, answer("a", "late")], [("a", "late")]),
        ([asks(call("a")), USER, asks(call("a")), USER, answer("a", "1"), answer("a", "2"), USER], [("a", NOT_EXECUTED), ("a_2", "1")]),
    ],
)
def test_which_call_an_answer_belongs_to(messages: list[Any], expected: list[tuple[str, str]]) -> None:
    """M04, D52: by id in its batch, else the latest before; of several that could be meant by name, else the first; never to two."""
    assert pairs(messages) == expected


@pytest.mark.parametrize("nothing", ["", (), {}, 0, False])
def test_calls_that_are_nothing_do_not_end_the_check(nothing: Any) -> None:
    """M04: what comes behind them is looked at all the same."""
    said = {"role": "assistant", "content": "x", "tool_calls": nothing}
    assert repaired([said, answer("zzz", "orphan"), USER], allow_open_tail=False) == [said, USER]
    with pytest.raises(HistoryError, match=r"messages\[1\]"):
        repaired([said, {"role": "robot", "content": "x"}], allow_open_tail=False)


def test_what_is_right_in_a_broken_history_is_the_callers_own_object() -> None:
    """K08"""
    right = [asks(call("a")), answer("a", "1"), USER]
    found = repaired([*right, answer("zzz", "orphan"), TEXT], allow_open_tail=False)
    assert all(mine is theirs for mine, theirs in zip(found, [*right, TEXT], strict=True))


@pytest.mark.parametrize(
    ("ids", "used", "expected"),
    [
        (["x", "a"], {"a"}, ["x", "a_2"]),
        (["a", "x"], {"a"}, ["a_2", "x"]),
        (["a", "a"], set(), ["a", "a_2"]),
        (["a", "a"], {"a", "a_2"}, ["a_3", "a_4"]),
        (["", "b", ""], set(), ["call_4_0", "b", "call_4_2"]),
        (["x", ""], {"call_4_1"}, ["x", "call_4_1_2"]),
    ],
)
def test_ids_of_a_new_message(ids: list[str], used: set[str], expected: list[str]) -> None:
    """D52: made from the place, numbered where they are taken, and in use from then on."""
    taken = set(used)
    made = unique_ids(asks(*map(call, ids)), taken, 4)
    assert [entry["id"] for entry in made["tool_calls"]] == expected
    assert taken == used | set(expected)


@pytest.mark.parametrize(
    ("given", "id"),
    [({"id": "c", "function": None}, "c"), ({"id": 5}, "5"), ({"id": None, "function": 3}, ""), ({"id": "c", "more": 1}, "c")],
)
def test_a_call_of_another_kind(given: dict[str, Any], id: str) -> None:
    """P11"""
    made = normal_call({"type": "custom", "custom": {"name": "grep"}, **given})
    assert (made["id"], made["custom"], "function" in made, made.get("more")) == (id, {"name": "grep"}, False, given.get("more"))


def test_the_answer_that_is_made_says_whose_it_is() -> None:
    """K07"""
    assert tool_message("a", "f", "x") == {"role": "tool", "tool_call_id": "a", "tool_name": "f", "content": "x"}
    assert repaired([asks(call("a", "f")), USER], allow_open_tail=False)[1] == tool_message("a", "f", NOT_EXECUTED)


@pytest.mark.parametrize(
    ("name", "legal"),
    [
        ("f", "f"),
        ("a-b", "a-b"),
        ("a_b", "a_b"),
        ("7", "7"),
        ("x" * 64, "x" * 64),
        ("x" * 65, "x" * 64),
        ("é", "_"),
        ("a.b", "a_b"),
        ("a b\n", "a_b_"),
        ("", "unnamed_function"),
        (5, "unnamed_function"),
        ("a\n", "a_"),
    ],
)
def test_names_that_every_provider_takes(name: Any, legal: str) -> None:
    """P16, D52: a legal one is left alone, with its message."""
    given = call("a", name)
    made = normal_call(given)
    assert made["function"]["name"] == legal
    assert (made is given) is (name == legal)


@pytest.mark.parametrize("role", ["system", "developer", "user", "assistant", "function"])
def test_every_role_of_the_api_is_taken(role: str) -> None:
    """M04: the deprecated one too, which may have no content."""
    message = {"role": role, "content": "x", "name": "f"}
    assert repaired([message], allow_open_tail=False) == [message]
    nothing = {"role": role, "content": None, "name": "f"}
    if role in ("assistant", "function"):
        assert repaired([nothing], allow_open_tail=False) == [nothing]
    else:
        with pytest.raises(HistoryError, match="no content"):
            repaired([nothing], allow_open_tail=False)


def test_what_a_call_is_answered_that_nobody_answered() -> None:
    """M03"""
    assert NOT_EXECUTED == "not executed"


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"role": "tool", "tool_call_id": "a", "content": 5}, r"messages\[1\] \(role tool\) has content of type int"),
        ({"role": "user", "content": None}, r"messages\[1\] \(role user\) has no content; give it a string"),
        ({"role": "function", "name": "", "content": "x"}, r"messages\[1\]"),
        ({"role": "function", "content": "x"}, r"messages\[1\]"),
    ],
)
def test_what_cannot_be_mended_is_refused_in_these_words(message: dict[str, Any], said: str) -> None:
    """M04"""
    with pytest.raises(HistoryError, match=said):
        repaired([asks(call("a")), message, USER], allow_open_tail=False)


def test_the_calls_that_wait_are_named_one_after_another() -> None:
    """M03"""
    with pytest.raises(HistoryError, match=r"nobody answered: f \(id 'a'\), g \(id 'b'\)\. They"):
        repaired([asks(call("a", "f"), call("x"), call("b", "g")), answer("x", "1")], allow_open_tail=False)


def test_parts_stay_where_a_message_is_looked_at_closely() -> None:
    """M04: beside something that is mended."""
    said = {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "data:,"}}]}
    found = repaired(
        [answer("zzz", "orphan"), said, {"role": "assistant", "content": [{"type": "text", "text": "b"}]}], allow_open_tail=False
    )
    assert found == [said, {"role": "assistant", "content": [{"type": "text", "text": "b"}]}]


@pytest.mark.parametrize("tail", [[asks(call("a"))], [asks(call("a"), call("b"))], [asks(call("a"), call("b")), answer("a", "1")]])
def test_a_history_that_ends_in_calls_is_taken_only_where_it_may(tail: list[dict[str, Any]]) -> None:
    """M03: with nothing else wrong in it."""
    assert repaired([USER, *tail], allow_open_tail=True) == [USER, *tail]
    with pytest.raises(HistoryError, match=r"messages\[1\] ends the history with calls that nobody answered"):
        repaired([USER, *tail], allow_open_tail=False)
