"""What the bank's agents can do. Whose account it is comes from the context variables, never from the model."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import Annotated, Any

from pydantic import Field

from swarm import RunInfo, tool

from .ledger import Declined, Ledger

APPROVAL_ABOVE = 1_000
"""Euros above which a transfer needs a person's consent."""


def _account(context: dict[str, Any]) -> tuple[Ledger, str]:
    ledger: Ledger = context["ledger"]
    return ledger, ledger.account_of(context["customer"])


def in_cents(euros: float) -> int:
    """Euros, as people and models write them, in whole cents."""
    return int((Decimal(str(euros)) * 100).to_integral_value(ROUND_HALF_UP))


def in_euros(cents: int) -> str:
    """1234 as "12.34 euros"."""
    return f"{Decimal(cents) / 100:,.2f} euros"


@tool(examples=["how much money do I have?", "what is on my account?"])
def check_balance(context_variables: dict[str, Any]) -> str:
    """Say what is on the customer's account."""
    ledger, account = _account(context_variables)
    return f"There are {in_euros(ledger.balance(account))} on account {account}."


@tool(examples=["what did I spend lately?", "show me the last bookings"])
def list_entries(context_variables: dict[str, Any], count: int = 5) -> str:
    """List the latest entries of the customer's account, with their numbers.

    Args:
        count: how many.
    """
    ledger, account = _account(context_variables)
    entries = ledger.entries(account, min(max(count, 1), 50))
    return "\n".join(f"{number}: {in_euros(cents)}, {text}" for number, cents, text in entries) or "There are no entries."


def is_large(arguments: dict[str, Any]) -> bool:
    """Whether a transfer needs consent."""
    return arguments["amount"] > APPROVAL_ABOVE


@tool(approval=is_large, effect="once", examples=["send 20 euros to Bob", "I want to pay my landlord 600 euros"])
def transfer_money(context_variables: dict[str, Any], run: RunInfo, amount: float, recipient: str) -> str:
    """Send money from the customer's account to somebody else at this bank.

    Args:
        amount: How many euros.
        recipient: The name of who gets it.
    """
    ledger, account = _account(context_variables)
    cents = in_cents(amount)
    if cents <= 0:
        return "The amount must be above zero."
    try:
        target = ledger.account_of(recipient)
        ledger.transfer(account, target, cents, f"From {account} to {target}", run.idempotency_key or "")
    except Declined as why:
        return str(why)
    return f"{in_euros(cents)} were sent to {recipient}. {in_euros(ledger.balance(account))} are left."


@tool(effect="once", examples=["the fee of entry 3 is wrong, give it back", "I should not have been charged the account fee, entry 7"])
def refund_fee(context_variables: dict[str, Any], entry: int) -> str:
    """Give a fee back to the customer. For the bank's clerks.

    Args:
        entry: The number of the entry.
    """
    ledger, account = _account(context_variables)
    try:
        return f"{in_euros(ledger.refund_fee(account, entry))} were refunded."
    except Declined as why:
        return str(why)


@tool(effect="once", examples=["my card was stolen", "I lost my card, please block it"])
def block_card(context_variables: dict[str, Any], last_four: Annotated[str, Field(pattern=r"^\d{4}$")]) -> str:
    """Block one of the customer's cards for good.

    Args:
        last_four: The last four digits of the card.
    """
    ledger, account = _account(context_variables)
    try:
        ledger.block_card(account, last_four)
    except Declined as why:
        return str(why)
    return f"The card ending in {last_four} is blocked. A new one will be sent by post."
