"""For `swarm demo airline`."""

from __future__ import annotations

from .configs.agents import agents, triage_agent
from .data.sample import sample_context

__all__ = ["about", "agent", "agents", "context_variables"]

about = "An airline's customer service: cancelling, changing, lost baggage, each by its policy."
agent = triage_agent
context_variables = sample_context()
