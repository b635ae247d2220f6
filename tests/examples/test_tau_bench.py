"""tau-bench's gold actions, played through agents: what each call returns and what the database is at the end is as it was recorded.

A handful of tasks of each domain is played by `make test`, all 165 by `make check`; the shop's other 520 and 200 recorded conversations with
a real model at the airline by `make nightly`.
"""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from examples.tau_bench import airline, retail
from examples.tau_bench.agents import team
from examples.tau_bench.database import Database, Domain, Record, tables_of
from examples.tau_bench.gold import script
from examples.tau_bench.hashes import canonical, digest, full_hash, tau_hash
from examples.tau_bench.tasks import Task, differences, read_tasks, record_in, slice_hash, tasks_of
from swarm import Response
from swarm.effects import CallTool, Flow
from swarm.errors import ToolError
from swarm.models.scripted import Turn, call
from swarm.tools import tool_of
from tests.examples.talk import ROOT, environment, script as run_script
from tests.modes import Drive

DATA = ROOT / "tests" / "data" / "tau_bench"
TOOLS: dict[str, Any] = {"airline": airline, "retail": retail}
DOMAINS: tuple[Domain, ...] = ("airline", "retail")
# Bookings, gift cards, certificates, many steps, no step, every error text of the test tasks, changes that go back and forth.
SAMPLE = {"airline": (0, 2, 8, 9, 12, 20, 33, 45), "retail": (2, 12, 22, 30, 40, 46, 57, 64, 106)}


@pytest.fixture(scope="module", autouse=True)
def what_all_tasks_share_stays_as_it_is() -> Iterator[None]:
    """A tool that changed a record it had not copied would change it for every later task."""
    yield
    for domain in DOMAINS:
        untouched = next(task for task in tasks_of(domain).values() if not task["changes"])
        assert digest(canonical(tables_of(domain))) == untouched["full_hash"]


class Witness:
    """A policy that looks at the records a step reads, just before its call runs.

    Attributes:
        wrong: what was not as it was recorded.
    """

    def __init__(self, task: Task, database: Database) -> None:
        self.steps = task["steps"]
        self.database = database
        self.wrong: list[str] = []

    def tool(self, call: CallTool) -> Flow:
        kind, _, number = call.id.partition("_")
        if kind == "step":
            step = self.steps[int(number)]
            found = {name: digest(canonical(record_in(self.database, name)))[:16] for name in step["pre"]}
            if found != step["pre"]:
                self.wrong.append(f"before {call.id}: {found}, not {step['pre']}")
            self.wrong += [f"before {call.id}: {name} is there" for name in step.get("absent", ()) if record_in(self.database, name)]
        return (yield call)


class Recorded:
    """What the recorded patches make of the database, without any tool.

    Attributes:
        results: of each step, dumps in canonical form.
        changes: the records that are others at the end, in canonical form.
    """

    def __init__(self, task: Any) -> None:
        database = Database(task["domain"])
        self.results: list[str] = []
        for step in task["steps"]:
            for patch in step["patch"]:
                table, _, id = patch["rec"].partition("/")
                database.add(table, id, patch["new"] if "new" in patch else {**(database.find(table, id) or {}), **patch["set"]})
            dump = step["result"].get("dump")
            self.results.append(step["result"]["text"] if dump is None else canonical(record_in(database, dump)))
        self.changes = changes_in(database)


def changes_in(database: Database) -> dict[str, str]:
    """The records that are not what they were at the beginning, in canonical form. One may be set to what it was."""
    first = tables_of(database.domain)
    changed = {f"{table}/{id}": record for (table, id), record in database.changed.items() if record != first[table].get(id)}
    return {name: canonical(record) for name, record in changed.items()}


@functools.cache
def recorded(domain: Domain, id: str) -> Recorded:
    return Recorded(tasks_of(domain)[id])


def results_in(response: Response, steps: list[Any]) -> list[str]:
    """What the tools of a task said, dumps in canonical form."""
    said = [
        message["content"] for message in response.messages if message["role"] == "tool" and message["tool_call_id"].startswith("step_")
    ]
    return [text if "text" in step["result"] else canonical(json.loads(text)) for text, step in zip(said, steps, strict=True)]


_hashed: dict[tuple[str, str], list[str]] = {}


def wrong_hashes(task: Task, database: Database) -> list[str]:
    """As `differences`; counted once for each end that a task comes to, since all variants should come to the same."""
    end = (task["id"], canonical(changes_in(database)))
    if end not in _hashed:
        _hashed[end] = differences(task, database)
    return _hashed[end]


def play(drive: Drive, task: Task, size: Literal[1, 2], several: bool) -> list[str]:
    """What was not as it should be when a task was played."""
    agents, database = team(task["domain"], size), Database(task["domain"])
    turns, witness = script(task, agents[0], several), Witness(task, database)
    response = drive(agents[0], task["user"], turns, swarm={"policies": [witness]}, context_variables={"database": database})
    expected, wrong = recorded(task["domain"], task["id"]), witness.wrong
    for number, (got, want) in enumerate(zip(results_in(response, task["steps"]), expected.results, strict=True)):
        if got != want:
            wrong.append(f"step {number} came to {got[:300]}, not {want[:300]}")
    made = [entry for entry in response.calls if entry.handoff_to is None]
    if [(entry.name, entry.outcome) for entry in made] != [
        (step["name"], "error" if text.startswith("Error: ") else "ok") for step, text in zip(task["steps"], expected.results, strict=True)
    ]:
        wrong.append(f"calls: {made}")
    writers = {entry.agent for entry in made if entry.name in {tool.__name__ for tool in TOOLS[task["domain"]].WRITES}}
    if not writers <= {agents[-1].name}:
        wrong.append(f"changes were made by {writers}")
    if (response.stop_reason, response.text, len(drive.requests)) != ("complete", turns[-1], len(turns)):
        wrong.append(f"ended with {response.stop_reason}, {response.text}, after {len(drive.requests)} of {len(turns)} turns")
    if (changed := changes_in(database)) != expected.changes:
        wrong.append(f"changed: {changed}")
    return wrong + wrong_hashes(task, database)


variants = pytest.mark.parametrize(
    ("size", "several"), [(1, False), (1, True), (2, False), (2, True)], ids=["1", "1-several", "2", "2-several"]
)


@pytest.mark.parametrize("domain", DOMAINS)
@variants
def test_gold_actions_of_some_tasks(drive: Drive, domain: Domain, size: Literal[1, 2], several: bool) -> None:
    """K09, K10, K13, D23"""
    tasks = [tasks_of(domain)[f"{domain}-test-{number:03}"] for number in SAMPLE[domain]]
    assert {task["id"]: wrong for task in tasks if (wrong := play(drive, task, size, several))} == {}


@pytest.mark.check
@pytest.mark.parametrize("domain", DOMAINS)
@variants
def test_gold_actions_of_all_tasks(drive: Drive, domain: Domain, size: Literal[1, 2], several: bool) -> None:
    """K09, K10, K13, D23"""
    tasks = list(tasks_of(domain).values())
    assert len(tasks) == {"airline": 50, "retail": 115}[domain]
    assert {task["id"]: wrong for task in tasks if (wrong := play(drive, task, size, several))} == {}
