"""For `swarm demo weather_agent`."""

from __future__ import annotations

from typing import Any

from .agents import agents, weather_agent

__all__ = ["about", "agent", "agents", "context_variables"]

about = "One agent with two functions: the weather, and sending an e-mail."
agent = weather_agent
context_variables: dict[str, Any] = {}
