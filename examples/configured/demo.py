"""For `swarm demo configured`: what desk.toml says."""

from __future__ import annotations

from pathlib import Path

from swarm.ext.config import load_config

from . import tools

__all__ = ["about", "agent", "agents", "config", "context_variables", "options"]

FILE = Path(__file__).parent / "desk.toml"
about = "A library's desk whose agents stand in a file: handoffs, roles, limits and a guardrail in TOML."
# The file calls the module by the name it has in a checkout.
config = load_config(FILE, modules={"examples.configured.tools": tools})
agent = config.agent
agents = list(config.agents.values())
context_variables = config.context_variables
options = config.options
