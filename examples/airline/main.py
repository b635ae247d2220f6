"""The airline in the terminal: `python -m examples.airline.main [DATABASE]`. With a file, what was done is still so the next time."""

from __future__ import annotations

import sys

from swarm.repl import run_demo_loop

from .configs.agents import triage_agent
from .data.database import Airline
from .data.sample import sample_context

if __name__ == "__main__":
    run_demo_loop(triage_agent, context_variables=sample_context(airline=Airline(sys.argv[1]) if sys.argv[1:] else None))
