"""The forms of a message: as a provider sends it, and as a Response holds it, with who spoke and which tool answered.

How it goes back over the wire is in `wire`; what makes a whole history valid in `history`, of which some names are here too, for those
who need both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from .effects import Message, Reply
from .errors import InvalidReply, ModelError, ServerError, status_error
from .history import repaired as repaired
from .history import tool_message as tool_message
from .history import unique_ids as unique_ids
from .legal import is_dict, json_text, normal_call

_REPLACED = ("function_call", "tool_name")
_NULL_IF_EMPTY = ("annotations", "refusal")
# Ends that are failures, though no error is told: Mistral and OpenRouter, vLLM and SGLang, DeepSeek, Zhipu.
_FAILED = frozenset(("error", "abort", "aborted", "insufficient_system_resource", "network_error"))
# What providers write into an error body's type or code where the HTTP status is missing, and the status it stands for.
_STATUS_OF = {
    "authentication_error": 401,
    "context_length_exceeded": 400,
    "insufficient_quota": 429,
    "internal_server_error": 500,
    "invalid_api_key": 401,
    "invalid_request_error": 400,
    "overloaded_error": 503,
    "permission_error": 403,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "server_error": 500,
}


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message: its content, or the text parts of its content joined, or ""."""
    content: Any = message.get("content")
    if isinstance(content, str):
        return content
    parts = cast("list[Any]", content) if isinstance(content, list) else []
    return "".join(part["text"] for part in parts if is_dict(part) and isinstance(part.get("text"), str))


def as_parts(content: Any) -> list[Any]:
    """A reply's content in parts, each with a type; what has none is text."""
    parts = cast("list[Any]", content) if isinstance(content, list) else [content]
    return [{"type": "text", **part} if is_dict(part) else {"type": "text", "text": part} for part in parts]


# From a provider


def assistant_message(raw: Mapping[str, Any], sender: str) -> Message:
    """A model's message as a Response holds it: role, content, sender, tool_calls (a list or None), and the provider's own non-null fields.

    Arguments become text, empty content beside calls becomes None, and the `function_call` of older servers becomes a tool call, so that
    there is one way to call a function.

    Args:
        raw: the message as the provider sent it; neither changed nor shared at any depth that a run looks at.
        sender: name of the agent that spoke.
    """
    given: Any = raw.get("tool_calls")
    calls: list[Message] | None = list(map(_own_call, given)) if given else None
    if not calls and raw.get("function_call"):
        calls = [_own_call({"function": raw["function_call"]})]
    content: Any = raw.get("content")
    if not content:
        content = None if calls or raw.get("refusal") else ""
    elif isinstance(content, list):
        content = as_parts(content)
    elif isinstance(content, str) and not content.isascii():
        content = _whole(content)
    message: Message = {"role": "assistant", "content": content, "sender": sender, "tool_calls": calls}
    for key, value in raw.items():
        if key not in message and value is not None and key not in _REPLACED and (value or key not in _NULL_IF_EMPTY):
            message[key] = _whole(value) if isinstance(value, str) and not value.isascii() else value
    return message


def _whole(text: str) -> str:
    """The text with half characters joined, or U+FFFD for one that is alone: a request could not carry them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _own_call(call: Message) -> Message:
    copy = {**normal_call(call)}
    copy.pop("index", None)
    function = copy.get("function")
    if function is not None:
        copy["function"] = function = {**function}
        if not function["arguments"].isascii():
            function["arguments"] = _whole(function["arguments"])
    return copy


def read_reply(raw: Any) -> Reply:
    """A complete Chat Completions answer as a Reply.

    Args:
        raw: the parsed body.

    Raises:
        ModelError: the answer speaks of an error, though its status was 200, or holds no message; the text is the provider's.
    """
    choice = first_choice(raw)
    message: Any = choice.get("message") if choice else None
    failure = choice_error(choice or {})
    if failure is not None:
        raise failure
    if choice is None or not is_dict(message):
        raise body_error(raw)
    calls, content = message.get("tool_calls"), message.get("content")
    if calls is not None and not (isinstance(calls, list) and all(map(is_dict, cast("list[Any]", calls)))):
        raise InvalidReply("the answer's tool_calls is not a list of objects", body=raw)
    if content is not None and not isinstance(content, (str, list)):
        raise InvalidReply(f"the answer's content is of type {type(content).__name__}, neither text nor a list of parts", body=raw)
    usage, reason = raw.get("usage"), choice.get("finish_reason")
    return Reply(message, usage if is_dict(usage) else None, _text(reason), _text(raw.get("model")), _text(raw.get("id")))


def first_choice(raw: Any) -> dict[str, Any] | None:
    """The choice with index 0, or without an index; None if there is none."""
    choices: Any = raw.get("choices") if is_dict(raw) else None
    for choice in cast("list[Any]", choices) if isinstance(choices, list) else ():
        if is_dict(choice) and choice.get("index") in (0, None, "", "0"):
            return choice
    return None


def choice_error(choice: Mapping[str, Any]) -> ModelError | None:
    """The error that a choice tells of, by an error of its own or by how it ended; None for an answer."""
    if choice.get("error"):
        return body_error(choice)
    reason = choice.get("finish_reason")
    if isinstance(reason, str) and reason in _FAILED:
        native = choice.get("native_finish_reason")
        why = f", {native}" if isinstance(native, str) and native != reason else ""
        return ServerError(f"the provider broke the answer off and gave no error (finish_reason: {reason}{why})", body=choice)
    return None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def body_error(body: Any, status: int | None = None) -> ModelError:
    """The error that a body without an answer stands for, in the provider's own words.

    Args:
        body: the parsed body, whatever it is.
        status: HTTP status if it says something; else the status is looked for in the body.
    """
    outer: Any = body
    if isinstance(body, list) and body:
        outer = cast("list[Any]", body)[0]
    inner: Any = outer.get("error") if is_dict(outer) else None
    error: Any = inner if inner and (is_dict(inner) or isinstance(inner, str)) else outer
    found: dict[str, Any] = error if is_dict(error) else {}
    said = (found.get(key) for key in ("message", "detail", "msg"))
    words: Any = next((some for some in said if some and not (isinstance(some, str) and some.isspace())), None)
    if words is None:
        words = error if isinstance(error, str) and error.strip() else f"no message in the answer: {json_text(body)[:500]}"
    text = words if isinstance(words, str) else json_text(words)
    if status is None:
        status = next((number for key in ("code", "status", "type") if (number := _status(found.get(key)))), None)
    return status_error(status, text, body=body) if status is not None else InvalidReply(text, body=body)


def _status(value: Any) -> int | None:
    if isinstance(value, str):
        if value in _STATUS_OF:
            return _STATUS_OF[value]
        value = int(value) if value.isascii() and value.isdigit() and len(value) == 3 else None
    return value if isinstance(value, int) and 400 <= value < 600 else None
