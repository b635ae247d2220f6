"""The benchmark's tasks: what the user wants, the gold actions, and what they were recorded to do to the database."""

from __future__ import annotations

import functools
import gzip
import json
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from .database import DATA, Database, Domain, Record
from .hashes import canonical, digest, full_hash, tau_hash


class Step(TypedDict):
    """One gold action. Records are named "<table>/<id>"."""

    name: str
    args: dict[str, Any]
    result: dict[str, str]
    """{"text": the very text}, or {"dump": the record whose JSON is the result}."""
    patch: list[dict[str, Any]]
    """Per record ("rec") the fields that were set ("set"), or all of a new one ("new")."""
    pre: dict[str, str]
    """The records that are read, each with the beginning of the hash of what it was before."""
    absent: NotRequired[list[str]]
    """Records that must not be there before."""


class Task(TypedDict):
    """One task; `slice` names the records that were there and are touched."""

    id: str
    domain: Domain
    split: str
    user: str
    steps: list[Step]
    slice: list[str]
    slice_hash: str
    full_hash: str
    tau_hash: str
    outputs: list[str]
    changes: bool


def read_tasks(file: Path) -> list[Any]:
    """The tasks in a compressed file of JSON lines."""
    return [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]


@functools.cache
def tasks_of(domain: Domain) -> dict[str, Task]:
    """The test tasks of a domain by id: 50 of the airline, 115 of the shop."""
    return {task["id"]: task for task in read_tasks(DATA / f"{domain}.tasks.jsonl.gz")}


def record_in(database: Database, name: str) -> Record | None:
    """The record that a task calls "<table>/<id>", or None."""
    table, _, id = name.partition("/")
    return database.find(table, id)


def slice_hash(task: Task, database: Database) -> str:
    """The hash of all records that a task touches, those that it adds too."""
    new = [patch["rec"] for step in task["steps"] for patch in step["patch"] if "new" in patch]
    return digest(canonical({name: record_in(database, name) for name in [*task["slice"], *new]}))


def differences(task: Task, database: Database) -> list[str]:
    """Which of the recorded hashes a database does not have at the end of a task; none if all is as recorded."""
    found = {"slice_hash": slice_hash(task, database), "full_hash": full_hash(database), "tau_hash": tau_hash(database)}
    return [name for name, value in found.items() if value != task[name]]
