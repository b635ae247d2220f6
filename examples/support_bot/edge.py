"""The index in a folder on disk, by qdrant-edge-py: no server, nothing to install but the extra `vector`.

A shard belongs to one process while it is open. So it is opened for each operation (10 ms for 50 articles) and closed again, under a lock
that the operating system gives back when a process dies: several processes can search and prepare the same folder.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from .errors import HelpCenterError
from .index import About, Hit, Point, about_of, hit, point_id

if TYPE_CHECKING:
    from qdrant_edge import EdgeShard

T = TypeVar("T")

MOST = 100_000
"""Points that are looked through at once."""


class EdgeIndex:
    """An index in a folder.

    Args:
        folder: made when the first points come.
        wait: seconds for another process to finish with it.

    Raises:
        HelpCenterError: the extra is not installed; later: the folder is in use for longer than that, is damaged or cannot be written.
    """

    def __init__(self, folder: Path, wait: float = 20.0) -> None:
        try:
            import qdrant_edge
        except ImportError as error:
            raise HelpCenterError('the index in a folder needs an extra: pip install "openswarm[vector]"') from error
        self._edge = qdrant_edge
        self._folder = folder
        self._wait = wait
        self.place = str(folder)

    def about(self) -> About | None:
        first = self._read(lambda shard: self._payloads(shard, 1))
        return about_of(first[0]) if first else None

    def digests(self) -> dict[str, str]:
        found = self._read(lambda shard: self._payloads(shard, MOST))
        return {payload["id"]: payload["digest"] for payload in found or ()}

    def put(self, points: Sequence[Point]) -> None:
        edge = self._edge
        made = [edge.Point(point_id(point.article.id), point.vector, point.payload) for point in points]
        with self._locked():
            if not self._folder.exists():
                config = edge.EdgeConfig(vectors=edge.EdgeVectorParams(size=len(points[0].vector), distance=edge.Distance.Cosine))
                self._tried(lambda: edge.EdgeShard.create(str(self._folder), config).close())
            self._changed(edge.UpdateOperation.upsert_points(made))

    def drop(self, ids: Collection[str]) -> None:
        with self._locked():
            self._changed(self._edge.UpdateOperation.delete_points([point_id(id) for id in ids]))

    def clear(self) -> None:
        with self._locked():
            try:
                if self._folder.is_dir():
                    shutil.rmtree(self._folder)
                else:
                    self._folder.unlink(missing_ok=True)
            except OSError as error:
                raise self._unwritable(error) from None

    def nearest(self, vector: list[float], limit: int) -> list[Hit]:
        edge = self._edge
        request = edge.QueryRequest(limit=limit, query=edge.Query.Nearest(vector), with_payload=True)
        found = self._read(lambda shard: [(point.payload, point.score) for point in shard.query(request)])
        return [hit(cast("dict[str, Any]", payload), score) for payload, score in found or ()]

    def _payloads(self, shard: EdgeShard, limit: int) -> list[dict[str, Any]]:
        records, _ = shard.scroll(self._edge.ScrollRequest(limit=limit, with_payload=True))
        return [cast("dict[str, Any]", record.payload) for record in records]

    def _read(self, look: Callable[[EdgeShard], T]) -> T | None:
        if not self._folder.exists():
            return None
        with self._locked():
            return self._tried(lambda: self._with_shard(look))

    def _changed(self, operation: Any) -> None:
        def change(shard: EdgeShard) -> None:
            shard.update(operation)
            shard.flush()

        self._tried(lambda: self._with_shard(change))

    def _with_shard(self, use: Callable[[EdgeShard], T]) -> T:
        with closing(self._edge.EdgeShard.load(str(self._folder))) as shard:
            return use(shard)

    def _tried(self, operation: Callable[[], T]) -> T:
        """What an operation comes to. A damaged file may make the engine panic, which is no Exception."""
        try:
            return operation()
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as error:
            raise HelpCenterError(
                f"the index in {self.place} cannot be used: {error}. If another program holds it open, close that; if the folder is "
                "damaged, make it anew: python -m examples.support_bot.prep --anew"
            ) from None

    @contextmanager
    def _locked(self) -> Generator[None]:
        lock = self._folder.with_name(f"{self._folder.name}.lock")
        try:
            lock.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(lock, timeout=self._wait, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise self._unwritable(error) from None
        with closing(connection):
            try:
                connection.execute("BEGIN EXCLUSIVE")
            except sqlite3.DatabaseError as error:
                if "locked" not in str(error):
                    raise HelpCenterError(f"{lock} cannot be used: {error}; remove that file if it is damaged") from None
                raise HelpCenterError(
                    f"the index in {self.place} has been in use by another process for {self._wait:g} seconds; wait until that is done"
                ) from None
            yield

    def _unwritable(self, error: Exception) -> HelpCenterError:
        return HelpCenterError(f"{self._folder.parent} cannot be written: {error}; name another folder with SUPPORT_BOT_HOME")
