"""Whatever valid history goes in, what goes out is in the form of the provider, and nothing that was given has changed."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from swarm.effects import Message
from swarm.history import repaired
from swarm.models.profiles import PROFILES, choose
from swarm.models.scripted import call
from swarm.wire import WireHistory, wire
from tests.models.providers.fakes import MODELS, ROUGH
from tests.models.providers.rules import RULES, refusal, texts_of

TEXT: st.SearchStrategy[str] = st.sampled_from(["", " ", "Hello", "{}", "é 世界", "\n"])
NAMES = st.sampled_from(["look_up", "3d_view", "-", "_x", "transfer_to_b", "9" * 64, "a" * 64])
ARGUMENTS = st.sampled_from(["", " ", "{}", '{"a": 1}', "{broken", "[1]", '"text"', "null", '{"a": NaN}', "{} {}", "\x00", "\ud83d"])
IDS = st.text("ab_:-é", min_size=1, max_size=3) | st.just("x" * 70) | st.just("abcdef001")
PRIVATE = st.dictionaries(
    st.sampled_from(["reasoning_content", "reasoning", "reasoning_details", "extra_content", "sender", "annotations", "refusal", "name"]),
    st.sampled_from([None, "", "hm"]),
    max_size=3,
)
PICTURE: Message = {"type": "image_url", "image_url": {"url": "data:,"}}


@st.composite
def spoken(draw: st.DrawFn) -> list[Message]:
    """A message of a user, or of the system."""
    parts: list[Message] = [{"type": "text", "text": text} for text in draw(st.lists(TEXT, max_size=2))]
    content = draw(TEXT | st.sampled_from([parts, [*parts, PICTURE]]))
    name = draw(st.sampled_from([{}, {"name": "Ann"}]))
    return [{"role": draw(st.sampled_from(["user", "user", "system", "developer"])), "content": content, **name}]


@st.composite
def said(draw: st.DrawFn) -> list[Message]:
    """A message of a model that calls nothing."""
    return [{**draw(PRIVATE), "role": "assistant", "content": draw(TEXT | st.none())}]


@st.composite
def batches(draw: st.DrawFn) -> list[Message]:
    """A message with calls, and the answers to them."""
    extras: list[Message] = [{}, {"extra_content": {"x": 1}}, {"index": 0}]
    ids = draw(st.lists(IDS, min_size=1, max_size=3, unique=True))
    made = [{**call(draw(NAMES), draw(ARGUMENTS), id=id), **draw(st.sampled_from(extras))} for id in ids]
    message = {**draw(PRIVATE), "role": "assistant", "content": draw(TEXT | st.none()), "tool_calls": made}
    answers = [{"role": "tool", "tool_call_id": entry["id"], "tool_name": "x", "content": draw(TEXT)} for entry in made]
    return [message, *answers]


def joined(pieces: list[list[Message]]) -> list[Message]:
    return repaired([message for piece in pieces for message in piece], allow_open_tail=False)


HISTORIES = st.lists(spoken() | said() | batches(), min_size=1, max_size=8).map(joined)


def formed(provider: str, messages: list[Message], own: bool = True) -> WireHistory:
    history = WireHistory(choose(None, MODELS.get(provider), provider))
    history.add(messages, own)
    return history


@given(messages=HISTORIES, instructions=st.sampled_from([None, "", "Help."]), own=st.booleans())
@example(messages=ROUGH, instructions="Help.", own=True)
def test_what_goes_out_is_taken_by_each_provider(messages: list[Message], instructions: str | None, own: bool) -> None:
    """P01, P02, P03, P07, P11, P16, K08"""
    before = copy.deepcopy(messages)
    for provider in RULES:
        history = formed(provider, messages, own)
        sent = history.with_system(instructions)
        assert (provider, refusal(provider, {"messages": sent})) == (provider, None)
        assert history.count == len(messages)
    assert messages == before


@given(messages=HISTORIES, cuts=st.lists(st.integers(0, 12), max_size=3))
def test_it_makes_no_difference_in_how_many_turns_a_history_came(messages: list[Message], cuts: list[int]) -> None:
    """D52"""
    for provider in ("default", "mistral", "deepseek", "vllm"):
        history = WireHistory(PROFILES[provider])
        for cut in [*sorted(cuts), None]:
            history.add(messages[history.count : cut])
        assert history.with_system("Help.") == wire(messages, "Help.", PROFILES[provider])


@given(messages=HISTORIES)
def test_it_is_another_form_and_not_another_conversation(messages: list[Message]) -> None:
    """Every text, call and argument is there, in order."""
    made = [entry["function"] for message in messages for entry in message.get("tool_calls") or ()]
    texts = [text for message in messages for text in texts_of(message) if text]
    for provider in RULES:
        sent = formed(provider, messages).with_system(None)
        functions = [entry["function"] for message in sent for entry in message.get("tool_calls") or ()]
        assert len(functions) == len(made)
        for function, original in zip(functions, made, strict=True):
            assert function["name"] in (original["name"], f"tool_{original['name']}"[:64])
            assert kept(function["arguments"], original["arguments"])
        assert [text for message in sent for text in texts_of(message) if text in texts] == texts


def kept(sent: str, original: str) -> bool:
    """Whether the model still sees what it wrote."""
    return sent == original or (sent == "{}" and not original.strip()) or json.loads(sent) == {"not_an_object": original}


def sent_call(provider: str, entry: dict[str, Any], model: str | None = None, own: bool = True) -> dict[str, Any]:
    history = WireHistory(choose(None, model, provider))
    history.add([{"role": "assistant", "content": None, "tool_calls": [entry]}], own)
    return history.with_system(None)[0]["tool_calls"][0]


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ('{"a":  1}', '{"a":  1}'),
        ("", "{}"),
        ("{broken", '{"not_an_object":"{broken"}'),
        ("[1]", '{"not_an_object":"[1]"}'),
        ("null", '{"not_an_object":"null"}'),
    ],
)
def test_arguments_that_are_no_object_are_wrapped_where_they_would_be_refused(arguments: str, sent: str) -> None:
    """D27: and nowhere else; the model still sees what it wrote."""
    entry = call("look_up", arguments, id="c1")
    assert sent_call("vllm", entry)["function"]["arguments"] == sent
    assert sent_call("default", entry) is entry
    assert sent_call("openai", entry)["function"]["arguments"] == arguments


def test_names_of_earlier_calls_are_made_to_fit() -> None:
    """P16: those on offer are refused instead, since a model could not call them."""
    assert sent_call("gemini", call("3d", id="c1"))["function"]["name"] == "tool_3d"
    assert sent_call("gemini", call("look_up", id="c1"))["function"]["name"] == "look_up"
    assert len(sent_call("gemini", call("3" * 64, id="c1"))["function"]["name"]) == 64


def test_a_signature_stands_in_for_one_that_never_was() -> None:
    """P11: in the first call of a message, for models that want one; a real one is left alone."""
    unsigned, signed = call("a", id="c1"), {**call("a", id="c1"), "extra_content": {"google": {"thought_signature": "abc="}}}
    placeholder = {"google": {"thought_signature": "skip_thought_signature_validator"}}
    assert sent_call("gemini", unsigned, "gemini-3-pro")["extra_content"] == placeholder
    assert sent_call("gemini", signed, "gemini-3-pro") == signed
    assert sent_call("gemini", signed, "gemini-3-pro", own=False)["extra_content"] == placeholder
    assert "extra_content" not in sent_call("gemini", unsigned, "gemini-2.5-pro")


@pytest.mark.parametrize("first", ["system", "developer"])
def test_instructions_join_a_system_message_that_must_be_first(first: str) -> None:
    """P07"""
    messages = [{"role": first, "content": "Open till six."}, {"role": "user", "content": "hi"}, {"role": "system", "content": "Closing."}]
    rest = [{"role": "user", "content": "hi"}, {"role": "user", "content": "Closing."}]
    assert wire(messages, "Help.", PROFILES["vllm"]) == [{"role": "system", "content": "Help.\n\nOpen till six."}, *rest]
    assert wire(messages, None, PROFILES["vllm"]) == [{"role": "system", "content": "Open till six."}, *rest]


def test_what_a_user_says_after_a_tool_follows_a_placeholder_where_it_must() -> None:
    messages = [
        {"role": "assistant", "content": None, "tool_calls": [call("a", id="abcdef001")]},
        {"role": "tool", "tool_call_id": "abcdef001", "content": "1"},
        {"role": "user", "content": "hi"},
    ]
    assert [message["role"] for message in wire(messages, None, PROFILES["mistral"])] == ["assistant", "tool", "assistant", "user"]
    assert [message["role"] for message in wire(messages, None, PROFILES["openai"])] == ["assistant", "tool", "user"]
