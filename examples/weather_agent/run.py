"""The weather agent in the terminal: `python -m examples.weather_agent.run`."""

from __future__ import annotations

from swarm.repl import run_demo_loop

from .agents import weather_agent

if __name__ == "__main__":
    run_demo_loop(weather_agent)
