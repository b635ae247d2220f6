"""A domain's database. Every task begins with a fresh one, so that must cost nothing: a record is copied when it is changed."""

from __future__ import annotations

import copy
import functools
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, TypeAlias

DATA = Path(__file__).parent / "data"

Domain: TypeAlias = Literal["airline", "retail"]
Record: TypeAlias = dict[str, Any]
Tables: TypeAlias = dict[str, dict[str, Record]]


@functools.cache
def tables_of(domain: Domain) -> Tables:
    """The tables as every task finds them: records by id. Read once and shared; never change them."""
    return json.loads(gzip.decompress((DATA / f"{domain}.db.json.gz").read_bytes()))


class Database:
    """The tables of one domain, with the changes made through this object. Nothing is read before the first record is asked for.

    Attributes:
        domain: whose tables they are.
        changed: the records that were changed or added, by table and id.
    """

    def __init__(self, domain: Domain) -> None:
        self.domain: Domain = domain
        self.changed: dict[tuple[str, str], Record] = {}

    def find(self, table: str, id: str) -> Record | None:
        """A record to read, or None. To change it, use `edit`."""
        own = self.changed.get((table, id))
        return own if own is not None else tables_of(self.domain)[table].get(id)

    def rows(self, table: str) -> Iterator[tuple[str, Record]]:
        """All ids and records of a table to read, those that were added last."""
        first = tables_of(self.domain)[table]
        for id, record in first.items():
            yield id, self.changed.get((table, id), record)
        for (where, id), record in self.changed.items():
            if where == table and id not in first:
                yield id, record

    def edit(self, table: str, id: str) -> Record:
        """A record to change in place.

        Raises:
            KeyError: there is none of that id.
        """
        if (table, id) not in self.changed:
            self.changed[table, id] = copy.deepcopy(tables_of(self.domain)[table][id])
        return self.changed[table, id]

    def add(self, table: str, id: str, record: Record) -> None:
        """Put a new record into a table."""
        self.changed[table, id] = record

    def __deepcopy__(self, memo: dict[int, Any]) -> Database:
        """Itself: a run copies its context variables, but what is done to a database must be seen by whoever else uses it."""
        return self

    def __repr__(self) -> str:
        return f"Database({self.domain!r}, {len(self.changed)} changed)"


def database_in(context_variables: dict[str, Any]) -> Database:
    """The database that a run works on: `database` in its context variables, or else one of its own of the `domain` that they name.

    Raises:
        KeyError: the run was started with neither.
    """
    if "database" in context_variables:
        return context_variables["database"]
    domain: Domain = context_variables["domain"]
    return context_variables.setdefault("databases", {}).setdefault(domain, Database(domain))
