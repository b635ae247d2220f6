"""Where in a text the dates, times, numbers, ids, addresses and names stand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple


class Span(NamedTuple):
    """A piece of the text and what it is: text[start:end] says `value`."""

    start: int
    end: int
    value: Any

    def overlaps(self, other: Span) -> bool:
        return self.start < other.end and other.start < self.end


_NEAR = 80
"""Characters in front of a value that are looked at for what it is; more would make long texts slow."""

MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?"
    r"|dec(?:ember)?)\.?"
)
DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_ORDINAL = r"\d{1,2}(?:st|nd|rd|th)?"
_PART = r"(?:morning|afternoon|evening|night|noon)"
_UNIT = r"(?:day|week|weekend|month|year|quarter)"
_SMALL = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_TEENS = "thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen"
_DECADES = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_DATE = re.compile(
    rf"\b(?:\d{{4}}-\d\d?-\d\d?|\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}"
    rf"|{MONTH}\s+{_ORDINAL}\b(?:,?\s+\d{{4}}\b)?|(?:the\s+)?{_ORDINAL}\s+(?:of\s+)?{MONTH}\b(?:,?\s+\d{{4}}\b)?"
    rf"|(?:day after tomorrow|tomorrow|today|tonight|yesterday)(?:\s+{_PART})?"
    rf"|(?:next|this|last|coming)\s+(?:{DAY}|{_UNIT}|{MONTH})(?:\s+{_PART})?|{DAY}(?:\s+{_PART})?"
    rf"|the\s+\d{{1,2}}(?:st|nd|rd|th)|this\s+{_PART}|in\s+(?:\d+|an?|{_SMALL})\s+(?:day|week|month)s?)\b",
    re.I,
)
_MONTH_ALONE = re.compile(rf"\b{MONTH}(?:\s+\d{{4}})?\b(?!\s*\d)", re.I)
_CLOCK = re.compile(r"\b(?:\d{1,2}:\d\d(?:\s*[ap]\.?m\b\.?)?|\d{1,2}\s*[ap]\.?m\b\.?|\d{1,2}\s+o'?clock|noon|midnight)", re.I)
_NOW = re.compile(r"\b(?:right now|now|at the moment|currently)\b", re.I)

_EMAIL = re.compile(r"(?<![\w.+%-])[\w.+%-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_URL = re.compile(r"https?://[^\s,;)]+|\bwww\.[^\s,;)]+")
_PHONE = re.compile(r"(?<![\w.])\+?\(?\d[\d\s().-]{5,24}\d(?![\w-])")
_QUOTED = re.compile(r"\"([^\"]+)\"|“([^”]+)”|(?<!\w)'([^']+)'(?!\w)|«([^»]+)»")

_ID = re.compile(r"(?<![\w@.+-])#?(?:[A-Z]{2,3} \d{1,4}|(?=[\w-]{0,40}\d)\w{1,40}(?:[-/]\w{1,40}){0,8})(?![\w@%]|-\w|\.\d)")
_DIGITS = re.compile(r"(?<![\w.])(?<!\w-)(?:[-+]|minus )?(?:\d{1,3}(?:,\d{3}){1,6}|\d{1,18})(?:\.\d{1,18})?(?!\.?\w)")

_UNITS = {word: number for number, word in enumerate(("zero", *_SMALL.split("|"), *_TEENS.split("|")))}
_TENS = {word: 10 * number for number, word in enumerate(_DECADES.split("|"), 2)}
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "dozen": 12}
_ALONE = {"couple of": 2, "half a dozen": 6, "a dozen": 12, "a hundred": 100, "a thousand": 1_000, "once": 1, "twice": 2}
_NUMERAL = "|".join([*_UNITS, *_TENS, *_SCALES])
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(_ALONE)}|(?:{_NUMERAL})(?:(?:[\s-]+|\s+and\s+)(?:{_NUMERAL}))*)\b", re.I)

_CAPITAL = r"(?:(?:Ms|Mr|Mrs|Dr|Prof|St)\.\s+)?(?!I\b|I')[^\W\d_a-z][\w'’-]*(?:\.\w[\w'’-]*)*"
_CAPITALS = re.compile(rf"\b{_CAPITAL}(?:\s+(?:(?:of|de|da|do|del|es|la|le|les|el|am|an der|upon)\s+)?{_CAPITAL})*")


def before(text: str, position: int) -> str:
    """The text that stands in front of a position, as far as it can matter."""
    return text[max(0, position - _NEAR) : position]


def dates(text: str) -> list[Span]:
    """Days and months as they are said: "2025-03-04", "the 9th of May", "next Friday", "tomorrow morning"."""
    return _found(_DATE, text)


def months(text: str) -> list[Span]:
    """Months without a day: "March", "June 2024". "may" in lower case is the verb."""
    return [span for span in _found(_MONTH_ALONE, text) if span.value != "may"]


def clock_times(text: str) -> list[Span]:
    """ "12:30", "3pm", "noon"."""
    return _found(_CLOCK, text)


def moments(text: str) -> list[Span]:
    """ "now" and its like."""
    return _found(_NOW, text)


def emails(text: str) -> list[Span]:
    return [Span(span.start, span.start + len(value), value) for span in _found(_EMAIL, text) if (value := span.value.rstrip(".-"))]


def urls(text: str) -> list[Span]:
    return _found(_URL, text)


def phones(text: str) -> list[Span]:
    """Phone numbers: seven digits or more, with the usual separators."""
    found = (Span(span.start, span.end, span.value.strip()) for span in _found(_PHONE, text))
    taken = dates(text)
    return [span for span in found if sum(c.isdigit() for c in span.value) >= 7 and not any(span.overlaps(other) for other in taken)]


def quoted(text: str) -> list[Span]:
    """Text in quotation marks, without them."""
    return [Span(m.start(), m.end(), next(filter(None, m.groups()))) for m in _QUOTED.finditer(text)]


def ids(text: str) -> list[Span]:
    """Words with a digit in them, as they stand: "item_4511", "BA 249", "0016AA55", "7421"; without a leading "#"."""
    return [Span(m.start(), m.end(), m.group().lstrip("#")) for m in _ID.finditer(text)]


def bare_words(text: str) -> list[Span]:
    """Words as they stand between blanks, without the punctuation around them."""
    found = ((m.start(), m.group()) for m in re.finditer(r"\S+", text))
    inner = ((start + len(word) - len(word.lstrip("\"'(#")), word.lstrip("\"'(#").rstrip("\"').,;:!?")) for start, word in found)
    return [Span(start, start + len(word), word) for start, word in inner if word]


def numbers(text: str) -> list[Span]:
    """Numbers in digits or words, as int or float."""
    found = [Span(m.start(), m.end(), _number(m.group())) for m in _DIGITS.finditer(text)]
    return sorted([*found, *(Span(m.start(), m.end(), _spelled(m.group().lower())) for m in _NUMBER_WORD.finditer(text))])


def capitalised(text: str) -> list[Span]:
    """Runs of capitalised words: names of people, places, works. The first word of a sentence is left to the caller to judge."""
    found = (Span(m.start(), m.start() + len(value), value) for m in _CAPITALS.finditer(text) if (value := m.group().rstrip(".'’-")))
    return [span for span in found if not span.value[0].islower()]


def _found(pattern: re.Pattern[str], text: str) -> list[Span]:
    return [Span(m.start(), m.end(), m.group()) for m in pattern.finditer(text)]


def _number(digits: str) -> int | float:
    plain = digits.replace(",", "").replace("minus ", "-")
    return float(plain) if "." in plain else int(plain)


def _spelled(words: str) -> int:
    """The value of a number in words: "two hundred and fifty" is 250."""
    if words in _ALONE:
        return _ALONE[words]
    total = current = 0
    for word in _number_words(words):
        if word in _SCALES:
            current = max(current, 1) * _SCALES[word]
            if _SCALES[word] >= 1_000:
                total, current = total + current, 0
        else:
            current += _UNITS.get(word, 0) + _TENS.get(word, 0)
    return total + current


def _number_words(words: str) -> Iterator[str]:
    return (word for word in re.split(r"[\s-]+", words) if word != "and")
