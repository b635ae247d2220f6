"""What is read out of an answer's edges, to the letter: which part of a body is its error, which words, which status."""

from __future__ import annotations

from typing import Any

import pytest

from swarm.errors import (
    AuthenticationError,
    ContextLengthExceeded,
    InvalidReply,
    ModelError,
    QuotaExceeded,
    RateLimitError,
    RequestError,
    ServerError,
    status_error,
)
from swarm.messages import assistant_message, body_error, choice_error, read_reply
from swarm.models.profiles import Profile
from swarm.wire import wire


def answered(message: Any, **more: Any) -> dict[str, Any]:
    return {"choices": [{"message": message, **more}]}


@pytest.mark.parametrize(
    ("body", "status", "kind", "text"),
    [
        ({"error": True, "message": "said plainly"}, None, InvalidReply, "said plainly"),
        ({"error": ["x"], "message": "said plainly"}, None, InvalidReply, "said plainly"),
        ({"error": "", "message": "said plainly"}, None, InvalidReply, "said plainly"),
        ({"error": {}, "message": "said plainly"}, None, InvalidReply, "said plainly"),
        ({"error": "in short", "message": "said plainly"}, None, InvalidReply, "in short"),
        ({"error": {"message": "inside"}, "message": "outside"}, None, InvalidReply, "inside"),
        ({"message": None, "detail": "in detail"}, None, InvalidReply, "in detail"),
        ({"message": "", "detail": "in detail"}, None, InvalidReply, "in detail"),
        ({"detail": [{"msg": "field required"}]}, 422, RequestError, '422: [{"msg":"field required"}]'),
        ({"msg": "briefly"}, None, InvalidReply, "briefly"),
        ({"message": 5}, None, InvalidReply, "5"),
        ("plain", None, InvalidReply, "plain"),
        (["plain"], None, InvalidReply, "plain"),
        ([[]], None, InvalidReply, "no message in the answer: [[]]"),
        ({"a": "x" * 600}, None, InvalidReply, "no message in the answer: " + ('{"a":"' + "x" * 600)[:500]),
        ({"message": "m", "code": 429}, None, RateLimitError, "429: m"),
        ({"message": "m", "status": 503}, None, ServerError, "503: m"),
        ({"message": "m", "type": "rate_limit_error"}, None, RateLimitError, "429: m"),
        ({"message": "m", "code": "invalid_api_key", "status": 503}, None, AuthenticationError, "401: m"),
        ({"message": "m", "code": "429"}, 400, RequestError, "400: m"),
    ],
)
def test_the_words_and_the_status_of_a_body(body: Any, status: int | None, kind: type[ModelError], text: str) -> None:
    """P08"""
    error = body_error(body, status)
    assert type(error) is kind
    assert str(error) == text
    assert error.body == body


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (399, None),
        (400, 400),
        (599, 599),
        (600, None),
        (200, None),
        ("404", 404),
        ("4290", None),
        ("nope", None),
        ("４２９", None),
        ("abc", None),
        ("0429", None),
        ("", None),
        ("²²²", None),
    ],
)
def test_what_is_a_status(code: Any, status: int | None) -> None:
    """P08"""
    assert body_error({"message": "m", "code": code}).status == status


@pytest.mark.parametrize("calls", ["", "x", 5, {}, {"a": {}}, [5], [{}, None], 0, False])
def test_calls_that_are_no_list_of_objects(calls: Any) -> None:
    """P09"""
    with pytest.raises(InvalidReply, match="tool_calls is not a list of objects"):
        read_reply(answered({"content": "x", "tool_calls": calls}))


@pytest.mark.parametrize("content", [5, {}, False, 0])
def test_content_that_is_neither_text_nor_parts(content: Any) -> None:
    """P09"""
    with pytest.raises(InvalidReply, match=f"content is of type {type(content).__name__}"):
        read_reply(answered({"content": content}))


@pytest.mark.parametrize("nothing", ["", None, 5])
def test_fields_that_say_nothing_are_none(nothing: Any) -> None:
    """P18"""
    reply = read_reply({**answered({"content": "x"}, finish_reason=nothing), "model": nothing, "id": nothing, "usage": nothing})
    assert (reply.finish_reason, reply.model, reply.id, reply.usage) == (None, None, None, None)


@pytest.mark.parametrize(
    ("choice", "text"),
    [
        ({"finish_reason": "error"}, "the provider broke the answer off and gave no error (finish_reason: error)"),
        (
            {"finish_reason": "error", "native_finish_reason": "error"},
            "the provider broke the answer off and gave no error (finish_reason: error)",
        ),
        (
            {"finish_reason": "error", "native_finish_reason": 5},
            "the provider broke the answer off and gave no error (finish_reason: error)",
        ),
        (
            {"finish_reason": "error", "native_finish_reason": "MALFORMED"},
            "the provider broke the answer off and gave no error (finish_reason: error, MALFORMED)",
        ),
    ],
)
def test_an_answer_that_ended_in_an_error(choice: dict[str, Any], text: str) -> None:
    """P08"""
    error = choice_error(choice)
    assert isinstance(error, ServerError)
    assert (str(error), error.body) == (text, choice)
    with pytest.raises(ServerError, match="broke the answer off"):
        read_reply({"choices": [{**choice, "message": {"content": "half"}}]})


@pytest.mark.parametrize("reason", ["stop", "", None, 5, ["error"], "errors"])
def test_other_ends_are_no_error(reason: Any) -> None:
    """P08"""
    assert choice_error({"finish_reason": reason, "native_finish_reason": "x"}) is None


def test_calls_go_before_the_call_of_an_older_server() -> None:
    """P11: where a server sends both, they are the same call."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = assistant_message({"tool_calls": [call], "function_call": {"name": "g", "arguments": "{}"}}, "A")
    assert message["tool_calls"] == [call]
    assert "function_call" not in message


def test_content_in_parts_is_left_as_it_is() -> None:
    """P11"""
    parts = [{"type": "text", "text": "é"}, {"type": "audio"}]
    assert assistant_message({"content": parts}, "A")["content"] == parts


def test_a_models_message_does_not_say_which_tool_answered() -> None:
    """K07: that is bookkeeping of ours, on tool messages."""
    assert "tool_name" not in assistant_message({"content": "x", "tool_name": "f", "sender": "Z"}, "A")
    assert assistant_message({"content": "x", "sender": "Z"}, "A")["sender"] == "A"


@pytest.mark.parametrize("strip", [False, True])
def test_the_call_of_an_older_history_goes_to_strict_providers_too(strip: bool) -> None:
    """P01: a field that the API reference knows, though it is deprecated."""
    asked = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    history = [asked, {"role": "function", "name": "f", "content": "x"}]
    assert wire(history, None, Profile(strip=strip)) == history


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ("authentication_error", 401),
        ("context_length_exceeded", 400),
        ("insufficient_quota", 429),
        ("internal_server_error", 500),
        ("invalid_api_key", 401),
        ("invalid_request_error", 400),
        ("overloaded_error", 503),
        ("permission_error", 403),
        ("rate_limit_error", 429),
        ("rate_limit_exceeded", 429),
        ("server_error", 500),
    ],
)
@pytest.mark.parametrize("field", ["type", "code"])
def test_a_status_that_is_said_in_words(field: str, said: str, status: int) -> None:
    """P08"""
    assert body_error({"error": {"message": "m", field: said}}).status == status


@pytest.mark.parametrize("reason", ["error", "abort", "aborted", "insufficient_system_resource", "network_error"])
def test_every_end_that_is_a_failure(reason: str) -> None:
    """P08"""
    assert isinstance(choice_error({"finish_reason": reason}), ServerError)


def test_null_fields_of_a_reply_are_not_kept() -> None:
    """P01: nor lists of annotations with nothing in them."""
    message = assistant_message({"content": "x", "refusal": "", "annotations": [], "audio": None, "odd": ""}, "A")
    assert message == {"role": "assistant", "content": "x", "sender": "A", "tool_calls": None, "odd": ""}


def test_what_is_sent_where_empty_text_is_refused() -> None:
    """P03"""
    sent = wire([{"role": "assistant", "content": ""}, {"role": "user", "content": ""}], None, Profile(refuse_empty_text=True))
    assert [message["content"] for message in sent] == ["(empty)", "(empty)"]


def test_text_in_any_script_is_left_alone() -> None:
    """T18"""
    message = assistant_message(
        {"content": "é 東京", "reasoning_content": "é", "tool_calls": [{"function": {"name": "f", "arguments": '"é"'}}]}, "A"
    )
    assert (message["content"], message["reasoning_content"]) == ("é 東京", "é")
    assert message["tool_calls"][0]["function"]["arguments"] == '"é"'


@pytest.mark.parametrize("index", [0, None, "", "0"])
def test_the_first_choice_however_it_is_numbered(index: Any) -> None:
    """P08"""
    choices = [
        {"index": 1, "message": {"content": "b"}},
        {"index": "1", "message": {"content": "c"}},
        {"index": index, "message": {"content": "a"}},
    ]
    assert read_reply({"choices": choices}).message["content"] == "a"


def test_an_id_with_half_a_character_gets_one_that_can_be_sent() -> None:
    """P08"""
    call = {"id": "\ud83d", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    history = [{"role": "assistant", "content": None, "tool_calls": [call]}, {"role": "tool", "tool_call_id": "\ud83d", "content": "x"}]
    sent = wire(history, None, Profile(id_pattern="[a-z0-9]{9}"))
    assert sent[0]["tool_calls"][0]["id"] == sent[1]["tool_call_id"]
    assert sent[1]["tool_call_id"].isalnum()


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (429, {"message": "m", "code": "insufficient_quota"}, QuotaExceeded),
        (429, {"message": "m", "type": "exceeded_current_quota_error"}, QuotaExceeded),
        (403, {"message": "m", "code": "insufficient_user_quota"}, QuotaExceeded),
        (402, {"message": "Insufficient Balance"}, QuotaExceeded),
        (429, {"message": "m", "code": "rate_limit_exceeded"}, RateLimitError),
        (429, {"message": "Resource has been exhausted (e.g. check quota).", "status": "RESOURCE_EXHAUSTED"}, RateLimitError),
        (400, {"message": "m", "code": "context_length_exceeded"}, ContextLengthExceeded),
        (400, {"message": "This model's maximum context length is 4097 tokens."}, ContextLengthExceeded),
        (400, {"message": "prompt is too long: 213462 tokens > 200000 maximum"}, ContextLengthExceeded),
        (400, {"message": "The input token count (1196265) exceeds the maximum number of tokens allowed"}, ContextLengthExceeded),
        (400, {"message": "m", "type": "exceed_context_size_error", "code": 400}, ContextLengthExceeded),
        (500, {"message": "m", "code": "context_length_exceeded"}, ContextLengthExceeded),
        (500, {"message": "maximum context length"}, ServerError),
        (429, {"message": "Please reduce the length of the messages"}, RateLimitError),
        (400, {"message": "max_tokens is too large"}, RequestError),
    ],
)
def test_a_refusal_is_told_by_what_the_provider_calls_it(status: int, error: dict[str, Any], kind: type[ModelError]) -> None:
    """X07: neither an empty account nor a prompt that is too long gets better by asking again."""
    for body in ({"error": error}, [{"error": error}], error):
        assert type(body_error(body, status)) is kind
        assert type(status_error(status, error["message"], body=body)) is kind


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"error": {"code": "model_not_found", "type": "invalid_request_error"}}, "model_not_found"),
        ({"error": {"code": 404, "status": "NOT_FOUND"}}, "NOT_FOUND"),
        ({"error": "in words"}, None),
        ([], None),
        ("a page", None),
    ],
)
def test_an_error_has_the_provider_s_code(body: Any, code: str | None) -> None:
    assert ModelError("m", body=body).code == code
