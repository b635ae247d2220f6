"""The support bot in the terminal: `python -m examples.support_bot.main`."""

from __future__ import annotations

import sys
from typing import Any

from swarm import OfflineModel, Swarm
from swarm.errors import ConfigError
from swarm.repl import run_demo_loop

from .demo import agent, context_variables, prepare


def main() -> None:
    """Prepare the help center where that was not done, and talk."""
    try:
        client: Any = Swarm().client
        prepare(isinstance(client, OfflineModel), print)
    except ConfigError as error:
        sys.exit(f"Error: {error}")
    run_demo_loop(agent, context_variables=context_variables)


if __name__ == "__main__":
    main()
