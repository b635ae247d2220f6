"""What makes a history valid: paired calls and answers, ids that exist once, legal names; and the repair of one that comes from outside.

No provider accepts a history in which a call has no answer, an answer has no call, or an id is empty or used twice. So it is looked at
once per run, here, and never again: what a run adds is valid by construction. Messages are never written to; one that must change is a
new dict. A history class that owns its messages was rejected: callers keep lists of dicts, save them as JSON and build them by hand.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias, TypeGuard, cast

from pydantic_core import to_json

from .effects import Message
from .errors import HistoryError

NOT_EXECUTED = "not executed"
_ONLY_DICTS = frozenset((dict,)).issuperset
ROLES = ("system", "developer", "user", "assistant", "tool", "function")


def is_dict(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether a value from outside is a dict."""
    return isinstance(value, dict)


def json_text(value: Any) -> str:
    """Compact, readable JSON text of any value; what JSON cannot hold is written as its `str()`."""
    try:
        return to_json(value, fallback=str, inf_nan_mode="null", bytes_mode="base64").decode()
    except ValueError:
        try:
            return json.dumps(value, default=str)  # half a surrogate pair, which UTF-8 cannot hold and an escape can
        except (ValueError, TypeError, RecursionError):  # it holds itself, or is nested too deeply
            return f'"a {type(value).__name__} that JSON cannot hold"'


@lru_cache(maxsize=1024)
def _is_legal(name: str) -> bool:
    return 0 < len(name) <= 64 and name.isascii() and (name.isidentifier() or re.fullmatch(r"[a-zA-Z0-9_-]+", name) is not None)


def legal_name(name: Any) -> str:
    """A function name that every provider takes back: what is not in [a-zA-Z0-9_-] becomes "_", at most 64 characters."""
    return re.sub(r"[^a-zA-Z0-9_-]+", "_", name)[:64] if isinstance(name, str) and name else "unnamed_function"


def call_name(call: Mapping[str, Any]) -> str:
    """The name of the function that a tool call asks for, or ""."""
    function: Any = call.get("function")
    return str(function.get("name") or "") if is_dict(function) else ""


def normal_call(call: Message) -> Message:
    """The call itself if nothing is wrong with it, else a copy whose id is text (maybe ""), type is set, name legal, and arguments text.

    Text of arguments is never rewritten, broken JSON included: the model must see what it wrote.
    """
    function: Any = call.get("function")
    id, kind = call.get("id"), call.get("type")
    if not is_dict(function):
        if is_dict(call.get(str(kind))):  # another kind of tool, which only its provider understands
            if type(id) is str and "function" not in call:
                return call
            return {**{key: value for key, value in call.items() if key != "function"}, "id": "" if id is None else str(id)}
        function = {}
    name, arguments = function.get("name"), function.get("arguments")
    if type(id) is str and type(kind) is str and type(arguments) is str and type(name) is str and _is_legal(name):
        return call
    if not isinstance(arguments, str):
        arguments = "{}" if arguments is None else json_text(arguments)
    function = {**function, "name": legal_name(name), "arguments": arguments}
    settled: Message = {
        "id": "" if id is None else str(id),
        "type": kind if isinstance(kind, str) and kind else "function",
        "function": function,
    }
    return {**settled, **call, **settled}


def tool_message(call_id: str, name: str, content: str) -> Message:
    """The answer to a tool call.

    Args:
        call_id: id of the call it answers.
        name: the function's name; kept for the caller, never sent.
        content: what the function returned, as text.
    """
    return {"role": "tool", "tool_call_id": call_id, "tool_name": name, "content": content}


def used_ids(messages: Iterable[Message]) -> set[str]:
    """The ids of all tool calls in these messages."""
    return {call["id"] for message in messages if message.get("tool_calls") for call in message["tool_calls"]}


def unique_ids(message: Message, used: set[str], position: int, tried: dict[str, int] | None = None) -> Message:
    """A model's new message with ids that are not empty and not in use; the same object if they are so already.

    An id in use gets "_2", "_3"; a missing one is made from the position, never at random, so that a repeated run has the same ids.

    Args:
        message: the new message.
        used: ids in use; those of this message are added to it.
        position: index the message will have in the history.
        tried: where to look for a free number, by id; kept by the run, for a provider that uses the function's name as id in every turn.
    """
    calls: list[Message] = message.get("tool_calls") or []
    for at, call in enumerate(calls):
        if not call.get("id") or call["id"] in used:
            return {**message, "tool_calls": [*calls[:at], *_named(calls[at:], used, position, {} if tried is None else tried, at)]}
        used.add(call["id"])
    return message


def _named(calls: list[Message], used: set[str], position: int, tried: dict[str, int], first: int = 0) -> list[Message]:
    changed = False
    result: list[Message] = []
    for at, call in enumerate(calls, first):
        old = call.get("id") or ""
        new = _free_id(old or f"call_{position}_{at}", used, tried)
        used.add(new)
        changed = changed or new != old
        result.append(call if new == old else {**call, "id": new})
    return result if changed else calls


def _free_id(wanted: str, used: set[str], tried: dict[str, int]) -> str:
    if wanted not in used:
        return wanted
    # Remembered, since some providers use the function's name as id: else a long history or run would cost the square of its length.
    number = tried.get(wanted, 2)
    while f"{wanted}_{number}" in used:
        number += 1
    tried[wanted] = number + 1
    return f"{wanted}_{number}"


def open_calls(messages: Sequence[Message]) -> list[Message]:
    """The tool calls at the end of a valid history that nobody has answered, in call order; [] if there are none."""
    answered: set[Any] = set()
    for message in reversed(messages):
        if message.get("role") != "tool":
            return [call for call in message.get("tool_calls") or () if call.get("id") not in answered]
        answered.add(message.get("tool_call_id"))
    return []


def repaired(messages: Sequence[Any], *, allow_open_tail: bool) -> list[Message]:
    """The history a run begins with: valid, in a new list, with the caller's own message objects wherever nothing is wrong.

    | what is wrong                                           | what is done                                              |
    |---------------------------------------------------------|-----------------------------------------------------------|
    | a call without an answer, and the history goes on       | answered with `NOT_EXECUTED`                              |
    | answers out of order, late, or of interleaved batches   | put behind their message, in call order                   |
    | a second answer to a call; an answer without a call     | dropped (a history cut at its head begins with such)      |
    | an empty or missing id                                  | made from the position: call_<message>_<call>             |
    | an id used before                                       | "_2", "_3", ..., its answer too                           |
    | an answer without an id, or to a call without one       | goes to the first open call of its batch, by name if any  |
    | arguments that are not text; an illegal function name   | JSON text (null: "{}"); `legal_name`                      |
    | a tool message without content                          | ""                                                        |
    | calls of anyone but an assistant                        | dropped                                                   |
    | a `function_call`, the older form                       | as it is; its arguments and name as those of a call       |
    | an object with `model_dump()` instead of a dict         | its dict                                                  |
    | calls at the very end, none or some of them answered    | left open if allowed, answers in call order; else refused |
    | no list, no dict, no or unknown role, no usable content | refused                                                   |
    | a content part without a type; a function without a name | refused                                                  |

    Args:
        messages: Chat Completions messages; never changed.
        allow_open_tail: whether the history may end in unanswered calls, which is a paused run.

    Raises:
        HistoryError: what cannot be repaired, with the index of the message.
    """
    if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]  # any caller
        raise HistoryError(f'messages is {type(messages).__name__}, not a list of dicts like {{"role": "user", "content": "..."}}')
    history = list(messages)
    sound = _sound(history, allow_open_tail)
    return history if sound == len(history) else history[:sound] + _Repair(history, sound).result(allow_open_tail)


def _sound(messages: list[Any], open_tail: bool) -> int:
    """How many messages need no repair, whatever follows them: all, or those before the batch in which something is wrong.

    Written for speed, since it looks at every message of every run.
    """
    used: set[str] = set()
    waiting: list[str] = []
    at = batch = 0
    if not _ONLY_DICTS(map(type, messages)):
        return 0
    for index, message in enumerate(cast("list[Message]", messages)):
        role = message.get("role")
        content = message.get("content")
        if type(content) is not str and (role != "assistant" or content is not None) and not _is_parts(content):
            return batch
        if role == "tool":
            if at == len(waiting) or message.get("tool_call_id") != waiting[at] or "tool_calls" in message:
                return batch
            at += 1
            continue
        if at < len(waiting):
            return batch
        if role == "assistant":
            calls = message.get("tool_calls")
            if calls:
                waiting, at = _sound_ids(calls, used), 0
                if not waiting:
                    return batch
            elif calls is not None and calls != []:
                return batch
            if "function_call" in message and _with_function_call(message, index) is not message:
                return batch
        elif (role != "user" and role not in ROLES) or "tool_calls" in message or (role == "function" and not _is_named(message)):
            return batch
        else:
            batch = index
    return len(messages) if at == len(waiting) or open_tail else batch


def _sound_ids(calls: Any, used: set[str]) -> list[str]:
    if type(calls) is not list:
        return []
    if not _ONLY_DICTS(map(type, cast("list[Any]", calls))):
        return []
    ids: list[str] = []
    for call in cast("list[Message]", calls):
        if normal_call(call) is not call:
            return []
        id: str = call["id"]
        if not id or id in used:
            return []
        used.add(id)
        ids.append(id)
    return ids


def _is_parts(content: Any) -> bool:
    return isinstance(content, list) and all(map(_is_part, cast("list[Any]", content)))


def _is_part(part: Any) -> TypeGuard[Message]:
    return is_dict(part) and isinstance(part.get("type"), str)


def _is_named(message: Message) -> bool:
    return isinstance(message.get("name"), str) and message["name"] != ""


class _Turn:
    """An assistant message with calls, and the answers found for them so far; `next` is how many of them came in call order."""

    __slots__ = ("answers", "calls", "index", "message", "next")

    def __init__(self, message: Message, index: int) -> None:
        self.message = message
        self.index = index
        self.next = 0
        self.calls = [_checked_call(call, index, at) for at, call in enumerate(_checked_list(message["tool_calls"], index))]
        self.answers: list[Message | None] = [None] * len(self.calls)


_Place: TypeAlias = tuple[_Turn, int]
"""A call of a turn, by its position."""


class _Batch:
    """Finds the call that an answer belongs to where answers do not simply follow their calls.

    Args:
        turns: the turns of the batch so far.
    """

    def __init__(self, turns: list[_Turn]) -> None:
        self.answered: set[str] = set()
        self.open: dict[Any, deque[_Place]] = {}  # by (id, name), id, (name,), and all of them by None
        for turn in turns:
            self.add(turn)

    def add(self, turn: _Turn) -> None:
        """Another turn."""
        for at, call in enumerate(turn.calls):
            id, name = call["id"], call_name(call)
            if turn.answers[at] is not None:
                self.answered.add(id)
                continue
            for key in ((id, name), id, (name,), None):
                self.open.setdefault(key, deque()).append((turn, at))

    def place(self, id: str, name: Any, past: dict[str, list[_Place]]) -> _Place | None:
        """Where an answer belongs; None if nowhere."""
        name = legal_name(name) if name else ""
        found = self._first((id, name), id) if id else self._first((name,), None)
        if found is not None or (id and id in self.answered):
            return found
        return past[id].pop() if past.get(id) else self._first(("", name), "")

    def _first(self, *keys: Any) -> _Place | None:
        """The first place that has no answer. Those that have are thrown away, so that none is looked at for ever."""
        for places in filter(None, map(self.open.get, keys)):
            while places:
                turn, at = places[0]
                if turn.answers[at] is None:
                    return turn, at
                places.popleft()
        return None


class _Repair:
    """Pairs answers with calls. An answer belongs to the oldest open call of its id in the batch it stands in, else to the latest before.

    A batch is what lies between two messages that are neither an assistant's nor a tool's.

    Args:
        messages: the history.
        start: where the first batch that may need repair begins.
    """

    def __init__(self, messages: list[Any], start: int) -> None:
        self.items: list[Message | _Turn] = []
        self.used = used_ids(messages[:start])
        self.turns: list[_Turn] = []
        self.batch: _Batch | None = None
        self.past: dict[str, list[_Place]] = {}
        for index in range(start, len(messages)):
            self._take(_checked(messages[index], index), index)

    def _take(self, message: Message, index: int) -> None:
        role = message["role"]
        if role == "tool":
            self._answer(message)
        elif role == "assistant" and message.get("tool_calls"):
            turn = _Turn(message, index)
            if self.batch is None and self.turns and self.turns[-1].next < len(self.turns[-1].calls):
                self.batch = _Batch(self.turns)
            if self.batch is not None:
                self.batch.add(turn)
            self.turns.append(turn)
            self.items.append(turn)
        else:
            self.items.append(message)
            if self.turns and role != "assistant":
                self._end_batch()

    def _answer(self, message: Message) -> None:
        id, name = str(message.get("tool_call_id") or ""), message.get("tool_name") or message.get("name")
        if self.batch is None:
            turn = self.turns[-1] if self.turns else None
            if turn and turn.next < len(turn.calls) and (call := turn.calls[turn.next])["id"] == id and name in (None, "", call_name(call)):
                turn.answers[turn.next] = message
                turn.next += 1
                return
            self.batch = _Batch(self.turns)
        place = self.batch.place(id, name, self.past)
        if place is not None:
            turn, at = place
            turn.answers[at] = message
            self.batch.answered.add(turn.calls[at]["id"])

    def _end_batch(self) -> None:
        for turn in self.turns if self.batch is not None else self.turns[-1:]:
            for at in range(turn.next, len(turn.calls)):
                if turn.answers[at] is None:
                    self.past.setdefault(turn.calls[at]["id"], []).append((turn, at))
        self.turns, self.batch = [], None

    def result(self, open_tail: bool) -> list[Message]:
        tried: dict[str, int] = {}
        result: list[Message] = []
        for at, item in enumerate(self.items, 1):
            if isinstance(item, _Turn):
                is_tail = at == len(self.items) and None in item.answers
                if is_tail and not open_tail:
                    raise _open_tail_error(item)
                result += _closed(item, self.used, tried, is_tail)
            else:
                result.append(item)
        return result


def _closed(turn: _Turn, used: set[str], tried: dict[str, int], is_tail: bool) -> list[Message]:
    """The message of a turn and its answers, one per call and in call order; the missing ones of a tail stay missing."""
    calls = _named(turn.calls, used, turn.index, tried)
    old: Any = turn.message["tool_calls"]
    same = type(old) is list and all(mine is theirs for mine, theirs in zip(calls, cast("list[Any]", old), strict=True))
    result: list[Message] = [turn.message if same else {**turn.message, "tool_calls": calls}]
    for call, answer in zip(calls, turn.answers, strict=True):
        if answer is not None:
            result.append(answer if answer.get("tool_call_id") == call["id"] else {**answer, "tool_call_id": call["id"]})
        elif not is_tail:
            result.append(tool_message(call["id"], call_name(call), NOT_EXECUTED))
    return result


def _open_tail_error(turn: _Turn) -> HistoryError:
    pairs = zip(turn.calls, turn.answers, strict=True)
    waiting = ", ".join(f"{call_name(call)} (id {call['id']!r})" for call, answer in pairs if answer is None)
    return HistoryError(
        f"messages[{turn.index}] ends the history with calls that nobody answered: {waiting}. They are not run by themselves, since "
        "messages from outside can be forged. Run them with run(..., approvals={...}), where {} decides on none of them, or go on from "
        "a saved state with resume(state, approvals={...}).",
        turn.index,
    )


def _as_dict(raw: Any, index: int, where: str = "") -> Any:
    """A dict as it is; the dict of an object with `model_dump()`; anything else as it is."""
    if is_dict(raw):
        return raw
    dump: Any = getattr(raw, "model_dump", None)
    try:
        found: Any = dump(exclude_unset=True) if callable(dump) else raw
    except Exception as error:
        raise HistoryError(f"messages[{index}]{where} is {type(raw).__name__}, whose model_dump() failed: {error!r}", index) from error
    return dict(cast("Mapping[str, Any]", found)) if isinstance(found, Mapping) else raw


def _checked(raw: Any, index: int) -> Message:
    """The message as a dict with a known role and usable content."""
    message = _as_dict(raw, index)
    if not is_dict(message):
        raise HistoryError(f'messages[{index}] is {type(raw).__name__}, not a dict like {{"role": "user", "content": "..."}}', index)
    role, content = message.get("role"), message.get("content")
    if not isinstance(role, str) or role not in ROLES:
        what = f"the role {role!r}" if role is None or isinstance(role, str) else f"a role of type {type(role).__name__}"
        raise HistoryError(f"messages[{index}] has {what}; it must be one of {', '.join(ROLES)}", index)
    if role == "function" and not _is_named(message):
        raise HistoryError(f"messages[{index}] (role function) has no name; give it that of the function that it answers for", index)
    if role == "assistant":
        message = _with_function_call(message, index)
    elif "tool_calls" in message:
        message = {key: value for key, value in message.items() if key != "tool_calls"}
    if isinstance(content, str) or (content is None and role in ("assistant", "function")):
        return message
    if content is None and role == "tool":
        return {**message, "content": ""}
    if isinstance(content, (list, tuple)):
        parts = _checked_parts(list(cast("list[Any]", content)), index)
        return message if parts == content else {**message, "content": parts}
    what = "no content" if content is None else f"content of type {type(content).__name__}"
    raise HistoryError(f"messages[{index}] (role {role}) has {what}; give it a string or a list of content parts", index)


def _checked_parts(parts: list[Any], index: int) -> list[Message]:
    found: list[Message] = []
    for at, raw in enumerate(parts):
        part = _as_dict(raw, index, f".content[{at}]")
        if not _is_part(part):
            what = "has no type" if is_dict(part) else f"is {type(raw).__name__}"
            raise HistoryError(
                f'messages[{index}].content[{at}] {what}; a content part is a dict like {{"type": "text", "text": "..."}}', index
            )
        found.append(part)
    return found


def _with_function_call(message: Message, index: int) -> Message:
    """An assistant's message whose `function_call`, the older form of a call, can be sent."""
    older: Any = message.get("function_call")
    if older is None:
        return message
    call = _as_dict(older, index, ".function_call")
    if not is_dict(call):
        raise HistoryError(f"messages[{index}].function_call is {type(older).__name__}, not a dict with name and arguments", index)
    settled = normal_call({"id": "", "type": "function", "function": call})["function"]
    return message if settled is older else {**message, "function_call": settled}


def _checked_list(calls: Any, index: int) -> list[Any]:
    if not isinstance(calls, (list, tuple)):
        raise HistoryError(f"messages[{index}].tool_calls is {type(calls).__name__}, not a list", index)
    return list(cast("list[Any]", calls))


def _checked_call(raw: Any, index: int, at: int) -> Message:
    call = _as_dict(raw, index, f".tool_calls[{at}]")
    if not is_dict(call):
        raise HistoryError(f"messages[{index}].tool_calls[{at}] is {type(raw).__name__}, not a dict with id, type and function", index)
    return normal_call(call)
