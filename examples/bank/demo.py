"""For `swarm demo bank`."""

from __future__ import annotations

from typing import Any

from .agents import agents, front_desk
from .ledger import Ledger

__all__ = ["about", "agent", "agents", "context_variables"]

about = "A bank's support desk: accounts, payments that need consent above 1,000 euros, cards; on a real ledger."
agent = front_desk
context_variables: dict[str, Any] = {"ledger": Ledger(), "user": "Ada", "roles": "customer", "customer": "Ada"}
