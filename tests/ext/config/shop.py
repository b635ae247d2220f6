"""A shop whose functions the configurations of these tests name."""

from __future__ import annotations

from os import system as system  # what a module imports is none of its own
from typing import Any

from pydantic import BaseModel

from swarm import tool

calls: list[str] = []


class Answer(BaseModel):
    """What an agent answers."""

    number: int


def look_up(order: int) -> str:
    """Look an order up."""
    calls.append(f"look_up {order}")
    return f"order {order}: 80 EUR"


@tool(approval=True, examples=["give me my money back"], effect="once")
def refund(order: int, amount: int = 10) -> str:
    """Refund an order."""
    calls.append(f"refund {order} {amount}")
    return f"refunded {amount}"


def policy(context_variables: dict[str, Any]) -> str:
    """Instructions of the moment."""
    return f"You serve {context_variables['user']}."


def embed(texts: list[str]) -> list[list[float]]:
    """Two meanings: money, and all else."""
    return [[1.0, 0.0] if "money" in text else [0.0, 1.0] for text in texts]


def ask(call: Any) -> bool:
    """Agrees to everything but 13."""
    return call.arguments.get("amount") != 13


def no_swearing(text: str) -> bool:
    """A check."""
    return "damn" not in text


def only_last(messages: list[Any]) -> list[Any]:
    """A filter of the history."""
    return messages[-1:]


def _private() -> str:
    return "never"


number = 3
