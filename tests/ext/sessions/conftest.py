"""Stores in both databases: a test that takes `url` or `store` runs in SQLite and in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from swarm.ext.sessions import SessionStore
from tests.postgres import postgres_server, schema

__all__ = ["postgres_server"]


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty database."""
    if request.param == "sqlite":
        yield str(tmp_path / "sessions.db")
        return
    with schema(request.getfixturevalue("postgres_server")) as url:
        yield url


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(url: str, clock: Clock) -> Iterator[SessionStore]:
    """A store whose time is that of `clock`."""
    with SessionStore(url, clock=clock) as store:
        yield store
