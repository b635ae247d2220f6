"""For `swarm demo support_bot`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .agents import agents, user_interface_agent

__all__ = ["about", "agent", "agents", "context_variables", "prepare"]

about = "A help center in a vector database: answers with their articles, tickets and e-mail where those are not enough."
agent = user_interface_agent
context_variables: dict[str, Any] = {}


def prepare(offline: bool, note: Callable[[str], None]) -> None:
    """Prepare the help center at the first start.

    Args:
        offline: whether the offline model answers; then articles are searched offline as well, whatever keys are set.
        note: tells the person.

    Raises:
        ConfigError: it cannot be prepared, or was prepared with another model.
    """
    from .articles import load
    from .help_center import help_center
    from .prep import prepare as prepared

    context_variables["offline"] = offline
    center = help_center(offline=offline)
    if not center.is_prepared():
        note("The help center is prepared, since this is the first start.")
        note(f"Articles: {prepared(center, load())}.")
