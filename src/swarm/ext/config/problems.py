"""What is wrong with a configuration, and where: every mistake has a line of a file, or the name of an environment variable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple, TypeAlias, cast

from ...errors import ConfigError

KeyPath: TypeAlias = tuple[str | int, ...]
"""The keys, and positions in lists, that lead to a value."""


class Problem(NamedTuple):
    """One mistake.

    Attributes:
        source: the file, or the environment variable, that holds it.
        line: in the file, from 1; None for an environment variable.
        key: the value that it is about, such as "agents.triage.model"; "" for the file as a whole.
        text: what is wrong, and what to do.
    """

    source: str
    line: int | None
    key: str
    text: str

    def __str__(self) -> str:
        where = self.source if self.line is None else f"{self.source}:{self.line}"
        return f"{where}: {self.key}: {self.text}" if self.key else f"{where}: {self.text}"


class ConfigFileError(ConfigError):
    """A configuration that cannot be used. Its text has one line for each mistake.

    Args:
        problems: the mistakes, at least one.

    Attributes:
        problems: as given, in the order of their lines.
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = sorted(problems, key=lambda problem: (problem.line or 0, problem.source))
        super().__init__("\n".join(map(str, self.problems)))


def dotted(path: KeyPath) -> str:
    """A path as people write it: `policies[0].tries`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def value_at(data: Any, path: KeyPath) -> Any:
    """What stands at a path; None if there is nothing."""
    for part in path:
        if isinstance(data, dict):
            data = cast("dict[Any, Any]", data).get(part)
        else:
            items = cast("list[Any]", data) if isinstance(data, list) else []
            data = items[part] if isinstance(part, int) and part < len(items) else None
    return data


def nearest(name: str, known: Sequence[str], kind: str) -> str:
    """Advice for a name that there is not: the nearest one, and all there are.

    Args:
        name: what was written.
        known: what there is.
        kind: what these are, in the plural.
    """
    found = get_close_matches(name, known, 1, 0.6)
    hint = f"; did you mean {found[0]!r}? The" if found else "; the"
    return f"{hint} {kind} are: {', '.join(sorted(known)) or 'none'}"
