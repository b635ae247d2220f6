"""The short way that most messages take to the wire gives what the long way gives, for every provider."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarm.history import repaired
from swarm.models.profiles import PROFILES, Profile
from swarm.wire import WireHistory, wire

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


REFUSED = {"role": "assistant", "content": None, "refusal": "I will not."}


@pytest.mark.parametrize(
    ("profile", "sent"),
    [
        (Profile(), REFUSED),
        (Profile(refuse_empty_text=True), {"role": "assistant", "content": "I will not."}),
        (Profile(empty_content="empty"), {"role": "assistant", "content": "I will not."}),
        (Profile(empty_content="absent"), {"role": "assistant", "content": "I will not."}),
        (Profile(strip=True), {"role": "assistant", "content": "I will not."}),
    ],
)
def test_a_refusal_is_text_where_null_content_is_not_taken(profile: Profile, sent: dict[str, Any]) -> None:
    """P02, P03"""
    assert wire([REFUSED], None, profile) == [sent]


@pytest.mark.parametrize("refuse", [False, True])
def test_empty_parts_are_left_out_only_where_they_are_refused(refuse: bool) -> None:
    """P03"""
    empty, picture = {"type": "text", "text": ""}, {"type": "image_url", "image_url": {"url": "data:,"}}
    found = wire([{"role": "user", "content": [empty, picture]}], None, Profile(refuse_empty_text=refuse))
    assert found[0]["content"] == ([picture] if refuse else [empty, picture])


def calls_sent(profile: Profile, *calls: dict[str, Any], own: bool = True) -> list[dict[str, Any]]:
    """The calls of a message as they are sent."""
    wired = WireHistory(profile)
    wired.add([{**ASKED, "tool_calls": list(calls)}, *({**ANSWER, "tool_call_id": call["id"]} for call in calls)], own)
    return wired.with_system(None)[0]["tool_calls"]


def with_function(**function: Any) -> dict[str, Any]:
    return {**CALL, "function": {**CALL["function"], **function}}


def test_each_wish_about_calls_is_met_by_itself() -> None:
    """P11, P16: also of a profile that has no other."""
    signed = {"google": {"thought_signature": "dummy"}}
    assert calls_sent(Profile(call_signature="dummy"), CALL) == [{**CALL, "extra_content": signed}]
    assert calls_sent(Profile(tool_name="[a-z]+_[a-z0-9]+"), CALL) == [with_function(name="tool_f")]
    assert calls_sent(Profile(object_arguments=True), with_function(arguments="[1]")) == [
        with_function(arguments='{"not_an_object":"[1]"}')
    ]
    assert calls_sent(Profile(), CALL) == [CALL]


@pytest.mark.parametrize("extra", [{}, {"google": {}}, {"google": {"thought_signature": ""}}, {"google": "x"}, {"other": {}}, "x"])
def test_a_call_that_only_looks_signed_gets_a_signature(extra: Any) -> None:
    """P11"""
    second = {**CALL, "id": "call_2"}
    first, other = calls_sent(Profile(call_signature="dummy"), {**CALL, "extra_content": extra}, second)
    assert first["extra_content"] == {"google": {"thought_signature": "dummy"}}
    assert other == second
    own = {**CALL, "extra_content": {"google": {"thought_signature": "own"}}}
    assert calls_sent(Profile(call_signature="dummy"), own) == [own]


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ('{"a": 1}', '{"a": 1}'),
        ("", "{}"),
        (" ", "{}"),
        ("[1]", '{"not_an_object":"[1]"}'),
        ("{", '{"not_an_object":"{"}'),
        ('{"a": NaN}', '{"not_an_object":"{\\"a\\": NaN}"}'),
        ("null", '{"not_an_object":"null"}'),
    ],
)
def test_arguments_for_who_takes_objects_only(text: str, sent: str) -> None:
    """T06"""
    assert calls_sent(Profile(object_arguments=True), with_function(arguments=text))[0]["function"]["arguments"] == sent


def test_private_fields_that_are_kept_are_kept_for_their_provider_only() -> None:
    """P11"""
    profile = Profile(strip=True, keep=frozenset(("extra_content",)))
    private = {**CALL, "extra_content": {"x": 1}, "other": 1}
    assert calls_sent(profile, private) == [{**CALL, "extra_content": {"x": 1}}]
    assert calls_sent(profile, private, own=False) == [CALL]
