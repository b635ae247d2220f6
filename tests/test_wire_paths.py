"""The short way that most messages take to the wire gives what the long way gives, for every provider."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarm.history import repaired
from swarm.messages import WireHistory, wire
from swarm.models.profiles import PROFILES, Profile

texts = st.sampled_from((None, "", "a", "é"))
ids = st.sampled_from(("c1", "call_2", "x" * 50, "a b", "abcdefgh9"))


parts = st.sampled_from(("", "a")).map(lambda text: [{"type": "text", "text": text}, {"type": "text", "text": "b"}])
# What may stand in a message beside what a run puts there, or in the place of it.
others = st.sampled_from(({}, {"name": "bob"}, {"reasoning_content": "hm"}, {"refusal": "no"}, {"cache_control": {"type": "x"}}))
entries = st.builds(
    lambda id, arguments, more: {"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}, **more},
    ids,
    st.sampled_from(("{}", "[1", "")),
    st.sampled_from(({}, {"extra_content": {"google": {"thought_signature": "s"}}})),
)


@st.composite
def histories(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Histories as a run has them, and as callers bring them."""
    found: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, 5))):
        kind = draw(st.sampled_from(("user", "assistant", "calls", "calls", "system")))
        own = {"sender": "A"} if draw(st.booleans()) else draw(others)
        if kind in ("user", "system"):
            found.append({"role": kind, "content": draw(texts | parts) or "u"})
        elif kind == "assistant":
            found.append({"role": "assistant", "content": draw(texts | parts), **own, "tool_calls": None})
        else:
            calls = [
                {**entry, "id": f"{entry['id']}{number}{at}"} for at, entry in enumerate(draw(st.lists(entries, min_size=1, max_size=2)))
            ]
            found.append({"role": "assistant", "content": draw(texts | parts), **own, "tool_calls": calls})
            named = draw(st.sampled_from(({"tool_name": "f"}, {"name": "f"}, {"tool_name": "f", "cache_control": {"type": "x"}}, {})))
            found += [{"role": "tool", "tool_call_id": call["id"], **named, "content": draw(texts | parts) or ""} for call in calls]
    return repaired(found, allow_open_tail=False)


def sent(history: list[dict[str, Any]], profile: str, own: bool) -> list[dict[str, Any]]:
    wired = WireHistory(PROFILES[profile])
    wired.add(history[:2], own)
    wired.add(history[2:], own)
    assert wired.count == len(history)
    return wired.with_system("Instructions.")


@pytest.mark.parametrize("profile", PROFILES)
@given(history=histories(), own=st.booleans())
def test_both_ways_give_the_same(profile: str, history: list[dict[str, Any]], own: bool) -> None:
    """P01, P02, P03, P07: a null field more is never sent, but makes a message one that takes the long way."""
    assert sent(history, profile, own) == sent([{**message, "odd": None} for message in history], profile, own)


@pytest.mark.parametrize("profile", PROFILES)
def test_what_is_plain_is_not_copied(profile: str) -> None:
    """A long history of plain messages costs a list: a user's message is the caller's own object."""
    user = {"role": "user", "content": "hi"}
    wired = WireHistory(PROFILES[profile])
    wired.add([user])
    assert wired.with_system(None)[0] is user


CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ASKED = {"role": "assistant", "content": None, "sender": "A", "tool_calls": [CALL]}
ANSWER = {"role": "tool", "tool_call_id": "call_1", "tool_name": "f", "content": "x"}
USER = {"role": "user", "content": "hi"}


@pytest.mark.parametrize(
    ("history", "roles"),
    [
        ([USER, ASKED, ANSWER, USER], ["user", "assistant", "tool", "assistant", "user"]),
        ([USER, ASKED, ANSWER, {"role": "assistant", "content": "ok"}, USER], ["user", "assistant", "tool", "assistant", "user"]),
        ([USER, USER], ["user", "user"]),
        ([USER, ASKED, ANSWER], ["user", "assistant", "tool"]),
    ],
)
def test_where_a_placeholder_stands_for_an_answer(history: list[dict[str, Any]], roles: list[str]) -> None:
    """P07: between the results of tools and what is not an assistant's, for who refuses that, and nowhere else."""
    found = wire(history, None, Profile(answer_after_tools=True))
    assert [message["role"] for message in found] == roles
    assert [message["role"] for message in wire(history, None, Profile())] == [message["role"] for message in history]


@pytest.mark.parametrize("system_first", [False, True])
def test_instructions_of_a_history_without_messages(system_first: bool) -> None:
    """P07"""
    assert wire([], "Be kind.", Profile(system_first=system_first)) == [{"role": "system", "content": "Be kind."}]


def test_the_name_of_an_older_function_message_is_no_name_of_a_speaker() -> None:
    """P16"""
    history = [{"role": "user", "content": "hi", "name": "Ann"}, {"role": "function", "name": "f", "content": "x"}]
    assert wire(history, None, Profile(name_field=False)) == [{"role": "user", "content": "hi"}, history[1]]


def test_a_field_that_must_be_there_is_empty_where_there_is_none() -> None:
    """P11"""
    history = [
        {"role": "assistant", "content": "a", "sender": "A", "tool_calls": None},
        {"role": "assistant", "content": "b", "thought": "c"},
    ]
    found = wire(history, None, Profile(fill=frozenset(("thought",))))
    assert [message["thought"] for message in found] == ["", "c"]


def test_private_fields_inside_calls_stay_with_their_provider() -> None:
    """P11"""
    private = {**ASKED, "tool_calls": [{**CALL, "extra_content": {"x": 1}}]}
    for own in (True, False):
        wired = WireHistory(Profile())
        wired.add([private, ANSWER], own)
        assert ("extra_content" in wired.with_system(None)[0]["tool_calls"][0]) is own


def test_what_a_caller_adds_to_a_message_goes_along() -> None:
    """P11: a mark for a cache, say; not to a provider that is not its own, nor to a strict one."""
    marked = [{**message, "cache_control": {"type": "ephemeral"}} for message in (USER, ASKED, ANSWER)]
    for profile, own, goes in ((Profile(), True, True), (Profile(), False, False), (Profile(strip=True), True, False)):
        wired = WireHistory(profile)
        wired.add(marked, own)
        assert ["cache_control" in message for message in wired.with_system(None)] == [goes] * 3
