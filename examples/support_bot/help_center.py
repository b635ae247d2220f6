"""The help center: articles kept in an index, found by what they mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from . import settings
from .articles import Article
from .embeddings import Embedder, Endpoint, Offline
from .errors import NotPrepared, OtherModel
from .index import About, Hit, Index, Point

TOP = 5
"""How many articles a question finds."""

BATCH = 16
"""Articles that are embedded and kept at once: what an interruption may lose."""


class Changes(NamedTuple):
    """What preparing did: how many articles were added, changed, removed, and left as they were."""

    added: int
    changed: int
    removed: int
    kept: int

    def __str__(self) -> str:
        return f"{self.added} added, {self.changed} changed, {self.removed} removed, {self.kept} as they were"


class HelpCenter:
    """Articles that can be searched.

    Args:
        index: where they are.
        embedder: turns articles and questions into vectors; the same for both.
    """

    def __init__(self, index: Index, embedder: Embedder) -> None:
        self.index = index
        self.embedder = embedder

    def is_prepared(self) -> bool:
        """Whether there is anything to search.

        Raises:
            OtherModel: there is, but made with another model.
        """
        return self._about() is not None

    def search(self, question: str) -> list[Hit]:
        """The TOP articles nearest to a question, best first; none that is too far to answer it.

        Raises:
            NotPrepared, OtherModel, HelpCenterError: it cannot be searched.
        """
        about = self._about()
        if about is None:
            raise NotPrepared(self.index.place)
        [vector] = self.embedder.embed([question])
        self._check(about, len(vector))
        return [hit for hit in self.index.nearest(vector, TOP) if hit.score >= self.embedder.floor]

    def prepare(self, articles: Sequence[Article], advance: Callable[[int], None] = lambda done: None) -> Changes:
        """Make the index hold these articles and no others. Only new and changed ones are embedded.

        Args:
            articles: all of them.
            advance: told how many articles are done, as they are.

        Raises:
            OtherModel, HelpCenterError: the index cannot hold them.
        """
        about, known = self._about(), self.index.digests()
        new = [article for article in articles if known.get(article.id) != article.digest]
        advance(len(articles) - len(new))
        for start in range(0, len(new), BATCH):
            batch = new[start : start + BATCH]
            vectors = self.embedder.embed([article.whole for article in batch])
            about = about or About(self.embedder.model, len(vectors[0]))
            self._check(about, len(vectors[0]))
            self.index.put([Point(article, vector, self.embedder.model) for article, vector in zip(batch, vectors, strict=True)])
            advance(len(batch))
        if gone := known.keys() - {article.id for article in articles}:
            self.index.drop(gone)
        changed = sum(article.id in known for article in new)
        return Changes(len(new) - changed, changed, len(gone), len(articles) - len(new))

    def _about(self) -> About | None:
        about = self.index.about()
        if about is not None and about.model != self.embedder.model:
            raise OtherModel(self.index.place, about, self.embedder.model)
        return about

    def _check(self, about: About, size: int) -> None:
        if about.size != size:
            raise OtherModel(self.index.place, about, About(self.embedder.model, size))


def help_center(home: Path | None = None, offline: bool = False) -> HelpCenter:
    """The help center that the environment names; see `settings`.

    Args:
        home: another folder.
        offline: whether to use the model on this machine, whatever is set.

    Raises:
        ConfigError: an extra is not installed.
    """
    return _opened(settings.qdrant_url(), home or settings.home(), "" if offline else settings.embeddings_model())


@lru_cache(maxsize=8)
def _opened(url: str, home: Path, model: str) -> HelpCenter:
    from .edge import EdgeIndex
    from .server import connected

    return HelpCenter(connected(url) if url else EdgeIndex(home / "index"), Endpoint(model) if model else Offline())
