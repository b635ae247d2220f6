"""The forms of a message: as a provider sends it, as a Response holds it, as it goes over the wire.

A Response keeps who spoke and which tool answered; a request never does, since many servers refuse keys they do not know. What providers
disagree on is data (`models/profiles.py`); this file only applies it. What makes a whole history valid is in `history`, whose names are
here too, for those who need both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from pydantic_core import from_json

from .effects import Message, Reply
from .errors import InvalidReply, ModelError, ServerError, status_error
from .history import is_dict as is_dict
from .history import json_text, normal_call
from .history import open_calls as open_calls
from .history import repaired as repaired
from .history import tool_message as tool_message
from .history import unique_ids as unique_ids
from .history import used_ids as used_ids

if TYPE_CHECKING:
    from .models.profiles import Profile

_BOOKKEEPING = frozenset(("sender", "tool_name"))
# A reply's fields that the API does not take back: https://platform.openai.com/docs/api-reference/chat/create
_NOT_SENT = _BOOKKEEPING | {"annotations", "audio"}
_STANDARD = frozenset(("role", "content", "name", "tool_calls", "tool_call_id", "function_call"))
_REPLACED = ("function_call", "tool_name")
_NULL_IF_EMPTY = ("annotations", "refusal")
_NO_TEXT = "(empty)"
_NOT_AN_OBJECT = "not_an_object"
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
    if "function" in copy:
        function = copy["function"] = {**copy["function"]}
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


# To a provider


class WireHistory:
    """A run's messages as one provider gets them. Each message is prepared once; a later turn costs a copy of the list.

    Args:
        profile: what the provider wants.

    Attributes:
        count: how many messages were added.
    """

    __slots__ = ("_any_call", "_any_order", "_any_text", "_fits", "_profile", "_sent", "count")

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._sent: list[Message] = []
        self.count = 0
        self._fits = re.compile(profile.id_pattern).fullmatch if profile.id_pattern is not None else None
        # What the provider takes in the usual form: text of an assistant, any order of roles, messages that only call.
        self._any_text, self._any_order = not profile.fill, not profile.answer_after_tools
        self._any_call = self._any_text and not _changes_calls(profile)

    def add(self, messages: Iterable[Message], own: bool = True) -> None:
        """Prepare more messages.

        Args:
            messages: messages of a valid history, in order.
            own: whether they may carry fields that are private to this provider; False for the messages of another one.
        """
        put, before, placeholders = self._sent.append, len(self._sent), 0
        fits, any_text, any_order, any_call = self._fits, self._any_text, self._any_order, own and self._any_call
        for message in messages:
            role, content, size = message["role"], message.get("content"), len(message)
            if not any_order and role != "tool" and role != "assistant" and self._sent and self._sent[-1]["role"] == "tool":
                put({"role": "assistant", "content": _NO_TEXT})
                placeholders += 1
            # The forms that nearly all messages of a run have; everything else takes the long way.
            if role == "user" and size == 2 and content and type(content) is str:
                put(message)
            elif role == "assistant" and size == 4 and any_text and "sender" in message and "tool_calls" in message:
                calls = message["tool_calls"]
                if calls is None and content and type(content) is str:
                    put({"role": role, "content": content})
                elif calls and content is None and any_call and (fits is None or all(fits(call["id"]) for call in calls)):
                    put({"role": role, "content": None, "tool_calls": calls})
                else:
                    put(self._sendable(message, own))
            elif role == "tool" and size == 4 and "tool_name" in message and content and type(content) is str:
                id = message["tool_call_id"]
                put({"role": role, "tool_call_id": id if fits is None or fits(id) else _made_id(id), "content": content})
            else:
                put(self._sendable(message, own))
        self.count += len(self._sent) - before - placeholders

    def with_system(self, text: str | None) -> list[Message]:
        """The messages of a request, in a new list: the instructions first, or joined to a message that must be first or folded into the
        first user message, by profile.

        Args:
            text: the agent's instructions; None or "" sends none.
        """
        sent, role = self._sent, self._profile.instruction_role
        if not text:
            return list(sent)
        at = None
        if role == "user":
            at = next((at for at, message in enumerate(sent) if message["role"] == "user"), None)
        elif self._profile.system_first and sent and sent[0]["role"] == role:
            at = 0
        if at is None:
            return [{"role": role, "content": text}, *sent]
        first = sent[at]
        content = (
            f"{text}\n\n{first['content']}" if isinstance(first["content"], str) else [{"type": "text", "text": text}, *first["content"]]
        )
        return [*sent[:at], {**first, "content": content}, *sent[at + 1 :]]

    def _sendable(self, message: Message, own: bool) -> Message:
        profile = self._profile
        strict = profile.strip or not own
        if strict:
            kept = _STANDARD | profile.keep if own else _STANDARD
            sent = {key: value for key, value in message.items() if value is not None and key in kept}
        else:
            sent = {key: value for key, value in message.items() if value is not None and key not in _NOT_SENT}
        role = sent["role"]
        if not profile.name_field and role != "function":
            sent.pop("name", None)
        if role in ("system", "developer"):
            sent["role"] = "user" if profile.system_first and self._sent else profile.instruction_role
        elif role == "assistant":
            for field in profile.fill:
                sent.setdefault(field, "")
        calls = sent.get("tool_calls")
        if calls:
            sent["tool_calls"] = _sendable_calls(calls, profile, own)
        elif calls is not None:
            del sent["tool_calls"]
        if profile.id_pattern is not None and "tool_call_id" in sent:
            sent["tool_call_id"] = _wire_id(sent["tool_call_id"], profile.id_pattern)
        _settle_content(sent, message, profile)
        return sent


def wire(messages: Iterable[Message], instructions: str | None, profile: Profile) -> list[Message]:
    """The messages of one request.

    Args:
        messages: a valid history.
        instructions: the agent's instructions, or None.
        profile: what the provider wants.
    """
    history = WireHistory(profile)
    history.add(messages)
    return history.with_system(instructions)


def _settle_content(sent: Message, message: Message, profile: Profile) -> None:
    """Empty content in the form the provider wants; None means null, which only a message that says something else may have."""
    content: Any = sent.get("content")
    if profile.refuse_empty_text and isinstance(content, list):
        parts = cast("list[dict[str, Any]]", content)
        content = sent["content"] = [part for part in parts if part.get("type") != "text" or part.get("text")]
    if content:
        return
    plain = not profile.refuse_empty_text and profile.empty_content == "null"
    if "tool_calls" in sent or "function_call" in sent:
        if profile.empty_content == "absent":
            sent.pop("content", None)
        else:
            sent["content"] = "" if profile.empty_content == "empty" else None
    elif "refusal" in sent and plain:
        sent["content"] = None
    else:
        sent.pop("refusal", None)
        sent["content"] = message.get("refusal") or (_NO_TEXT if profile.refuse_empty_text else content or "")


def _changes_calls(profile: Profile) -> bool:
    """Whether a message that only calls may need another form than the usual one, for more than its ids."""
    return (
        profile.strip
        or profile.object_arguments
        or profile.empty_content != "null"
        or profile.tool_name is not None
        or profile.call_signature is not None
    )


def _sendable_calls(calls: list[Message], profile: Profile, own: bool) -> list[Message]:
    sent = [_sendable_call(call, profile, own) for call in calls]
    if profile.call_signature is not None and not _is_signed(sent[0]):
        sent[0] = {**sent[0], "extra_content": {"google": {"thought_signature": profile.call_signature}}}
    return sent


def _is_signed(call: Message) -> bool:
    extra: Any = call.get("extra_content")
    inner: Any = extra.get("google") if is_dict(extra) else None
    return is_dict(inner) and bool(inner.get("thought_signature"))


def _sendable_call(call: Message, profile: Profile, own: bool) -> Message:
    function: Any = call.get("function")
    if function is not None:
        name, arguments = function["name"], function["arguments"]
        if profile.tool_name is not None and not re.fullmatch(profile.tool_name, name):
            name = _made_name(name, profile.tool_name)
        if profile.object_arguments and not _is_object(arguments):
            arguments = json_text({_NOT_AN_OBJECT: arguments}) if arguments.strip() else "{}"
        if profile.strip or not own:
            kept = {key: value for key, value in call.items() if own and key in profile.keep}
            call = {"id": call["id"], "type": call["type"], "function": {"name": name, "arguments": arguments}, **kept}
        elif name is not function["name"] or arguments is not function["arguments"]:
            call = {**call, "function": {**function, "name": name, "arguments": arguments}}
    if profile.id_pattern is not None:
        return {**call, "id": _wire_id(call["id"], profile.id_pattern)}
    return call


def _is_object(text: str) -> bool:
    try:
        return is_dict(from_json(text, allow_inf_nan=False))
    except (TypeError, ValueError):  # no JSON; half a character
        return False


def _made_name(name: str, pattern: str) -> str:
    """A name that the provider takes: with "tool_" in front, or, where that does not fit either, made from it."""
    readable = f"tool_{name}"[:64]
    return readable if re.fullmatch(pattern, readable) else f"tool_{_made_id(name)}"


def _wire_id(id: str, pattern: str) -> str:
    """The id itself if the provider takes it, else one made from it."""
    return id if re.fullmatch(pattern, id) else _made_id(id)


def _made_id(id: str) -> str:
    """Nine characters made from an id, the same for the call and its answer."""
    from hashlib import sha256

    return sha256(id.encode("utf-8", "surrogatepass")).hexdigest()[:9]
