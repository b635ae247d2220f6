"""The index on a Qdrant server, by qdrant-client and the extra `qdrant`."""

from __future__ import annotations

import os
from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from .errors import HelpCenterError
from .index import About, Hit, Point, about_of, hit, point_id

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

COLLECTION = "support_bot"
SECONDS = 10
MOST = 10_000
"""Points that are fetched at once."""


class ServerIndex:
    """An index in one collection of a server.

    Args:
        client: the server's client.
        place: the server's address, for people.
    """

    def __init__(self, client: QdrantClient, place: str) -> None:
        self._client = client
        self.place = f"{place}, collection {COLLECTION}"

    def about(self) -> About | None:
        with self._telling():
            if not self._client.collection_exists(COLLECTION):
                return None
            records, _ = self._client.scroll(COLLECTION, limit=1)
        return about_of(cast("dict[str, Any]", records[0].payload)) if records else None

    def digests(self) -> dict[str, str]:
        found: dict[str, str] = {}
        offset: Any = None
        with self._telling():
            if not self._client.collection_exists(COLLECTION):
                return found
            while True:
                records, offset = self._client.scroll(COLLECTION, limit=MOST, offset=offset, with_payload=["id", "digest"])
                payloads = (cast("dict[str, str]", record.payload) for record in records)
                found |= {payload["id"]: payload["digest"] for payload in payloads}
                if offset is None:
                    return found

    def put(self, points: Sequence[Point]) -> None:
        from qdrant_client import models

        made = [models.PointStruct(id=point_id(point.article.id), vector=point.vector, payload=point.payload) for point in points]
        with self._telling():
            if not self._client.collection_exists(COLLECTION):
                config = models.VectorParams(size=len(points[0].vector), distance=models.Distance.COSINE)
                self._client.create_collection(COLLECTION, vectors_config=config)
            self._client.upsert(COLLECTION, made)

    def drop(self, ids: Collection[str]) -> None:
        from qdrant_client import models

        with self._telling():
            self._client.delete(COLLECTION, models.PointIdsList(points=[point_id(id) for id in ids]))

    def clear(self) -> None:
        with self._telling():
            self._client.delete_collection(COLLECTION)

    def nearest(self, vector: list[float], limit: int) -> list[Hit]:
        with self._telling():
            found = self._client.query_points(COLLECTION, vector, limit=limit, with_payload=True).points
        return [hit(cast("dict[str, Any]", point.payload), point.score) for point in found]

    @contextmanager
    def _telling(self) -> Generator[None]:
        try:
            yield
        except Exception as error:  # the client has no common base for what it raises
            said = " ".join(str(error).split())[:300]
            raise HelpCenterError(f"the Qdrant server at {self.place}: {said}; check QDRANT_URL and QDRANT_API_KEY") from error


def connected(url: str) -> ServerIndex:
    """The index on the server at an address.

    Raises:
        HelpCenterError: the extra is not installed.
    """
    try:
        from qdrant_client import QdrantClient
    except ImportError as error:
        raise HelpCenterError('QDRANT_URL needs an extra: pip install "openswarm[qdrant]"') from error
    key = os.environ.get("QDRANT_API_KEY")
    return ServerIndex(QdrantClient(url=url, api_key=key, timeout=SECONDS, check_compatibility=False), url)
