"""The bank's agents: a front desk, and one for each kind of request."""

from __future__ import annotations

from swarm import Agent, tool

from .tools import block_card, check_balance, list_entries, refund_fee, transfer_money


@tool(examples=["what is my balance?", "how much do I have?", "I was charged a fee that I want back"])
def transfer_to_accounts() -> Agent:
    """Hand over to accounts: balances, entries and fees."""
    return accounts_agent


@tool(examples=["send 50 euros to Bob", "I want to pay somebody"])
def transfer_to_payments() -> Agent:
    """Hand over to payments: sending money."""
    return payments_agent


@tool(examples=["my card is gone", "somebody stole my card"])
def transfer_to_cards() -> Agent:
    """Hand over to cards: cards that are lost or stolen."""
    return cards_agent


def transfer_to_front_desk() -> Agent:
    """Hand back to the front desk. For whatever is not handled by this agent."""
    return front_desk


front_desk = Agent(
    name="Front Desk",
    description="Finds out what a customer wants.",
    instructions="You are the front desk of a bank. Hand over to the agent that fits; if you cannot tell, ask one short question.",
    functions=[transfer_to_accounts, transfer_to_payments, transfer_to_cards],
)
accounts_agent = Agent(
    name="Accounts",
    description="Balances, entries and fees.",
    instructions="You tell customers about their account. Fees are refunded by clerks only. Hand back what is not about accounts.",
    functions=[
        check_balance,
        list_entries,
        refund_fee,
        tool(
            transfer_to_front_desk,
            examples=[
                "send 40 euros to Carl, please",
                "I want to pay 99 euros to my landlord",
                "my card was stolen",
                "block my card ending in 1234",
            ],
        ),
    ],
)
payments_agent = Agent(
    name="Payments",
    description="Sends money.",
    instructions="You send money. Ask for what is missing; never guess an amount. Hand back what is not about payments.",
    functions=[
        transfer_money,
        tool(
            transfer_to_front_desk,
            examples=["what is on my account?", "I want a fee back", "my card was stolen", "block my card ending in 1234"],
        ),
    ],
)
cards_agent = Agent(
    name="Cards",
    description="Blocks cards.",
    instructions="You block cards that are lost or stolen. Ask for the last four digits. Hand back what is not about cards.",
    functions=[
        block_card,
        tool(transfer_to_front_desk, examples=["what is on my account?", "I want a fee back", "send 40 euros to Carl"]),
    ],
)
agents = [front_desk, accounts_agent, payments_agent, cards_agent]
