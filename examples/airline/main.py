"""The airline in the terminal: `python -m examples.airline.main`."""

from __future__ import annotations

from swarm.repl import run_demo_loop

from .configs.agents import triage_agent
from .data.sample import sample_context

if __name__ == "__main__":
    run_demo_loop(triage_agent, context_variables=sample_context())
