"""The database behind a store: SQLite or PostgreSQL, opened, migrated, and its failures put in words.

SQLite is used in WAL mode with `synchronous=FULL`, so that what was committed survives the loss of power
(https://www.sqlite.org/pragma.html#pragma_synchronous), and with `secure_delete`, so that what was deleted is overwritten.
"""

from __future__ import annotations

import os
import sqlite3
import weakref
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from threading import Lock, RLock
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from ...errors import ConfigError
from .errors import StoreError

VERSIONS = ("0001",)
"""The forms of a store that this release can read, oldest first; each but the last is migrated when it is opened."""

VERSION_TABLE = "swarm_sessions_version"
BUSY_SECONDS = 10
_MIGRATING = 0x5357_4152  # the number of PostgreSQL's advisory lock, any that others do not take


class Database:
    """One database, for any number of threads. Nothing is opened before it is first used.

    Args:
        url: a URL, or the path of an SQLite file.

    Raises:
        ConfigError: no URL that SQLAlchemy takes, another kind of database, or a missing driver.
    """

    def __init__(self, url: str | Path) -> None:
        self.name, self.is_sqlite, parsed = _read(url)
        options: dict[str, Any] = {"pool_pre_ping": True}
        if self.is_sqlite:
            in_memory = not parsed.database or parsed.database == ":memory:"
            options = {"connect_args": {"timeout": BUSY_SECONDS, "check_same_thread": False}, "poolclass": sa.QueuePool}
            options |= {"pool_size": 1, "max_overflow": 0} if in_memory else {}
        try:
            self.engine = sa.create_engine(parsed, **options)
        except ModuleNotFoundError as error:
            raise ConfigError(f'a store in PostgreSQL needs {error.name}: pip install "openswarm[sessions,postgres]"') from None
        if self.is_sqlite:
            event.listen(self.engine, "connect", _prepare_sqlite)
            event.listen(self.engine, "begin", _begin_sqlite)
        self._writer = self.engine.execution_options(swarm_writes=True)
        self._lock = RLock()
        self._turn = Lock()
        self._is_open = False
        self._process = os.getpid()
        weakref.finalize(self, _let_go, self.engine, self._process)

    @contextmanager
    def reading(self) -> Generator[sa.Connection]:
        """A transaction that sees one moment.

        Raises:
            StoreError: the store cannot be read.
        """
        with self._explained():
            self._open()
            with self.engine.connect() as connection:
                if not self.is_sqlite:
                    connection.execution_options(isolation_level="REPEATABLE READ")
                yield connection

    @contextmanager
    def writing(self) -> Generator[sa.Connection]:
        """A transaction that is kept once its block has ended, or not at all.

        Raises:
            StoreError: the store cannot be written.
        """
        with self._explained():
            self._open()
            # SQLite has one writer at a time, and asks again and again until it is its turn; in one process there is a better way to wait.
            with self._turn if self.is_sqlite else nullcontext(), self._writer.begin() as connection:
                yield connection

    def scrub(self) -> None:
        """Take out of SQLite's log what was deleted; it is overwritten in the file itself."""
        if self.is_sqlite:
            with self._explained():
                connection: Any = self.engine.raw_connection()  # a checkpoint cannot be made inside a transaction
                try:
                    connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                finally:
                    connection.close()

    def close(self) -> None:
        """Close every connection. The next use opens new ones, to what is there by then."""
        self.engine.dispose()
        self._is_open = False

    def _open(self) -> None:
        with self._lock:
            if os.getpid() != self._process:  # connections do not survive a fork
                self.engine.dispose(close=False)
                self._turn = Lock()
                self._process = os.getpid()
            if not self._is_open:
                with self.engine.connect() as connection:
                    version = _version_of(connection, self.name)
                if version != VERSIONS[-1]:
                    self._migrate()
                self._is_open = True

    def _migrate(self) -> None:
        from alembic import command
        from alembic.config import Config

        config = Config()
        config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
        config.set_main_option("path_separator", "os")
        with self._writer.begin() as connection:
            if not self.is_sqlite:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_MIGRATING)))
            if _version_of(connection, self.name) != VERSIONS[-1]:  # else another process was faster
                config.attributes |= {"connection": connection, "version_table": VERSION_TABLE}
                command.upgrade(config, "head")

    @contextmanager
    def _explained(self) -> Generator[None]:
        try:
            yield
        except (DBAPIError, sqlite3.Error) as error:
            cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
            said = f"the session store {self.name} {_words_for(cause)} ({type(cause).__name__}: {str(cause).strip()})"
            if isinstance(cause, sqlite3.DatabaseError):
                self.engine.dispose()  # a file that is put back in its place is then read anew
            raise StoreError(said) from error
        except PoolTimeout as error:
            raise StoreError(f"the session store {self.name} is too busy: no connection came free ({error})") from error


def _read(url: str | Path) -> tuple[str, bool, sa.URL]:
    """The name of a database to be shown, whether it is SQLite, and its URL."""
    if not str(url):  # SQLite would take it for a file that is deleted when it is closed
        raise ConfigError("a session store needs the path of a file, or a URL; it was given an empty text")
    if isinstance(url, Path) or "://" not in url:
        return repr(str(url)), True, sa.URL.create("sqlite", database=str(url))
    try:
        parsed = sa.make_url(url)
    except (ArgumentError, NoSuchModuleError):
        raise ConfigError(f"{url.split('@')[-1]!r} is no URL of a database") from None
    kind = parsed.get_backend_name()
    if kind == "sqlite":
        return repr(parsed.database or ":memory:"), True, parsed
    if kind not in ("postgresql", "postgres"):
        raise ConfigError(f"a session store lives in SQLite or PostgreSQL, not in {kind}: give a path, or postgresql://...")
    return repr(parsed.render_as_string(hide_password=True)), False, parsed.set(drivername="postgresql+psycopg")


def _let_go(engine: sa.Engine, process: int) -> None:
    """Close the connections of a store that nobody closed, also when the program ends; after a fork they belong to the parent."""
    engine.dispose(close=os.getpid() == process)


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # transactions are begun below
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: sa.Connection) -> None:
    # A transaction that writes says so at once: one that began by reading could not wait for another writer.
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("swarm_writes") else "BEGIN")


def _version_of(connection: sa.Connection, name: str) -> str | None:
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return None
    version = connection.execute(sa.text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()
    if version is not None and version not in VERSIONS:
        raise StoreError(
            f"the session store {name} was made by a newer release: it has form {version}, this release knows {VERSIONS[-1]}; "
            "install that release, nothing was changed"
        )
    return version


def _words_for(cause: BaseException) -> str:
    text = str(cause).lower()
    if "is full" in text or "no space left" in text or getattr(cause, "sqlstate", None) == "53100":
        return "is full: this step was not kept, all before it is; make room on the disk, then go on"
    if "malformed" in text or "not a database" in text or "file is encrypted" in text:
        return "is damaged: put a backup in its place, or try `sqlite3 FILE .recover`"
    if "locked" in text or "busy" in text:
        return f"was kept by another program for more than {BUSY_SECONDS} s; try again"
    if "unable to open" in text or "readonly" in text or "permission" in text:
        return "cannot be opened: the folder must exist and be writable"
    if isinstance(cause, sqlite3.Error):
        return "failed: this step was not kept, all before it is"
    return "cannot be reached or used: this step was not kept, all before it is; go on when the database is there"
