"""Servers of every habit: what each does to the deltas of a valid message, drawn at random for the property tests."""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random
from typing import Any

from hypothesis import strategies as st

Chunk = dict[str, Any]
Entry = dict[str, Any]

NAMES = st.sampled_from(["f", "g", "get_weather", "get_weather_now", "look-up"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=6) | st.sampled_from(["}", "{}", '"', "\\", "]}", "ü", "🌍", "\n"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
ARGUMENTS = st.dictionaries(st.text(max_size=4) | st.sampled_from(["a", "b}", "{"]), VALUES, max_size=3)


@dataclass(frozen=True)
class Call:
    """A tool call as the model meant it; `text` is how its arguments are written."""

    id: str
    name: str
    arguments: dict[str, Any]
    text: str


@dataclass(frozen=True)
class Habits:
    """How a server streams calls.

    Attributes:
        index: right; right, as text; from 1; absent; null; always 0; the position in the chunk; another for the arguments than the name.
        ids: in the first piece; in every; in the second; in the first and then empty or null; none; empty.
        names: in the first piece; in every; cut in two pieces before the arguments; in the second piece.
        types: in the first piece; in every; none.
        arguments: in pieces; whole; whole and as an object.
        opening: what the piece with the name has of the arguments: the first of them, none, null, or "".
        mixed: whether the pieces of several calls alternate.
        trailing: whether a last piece without anything new follows each call.
    """

    index: str
    ids: str
    names: str
    types: str
    arguments: str
    opening: str
    mixed: bool
    trailing: bool

    @property
    def has_right_index(self) -> bool:
        return self.index in ("right", "as text", "from 1")

    @property
    def has_id_at_once(self) -> bool:
        return self.ids in ("first", "every", "empty later", "null later")

    @property
    def says_all(self) -> bool:
        """Whether its stream can mean one message only. Each line is a way to lose what tells one call from another."""
        if self.mixed and not (self.has_right_index or self.ids == "every"):
            return False  # whose piece is it?
        if self.mixed and self.names == "second" and not (self.has_right_index and self.has_id_at_once):
            return False  # a number or an id without a name may be that of a server which changes them at each piece
        if self.names == "second" and not (self.has_id_at_once or self.has_right_index):
            return False  # nothing begins a call
        if self.names == "second" and self.has_right_index and self.ids in ("late", "none", "empty") and self.opening != "first":
            return False  # the same: a number, and nothing yet
        one_piece = self.arguments != "pieces" and self.opening == "first" and not self.trailing
        if self.index == "position" and not (one_piece and self.ids != "late" and self.names in ("first", "every")):
            return self.ids == "every"  # a later piece has the number of another call
        if self.index == "elsewhere" and self.names != "first" and (self.ids != "every" or (self.names == "every" and self.trailing)):
            return False  # a new number with a name begins a call
        if self.index == "elsewhere" and self.ids == "late":
            return False  # and so does one with an id
        numbered = self.has_right_index and self.has_id_at_once and self.types != "every"
        if self.names == "pieces" and not numbered and self.ids != "every":
            return False  # a further name might be that of a further call
        # A name under a used number, and nothing else, may be that of the last call again.
        return not (self.ids in ("none", "late") and self.types == "none" and self.index == "zero" and self.opening != "first")


HABITS = st.builds(
    Habits,
    index=st.sampled_from(["right", "as text", "from 1", "absent", "null", "zero", "position", "elsewhere"]),
    ids=st.sampled_from(["first", "every", "late", "empty later", "null later", "none", "empty"]),
    names=st.sampled_from(["first", "every", "pieces", "second"]),
    types=st.sampled_from(["first", "every", "none"]),
    arguments=st.sampled_from(["pieces", "whole", "object"]),
    opening=st.sampled_from(["first", "none", "null", "empty"]),
    mixed=st.booleans(),
    trailing=st.booleans(),
)


def cut(random: Random, text: str) -> list[str]:
    """The text in up to four pieces, none of them empty."""
    at = sorted({random.randint(1, max(1, len(text) - 1)) for _ in range(random.randint(0, 3))})
    return [text[a:b] for a, b in zip([0, *at], [*at, len(text)], strict=True) if text[a:b]]


RANDOM = st.integers(0, 2**32).map(Random)
"""Cuts and orders: one number each, since a draw for every cut would make generating the larger part of a test."""


@st.composite
def calls(draw: st.DrawFn) -> list[Call]:
    """A reply's calls; each has its own id, names and arguments may be the same."""
    made: list[Call] = []
    for name, arguments in draw(st.lists(st.tuples(NAMES, ARGUMENTS), max_size=4)):
        spaced, ascii_only = draw(st.booleans()), draw(st.booleans())
        text = json.dumps(arguments, ensure_ascii=ascii_only, separators=None if spaced else (",", ":"))
        made.append(Call(f"call_{len(made)}", name, arguments, text))
    return made


def pieces_of(random: Random, call: Call, at: int, habits: Habits) -> list[Entry]:
    """The entries of one call, as a server with these habits sends them; numbers by position come when they are packed."""
    arguments: list[Any] = [call.arguments] if habits.arguments == "object" else [call.text]
    if habits.arguments == "pieces":
        arguments = list(cut(random, call.text))
    if habits.opening != "first" or habits.names == "pieces":
        arguments.insert(0, {"null": None, "empty": ""}.get(habits.opening, ...))
    if habits.names == "pieces":
        arguments.insert(0, ...)
    if habits.trailing or (len(arguments) == 1 and (habits.ids == "late" or habits.names == "second")):
        arguments.append(random.choice(["", None, ...]))
    return [_entry(call, at, number, part, habits) for number, part in enumerate(arguments)]


def _entry(call: Call, at: int, number: int, arguments: Any, habits: Habits) -> Entry:
    first = number == 0
    entry: Entry = {}
    numbers = {"right": at, "as text": str(at), "from 1": at + 1, "null": None, "zero": 0, "elsewhere": 2 * at + (not first)}
    if habits.index in numbers:
        entry["index"] = numbers[habits.index]
    if habits.ids == "every" or number == (1 if habits.ids == "late" else 0 if habits.has_id_at_once else -1):
        entry["id"] = call.id
    elif habits.ids in ("empty later", "empty"):
        entry["id"] = ""
    elif habits.ids == "null later":
        entry["id"] = None
    if habits.types == "every" or (habits.types == "first" and first):
        entry["type"] = "function"
    function: dict[str, Any] = {} if arguments is ... else {"arguments": arguments}
    if habits.names == "pieces" and number < 2:
        middle = (len(call.name) + 1) // 2
        function["name"] = call.name[:middle] if first else call.name[middle:]
    elif habits.names == "every" or number == (1 if habits.names == "second" else 0 if habits.names == "first" else -1):
        function["name"] = call.name
    return {**entry, "function": function}


def packed(random: Random, streams: list[list[Entry]], habits: Habits) -> list[list[Entry]]:
    """The entries of all calls in the order in which they are sent, those of one delta together."""
    order: list[tuple[bool, Entry]] = []
    left = [list(enumerate(entries)) for entries in streams]
    while any(left):
        waiting = [entries for entries in left if entries]
        number, entry = (random.choice(waiting) if habits.mixed else waiting[0]).pop(0)
        order.append((number == 0, entry))
    deltas: list[list[Entry]] = []
    for opens, entry in order:
        if opens and deltas and random.random() < 0.5:
            deltas[-1].append(entry)
        else:
            deltas.append([entry])
    if habits.index == "position":
        return [[{"index": at, **entry} for at, entry in enumerate(delta)] for delta in deltas]
    return deltas


NOISE: list[Chunk] = [
    {"choices": []},
    {"choices": None},
    {},
    {"choices": [{"index": 0}]},
    {"choices": [{"index": 0, "delta": None}]},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": ""}]},
    {
        "choices": [
            {"index": 0, "delta": {"role": "assistant", "content": None, "tool_calls": None, "function_call": None, "refusal": None}}
        ]
    },
    {"choices": [{"delta": {"content": "", "tool_calls": []}, "finish_reason": None}], "usage": None},
    {"choices": [{"index": 1, "delta": {"content": "another choice", "tool_calls": [{"index": 0, "function": {"name": "no"}}]}}]},
    {"id": "", "object": "", "model": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]},
]
USAGE = {"prompt_tokens": 7, "completion_tokens": 5}


def wrapped(random: Random, deltas: list[dict[str, Any]], finish: str) -> list[Chunk]:
    """The chunks of these deltas, with everything else that servers differ in.

    That is: the role once, always or never; content beside calls null, empty or absent; where and how often the end and the usage are
    said; chunks that say nothing.
    """
    role, beside, end, usage = (
        random.choice(options)
        for options in (
            ("first", "every", "never"),
            ("absent", "null", "empty"),
            ("own", "last", "twice", "missing"),
            ("never", "own", "every", "last", "choice", "groq"),
        )
    )
    chunks: list[Chunk] = []
    for number, delta in enumerate(deltas):
        sent = dict(delta)
        if "content" not in sent and beside != "absent":
            sent["content"] = None if beside == "null" else ""
        if role == "every" or (role == "first" and number == 0):
            sent["role"] = "assistant"
        chunks.append({"id": "c", "model": "m", "choices": [{"index": 0, "delta": sent, "finish_reason": None}]})
    if end == "last" and chunks:
        chunks[-1]["choices"][0]["finish_reason"] = finish
    elif end != "missing" or not chunks:
        chunks += [{"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]} for _ in range(1 + (end == "twice"))]
    if usage == "own":
        chunks.append({"choices": [], "usage": dict(USAGE)})
    elif usage == "every":
        for number, chunk in enumerate(chunks, 1):
            chunk["usage"] = {"prompt_tokens": 7, "completion_tokens": 5 if number == len(chunks) else 0}
    elif usage != "never":
        last = chunks[-1]
        {"last": last, "choice": last["choices"][0], "groq": last.setdefault("x_groq", {})}[usage]["usage"] = dict(USAGE)
    for _ in range(random.randint(0, 3)):
        chunks.insert(random.randint(0, len(chunks)), random.choice(NOISE))
    return chunks
