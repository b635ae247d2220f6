"""For `swarm demo tau_bench`."""

from __future__ import annotations

from typing import Any

from .agents import team
from .database import Database

__all__ = ["about", "agent", "agents", "context_variables"]

about = "tau-bench's airline: looking up, booking, changing and cancelling, on a live database of 2,000 reservations."
agents = team("airline", 2)
agent = agents[0]
context_variables: dict[str, Any] = {"database": Database("airline")}
