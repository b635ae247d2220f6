"""Values that come in pieces, each rule by itself."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from swarm.merging import add, merged


@pytest.mark.parametrize(
    ("key", "old", "new", "together"),
    [
        ("content", "a", "b", "ab"),
        *((key, "a", "b", "ab") for key in ("data", "input", "refusal", "summary", "text", "transcript")),
        ("reasoning_content", "a", "b", "ab"),
        ("thinking", "a", "b", "ab"),
        ("thinking_signature", "a", "b", "b"),
        ("reasoning_signature", "a", "b", "b"),
        ("signature", "a", "b", "b"),
        ("id", "a", "b", "b"),
        ("content", None, "b", "b"),
        ("content", "a", 5, 5),
        ("content", "a", {"x": 1}, {"x": 1}),
        ("content", "a", ["b"], ["b"]),
        ("content", ["a"], "b", "b"),
        ("more", {"a": 1}, "b", "b"),
        ("more", [1], {"a": 1}, {"a": 1}),
        ("more", {"a": 1}, [1], [1]),
        ("more", {"a": 1, "text": "x"}, {"b": 2, "a": None, "text": "y"}, {"a": 1, "text": "xy", "b": 2}),
        ("more", {"data": {"summary": "x"}}, {"data": {"summary": "y"}}, {"data": {"summary": "xy"}}),
        ("more", [1], [2], [1, 2]),
    ],
)
def test_two_values_of_a_field(key: str, old: Any, new: Any, together: Any) -> None:
    """P11, S18: the text of some fields goes on; of the others the last is right; another kind of value replaces."""
    assert merged(key, old, new) == together


def test_nothing_is_shared_with_what_came() -> None:
    new: dict[str, Any] = {"a": [{"b": 1}]}
    kept = merged("more", None, new)
    new["a"][0]["b"] = 2
    assert kept == {"a": [{"b": 1}]}


@pytest.mark.parametrize("kind", ["text", "thinking", "reasoning.text", "reasoning.summary"])
def test_kinds_of_items_that_go_on_without_a_number(kind: str) -> None:
    """P11"""
    items: list[Any] = [{"type": kind, "text": "a"}]
    add("parts", items, {"type": kind, "text": "b"})
    assert items == [{"type": kind, "text": "ab"}]


TEXT = {"type": "text", "text": "a"}


@pytest.mark.parametrize(
    ("items", "item", "after"),
    [
        ([TEXT], {"type": "text", "text": "b"}, [{"type": "text", "text": "ab"}]),
        ([TEXT], {"type": "image", "url": "b"}, [TEXT, {"type": "image", "url": "b"}]),
        ([{"type": "image"}], {"type": "text", "text": "b"}, [{"type": "image"}, {"type": "text", "text": "b"}]),
        ([{"type": "image"}], {"type": "image"}, [{"type": "image"}, {"type": "image"}]),
        ([{**TEXT, "index": 0}], {"type": "text", "text": "b"}, [{**TEXT, "index": 0}, {"type": "text", "text": "b"}]),
        (["a"], {"type": "text", "text": "b"}, ["a", {"type": "text", "text": "b"}]),
        ([], {"type": "text", "text": "b"}, [{"type": "text", "text": "b"}]),
        ([TEXT], "b", [TEXT, "b"]),
        ([{**TEXT, "index": 0}], {"type": "text", "text": "b", "index": 0}, [{"type": "text", "text": "ab", "index": 0}]),
        (
            [{**TEXT, "index": 0}],
            {"type": "text", "text": "b", "index": 1},
            [{**TEXT, "index": 0}, {"type": "text", "text": "b", "index": 1}],
        ),
        (
            [{**TEXT, "index": 0}],
            {"type": "data", "data": "b", "index": 0},
            [{**TEXT, "index": 0}, {"type": "data", "data": "b", "index": 0}],
        ),
        (["a", {**TEXT, "index": 0}], {"type": "text", "text": "b", "index": 0}, ["a", {"type": "text", "text": "ab", "index": 0}]),
        (
            [{**TEXT, "index": 0, "id": "x"}],
            {"type": "text", "text": "b", "index": 0},
            [{"type": "text", "text": "ab", "index": 0, "id": "x"}],
        ),
        (
            [{**TEXT, "index": 0, "id": "x"}],
            {"type": "text", "text": "b", "index": 0, "id": "x"},
            [{"type": "text", "text": "ab", "index": 0, "id": "x"}],
        ),
        (
            [{**TEXT, "index": 0, "id": "x"}],
            {"type": "text", "text": "b", "index": 0, "id": "y"},
            [{**TEXT, "index": 0, "id": "x"}, {"type": "text", "text": "b", "index": 0, "id": "y"}],
        ),
        (
            [{**TEXT, "index": 0, "id": ""}],
            {"type": "text", "text": "b", "index": 0, "id": "y"},
            [{"type": "text", "text": "ab", "index": 0, "id": "y"}],
        ),
    ],
)
def test_where_an_item_of_a_list_goes(items: list[Any], item: Any, after: list[Any]) -> None:
    """P11, S09: behind the others, or together with the one whose number, kind and id it has, or, without a number, with the last."""
    found = copy.deepcopy(items)
    add("parts", found, item)
    assert found == after


def test_a_thought_that_is_signed_is_said_once_and_ended() -> None:
    """P11: whole with its signature, or the signature alone; what comes behind it is another thought."""
    said = {"type": "thinking", "thinking": "hm", "signature": "s"}
    for last in (said, {"type": "thinking", "signature": "s"}):
        items: list[Any] = [{"type": "thinking", "thinking": "h"}]
        add("thinking_blocks", items, {"type": "thinking", "thinking": "m"})
        add("thinking_blocks", items, last)
        assert items == [said]
        add("thinking_blocks", items, {"type": "thinking", "thinking": "more"})
        assert items == [said, {"type": "thinking", "thinking": "more"}]


def test_a_last_piece_may_bring_the_signature() -> None:
    """P11: it goes on with the last thought, not with the one before."""
    items: list[Any] = [{"type": "thinking", "thinking": "first", "signature": "r"}, {"type": "thinking", "thinking": "h"}]
    add("thinking_blocks", items, {"type": "thinking", "thinking": "m", "signature": "s"})
    assert items == [{"type": "thinking", "thinking": "first", "signature": "r"}, {"type": "thinking", "thinking": "hm", "signature": "s"}]


def test_a_thought_that_only_repeats_a_word_goes_on() -> None:
    """P11: without a signature it is no repetition of the whole."""
    items: list[Any] = [{"type": "thinking", "thinking": "no "}]
    add("thinking_blocks", items, {"type": "thinking", "thinking": "no "})
    assert items == [{"type": "thinking", "thinking": "no no "}]


def test_what_is_encrypted_is_whole_each_time() -> None:
    """P11"""
    items: list[Any] = [{"type": "reasoning.encrypted", "data": "a", "index": 0}]
    add("reasoning_details", items, {"type": "reasoning.encrypted", "data": "b", "index": 0, "id": "x"})
    assert items == [{"type": "reasoning.encrypted", "data": "b", "index": 0, "id": "x"}]
