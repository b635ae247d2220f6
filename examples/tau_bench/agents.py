"""Each domain as one agent with all tools, and as two: one that looks things up and one that changes them.

The second keeps whatever changes a customer's data away from an agent that only has to find out what the matter is.
"""

from __future__ import annotations

import functools
from typing import Literal

from swarm import Agent

from . import airline, retail
from .database import Domain

ABOUT: dict[Domain, str] = {
    "airline": """You work for the customer service of an airline. It is 15 May 2024, 15:00 EST; all times are EST.
Ask for the user id first. Rely on what the records say, not on what the customer says of them, and never make up flights or prices.
A checked bag above the free allowance costs 50 dollars, travel insurance 30 dollars per passenger.""",
    "retail": """You work for the customer service of an online shop. Find out who the customer is before anything else, by e-mail address,
or by name and zip code, and only ever deal with that customer's orders. Pending orders can be cancelled or modified, delivered ones
returned or exchanged. Collect all items of an order before you change it, since that can be done only once.""",
}
CAREFULLY = """Before you change anything, say what will change and what it costs, and wait until the customer agrees.
One thing at a time. If the tools cannot do what is asked for, say so, or hand the customer to a human if that is wanted."""
CHANGED: dict[Domain, str] = {
    "airline": "Books and cancels reservations; changes their flights, bags and passengers; sends certificates.",
    "retail": "Cancels, returns and exchanges orders; changes their items, address and payment.",
}
LOOKS_UP = "You only look things up. As soon as it is clear what is to be changed, hand over to the agent that changes it."
CHANGES = "You only make changes. To look something up, hand back."


@functools.cache
def team(domain: Domain, size: Literal[1, 2]) -> list[Agent]:
    """The agents of a domain; the first is who begins.

    Args:
        domain: whose tools they have.
        size: 1 for one agent with all tools; 2 for one that looks up and one that changes, which hand over to each other.
    """
    tools, name, about = (airline if domain == "airline" else retail), domain.capitalize(), ABOUT[domain]
    if size == 1:
        instructions = f"{about}\n{CAREFULLY}"
        return [Agent(name=f"{name} Agent", instructions=instructions, functions=[*tools.READS, *tools.WRITES, *tools.BOTH])]
    first = Agent(
        name=f"{name} Lookup Agent",
        description="Looks things up, changes nothing.",
        instructions=f"{about}\n{CAREFULLY}\n{LOOKS_UP}",
        functions=[*tools.READS, *tools.BOTH],
    )
    second = Agent(
        name=f"{name} Changes Agent",
        description=CHANGED[domain],
        instructions=f"{about}\n{CAREFULLY}\n{CHANGES}",
        functions=[*tools.WRITES, *tools.BOTH],
        handoffs=[first],
    )
    first.handoffs.append(second)
    return [first, second]
