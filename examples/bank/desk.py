"""The rules of the house around the agents: who may do what, what needs consent, what is kept from the model, and what a run may cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from swarm import Limits, Swarm
from swarm.policies import Allow, Approval, Deny, Fallback, Guardrail, Permission, Retry
from swarm.policies.checks import Hosts, Pattern

BRANCH_ABOVE = 10_000
"""Euros above which nothing is sent from here."""

BUDGET = Limits(model_calls=12, tool_calls=12, handoffs=6)
"""What one message of a customer's may take."""


def is_for_a_branch(arguments: dict[str, Any]) -> bool:
    """Whether a transfer is too large to be made from here."""
    return arguments["amount"] > BRANCH_ABOVE


PERMISSION = Permission(
    [
        Allow(tools=["check_balance", "list_entries", "transfer_money", "block_card"], roles=["customer", "clerk"]),
        Allow(tools="refund_fee", roles="clerk"),
        Allow(tools="transfer_to_*"),
        Allow(to="*"),
        Deny(
            tools="transfer_money",
            when=is_for_a_branch,
            reason=f"More than {BRANCH_ABOVE:,} euros are sent at a branch only.",
        ),
    ],
    secrets={"ledger": ["check_balance", "list_entries", "transfer_money", "block_card", "refund_fee"]},
)
CARDS = Guardrail(Pattern(r"\b\d{4}(?:[ -]?\d{4}){3}\b", by="[card number]", longest=19), on=["input", "output", "result"], name="cards")
LINKS = Guardrail(Hosts(["bank.example"]), on="output", name="links")


def service(model: Any, spare: Any, ask: Callable[..., Any], make: type[Any] = Swarm, retry: Retry | None = None) -> Any:
    """The bank's Swarm.

    Args:
        model: the client that is asked.
        spare: the client that is asked where the first one fails.
        ask: asks a person about a transfer that needs consent; see `swarm.policies.Approval`.
        make: Swarm or AsyncSwarm.
        retry: how each of them is tried again; by default once, after a moment.
    """
    policies = [PERMISSION, CARDS, LINKS, Approval(ask), Fallback(clients=[spare]), retry or Retry(tries=2, seconds=10)]
    return make(model, policies=policies, limits=BUDGET)
