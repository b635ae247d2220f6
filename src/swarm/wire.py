"""The history as one provider gets it: without bookkeeping, in the form its profile asks for, encoded once.

A Response keeps who spoke and which tool answered; a request never does, since many servers refuse keys they do not know. Each message is
prepared once per run and provider, and its JSON text made once: a later turn pays for what is new, and for the bytes it sends.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from pydantic_core import SchemaSerializer, core_schema, from_json

from .effects import Message
from .encoded import Encoded, Pieces
from .legal import is_dict, json_text
from .parts import for_provider

if TYPE_CHECKING:
    from .models.profiles import Profile

# A reply's fields that the API does not take back: https://platform.openai.com/docs/api-reference/chat/create
_NOT_SENT = frozenset(("sender", "tool_name", "annotations", "audio"))
_STANDARD = frozenset(("role", "content", "name", "tool_calls", "tool_call_id", "function_call"))
_NO_TEXT = "(empty)"
_SHORT = 48  # so many messages are encoded again sooner than the text of earlier ones is found and put together with that of new ones
_NOT_AN_OBJECT = "not_an_object"


def _writer(values: Any) -> Callable[[list[Message]], bytes]:
    """Writes messages, the same bytes as `to_json`, sooner for what is known of their values; others are written all the same."""
    schema = core_schema.list_schema(core_schema.dict_schema(core_schema.str_schema(), values))
    return partial(SchemaSerializer(schema, {"ser_json_inf_nan": "constants"}).to_json, warnings=False)


_written = _writer(core_schema.any_schema())  # takes an eighth less than `to_json`
_plainly_written = _writer(core_schema.str_schema())  # takes a quarter less


class WireHistory:
    """A run's messages as one provider gets them.

    Args:
        profile: what the provider wants.

    Attributes:
        count: how many messages were added; sent: the same in wire form.
        encoded: from where to where of `sent` there is JSON text, and the text, without brackets; written: makes more of it.
    """

    __slots__ = ("_any_call", "_any_order", "_any_text", "_fits", "_profile", "count", "encoded", "sent", "written")

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self.sent: list[Message] = []
        # A tuple, replaced as a whole: flows side by side may send at once.
        self.encoded: tuple[int, int, memoryview | None] = (0, 0, None)
        self.written = _written
        self.count = 0
        self._fits = re.compile(profile.id_pattern).fullmatch if profile.id_pattern is not None else None
        # What the provider takes in the usual form: text of an assistant, any order of roles, messages that only call.
        self._any_text, self._any_order = not profile.fill, not profile.answer_after_tools
        self._any_call = self._any_text and not _changes_calls(profile)

    def add(self, messages: Iterable[Message], own: bool = True, places: Sequence[int] | None = None) -> None:
        """Prepare more messages.

        Args:
            messages: messages of a valid history, in order.
            own: whether they may carry fields that are private to this provider; False for the messages of another one.
            places: of the messages that may not be plain (see `sound`); all if not given.
        """
        new = list(messages)
        self.count += len(new)
        if not self._any_order:
            new = self._with_answers(new)
        if places is None or not (self._any_order and self._any_text):
            places = range(len(new))
        self.written = _plainly_written if not places and not self.sent else _written
        fits, any_text, any_call = self._fits, self._any_text, own and self._any_call
        for at in places:
            message = new[at]
            role, content, size = message["role"], message.get("content"), len(message)
            # The forms that nearly all messages have, those of a run and those of the API; everything else takes the long way.
            if content and type(content) is str:
                if role == "assistant":
                    if any_text and size == 4 and "sender" in message and message.get("tool_calls", "") is None:
                        new[at] = {"role": role, "content": content}
                        continue
                    if any_text and size == 2:
                        continue
                elif role == "tool":
                    if fits is None or fits(message["tool_call_id"]):
                        if size == 4 and "tool_name" in message:
                            new[at] = {"role": role, "tool_call_id": message["tool_call_id"], "content": content}
                            continue
                        if size == 3:
                            continue
                elif role == "user" and size == 2:
                    continue
            elif any_call and content is None and role == "assistant" and "content" in message:
                calls = message.get("tool_calls")
                if calls and (fits is None or all(fits(call["id"]) for call in calls)):
                    if size == 4 and "sender" in message:
                        new[at] = {"role": role, "content": None, "tool_calls": calls}
                        continue
                    if size == 3:
                        continue
            new[at] = self._sendable(message, own, at == 0 and not self.sent)
        if self.sent:
            self.sent += new
        else:
            self.sent = new

    def _with_answers(self, messages: list[Message]) -> list[Message]:
        """The messages with a placeholder wherever the results of tools are not followed by an answer of the assistant."""
        result: list[Message] = []
        before = self.sent[-1]["role"] if self.sent else None
        for message in messages:
            role = message["role"]
            if before == "tool" and role != "tool" and role != "assistant":
                result.append({"role": "assistant", "content": _NO_TEXT})
            result.append(message)
            before = role
        return result

    def with_system(self, text: str | None, encodes: bool = True) -> list[Message]:
        """The messages of a request, in a new list: the instructions first, or joined to a message that must be first or folded into the
        first user message, by profile.

        Args:
            text: the agent's instructions; None or "" sends none.
            encodes: whether who sends it will ask for its JSON text.
        """
        sent, role = self.sent, self._profile.instruction_role
        if not text:
            return self._request([], 0, encodes)
        at = None
        if role == "user":
            at = next((at for at, message in enumerate(sent) if message["role"] == "user"), None)
        elif self._profile.system_first and sent and sent[0]["role"] == role:
            at = 0
        if at is None:
            return self._request([{"role": role, "content": text}], 0, encodes)
        first = sent[at]
        content = (
            f"{text}\n\n{first['content']}" if isinstance(first["content"], str) else [{"type": "text", "text": text}, *first["content"]]
        )
        return self._request([*sent[:at], {**first, "content": content}], at + 1, encodes)

    def _request(self, head: list[Message], start: int, encodes: bool) -> list[Message]:
        """The messages of a request: a head of its own, then the history from `start` on."""
        sent = self.sent[start:] if start else self.sent
        if not encodes or len(sent) <= _SHORT:
            return [*head, *sent]
        request = Encoded(head)
        request += sent
        request.text = _Sent(self, len(head), start, start + len(sent))
        return request

    def _sendable(self, message: Message, own: bool, is_first: bool) -> Message:
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
            sent["role"] = "user" if profile.system_first and not is_first else profile.instruction_role
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


class _Sent:
    """The JSON text of the messages of one request: a head of its own, then messages of a history.

    Args:
        history: the history.
        head: how many messages stand before it.
        start, end: where what is sent of the history begins and ends in it.
    """

    __slots__ = ("_before", "_end", "_head", "_history", "_start")

    def __init__(self, history: WireHistory, head: int, start: int, end: int) -> None:
        self._history = history
        self._head = head
        self._start = start
        self._end = end
        self._before = 0  # the length of the text before that of the history

    def pieces(self, items: list[Message]) -> Pieces | None:
        """The text, if the history still stands behind the head: what was sent before, and what is new."""
        start, end, history = self._start, self._end, self._history.sent
        sent = history if start == 0 and end == len(history) else history[start:end]
        if items[self._head :] != sent:
            return None
        begin, done, known = self._history.encoded
        if begin != start or known is None:
            done, known = start, None
        if done > end:  # a request of an earlier turn
            return None
        pieces: list[bytes | memoryview] = [_written(items[: self._head])[:-1]]
        if self._head and sent:
            pieces.append(b",")
        self._before = sum(map(len, pieces))
        if known is not None:
            pieces.append(known)
        if done < end:
            pieces += (b",",) if known is not None else ()
            pieces.append(memoryview(self._history.written(sent[done - start :] if known is not None else sent))[1:-1])
        pieces.append(b"]")
        return pieces

    def keep(self, sent: memoryview) -> None:
        """Remember the text of the history where it was sent: nothing is then held twice, and pieces do not add up."""
        if self._start < self._end:
            self._history.encoded = (self._start, self._end, sent[self._before : -1])


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
    """Content in the form the provider wants; None means null, which only a message that says something else may have."""
    content: Any = sent.get("content")
    if profile.unseen and isinstance(content, list):
        content = sent["content"] = [for_provider(part, profile.unseen) for part in cast("list[Message]", content)]
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
