"""The shop's tools. Names, parameters and descriptions are the benchmark's; what they do was read off the recorded effects."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from swarm.errors import ToolError

from .arithmetic import calculate
from .database import Database, Record, database_in
from .people import transfer_to_human_agents

Context: TypeAlias = dict[str, Any]


# What is looked up


def find_user_id_by_email(email: str, context_variables: Context) -> str:
    """Find user id by email. If the user is not found, the function will return an error message.

    Args:
        email: The email of the user, such as 'something@example.com'.
    """
    return _user_id(database_in(context_variables), lambda user: user["email"].lower() == email.lower())


def find_user_id_by_name_zip(first_name: str, last_name: str, zip: str, context_variables: Context) -> str:
    """Find user id by first name, last name, and zip code. If the user is not found, the function will return an error message.
    By default, find user id by email, and only call this function if the user is not found by email or cannot remember email.

    Args:
        first_name: The first name of the customer, such as 'John'.
        last_name: The last name of the customer, such as 'Doe'.
        zip: The zip code of the customer, such as '12345'.
    """
    wanted = (first_name.lower(), last_name.lower(), zip)

    def fits(user: Record) -> bool:
        return (user["name"]["first_name"].lower(), user["name"]["last_name"].lower(), user["address"]["zip"]) == wanted

    return _user_id(database_in(context_variables), fits)


def get_user_details(user_id: str, context_variables: Context) -> Record:
    """Get the details of a user, including their orders.

    Args:
        user_id: The user id, such as 'sara_doe_496'.
    """
    return _found(database_in(context_variables), "users", user_id)


def get_order_details(order_id: str, context_variables: Context) -> Record:
    """Get the status and details of an order.

    Args:
        order_id: The order id, such as '#W0000000'. Be careful there is a '#' symbol at the beginning of the order id.
    """
    return _found(database_in(context_variables), "orders", order_id)


def get_product_details(product_id: str, context_variables: Context) -> Record:
    """Get the inventory details of a product.

    Args:
        product_id: The product id, such as '6086499569'. Be careful the product id is different from the item id.
    """
    return _found(database_in(context_variables), "products", product_id)


def list_all_product_types(context_variables: Context) -> str:
    """List the name and product id of all product types. Each product type has a variety of different items with unique item ids
    and options. There are only 50 product types in the store.
    """
    products = {product["name"]: product["product_id"] for _, product in database_in(context_variables).rows("products")}
    return json.dumps(products, sort_keys=True)


def think(thought: str) -> str:
    """Use the tool to think about something. It will not obtain new information or change the database, but just append the
    thought to the log. Use it when complex reasoning or some cache memory is needed.

    Args:
        thought: A thought to think about.
    """
    return ""


# What is changed


def cancel_pending_order(order_id: str, reason: Literal["no longer needed", "ordered by mistake"], context_variables: Context) -> Record:
    """Cancel a pending order. If the order is already processed or delivered, it cannot be cancelled. The agent needs to explain
    the cancellation detail and ask for explicit user confirmation (yes/no) to proceed. If the user confirms, the order status will
    be changed to 'cancelled' and the payment will be refunded. The refund will be added to the user's gift card balance
    immediately if the payment was made using a gift card, otherwise the refund would take 5-7 business days to process. The
    function returns the order details after the cancellation.

    Args:
        order_id: The order id, such as '#W0000000'. Be careful there is a '#' symbol at the beginning of the order id.
        reason: The reason for cancellation, which should be either 'no longer needed' or 'ordered by mistake'.
    """
    database = database_in(context_variables)
    _order(database, order_id, "pending", "cancelled")
    order = database.edit("orders", order_id)
    for method, amount in _paid(order).items():
        _move(database, order, method, -amount)
    order |= {"status": "cancelled", "cancel_reason": reason}
    return order


def modify_pending_order_address(
    order_id: str, address1: str, address2: str, city: str, state: str, country: str, zip: str, context_variables: Context
) -> Record:
    """Modify the shipping address of a pending order. The agent needs to explain the modification detail and ask for explicit user
    confirmation (yes/no) to proceed.

    Args:
        order_id: The order id, such as '#W0000000'. Be careful there is a '#' symbol at the beginning of the order id.
        address1: The first line of the address, such as '123 Main St'.
        address2: The second line of the address, such as 'Apt 1' or ''.
        city: The city, such as 'San Francisco'.
        state: The state, such as 'CA'.
        country: The country, such as 'USA'.
        zip: The zip code, such as '12345'.
    """
    database = database_in(context_variables)
    _order(database, order_id, "pending", "modified")
    order = database.edit("orders", order_id)
    order["address"] = _address(address1, address2, city, state, country, zip)
    return order


def modify_pending_order_items(
    order_id: str, item_ids: list[str], new_item_ids: list[str], payment_method_id: str, context_variables: Context
) -> Record:
    """Modify items in a pending order to new items of the same product type. For a pending order, this function can only be called
    once. The agent needs to explain the exchange detail and ask for explicit user confirmation (yes/no) to proceed.

    Args:
        order_id: The order id, such as '#W0000000'. Be careful there is a '#' symbol at the beginning of the order id.
        item_ids: The item ids to be modified, each such as '1008292230'. There could be duplicate items in the list.
        new_item_ids: The item ids to be modified for, each such as '1008292230'. There could be duplicate items in the list. Each
            new item id should match the item id in the same position and be of the same product.
        payment_method_id: The payment method id to pay or receive refund for the item price difference, such as
            'gift_card_0000000' or 'credit_card_0000000'. These can be looked up from the user or order details.
    """
    database = database_in(context_variables)
    order = _order(database, order_id, "pending", "modified")
    if order["status"] != "pending":
        raise ToolError("the items of an order can be modified only once")
    pairs = _pairs(database, order, item_ids, new_item_ids, "modified")
    price = sum(new["price"] - old["price"] for old, new in pairs)
    if not _covers(_method(database, order, payment_method_id), price):
        raise ToolError("insufficient gift card balance to pay for the new item")
    order = database.edit("orders", order_id)
    _move(database, order, payment_method_id, price)
    for old, new in pairs:
        item = next(item for item in order["items"] if item["item_id"] == old["item_id"])
        item |= {"item_id": new["item_id"], "price": new["price"], "options": new["options"]}
    order["status"] = "pending (item modified)"
    return order


def modify_pending_order_payment(order_id: str, payment_method_id: str, context_variables: Context) -> Record:
    """Modify the payment method of a pending order. The agent needs to explain the modification detail and ask for explicit user
    confirmation (yes/no) to proceed.

    Args:
        order_id: The order id, such as '#W0000000'. Be careful there is a '#' symbol at the beginning of the order id.
        payment_method_id: The payment method id to pay or receive refund for the item price difference, such as
            'gift_card_0000000' or 'credit_card_0000000'. These can be looked up from the user or order details.
    """
    database = database_in(context_variables)
    order = _order(database, order_id, "pending", "modified")
    paid = _paid(order)
    if payment_method_id in paid:
        raise ToolError("the order is already paid by this method")
    price = sum(paid.values())
    if not _covers(_method(database, order, payment_method_id), price):
        raise ToolError("insufficient gift card balance to pay for the order")
    order = database.edit("orders", order_id)
    _move(database, order, payment_method_id, price)
    for method, amount in paid.items():
        _move(database, order, method, -amount)
    return order


def modify_user_address(
    user_id: str, address1: str, address2: str, city: str, state: str, country: str, zip: str, context_variables: Context
) -> Record:
    """Modify the default address of a user. The agent needs to explain the modification detail and ask for explicit user
    confirmation (yes/no) to proceed.

    Args:
        user_id: The user id, such as 'sara_doe_496'.
        address1: The first line of the address, such as '123 Main St'.
        address2: The second line of the address, such as 'Apt 1' or ''.
        city: The city, such as 'San Francisco'.
        state: The state, such as 'CA'.
        country: The country, such as 'USA'.
        zip: The zip code, such as '12345'.
    """
    database = database_in(context_variables)
    _found(database, "users", user_id)
    user = database.edit("users", user_id)
    user["address"] = _address(address1, address2, city, state, country, zip)
    return user


def return_delivered_order_items(order_id: str, item_ids: list[str], payment_method_id: str, context_variables: Context) -> Record:
    """Return some items of a delivered order. The order status will be changed to 'return requested'. The agent needs to explain
    the return detail and ask for explicit user confirmation (yes/no) to proceed. The user will receive follow-up email for how and
    where to return the item.

    Args:
        order_id: The order id, such as '#W0000000'. Be careful there is a '#' symbol at the beginning of the order id.
        item_ids: The item ids to be returned, each such as '1008292230'. There could be duplicate items in the list.
        payment_method_id: The payment method id to pay or receive refund for the item price difference, such as
            'gift_card_0000000' or 'credit_card_0000000'. These can be looked up from the user or order details.
    """
    database = database_in(context_variables)
    order = _order(database, order_id, "delivered", "returned")
    method = _method(database, order, payment_method_id)
    if method["source"] != "gift_card" and payment_method_id != order["payment_history"][0]["payment_method_id"]:
        raise ToolError("payment method should be either the original payment method or a gift card")
    _check_items(order, item_ids, "returned")
    order = database.edit("orders", order_id)
    order |= {"status": "return requested", "return_items": sorted(item_ids), "return_payment_method_id": payment_method_id}
    return order


def exchange_delivered_order_items(
    order_id: str, item_ids: list[str], new_item_ids: list[str], payment_method_id: str, context_variables: Context
) -> Record:
    """Exchange items in a delivered order to new items of the same product type. For a delivered order, return or exchange can be
    only done once by the agent. The agent needs to explain the exchange detail and ask for explicit user confirmation (yes/no) to
    proceed.

    Args:
        order_id: The order id, such as '#W0000000'. Be careful there is a '#' symbol at the beginning of the order id.
        item_ids: The item ids to be exchanged, each such as '1008292230'. There could be duplicate items in the list.
        new_item_ids: The item ids to be exchanged for, each such as '1008292230'. There could be duplicate items in the list. Each
            new item id should match the item id in the same position and be of the same product.
        payment_method_id: The payment method id to pay or receive refund for the item price difference, such as
            'gift_card_0000000' or 'credit_card_0000000'. These can be looked up from the user or order details.
    """
    database = database_in(context_variables)
    order = _order(database, order_id, "delivered", "exchanged")
    pairs = _pairs(database, order, item_ids, new_item_ids, "exchanged")
    price = round(sum(new["price"] - old["price"] for old, new in pairs), 2)
    if not _covers(_method(database, order, payment_method_id), price):
        raise ToolError("insufficient gift card balance to pay for the price difference")
    order = database.edit("orders", order_id)
    order |= {"status": "exchange requested", "exchange_items": sorted(item_ids), "exchange_new_items": sorted(new_item_ids)}
    order |= {"exchange_payment_method_id": payment_method_id, "exchange_price_difference": price}
    return order


# Rules that several tools share


def _found(database: Database, table: str, id: str) -> Record:
    record = database.find(table, id)
    if record is None:
        raise ToolError(f"{table.removesuffix('s')} not found")
    return record


def _user_id(database: Database, fits: Callable[[Record], bool]) -> str:
    for id, user in database.rows("users"):
        if fits(user):
            return id
    raise ToolError("user not found")


def _order(database: Database, id: str, status: str, done: str) -> Record:
    order = _found(database, "orders", id)
    if not order["status"].startswith(status):  # one with other items is "pending (item modified)"
        raise ToolError(f"non-{status} order cannot be {done}")
    return order


def _address(address1: str, address2: str, city: str, state: str, country: str, zip: str) -> Record:
    return {"address1": address1, "address2": address2, "city": city, "state": state, "country": country, "zip": zip}


def _pairs(database: Database, order: Record, item_ids: list[str], new_item_ids: list[str], done: str) -> list[tuple[Record, Record]]:
    """Each item to give up, with the variant of the same product to get for it."""
    _check_items(order, item_ids, done)
    if len(item_ids) != len(new_item_ids):
        raise ToolError(f"the number of items to be {done} does not match the number of new items")
    items = {item["item_id"]: item for item in order["items"]}
    pairs: list[tuple[Record, Record]] = []
    for old, new in zip(item_ids, new_item_ids, strict=True):
        variant = _found(database, "products", items[old]["product_id"])["variants"].get(new)
        if variant is None or not variant["available"]:
            raise ToolError(f"new item {new} not found or not available")
        pairs.append((items[old], variant))
    return pairs


def _check_items(order: Record, item_ids: list[str], done: str) -> None:
    missing = Counter(item_ids) - Counter(item["item_id"] for item in order["items"])
    if missing:
        raise ToolError(f"items to be {done} not found in the order: {', '.join(missing)}")


def _method(database: Database, order: Record, id: str) -> Record:
    method = _found(database, "users", order["user_id"])["payment_methods"].get(id)
    if method is None:
        raise ToolError("payment method not found")
    return method


def _covers(method: Record, price: float) -> bool:
    return method["source"] != "gift_card" or method["balance"] >= price


def _paid(order: Record) -> dict[str, float]:
    """What each payment method has paid for an order so far, refunds taken off."""
    paid: dict[str, float] = {}
    for entry in order["payment_history"]:
        amount = entry["amount"] if entry["transaction_type"] == "payment" else -entry["amount"]
        paid[entry["payment_method_id"]] = paid.get(entry["payment_method_id"], 0) + amount
    return {method: amount for method, amount in paid.items() if amount}


def _move(database: Database, order: Record, method: str, price: float) -> None:
    """Pay a price for an order, or pay it back if it is negative. A gift card's balance changes at once."""
    kind = "payment" if price > 0 else "refund"
    order["payment_history"].append({"transaction_type": kind, "amount": abs(price), "payment_method_id": method})
    if _method(database, order, method)["source"] == "gift_card":
        card = database.edit("users", order["user_id"])["payment_methods"][method]
        card["balance"] = round(card["balance"] - price, 2)


READS = (
    find_user_id_by_email,
    find_user_id_by_name_zip,
    get_user_details,
    get_order_details,
    get_product_details,
    list_all_product_types,
)
WRITES = (
    cancel_pending_order,
    modify_pending_order_address,
    modify_pending_order_items,
    modify_pending_order_payment,
    modify_user_address,
    return_delivered_order_items,
    exchange_delivered_order_items,
)
BOTH = (calculate, think, transfer_to_human_agents)
