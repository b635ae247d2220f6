"""Schemas and typed arguments as a provider gets them and as functions do, in whole runs."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, Optional

import pytest
from pydantic import BaseModel, WithJsonSchema

from swarm import Agent, AgentError, tool
from swarm.errors import SchemaWarning, StateError
from swarm.models.scripted import call
from tests.look import tool_names, tool_texts
from tests.modes import Drive

HI = [{"role": "user", "content": "hi"}]


@dataclass
class Stop:
    city: str
    nights: int = 1
    tags: list[str] = field(default_factory=list)


@dataclass
class Trip:
    stops: list[Stop]
    back: Optional[Stop] = None  # noqa: UP045


class Opaque:
    def __init__(self, inner: Any) -> None:
        self.inner = inner


def sent(drive: Drive, *functions: Any) -> dict[str, dict[str, Any]]:
    """The functions of a request by name, as a provider gets them."""
    drive(Agent(functions=list(functions)), HI, ["ok"])
    return {entry["function"]["name"]: entry["function"] for entry in drive.requests[0]["tools"]}


def closed(node: Any) -> bool:
    """Whether every object in a schema is closed and asks for all of its properties."""
    if isinstance(node, list):
        return all(map(closed, node))
    if not isinstance(node, dict):
        return True
    if node.get("type") == "object" and not (
        node.get("additionalProperties") is False and set(node.get("required", ())) == set(node["properties"])
    ):
        return False
    return all(map(closed, node.values()))


def test_no_parameter_is_ever_dropped(drive: Drive) -> None:
    """J02: dataclasses with annotations as text, in each other, beside a type that cannot be said."""

    def plan(trip: Trip, n: int, odd: Opaque, stop: Stop | None = None) -> str:
        assert isinstance(trip, Trip)
        assert isinstance(trip.stops[0], Stop)
        return f"{trip.stops[0].city} {trip.back and trip.back.nights} {n} {odd} {stop}"

    with pytest.warns(SchemaWarning, match=r"plan: the parameter 'odd' has the type .*Opaque"):
        function = sent(drive, plan)["plan"]
    assert list(function["parameters"]["properties"]) == ["trip", "n", "odd", "stop"]
    assert function["parameters"]["required"] == ["trip", "n", "odd"]
    assert "$ref" not in json.dumps(function)
    arguments = {"trip": {"stops": [{"city": "Rome"}], "back": {"city": "Bari", "nights": "2"}}, "n": 1, "odd": {"x": 1}}
    response = drive(Agent(functions=[plan]), HI, [call("plan", arguments), "ok"])
    assert tool_texts(response) == ["Rome 2 1 {'x': 1} None"]


def test_args_and_kwargs(drive: Drive) -> None:
    """J03, J04: hidden from the model; what comes for **kwargs arrives, what comes for a name that is not there is told."""

    def f(x: int, *args: Any, **kwargs: Any) -> Any:
        return [x, list(args), kwargs]

    def g(args: int, kwargs: str = "") -> Any:
        return [args, kwargs]

    def rest(**kwargs: Any) -> Any:
        return kwargs

    functions = sent(drive, f, g, rest)
    assert [list(functions[name]["parameters"]["properties"]) for name in ("f", "g", "rest")] == [["x"], ["args", "kwargs"], []]
    turns = [
        [call("f", {"x": 1, "q": "x"}), call("g", {"args": "2"}), call("rest", {"q": "x", "kwargs": 1, "args": [2]}), call("g", {"x": 1})],
        "ok",
    ]
    texts = tool_texts(drive(Agent(functions=[f, g, rest]), HI, turns))
    assert [json.loads(text) for text in texts[:3]] == [[1, [], {"q": "x"}], [2, ""], {"q": "x", "kwargs": 1, "args": [2]}]
    assert texts[3].startswith("Error: ")


@pytest.mark.parametrize("strict", [None, True])
def test_optional_parameters(drive: Drive, strict: bool | None) -> None:
    """J05: null stands for what was not given, in strict schemas too, where everything is asked for."""

    def f(a: Optional[int] = None, b: str = "x", c: "int" = 3, d: list[str] | None = None, e: Stop | None = None) -> Any:  # noqa: UP037, UP045
        return [a, b, c, d, e and e.nights]

    function = sent(drive, tool(f, strict=strict))["f"]
    assert function["parameters"]["required"] == (["a", "b", "c", "d", "e"] if strict else [])
    assert {"type": "null"} in function["parameters"]["properties"]["a"]["anyOf"]
    agent = Agent(functions=[tool(f, strict=strict)])
    nulls = dict.fromkeys("abcde")
    turns = [[call("f", nulls), call("f", {}), call("f", {"a": 1, "e": {"city": "Rome", "nights": None, "tags": None}})], "ok"]
    assert tool_texts(drive(agent, HI, turns)) == ['[null,"x",3,null,null]', '[null,"x",3,null,null]', '[1,"x",3,null,1]']


class Query(BaseModel):
    text: str
    limit: int = 10


def test_one_tool_that_cannot_be_strict_leaves_the_others(drive: Drive) -> None:
    """J06, J07"""

    def free(filters: list[dict[str, Any]]) -> str:
        return "free"

    def fixed(query: Query, more: list[Query] | None = None) -> str:
        return "fixed"

    with pytest.warns(SchemaWarning, match="free: sent without strict"):
        functions = sent(drive, tool(free, strict=True), tool(fixed, strict=True))
    assert ("strict" in functions["free"], functions["fixed"]["strict"]) == (False, True)
    assert closed(functions["fixed"]["parameters"])
    assert not closed(functions["free"]["parameters"])
    response = drive(
        Agent(functions=[free, fixed]), HI, [[call("free", {"filters": [{"a": 1}]}), call("fixed", {"query": {"text": "x"}})], "ok"]
    )
    assert tool_texts(response) == ["free", "fixed"]


def test_a_schema_written_by_hand_is_closed_too(drive: Drive) -> None:
    """J07: at every depth, and what was written is not changed."""
    written = {"type": "object", "properties": {"where": {"type": "object", "properties": {"city": {"type": "string"}}}}}
    before = json.dumps(written)

    def find(query: Annotated[Any, WithJsonSchema(written)], near: Annotated[Any, WithJsonSchema({"type": "string"})] = "") -> str:
        return "found"

    function = sent(drive, tool(find, strict=True))["find"]
    assert function["strict"] is True
    assert closed(function["parameters"])
    assert json.dumps(written) == before
    assert not closed(sent(drive, find)["find"]["parameters"])


def forecast(city: str, unit: str) -> str:
    """Tell the weather."""
    return f"{city} in {unit}"


class Desk:
    """Takes orders."""

    def __call__(self, x: int) -> str:
        return f"order {x}"

    def order(self, x: int) -> str:
        """Order."""
        return f"method {x}"


@pytest.mark.parametrize(
    ("function", "name", "arguments", "text"),
    [
        (functools.partial(forecast, unit="C"), "forecast", {"city": "Rome"}, "Rome in C"),
        (functools.partial(forecast, "Rome"), "forecast", {"unit": "F"}, "Rome in F"),
        (functools.partial(functools.partial(forecast, unit="C"), "Rome"), "forecast", {}, "Rome in C"),
        (functools.partial(Desk()), "Desk", {"x": "1"}, "order 1"),
        (functools.partial(Desk().order, x=2), "order", {}, "method 2"),
        (Desk(), "Desk", {"x": 3}, "order 3"),
        (tool(lambda x: x, name="echo"), "echo", {"x": "hi"}, "hi"),
        (tool(functools.partial(forecast, unit="C"), name="weather"), "weather", {"city": "Rome"}, "Rome in C"),
    ],
)
def test_callables_without_a_name_of_their_own(drive: Drive, function: Any, name: str, arguments: dict[str, Any], text: str) -> None:
    """J08, J09: what is bound is hidden; the name is legal."""
    found = sent(drive, function)
    assert list(found) == [name]
    assert list(found[name]["parameters"]["properties"]) == list(arguments)
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name)
    assert tool_texts(drive(Agent(functions=[function]), HI, [call(name, arguments), "ok"])) == [text]


def test_what_a_partial_binds_stays_bound(drive: Drive) -> None:
    """J08: whatever the model sends under that name."""
    agent = Agent(functions=[functools.partial(forecast, unit="C")])
    response = drive(agent, HI, [call("forecast", {"city": "Rome", "unit": "K"}), "ok"])
    assert tool_texts(response) == ["Rome in C"]


@pytest.mark.parametrize("nameless", [lambda x: x, functools.partial(lambda x: x, 1)])
def test_a_lambda_needs_a_name(nameless: Callable[..., Any]) -> None:
    """J09: found when the agent is made, with what to do about it."""
    with pytest.raises(AgentError, match=r"lambda.*tool\(.*name="):
        Agent(functions=[nameless])


def test_descriptions_of_parameters(drive: Drive) -> None:
    """J10: from the annotation, else from the docstring, whose Args block is not sent twice."""

    def book(city: Annotated[str, "where to stay"], nights: int = 1) -> str:
        """Book a room.

        The price is per night.

        Args:
            city: not this one.
            nights: how many,
                at least one.

        Returns:
            the number of the booking.
        """
        return "7"

    function = sent(drive, book)["book"]
    assert function["description"].startswith("Book a room.\n\nThe price is per night.")
    assert "Args" not in function["description"]
    assert "nights" not in function["description"].split("Returns")[0]
    properties = function["parameters"]["properties"]
    assert properties["city"]["description"] == "where to stay"
    assert " ".join(properties["nights"]["description"].split()) == "how many, at least one."


def test_a_function_without_parameters_has_an_empty_object(drive: Drive) -> None:
    """J11: also one whose parameters are all filled by the run."""

    def none() -> str:
        return "x"

    def filled(context_variables: dict[str, Any]) -> str:
        return "y"

    for function in sent(drive, none, filled).values():
        assert function["parameters"] == {"type": "object", "properties": {}, "required": []}
    assert tool_names(drive.requests[0]) == ["none", "filled"]


@pytest.mark.parametrize("value", [Decimal("1.2"), {1, 2}, object(), b"x", float("inf"), (1, 2), {"deep": [{"x": Decimal(1)}]}])
def test_what_cannot_be_saved_says_where_it_is(drive: Drive, value: Any) -> None:
    """C12: an error when the state is asked for, never a state that lacks it; the run itself is not disturbed."""

    def put(context_variables: dict[str, Any]) -> str:
        context_variables["amount"] = value
        return "put"

    response = drive(Agent(functions=[put]), HI, [call("put"), "ok"])
    assert response.text == "ok"
    with pytest.raises(StateError, match=r"context_variables\.amount.* JSON cannot hold"):
        response.state()
