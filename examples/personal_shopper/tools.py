"""What the shop's agents can do. The model says whom it means; the context variables say who is there, and nobody else is served."""

from __future__ import annotations

from typing import Any, Literal

from swarm import RunInfo, tool

from .shop import Declined, Shop, in_dollars


def _shop_for(context: dict[str, Any], user_id: int) -> Shop:
    if user_id != context["user_id"]:
        raise Declined("Only the customer who is logged in can be served.")
    return context["shop"]


@tool(effect="once")
def refund_item(context_variables: dict[str, Any], user_id: int, item_id: int) -> str:
    """Refund an item that the customer has bought.

    Args:
        user_id: The customer's user id.
        item_id: The item's id in the purchase history.
    """
    try:
        item = _shop_for(context_variables, user_id).refund(user_id, item_id)
    except Declined as why:
        return str(why)
    return f"{in_dollars(item.cents)} for item {item.item_id}, {item.name}, are refunded."


@tool(effect="once")
def order_item(context_variables: dict[str, Any], run: RunInfo, user_id: int, product_id: int) -> str:
    """Order a product for the customer.

    Args:
        user_id: The customer's user id.
        product_id: The product's id.
    """
    try:
        item = _shop_for(context_variables, user_id).order(user_id, product_id, run.idempotency_key or "")
    except Declined as why:
        return str(why)
    return f"Ordered: {item.name}, for {in_dollars(item.cents)}. It is item {item.item_id} of the purchase history."


@tool(effect="once")
def notify_customer(context_variables: dict[str, Any], user_id: int, method: Literal["email", "phone"]) -> str:
    """Notify the customer of what was done last: send a confirmation.

    Args:
        user_id: The customer's user id.
        method: How to reach the customer.
    """
    try:
        message = _shop_for(context_variables, user_id).notify(user_id, method)
    except Declined as why:
        return str(why)
    return f"A message goes to {message.address}."
