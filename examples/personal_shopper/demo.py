"""For `swarm demo personal_shopper`."""

from __future__ import annotations

from typing import Any

from .agents import agents, triage_agent
from .shop import Shop

__all__ = ["about", "agent", "agents", "context_variables"]

about = "A personal shopper: orders, refunds and notifications for user 1, on a shop's database."
agent = triage_agent
context_variables: dict[str, Any] = {"shop": Shop(), "user_id": 1}
