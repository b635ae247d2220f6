"""What a short answer means when it is known what was asked."""

from __future__ import annotations

import re
from typing import Any

from . import freetext, spans
from .arguments import fill
from .functions import Function
from .slots import Slot

_YES = re.compile(
    r"^\W*(?:yes|yeah|yep|yup|y|sure|ok|okay|correct|right|exactly|of course|certainly|absolutely|please do|go ahead|do it|confirm(?:ed)?"
    r"|that's right|sounds good)\b",
    re.I,
)
_NO = re.compile(
    r"^\W*(?:no|nope|nah|n|don'?t|do not|stop|cancel (?:that|it)|never ?mind|forget (?:it|that)|not now|nothing|leave it|rather not)\b",
    re.I,
)
_BUT = re.compile(r"\b(?:but|wait|don'?t|not|no|stop)\b", re.I)
_UNKNOWING = re.compile(r"\b(?:don'?t know|no idea|not sure|can'?t remember|cannot remember|don'?t have)\b|\?\s*$", re.I)
_LEAD = re.compile(
    r"^(?:(?:yes|yeah|sure|ok|okay|well)[,. ]+)*(?:it'?s |it is |that'?s |that would be |(?:my|the) [\w ]{1,30}? is )?"
    r"(?:make it |i'd say |please )?"
    r"(?:(?:in|to|from|for|at|on|with|by) )?",
    re.I,
)


def yes_or_no(text: str) -> bool | None:
    """Whether a text agrees or refuses; None if it does neither, or both."""
    if _NO.search(text):
        return False
    agreed = _YES.match(text)
    return True if agreed and not _BUT.search(text[agreed.end() :]) else None


def answer_to(function: Function, slot: Slot, text: str) -> Any:
    """The value that a text gives for a parameter that was asked for, or None if it gives none."""
    found = fill(function, text, [slot.name]).get(slot.name)
    if slot.is_free_text and _UNKNOWING.search(text) is None:
        return found if found and slot.kind in ("message", "title") and spans.quoted(text) else _bare(text)
    if found is not None:
        return found
    if slot.kind == "boolean":
        return yes_or_no(text)
    if slot.kind in ("email", "url", "enum", "integer", "number", "quantity", "object") or _UNKNOWING.search(text):
        return None
    bare = _bare(text)
    if slot.kind in ("id", "phone", "date", "month", "time"):
        return bare if bare and len(bare.split()) <= (1 if slot.kind == "id" else 4) else None
    return bare


def _bare(text: str) -> str | None:
    return freetext.plain(_LEAD.sub("", text.strip(), count=1)).rstrip(".") or None
