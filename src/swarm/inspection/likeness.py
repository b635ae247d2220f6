"""How much alike two texts are, for instructions that could be mistaken for one another."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..models.offline.embedder import Embedder

ALIKE = 0.92
"""Cosine of two sentence embeddings from which instructions count as one. Measured on pairs: "You help customers with refunds" and
"... with orders" come to 0.65, "Cancel flights ..." and "Change flights ..." to 0.90, two wordings of one job to 0.92 to 0.94."""
ALIKE_IN_WORDS = 0.83
"""The same for word stems (0.67, 0.80, 0.83 on the same pairs) and for pairs of characters."""
MOSTLY_SHARED = 0.9
"""Share of the words in common sentences from which the rest does not matter."""

Measure = Callable[[str, str], bool]
"""Whether two texts say the same."""


def too_alike(a: str, b: str, same: Measure | None = None) -> bool:
    """Whether two instructions say the same. Sentences that both have, such as a starter prompt, are set aside first.

    Args:
        a, b: the texts.
        same: how what is left is compared; by default with the offline model's embeddings if they are installed, else by words.
    """
    ours, theirs = _sentences(a), _sentences(b)
    shared = set(ours) & set(theirs)
    rest_a, rest_b = [one for one in ours if one not in shared], [one for one in theirs if one not in shared]
    if not rest_a and not rest_b:
        return True
    size = max(sum(len(one.split()) for one in ours), sum(len(one.split()) for one in theirs))
    if sum(len(one.split()) for one in shared) >= MOSTLY_SHARED * size:
        return True
    if not rest_a or not rest_b:
        return False  # one says more than the other
    return (same or _by_default())("\n".join(rest_a), "\n".join(rest_b))


def _sentences(text: str) -> list[str]:
    parts = re.split(r"\n+|(?<=[.!?])\s+|(?<=[。！？])", text)
    return [plain for part in parts if (plain := " ".join(part.lower().split()))]


@functools.cache
def _by_default() -> Measure:
    from ..models.offline.embedder import Cached, MiniLM, installed

    return by_meaning(Cached(MiniLM())) if installed() else by_words


def by_meaning(embedder: Embedder) -> Measure:
    """Compare by sentence embeddings. Texts that are not in Latin letters, which the model cannot read, are compared by characters.

    Args:
        embedder: turns texts into vectors.
    """
    from ..models.offline.embedder import similarity

    def same(a: str, b: str) -> bool:
        if not (_latin(a) and _latin(b)):
            return by_words(a, b)
        first, second = embedder.embed([a, b])
        return similarity(first, second) >= ALIKE

    return same


def by_words(a: str, b: str) -> bool:
    """Compare by word stems, or by pairs of characters where a text is not in Latin letters."""
    if _latin(a) and _latin(b):
        from ..models.offline.embedder import WordOverlap, similarity

        first, second = WordOverlap().embed([a, b])
        return similarity(first, second) >= ALIKE_IN_WORDS
    ours, theirs = _pairs(a), _pairs(b)
    return 2 * (ours & theirs).total() >= ALIKE_IN_WORDS * (ours.total() + theirs.total()) > 0


def _pairs(text: str) -> Counter[str]:
    letters = "".join(letter for letter in text if letter.isalnum())
    return Counter(letters[index : index + 2] for index in range(len(letters) - 1))


def _latin(text: str) -> bool:
    letters = [letter for letter in text if letter.isalpha()]
    return sum(ord(letter) < 0x250 for letter in letters) > len(letters) / 2
