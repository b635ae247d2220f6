"""Vectors that a test can reckon with: one direction for each word that it names."""

from __future__ import annotations

from collections.abc import Sequence


class Words:
    """A function of texts that gives each the share of every named word in it; what holds none of them is near nothing.

    Attributes:
        asked: the texts of each call so far.
    """

    def __init__(self, *words: str) -> None:
        self.words = words
        self.asked: list[list[str]] = []

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked.append(list(texts))
        return [[float(text.lower().replace(".", " ").split().count(word)) for word in self.words] for text in texts]

    async def later(self, texts: Sequence[str]) -> list[list[float]]:
        """The same for those who wait for it."""
        return self(texts)
