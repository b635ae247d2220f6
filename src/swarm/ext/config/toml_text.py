"""TOML with the line of each key. `tomllib` gives values and no places, so a second, simple reader walks the text that it has accepted.

That reader knows where keys and values begin and end (https://toml.io/en/v1.0.0), and leaves what they mean to `tomllib`.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from typing import Any

from .problems import ConfigFileError, KeyPath, Problem

_AT_LINE = re.compile(r" \(at line (\d+), column \d+\)$")
_BLANK = re.compile(r"(?:[ \t\n]+|#[^\n]*)*")
_BETWEEN = re.compile(r"(?:[ \t\n,]+|#[^\n]*)*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_DOT = re.compile(r"[ \t]*\.[ \t]*")
_EQUALS = re.compile(r"[ \t]*=[ \t]*")
# Each in full: up to two quotes may stand right before the three that end a text of several lines.
_STRING = re.compile(r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'', re.DOTALL)
_OTHER_VALUE = re.compile(r"[^,\]}#\n]+")


def read_toml(text: str, source: str) -> tuple[dict[str, Any], dict[KeyPath, int]]:
    """The values of a text, and the line of each key and each item of a list.

    Args:
        text: with "\\n" between lines.
        source: what the file is called in messages.

    Raises:
        ConfigFileError: it is not TOML.
    """
    try:
        data = tomllib.loads(text)
    except ValueError as error:  # a number of thousands of digits is one too
        found = _AT_LINE.search(str(error))
        line = int(found[1]) if found else text.rstrip("\n").count("\n") + 1
        raise ConfigFileError([Problem(source, line, "", f"no valid TOML: {_AT_LINE.sub('', str(error))}")]) from None
    except RecursionError:
        raise ConfigFileError([Problem(source, 1, "", "it is nested too deeply")]) from None
    return data, _Walk(text).lines


class _Walk:
    """Goes through a valid text once.

    Args:
        text: the text.

    Attributes:
        lines: the line of each key and each item of a list.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._breaks = [at for at, character in enumerate(text) if character == "\n"]
        self._at = 0
        self._tables: dict[KeyPath, int] = {}  # how many tables each list of tables has so far
        self.lines: dict[KeyPath, int] = {}
        table: KeyPath = ()
        self._pass(_BLANK)
        while self._at < len(text):
            if text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)
            self._pass(_BLANK)

    def _pass(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        if found is None:
            return ""
        self._at = found.end()
        return found[0]

    def _line(self) -> int:
        return bisect_right(self._breaks, self._at - 1) + 1

    def _header(self) -> KeyPath:
        """A table's name in brackets, or in two for one more table of a list."""
        line, many = self._line(), self._text.startswith("[[", self._at)
        self._at += 2 if many else 1
        keys = self._keys()
        self._at = self._text.index("]", self._at) + (2 if many else 1)
        path: KeyPath = ()
        for number, key in enumerate(keys):
            path = (*path, key)
            is_last = number == len(keys) - 1
            if is_last and many:
                self._tables[path] = self._tables.get(path, 0) + 1
                self.lines.setdefault(path, line)
            if path in self._tables:
                path = (*path, self._tables[path] - 1)
            if is_last:
                self.lines[path] = line
            self.lines.setdefault(path, line)
        return path

    def _pair(self, table: KeyPath) -> None:
        line, path = self._line(), table
        for key in self._keys():
            path = (*path, key)
            self.lines.setdefault(path, line)
        self._pass(_EQUALS)
        self._value(path)

    def _keys(self) -> list[str]:
        keys: list[str] = []
        while True:
            self._pass(_BLANK)
            key = self._pass(_BARE_KEY) or self._pass(_STRING)
            keys.append(tomllib.loads(f"key = {key}")["key"] if key[0] in "\"'" else key)
            if not self._pass(_DOT):
                return keys

    def _value(self, path: KeyPath) -> None:
        match self._text[self._at]:
            case '"' | "'":
                self._pass(_STRING)
            case "[":
                self._at += 1
                number = 0
                while self._goes_on("]"):
                    self.lines[(*path, number)] = self._line()
                    self._value((*path, number))
                    number += 1
            case "{":
                self._at += 1
                while self._goes_on("}"):
                    self._pair(path)
            case _:
                self._pass(_OTHER_VALUE)

    def _goes_on(self, end: str) -> bool:
        """Whether there is one more item; passes what stands between them, or the end."""
        self._pass(_BETWEEN)
        if self._text[self._at] != end:
            return True
        self._at += 1
        return False
