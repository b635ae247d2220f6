"""Regular expressions as checks.

Python's engine backtracks: a repeat inside a repeat, `(a+)+`, can divide a text among the two in exponentially many ways, so such a pattern
is refused when it is given (https://owasp.org/www-community/attacks/Regular_expression_Denial_of_Service_-_ReDoS). For others the time is
bounded by a power of the few hundred characters that are in view at a time. An engine without backtracking, as RE2, needs no such care.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

from ..effects import Cut
from ..errors import AgentError
from .checking import Block
from .gates import Cutting, Matches
from .given import whole

_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\((?:\?(?:P?<[^>]*>|P=[^)]*|[aiLmsux-]*:|>|[=!]|<[=!]))?|\)|[^\\\[\]()]", re.DOTALL)
_UNBOUNDED = re.compile(r"(?:[*+]|\{\d*,\})([+?]?)")


class Pattern:
    """Blocks a text in which a regular expression matches, or puts something in the place of each match. Streams are checked as they come.

    Args:
        pattern: as for `re.compile`, or compiled, by `re` or another engine with `finditer(text, pos, endpos)`, such as RE2.
        by: what a match is replaced by: a text, or a function of the match; None blocks.
        longest: characters in the longest match that is surely found. A stream is held back by twice as many.

    Raises:
        AgentError: a pattern that is none, or that some texts make Python's engine search for ever.
        ValueError: `longest` below 1.
    """

    def __init__(self, pattern: Any, by: str | Callable[[Any], str] | None = None, longest: int = 200) -> None:
        whole("Pattern(longest=...)", longest)
        try:
            self._pattern: Any = re.compile(pattern) if isinstance(pattern, str) else pattern
        except re.error as error:
            raise AgentError(f"{pattern!r} is no regular expression: {error}") from error
        self._by = by
        self._longest = longest
        # All the user's messages are then checked, those of earlier runs too: they are sent again, and it costs next to nothing.
        self.everywhere = by is not None
        source = cast("str", self._pattern.pattern)
        if isinstance(pattern, str | re.Pattern) and nests_repeats(source):
            raise AgentError(
                f"{source!r} repeats what is repeated already, which takes exponential time on some texts: "
                r"write [\w.]+ for (\w+\.)+, make the inner repeat possessive (++), or give a pattern of an engine like RE2"
            )

    def found(self, match: Any) -> str | Block | None:
        """What a match comes to."""
        if self._by is None:
            return Block(reason=f"it matches {self._pattern.pattern}")
        return self._by if isinstance(self._by, str) else self._by(match)

    def gate(self, cut: Cutting) -> Matches:
        """The check for a text that arrives in pieces."""
        return Matches(self._pattern, self._longest, self.found, cut)

    def __call__(self, text: str) -> str | Block | None:
        """A Block, or the text with what was put in place."""
        blocks: list[Block] = []

        def cut(block: Block, begun: bool) -> Cut:
            blocks.append(block)
            return Cut("")

        gate = self.gate(cut)
        shown = [*gate.feed(text), *gate.end()]
        return blocks[0] if blocks else "".join(piece for piece in shown if isinstance(piece, str))


def nests_repeats(pattern: str) -> bool:
    """Whether a group that holds a repeat without a limit is itself repeated without one."""
    repeats, at = [False], 0
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        at = token.end() if token is not None else at + 1
        opens, closes = token is not None and token[0].startswith("("), token is not None and token[0] == ")"
        if opens:
            repeats.append(False)
            continue
        inner = repeats.pop() if closes and len(repeats) > 1 else False
        repeat = _UNBOUNDED.match(pattern, at)
        at = at if repeat is None else repeat.end()
        backtracks = repeat is not None and repeat[1] != "+"
        if inner and backtracks:
            return True
        repeats[-1] = repeats[-1] or inner or backtracks
    return False
