"""A conversation in the terminal that needs no extra: `from swarm.repl import run_demo_loop`."""

from .repl import run_demo_loop

__all__ = ["run_demo_loop"]
