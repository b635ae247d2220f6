"""What `import swarm` costs a program, against importing pydantic and defining one model. The budget is 1.5 times that.

python -m benchmarks.import_cost
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

from benchmarks.measure import interleaved, of_children, table

ROUNDS = 15
PROGRAMS = {
    "an empty program": "",
    "pydantic and one model": "from pydantic import BaseModel\nclass Model(BaseModel):\n    name: str",
    "import swarm": "import swarm",
    "import swarm, use Agent and Swarm": "from swarm import Agent, Swarm\nSwarm(object()), Agent()",
}


# An installed package is compiled already; here the first round compiles it, unless the environment forbids that.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def program(code: str) -> Callable[[], object]:
    return lambda: subprocess.run([sys.executable, "-c", code], check=True, env=ENVIRONMENT)


def main() -> None:
    seconds = interleaved({name: program(code) for name, code in PROGRAMS.items()}, ROUNDS, 1, of_children)
    empty = seconds["an empty program"]
    unit = seconds["pydantic and one model"] - empty
    rows = [(name, f"{cost * 1e3:.0f}", f"{(cost - empty) / unit:.2f}") for name, cost in seconds.items()]
    print(table(("program", "ms of CPU", "of pydantic's"), rows))


if __name__ == "__main__":
    main()
