"""Conditions in the Common Expression Language, for rules that stand in a configuration (https://cel.dev).

They see plain JSON, have no side effects and end: what they may cost is bounded here by their length and by the size of what they go over.
"""

from __future__ import annotations

import re
from typing import Any, cast

from pydantic_core import to_jsonable_python

from ..errors import AgentError, ConfigError

MOST_CHARACTERS = 1_000
"""In an expression."""
MOST_STEPS = 100_000
"""Of an expression that goes over lists: the values there are, to the power of its `all`, `exists`, `map` and `filter`. About 0.1 s."""
_OVER_LISTS = re.compile(r"\.\s*(?:all|exists|exists_one|map|filter)\s*\(\s*(\w*)")
_OF_CEL = {"bool", "bytes", "double", "int", "list", "map", "math", "null_type", "optional", "string", "type", "uint"}
_NAME = re.compile(r"(?<![\w.])[a-z_]\w*")
_TEXT = re.compile(r"""(?:\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*')""")


class Expression:
    """A condition.

    Args:
        source: the expression.
        known: the names that it may use; none: they are not looked at.

    Raises:
        AgentError: it is too long, or wrong, or uses another name.
        ConfigError: the extra is not installed.

    Attributes:
        source: as given.
        names: those of the known names that it uses.
    """

    def __init__(self, source: str, known: tuple[str, ...]) -> None:
        try:
            import cel
        except ImportError as error:
            raise ConfigError("a rule in CEL needs an extra: pip install 'openswarm[cel]'; or give a function") from error
        if len(source) > MOST_CHARACTERS:
            raise AgentError(f"a rule in CEL may have {MOST_CHARACTERS:,} characters, not {len(source):,}: {source[:60]!r}...")
        compiled: Any = cast("Any", cel).compile
        try:
            self._program: Any = compiled(source)
        except ValueError as error:
            raise AgentError(f"{source!r} is no expression in CEL: {error}") from None
        self.source = source
        self.names = tuple(name for name in known if name in _NAME.findall(_TEXT.sub("", source)))
        each: list[str] = _OVER_LISTS.findall(source)  # what the values that are gone over are called
        unknown = set(self._program.variables()).difference(known, each, _OF_CEL) if known else ()
        if unknown:
            names = ", ".join(map(repr, sorted(unknown)))
            raise AgentError(f"{source!r} names {names}, which it does not see; it sees {', '.join(known)}")
        self._depth = len(each)

    def holds(self, values: dict[str, Any]) -> bool:
        """Whether it holds.

        Args:
            values: for each of its `names`; what JSON cannot hold is seen as text.

        Raises:
            Exception: it cannot be told, such as for a key that is missing, or for what is no truth value.
        """
        plain = to_jsonable_python(values, fallback=str, inf_nan_mode="strings")
        if self._depth and (size := _size(plain)) ** self._depth > MOST_STEPS:
            raise ValueError(f"too much to go over: {size:,} values, nested {self._depth} deep")
        value = self._program.execute(plain)
        if not isinstance(value, bool):
            raise TypeError(f"{self.source!r} comes to {value!r}, not to true or false")
        return value


def _size(value: Any) -> int:
    if isinstance(value, dict):
        value = list(cast("dict[str, Any]", value).values())
    return 1 + (sum(map(_size, cast("list[Any]", value))) if isinstance(value, list) else 0)
