"""The support team's desk: tickets and outgoing mail in SQLite, for any number of threads and processes."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from swarm.errors import ConfigError

SCHEMA = """
CREATE TABLE IF NOT EXISTS ticket (
    id INTEGER PRIMARY KEY,
    description TEXT NOT NULL CHECK (trim(description) <> ''),
    state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'closed')),
    created TEXT NOT NULL DEFAULT (datetime('now')),
    key TEXT UNIQUE
) STRICT;
CREATE TABLE IF NOT EXISTS mail (
    id INTEGER PRIMARY KEY,
    recipient TEXT NOT NULL,
    message TEXT NOT NULL CHECK (trim(message) <> ''),
    state TEXT NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'unclear', 'sent', 'refused')),
    reason TEXT NOT NULL DEFAULT '',
    created TEXT NOT NULL DEFAULT (datetime('now')),
    key TEXT UNIQUE
) STRICT;
"""


class Mail(NamedTuple):
    """A mail of the outbox.

    Attributes:
        id: its number.
        recipient: an address.
        message: its text.
        state: "queued"; "unclear" while it is being handed to a server, and for good if that broke off half-way; "sent"; "refused".
        reason: why it is not sent.
    """

    id: int
    recipient: str
    message: str
    state: str
    reason: str


class Desk:
    """Tickets and mail in one database file.

    Args:
        path: made when it is first used.

    Raises:
        ConfigError: later, if the file cannot be opened or used.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextmanager
    def _open(self) -> Generator[sqlite3.Connection]:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self._path, timeout=20, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise ConfigError(f"{self._path} cannot be opened: {error}; name another folder with SUPPORT_BOT_HOME") from None
        with closing(connection):
            try:
                connection.executescript(SCHEMA)
                yield connection
            except sqlite3.DatabaseError as error:
                raise ConfigError(
                    f"{self._path} cannot be used: {error}; if it is damaged, name another folder with SUPPORT_BOT_HOME"
                ) from None

    def submit(self, description: str, key: str | None = None) -> int:
        """Open a ticket. Returns its number.

        Args:
            description: what it is about.
            key: names this order; a second one of the same name gives the ticket of the first.
        """
        return self._added("ticket", "(description, key) VALUES (?, ?)", key, (description,))

    def tickets(self) -> list[tuple[int, str, str]]:
        """Number, state and description of each ticket."""
        with self._open() as database:
            return database.execute("SELECT id, state, description FROM ticket ORDER BY id").fetchall()

    def queue(self, recipient: str, message: str, key: str | None = None) -> int:
        """Put a mail into the outbox. Returns its number.

        Args:
            recipient, message: an address that was checked, and a text.
            key: as for `submit`.
        """
        return self._added("mail", "(recipient, message, key) VALUES (?, ?, ?)", key, (recipient, message))

    def _added(self, table: str, columns: str, key: str | None, values: tuple[str, ...]) -> int:
        with self._open() as database:
            sql = f"INSERT INTO {table} {columns} ON CONFLICT (key) DO NOTHING RETURNING id"
            new = database.execute(sql, (*values, key)).fetchone()
            return new[0] if new else database.execute(f"SELECT id FROM {table} WHERE key = ?", (key,)).fetchone()[0]

    def mail(self, number: int) -> Mail:
        """One mail."""
        return next(mail for mail in self.mails() if mail.id == number)

    def mails(self) -> list[Mail]:
        """All of the outbox, oldest first."""
        with self._open() as database:
            return [Mail(*row) for row in database.execute("SELECT id, recipient, message, state, reason FROM mail ORDER BY id")]

    def claim(self, number: int) -> bool:
        """Take a queued mail to hand it to a server. Whether it was to be had: only one of many gets it."""
        return self._update("UPDATE mail SET state = 'unclear' WHERE id = ? AND state = 'queued'", number)

    def settle(self, number: int, state: str, reason: str = "") -> None:
        """Write down what became of a mail."""
        self._update("UPDATE mail SET state = ?, reason = ? WHERE id = ?", state, reason, number)

    def _update(self, sql: str, *values: Any) -> bool:
        with self._open() as database:
            return database.execute(sql, values).rowcount == 1
