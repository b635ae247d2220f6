"""Three agents: one finds out what a customer wants, two see to it, and hand back what is not theirs."""

from __future__ import annotations

from swarm import Agent, tool


@tool(
    examples=[
        "please give me my money back for order_12, it does not fit",
        "item 55 is damaged, I want a refund",
        "refund A-310 please",
    ]
)
def process_refund(item_id: str, reason: str = "NOT SPECIFIED") -> str:
    """Refund an item that the customer has bought.

    Args:
        item_id: The id of the item to refund.
        reason: Why the customer wants the money back.
    """
    return f"Item {item_id} is refunded. Reason: {reason}."


@tool(examples=["that is too expensive for me, can you make it cheaper?", "do I get a price reduction?"])
def apply_discount() -> str:
    """Give the customer a discount."""
    return "A discount of 11 % is applied."


@tool(
    examples=[
        "I'm looking for a birthday present",
        "how much is the blue bicycle?",
        "what does a subscription cost?",
        "do you have this lamp in stock?",
        "can I buy a second one?",
    ]
)
def transfer_to_sales() -> Agent:
    """Hand over to sales. For products, prices and buying something."""
    return sales_agent


@tool(examples=["I don't want this lamp any more, take it back", "the shoes are broken, can I get a refund?"])
def transfer_to_refunds() -> Agent:
    """Hand over to refunds. For returning what was bought, getting money back, a product that is broken."""
    return refunds_agent


def transfer_back_to_triage() -> Agent:
    """Hand back to triage. For whatever is not handled by this agent."""
    return triage_agent


triage_agent = Agent(
    name="Triage Agent",
    description="Finds out which agent fits.",
    instructions="Find out which agent fits the customer's request best, and hand over to it. If you cannot tell, ask one short question.",
    functions=[transfer_to_sales, transfer_to_refunds],
)
sales_agent = Agent(
    name="Sales Agent",
    description="Sells.",
    instructions="You are enthusiastic about what you sell. For anything other than buying, hand back to triage.",
    functions=[
        tool(transfer_back_to_triage, examples=["I need help with something that is not a sale", "take this back, I want a refund"])
    ],
)
refunds_agent = Agent(
    name="Refunds Agent",
    description="Refunds.",
    instructions=(
        "You help customers who want their money back. If the price was the reason, offer a discount first. If they insist, process the "
        "refund; ask for the item's id if you do not know it. For anything other than refunds, hand back to triage."
    ),
    functions=[
        process_refund,
        apply_discount,
        tool(transfer_back_to_triage, examples=["I want to shop for another product", "what else do you sell?"]),
    ],
)
agents = [triage_agent, sales_agent, refunds_agent]
