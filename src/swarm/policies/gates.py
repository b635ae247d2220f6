"""Gates: how the text of an answer is checked before it is shown, in windows whose borders do not depend on how it arrives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..effects import Cut, Flow, Gate
from .checking import Block

Ask = Callable[[str], Flow]
"""Makes the flow that asks a check about a text."""
Cutting = Callable[[Block, bool], Cut]
"""What a Block comes to, when nothing has been shown yet, or when something has."""


class Windows:
    """Asks a check about one window of text after another, each with the window before it, which is then shown: what is found across a
    border is not shown in part. Or asks about the whole at the end.

    Args:
        ask: asks the check.
        size: characters in a window, or None for the whole text at once.
        cut: what a Block comes to.
    """

    def __init__(self, ask: Ask, size: int | None, cut: Cutting) -> None:
        self._ask = ask
        self._size = size
        self._cut = cut
        self._held = self._new = ""
        self._begun = False

    def feed(self, text: str) -> list[str | Cut | Flow]:
        """Take a piece of text."""
        self._new += text
        ready: list[str | Cut | Flow] = []
        while self._size is not None and len(self._new) >= self._size:
            window, self._new = self._new[: self._size], self._new[self._size :]
            ready.append(self._look(self._held + window, self._held, self._begun))
            self._begun = bool(self._held)
            self._held = window
        return ready

    def end(self) -> list[str | Cut | Flow]:
        """Ask about the rest."""
        rest = self._held + self._new
        if not self._new:
            return [rest]
        return [self._look(rest, rest, self._begun)]

    def _look(self, text: str, shown: str, begun: bool) -> Flow:
        verdict = yield from self._ask(text)
        if isinstance(verdict, Block):
            return self._cut(verdict, begun)
        if verdict is not None and self._size is not None:
            raise TypeError("a check that rewrites an answer has to see the whole of it: leave `window` out, or use a Pattern")
        return shown if verdict is None else verdict


class Matches:
    """Looks for what a pattern matches, in steps of `longest` characters, each with as many again in view.

    Args:
        pattern: a compiled pattern with `finditer(text, pos, endpos)`.
        longest: characters in the longest match that is surely found whole.
        found: what a match comes to: a text in its place, a Block, or None to leave it.
        cut: what a Block comes to.
    """

    def __init__(self, pattern: Any, longest: int, found: Callable[[Any], str | Block | None], cut: Cutting) -> None:
        self._pattern = pattern
        self._longest = longest
        self._found = found
        self._cut = cut
        self._text = ""
        self._at = 0
        self._begun = False

    def feed(self, text: str) -> list[str | Cut | Flow]:
        """Take a piece of text."""
        self._text += text
        ready: list[str | Cut | Flow] = []
        while len(self._text) - self._at >= 2 * self._longest and not (ready and isinstance(ready[-1], Cut)):
            ready.append(self._step(self._at + self._longest, self._at + 2 * self._longest))
        seen = max(0, self._at - self._longest)  # what lies before may still decide whether something is a match
        self._text, self._at = self._text[seen:], self._at - seen
        return ready

    def end(self) -> list[str | Cut | Flow]:
        """Look at the rest."""
        size = len(self._text)
        return [self._step(size, size)] if self._at < size else []

    def _step(self, until: int, view: int) -> str | Cut:
        """Settle the text up to `until`; a match that begins before it may end behind it."""
        shown: list[str] = []
        for match in self._pattern.finditer(self._text, self._at, view):
            start, end = match.span()
            if start >= until:
                break
            came = self._found(match) if end > start else None
            if isinstance(came, Block):
                return self._cut(came, self._begun)
            if came is not None:
                shown += [self._text[self._at : start], came]
                self._at = end
        self._begun = True
        if self._at < until:
            shown.append(self._text[self._at : until])
            self._at = until
        return "".join(shown)


def passed(gate: Gate, text: str) -> Flow:
    """Let a whole text pass a gate, from a hook. Returns what may be shown."""
    shown: list[str] = []
    for ask in (lambda: gate.feed(text), gate.end):
        for item in ask():
            came: Any = item if isinstance(item, str | Cut) else (yield from item)
            shown.append(came.text if isinstance(came, Cut) else came)
            if isinstance(came, Cut):
                return "".join(shown)
    return "".join(shown)
