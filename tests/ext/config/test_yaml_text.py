"""YAML: its lines, its plain scalars, and what it may not hold."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from swarm.ext.config.problems import ConfigFileError
from swarm.ext.config.yaml_text import MOST_VALUES, read_yaml
from tests.ext.config.conftest import Load, Problems, escaped

SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.sampled_from([0.5, -1e20]), st.text(max_size=6))
VALUES = st.recursive(
    SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)), max_leaves=8
)


@given(st.dictionaries(st.text(max_size=4), VALUES, max_size=4))
def test_json_is_read_as_it_is(table: dict[str, Any]) -> None:
    """In quotes nothing means anything else; keys and items stand where `json.dumps` puts them, one a line."""
    text = escaped(json.dumps(table, indent=1, ensure_ascii=False))
    read, lines = read_yaml(text, "x.yaml")
    assert read == table
    for path, line in lines.items():
        key = escaped(json.dumps(path[-1], ensure_ascii=False))
        assert isinstance(path[-1], int) or text.split("\n")[line - 1].strip().startswith(key)


@given(st.dictionaries(st.text("abcno ", min_size=1, max_size=4).map(str.strip).filter(bool), st.text(max_size=6), max_size=4))
def test_what_another_writer_wrote_is_read_the_same(table: dict[str, str]) -> None:
    assert read_yaml(yaml.safe_dump(table), "x.yaml")[0] == table


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("no", "no"),
        ("on", "on"),
        ("y", "y"),
        ("true", True),
        ("False", False),
        ("~", None),
        ("", None),
        ("1", 1),
        ("-12", -12),
        ("010", 10),
        ("0o10", 8),
        ("0x1F", 31),
        ("1.10", 1.1),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("12:30", "12:30"),
        ("2027-03-01", "2027-03-01"),
        ("1_000", "1_000"),
        ("'1'", "1"),
        ('"true"', "true"),
        ("NO", "NO"),
    ],
)
def test_a_plain_scalar_is_what_yaml_1_2_says(written: str, value: Any) -> None:
    """The country code of Norway is a text, and a time is no number of seconds."""
    assert read_yaml(f"a: {written}", "x.yaml")[0] == {"a": value}


def test_keys_are_texts_whatever_they_look_like() -> None:
    assert read_yaml("on: 1\n1: 2\nno: 3\nnull: 4", "x.yaml")[0] == {"on": 1, "1": 2, "no": 3, "null": 4}


def test_an_alias_is_what_it_stands_for() -> None:
    data, lines = read_yaml("a: &x\n  b: 1\nc: *x\n", "x.yaml")
    assert data == {"a": {"b": 1}, "c": {"b": 1}}
    assert (lines[("a", "b")], lines[("c",)], lines[("c", "b")]) == (2, 3, 2)


BILLION = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("a: 1\nb: [1\n", 3, "no valid YAML"),
        ("a: 1\na: 2\n", 2, "the key is there already, on line 1"),
        ("a:\n  b: 1\n  b: 1\n", 3, "the key is there already, on line 2"),
        ("a: !!python/object/apply:os.system [x]\n", 1, "tags are not known here"),
        ("a: !secret x\n", 1, "tags are not known here"),
        ("a: &x\n  b: 1\nc:\n  <<: *x\n", 4, "merge keys are not known here"),
        ("? [a]\n: 1\n", 1, "a key must be a text"),
        ("- a\n", 1, "it must be a table"),
        ("a: 1\n---\nb: 2\n", 2, "no valid YAML"),
        ("a: &x [*x]\n", 1, "endless"),
        (BILLION, 1, f"more than {MOST_VALUES:,} values"),
        ("a: " + "[" * 3000, 1, "nested more than 100 deep"),
        ("a: *nobody\n", 1, "no valid YAML"),
        ("a: \x01\n", 1, "no valid YAML"),
    ],
)
def test_what_a_configuration_may_not_hold(text: str, line: int, told: str) -> None:
    with pytest.raises(ConfigFileError) as caught:
        read_yaml(text, "x.yaml")
    assert caught.value.problems[0].line == line
    assert told in caught.value.problems[0].text
    assert len(caught.value.problems) == 1


def test_an_empty_file_is_an_empty_table() -> None:
    assert read_yaml("# nothing\n", "x.yaml") == ({}, {})


def test_a_configuration_in_yaml(load: Load) -> None:
    config = load(
        """
        agents:
          no:
            instructions: |
              Be kind.
              Never lie.
            handoffs: [no]
        policies:
          - type: Guardrail
            on: [input]
            check: {type: Length, characters: 9}
        """,
        "shop.yaml",
    )
    assert config.agent.name == "no"
    assert config.agent.instructions == "Be kind.\nNever lie.\n"


def test_words_that_look_like_truth_values_are_told(problems: Problems) -> None:
    text = "agents:\n  a:\n    name: 12\n    model: 1.10\n    parallel_tool_calls: yes\n"
    assert problems(text, "shop.yaml") == [
        "3: agents.a.name: must be a text in quotes, not a whole number",
        "4: agents.a.model: must be a text in quotes, not a number with a point",
        "5: agents.a.parallel_tool_calls: must be true or false, without quotes, not a text",
    ]
