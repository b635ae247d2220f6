"""Files of cases: JSON, YAML and CSV, each read into entries that know their lines. What an entry means is for `cases.py`."""

from __future__ import annotations

import csv
import io
import json
import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import ConfigError
from ..ext.scalars import plain
from ..legal import is_dict
from .problems import EvalError

_SUFFIXES = (".json", ".yaml", ".yml", ".csv")
_NAMES = ("handoffs", "tags")
_JSON_CELLS = ("context_variables", "arguments", "calls", "state", "text", "user", "data")

_SPACE = re.compile(r"[ \t\r\n]*")
# Names of fields, good enough for an error message: the first of a name counts, though it may stand inside another field.
_NAME = re.compile(r'"([a-z_]+)"[ \t\r\n]*:')


@dataclass(slots=True)
class Entry:
    """One case as it is written.

    Attributes:
        file: where.
        line: the line on which it begins, from 1.
        fields: its values by name.
        lines: the lines of fields, as far as they are known.
    """

    file: Path
    line: int
    fields: dict[str, Any]
    lines: dict[str, int] = field(default_factory=dict[str, int])

    def place(self, name: str = "") -> str:
        """`file:line` of the case, or of one field of it."""
        return f"{self.file}:{self.lines.get(name, self.line)}"


def files_in(path: Path) -> list[Path]:
    """A file, or all files of cases in a folder and in its folders.

    Raises:
        EvalError: there is none.
    """
    if path.is_dir():
        return sorted(file for file in path.rglob("*") if file.suffix.lower() in _SUFFIXES and file.is_file())
    if not path.is_file():
        raise EvalError(f"there is no file or folder {str(path)!r} in {Path.cwd()}; name one that holds cases")
    if path.suffix.lower() not in _SUFFIXES:
        raise EvalError(f"{path}: cases are read from files that end in {', '.join(_SUFFIXES)}; give it the ending of what it holds")
    return [path]


def entries_in(file: Path) -> list[Entry]:
    """The cases of a file.

    Raises:
        EvalError: the file cannot be understood, with the line.
        ConfigError: it is YAML, and the extra `config` is not installed.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")  # spreadsheets put a mark in front
    except UnicodeDecodeError as error:
        raise EvalError(f"{file}:1: no text in UTF-8 ({error}); save it as UTF-8") from None
    read = {".json": _json, ".csv": _csv}.get(file.suffix.lower(), _yaml)
    try:
        return list(read(file, text))
    except RecursionError:
        raise EvalError(f"{file}: lists and objects stand inside each other too deeply to be read; make it flatter") from None


class _Lines:
    """Which line a place in a text is on, without counting from the beginning each time."""

    def __init__(self, text: str) -> None:
        self._ends = [found.start() for found in re.finditer("\n", text)]

    def of(self, at: int) -> int:
        """The line, from 1."""
        return bisect_left(self._ends, at) + 1


def _json(file: Path, text: str) -> Iterator[Entry]:
    """A list, read item by item, since the decoder of the standard library tells where an item ends but not where it is."""
    decoder, lines, at = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_number), _Lines(text), _skip(text, 0)
    if text[at : at + 1] != "[":
        raise EvalError(f"{file}:{lines.of(at)}: a file of cases is a list of objects, [{{...}}, {{...}}]")
    at = _skip(text, at + 1)
    while text[at : at + 1] != "]":
        try:
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise EvalError(f"{file}:{error.lineno}: no JSON: {error.msg} (column {error.colno})") from None
        except ValueError as error:  # of the hooks; and of Python, which reads no number of thousands of digits
            raise EvalError(f"{file}:{lines.of(at)}: {error}") from None
        line, names = lines.of(at), _NAME.finditer(text, at, end)
        yield _entry(file, line, value, {found[1]: lines.of(found.start()) for found in reversed(list(names))})
        at = _skip(text, end)
        if text[at : at + 1] not in ("]", ","):
            raise EvalError(f"{file}:{lines.of(at)}: no JSON: a comma or the end of the list is missing after the case of line {line}")
        if text[at] == ",":
            at = _skip(text, at + 1)
    if text[at + 1 :].strip():
        raise EvalError(f"{file}:{lines.of(_skip(text, at + 1))}: something follows the end of the list; remove it")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the name {next(name for name in names if names.count(name) > 1)!r} stands twice in one object; keep one")
    return made


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number in JSON; write one, or null")


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found is not None else at


def _entry(file: Path, line: int, value: Any, lines: dict[str, int]) -> Entry:
    if not is_dict(value):
        raise EvalError(f"{file}:{line}: a case is an object with names and values, not {value!r}")
    return Entry(file, line, value, lines)


def _yaml(file: Path, text: str) -> Iterator[Entry]:
    try:
        import yaml
    except ImportError as error:
        raise ConfigError(f"{file}: reading YAML needs an extra: pip install 'openswarm[config]'") from error
    loader: Any = yaml.SafeLoader(text)
    # Plain words are told apart by `plain`; merge keys stay what they are.
    loader.yaml_implicit_resolvers = {"<": [("tag:yaml.org,2002:merge", re.compile("<<$"))], None: [("!plain", re.compile(""))]}
    loader.yaml_constructors = {**yaml.SafeLoader.yaml_constructors, "!plain": _plain_node}
    try:
        root: Any = loader.get_single_node()
        if not isinstance(root, yaml.SequenceNode):
            raise EvalError(f"{file}:{root.start_mark.line + 1 if root else 1}: a file of cases is a list, each case begins with '- '")
        for node in root.value:
            _check_names(file, node)
            value = loader.construct_object(node, deep=True)
            pairs: list[Any] = node.value if isinstance(node, yaml.MappingNode) else []
            yield _entry(file, node.start_mark.line + 1, value, {str(key.value): key.start_mark.line + 1 for key, _ in pairs})
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise EvalError(f"{file}:{mark.line + 1 if mark else 1}: no YAML: {getattr(error, 'problem', None) or error}") from None
    except ValueError as error:  # a date or a number that looks like one and is none
        raise EvalError(f"{file}: no YAML: {error}; put a text in quotes") from None
    finally:
        loader.dispose()


def _plain_node(_: Any, node: Any) -> Any:
    return plain(node.value)


def _check_names(file: Path, root: Any) -> None:
    """YAML lets the last of two equal names count; in a case that is a mistake. A node that is referred to again is looked at once."""
    import yaml

    todo, seen = [root], {id(root)}
    while todo:
        node = todo.pop()
        names: set[tuple[str, str]] = set()
        for key in [key for key, _ in node.value] if isinstance(node, yaml.MappingNode) else ():
            if isinstance(key, yaml.ScalarNode) and (key.tag, key.value) in names:
                raise EvalError(f"{file}:{key.start_mark.line + 1}: the name {key.value!r} stands twice in one object; keep one")
            names.add((key.tag, str(key.value)))
        inner = [part for pair in node.value for part in pair] if isinstance(node, yaml.MappingNode) else node.value
        for part in inner if isinstance(node, yaml.CollectionNode) else ():
            if id(part) not in seen:
                seen.add(id(part))
                todo.append(part)


def _csv(file: Path, text: str) -> Iterator[Entry]:
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        columns = [name.strip() for name in next(rows, list[str]())]
        if "conversation" not in columns and "user" not in columns:
            raise EvalError(
                f"{file}:1: the first row must name the columns, 'conversation' or 'user' among them, with commas in between: "
                f"conversation,function; it is {columns}"
            )
        if twice := [name for name in columns if name and columns.count(name) > 1]:
            raise EvalError(f"{file}:1: there are two columns called {twice[0]!r}; keep one")
        before = rows.line_num
        for row in rows:
            line, before = before + 1, rows.line_num
            if len(row) > len(columns):
                raise EvalError(f"{file}:{line}: {len(row)} cells for {len(columns)} columns; put a cell with a comma in double quotes")
            if any(row):
                cells = zip(columns, row, strict=False)
                yield Entry(file, line, {name: _cell(file, line, name, cell) for name, cell in cells if cell.strip()})
    except csv.Error as error:
        raise EvalError(f"{file}:{rows.line_num}: no CSV: {error}") from None


def _cell(file: Path, line: int, name: str, cell: str) -> Any:
    """The value of a cell: JSON for what is more than a text, names between semicolons for lists of names."""
    is_json = name in _JSON_CELLS or (name in ("conversation", *_NAMES) and cell.lstrip().startswith("["))
    if name in _NAMES and not is_json:
        return [part.strip() for part in cell.split(";") if part.strip()]
    if not is_json or (name in ("user", "state") and cell.lstrip()[:1] != "{"):
        return cell.strip()
    try:
        return json.loads(cell, object_pairs_hook=_once, parse_constant=_no_number)
    except ValueError as error:
        why = f"{error.msg} at character {error.pos + 1}" if isinstance(error, json.JSONDecodeError) else error
        raise EvalError(f"{file}:{line}: the cell of {name} holds no JSON ({why}): {cell}") from None
