"""For `swarm demo triage_agent`."""

from __future__ import annotations

from typing import Any

from .agents import agents, triage_agent

__all__ = ["about", "agent", "agents", "context_variables"]

about = "A triage agent hands over to sales or refunds, and they hand back."
agent = triage_agent
context_variables: dict[str, Any] = {}
