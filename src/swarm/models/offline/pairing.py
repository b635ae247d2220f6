"""Which of several values of one kind belongs to which of several parameters of that kind."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from .slots import Slot
from .spans import Span, before
from .words import stem, vocabulary


class Taker(Protocol):
    """What a value is taken from; see arguments.Reading."""

    text: str
    sure: bool

    def free(self, found: Sequence[Span]) -> list[Span]: ...

    def take(self, span: Span, nouns: set[str] | None = None) -> Any: ...


class Near(NamedTuple):
    """The words around a value, nearest first, as stems."""

    before: list[str]
    after: list[str]


class Candidate(NamedTuple):
    """A value that a parameter may take, and what stands around it."""

    span: Span
    near: Near


_FILLERS = vocabulary("id tag code reference ref number no is are my the a an of nr num with to at by")
_SOURCE = re.compile(r"\b(?:from|origin|start|departure|check in|source|since|begin)\b")
_TARGET = re.compile(r"\b(?:to|destination|end|arrival|check out|until|target|return|new)\b")
_SOURCE_CUE = re.compile(r"\b(?:from|leaving|out of|starting|since|between)\s+(?:the\s+)?$", re.I)
_TARGET_CUE = re.compile(r"\b(?:to|into|until|till|through|for|and|in)\s+(?:the\s+)?$", re.I)
_BEFORE_TARGET = re.compile(r"^\s+(?:to|into|until|till|through|-)\s")
_MY_ID = re.compile(r"\b(?:my|our) id(?: number)?(?: is)?$")
_FLIGHT = re.compile(r"[A-Z]{2,3}\s?\d{1,4}")
_OTHER_THINGS = vocabulary("user custom client order product item flight room ticket account card booking reservation floor step page")
_UNITS = vocabulary("star day night hour minut percent % degre euro dollar person peopl year month week time guest piec")

NAMED, SHAPED, POSSIBLE = 3, 2, 1
"""How sure it is that a value belongs to a parameter: its noun stands beside it; it looks like one; nothing speaks against it."""


def close_words(text: str, span: Span) -> Near:
    """The three nearest words on each side, fillers left out."""
    token = r"[^\W\d_]+|[%$€£]|\d[\w.,-]*"
    left = [word.lower() for word in re.findall(token, re.split(r"[,.;!?]\s", before(text, span.start))[-1])]
    if _MY_ID.search(" ".join(left)):
        left.append("user")
    right = [word.lower() for word in re.findall(token, re.split(r"[,.;!?](?:\s|$)", text[span.end : span.end + 80])[0])]
    return Near(
        [stem(word) for word in reversed(left) if word not in _FILLERS][:3],
        [stem(word) for word in right if word not in _FILLERS][:2],
    )


def assign(reading: Taker, slots: list[Slot], candidates: list[Candidate], found: dict[str, Any], units: set[str]) -> None:
    """Give each value to the parameter that fits it best, the surest pairs first.

    Args:
        reading: where the values are taken from.
        slots: parameters that look for an id or a number.
        candidates: the values.
        found: gets the arguments.
        units: nouns of counting parameters, whose numbers are no ids.
    """
    pairs = [
        (-_fit(slot, candidate, units), candidate.span.start, number, slot, candidate)
        for number, slot in enumerate(slots)
        for candidate in candidates
    ]
    for minus, _, _, slot, candidate in sorted(pairs, key=lambda pair: pair[:3]):
        sure = -minus
        alone = len([one for one in slots if one.is_id == slot.is_id]) == 1
        enough = NAMED if reading.sure else POSSIBLE if slot.required or (alone and not slot.is_id and len(candidates) == 1) else SHAPED
        if slot.name in found or sure < enough or not reading.free([candidate.span]):
            continue
        value = _typed(slot, candidate.span.value)
        if value is not None:
            found[slot.name] = value
            reading.take(candidate.span, slot.nouns)


def _fit(slot: Slot, candidate: Candidate, units: set[str]) -> int:
    near, following = candidate.near
    if not slot.is_id:
        if set(near[:1]) & slot.nouns or set(following[:1]) & slot.nouns:
            return NAMED
        return 0 if set(near[:1]) & _OTHER_THINGS and near != ["order"] else POSSIBLE
    value = str(candidate.span.value)
    prefix = re.match(r"[A-Za-z]*", value).group().lower()  # type: ignore[union-attr]  # matches the empty string
    if set(near[:1]) & slot.nouns or (len(prefix) > 2 and any(noun.startswith(prefix) or stem(prefix) == noun for noun in slot.nouns)):
        return NAMED
    if set(following[:1]) & (units | _UNITS) or set(near[:1]) & {"$", "€", "£"}:
        return 0
    if set(near[:1]) & _OTHER_THINGS:
        return 0
    if "flight" in slot.nouns and _FLIGHT.fullmatch(value):
        return SHAPED
    if prefix and not value.isdigit() and not value[0].isdigit() and "flight" not in slot.nouns:
        return SHAPED
    return POSSIBLE


def _typed(slot: Slot, value: Any) -> Any:
    """The value as the schema wants it, or None if it cannot be."""
    if slot.kind in ("integer", "number"):
        if isinstance(value, str):
            value = int(value) if value.isdigit() else None
        if value is None or (slot.kind == "integer" and value != int(value)):
            return None
        low, high = slot.schema.get("minimum"), slot.schema.get("maximum")
        if (low is not None and value < low) or (high is not None and value > high):
            return None
        return int(value) if slot.kind == "integer" or value == int(value) else value
    return str(value)


def by_direction(reading: Taker, slots: list[Slot], values: list[Span], found: dict[str, Any]) -> None:
    """Places, dates or currencies: "from" and "to" tell two parameters apart, else the order in which they are said."""
    if not slots or not values:
        return
    cues = [_cue(reading.text, span) for span in values]
    left = list(range(len(values)))
    for want in ("source", "target", ""):
        for slot in (slot for slot in slots if _direction(slot) == want and slot.name not in found):
            fitting = [number for number in left if cues[number] == want]
            if want == "source" and not fitting and (len(left) > 1 or slot.kind == "date"):
                fitting = [number for number in left if cues[number] != "target"]
            if want == "target" and not fitting and (len(slots) == 1 or slot.required or len(left) < len(values)):
                fitting = left[-1:]
            if want == "source" and not fitting and len(slots) == 1:
                fitting = left
            if not want:
                fitting = left
            if fitting:
                found[slot.name] = reading.take(values[fitting[0]])
                left.remove(fitting[0])


def _direction(slot: Slot) -> str:
    return "source" if _SOURCE.search(slot.phrase) else "target" if _TARGET.search(slot.phrase) else ""


def _cue(text: str, span: Span) -> str:
    lead = before(text, span.start)
    if _SOURCE_CUE.search(lead) or _BEFORE_TARGET.search(text[span.end : span.end + 20]):
        return "source"
    return "target" if _TARGET_CUE.search(lead) else ""
