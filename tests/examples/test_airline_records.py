"""The airline's records: what their tables refuse, what many threads at once cannot break, and that money always adds up."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from copy import deepcopy
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.airline.configs.agents import flight_cancel
from examples.airline.data.database import Airline, Declined, business_days_after
from examples.airline.data.sample import sample_context
from examples.bank.ledger import Ledger
from examples.personal_shopper.shop import Shop
from swarm import Swarm
from swarm.testing import ScriptedModel, call

CODES = {"40217": "MA2F8K", "40311": "MA4Q9L", "40502": "MA6H2C", "40777": "MA9P4X"}


def act(airline: Airline, customer: str, what: str) -> Any:
    """Do one thing for a customer; what the airline declines is its text."""
    try:
        if what == "bag":
            return airline.search_bag(customer)
        code = CODES[customer]
        return (
            airline.change(customer, code)
            if what == "change"
            else airline.give_back(customer, code, "refund" if what == "refund" else "credits")
        )
    except Declined as why:
        return str(why)


@given(st.lists(st.tuples(st.sampled_from(sorted(CODES)), st.sampled_from(["change", "refund", "credits", "bag"])), max_size=12))
def test_whatever_is_done_money_and_seats_add_up(steps: list[tuple[str, str]]) -> None:
    """D70"""
    airline = Airline()
    for customer, what in steps:
        act(airline, customer, what)
    [(seats,)] = airline.rows("SELECT count(*) FROM seat")
    assert seats == 12
    held = airline.rows(
        "SELECT booking.status, seat.flight = booking.flight, sum(payment.cents), "
        "(SELECT cents FROM fare WHERE fare.flight = booking.flight AND fare.name = booking.fare) "
        "FROM booking JOIN payment ON payment.booking = booking.code LEFT JOIN seat ON seat.booking = booking.code GROUP BY booking.code"
    )
    assert len(held) == 7
    for status, seated, paid, fare in held:
        assert (seated, paid) == ((1, fare) if status == "booked" else (None, 0))
    [(credits,)] = airline.rows("SELECT coalesce(sum(-cents), 0) FROM payment WHERE kind = 'credits'")
    assert airline.rows("SELECT sum(credit) FROM customer") == [(credits,)]
    airline.close()


def test_the_last_seat_goes_to_one_of_many(tmp_path: Path) -> None:
    """D70: threads on one connection, and two connections to one file."""
    airlines = [Airline(tmp_path / "meadow.sqlite"), Airline(tmp_path / "meadow.sqlite")]
    people = [f"C{number}" for number in range(20)]
    for person in people:
        airlines[0].rows("INSERT INTO customer VALUES (?, 'A', '', '', '', '', 2027, 0)", person)
        airlines[0].rows("INSERT INTO booking (code, customer, flight, fare) VALUES (?, ?, 3, 'flex')", f"B{person}", person)
        airlines[0].rows("INSERT INTO seat VALUES (3, ?, ?)", f"4{person}", f"B{person}")

    def move(number: int) -> str:
        try:
            return str(airlines[number % 2].change(people[number], f"B{people[number]}").seat)
        except Declined as why:
            return str(why)

    with ThreadPoolExecutor(20) as pool:
        came_to = list(pool.map(move, range(20)))
    assert sorted(came_to) == ["14A", "14C", "21F"] + ["No seat is free."] * 17
    for airline in airlines:
        airline.close()


def test_a_refund_asked_for_by_twenty_threads_is_made_once() -> None:
    """D70"""
    airline = Airline()
    with ThreadPoolExecutor(20) as pool:
        came_to = list(pool.map(act, [airline] * 20, ["40217"] * 20, ["refund", "credits"] * 10))
    assert came_to.count(42000) == 1
    assert airline.rows("SELECT count(*) FROM payment WHERE booking = 'MA2F8K' AND cents < 0") == [(1,)]


def test_conversations_at_once_on_one_database() -> None:
    airline = Airline()

    def talk(_: int) -> str:
        client = Swarm(ScriptedModel([call("initiate_refund"), "Done."]))
        return client.run(flight_cancel, "a refund", sample_context(airline=airline)).messages[1]["content"]

    with ThreadPoolExecutor(10) as pool:
        told = list(pool.map(talk, range(10)))
    assert sum(text.startswith("A refund of 420.00 USD") for text in told) == 1
    assert told.count("Nothing was done. Flight 1919 is refunded already.") == 9


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO payment (booking, kind, cents, due) VALUES ('MA2F8K', 'refund', -1, ''), ('MA2F8K', 'credits', -1, '')",
        "INSERT INTO payment (booking, kind, cents, due) VALUES ('MA2F8K', 'ticket', 4.5, '')",
        "INSERT INTO payment (booking, kind, cents, due) VALUES ('NOSUCH', 'ticket', 5, '')",
        "UPDATE seat SET booking = 'MA2F8K' WHERE place = '14A'",
        "UPDATE booking SET fare = 'first' WHERE code = 'MA2F8K'",
        "UPDATE booking SET customer = '1' WHERE code = 'MA2F8K'",
        "UPDATE customer SET credit = -1",
    ],
    ids=["paid back twice", "fractions", "no booking", "two seats", "no fare", "no customer", "debts"],
)
def test_what_must_never_happen_is_refused_by_the_tables(sql: str) -> None:
    airline = Airline()
    with pytest.raises(sqlite3.IntegrityError):
        airline.rows(sql)


def interrupted(*_: Any) -> None:
    raise KeyboardInterrupt


def test_what_fails_half_way_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """D70"""
    airline = Airline()
    before = [airline.rows(f"SELECT * FROM {table}") for table in ("booking", "seat", "payment", "customer")]
    for what in ("change", "refund", "credits"):
        with monkeypatch.context() as patch:
            patch.setattr(airline, "_pay", interrupted)
            with pytest.raises(KeyboardInterrupt):
                act(airline, "40217", what)
    assert [airline.rows(f"SELECT * FROM {table}") for table in ("booking", "seat", "payment", "customer")] == before


@pytest.mark.parametrize("opened", [Airline, Shop, Ledger])
def test_a_change_that_cannot_be_kept_is_undone_and_can_be_made_again(tmp_path: Path, opened: type[Airline | Shop | Ledger]) -> None:
    """D70. Another program reads the file, so that the change can be made and not be committed."""
    records = opened(tmp_path / "records.sqlite")
    connection: sqlite3.Connection = vars(records)["_connection"]
    connection.execute("PRAGMA busy_timeout = 0")

    def change() -> Any:
        if isinstance(records, Airline):
            return act(records, "40217", "refund")
        return records.refund(1, 1) if isinstance(records, Shop) else records.transfer("BANK", "ADA-1", 1, "Test", "key")

    with closing(sqlite3.connect(tmp_path / "records.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT * FROM sqlite_schema").fetchone()
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            change()
    assert not isinstance(change(), str)
    records.close()


def test_a_bag_is_searched_once_however_often_it_is_asked_for() -> None:
    times = iter(datetime(2027, 5, 10, hour) for hour in range(9, 24))
    airline = Airline(clock=lambda: next(times))
    assert airline.search_bag("40217") == airline.search_bag("40217") == ("MA0451", "Lisbon airport", "12 Harbor Street, Boston")
    assert airline.rows("SELECT searched FROM bag WHERE tag = 'MA0451'") == [("2027-05-10 09:00",)]


def test_of_two_bags_the_one_not_yet_on_its_way_is_searched_first() -> None:
    airline = Airline()
    airline.rows("INSERT INTO bag (tag, booking, place) VALUES ('MA0452', 'MA7T3B', 'Madrid airport')")
    found = [airline.search_bag("40217") for _ in range(2)]
    assert [bag and bag.place for bag in found] == ["Lisbon airport", "Madrid airport"]


def test_a_bag_of_a_flight_that_has_not_departed_is_not_lost() -> None:
    airline = Airline(clock=lambda: datetime(2027, 5, 3, 11, 29))
    assert airline.search_bag("40217") is None


def test_after_departure_nothing_is_cancelled_or_changed() -> None:
    airline = Airline(clock=lambda: datetime(2027, 5, 21, 15, 0))
    assert {act(airline, "40217", what) for what in ("change", "refund", "credits")} == {"Flight 1919 has departed."}


def test_the_flight_a_day_earlier_may_have_departed_already() -> None:
    airline = Airline(clock=lambda: datetime(2027, 5, 20, 15, 0))
    assert act(airline, "40217", "change") == "There is no flight one day earlier."


def test_a_cheaper_flight_pays_the_difference_back() -> None:
    airline = Airline()
    airline.rows("UPDATE fare SET cents = 40000 WHERE flight = 2 AND name = 'standard'")
    assert airline.change("40217", "MA2F8K").paid == 40000
    assert airline.rows("SELECT cents FROM payment WHERE kind = 'fare difference'") == [(-2000,)]


def test_the_next_booking_is_one_to_come_and_not_cancelled_if_there_is_any() -> None:
    airline = Airline()
    assert airline.next_booking("40311").code == "MA4Q9L"
    airline.give_back("40311", "MA4Q9L", "credits")
    assert airline.next_booking("40311").code == "MA3D7R"
    assert airline.next_booking("40777").code == "MA9P4X"
    airline.rows("INSERT INTO customer VALUES ('1', 'A', '', '', '', '', 2027, 0)")
    with pytest.raises(Declined, match=r"^Customer 1 has no booking\.$"):
        airline.next_booking("1")


@pytest.mark.parametrize(("start", "end"), [("2027-05-10", "2027-05-17"), ("2027-05-14", "2027-05-21"), ("2027-05-15", "2027-05-21")])
def test_business_days(start: str, end: str) -> None:
    assert business_days_after(datetime.fromisoformat(start), 5) == datetime.fromisoformat(end)


def test_a_copy_of_the_context_variables_has_the_same_records() -> None:
    """K08: a database is a place, not a value."""
    context = sample_context(airline=Airline())
    assert deepcopy(context)["airline"] is context["airline"]


def test_a_file_is_filled_once(tmp_path: Path) -> None:
    first = Airline(tmp_path / "meadow.sqlite")
    first.give_back("40217", "MA2F8K", "refund")
    first.close()
    second = Airline(tmp_path / "meadow.sqlite")
    assert second.booking("40217", "MA2F8K").status == "refunded"
    second.close()
