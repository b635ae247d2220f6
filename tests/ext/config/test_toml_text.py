"""The lines of TOML: whatever way it is written, each key is found on the line where a person sees it."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarm.ext.config.problems import ConfigFileError
from swarm.ext.config.toml_text import read_toml

KEYS = st.sampled_from(["a", "b-1", "c_", "1", "with space", "dot.ted", 'quo"te', "ключ", ""])
TEXTS = st.one_of(
    st.text(max_size=8).filter(lambda text: "\r" not in text),
    st.sampled_from(["]", "}", "[x]", "# no", "a = 1", '"', "'", "\\", '"""', "'''"]),
)
SCALARS = st.one_of(st.booleans(), st.integers(-9, 9), TEXTS)
VALUES = st.recursive(SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)), max_leaves=8)
TABLES = st.dictionaries(KEYS, VALUES, max_size=4)


class Writer:
    """Writes a table as TOML in a way that `choose` picks, and notes the line of each key and item as it writes it."""

    def __init__(self, choose: Any) -> None:
        self._choose = choose
        self.text = ""
        self.lines: dict[tuple[str | int, ...], int] = {}

    def _pick(self, *ways: Any) -> Any:
        return self._choose(st.sampled_from(ways))

    def _line(self) -> int:
        return self.text.count("\n") + 1

    def document(self, data: dict[str, Any]) -> None:
        """Pairs first, then tables under headers, in brackets or as pairs with dots."""
        later: list[tuple[str, Any]] = []
        for key, value in data.items():
            is_tables = isinstance(value, list) and value and all(isinstance(item, dict) for item in value)
            if (isinstance(value, dict) or is_tables) and self._pick(True, False):
                later.append((key, value))
            else:
                self._space()
                self._pair((key,), key, value)
                self.text += self._pick("\n", " # ] } '\n", "\n\n")
        for key, value in later:
            for number, table in enumerate(value) if isinstance(value, list) else [(None, value)]:
                self._space()
                path = (key,) if number is None else (key, number)
                self.lines.setdefault((key,), self._line())
                self.lines[path] = self._line()
                self.text += f"[{self._key(key)}]\n" if number is None else f"[[ {self._key(key)} ]] # [[x]]\n"
                for inner, item in table.items():
                    self._pair((*path, inner), inner, item)
                    self.text += "\n"

    def _space(self) -> None:
        self.text += self._pick("", "\n", "# a = [\n", "  ")

    def _pair(self, path: tuple[str | int, ...], key: str, value: Any) -> None:
        self.lines[path] = self._line()
        if isinstance(value, dict) and len(value) == 1 and self._pick(True, False):  # a.b = 1
            ((inner, item),) = value.items()
            self.lines[(*path, inner)] = self._line()
            self.text += f"{self._key(key)} . {self._key(inner)} = "
            self._value((*path, inner), item)
            return
        self.text += f"{self._key(key)}{self._pick('=', ' = ')}"
        self._value(path, value)

    def _key(self, key: str) -> str:
        is_bare = key.isascii() and key.replace("-", "").replace("_", "").isalnum()
        return key if is_bare and self._pick(True, False) else json.dumps(key, ensure_ascii=False)

    def _value(self, path: tuple[str | int, ...], value: Any) -> None:
        if isinstance(value, list):
            self.text += "["
            for number, item in enumerate(value):
                self.text += self._pick("", "\n  ", " # ]\n")
                self.lines[(*path, number)] = self._line()
                self._value((*path, number), item)
                self.text += self._pick(",", " ,\n") if number < len(value) - 1 else self._pick("", ",", "\n")
            self.text += "]"
        elif isinstance(value, dict):
            self.text += "{"
            for number, (key, item) in enumerate(value.items()):
                self._pair((*path, key), key, item)
                self.text += ", " if number < len(value) - 1 else ""
            self.text += "}"
        else:
            self.text += self._scalar(value)

    def _scalar(self, value: Any) -> str:
        if not isinstance(value, str):
            return json.dumps(value)
        plain = all(character.isprintable() for character in value)
        quoted = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        ways = [quoted]
        if plain and "'" not in value:
            ways += [f"'{value}'", f"'''\n{value}'''"]
        if plain and "\\" not in value and '"' not in value:
            ways.append(f'"""\n{value}"""')
        return self._pick(*ways)


@given(TABLES, st.data())
def test_each_key_is_on_its_line_however_it_is_written(table: dict[str, Any], data: st.DataObject) -> None:
    writer = Writer(data.draw)
    writer.document(table)
    read, lines = read_toml(writer.text, "x.toml")
    assert read == table
    assert lines == writer.lines


@given(TABLES, st.data())
def test_every_value_has_a_line(table: dict[str, Any], data: st.DataObject) -> None:
    writer = Writer(data.draw)
    writer.document(table)

    def paths(value: Any, path: tuple[Any, ...]) -> Any:
        entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, inner in entries:
            yield (*path, key)
            yield from paths(inner, (*path, key))

    assert set(paths(table, ())) == set(read_toml(writer.text, "x.toml")[1])


@pytest.mark.parametrize(
    ("text", "line", "path"),
    [
        ("a = '''\n[x]\ny = 1\n'''\nb = 1", 5, ("b",)),
        ('a = """\nx\\"\\"\\" \n"""\nb = 1', 4, ("b",)),
        ('a = """x"""""\nb = 1', 2, ("b",)),
        ("a = [ # ]\n 'x', # '''\n {b = 1},\n]", 3, ("a", 1, "b")),
        ("[a.b]\n[a]\nc = 1", 2, ("a",)),
        ("[[a]]\n[[a]]\n[a.b]\nc = 1\n[[a.d]]\n[[a.d]]\ne = 1", 7, ("a", 1, "d", 1, "e")),
        ("a.b.c = 1\na.b.d = 2", 2, ("a", "b", "d")),
        ("a = 1979-05-27 07:32:00 # x\nb = 1", 2, ("b",)),
        ("\r\na = 1", 2, ("a",)),
    ],
)
def test_what_is_hard_to_count(text: str, line: int, path: tuple[Any, ...]) -> None:
    text = text.replace("\r\n", "\n")
    data, lines = read_toml(text, "x.toml")
    assert data == tomllib.loads(text)
    assert lines[path] == line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a = 1\nb = ", 2),
        ("a = 1\na = 2", 2),
        ("a = [1,\n\n2\n", 3),
        ("[a]\n[a]\n", 2),
        ("x", 1),
        (f"a = {'9' * 5000}", 1),
        ("a = " + "[" * 5000, 1),
    ],
)
def test_what_is_no_toml_is_told_with_its_line(text: str, line: int) -> None:
    with pytest.raises(ConfigFileError) as caught:
        read_toml(text, "x.toml")
    assert [(problem.source, problem.line) for problem in caught.value.problems] == [("x.toml", line)]
