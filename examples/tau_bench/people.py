"""The way out of every conversation."""

from __future__ import annotations


def transfer_to_human_agents(summary: str) -> str:
    """Transfer the user to a human agent, with a summary of the user's issue. Only transfer if the user explicitly asks for a
    human agent, or if the user's issue cannot be resolved by the agent with the available tools.

    Args:
        summary: A summary of the user's issue.
    """
    return "Transfer successful"
