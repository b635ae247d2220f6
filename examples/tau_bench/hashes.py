"""Fingerprints of records and whole databases, as the recorded tasks have them (`data/NOTICE.md`)."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, cast

from .database import Database, Domain, tables_of


def canonical(value: Any) -> str:
    """The one JSON text of a value: sorted keys, no spaces, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def nested(value: Any) -> str:
    """A value as the text of nested tuples: a dict as its pairs in the order of the keys, a list as its items.

    The tasks' `tau_hash` is the hash of this text; the tasks that change nothing show that it is.
    """
    return str(_tuples(value))


def _tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple((key, _tuples(item)) for key, item in sorted(cast("dict[str, Any]", value).items()))
    return tuple(_tuples(item) for item in cast("list[Any]", value)) if isinstance(value, list) else value


def digest(text: str) -> str:
    """SHA-256 of a text, in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def full_hash(database: Database) -> str:
    """The hash of the canonical text of the whole database."""
    tables = _all_texts(database, canonical).items()
    rows = {table: ",".join(f"{canonical(id)}:{text}" for id, text in sorted(texts.items())) for table, texts in tables}
    return digest("{" + ",".join(f"{canonical(table)}:{{{text}}}" for table, text in sorted(rows.items())) + "}")


def tau_hash(database: Database) -> str:
    """The hash of the whole database by the benchmark's own definition, see `nested`."""
    tables = _all_texts(database, nested).items()  # each with many records: the text of a tuple of one would have another comma
    rows = {table: ", ".join(f"({id!r}, {text})" for id, text in sorted(texts.items())) for table, texts in tables}
    return digest("(" + ", ".join(f"({table!r}, ({text}))" for table, text in sorted(rows.items())) + ")")


def _all_texts(database: Database, write: Callable[[Any], str]) -> dict[str, dict[str, str]]:
    texts = {table: dict(rows) for table, rows in _first_texts(database.domain, write).items()}
    for (table, id), record in database.changed.items():
        texts[table][id] = write(record)
    return texts


@functools.cache
def _first_texts(domain: Domain, write: Callable[[Any], str]) -> Mapping[str, Mapping[str, str]]:
    """The text of each record before any change, since a task changes a handful out of thousands."""
    return {table: {id: write(record) for id, record in rows.items()} for table, rows in tables_of(domain).items()}
