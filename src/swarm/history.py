"""What makes a history valid: paired calls and answers, ids that exist once, legal names; and the repair of one that comes from outside.

No provider accepts a history in which a call has no answer, an answer has no call, or an id is empty or used twice. So it is looked at
once per run, here, and never again: what a run adds is valid by construction. Messages are never written to; one that must change is a
new dict. A history class that owns its messages was rejected: callers keep lists of dicts, save them as JSON and build them by hand.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from .effects import Message
from .errors import HistoryError
from .legal import ROLES, call_name, is_dict, is_named, is_part, legal_name, normal_call
from .sound import not_plain, sound

NOT_EXECUTED = "not executed"


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
    return checked(messages, allow_open_tail=allow_open_tail).messages


def checked(messages: Sequence[Any], *, allow_open_tail: bool) -> Start:
    """The same with what was learnt on the way. Arguments and errors as for `repaired`."""
    if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]  # any caller
        raise HistoryError(f'messages is {type(messages).__name__}, not a list of dicts like {{"role": "user", "content": "..."}}')
    history = list(messages)
    places, ids = not_plain(history), set[str]()
    if not places:
        return Start(history, ids, places)
    size = sound(history, places, allow_open_tail, ids)
    if size == len(history):
        return Start(history, ids, places)
    return Start(history[:size] + _Repair(history, size).result(allow_open_tail))


class Start:
    """The history a run begins with, and what is known of it.

    Args:
        messages: a valid history.
        ids: of its tool calls; looked up if not given. The run adds its own.
        places: of the messages that may not be plain (see `sound`); all if not given.
    """

    __slots__ = ("ids", "messages", "places")

    def __init__(self, messages: list[Message], ids: set[str] | None = None, places: Sequence[int] | None = None) -> None:
        self.messages = messages
        self.ids = used_ids(messages) if ids is None else ids
        self.places = range(len(messages)) if places is None else places

    def places_in(self, history: list[Message]) -> Sequence[int]:
        """The places of the messages that may not be plain in a history that has grown out of this one."""
        size = len(self.messages)
        if history == self.messages:
            return self.places
        # It has grown, or somebody has put another message in.
        return [*self.places, *range(size, len(history))] if history[:size] == self.messages else range(len(history))


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
    if role == "function" and not is_named(message):
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
        if not is_part(part):
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
