"""YAML with the line of each key. Only its nodes are used: no object is ever constructed, so no tag can name code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ...errors import ConfigError
from ..scalars import plain
from .problems import ConfigFileError, KeyPath, Problem, dotted

if TYPE_CHECKING:
    from yaml import Node

MOST_DEEP = 100
"""Lists and tables in one another: reading a document takes time with the square of it."""
MOST_VALUES = 50_000
"""In a document, whatever an alias stands for counted each time: a few lines of aliases can stand for any number of values."""


def read_yaml(text: str, source: str) -> tuple[dict[str, Any], dict[KeyPath, int]]:
    """The values of a text, and the line of each key and each item of a list.

    Args:
        text: the text.
        source: what the file is called in messages.

    Raises:
        ConfigFileError: it is not YAML, not one table, or holds what a configuration may not.
        ConfigError: the extra is not installed.
    """
    try:
        import yaml
    except ImportError as error:
        raise ConfigError("a configuration in YAML needs an extra: pip install 'openswarm[config]'; or write it in TOML") from error
    walk = _Walk(source)
    try:
        depth = 0
        for token in yaml.scan(text, Loader=yaml.SafeLoader):
            line, kind = token.start_mark.line + 1, type(token).__name__
            if kind.startswith(("Block", "Flow")):
                depth += kind.endswith("StartToken") - kind.endswith("EndToken")
            if depth > MOST_DEEP:
                raise ConfigFileError([Problem(source, line, "", f"it is nested more than {MOST_DEEP} deep")])
            if kind == "TagToken":
                walk.problems.append(Problem(source, line, "", "tags are not known here; leave it out"))
        root: Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
        data: Any = walk.value(root, ()) if root is not None else {}
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise ConfigFileError([Problem(source, mark.line + 1 if mark else 1, "", f"no valid YAML: {error.problem or error}")]) from None
    except (yaml.YAMLError, RecursionError) as error:
        what = "it is nested too deeply" if isinstance(error, RecursionError) else f"no valid YAML: {error}"
        raise ConfigFileError([Problem(source, 1, "", " ".join(what.split()))]) from None
    if not isinstance(data, dict):
        walk.problems.append(Problem(source, 1, "", "it must be a table of keys and values"))
    if walk.problems:
        raise ConfigFileError(walk.problems)
    return cast("dict[str, Any]", data), walk.lines


class _Walk:
    """Goes through the nodes of a document.

    Args:
        source: what the file is called in messages.

    Attributes:
        lines: the line of each key and each item of a list.
        problems: what a configuration may not hold.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._values = 0
        self._open: list[Any] = []
        self.lines: dict[KeyPath, int] = {}
        self.problems: list[Problem] = []

    def value(self, node: Any, path: KeyPath) -> Any:
        """What a node stands for."""
        self._values += 1
        if self._values > MOST_VALUES or node in self._open:
            self._wrong(node, path, f"aliases make this endless, or more than {MOST_VALUES:,} values; write it out")
            raise ConfigFileError(self.problems)
        if node.id == "scalar":
            return plain(node.value) if node.style is None else node.value
        self._open.append(node)
        made = self._table(node, path) if node.id == "mapping" else self._list(node, path)
        self._open.pop()
        return made

    def _table(self, node: Any, path: KeyPath) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = key_node.value
            if not isinstance(key, str):
                self._wrong(key_node, path, "a key must be a text")
            elif key == "<<" and key_node.style is None:
                self._wrong(key_node, path, "merge keys are not known here; put what agents share under `defaults`")
            elif key in made:
                self._wrong(key_node, (*path, key), f"the key is there already, on line {self.lines[(*path, key)]}; keep one of the two")
            else:
                self.lines[(*path, key)] = key_node.start_mark.line + 1
                made[key] = self.value(value_node, (*path, key))
        return made

    def _list(self, node: Any, path: KeyPath) -> list[Any]:
        for number, item in enumerate(node.value):
            self.lines[(*path, number)] = item.start_mark.line + 1
        return [self.value(item, (*path, number)) for number, item in enumerate(node.value)]

    def _wrong(self, node: Any, path: KeyPath, text: str) -> None:
        self.problems.append(Problem(self._source, node.start_mark.line + 1, dotted(path), text))
