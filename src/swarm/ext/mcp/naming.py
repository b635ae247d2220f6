"""Which tools of a server an agent gets, and under which names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from ...errors import ConfigError
from ...legal import unique_name

if TYPE_CHECKING:
    import mcp_types as types

Choice: TypeAlias = "Iterable[str] | Callable[[types.Tool], bool] | None"
"""Names as the server has them, or a function that decides."""

_LONGEST = 64


class Naming:
    """Chooses and names.

    Args:
        include, exclude, prefix, rename: as for `McpServer`.

    Raises:
        ConfigError: one of them is no such thing.
    """

    def __init__(self, include: Choice, exclude: Choice, prefix: str, rename: Mapping[str, str]) -> None:
        self._wanted, wanted = _chooser("include", include)
        self._unwanted, _ = _chooser("exclude", exclude)
        self._known = wanted.union(rename)
        self._prefix = prefix
        self._rename = dict(rename)
        wrong = [name for name in self._rename.values() if _legal(name) != name]
        if wrong or _legal(f"{prefix}x") != f"{prefix}x":
            raise ConfigError(
                f"{(wrong or [prefix])[0]!r} cannot be in the name of a tool: models allow letters, digits, _ and -, at most 64"
            )

    def check(self, tools: Iterable[types.Tool]) -> None:
        """Look for names that are misspelt.

        Raises:
            ConfigError: `include` or `rename` holds a name that none of the tools has.
        """
        there = [tool.name for tool in tools]
        if wrong := sorted(self._known.difference(there)):
            raise ConfigError(f"the server has no tool {wrong[0]!r}, which include= or rename= names. It has {', '.join(there) or 'none'}")

    def named(self, tools: Iterable[types.Tool]) -> dict[str, types.Tool]:
        """The tools that are wanted, by names that are legal and unique. Names given by `rename` come first."""
        chosen = [
            tool for tool in tools if (self._wanted is None or self._wanted(tool)) and (self._unwanted is None or not self._unwanted(tool))
        ]
        found: dict[str, types.Tool] = {}
        given = {self._rename[tool.name] for tool in chosen if tool.name in self._rename}
        for tool in chosen:
            name = self._rename.get(tool.name)
            if name is None or name in found:
                name = unique_name(_legal(self._prefix + tool.name) or "tool", found.keys() | given)
            found[name] = tool
        return found


def _chooser(option: str, choice: Choice) -> tuple[Callable[[types.Tool], bool] | None, frozenset[str]]:
    """Whether a tool is meant, and the names that say so."""
    if choice is None or callable(choice):
        return choice, frozenset()
    if isinstance(choice, str):
        raise ConfigError(f"{option}={choice!r} must be a list of names, such as [{choice!r}], or a function of a tool")
    names = frozenset(choice)
    return lambda tool: tool.name in names, names


def _legal(name: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_-]+", "_", name)[:_LONGEST].strip("_") if re.search(r"[^a-zA-Z0-9_-]", name) else name[:_LONGEST]
