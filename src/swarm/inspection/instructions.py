"""What an agent's instructions say, as far as it can be read without calling anything."""

from __future__ import annotations

import builtins
import re

from ..types import Agent
from .values import HOLE, Reader


class Instructions:
    """The instructions of one agent.

    Attributes:
        texts: what they may be: one text, or one for each way through a function; with HOLE for what only a run knows.
        dynamic: None for a fixed text; "not read" or "partly read" for a function of which nothing, or not all, could be read.
    """

    __slots__ = ("dynamic", "texts")

    def __init__(self, agent: Agent, reader: Reader) -> None:
        self.dynamic: str | None = None
        if not callable(agent.instructions):
            self.texts = [agent.instructions or ""]
            return
        found = reader.result_of(agent.instructions)
        self.texts = [value for value in found if isinstance(value, str) and value.replace(HOLE, "").strip()]
        if not self.texts:
            self.dynamic = "not read"
        elif len(self.texts) < len(found) or any(HOLE in text for text in self.texts):
            self.dynamic = "partly read"

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return self.dynamic is None

    @property
    def text(self) -> str:
        """All that can be read, in one piece."""
        return "\n\n".join(self.texts)


_NAME = r"[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+"  # with "_", as in no word of a language
_QUOTE = "[`'\"*]*"
_THE = r"(?:(?:the|your)\s+)?(?:(?:tool|function)s?\s+)?"
# "Use look_up to ..." is a call, "use snake_case names" is not.
_GOES_ON = r"(?:to|for|when|if|with|and|or|on|in|at|once|before|after|first|only|as|until|unless|then|again|tool|function)\b"
_PYTHONS = "|".join(name for name in vars(builtins) if name.islower() and name.isalpha())  # "use print()"
_MENTIONED = [
    re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    for pattern in (
        rf"\b(?:calls?|calling|invokes?|triggers?)\s+{_THE}{_QUOTE}(?P<name>{_NAME})\b(?!=)",
        rf"\b(?:uses?|using|runs?|executes?)\s+{_THE}{_QUOTE}(?P<name>{_NAME})\b{_QUOTE}(?=\s*(?:[.,;:)\n]|$|{_GOES_ON}))",
        rf"{_QUOTE}(?P<name>\b{_NAME}){_QUOTE}\s+(?:tool|function)\b",
        rf"\b(?:tool|function)s?:?\s+{_QUOTE}(?P<name>{_NAME})\b",
        rf"(?<![\w.])(?P<name>{_NAME})\(\)",
        rf"(?:\b(?:call|use|using|run|invoke|execute|trigger|then|via|with)|^\s*\d+[a-z]?[.)])\s+{_THE}{_QUOTE}(?P<name>(?!(?:{_PYTHONS})\()[A-Za-z]\w*)\(\)",
        r"(?:call|use|run|the)\s+(?P<quote>[`'\"])(?P<name>[A-Za-z]\w*)(?P=quote)\s+(?:tool|function)\b",
    )
]
_MORE = re.compile(rf"{_QUOTE}\s*(?:,|\bor\b|\band\b)\s*(?:or\s+|and\s+)?(?:then\s+)?{_QUOTE}(?P<name>{_NAME})\b", re.IGNORECASE)
_FENCED = re.compile(r"^[ \t]*(```|~~~).*?^[ \t]*\1", re.DOTALL | re.MULTILINE)
_NEGATED = re.compile(r"(?:\b(?:never|not|no|without|cannot)|n['’]t)\s+(?:\w+\s+)?$", re.IGNORECASE)

_OF_TRANSFERS = ("to", "transfer", "back", "the", "agent")
_SAYS_SOMETHING = 20  # letters; "You are agent B." has 12
_HANDING_OVER = re.compile(
    r"\b(?:hand|pass|send|route|transfer|forward|refer|delegate|triage|escalate)(?:s|es|d|ed|ing|ring|red|ting)?\b", re.I
)


def without_code(text: str) -> str:
    """A text without its fenced blocks of code: what is called there is an example."""
    return _FENCED.sub("", text)


def tools_called(text: str) -> list[str]:
    """The names that a text tells its reader to call, in order: `call look_up`, `look_up()`, `the 'look_up' function`.

    Names without "_" count only in quotation marks before "function" or "tool", or with brackets behind a verb or a step's number, if
    Python has no such function. What it says not to call is left out.
    """
    found: dict[int, str] = {}
    for match in (match for pattern in _MENTIONED for match in pattern.finditer(text)):
        more: re.Match[str] | None = None if negated(text, match.start()) else match
        while more is not None:
            found[more.start("name")] = more["name"]
            more = _MORE.match(text, more.end("name"))
    return list(dict.fromkeys(found[start] for start in sorted(found)))


def negated(text: str, start: int) -> bool:
    """Whether the words before a place turn what stands there into its opposite: `never call ...`."""
    return _NEGATED.search(text[max(0, start - 40) : start]) is not None


def identifiers(text: str) -> list[re.Match[str]]:
    """Every name with "_" in a text."""
    return list(re.finditer(rf"\b{_NAME}\b", text))


def speaks_of(text: str, name: str) -> bool:
    """Whether a text names a tool, or speaks of it in words: each word of its name is there, in any form."""
    if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text):
        return True
    known = {word[:5] for word in re.findall(r"[a-z0-9]+", text.lower())}
    words = [word.lower()[:5] for word in re.split(r"[_-]+|(?<=[a-z])(?=[A-Z])", name) if word.lower() not in _OF_TRANSFERS]
    return bool(words) and all(word in known for word in words)


def only_hands_over(text: str) -> bool:
    """Whether instructions give their agent nothing to do but to hand over: they speak of it, or say next to nothing."""
    letters = sum(3 if ord(letter) > 0x2E7F else 1 for letter in text if letter.isalnum())  # a Chinese character says as much as a syllable
    return letters < _SAYS_SOMETHING or _HANDING_OVER.search(text) is not None
