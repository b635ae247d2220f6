"""The personal shopper in the terminal: `python -m examples.personal_shopper.main [USER_ID [FILE]]`, by default user 1 and shop.sqlite."""

from __future__ import annotations

import sys

from swarm.repl import run_demo_loop

from .agents import triage_agent
from .shop import Shop


def main(user_id: str = "1", file: str = "shop.sqlite") -> None:
    """Talk to the shop as one of its customers."""
    run_demo_loop(triage_agent, {"shop": Shop(file), "user_id": int(user_id)})


if __name__ == "__main__":
    main(*sys.argv[1:])
