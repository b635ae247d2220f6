"""The quick look at a history: which of its messages are plain, and how many need no repair. It is taken of every message of every run.

A plain message is a dict of a role, "user" or "assistant", and text that is not empty: `{"role": "user", "content": "Hi"}`. Most messages
are plain, and such a message needs neither repair nor another form for the wire. So one comprehension finds the others, and whatever else
looks at the history, here and on its way out, looks only at those.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from .legal import ROLES, is_named, is_parts, normal_call

_SPEAKERS = frozenset(("user", "assistant"))
_DICT: Any = dict  # of any type, so that a value found to be one stays of any type: a cast in these loops would cost as much as they do


def not_plain(messages: Sequence[Any]) -> Sequence[int]:
    """The places of the messages that are not plain; all places if one is so odd that the question fails."""
    try:
        # Asked twice in the same words: where all are plain, counting the places would cost as much again as two of the questions.
        for it in messages:
            if type(it) is _DICT and len(it) == 2 and type(text := it["content"]) is str and text and it["role"] in _SPEAKERS:
                continue
            return [
                at
                for at, it in enumerate(messages)
                if not (type(it) is _DICT and len(it) == 2 and type(text := it["content"]) is str and text and it["role"] in _SPEAKERS)
            ]
        return ()
    except (KeyError, TypeError):  # two keys, but others; a role that cannot be looked up
        return range(len(messages))


def sound(messages: Sequence[Any], places: Sequence[int], open_tail: bool, ids: set[str]) -> int:
    """How many messages need no repair, whatever follows them: all, or those before the batch in which something is wrong.

    Args:
        messages: the history.
        places: of the messages that are not plain.
        open_tail: whether it may end in calls that nobody has answered.
        ids: gets the ids of the calls; means nothing if not all is sound.
    """
    flaw = _flaw(messages, places, open_tail, ids)
    if flaw is None:
        return len(messages)
    return next((at for at in range(flaw - 1, -1, -1) if messages[at]["role"] not in ("assistant", "tool")), 0)


def _flaw(messages: Sequence[Any], places: Sequence[int], open_tail: bool, ids: set[str]) -> int | None:
    """The place of the first message that may need repair, or where an answer is missing; None if there is none."""
    due: list[str] = []  # the ids of the calls that wait, the next one last
    after = 0  # where its answer must stand
    for place in places:
        message = messages[place]
        if type(message) is not _DICT or (due and place != after):
            return after if due else place
        role, content = message.get("role"), message.get("content")
        if type(content) is not str and (role != "assistant" or content is not None) and not is_parts(content):
            return place
        if role == "assistant":
            calls = message.get("tool_calls")
            # A function_call, the older form of a call, is rare enough to be looked at closely.
            if due or (not calls and calls is not None and calls != []) or message.get("function_call") is not None:
                return place
            if calls:
                due, after = _sound_ids(calls, ids), place + 1
                if not due:
                    return place
        elif role == "tool":
            if not due or message.get("tool_call_id") != due.pop() or "tool_calls" in message:
                return place
            after = place + 1
        elif due or role not in ROLES or "tool_calls" in message or (role == "function" and not is_named(message)):
            return place
    return after if due and not (open_tail and after == len(messages)) else None


def _sound_ids(calls: Any, ids: set[str]) -> list[str]:
    """The ids of calls that need no repair, the last one first; none if one of them does."""
    found: list[str] = []
    for call in cast("list[Any]", calls) if type(calls) is list else ():
        if type(call) is not _DICT or normal_call(call) is not call:
            return []
        id: str = call["id"]
        if not id or id in ids:
            return []
        ids.add(id)
        found.append(id)
    found.reverse()
    return found
