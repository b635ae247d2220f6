"""For `swarm demo tau_bench`."""

from __future__ import annotations

from typing import Any

from .agents import at_the_airline, at_the_shop, desk

__all__ = ["about", "agent", "agents", "context_variables"]

about = "tau-bench's airline and its shop, as you like: looking up, booking, changing, returning, each on a live database."
agent = desk
agents = [desk, at_the_airline, at_the_shop]
context_variables: dict[str, Any] = {}
