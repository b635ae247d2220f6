"""For `swarm demo routines`."""

from __future__ import annotations

from typing import Any

from .acme import agents, triage_agent

__all__ = ["about", "agent", "agents", "context_variables"]

about = "The ACME shop: triage, sales with a confirmed order, issues and repairs, a human on request."
agent = triage_agent
context_variables: dict[str, Any] = {}
