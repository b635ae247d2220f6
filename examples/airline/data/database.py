"""The airline's records: customers, flights, fares, seats, bookings, payments and bags in SQLite, each change in one transaction.

What must never happen is refused by the tables themselves: a seat given away twice, a booking paid back twice, an amount in fractions.
"""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal, NamedTuple

from .seed import NOW, SCHEMA, SEED

BOOKING = """
SELECT booking.code, booking.customer, booking.status, flight.id, flight.number, flight.origin, flight.destination, flight.departure,
    booking.fare, fare.cents, rule.refundable, rule.changes, booking.changed, seat.place,
    (SELECT coalesce(sum(cents), 0) FROM payment WHERE payment.booking = booking.code)
FROM booking
    JOIN flight ON flight.id = booking.flight
    JOIN fare ON fare.flight = booking.flight AND fare.name = booking.fare
    JOIN rule ON rule.fare = booking.fare
    LEFT JOIN seat ON seat.booking = booking.code
"""
DAY_EARLIER = """
SELECT flight.number, flight.departure, fare.cents, flight.id,
    (SELECT count(*) FROM seat WHERE seat.flight = flight.id AND seat.booking IS NULL)
FROM flight JOIN fare ON fare.flight = flight.id AND fare.name = ?
WHERE flight.origin = ? AND flight.destination = ? AND date(flight.departure) = date(?, '-1 day') AND flight.departure > ?
ORDER BY abs(julianday(flight.departure) - julianday(?, '-1 day')), flight.number LIMIT 1
"""
MISSING_BAG = """
SELECT bag.tag, bag.place, customer.address FROM bag
    JOIN booking ON booking.code = bag.booking
    JOIN flight ON flight.id = booking.flight
    JOIN customer ON customer.number = booking.customer
WHERE customer.number = ? AND flight.departure <= ?
ORDER BY bag.deliver_to IS NOT NULL, flight.departure DESC, bag.tag LIMIT 1
"""


class Declined(Exception):
    """What the airline cannot do; the text is meant for the customer."""


class Customer(NamedTuple):
    """A customer, as their record has it; `credit` in cents."""

    number: str
    name: str
    phone: str
    email: str
    address: str
    status: str
    since: int
    credit: int


class Booking(NamedTuple):
    """A booking with its flight. In cents: `price`, the fare as it is now, and `paid`, what was paid and not given back.

    `changes` is how many the fare allows, `changed` how many were made.
    """

    code: str
    customer: str
    status: str
    flight_id: int
    flight: str
    origin: str
    destination: str
    departure: str
    fare: str
    price: int
    refundable: int
    changes: int
    changed: int
    seat: str | None
    paid: int


class Offer(NamedTuple):
    """Another flight for a booking; `difference` in cents, below zero if it is cheaper."""

    flight: str
    departure: str
    difference: int
    flight_id: int
    free_seats: int


class Bag(NamedTuple):
    """A bag that did not arrive; `place` is where it is, None if nobody knows, `address` where it is brought."""

    tag: str
    place: str | None
    address: str


def sample_clock() -> datetime:
    """The moment at which every conversation with the sample takes place."""
    return datetime.fromisoformat(NOW)


class Airline:
    """The records, for any number of threads.

    Args:
        path: the database file, made and filled with the sample if it is not there; ":memory:" keeps it in memory.
        clock: says what time it is, in the airports' own time.
    """

    def __init__(self, path: str | Path = ":memory:", clock: Callable[[], datetime] = sample_clock) -> None:
        self._clock = clock
        self._connection = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
        weakref.finalize(self, self._connection.close)
        self._lock = threading.RLock()
        self._connection.execute("PRAGMA foreign_keys = ON")
        with self._transaction() as records:
            if not records.execute("SELECT 1 FROM sqlite_schema").fetchone():
                for statement in f"{SCHEMA}{SEED}".split(";"):
                    records.execute(statement)

    def __deepcopy__(self, memo: dict[int, Any]) -> Airline:
        """The records themselves: a copy of the context variables holds the same ones."""
        return self

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    def customer(self, number: str) -> Customer:
        """Look a customer up.

        Raises:
            Declined: there is none of that number.
        """
        found = self._one("SELECT * FROM customer WHERE number = ?", number)
        if found is None:
            raise Declined(f"There is no customer {number}.")
        return Customer(*found)

    def booking(self, customer: str, code: str) -> Booking:
        """Look up a booking of a customer's.

        Raises:
            Declined: the customer has none of that code. Whether anybody else has is not told.
        """
        found = self._one(f"{BOOKING} WHERE booking.code = ? AND booking.customer = ?", code, customer)
        if found is None:
            raise Declined(f"Customer {customer} has no booking {code}.")
        return Booking(*found)

    def next_booking(self, customer: str) -> Booking:
        """The booking of a customer's next flight, a cancelled one only if there is no other; if none is to come, of the last.

        Raises:
            Declined: the customer has no booking.
        """
        soonest = "ORDER BY flight.departure <= ?2, booking.status <> 'booked', abs(julianday(flight.departure) - julianday(?2)) LIMIT 1"
        found = self._one(f"{BOOKING} WHERE booking.customer = ?1 {soonest}", customer, self._now())
        if found is None:
            raise Declined(f"Customer {customer} has no booking.")
        return Booking(*found)

    def changeable(self, customer: str, code: str) -> Booking:
        """A booking, if its fare and the time allow that it is changed.

        Raises:
            Declined: says why it may not be changed.
        """
        booking = self._still_booked(customer, code)
        if booking.changed >= booking.changes:
            what = "another change" if booking.changes else "changes"
            raise Declined(f"The fare of flight {booking.flight} does not allow {what}.")
        return booking

    def day_earlier(self, booking: Booking) -> Offer | None:
        """The flight on the same route one day earlier, at the nearest time, if there is one and it has not departed."""
        values = (booking.fare, booking.origin, booking.destination, booking.departure, self._now(), booking.departure)
        found = self._one(DAY_EARLIER, *values)
        return None if found is None else Offer(*found)._replace(difference=found[2] - booking.price)

    def change(self, customer: str, code: str) -> Booking:
        """Move a booking to the flight one day earlier: a seat is taken there, the old one freed, the fare difference booked.

        Raises:
            Declined: it may not be changed, there is no such flight, or no seat is free; nothing is changed then.
        """
        with self._transaction() as records:
            booking = self.changeable(customer, code)
            offer = self.day_earlier(booking)
            if offer is None:
                raise Declined("There is no flight one day earlier.")
            free = self._one("SELECT place FROM seat WHERE flight = ? AND booking IS NULL ORDER BY place LIMIT 1", offer.flight_id)
            if free is None:
                raise Declined("No seat is free.")
            records.execute("UPDATE seat SET booking = NULL WHERE booking = ?", (code,))
            records.execute("UPDATE seat SET booking = ? WHERE flight = ? AND place = ?", (code, offer.flight_id, free[0]))
            records.execute("UPDATE booking SET flight = ?, changed = changed + 1 WHERE code = ?", (offer.flight_id, code))
            if offer.difference:
                self._pay(code, "fare difference", offer.difference, self._clock())
            return self.booking(customer, code)

    def give_back(self, customer: str, code: str, kind: Literal["refund", "credits"]) -> int:
        """Cancel a booking and give back what was paid for it, as money or as flight credits, once. Returns the cents.

        Raises:
            Declined: it was given back before, the flight has departed, or the fare gives no money back; nothing is changed then.
        """
        now = self._clock()
        with self._transaction() as records:
            booking = self._still_booked(customer, code)
            if kind == "refund" and not booking.refundable:
                raise Declined(f"The fare of flight {booking.flight} gives no money back, but flight credits.")
            due = business_days_after(now, 5) if kind == "refund" else now + timedelta(minutes=15)
            self._pay(code, kind, -booking.paid, due)
            records.execute("UPDATE seat SET booking = NULL WHERE booking = ?", (code,))
            records.execute("UPDATE booking SET status = ? WHERE code = ?", ("refunded" if kind == "refund" else "credited", code))
            if kind == "credits":
                records.execute("UPDATE customer SET credit = credit + ? WHERE number = ?", (booking.paid, customer))
            return booking.paid

    def search_bag(self, customer: str) -> Bag | None:
        """Search for a bag of the customer's that did not arrive, and have it delivered to the customer if it is known where it is.

        Returns:
            the bag, whose `place` is None if it was not found; None if all their bags have arrived.
        """
        now = self._now()
        with self._transaction() as records:
            found = self._one(MISSING_BAG, customer, now)
            if found is None:
                return None
            bag = Bag(*found)
            sql = "UPDATE bag SET searched = coalesce(searched, ?), deliver_to = ? WHERE tag = ?"
            records.execute(sql, (now, bag.address if bag.place else None, bag.tag))
            return bag

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """What a query of one's own finds."""
        with self._lock:
            return self._connection.execute(sql, values).fetchall()

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

    def _now(self) -> str:
        return self._clock().isoformat(" ", "minutes")

    def _still_booked(self, customer: str, code: str) -> Booking:
        booking = self.booking(customer, code)
        if booking.status != "booked":
            raise Declined(f"Flight {booking.flight} is {booking.status} already.")
        if booking.departure <= self._now():
            raise Declined(f"Flight {booking.flight} has departed.")
        return booking

    def _pay(self, code: str, kind: str, cents: int, due: datetime) -> None:
        sql = "INSERT INTO payment (booking, kind, cents, due) VALUES (?, ?, ?, ?)"
        self._connection.execute(sql, (code, kind, cents, due.isoformat(" ", "minutes")))


def business_days_after(start: datetime, count: int) -> datetime:
    """The same time so many business days later; Saturday and Sunday are none."""
    day = start
    while count:
        day += timedelta(days=1)
        count -= day.weekday() < 5
    return day
