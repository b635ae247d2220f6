"""The personal shopper: its whole flow and what goes wrong in it, played in four modes; and its database, by itself and under threads."""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from examples.personal_shopper.agents import refunds_agent, sales_agent, triage_agent
from examples.personal_shopper.shop import Declined, Shop, in_dollars
from swarm.models.scripted import call
from swarm.offers import table_of
from tests.examples.readmes import blocks
from tests.examples.talk import ROOT, Talk
from tests.modes import Drive

ADA, BEN, CLEO = 1, 2, 3
KETTLE, BACKPACK, RECORD_PLAYER = 4, 2, 5


@pytest.fixture
def shop() -> Iterator[Shop]:
    made = Shop()
    yield made
    made.close()


def visit(drive: Drive, shop: Shop, user_id: int = ADA) -> Talk:
    return Talk(drive, triage_agent, {"shop": shop, "user_id": user_id})


def stock(shop: Shop, product_id: int) -> int:
    return next(product.stock for product in shop.products() if product.product_id == product_id)


def taken(shop: Shop) -> list[tuple[str, str]]:
    return [(message.address, message.text) for message in iter(shop.take_message, None)]


# Conversations


def test_the_agents_and_their_functions() -> None:
    assert {agent.name: list(table_of(agent).tools) for agent in (triage_agent, refunds_agent, sales_agent)} == {
        "Triage Agent": ["transfer_to_refunds_agent", "transfer_to_sales_agent"],
        "Refunds Agent": ["refund_item", "notify_customer", "transfer_to_triage_agent"],
        "Sales Agent": ["order_item", "notify_customer", "transfer_to_triage_agent"],
    }
    functions = {**table_of(refunds_agent).tools, **table_of(sales_agent).tools}
    for name, parameters in {
        "refund_item": ["user_id", "item_id"],
        "notify_customer": ["user_id", "method"],
        "order_item": ["user_id", "product_id"],
    }.items():
        assert list(functions[name].wire["function"]["parameters"]["properties"]) == parameters
        assert functions[name].effect == "once"


def test_a_refund_then_an_order(drive: Drive, shop: Shop) -> None:
    """H17, H18, C07: the whole flow, there and back; instructions say what is in the database at the moment."""
    talk = visit(drive, shop)
    talk.say("the kettle leaks", call("transfer_to_refunds_agent"), "Item 2, the kettle for 22.90 dollars?")
    assert talk.agent is refunds_agent
    assert "- item 2: kettle, 22.90 dollars" in talk.requests[-1]["messages"][0]["content"]
    refund = call("refund_item", {"user_id": ADA, "item_id": 2})
    talk.say("yes", refund, "How shall I confirm it?")
    assert "- item 2: kettle, 22.90 dollars, refunded" in talk.requests[-1]["messages"][0]["content"]
    talk.say("by email", call("notify_customer", {"user_id": ADA, "method": "email"}), "Done.")
    talk.say("now I need a backpack", call("transfer_to_triage_agent"), call("transfer_to_sales_agent"), "64.90 dollars. Shall I order it?")
    assert talk.agent is sales_agent
    assert "- product 2: backpack, 64.90 dollars, 5 in stock" in talk.requests[-1]["messages"][0]["content"]
    talk.say("yes", call("order_item", {"user_id": ADA, "product_id": BACKPACK}), "Ordered.")
    talk.say("call me", call("notify_customer", {"user_id": ADA, "method": "phone"}), "Done.")
    assert [text for text in talk.told if not text.startswith("{")] == [
        "22.90 dollars for item 2, kettle, are refunded.",
        "A message goes to ada@shop.example.",
        "Ordered: backpack, for 64.90 dollars. It is item 4 of the purchase history.",
        "A message goes to +1 555 0100.",
    ]
    assert shop.purchases(ADA)[1:] == [(2, "kettle", 2290, True), (4, "backpack", 6490, False)]
    assert stock(shop, BACKPACK) == 4
    assert taken(shop) == [
        ("ada@shop.example", "Hello Ada. Your money is on its way back: kettle, 22.90 dollars."),
        ("+1 555 0100", "Hello Ada. Thank you for your order: backpack, 64.90 dollars."),
    ]


def refused(drive: Drive, shop: Shop, agent: str, name: str, arguments: dict[str, Any], user_id: int = ADA) -> str:
    """What a call says; nothing may have changed by it."""
    before = [shop.products(), *(shop.purchases(user) for user in (ADA, BEN, CLEO))]
    talk = visit(drive, shop, user_id)
    talk.say("Please", call(f"transfer_to_{agent}"), call(name, arguments), "I am sorry.")
    assert [shop.products(), *(shop.purchases(user) for user in (ADA, BEN, CLEO))] == before
    assert taken(shop) == []
    return talk.told[-1]


@pytest.mark.parametrize(
    ("agent", "name", "arguments"),
    [
        ("refunds_agent", "refund_item", {"item_id": 3}),
        ("sales_agent", "order_item", {"product_id": KETTLE}),
        ("sales_agent", "notify_customer", {"method": "phone"}),
    ],
)
def test_another_user_is_not_served(drive: Drive, shop: Shop, agent: str, name: str, arguments: dict[str, Any]) -> None:
    """K10: who is there stands in the context variables, whatever the model says."""
    told = refused(drive, shop, agent, name, {"user_id": BEN, **arguments})
    assert told == "Only the customer who is logged in can be served."


@pytest.mark.parametrize("item_id", [3, 99, 0, -1])
def test_an_item_of_somebody_else_or_of_nobody(drive: Drive, shop: Shop, item_id: int) -> None:
    told = refused(drive, shop, "refunds_agent", "refund_item", {"user_id": ADA, "item_id": item_id})
    assert told == f"There is no item {item_id} among this customer's purchases."


def test_no_such_product(drive: Drive, shop: Shop) -> None:
    told = refused(drive, shop, "sales_agent", "order_item", {"user_id": ADA, "product_id": 77})
    assert told == "There is no product 77."


@pytest.mark.parametrize("product_id", [2**63, -(10**30)])
def test_a_number_that_no_database_holds(drive: Drive, shop: Shop, product_id: int) -> None:
    told = refused(drive, shop, "sales_agent", "order_item", {"user_id": ADA, "product_id": product_id})
    assert told == "The shop has no number that large."


def test_out_of_stock(drive: Drive, shop: Shop) -> None:
    told = refused(drive, shop, "sales_agent", "order_item", {"user_id": ADA, "product_id": RECORD_PLAYER})
    assert told == "The record player is out of stock."


def test_no_address_for_that_way(drive: Drive, shop: Shop) -> None:
    told = refused(drive, shop, "refunds_agent", "notify_customer", {"user_id": BEN, "method": "email"}, BEN)
    assert told == "There is no address for email on record, only for: phone."


def test_nothing_to_tell(drive: Drive, shop: Shop) -> None:
    told = refused(drive, shop, "refunds_agent", "notify_customer", {"user_id": CLEO, "method": "email"}, CLEO)
    assert told == "There is no order or refund to tell about."


def test_a_second_refund(drive: Drive, shop: Shop) -> None:
    """In one reply, and in the next."""
    talk = visit(drive, shop)
    refund = {"user_id": ADA, "item_id": 1}
    talk.say("the lamp", call("transfer_to_refunds_agent"), [call("refund_item", refund), call("refund_item", refund)], "Once.")
    talk.say("again", call("refund_item", refund), "It was refunded.")
    assert talk.told[-3:] == ["39.90 dollars for item 1, desk lamp, are refunded.", *["Item 1 was refunded before."] * 2]
    assert [item.refunded for item in shop.purchases(ADA)] == [True, False]


def test_a_second_message_of_the_same(drive: Drive, shop: Shop) -> None:
    talk = visit(drive, shop)
    notify = call("notify_customer", {"user_id": ADA, "method": "email"})
    talk.say("tell me", call("transfer_to_refunds_agent"), notify, notify, "Told.")
    assert talk.told[-1] == "That was told before, by email."
    assert len(taken(shop)) == 1


def test_arguments_that_are_none_are_the_models_to_correct(drive: Drive, shop: Shop) -> None:
    """T21, T23"""
    turns: list[Any] = [
        call("refund_item", {"user_id": "one", "item_id": 1}),
        call("notify_customer", {"user_id": 1, "method": "fax"}),
        "?",
    ]
    response = drive(refunds_agent, "Refund it", turns, context_variables={"shop": shop, "user_id": ADA})
    assert [made.outcome for made in response.calls] == ["error", "error"]
    assert not any(item.refunded for item in shop.purchases(ADA))


# The database


def test_the_same_order_twice_is_one(shop: Shop) -> None:
    first = shop.order(ADA, KETTLE, "key")
    assert shop.order(ADA, KETTLE, "key") == first == (4, "kettle", 2450, False)
    assert stock(shop, KETTLE) == 7
    with pytest.raises(Declined, match="customer 9"):
        shop.order(9, KETTLE, "other")


def test_the_tables_refuse_what_must_not_be(tmp_path: Path) -> None:
    """Whoever writes to the file."""
    path = tmp_path / "shop.sqlite"
    shop = Shop(path)
    shop.refund(ADA, 1)
    shop.close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA foreign_keys = ON")
        for statement in (
            "INSERT INTO Payments (item_id, kind, cents) VALUES (1, 'refund', 1)",
            "INSERT INTO Payments (item_id, kind, cents) VALUES (99, 'refund', 1)",
            "INSERT INTO Payments (item_id, kind, cents) VALUES (2, 'refund', 22.9)",
            "INSERT INTO PurchaseHistory (user_id, product_id) VALUES (9, 1)",
            "UPDATE Products SET stock = stock - 1 WHERE product_id = 5",
        ):
            with pytest.raises(sqlite3.IntegrityError):
                db.execute(statement)
    db.close()


def test_a_shop_that_is_opened_again_is_as_it_was(tmp_path: Path) -> None:
    first = Shop(tmp_path / "shop.sqlite")
    first.order(BEN, BACKPACK, "key")
    first.refund(BEN, 3)
    first.close()
    again = Shop(tmp_path / "shop.sqlite")
    assert [(item.name, item.refunded) for item in again.purchases(BEN)] == [("backpack", True), ("backpack", False)]
    assert stock(again, BACKPACK) == 4
    again.close()


def test_money_is_whole_cents() -> None:
    assert [in_dollars(cents) for cents in (5, 1234, 123456789)] == ["0.05 dollars", "12.34 dollars", "1,234,567.89 dollars"]


@pytest.mark.parametrize("shared", [True, False], ids=["one connection", "a connection each"])
def test_twenty_threads_at_once(tmp_path: Path, shared: bool) -> None:
    """No piece is sold twice, nothing is refunded twice, no message is taken twice."""
    path = tmp_path / "shop.sqlite"
    shop = Shop(path)
    told: list[str] = []
    taken_ids: list[int] = []
    together = threading.Barrier(20)

    def attempt(act: Callable[[], Any]) -> None:
        try:
            told.append(type(act()).__name__)
        except Declined as why:
            told.append(str(why))

    def visit(number: int) -> None:
        own = shop if shared else Shop(path)
        together.wait()
        attempt(lambda: own.order(ADA, BACKPACK, f"order {number}"))
        attempt(lambda: own.refund(BEN, 3))
        attempt(lambda: own.order(BEN, KETTLE, "the same order"))
        attempt(lambda: own.notify(CLEO, "email"))
        if message := own.take_message():
            taken_ids.append(message.message_id)
        if not shared:
            own.close()

    shop.order(CLEO, KETTLE, "before")
    threads = [threading.Thread(target=visit, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(told) == {
        "Purchase": 5 + 1 + 20,
        "Message": 1,
        "The backpack is out of stock.": 15,
        "Item 3 was refunded before.": 19,
        "That was told before, by email.": 19,
    }
    assert stock(shop, BACKPACK) == 0
    assert stock(shop, KETTLE) == 6
    assert [item.name for item in shop.purchases(ADA)] == ["desk lamp", "kettle", *["backpack"] * 5]
    assert [item.refunded for item in shop.purchases(BEN)] == [True, False]
    assert len(taken_ids) == 1
    shop.close()


def test_the_python_in_the_readme(capsys: pytest.CaptureFixture[str]) -> None:
    [snippet] = blocks(ROOT / "examples" / "personal_shopper" / "README.md", "python")
    exec(snippet, {})
    assert capsys.readouterr().out == "+1 555 0101 Hello Ben. Thank you for your order: kettle, 24.50 dollars.\n"
