"""Plays one task in the terminal: `python -m examples.tau_bench airline 8`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable

from swarm import Swarm
from swarm.events import Event, HandedOff, MessageDone, ToolDone, ToolStarted
from swarm.testing import ScriptedModel

from .agents import team
from .database import Database
from .gold import script
from .tasks import Task, differences, tasks_of

WIDTH = 160
EXAMPLES = """examples:
  python -m examples.tau_bench airline 8
  python -m examples.tau_bench retail retail-test-030 --agents 1
  python -m examples.tau_bench retail 0 --several
"""


def arguments() -> argparse.Namespace:
    """What was typed; exits with a message if it cannot be understood."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.tau_bench",
        description="Plays the gold actions of a tau-bench task through agents and compares the database with the recorded one.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("domain", nargs="?", default="airline", choices=["airline", "retail"], help="airline if none is given")
    parser.add_argument("task", nargs="?", default="0", help="a test task's id, or its number: 0 to 49 (airline), 0 to 114 (retail)")
    parser.add_argument(
        "--agents", type=int, choices=[1, 2], default=2, help="one with all tools, or one that looks up and one that changes"
    )
    parser.add_argument("--several", action="store_true", help="several calls in one turn, not one")
    given = parser.parse_args()
    id = f"{given.domain}-test-{int(given.task):03}" if given.task.isdecimal() else given.task
    given.task = tasks_of(given.domain).get(id)
    if given.task is None:
        parser.error(f"there is no task {id}; the last is {max(tasks_of(given.domain))}")
    return given


def show(events: Iterable[Event]) -> None:
    """Print a run while it goes on, long lines cut."""
    for event in events:
        match event:
            case ToolStarted():
                values = ", ".join(
                    f"{name}={json.dumps(value, ensure_ascii=False, default=dict)}" for name, value in event.arguments.items()
                )
                line = f"  -> {event.name}({values})"
            case ToolDone():
                line = f"  <- {event.message['content']}"
            case HandedOff():
                line = f"  => {event.agent} hands over to {event.to}"
            case MessageDone() if event.message["content"]:
                line = f"{event.agent}: {event.message['content']}"
            case _:
                continue
        print(line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…")


def main() -> int:
    """Play the task that was asked for; returns 0 if the database is as recorded at the end."""
    given = arguments()
    task: Task = given.task
    agent, database = team(given.domain, given.agents)[0], Database(given.domain)
    print(f"{task['id']}\nUser: {task['user']}")
    client = Swarm(ScriptedModel(script(task, agent, given.several)))
    show(client.stream(agent, task["user"], {"database": database}))
    wrong = differences(task, database)
    changed = ", ".join(f"{table}/{id}" for table, id in sorted(database.changed)) or "nothing"
    print(f"Changed: {changed}. " + (f"Not as recorded: {', '.join(wrong)}." if wrong else "The whole database is as recorded."))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
