"""The forms of a message: from a provider, in a Response, on the wire."""

from __future__ import annotations

import copy
import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarm.errors import AuthenticationError, HistoryError, InvalidReply, ModelError, RateLimitError, RequestError, ServerError
from swarm.messages import assistant_message, body_error, read_reply, repaired, text_of, tool_message
from swarm.models.profiles import PROFILES, Profile
from swarm.wire import WireHistory, wire

CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
ASKS = {"role": "assistant", "content": None, "sender": "A", "tool_calls": [CALL]}
ANSWER = {"role": "tool", "tool_call_id": "call_1", "tool_name": "f", "content": "ok"}
USER = {"role": "user", "content": "Hi"}
DEFAULT = PROFILES["default"]
STRICT = Profile("strict", strip=True)


# In a Response


def test_a_reply_takes_the_form_of_a_response() -> None:
    """K07, P01"""
    raw = {
        "role": "assistant",
        "content": "Hi",
        "refusal": None,
        "annotations": [],
        "function_call": None,
        "audio": None,
        "reasoning_content": "r",
    }
    assert assistant_message(raw, "A") == {
        "role": "assistant",
        "content": "Hi",
        "sender": "A",
        "tool_calls": None,
        "reasoning_content": "r",
    }


@pytest.mark.parametrize("content", [None, "", []])
def test_a_pure_tool_call_has_null_content(content: Any) -> None:
    """K07, P02, P03"""
    message = assistant_message({"role": "assistant", "content": content, "tool_calls": [CALL]}, "A")
    assert message == {"role": "assistant", "content": None, "sender": "A", "tool_calls": [CALL]}


def test_an_empty_reply_has_empty_text_and_a_refusal_has_none() -> None:
    """L04"""
    assert assistant_message({"content": None}, "A")["content"] == ""
    assert assistant_message({"content": None, "refusal": "No."}, "A") == {
        "role": "assistant",
        "content": None,
        "sender": "A",
        "tool_calls": None,
        "refusal": "No.",
    }


@pytest.mark.parametrize(("given_", "text"), [({"a": 1}, '{"a":1}'), (None, "{}"), ("", ""), ('{"a": 1', '{"a": 1')])
def test_arguments_are_text_and_text_is_not_rewritten(given_: Any, text: str) -> None:
    """T02, T03, T04, T06, D27"""
    raw = {"content": None, "tool_calls": [{"id": "x", "index": 0, "function": {"name": "f", "arguments": given_}}]}
    assert assistant_message(raw, "A")["tool_calls"] == [{"id": "x", "type": "function", "function": {"name": "f", "arguments": text}}]


def test_a_call_of_another_kind_is_kept_as_it_is() -> None:
    """P11: also where a client's object fills the field of the usual kind with null."""
    custom = {"id": "c", "type": "custom", "custom": {"name": "grep", "input": "x"}}
    for made in (custom, {**custom, "function": None}, {**custom, "index": 0}):
        assert assistant_message({"content": None, "tool_calls": [made]}, "A")["tool_calls"] == [custom]
        assert repaired([{"role": "assistant", "content": None, "tool_calls": [made]}], allow_open_tail=True)[0]["tool_calls"][0]["custom"]


def test_half_characters_are_made_whole_wherever_text_stands() -> None:
    """P08: no request could carry them."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": "\ud83d"}'}}
    message = assistant_message({"content": "\ud83d\udc1d", "tool_calls": [call], "reasoning_content": "é\ud83d"}, "A")
    assert message["content"] == "🐝"
    assert message["tool_calls"][0]["function"]["arguments"] == '{"a": "\ufffd"}'
    assert message["reasoning_content"] == "é\ufffd"


def test_private_fields_of_calls_are_kept_and_nothing_is_shared() -> None:
    """P11"""
    raw = {"content": None, "tool_calls": [{**CALL, "extra_content": {"google": {"thought_signature": "s"}}}], "reasoning_content": ""}
    before = copy.deepcopy(raw)
    message = assistant_message(raw, "A")
    assert message["tool_calls"][0]["extra_content"] == {"google": {"thought_signature": "s"}}
    assert message["reasoning_content"] == ""
    message["tool_calls"][0]["function"]["name"] = message["tool_calls"][0]["id"] = "changed"
    assert raw == before


def test_a_function_call_of_an_older_server_becomes_a_tool_call() -> None:
    raw = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    message = assistant_message(raw, "A")
    assert message["tool_calls"] == [{"id": "", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    assert "function_call" not in message


def test_a_call_without_a_name_gets_one_that_no_function_has() -> None:
    message = assistant_message({"tool_calls": [{"id": "x"}, {"id": "y", "function": {"name": "a.b c"}}]}, "A")
    assert [call["function"]["name"] for call in message["tool_calls"]] == ["unnamed_function", "a_b_c"]


def test_a_tool_message_has_exactly_four_keys() -> None:
    """K07"""
    assert tool_message("call_1", "f", "ok") == ANSWER


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ("Hi", "Hi"),
        ([{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "text", "text": "b"}], "ab"),
        ([None, 3], ""),
        ({}, ""),
    ],
)
def test_text_of_is_always_text(content: Any, text: str) -> None:
    """T24"""
    assert text_of({"content": content}) == text
    assert text_of({}) == ""


# From a provider


def body(message: Any, **more: Any) -> dict[str, Any]:
    return {"id": "c", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], **more}


def test_a_complete_answer_is_read() -> None:
    """P18"""
    message = {"role": "assistant", "content": "Hi", "x": 1}
    reply = read_reply(body(message, usage={"prompt_tokens": 3, "odd": {"a": 1}}))
    assert reply.message == message
    assert (reply.usage, reply.finish_reason, reply.model, reply.id, reply.told) == (
        {"prompt_tokens": 3, "odd": {"a": 1}},
        "stop",
        "m",
        "c",
        False,
    )


@pytest.mark.parametrize("usage", [None, 3, "x"])
def test_odd_usage_and_missing_fields_are_read_as_none(usage: Any) -> None:
    """P18"""
    reply = read_reply({"choices": [{"message": {"content": "Hi"}}], "usage": usage, "model": 3, "error": None})
    assert (reply.usage, reply.finish_reason, reply.model, reply.id) == (None, None, None, None)


def test_the_choice_with_index_0_counts() -> None:
    choices = [{"index": 1, "message": {"content": "b"}}, {"index": 0, "message": {"content": "a"}}]
    assert read_reply({"choices": choices}).message == {"content": "a"}


@pytest.mark.parametrize(
    "choices", [{"choices": None}, {"choices": []}, {}, {"choices": "x"}, {"choices": [{"index": 0, "message": None}]}]
)
def test_an_error_with_status_200_says_the_providers_words(choices: dict[str, Any]) -> None:
    """P08, P09"""
    with pytest.raises(InvalidReply, match="rate limited") as caught:
        read_reply({**choices, "error": {"message": "rate limited"}})
    assert caught.value.body["error"] == {"message": "rate limited"}


def test_an_answer_without_a_message_shows_itself() -> None:
    """P09"""
    with pytest.raises(InvalidReply, match=r'no message in the answer: .*"finish_reason":"stop"'):
        read_reply({"choices": [{"message": None, "finish_reason": "stop"}]})


def test_an_error_in_the_choice_is_an_error() -> None:
    with pytest.raises(ServerError, match="502: upstream is gone"):
        read_reply(
            {"choices": [{"message": {"content": ""}, "error": {"code": 502, "message": "upstream is gone"}, "finish_reason": "error"}]}
        )


@pytest.mark.parametrize(
    "message", [{"content": None, "tool_calls": "f"}, {"content": None, "tool_calls": ["f"]}, {"content": 3}, {"content": {"a": 1}}]
)
def test_a_message_of_another_form_is_refused(message: dict[str, Any]) -> None:
    with pytest.raises(InvalidReply):
        read_reply(body(message))


@pytest.mark.parametrize("raw", [None, "Bad gateway", [], 3, {"choices": [None]}])
def test_what_is_no_object_is_an_invalid_reply(raw: Any) -> None:
    with pytest.raises(InvalidReply):
        read_reply(raw)


@pytest.mark.parametrize(
    ("raw", "status", "kind", "words"),
    [
        ({"error": {"message": "slow down", "code": 429}}, None, RateLimitError, "429: slow down"),
        ({"error": {"message": "slow down", "code": "429"}}, None, RateLimitError, "slow down"),
        ({"error": {"message": "m", "type": "overloaded_error"}}, None, ServerError, "m"),
        ({"error": {"message": "m", "type": "x", "code": "invalid_api_key"}}, None, AuthenticationError, "m"),
        ({"object": "error", "message": "vllm says no", "code": 400}, None, RequestError, "vllm says no"),
        ([{"error": {"code": 400, "message": "gemini says no", "status": "INVALID_ARGUMENT"}}], None, RequestError, "gemini says no"),
        ({"error": "plain words"}, None, InvalidReply, "plain words"),
        ({"error": "plain words"}, 500, ServerError, "500: plain words"),
        ({"error": True, "message": "m"}, None, InvalidReply, "m"),
        ({"detail": [{"loc": ["body"], "msg": "bad"}]}, 422, RequestError, '422: .*"msg":"bad"'),
        ("Bad gateway", 502, ServerError, "502: Bad gateway"),
        ({"status": 200, "code": True}, None, InvalidReply, "no message"),
        ([], None, InvalidReply, "no message"),
        (None, None, InvalidReply, "no message"),
        (" ", None, InvalidReply, "no message"),
        ({"error": {"message": " \n", "detail": "said here"}}, None, InvalidReply, "said here"),
        ({"error": "\t", "msg": " "}, 500, ServerError, "500: no message"),
    ],
)
def test_the_error_of_a_body(raw: Any, status: int | None, kind: type[ModelError], words: str) -> None:
    """P08"""
    error = body_error(raw, status)
    assert type(error) is kind
    assert re.search(words, str(error))
    assert error.body == raw


# To a provider


def test_bookkeeping_never_goes_out_and_messages_stay_as_they_are() -> None:
    """P01, P16, K04"""
    history = [USER, ASKS, ANSWER, {"role": "assistant", "content": "done", "sender": "Sales Agent #1 é", "tool_calls": None}]
    before = copy.deepcopy(history)
    assert wire(history, "Help.", DEFAULT) == [
        {"role": "system", "content": "Help."},
        USER,
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": "ok"},
        {"role": "assistant", "content": "done"},
    ]
    assert history == before


def test_everything_else_that_a_model_sent_goes_back() -> None:
    """D26, P11"""
    signed = {**CALL, "extra_content": {"google": {"thought_signature": "s"}}}
    message = {
        **ASKS,
        "tool_calls": [signed],
        "reasoning_content": "",
        "x": {"y": None},
        "annotations": [1],
        "audio": {"id": "a"},
        "refusal": None,
    }
    assert wire([message, ANSWER], None, DEFAULT)[0] == {
        "role": "assistant",
        "content": None,
        "tool_calls": [signed],
        "reasoning_content": "",
        "x": {"y": None},
    }


@pytest.mark.parametrize(("form", "expected"), [("null", {"content": None}), ("absent", {}), ("empty", {"content": ""})])
@pytest.mark.parametrize("content", [None, "", []])
def test_empty_content_beside_calls_is_as_the_profile_says(form: Any, expected: dict[str, Any], content: Any) -> None:
    """P02, P03, D26"""
    sent = wire([{**ASKS, "content": content}, ANSWER], None, Profile(empty_content=form))
    assert sent[0] == {"role": "assistant", "tool_calls": [CALL], **expected}


@pytest.mark.parametrize(("role", "first"), [("system", "system"), ("developer", "developer")])
def test_the_instructions_have_the_role_of_the_profile(role: Any, first: str) -> None:
    """P07"""
    history = [{"role": "system", "content": "old"}, {"role": "developer", "content": "older"}, USER]
    sent = wire(history, "new", Profile(instruction_role=role))
    assert [(m["role"], m["content"]) for m in sent] == [(first, "new"), (first, "old"), (first, "older"), ("user", "Hi")]


@pytest.mark.parametrize(
    ("content", "folded"),
    [("Hi", "Help.\n\nHi"), ([{"type": "image_url"}], [{"type": "text", "text": "Help."}, {"type": "image_url"}])],
)
def test_instructions_fold_into_the_first_user_message(content: Any, folded: Any) -> None:
    """P07"""
    profile = Profile(instruction_role="user")
    history = [{"role": "assistant", "content": "Hello"}, {"role": "user", "content": content}, USER]
    sent = wire(history, "Help.", profile)
    assert sent == [history[0], {"role": "user", "content": folded}, USER]
    assert history[1]["content"] == content
    assert wire([history[0]], "Help.", profile) == [{"role": "user", "content": "Help."}, history[0]]


@pytest.mark.parametrize("text", [None, ""])
def test_no_instructions_no_system_message(text: str | None) -> None:
    """H10"""
    assert wire([USER], text, DEFAULT) == [USER]


def test_empty_text_never_goes_to_who_refuses_it() -> None:
    """P03"""
    profile = Profile(refuse_empty_text=True, empty_content="absent")
    history = [
        {"role": "user", "content": ""},
        {"role": "user", "content": [{"type": "text", "text": ""}, {"type": "image_url"}]},
        {"role": "user", "content": [{"type": "text", "text": ""}]},
        {**ASKS, "content": ""},
        {**ANSWER, "content": ""},
        {"role": "assistant", "content": "", "sender": "A", "tool_calls": None},
    ]
    sent = wire(history, None, profile)
    assert len(sent) == len(history)
    assert "content" not in sent[3]
    assert all(m["content"] for at, m in enumerate(sent) if at != 3)
    assert sent[1]["content"] == [{"type": "image_url"}]


def test_an_empty_answer_of_the_model_is_sent_as_empty_text() -> None:
    assert wire([{"role": "assistant", "content": None, "sender": "A", "tool_calls": None}], None, DEFAULT) == [
        {"role": "assistant", "content": ""}
    ]


def test_a_strict_provider_gets_standard_fields_only() -> None:
    """D26, P01"""
    private = {**ASKS, "tool_calls": [{**CALL, "index": 0, "extra_content": {}}], "reasoning_content": "r", "reasoning": "q"}
    sent = wire([{**USER, "name": "Ann", "cache_control": {}}, private, ANSWER], None, replace(STRICT, keep=frozenset(("reasoning",))))
    assert sent == [
        {**USER, "name": "Ann"},
        {"role": "assistant", "content": None, "tool_calls": [CALL], "reasoning": "q"},
        {"role": "tool", "tool_call_id": "call_1", "content": "ok"},
    ]


def test_a_refusal_stays_text_for_a_strict_provider() -> None:
    message = assistant_message({"content": None, "refusal": "No."}, "A")
    assert wire([message], None, DEFAULT) == [{"role": "assistant", "content": None, "refusal": "No."}]
    assert wire([message], None, STRICT) == [{"role": "assistant", "content": "No."}]


def test_private_fields_do_not_go_to_another_provider() -> None:
    """D26: not to another base URL after a handoff."""
    history = WireHistory(DEFAULT)
    history.add([{**ASKS, "reasoning_content": "r"}, ANSWER], own=False)
    history.add([{"role": "assistant", "content": "x", "reasoning_content": "s"}])
    assert history.with_system(None) == [
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": "ok"},
        {"role": "assistant", "content": "x", "reasoning_content": "s"},
    ]


def test_names_of_messages_go_where_they_are_taken() -> None:
    """P16, P17"""
    message = {"role": "user", "content": "Hi", "name": "助手"}
    assert wire([message], None, DEFAULT) == [message]
    assert wire([message], None, Profile(name_field=False)) == [USER]


def test_ids_fit_the_pattern_and_stay_paired() -> None:
    good = {**CALL, "id": "abcDEF123"}
    history = [{**ASKS, "tool_calls": [CALL, good]}, ANSWER, {**ANSWER, "tool_call_id": "abcDEF123"}]
    sent = wire(history, None, PROFILES["mistral"])
    first, second = (call["id"] for call in sent[0]["tool_calls"])
    assert re.fullmatch("[a-zA-Z0-9]{9}", first)
    assert second == "abcDEF123"
    assert [m["tool_call_id"] for m in sent[1:]] == [first, second]
    assert sent == wire(history, None, PROFILES["mistral"])


def test_a_history_is_prepared_once_and_each_request_gets_a_list_of_its_own() -> None:
    history = WireHistory(DEFAULT)
    history.add([USER, ASKS])
    first = history.with_system("a")
    history.add([ANSWER])
    second = history.with_system("b")
    assert history.count == 3
    assert len(first) == 3
    assert [m["content"] for m in second] == ["b", "Hi", None, "ok"]
    assert all(mine is theirs for mine, theirs in zip(first[1:], second[1:-1], strict=True))


CONTENTS = st.sampled_from(["x", "", None, [], [{"type": "text", "text": ""}], [{"type": "text", "text": "x"}, {"type": "image_url"}]])
MESSAGES = st.one_of(
    st.builds(
        lambda content, more: {"role": "user", "content": content, **more}, CONTENTS, st.sampled_from([{}, {"name": "é"}, {"x": None}])
    ),
    st.builds(
        lambda content, ids, more: {
            "role": "assistant",
            "content": content,
            "tool_calls": [{**CALL, "id": id, "x": 1} for id in ids],
            **more,
        },
        CONTENTS,
        st.lists(st.sampled_from(["a", "", "call_1"]), max_size=2),
        st.sampled_from([{"sender": "A"}, {"refusal": "No."}, {"reasoning": "r", "audio": {}}, {"function_call": None}]),
    ),
    st.builds(lambda id, content: {**ANSWER, "tool_call_id": id, "content": content}, st.sampled_from(["a", "", "call_1"]), CONTENTS),
    st.builds(lambda role, content: {"role": role, "content": content}, st.sampled_from(["system", "developer", "assistant"]), CONTENTS),
)
PROFILE_LIST = [
    *PROFILES.values(),
    Profile("folded", instruction_role="user", empty_content="empty"),
    Profile("o", instruction_role="developer"),
]


@given(st.lists(MESSAGES, max_size=8), st.sampled_from(["Help.", None]), st.sampled_from(PROFILE_LIST))
def test_what_goes_out_is_what_the_profile_says(messages: list[Any], instructions: str | None, profile: Profile) -> None:
    """P01, P02, P03, P07, P16, D26"""
    try:
        history = repaired(messages, allow_open_tail=False)
    except HistoryError:
        return
    before = copy.deepcopy(history)
    sent = wire(history, instructions, profile)
    assert history == before
    assert wire(sent, None, profile) == sent
    json.dumps(sent)
    due: list[str] = []
    for message in sent:
        role, content = message["role"], message.get("content")
        assert not {"sender", "tool_name", "annotations", "audio"} & message.keys()
        assert all(value is not None for key, value in message.items() if key != "content")
        assert message.get("tool_calls") != []
        if profile.strip:
            assert message.keys() <= {"role", "content", "name", "tool_calls", "tool_call_id", *profile.keep}
            assert all(call.keys() == {"id", "type", "function"} for call in message.get("tool_calls", ()))
        if not profile.name_field:
            assert "name" not in message
        if role in ("system", "developer"):
            assert role == profile.instruction_role
        if not content and "refusal" not in message:
            if "tool_calls" in message:
                assert message.get("content", "absent") == {"null": None, "absent": "absent", "empty": ""}[profile.empty_content]
            else:
                assert content is not None
                assert not profile.refuse_empty_text
        if role == "tool":
            assert message["tool_call_id"] == due.pop(0)
        else:
            assert due == []
            due = [call["id"] for call in message.get("tool_calls", ())]
        assert all(profile.id_pattern is None or re.fullmatch(profile.id_pattern, id) for id in due)
    if instructions:
        assert text_of(sent[0]).startswith(instructions) or profile.instruction_role == "user"
        assert any(text_of(message).startswith(instructions) for message in sent)
