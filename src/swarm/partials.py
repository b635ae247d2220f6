"""Partial values of a typed answer, `Agent(output_type=T)`, while its text streams in: what there is of it so far, as JSON data.

It is not read into the type: half an object is none, and a validator of the user's should see an answer once, and whole. The text is read
again only when it has grown by a part of its length, so what that costs grows with the text and not with its square.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from pydantic_core import from_json

from .effects import CallModel, Message, Reply
from .events import Delta, Event, PartialOutput
from .legal import is_dict
from .messages import text_of
from .outputs import BEGINS_JSON, TRIES, VALUE, end_of_broken, output_of
from .run import Run

_STEP = 16  # the text is read again when it has grown by one part in so many
_FENCE = re.compile(r"^[ \t]*```", re.MULTILINE)
_OF_NUMBERS = "0123456789+-.eE"
_NOTHING: Any = object()


class Partials:
    """The partial values of one reply.

    Args:
        agent: name of the agent that speaks.
        bare: whether the answer is an object, and not under the key "value" of one.
    """

    __slots__ = ("_agent", "_bare", "_due", "_said", "_size", "_text")

    def __init__(self, agent: str, bare: bool) -> None:
        self._agent = agent
        self._bare = bare
        self.begin()

    def begin(self) -> None:
        """Forget what came, since the reply begins anew."""
        self._text: list[str] = []
        self._size = self._due = 0
        self._said: str | None = None

    def feed(self, text: str) -> PartialOutput | None:
        """Take the next piece of the text. Returns the event that tells of it, or None if nothing is new, or it is too early to look."""
        self._text.append(text)
        self._size += len(text)
        if self._size < self._due:
            return None
        self._due = self._size + max(1, self._size // _STEP)
        self._text = ["".join(self._text)]
        return self._news(self._text[0])

    def end(self, text: str) -> PartialOutput | None:
        """Take the whole text. Returns the event for what was not told of it, or None."""
        return self._news(text)

    def _news(self, text: str) -> PartialOutput | None:
        value = self._answer(value_so_far(text))
        if value is _NOTHING or (said := repr(value)) == self._said:
            return None
        self._said = said
        return PartialOutput(self._agent, value)

    def _answer(self, value: Any) -> Any:
        """What a value says of the answer: an object or array that has only begun says nothing."""
        if value is _NOTHING or value in ({}, []) or (self._bare and not is_dict(value)):
            return _NOTHING
        return value[VALUE] if not self._bare and is_dict(value) and value.keys() == {VALUE} else value


def of(run: Run) -> Partials | None:
    """What finds the partial values of the active agent's next reply; None if its type is text, which the deltas are already."""
    output = output_of(run.agent)
    return None if output.kind is str else Partials(run.fields["name"], output.bare)


def untold(effect: CallModel, reply: Reply, message: Message) -> Iterator[Event]:
    """What a reply is told by that was not told while it came: the whole, if it was not streamed, and the last of its partial values.

    Args:
        effect: what it answers.
        reply: the reply.
        message: the message made of it.
    """
    if not reply.told:
        yield Delta(effect.agent.name, {key: value for key, value in message.items() if value is not None})
    if effect.partials is not None and (last := effect.partials.end(text_of(message))) is not None:
        yield last


def value_so_far(text: str) -> Any:
    """The JSON in a text that is still being written: in the last fence that has some, or else the last among other words."""
    places = [] if text.lstrip()[:1] in ("{", "[") else [mark.end() for mark in _FENCE.finditer(text)]
    inside = [text[start:end] for start, end in zip(places[::2], [*places[1::2], len(text)], strict=False)]
    return next((value for part in (*inside[::-1], text) if (value := _last_value(part)) is not _NOTHING), _NOTHING)


def _last_value(text: str) -> Any:
    decoder, found, at, tries = json.JSONDecoder(), _NOTHING, 0, 0
    while (opening := BEGINS_JSON.search(text, at)) is not None and (tries := tries + 1) < TRIES:
        try:
            found, at = decoder.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            try:
                return from_json(_without_growing_number(text[opening.start() :]), allow_partial="trailing-strings")
            except ValueError:
                at = end_of_broken(text, opening.start())
    return found


def _without_growing_number(text: str) -> str:
    """The text without the number it ends with, since half a number is another number."""
    rest = text.rstrip(_OF_NUMBERS)
    return text if text[len(rest) : len(rest) + 1] in ("", "e", "E", ".", "+") else rest
