"""The helpers that existing code imports."""

from __future__ import annotations

import copy
import functools
import re
from collections import defaultdict
from typing import Any

import pytest

from swarm.errors import AgentError, SchemaWarning
from swarm.run import RunInfo
from swarm.tools import tool
from swarm.util import debug_print, function_to_json, function_to_schema, merge_chunk, merge_fields


def test_a_function_without_hints() -> None:
    """K20, J13"""

    def greet(name, greeting):  # type: ignore[no-untyped-def]
        """Greet someone.

        Args:
            name: who
        """

    assert function_to_json(greet) == {
        "type": "function",
        "function": {
            "name": "greet",
            "description": "Greet someone.\n\nArgs:\n    name: who",
            "parameters": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "greeting": {"type": "string"}},
                "required": ["name", "greeting"],
            },
        },
    }


def test_plain_hints_and_defaults() -> None:
    """K20"""

    def f(a: str, b: int, c: float, d: bool, e: list, f: dict, g: None, h: list[int] | None = None, i: float = 3.14): ...  # type: ignore[no-untyped-def, type-arg]

    function = function_to_json(f)["function"]
    assert [node["type"] for node in function["parameters"]["properties"].values()] == [
        *("string", "integer", "number", "boolean", "array", "object", "null", "array", "number"),
    ]
    assert all(list(node) == ["type"] for node in function["parameters"]["properties"].values())
    assert function["parameters"]["required"] == ["a", "b", "c", "d", "e", "f", "g"]
    assert function["description"] == ""


def test_no_parameters() -> None:
    """J11"""

    def f() -> None: ...

    assert function_to_json(f)["function"]["parameters"] == {"type": "object", "properties": {}, "required": []}


def test_an_unknown_hint_is_a_string_with_a_warning() -> None:
    """K20"""

    class Database: ...

    def f(db: Database) -> None: ...

    with pytest.warns(SchemaWarning, match="f: the parameter 'db' has the type Database"):
        schema = function_to_json(f)
    assert schema["function"]["parameters"]["properties"] == {"db": {"type": "string"}}


def test_what_no_model_sets_is_left_out() -> None:
    """K06, J03, D18"""

    def f(city: str, context_variables: dict[str, Any], info: RunInfo, *args: Any, **kwargs: Any) -> None: ...

    parameters = function_to_json(f)["function"]["parameters"]
    assert parameters["properties"] == {"city": {"type": "string"}}
    assert parameters["required"] == ["city"]


def test_other_callables() -> None:
    """J08, J09"""

    def f(city: str, unit: str) -> None: ...

    names = [function_to_json(fn)["function"]["name"] for fn in (functools.partial(f, unit="C"), tool(f, name="look_up"), lambda x: x)]
    assert names == ["f", "look_up", "<lambda>"]


@pytest.mark.parametrize(("fn", "name"), [(dict.update, "update"), (iter, "iter")])
def test_no_signature_is_a_value_error_that_names_the_function(fn: Any, name: str) -> None:
    """K22"""
    with pytest.raises(ValueError, match=f"Failed to get the signature of {name}"):
        function_to_json(fn)
    assert issubclass(AgentError, ValueError)


def test_the_schema_is_a_fresh_dict_each_time() -> None:
    """K22"""

    def f(city: str) -> None: ...

    first = function_to_json(f)
    expected = copy.deepcopy(first)
    first["function"]["parameters"]["properties"]["city"]["type"] = "changed"
    first["function"]["parameters"]["required"].clear()
    assert function_to_json(f) == expected


def test_two_names_of_one_function() -> None:
    """K01"""
    assert function_to_schema is function_to_json


def test_debug_print(capsys: pytest.CaptureFixture[str]) -> None:
    """K16, U01"""
    debug_print(False, "hidden")
    assert capsys.readouterr().out == ""
    debug_print(True, "Processing call:", "f", 3)
    out = capsys.readouterr().out
    assert re.search(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\]", out)
    assert "Processing call: f 3" in out
    assert "\033[90m" in out


def test_merge_fields() -> None:
    """K01"""
    target: dict[str, Any] = {"content": "Hel", "function": {"arguments": '{"a"'}, "other": None}
    merge_fields(target, {"content": "lo", "refusal": None, "function": {"arguments": ": 1}", "name": "f"}, "other": {"x": "y"}, "n": 3})
    assert target == {"content": "Hello", "function": {"arguments": '{"a": 1}', "name": "f"}, "other": {"x": "y"}}


def message() -> dict[str, Any]:
    calls: Any = defaultdict(lambda: {"function": {"arguments": "", "name": ""}, "id": "", "type": ""})
    return {"content": "", "sender": "A", "role": "assistant", "function_call": None, "tool_calls": calls}


def test_merge_chunk_as_a_stream_brings_it() -> None:
    """K01"""
    final = message()
    deltas: list[dict[str, Any]] = [
        {"role": "assistant", "content": "Let me "},
        {"content": "see.", "tool_calls": None},
        {"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": ""}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"a"'}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": ": 1}"}}]},
        {"tool_calls": [{"index": 1, "id": "c2", "type": "function", "function": {"name": "g", "arguments": "{}"}}]},
        {"content": None, "tool_calls": []},
    ]
    before = copy.deepcopy(deltas)
    for delta in deltas:
        merge_chunk(final, delta)
    assert deltas == before
    assert final["content"] == "Let me see."
    assert final["role"] == "assistant"
    assert list(final["tool_calls"].values()) == [
        {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}},
        {"id": "c2", "type": "function", "function": {"name": "g", "arguments": "{}"}},
    ]


def test_merge_chunk_into_plain_dicts() -> None:
    """K01"""
    final: dict[str, Any] = {"content": None, "tool_calls": {}}
    merge_chunk(final, {"content": "x", "tool_calls": [{"index": 2, "id": "c", "function": {"name": "f"}}]})
    assert final == {"content": "x", "tool_calls": {2: {"id": "c", "function": {"name": "f"}}}}
