"""The arguments of a call, found in what the user said: each parameter looks for its own kind of value, guided by the JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from . import freetext, spans
from .functions import Function, as_dict
from .pairing import Candidate, assign, by_direction, close_words
from .slots import Slot, slots_of
from .spans import Span
from .words import LANGUAGE_NAMES, STOPWORDS, says_more, stem, vocabulary, words

_YES = re.compile(r"\b(?:enabled?|on|activate|yes|yeah|start|true|allow|with|include|subscribe)\b", re.I)
_NO = re.compile(r"\b(?:disabled?|off|deactivate|no|not|never|stop|false|without|don'?t|mute|unsubscribe|cancel|neither)\b|n't\b", re.I)
_SWITCH = vocabulary("on enabled enable active activate state status value flag")
_INSTEAD = re.compile(r"(?:\b(?:over|instead of|rather than|than)|(?:\bnot|n['’]t|\bno)(?:\s+(?!but\b)\w+){0,2})\s+(?:the\s+)?$", re.I)
_CURRENCY = re.compile(
    r"\b(?:[A-Z]{3}|(?:us |canadian |australian )?dollars?|euros?|pounds?|yen|yuan|rupees?|francs?|pesos?|won|kron[ae]r?|rubles?)\b|[$€£¥]"
)
_LANGUAGE = re.compile(rf"\b(?:{'|'.join(sorted(LANGUAGE_NAMES))})\b", re.I)
_SYMBOL = re.compile(r"(?<!\w)(?!I\b)[A-Z]{1,5}(?:\.[A-Z])?(?!\w)")
_ROOM = re.compile(
    r"\b(?:kitchen|(?:guest |master )?bed ?room|bath ?room|living ?room|dining ?room|hall(?:way)?|(?:home )?office|garage|garden|basement"
    r"|cellar|attic|nursery|study|lobby|corridor|lounge|balcony|porch|meeting room|conference room)\b",
    re.I,
)
_NAME = re.compile(r"\b(?:i'm|i am|my name is|my name's|this is|call me|name is|name:|named|called)\s+", re.I)
_TO_SOMEBODY = re.compile(r"\b(?:to|tell|email|mail|message|pay|notify|text|write|call|for|with|greet|register|inform|ask)\s+$", re.I)
_PREPOSITION = r"(?:to|for|in|at|on|from|of|with|by|into|until|till)"
_NO_NAMES = vocabulary(
    "fine sick ill ok okay late here back sorry good new lost ready sure happy sad tired hungry done busy vegetarian vegan"
)
_PLACE_CUE = re.compile(r"\b(?:in|to|for|at|from|near|around|of|over)\s+(?:the\s+)?$", re.I)
_LOWER_PLACE = re.compile(r"\b(?:in|to|for|at|from|near)\s+((?:[^\W\d_]+\s?){1,3})", re.I)
_LOWER_END = vocabulary(
    """
    today tomorrow tonight now right next this on at for please and from to in over like currently the a my me it monday tuesday
    wednesday thursday friday saturday sunday morning evening later
    """
)
_IN_THE = re.compile(r"\b(?:in|at|of|to)\s+(?:the|my|our)\s+([^\W\d_]+(?:\s(?:room|office|hall|floor))?)", re.I)
_CALENDAR = re.compile(rf"(?:{spans.DAY}|{spans.MONTH})s?", re.I)
_WEEKS = re.compile(r"\b(?:coming|next|this|a|one|the) week\b", re.I)


class Reading:
    """One text while its parts are being given to parameters."""

    def __init__(self, text: str, function: Function, sure: bool) -> None:
        self.text = " ".join(text.split())
        self.sure = sure
        self.own = function.stems
        self.taken: list[Span] = []

    def free(self, found: Sequence[Span]) -> list[Span]:
        """Those of the spans that no parameter has taken."""
        return [span for span in found if not any(span.overlaps(other) for other in self.taken)]

    def take(self, span: Span, nouns: set[str] | None = None) -> Any:
        """Give the span to a parameter, with its preposition and noun in front: "to room 12"."""
        start = span.start
        known = (nouns or set()) | {"id", "number", "is", "no"}
        while (word := re.search(r"([^\W\d_]+)[\s#:]+$", spans.before(self.text, start))) and (
            word[1].lower() in known or stem(word[1].lower()) in known
        ):
            start -= len(word.group())
        if lead := re.search(rf"(?:\b{_PREPOSITION}\s+)?(?:\b(?:the|my|a)\s+)?$", spans.before(self.text, start), re.I):
            start -= len(lead.group())
        self.taken.append(Span(start, span.end, span.value))
        return span.value

    def rest(self) -> str:
        """The text without what was taken."""
        kept, position = "", 0
        for span in sorted(self.taken):
            kept += self.text[position : span.start] + " "
            position = max(position, span.end)
        return re.sub(r"\s+([,.;:!?])", r"\1", " ".join((kept + self.text[position:]).split()))


def fill(function: Function, text: str, only: Sequence[str] | None = None, sure: bool = False) -> dict[str, Any]:
    """The arguments that a text gives for a function; what it does not say is absent.

    Args:
        function: the function that is to be called.
        text: what the user said.
        only: names of the parameters to look for, by default all.
        sure: whether an id or a number must stand beside its noun ("order 12").
    """
    slots = [slot for slot in slots_of(function.properties, function.required) if only is None or slot.name in only]
    reading = Reading(text, function, sure)
    found: dict[str, Any] = {}
    for finder in _FINDERS:
        finder(reading, [slot for slot in slots if slot.name not in found], found)
    return {slot.name: found[slot.name] for slot in slots if found.get(slot.name) is not None}


def _addresses(reading: Reading, slots: list[Slot], found: dict[str, Any]) -> None:
    finders: dict[str, tuple[Callable[[str], list[Span]], ...]] = {
        "email": (spans.emails,),
        "recipient": (spans.emails, spans.phones),
        "phone": (spans.phones,),
        "url": (spans.urls,),
    }
    for slot in slots:
        for finder in finders.get(slot.kind, ()):
            if slot.name not in found and (free := reading.free(finder(reading.text))):
                found[slot.name] = reading.take(free[0])


def _patterned(reading: Reading, slots: list[Slot], found: dict[str, Any]) -> None:
    for slot in slots:
        if slot.pattern is not None:
            fitting = [span for span in reading.free(spans.bare_words(reading.text)) if slot.pattern.search(span.value)]
            if fitting:
                found[slot.name] = reading.take(fitting[0], slot.nouns)


def _choices(reading: Reading, slots: list[Slot], found: dict[str, Any]) -> None:
    for slot in slots:
        if slot.kind == "enum":
            found[slot.name] = _choice(reading, slot)
        elif slot.kind == "boolean":
            found[slot.name] = _switch(reading, slot)


def _choice(reading: Reading, slot: Slot) -> Any:
    """The first option that is named and not set aside ("over French"); then one that is named by a word of the same family."""
    hits: list[tuple[bool, int, Any]] = []
    for option in slot.options:
        said = " ".join(words(str(option).replace("_", " "))) or str(option)
        for match in re.finditer(rf"(?<!\w){re.escape(said)}(?!\w)", reading.text.replace("_", " "), re.I):
            hits.append((bool(_INSTEAD.search(spans.before(reading.text, match.start()))), match.start(), option))
    if hits:
        return min(hits, key=lambda hit: hit[:2])[2]
    spoken = {stem(word) for word in words(reading.text)}
    return next((option for option in slot.options if spoken & _relatives(str(option))), None)


def _relatives(option: str) -> set[str]:
    family = {"phone": {"call", "phon", "ring", "telephon"}, "email": {"mail", "email"}, "sms": {"text", "sms"}, "sick": {"ill", "sick"}}
    return family.get(option.lower(), {stem(word) for word in words(option.replace("_", " ")) if word not in STOPWORDS})


def _switch(reading: Reading, slot: Slot) -> bool | None:
    """On or off. A parameter with a meaning of its own ("vegetarian") must be named, and is true unless it is negated."""
    meaning = [word for word in words(slot.phrase) if word not in _SWITCH and word not in STOPWORDS]
    if meaning:
        named = next((m for m in re.finditer(r"[^\W\d_]+", reading.text) if stem(m.group().lower()) == stem(meaning[-1])), None)
        if named:
            return not re.search(
                r"\b(?:not|no|non|never|without|n't)\b[^,.;]{0,20}$|n't [^,.;]{0,20}$", spans.before(reading.text, named.start()), re.I
            )
        return None
    if _NO.search(reading.text):
        return False
    return True if _YES.search(reading.text) else None


def _calendar(reading: Reading, slots: list[Slot], found: dict[str, Any]) -> None:
    dated = [slot for slot in slots if slot.kind == "date"]
    by_direction(reading, dated, reading.free(spans.dates(reading.text)), found)
    for slot in slots:
        if slot.kind == "month" and (free := reading.free([*spans.months(reading.text), *spans.dates(reading.text)])):
            found[slot.name] = reading.take(free[0])
        if slot.kind == "time":
            finders = [spans.clock_times, spans.moments] if dated else [spans.clock_times, spans.dates, spans.moments]
            free = [span for finder in finders for span in reading.free(finder(reading.text))]
            if free:
                found[slot.name] = reading.take(free[0])


def _identifiers(reading: Reading, slots: list[Slot], found: dict[str, Any]) -> None:
    wanted = [slot for slot in slots if slot.is_id]
    elsewhere = [*spans.dates(reading.text), *spans.clock_times(reading.text), *spans.emails(reading.text), *spans.urls(reading.text)]
    if wanted:
        free = [span for span in reading.free(spans.ids(reading.text)) if not any(span.overlaps(other) for other in elsewhere)]
        units = {noun for slot in slots if not slot.is_id and slot.kind in ("integer", "number", "quantity") for noun in slot.nouns}
        assign(reading, wanted, [Candidate(span, close_words(reading.text, span)) for span in free], found, units)


def _quantities(reading: Reading, slots: list[Slot], found: dict[str, Any]) -> None:
    wanted = [slot for slot in slots if slot.kind in ("integer", "number", "quantity") and not slot.is_id]
    elsewhere = [*spans.dates(reading.text), *spans.clock_times(reading.text), *spans.phones(reading.text), *spans.emails(reading.text)]
    free = [span for span in reading.free(spans.numbers(reading.text)) if not any(span.overlaps(other) for other in elsewhere)]
    assign(reading, wanted, [Candidate(span, close_words(reading.text, span)) for span in free], found, set())
    for slot in wanted:
        if slot.name not in found and "day" in slot.nouns and _WEEKS.search(reading.text):
            found[slot.name] = 7


def _names(reading: Reading, slots: list[Slot], found: dict[str, Any]) -> None:
    by_direction(reading, [slot for slot in slots if slot.kind == "currency"], _matches(_CURRENCY, reading), found)
    by_direction(reading, [slot for slot in slots if slot.kind == "place"], _places(reading), found)
    for slot in slots:
        if slot.kind == "language":
            named = _matches(_LANGUAGE, reading)
            found[slot.name] = reading.take(named[-1] if "target" in slot.phrase else named[0]) if named else None
        elif slot.kind == "symbol":
            capitals = _matches(_SYMBOL, reading)
            found[slot.name] = reading.take(capitals[0]) if capitals else None
        elif slot.kind in ("person", "recipient") and slot.name not in found:
            found[slot.name] = _person(reading, slot)


def _matches(pattern: re.Pattern[str], reading: Reading) -> list[Span]:
    return reading.free([Span(match.start(), match.end(), match.group()) for match in pattern.finditer(reading.text)])


def _proper(reading: Reading) -> list[Span]:
    """Capitalised runs that name something: no weekday, no id, no capital that only begins a sentence."""
    proper: list[Span] = []
    for span in reading.free(spans.capitalised(reading.text)):
        begins = not (lead := spans.before(reading.text, span.start).rstrip()) or lead[-1] in ".!?:"
        head, _, tail = str(span.value).partition(" ")
        plain = re.split("['’]", head)[0].lower()
        ordinary = plain in STOPWORDS or plain in _NO_NAMES or head.lower() in _COMMANDS or stem(head.lower()) in reading.own
        if begins and ordinary:
            if not tail or not tail[0].isupper():
                continue
            span = Span(span.start + len(head) + 1, span.end, tail)
        if not _CALENDAR.fullmatch(span.value) and not re.search(r"\d", span.value):
            proper.append(span)
    return proper


_COMMANDS = vocabulary(
    """
    please show tell send give book find check search order cancel change update set turn play put add make open start stop email
    mail call notify move fly take bring convert look buy reserve register say greet welcome meet hi hello hey thanks good dear
    enable disable switch track weather forecast weekend current
    """
)


def _places(reading: Reading) -> list[Span]:
    proper = _proper(reading)
    cued = [span for span in proper if _PLACE_CUE.search(spans.before(reading.text, span.start))]
    if proper:
        return proper if len(cued) != 1 or len(proper) == 1 else [*cued, *(span for span in proper if span not in cued)]
    lower: list[Span] = []
    for match in _LOWER_PLACE.finditer(reading.text):
        kept: list[str] = []
        for word in match.group(1).split():
            if word.lower() in _LOWER_END or word.lower() in STOPWORDS or stem(word.lower()) in reading.own:
                break
            kept.append(word)
        if kept:
            value = " ".join(kept)
            lower.append(Span(match.start(1), match.start(1) + len(value), value))
    return reading.free(lower)


def _person(reading: Reading, slot: Slot) -> str | None:
    if introduced := _introduced(reading.text):
        return reading.take(introduced)
    proper = _proper(reading)
    cued = [span for span in proper if _TO_SOMEBODY.search(spans.before(reading.text, span.start))]
    if cued or (proper and slot.required):
        return reading.take((cued or proper)[0])
    lower = re.search(r"\bto ((?:my |the )?[a-z]+)\b", reading.text) if slot.kind == "recipient" and slot.required else None
    return reading.take(Span(lower.start(1), lower.end(1), lower.group(1))) if lower else None


def _introduced(text: str) -> Span | None:
    """The name in "my name is Ann Lee", "this is Dr. Watson", "I'm bob"."""
    match = _NAME.search(text)
    said = re.match(r"[^\W\d_][\w'’-]*", text[match.end() :]) if match else None
    if not match or not said or said.group().lower() in STOPWORDS:
        return None
    start, end = match.end(), match.end() + said.end()
    if run := next((span for span in spans.capitalised(text) if span.start == start), None):
        return run
    alone = not re.match(r"\s*[^\W\d_]", text[end:]) and said.group().lower() not in _NO_NAMES
    return Span(start, end, said.group()) if alone or "name" in match.group().lower() else None


def _texts(reading: Reading, slots: list[Slot], found: dict[str, Any]) -> None:
    """Free text comes last, from what the others left over."""
    marks = reading.free(spans.quoted(reading.text))
    titled = freetext.title(reading.text)
    for slot in slots:
        if slot.kind == "title" and titled and not reading.free(marks):
            found[slot.name] = reading.take(Span(titled.start(), titled.end(), titled["value"].strip()))
    for slot in slots:
        if slot.kind in ("title", "message", "query", "text", "description") and slot.name not in found and reading.free(marks):
            found[slot.name] = reading.take(reading.free(marks)[0])
    for slot in slots:
        if slot.name not in found:
            found[slot.name] = _text(reading, slot)


def _text(reading: Reading, slot: Slot) -> Any:
    rest, own = reading.rest(), reading.own
    if slot.kind == "reason":
        return freetext.reason(rest, own, slot.required)
    if slot.kind == "array":
        return _list(rest, slot, own)
    if slot.kind == "room":
        place = _ROOM.search(rest) or _IN_THE.search(rest)
        return place.group(place.lastindex or 0) if place else (_own_words_removed(rest, own) if slot.required else None)
    if not slot.required and slot.kind != "query":
        named = re.search(rf"\b{re.escape(slot.phrase)}(?: is|:)\s+([^,.;]+)", rest, re.I)
        return named.group(1).strip() if named else None
    if slot.kind == "message":
        return freetext.message(rest, own)
    if slot.kind == "description":
        return freetext.description(rest, own)
    if slot.kind == "query":
        return freetext.query(rest, own) if slot.required else None
    thing = freetext.thing(rest, own) if slot.kind in ("title", "text") else ""
    noun, _, named = thing.partition(" ")
    if named and stem(noun.lower()) in slot.nouns:
        thing = named
    return thing if says_more(thing, own) else None


def _own_words_removed(text: str, own: set[str]) -> str | None:
    kept = [
        word for word in freetext.plain(text).split() if words(word) and stem(word.lower()) not in own and word.lower() not in STOPWORDS
    ]
    return " ".join(word for word in kept if word.lower() not in ("turn", "switch", "make", "please")) or None


def _list(text: str, slot: Slot, own: set[str]) -> list[Any] | None:
    if as_dict(slot.schema.get("items")).get("type") in ("integer", "number"):
        return [span.value for span in spans.numbers(text)] or None
    after = re.search(r"(?:\bwith|\bas|:)\s+(.+)$", text)
    if not after and not slot.required:
        return None
    listed = after.group(1) if after else freetext.thing(text, own)
    return [item for part in re.split(r",\s*(?:and\s+)?|\s+and\s+", listed) if (item := part.strip(" .!?"))] or None


_FINDERS = (_patterned, _addresses, _choices, _calendar, _identifiers, _quantities, _names, _texts)
