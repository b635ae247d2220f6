"""How functions are called, what their values become, and what happens when a call goes wrong."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel

from swarm import Agent, Result
from swarm.models.scripted import call
from tests.look import is_valid, tool_texts
from tests.modes import Drive

HI = [{"role": "user", "content": "hi"}]


class Point(BaseModel):
    x: int
    name: str


@dataclass
class Pair:
    a: int
    b: str


class Odd:
    def __str__(self) -> str:
        return "odd"


def test_arguments_come_by_keyword_with_their_json_types(drive: Drive) -> None:
    """K09"""
    got: list[Any] = []

    def take(text: str, number: int, share: float, flag: bool, items: list, table: dict, nothing: None, plain) -> str:  # type: ignore[no-untyped-def]
        got.extend([text, number, share, flag, items, table, nothing, plain])
        return "ok"

    arguments = {
        "text": "é",
        "number": 3,
        "share": 0.5,
        "flag": False,
        "items": [1, "a"],
        "table": {"k": [None]},
        "nothing": None,
        "plain": "x",
    }
    drive(Agent(functions=[take]), HI, [call("take", arguments), "ok"])
    assert got == ["é", 3, 0.5, False, [1, "a"], {"k": [None]}, None, "x"]
    assert [type(value) for value in got] == [str, int, float, bool, list, dict, type(None), str]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("text", "text"),
        ("", ""),
        (None, "None"),
        (5, "5"),
        (1.5, "1.5"),
        (True, "True"),
        ((1, 2), "(1, 2)"),
        (Odd(), "odd"),
        (Result(value="v"), "v"),
        (Result(), ""),
        (Result(value=5), "5"),
    ],
)
def test_other_values_become_text(drive: Drive, value: Any, text: str) -> None:
    """K09, T16"""

    def give() -> Any:
        return value

    response = drive(Agent(functions=[give]), HI, [call("give"), "ok"])
    assert tool_texts(response) == [text]
    assert response.calls[0].outcome == "ok"


@pytest.mark.parametrize(
    ("value", "data"),
    [
        ({"ok": True, "n": [1, 2]}, {"ok": True, "n": [1, 2]}),
        ([{"a": None}], [{"a": None}]),
        (Point(x=1, name="é"), {"x": 1, "name": "é"}),
        (Pair(1, "b"), {"a": 1, "b": "b"}),
        (Result(value={"a": 1}), {"a": 1}),
        ([Point(x=1, name="z")], [{"x": 1, "name": "z"}]),
    ],
)
def test_dicts_lists_and_models_become_json(drive: Drive, value: Any, data: Any) -> None:
    """K09, T17"""

    def give() -> Any:
        return value

    assert [json.loads(text) for text in tool_texts(drive(Agent(functions=[give]), HI, [call("give"), "ok"]))] == [data]


def test_calls_run_in_the_order_given(drive: Drive) -> None:
    """K09"""
    order: list[str] = []

    def note(name: str) -> str:
        order.append(name)
        return name

    names = ["c", "a", "b"]
    response = drive(Agent(functions=[note]), HI, [[call("note", {"name": name}) for name in names], "ok"])
    assert order == names
    assert tool_texts(response) == names


# The context variables


def without_default(context_variables: dict[str, Any], item: str) -> str:
    return f"{item} {context_variables['user']}"


def in_the_middle(item: str, context_variables: dict[str, Any], other: str = "") -> str:
    return f"{item} {context_variables['user']}"


def with_default(item: str, context_variables: dict[str, Any] | None = None) -> str:
    return f"{item} {(context_variables or {})['user']}"


def keyword_only(item: str, *, context_variables: dict[str, Any]) -> str:
    return f"{item} {context_variables['user']}"


async def asynchronous(item: str, context_variables: dict[str, Any]) -> str:
    return f"{item} {context_variables['user']}"


def logged(fn: Callable[..., str]) -> Callable[..., str]:
    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> str:
        return fn(*args, **kwargs)

    return wrapper


class Desk:
    def method(self, item: str, context_variables: dict[str, Any]) -> str:
        return f"{item} {context_variables['user']}"

    @classmethod
    def of_class(cls, item: str, context_variables: dict[str, Any]) -> str:
        return f"{item} {context_variables['user']}"

    @staticmethod
    def static(item: str, context_variables: dict[str, Any]) -> str:
        return f"{item} {context_variables['user']}"


@pytest.mark.parametrize(
    "function",
    [
        without_default,
        in_the_middle,
        with_default,
        keyword_only,
        asynchronous,
        logged(in_the_middle),
        Desk().method,
        Desk.of_class,
        Desk.static,
    ],
)
def test_the_context_variables_are_filled_in(drive: Drive, function: Any) -> None:
    """K10"""
    arguments = {"item": "bee", "context_variables": {"user": "forged"}}
    agent = Agent(functions=[function])
    response = drive(agent, HI, [call(function.__name__, arguments), "ok"], context_variables={"user": "Ann"})
    assert tool_texts(response) == ["bee Ann"]


def test_a_partial_gets_them_too(drive: Drive) -> None:
    """K10, J08"""
    agent = Agent(functions=[functools.partial(in_the_middle, other="x")])
    response = drive(agent, HI, [call("in_the_middle", {"item": "bee"}), "ok"], context_variables={"user": "Ann"})
    assert tool_texts(response) == ["bee Ann"]


def test_a_local_variable_of_that_name_is_no_parameter(drive: Drive) -> None:
    """K10"""

    def local(item: str) -> str:
        context_variables = {"user": "local"}
        return f"{item} {context_variables['user']}"

    response = drive(Agent(functions=[local]), HI, [call("local", {"item": "bee"}), "ok"], context_variables={"user": "Ann"})
    assert tool_texts(response) == ["bee local"]


def test_a_change_in_place_is_seen_later(drive: Drive) -> None:
    """K10"""

    def add(context_variables: dict[str, Any]) -> str:
        context_variables["n"] += 1
        return str(context_variables["n"])

    agent = Agent(instructions=lambda context_variables: f"n is {context_variables['n']}", functions=[add])
    response = drive(agent, HI, [[call("add"), call("add")], call("add"), "ok"], context_variables={"n": 0})
    assert tool_texts(response) == ["1", "2", "3"]
    assert [request["messages"][0]["content"] for request in drive.requests] == ["n is 0", "n is 2", "n is 3"]
    assert response.context_variables == {"n": 3}


# Calls that go wrong


def test_an_unknown_tool(drive: Drive) -> None:
    """K11, T12"""

    def generic_command() -> str:
        return "done"

    response = drive(Agent(functions=[generic_command]), HI, [[call("generic_comand"), call("generic_command")], "ok"])
    assert tool_texts(response) == [
        "Error: Tool generic_comand not found. Did you mean generic_command? Available tools: generic_command.",
        "done",
    ]
    assert response.text == "ok"
    assert [made.outcome for made in response.calls] == ["error", "ok"]


class Mute:
    def __str__(self) -> str:
        raise ValueError("no words")


class OwnWords(Exception):
    def __str__(self) -> str:
        return "own words"


class NoWords(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


def broken(kind: str, context_variables: dict[str, Any]) -> Any:
    context_variables.setdefault("ran", []).append(kind)
    if kind == "mute":
        return Mute()
    raise {
        "value": ValueError("bad city"),
        "empty": KeyError(),
        "own": OwnWords(),
        "silent": NoWords(),
        "stop": StopIteration(3),
        "assert": AssertionError(),
    }[kind]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"kind": "value"}, "bad city"),
        ({"kind": "empty"}, "KeyError"),
        ({"kind": "own"}, "own words"),
        ({"kind": "silent"}, "NoWords"),
        ({"kind": "stop"}, "StopIteration"),
        ({"kind": "assert"}, "AssertionError"),
        ({"kind": "mute"}, "no words"),
        ('{"kind": "value"', "JSON"),
        ('{"kind": "value"}}', "JSON"),
        ("[1]", "object"),
        ("3", "object"),
        ({}, "kind"),
        ({"kind": "value", "city": "x"}, "city"),
        ({"kind": {"a": 1}}, "kind"),
    ],
)
def test_a_failed_call_is_told_and_its_siblings_run(drive: Drive, arguments: Any, words: str) -> None:
    """K11, T01, T08, T09, D23"""
    agent = Agent(functions=[broken, fine])
    response = drive(agent, HI, [[call("fine"), call("broken", arguments), call("fine")], "sorry"])
    texts = tool_texts(response)
    assert (texts[0], texts[2]) == ("fine", "fine")
    assert texts[1].startswith("Error: ")
    assert words in texts[1]
    assert "Traceback" not in texts[1]
    assert 'File "' not in texts[1]
    assert is_valid(response.messages)
    assert [made.outcome for made in response.calls] == ["ok", "error", "ok"]
    assert response.text == "sorry"


def fine() -> str:
    return "fine"


def stop_now() -> str:
    raise SystemExit(3)


def interrupted() -> str:
    raise KeyboardInterrupt


@pytest.mark.parametrize(("function", "error"), [(stop_now, SystemExit), (interrupted, KeyboardInterrupt)])
def test_what_ends_the_program_is_not_swallowed(drive: Drive, function: Any, error: type[BaseException]) -> None:
    """K11, D16"""
    with pytest.raises(error):
        drive(Agent(functions=[function]), HI, [call(function.__name__), "never"])
    assert len(drive.requests) == 1


def test_a_cancellation_is_not_swallowed() -> None:
    """D16"""

    async def cut() -> str:
        raise asyncio.CancelledError

    for mode in ("async", "async-stream"):
        with pytest.raises(asyncio.CancelledError):
            Drive(mode)(Agent(functions=[cut]), HI, [call("cut"), "never"])


@pytest.mark.parametrize("arguments", ["", "   ", "{}", "null", '""'])
def test_empty_arguments_are_a_call_without_arguments(drive: Drive, arguments: str) -> None:
    """K12, T02, T04"""
    response = drive(Agent(functions=[fine]), HI, [call("fine", arguments), "ok"])
    assert tool_texts(response) == ["fine"]
    assert drive.requests[1]["messages"][2]["tool_calls"][0]["function"]["arguments"] == arguments
