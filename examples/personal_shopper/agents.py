"""The shop's agents: triage, and behind it refunds and sales, which know the customer and hand back what is not theirs."""

from __future__ import annotations

from typing import Any

from swarm import Agent
from swarm.agents import create_triage_agent

from .shop import Shop, in_dollars
from .tools import notify_customer, order_item, refund_item


def refunds_instructions(context_variables: dict[str, Any]) -> str:
    """What the refunds agent has to do, and what this customer bought."""
    shop, user_id = context_variables["shop"], context_variables["user_id"]
    return f"""You refund what the customer has bought.
1. Find out which item it is about, and make sure that you both mean the same one.
2. Call refund_item.
3. Ask whether to confirm it by email or phone, and call notify_customer.
The customer's user id is {user_id}; serve nobody else. The customer's purchases:
{_purchases(shop, user_id)}"""


def sales_instructions(context_variables: dict[str, Any]) -> str:
    """What the sales agent has to do, and what there is to sell."""
    return f"""You sell.
1. Find out which product the customer wants, and say what it costs.
2. If the customer agrees, call order_item. Never order what nobody asked for.
3. Ask whether to confirm it by email or phone, and call notify_customer.
The customer's user id is {context_variables["user_id"]}; serve nobody else. The products:
{_products(context_variables["shop"])}"""


def _purchases(shop: Shop, user_id: int) -> str:
    lines = [
        f"- item {item.item_id}: {item.name}, {in_dollars(item.cents)}{', refunded' if item.refunded else ''}"
        for item in shop.purchases(user_id)
    ]
    return "\n".join(lines) or "none"


def _products(shop: Shop) -> str:
    return "\n".join(
        f"- product {product.product_id}: {product.name}, {in_dollars(product.cents)}, {product.stock} in stock"
        for product in shop.products()
    )


refunds_agent = Agent(
    name="Refunds Agent",
    description="Returns and refunds: money back for something that was bought, is broken or is not wanted.",
    instructions=refunds_instructions,
    functions=[refund_item, notify_customer],
)
sales_agent = Agent(
    name="Sales Agent",
    description="Sells: what there is to buy, what it costs, and ordering something new that a customer needs.",
    instructions=sales_instructions,
    functions=[order_item, notify_customer],
)
triage_agent = create_triage_agent(
    "Triage Agent",
    "You are a personal shopper. Find out what the customer wants and hand over to the agent that fits. If you cannot tell, ask.",
    [refunds_agent, sales_agent],
    add_backlinks=True,
)
agents = [triage_agent, refunds_agent, sales_agent]
