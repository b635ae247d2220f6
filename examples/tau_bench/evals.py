"""The tasks as cases for `swarm.evals`: a customer with a goal, and the database as it must be at the end.

`python -m examples.tau_bench.evals retail > retail.json` writes them to a file. Who plays the customer is for whoever runs the eval.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any, get_args

from swarm.evals import Case, Outcome, Score

from .agents import team
from .database import Domain, database_in
from .hashes import full_hash
from .tasks import Task, tasks_of

airline, retail = team("airline", 2)[0], team("retail", 2)[0]


def cases(domain: Domain) -> list[Case]:
    """The test tasks of a domain as cases.

    Each conversation gets a database of its own from `context_variables`; the customer's instructions are the goal of `user`; `state` is
    what the function `state` must find at the end, and `data` what the agents must have told the customer, for the scorer `told`.
    """
    return [_case(task) for task in tasks_of(domain).values()]


def state(context_variables: dict[str, Any]) -> dict[str, Any]:
    """The database of a conversation as its hash, and for a person the names of the records that were changed."""
    database = database_in(context_variables)
    return {"database": full_hash(database), "changed": sorted(f"{table}/{id}" for table, id in database.changed)}


def told(case: Case, outcome: Outcome) -> Score | None:
    """A scorer: whether the agents have told the customer all that the task asks for. Commas in what they say do not count, as 1,093.50."""
    if case.data is None:
        return None
    said = " ".join(str(message.get("content") or "") for message in outcome.messages if message["role"] == "assistant")
    said = said.replace(",", "").lower()
    missing = [output for output in case.data["outputs"] if output.lower() not in said]
    found = 1 - len(missing) / len(case.data["outputs"])
    return Score(not missing, found, case.data["outputs"], missing, f"never said: {', '.join(missing)}" if missing else "")


def _case(task: Task) -> Case:
    return Case(
        id=task["id"],
        context_variables={"domain": task["domain"]},
        user={"goal": task["user"]},
        state={"database": task["full_hash"]},
        tags=[task["domain"], "changes" if task["changes"] else "changes nothing"],
        data={"outputs": [*task["outputs"]]} if task["outputs"] else None,
    )


if __name__ == "__main__":
    asked = [domain for domain in get_args(Domain) if sys.argv[1:] == [domain]]
    if not asked:
        sys.exit(f"usage: python -m examples.tau_bench.evals {' | '.join(get_args(Domain))}")
    print(json.dumps([{name: value for name, value in asdict(case).items() if value} for case in cases(asked[0])], indent=1))
