"""Numbered routines in instructions: their steps and branches, what refers to which, and whether they end.

Routines are written the way people write lists: `1.`, `2)`, `Step 3:`, branches as `2a.` or as lettered lines under a number, nested
lists by indentation. Where a step leads is read from English words ("go to step 4"); in other languages steps follow each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .values import HOLE

_LIST = re.compile(
    r"^(?P<indent>[ \t]*)(?:[-*#>]+[ \t]+)?[*_`]*(?:(?P<word>step)\s+)?\(?(?P<number>\d{1,2})(?P<letter>[a-z])?"
    r"(?:[.):][*_`]*(?=\s|$)|[*_`]+[.:])",
    re.IGNORECASE | re.MULTILINE,
)
_LETTER = re.compile(r"^(?P<indent>[ \t]+)(?:[-*][ \t]+)?\(?(?P<letter>[a-z])[.)](?=\s)", re.IGNORECASE | re.MULTILINE)
_INLINE = re.compile(r"(?<=[.:;!?][ \t])(?P<number>\d{1,2})(?P<letter>[a-z])?[.)](?=[ \t]+[^\s\d])")
_STEP = r"(?:\d{1,2}[a-z]?)\b"
_REFERENCE = re.compile(rf"\bsteps?\s+(?P<steps>{_STEP}(?:\s*(?:[-–,]|to|and|or)\s*(?:steps?\s+)?{_STEP})*)", re.IGNORECASE)
_MOVE = r"\b(?:go|goes|return|jump|skip|move|proceed|continue|start|begin|repeat|back)\b"
_GO = (
    re.compile(rf"{_MOVE}[^.;\n]{{0,25}}?\bsteps?\s+(?P<step>{_STEP})", re.IGNORECASE),
    re.compile(rf"{_MOVE}\s+(?:on\s+|back\s+)?(?:to|at|with)\s+(?P<step>{_STEP})(?=\s*(?:[.,;:)\n]|$))", re.IGNORECASE),
)
_AGAIN = re.compile(r"\b(?:start|begin) (?:over|again|from the (?:start|beginning|top))", re.IGNORECASE)
_PERHAPS = re.compile(r"\b(?:if|when|whenever|unless|until|otherwise|else|once|should|may|can|unlike|case)\b", re.IGNORECASE)
_ENDS = re.compile(
    r"\b(?:end|ends|stop|finish|finished|done|close|complete|resolve[ds]?|goodbye|leave|hand|hands|transfer\w*|escalate\w*)\b|_resolved\b",
    re.IGNORECASE,
)


class Step:
    """One step of a routine.

    Attributes:
        number: its number.
        letter: of a branch, in lower case; "" for a step.
        text: what it says.
    """

    __slots__ = ("letter", "number", "text")

    def __init__(self, number: int, letter: str, text: str) -> None:
        self.number = number
        self.letter = letter
        self.text = text

    @property
    def name(self) -> str:
        """`3` or `3a`."""
        return f"{self.number}{self.letter}"


class Routine:
    """Steps that belong together.

    Attributes:
        steps: in the order in which they stand, branches behind their step.
        complete: whether it is certain that no step is missing from what could be read.
    """

    def __init__(self, complete: bool = True) -> None:
        self.steps: list[Step] = []
        self.complete = complete

    @property
    def names(self) -> set[str]:
        """The names of all steps and branches."""
        return {step.name for step in self.steps}

    @property
    def last(self) -> int:
        """The number of the last step so far."""
        return self.steps[-1].number if self.steps else 0

    def faults(self) -> Iterator[str]:
        """What is wrong with its numbers, in words."""
        main = [step.number for step in self.steps if not step.letter]
        for number in dict.fromkeys(main):
            if main.count(number) > 1:
                yield f"step {number} stands {main.count(number)} times"
        for number in dict.fromkeys(step.number for step in self.steps if step.letter):
            branches = [step for step in self.steps if step.letter and step.number == number]
            if number not in main:
                one = len(branches) == 1
                yield f"step{'' if one else 's'} {' and '.join(step.name for step in branches)} {'has' if one else 'have'} no step {number}"
            for step in branches:
                before = f"{number}{chr(ord(step.letter) - 1)}"
                if step.letter > "a" and before not in self.names:
                    yield f"step {step.name} comes without step {before}"
        numbers = {step.number for step in self.steps}
        missing = [number for number in range(min(numbers), max(numbers)) if number not in numbers]
        yield from (f"there is no step {number}, but a step {max(numbers)}" for number in missing)

    def ends(self) -> bool:
        """Whether some way through it comes to an end: past the last step, or to a step that speaks of ending or handing over."""
        waiting, seen = [0], set[int]()
        while waiting:
            index = waiting.pop()
            if index >= len(self.steps):
                return True
            if index not in seen:
                seen.add(index)
                if _ENDS.search(self.steps[index].text):
                    return True
                waiting += self._next(index)
        return not self.steps

    def _next(self, index: int) -> list[int]:
        step = self.steps[index]
        branches = [i for i, other in enumerate(self.steps) if other.number == step.number and other.letter] if not step.letter else []
        named = _leads_to(step.text)
        targets = [i for i, other in enumerate(self.steps) if other.name in named]
        if _AGAIN.search(step.text):
            targets.append(0)
        if targets and not _PERHAPS.search(step.text):
            return targets
        after = next((i for i, other in enumerate(self.steps) if i > index and other.number != step.number), len(self.steps))
        return [*targets, *(branches or [after])]


def routines_in(text: str) -> list[Routine]:
    """The numbered routines of a text."""
    marks = _marks(text)
    found: list[Routine] = []
    stack: list[tuple[int, Routine]] = []  # the lists that are open, by indentation
    for index, (start, end, indent, number, letter) in enumerate(marks):
        until = marks[index + 1][0] if index + 1 < len(marks) else len(text)
        routine = _place(stack, indent, number, letter)
        if routine is None:
            routine = Routine()
            found.append(routine)
            stack[:] = [*(entry for entry in stack if entry[0] < indent), (indent, routine)]
        routine.steps.append(Step(number or routine.last, letter, text[end:until]))
        routine.complete = routine.complete and not _open_lines(text[marks[0][0] : start])
    return [routine for routine in found if len(routine.steps) > 1]


def references(text: str) -> list[str]:
    """The steps that a text refers to, such as `5` or `3a`; where a step begins is no reference."""
    headings = {match.start("word") for match in _LIST.finditer(text) if match["word"]}
    found: list[str] = []
    for match in _REFERENCE.finditer(text):
        if match.start() not in headings:
            found += re.findall(_STEP, match["steps"].lower())
    return list(dict.fromkeys([*found, *_leads_to(text)]))


def _leads_to(text: str) -> list[str]:
    """The steps that a text says to go to."""
    return [match["step"].lower() for pattern in _GO for match in pattern.finditer(text)]


def _marks(text: str) -> list[tuple[int, int, int, int, str]]:
    """Where steps begin: start, end of the mark, indentation, number (0 for a line with a letter only), letter."""
    found: dict[int, tuple[int, int, int, int, str]] = {}
    for pattern in (_LIST, _LETTER, _INLINE):
        for match in pattern.finditer(text):
            parts = match.groupdict()
            indent = len((parts.get("indent") or "").expandtabs(4))
            start = match.start("number") if parts.get("number") else match.start("letter")
            found.setdefault(start, (start, match.end(), indent, int(parts.get("number") or 0), (parts.get("letter") or "").lower()))
    marks = [found[start] for start in sorted(found)]
    while marks and marks[0][3] == 0:  # letters under no number are a list of another kind
        marks.pop(0)
    return marks


def _place(stack: list[tuple[int, Routine]], indent: int, number: int, letter: str) -> Routine | None:
    """The open list that a step continues, after closing those inside it. None if the step begins a list."""
    if not letter and number == 1:
        return None
    fits = [routine for _, routine in reversed(stack) if letter and number in (0, routine.last)]
    fits += [routine for _, routine in reversed(stack) if not letter and number == routine.last + 1]
    fits += [routine for other, routine in reversed(stack) if other <= indent]
    fits += [routine for _, routine in stack]
    if fits:
        while stack[-1][1] is not fits[0]:
            stack.pop()
        return fits[0]
    return None


def _open_lines(text: str) -> bool:
    """Whether a whole line is not known, which may hold steps."""
    return any(line.strip() == HOLE for line in text.splitlines())
