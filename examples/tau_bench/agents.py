"""Each domain as one agent with all tools, and as two: one that looks things up and one that changes them; and a desk in front of both.

Two agents keep whatever changes a customer's data away from the one that only has to find out what the matter is.
"""

from __future__ import annotations

import functools
from typing import Any, Literal

from swarm import Agent, tool

from . import airline, retail
from .database import Domain
from .policies import POLICIES

CHANGED: dict[Domain, str] = {
    "airline": "Books and cancels reservations; changes their flights, bags and passengers; sends certificates.",
    "retail": "Cancels, returns and exchanges orders; changes their items, address and payment.",
}
LOOKS_UP = "- You only look things up. As soon as it is clear what is to be changed, hand over to the agent that changes it."
CHANGES = "- You only make changes. To look something up, hand back."


@functools.cache
def team(domain: Domain, size: Literal[1, 2]) -> list[Agent]:
    """The agents of a domain; the first is who begins.

    Args:
        domain: whose tools they have.
        size: 1 for one agent with all tools; 2 for one that looks up and one that changes, which hand over to each other.
    """
    tools, name, policy = (airline if domain == "airline" else retail), domain.capitalize(), POLICIES[domain]
    if size == 1:
        return [Agent(name=f"{name} Agent", instructions=policy, functions=[*tools.READS, *tools.WRITES, *tools.BOTH])]
    first = Agent(
        name=f"{name} Lookup Agent",
        description="Looks things up, changes nothing.",
        instructions=f"{policy}\n{LOOKS_UP}",
        functions=[*tools.READS, *tools.BOTH],
    )
    second = Agent(
        name=f"{name} Changes Agent",
        description=CHANGED[domain],
        instructions=f"{policy}\n{CHANGES}",
        functions=[*tools.WRITES, *tools.BOTH],
        handoffs=[first],
    )
    first.handoffs.append(second)
    return [first, second]


@tool(examples=["it is about my flight", "I have a reservation", "the airline please"])
def transfer_to_airline(context_variables: dict[str, Any]) -> Agent:
    """Hand over to the airline: flights, reservations, bags."""
    context_variables["domain"] = "airline"
    return at_the_airline


@tool(examples=["it is about my order", "I bought something", "the shop please"])
def transfer_to_shop(context_variables: dict[str, Any]) -> Agent:
    """Hand over to the online shop: orders, items, products."""
    context_variables["domain"] = "retail"
    return at_the_shop


@tool(examples=["something else", "now the other one, please"])
def transfer_to_desk() -> Agent:
    """Hand back to the desk. For whatever is not handled here."""
    return desk


desk = Agent(
    name="Desk",
    description="Asks whether it is about the airline or the shop.",
    instructions="You are the desk of an airline and of an online shop. Find out which of the two it is about, and hand over.",
    functions=[transfer_to_airline, transfer_to_shop],
)
at_the_airline, at_the_shop = (
    agent.copy(functions=[*agent.functions, transfer_to_desk]) for agent in (team("airline", 1)[0], team("retail", 1)[0])
)
