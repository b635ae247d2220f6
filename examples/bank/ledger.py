"""The bank's books: accounts, entries and cards in SQLite, money in whole cents, every transfer in one transaction."""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SCHEMA = """
CREATE TABLE IF NOT EXISTS account (
    number TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    cents INTEGER NOT NULL CHECK (cents >= 0)
) STRICT;
CREATE TABLE IF NOT EXISTS entry (
    id INTEGER PRIMARY KEY,
    account TEXT NOT NULL REFERENCES account (number),
    cents INTEGER NOT NULL CHECK (cents <> 0),
    text TEXT NOT NULL,
    key TEXT,
    UNIQUE (account, key)
) STRICT;
CREATE TABLE IF NOT EXISTS card (
    last_four TEXT PRIMARY KEY,
    account TEXT NOT NULL REFERENCES account (number),
    blocked INTEGER NOT NULL DEFAULT 0
) STRICT;
"""
SAMPLE = """
INSERT OR IGNORE INTO account VALUES ('ADA-1', 'Ada', 250000), ('BOB-1', 'Bob', 12000), ('BANK', 'The bank', 100000000);
INSERT OR IGNORE INTO entry VALUES
    (1, 'ADA-1', 300000, 'Salary', NULL), (2, 'ADA-1', -48500, 'Rent', NULL), (3, 'ADA-1', -1500, 'Account fee', NULL);
INSERT OR IGNORE INTO card VALUES ('4821', 'ADA-1', 0), ('7003', 'BOB-1', 0);
"""


class Declined(Exception):
    """What the bank cannot do; the text is meant for the customer."""


class Ledger:
    """The books, for any number of threads.

    Args:
        path: the database file; ":memory:" keeps it in memory.
    """

    def __init__(self, path: str | Path = ":memory:") -> None:
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        weakref.finalize(self, self._connection.close)
        self._lock = threading.RLock()
        self._connection.execute("PRAGMA foreign_keys = ON")
        self._connection.executescript(SCHEMA + SAMPLE)

    def __deepcopy__(self, memo: dict[int, Any]) -> Ledger:
        """The books themselves: a copy of the context variables holds the same ones."""
        return self

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    @contextmanager
    def _transaction(self) -> Generator[sqlite3.Connection]:
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:  # some failures end it by themselves
                    self._connection.execute("ROLLBACK")
                raise

    def _one(self, sql: str, *values: Any) -> Any:
        with self._lock:
            return self._connection.execute(sql, values).fetchone()

    def account_of(self, owner: str) -> str:
        """The number of somebody's account."""
        found = self._one("SELECT number FROM account WHERE owner = ? COLLATE NOCASE", owner)
        if found is None:
            raise Declined(f"{owner} has no account with this bank.")
        return found[0]

    def balance(self, account: str) -> int:
        """What is on an account, in cents."""
        return self._one("SELECT cents FROM account WHERE number = ?", account)[0]

    def entries(self, account: str, count: int) -> list[tuple[int, int, str]]:
        """The latest entries, newest first: number, cents, text."""
        with self._lock:
            sql = "SELECT id, cents, text FROM entry WHERE account = ? ORDER BY id DESC LIMIT ?"
            return self._connection.execute(sql, (account, count)).fetchall()

    def transfer(self, source: str, target: str, cents: int, text: str, key: str) -> bool:
        """Move money.

        Args:
            source, target: the accounts.
            cents: how much, above zero.
            text: what the entries say.
            key: names this order; a second one of the same name moves nothing.

        Returns:
            whether money was moved.

        Raises:
            Declined: there is not so much on the account.
        """
        with self._transaction() as books:
            if books.execute("SELECT 1 FROM entry WHERE account = ? AND key = ?", (source, key)).fetchone():
                return False
            moved = books.execute("UPDATE account SET cents = cents - ?1 WHERE number = ?2 AND cents >= ?1", (cents, source))
            if moved.rowcount != 1:
                raise Declined("There is not enough money on the account.")
            books.execute("UPDATE account SET cents = cents + ? WHERE number = ?", (cents, target))
            rows = [(source, -cents, text, key), (target, cents, text, key)]
            books.executemany("INSERT INTO entry (account, cents, text, key) VALUES (?, ?, ?, ?)", rows)
        return True

    def refund_fee(self, account: str, entry: int) -> int:
        """Give back a fee, at most once. Returns the cents.

        Raises:
            Declined: the entry is no fee of this account.
        """
        found = self._one("SELECT cents FROM entry WHERE id = ? AND account = ? AND text LIKE '%fee%' AND cents < 0", entry, account)
        if found is None:
            raise Declined(f"Entry {entry} is no fee of this account.")
        cents = -found[0]
        if not self.transfer("BANK", account, cents, f"Refund of entry {entry}", f"refund-{entry}"):
            raise Declined(f"Entry {entry} was refunded before.")
        return cents

    def block_card(self, account: str, last_four: str) -> None:
        """Block a card for good.

        Raises:
            Declined: the account has no such card.
        """
        with self._transaction() as books:
            if books.execute("UPDATE card SET blocked = 1 WHERE last_four = ? AND account = ?", (last_four, account)).rowcount != 1:
                raise Declined(f"There is no card ending in {last_four} on this account.")

    def is_blocked(self, last_four: str) -> bool:
        """Whether a card is blocked."""
        return bool(self._one("SELECT blocked FROM card WHERE last_four = ?", last_four)[0])
