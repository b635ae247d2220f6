"""The shop's database: customers, products, what was bought, paid and refunded, and an outbox, in SQLite; money in whole cents.

What must never happen is forbidden by the tables themselves: a refund for what nobody bought, a second refund of the same item, a stock
below zero. So it holds for whatever else may write to the file, and in whatever order threads come.
"""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

SCHEMA = """
CREATE TABLE IF NOT EXISTS Users (
    user_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    email TEXT,
    phone TEXT
) STRICT;
CREATE TABLE IF NOT EXISTS Products (
    product_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    price_cents INTEGER NOT NULL CHECK (price_cents > 0),
    stock INTEGER NOT NULL CHECK (stock >= 0)
) STRICT;
CREATE TABLE IF NOT EXISTS PurchaseHistory (
    item_id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id INTEGER NOT NULL REFERENCES Users,
    product_id INTEGER NOT NULL REFERENCES Products,
    bought_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
    order_key TEXT UNIQUE
) STRICT;
CREATE TABLE IF NOT EXISTS Payments (
    payment_id INTEGER PRIMARY KEY AUTOINCREMENT,
    item_id INTEGER NOT NULL REFERENCES PurchaseHistory,
    kind TEXT NOT NULL CHECK (kind IN ('charge', 'refund')),
    cents INTEGER NOT NULL CHECK (cents > 0),
    UNIQUE (item_id, kind)
) STRICT;
CREATE TABLE IF NOT EXISTS Outbox (
    message_id INTEGER PRIMARY KEY AUTOINCREMENT,
    payment_id INTEGER NOT NULL REFERENCES Payments,
    method TEXT NOT NULL CHECK (method IN ('email', 'phone')),
    address TEXT NOT NULL,
    text TEXT NOT NULL,
    taken_at TEXT,
    UNIQUE (payment_id, method)
) STRICT;
"""
SEED = """
INSERT OR IGNORE INTO Users VALUES
    (1, 'Ada', 'ada@shop.example', '+1 555 0100'), (2, 'Ben', NULL, '+1 555 0101'), (3, 'Cleo', 'cleo@shop.example', NULL);
INSERT OR IGNORE INTO Products VALUES
    (1, 'desk lamp', 3990, 12), (2, 'backpack', 6490, 5), (3, 'headphones', 11900, 3), (4, 'kettle', 2450, 8),
    (5, 'record player', 24900, 0);
INSERT OR IGNORE INTO PurchaseHistory VALUES
    (1, 1, 1, '2026-10-02 09:12:00', 'seed-1'), (2, 1, 4, '2026-10-19 17:40:00', 'seed-2'), (3, 2, 2, '2026-11-05 12:03:00', 'seed-3');
INSERT OR IGNORE INTO Payments VALUES (1, 1, 'charge', 3990), (2, 2, 'charge', 2290), (3, 3, 'charge', 6490);
"""


class Declined(Exception):
    """What the shop cannot do; the text is meant for the customer."""


class Purchase(NamedTuple):
    """What a customer bought.

    Attributes:
        item_id: its number in the purchase history.
        name: the product's name.
        cents: what was paid for it.
        refunded: whether the money was given back.
    """

    item_id: int
    name: str
    cents: int
    refunded: bool


class Product(NamedTuple):
    """What the shop sells.

    Attributes:
        product_id: its number.
        name: what it is.
        cents: its price now.
        stock: how many there are.
    """

    product_id: int
    name: str
    cents: int
    stock: int


class Message(NamedTuple):
    """A notification that waits to be sent.

    Attributes:
        message_id: its number.
        method: "email" or "phone".
        address: where it goes.
        text: what it says.
    """

    message_id: int
    method: str
    address: str
    text: str


def in_dollars(cents: int) -> str:
    """1234 as "12.34 dollars"."""
    return f"{cents // 100:,}.{cents % 100:02} dollars"


class Shop:
    """The database, for any number of threads, and beside other processes with the same file.

    Args:
        path: the database file, made and filled with a few customers and products if it is new; ":memory:" keeps it in memory.
    """

    def __init__(self, path: str | Path = ":memory:") -> None:
        self._connection = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
        weakref.finalize(self, self._connection.close)
        self._lock = threading.RLock()
        self._connection.execute("PRAGMA foreign_keys = ON")
        self._connection.executescript(f"BEGIN IMMEDIATE; {SCHEMA} {SEED} COMMIT;")

    def __deepcopy__(self, memo: dict[int, Any]) -> Shop:
        """The same shop: copies of the context variables share it."""
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
            except OverflowError:
                raise Declined("The shop has no number that large.") from None
            finally:
                if self._connection.in_transaction:  # not if it was committed; some failures end it by themselves
                    self._connection.execute("ROLLBACK")

    def _rows(self, sql: str, *values: Any) -> list[Any]:
        with self._lock:
            return self._connection.execute(sql, values).fetchall()

    def products(self) -> list[Product]:
        """What there is to buy, by number."""
        return [Product(*row) for row in self._rows("SELECT product_id, name, price_cents, stock FROM Products ORDER BY product_id")]

    def purchases(self, user_id: int) -> list[Purchase]:
        """What a customer bought, by number."""
        rows = self._rows(
            "SELECT item_id, name, MAX(cents), COUNT(*) > 1 FROM PurchaseHistory JOIN Products USING (product_id)"
            " JOIN Payments USING (item_id) WHERE user_id = ? GROUP BY item_id ORDER BY item_id",
            user_id,
        )
        return [Purchase(item, name, cents, bool(refunded)) for item, name, cents, refunded in rows]

    def order(self, user_id: int, product_id: int, key: str) -> Purchase:
        """Sell one piece of a product.

        Args:
            user_id: who buys.
            product_id: what.
            key: names this order; a second one of the same name sells nothing and gives the first.

        Raises:
            Declined: there is no such product, or none left, or no such customer.
        """
        with self._transaction() as db:
            self._user(user_id)
            found = db.execute("SELECT item_id FROM PurchaseHistory WHERE order_key = ?", (key,)).fetchall()
            if not found:
                taken = db.execute("UPDATE Products SET stock = stock - 1 WHERE product_id = ? AND stock > 0", (product_id,))
                if taken.rowcount != 1:
                    raise Declined(self._why_not(product_id))
                sold = "INSERT INTO PurchaseHistory (user_id, product_id, order_key) VALUES (?, ?, ?) RETURNING item_id"
                found = db.execute(sold, (user_id, product_id, key)).fetchall()
                paid = "INSERT INTO Payments (item_id, kind, cents) SELECT ?, 'charge', price_cents FROM Products WHERE product_id = ?"
                db.execute(paid, (found[0][0], product_id))
            return self._purchase(user_id, found[0][0])

    def refund(self, user_id: int, item_id: int) -> Purchase:
        """Give back what was paid for an item, at most once.

        Args:
            user_id: who bought it.
            item_id: which.

        Raises:
            Declined: this customer did not buy it, or has the money back.
        """
        with self._transaction() as db:
            self._purchase(user_id, item_id)
            back = "INSERT INTO Payments (item_id, kind, cents) SELECT item_id, 'refund', cents FROM Payments WHERE item_id = ?"
            if db.execute(f"{back} AND kind = 'charge' ON CONFLICT (item_id, kind) DO NOTHING", (item_id,)).rowcount != 1:
                raise Declined(f"Item {item_id} was refunded before.")
            return self._purchase(user_id, item_id)

    def notify(self, user_id: int, method: Literal["email", "phone"]) -> Message:
        """Put a message about the customer's last order or refund into the outbox, once for each way.

        Args:
            user_id: who gets it.
            method: how; the address is the one on record.

        Raises:
            Declined: there is no such address or customer, nothing to tell, or it was told.
        """
        with self._transaction() as db:
            name, addresses = self._user(user_id)
            if method not in addresses:
                raise Declined(f"There is no address for {method} on record, only for: {', '.join(addresses) or 'nothing'}.")
            last = self._rows(
                "SELECT payment_id, kind, cents, Products.name FROM Payments JOIN PurchaseHistory USING (item_id)"
                " JOIN Products USING (product_id) WHERE user_id = ? ORDER BY payment_id DESC LIMIT 1",
                user_id,
            )
            if not last:
                raise Declined("There is no order or refund to tell about.")
            payment, kind, cents, product = last[0]
            done = "Thank you for your order" if kind == "charge" else "Your money is on its way back"
            text = f"Hello {name}. {done}: {product}, {in_dollars(cents)}."
            put = "INSERT INTO Outbox (payment_id, method, address, text) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING message_id"
            number = db.execute(put, (payment, method, addresses[method], text)).fetchall()
            if not number:
                raise Declined(f"That was told before, by {method}.")
            return Message(number[0][0], method, addresses[method], text)

    def take_message(self) -> Message | None:
        """The oldest message that nobody has taken, for the program that sends them; no other gets the same one. None if there is none."""
        with self._transaction() as db:
            sql = "UPDATE Outbox SET taken_at = CURRENT_TIMESTAMP WHERE message_id ="
            sql += " (SELECT MIN(message_id) FROM Outbox WHERE taken_at IS NULL) RETURNING message_id, method, address, text"
            return next((Message(*row) for row in db.execute(sql).fetchall()), None)

    def _user(self, user_id: int) -> tuple[str, dict[str, str]]:
        """A customer's name, and the addresses on record."""
        for name, email, phone in self._rows("SELECT name, email, phone FROM Users WHERE user_id = ?", user_id):
            return name, {way: address for way, address in (("email", email), ("phone", phone)) if address is not None}
        raise Declined(f"There is no customer {user_id}.")

    def _purchase(self, user_id: int, item_id: int) -> Purchase:
        found = next((item for item in self.purchases(user_id) if item.item_id == item_id), None)
        if found is None:
            raise Declined(f"There is no item {item_id} among this customer's purchases.")
        return found

    def _why_not(self, product_id: int) -> str:
        name = next((product.name for product in self.products() if product.product_id == product_id), None)
        return f"There is no product {product_id}." if name is None else f"The {name} is out of stock."
