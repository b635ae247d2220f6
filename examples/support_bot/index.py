"""What the help center asks of a vector database. The two that are there, `edge.py` and `server.py`, hold the same points."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, Protocol
from uuid import NAMESPACE_URL, uuid5

from .articles import Article


class About(NamedTuple):
    """What the vectors of an index are.

    Attributes:
        model: the name of the model that made them.
        size: how many numbers each has.
    """

    model: str
    size: int

    def __str__(self) -> str:
        return f"{self.model} ({self.size} numbers a vector)"


class Point(NamedTuple):
    """An article and its vector."""

    article: Article
    vector: list[float]
    model: str

    @property
    def payload(self) -> dict[str, Any]:
        """What is kept beside the vector. Model and size stand in every point, so that a half-made index knows them too."""
        return {**self.article._asdict(), "digest": self.article.digest, "model": self.model, "size": len(self.vector)}


class Hit(NamedTuple):
    """An article that was found, and the cosine of its vector and the question's."""

    article: Article
    score: float


class Index(Protocol):
    """A vector database that holds one help center.

    Attributes:
        place: where it is, for people.
    """

    place: str

    def about(self) -> About | None:
        """What its vectors are; None if there is none yet."""
        ...

    def digests(self) -> dict[str, str]:
        """The digest of each article, by id."""
        ...

    def put(self, points: Sequence[Point]) -> None:
        """Add points; those of the same articles are replaced. The first ones create the index."""
        ...

    def drop(self, ids: Collection[str]) -> None:
        """Remove articles."""
        ...

    def clear(self) -> None:
        """Remove the index, whatever is in it."""
        ...

    def nearest(self, vector: list[float], limit: int) -> list[Hit]:
        """The articles whose vectors are nearest by cosine, best first."""
        ...


def point_id(article_id: str) -> str:
    """The id of an article's point; Qdrant takes numbers and UUIDs only."""
    return str(uuid5(NAMESPACE_URL, article_id))


def about_of(payload: dict[str, Any]) -> About:
    """What a point's payload says of its vector."""
    return About(payload["model"], payload["size"])


def hit(payload: dict[str, Any], score: float) -> Hit:
    """A point that was found."""
    return Hit(Article(*(payload[field] for field in Article._fields)), score)
