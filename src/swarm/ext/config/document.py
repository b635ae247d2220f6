"""A file of configuration as plain data, together with the line on which each key stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from .problems import ConfigFileError, KeyPath, Problem, dotted, value_at

MOST_BYTES = 1_000_000
"""In a configuration, or a file that it names. It is read by people."""
SUFFIXES = (".toml", ".yaml", ".yml")


class Place(NamedTuple):
    """Where a value was written.

    Attributes:
        source: the file, or the environment variable.
        line: in the file, from 1; None for a variable.
    """

    source: str
    line: int | None


class Document:
    """What a file holds.

    Args:
        source: what the file is called in messages.
        data: its values.
        lines: the line of each key and each item of a list.
    """

    def __init__(self, source: str, data: dict[str, Any], lines: dict[KeyPath, int]) -> None:
        self.source = source
        self.data = data
        self._places = {path: Place(source, line) for path, line in lines.items()}

    def place(self, path: KeyPath) -> Place:
        """Where a value stands; for one that is missing, where what should hold it does."""
        while path and path not in self._places:
            path = path[:-1]
        return self._places.get(path) or Place(self.source, 1)

    def put(self, path: KeyPath, value: Any, source: str) -> None:
        """Put a value in, or in the place of another.

        Args:
            path: of tables that are there or are made, and of lists that are there.
            value: what to put.
            source: the environment variable that it comes from.
        """
        inside: Any = self.data
        for number, part in enumerate(path[:-1], 1):
            if value_at(self.data, path[:number]) is None:
                inside[part] = {}
            inside = inside[part]
        inside[path[-1]] = value
        for known in [known for known in self._places if known[: len(path)] == path]:
            del self._places[known]
        self._places[path] = Place(source, None)

    def problem(self, path: KeyPath, text: str) -> Problem:
        """A mistake in the value of a path."""
        return Problem(*self.place(path), dotted(path), text)


def read_document(path: Path) -> Document:
    """Read a file; its name says in which language it is.

    Args:
        path: of a `.toml`, `.yaml` or `.yml` file.

    Raises:
        ConfigFileError: there is no such file, it is too large, or it is not written as such a file is.
        ConfigError: the extra that reads YAML is not installed.
    """
    source = str(path)
    if path.suffix.lower() not in SUFFIXES:
        raise ConfigFileError([Problem(source, None, "", f"a configuration's name ends in {', '.join(SUFFIXES)}")])
    text = read_text(path)
    if path.suffix.lower() == ".toml":
        from .toml_text import read_toml as read
    else:
        from .yaml_text import read_yaml as read
    data, lines = read(text, source)
    return Document(source, data, lines)


def read_text(path: Path) -> str:
    """The text of a file in UTF-8, its ends of lines as "\\n".

    Raises:
        ConfigFileError: it cannot be read, is too large, or is no text.
    """
    try:
        if path.exists() and not path.is_file():  # reading a pipe or a device may have no end
            raise ConfigFileError([Problem(str(path), None, "", "it is no file")])
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise ConfigFileError([Problem(str(path), None, "", f"it has more than {MOST_BYTES:,} bytes; is it the right file?")])
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        raise ConfigFileError([Problem(str(path), None, "", f"it cannot be read: {error.strerror or error}")]) from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ConfigFileError([Problem(str(path), line, "", "it is no text in UTF-8; save it in that encoding")]) from None
