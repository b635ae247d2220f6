"""The triage agent in the terminal: `python -m examples.triage_agent.run`."""

from __future__ import annotations

from swarm.repl import run_demo_loop

from .agents import triage_agent

if __name__ == "__main__":
    run_demo_loop(triage_agent)
