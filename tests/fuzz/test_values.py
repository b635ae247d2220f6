"""What models, callers and files hand in: arguments, histories, saved states. A value or an error of ours, whatever comes."""

from __future__ import annotations

import dataclasses
import enum
import json
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from swarm import Agent, ScriptedModel, Swarm, load_state, tool
from swarm.arguments import Arguments, read_object
from swarm.effects import CallModel, Reply
from swarm.errors import HistoryError, StateError, SwarmError, ToolArgumentsError
from swarm.history import repaired
from swarm.legal import json_text
from swarm.messages import text_of
from swarm.models.scripted import call
from tests.fuzz.material import FUZZ, TEXTS, damaged, deep, garbage, messages, outcome, places_in, shaped, text_of_json
from tests.look import is_valid

pytestmark = pytest.mark.check


# Arguments


class Color(enum.Enum):
    RED = "red"
    ONE = 1


class Item(BaseModel):
    sku: str
    amount: int = 1
    inside: Item | None = None


@dataclasses.dataclass
class Point:
    x: float
    tags: list[str] = dataclasses.field(default_factory=list)


def typed(
    n: int = 0,
    f: float = 0.0,
    b: bool = False,
    s: str = "",
    color: Color = Color.RED,
    kind: Literal["a", 1, True] | None = None,
    item: Item | None = None,
    items: list[Item] | None = None,
    point: Point | None = None,
    table: dict[str, list[int]] | None = None,
    either: int | list[str] | None = None,
) -> None: ...


def loose(city: str, *args: Any, context_variables: Any = None, **rest: Any) -> None: ...
def bare(a, b=None) -> None: ...  # type: ignore[no-untyped-def]


KINDS = {"n": int, "f": float, "b": bool, "s": str, "color": Color, "items": list, "table": dict, "either": (int, list, type(None))}
FUNCTIONS = [Arguments(function) for function in (typed, loose, bare)]
GOOD = (
    b'{"n": 42, "f": 1.5, "b": true, "s": "x", "color": "red", "kind": "a", "item": {"sku": "a", "amount": 2}}',
    b'{"n": "42", "b": "false", "color": 1, "items": [{"sku": "a"}, {"sku": 5, "inside": {"sku": "b"}}]}',
    b'{"point": {"x": "1.5", "tags": ["a"]}, "table": {"a": [1, "2"]}, "either": "[\\"a\\"]", "item": "{\\"sku\\": \\"a\\"}"}',
    b'{"city": "Z\\u00fcrich", "a": 1, "b": null, "context_variables": {"x": 1}, "more": [1]}',
    b'"{\\"n\\": 1}"',
)
values = garbage | st.sampled_from(("42", "4.0", "true", "false", "no", "[1]", '{"sku": "a"}', '{"sku": "a", "inside": "{}"}', "red", "1"))
given_names = st.sampled_from((*KINDS, "kind", "item", "point", "city", "a", "context_variables", "other", ""))
argument_dicts = st.dictionaries(given_names, values, max_size=4)


def read(arguments: Arguments, raw: Any, is_loose: bool) -> Any:
    found = arguments.values(raw, "look_up", is_loose)
    assert isinstance(found, dict)
    if arguments is FUNCTIONS[0]:
        for name, kind in KINDS.items():
            value = found.get(name)
            assert name not in found or isinstance(value, kind) or (value is None and name in ("items", "table")), name
            assert kind is not int or not isinstance(value, bool)
    assert "context_variables" not in found
    return found


@FUZZ
@given(damaged(GOOD) | st.binary(max_size=30), st.sampled_from(FUNCTIONS), st.booleans())
def test_arguments_as_text(raw: bytes, arguments: Arguments, is_loose: bool) -> None:
    """T01, T21, T22: values of the annotated types, or a text for the model that is short and names the function."""
    text = raw.decode("utf-8", "surrogateescape")
    found = outcome(lambda: read(arguments, text, is_loose), ToolArgumentsError)
    if isinstance(found, ToolArgumentsError):
        assert "look_up" in str(found)
        assert len(str(found)) < 3_000


@FUZZ
@given(argument_dicts | garbage, st.sampled_from(FUNCTIONS), st.booleans(), st.booleans())
def test_arguments_as_values(raw: Any, arguments: Arguments, is_loose: bool, as_text: bool) -> None:
    """T06, T21: as objects of any kind, which are never changed, and as the text of them."""
    before = repr(raw)
    outcome(lambda: read(arguments, text_of_json(raw).decode() if as_text else raw, is_loose), ToolArgumentsError)
    assert repr(raw) == before


@pytest.mark.parametrize("depth", [150, 210, 900, 3_000, 100_000])
def test_arguments_nested_without_end(depth: int) -> None:
    """T01"""
    text = '{"table": ' + "[" * depth + "]" * depth + "}"
    for raw in (text, json.dumps(text), '{"item": ' + json.dumps('{"inside":' * depth) + "}"):
        outcome(lambda raw=raw: read_object(raw, "f"), ToolArgumentsError)  # type: ignore[misc]
        outcome(lambda raw=raw: FUNCTIONS[0].values(raw, "f"), ToolArgumentsError)  # type: ignore[misc]
    if depth < 10_000:
        value = {"table": deep(depth)}
        outcome(lambda: FUNCTIONS[0].values(value, "f"), ToolArgumentsError)
    item: dict[str, Any] = {"sku": "a"}
    for _ in range(min(depth, 3_000)):
        item = {"sku": "a", "inside": item}
    outcome(lambda: FUNCTIONS[0].values({"item": item}, "f"), ToolArgumentsError)


def test_arguments_that_hold_themselves() -> None:
    """T06"""
    loop: dict[str, Any] = {"n": 1}
    loop["item"] = loop
    outcome(lambda: FUNCTIONS[0].values(loop, "f"), ToolArgumentsError)


# Histories


@FUZZ
@given(st.lists(messages, max_size=7) | garbage, st.booleans())
def test_histories_of_any_shape(history: Any, open_tail: bool) -> None:
    """M03, M04: valid afterwards, or refused with the place; what was given is not touched, and repairing again changes nothing."""
    before = repr(history)
    found = outcome(lambda: repaired(history, allow_open_tail=open_tail), HistoryError)
    assert repr(history) == before
    if isinstance(found, HistoryError):
        return
    assert is_valid(found) or open_tail
    if not is_valid(found):
        last = next(message for message in reversed(found) if message["role"] != "tool")
        assert is_valid([*found[: found.index(last)]])
    assert repaired(found, allow_open_tail=open_tail) == found


@FUZZ
@given(st.lists(messages, max_size=6))
def test_runs_that_begin_with_any_history(history: list[Any]) -> None:
    """M03, M04, H16: what is sent is valid and JSON, or nothing is sent."""
    model = ScriptedModel(["ok"])
    before = repr(history)
    found = outcome(lambda: Swarm(model).run(Agent(instructions=None), history), SwarmError)
    assert repr(history) == before
    if isinstance(found, SwarmError):
        assert isinstance(found, HistoryError)
        assert model.requests == []
    else:
        sent = model.requests[0]["messages"]
        assert is_valid(sent)
        assert all(isinstance(text_of(message), str) for message in sent)
        assert all("sender" not in message and "tool_name" not in message for message in sent)


@pytest.mark.parametrize("depth", [210, 900, 3_000])
def test_histories_nested_without_end(depth: int) -> None:
    """M04"""
    nest = deep(depth)
    loop: list[Any] = []
    loop.append(loop)
    for value in (nest, loop):
        asked = {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": value}}]}
        for history in (
            [asked, {"role": "tool", "tool_call_id": "a", "content": "x"}, {"role": "user", "content": "x"}],
            [{"role": "user", "content": [{"type": "text", "text": value}]}],
            [{"role": "user", "content": value}],
            [value],
            [{"role": value, "content": "x"}],
        ):
            outcome(lambda history=history: repaired(history, allow_open_tail=False), HistoryError)  # type: ignore[misc]
        assert json.loads(json_text(value))


# Saved states


PAID: list[Any] = []


@tool(approval=True)
def pay(amount: int) -> str:
    PAID.append(amount)
    return f"paid {amount}"


def look() -> str:
    return "seen"


OTHER = Agent(name="Other", functions=[look])
SHOP = Agent(name="Shop", functions=[pay, look], handoffs=[OTHER])
DESK = Agent(name="Desk", functions=[SHOP.as_tool(name="ask"), look])
AGENTS = [SHOP, DESK, OTHER]
SCRIPTS: list[tuple[Agent, list[Any]]] = [
    (SHOP, [[call("look"), call("pay", {"amount": 5})]]),
    (DESK, [[call("look"), call("ask", {"input": "x"})], call("pay", {"amount": 5})]),
    (SHOP, [call("transfer_to_other"), "ok"]),
]
STATES = [json.loads(json.dumps(Swarm(ScriptedModel(turns)).run(agent, "go").state())) for agent, turns in SCRIPTS]


class Agrees:
    """A model that never calls anything."""

    blocking = False

    def complete(self, call: CallModel) -> Reply:
        return Reply({"role": "assistant", "content": "ok"}, None, "stop")

    def stream(self, call: CallModel) -> Any:
        raise AssertionError("nobody asked for a stream")


def resumed(data: Any) -> Any:
    """Load a state and go on with it, nothing approved: what needs a person has not run, whatever the state says."""
    try:
        return Swarm(Agrees()).resume(load_state(data, AGENTS))
    finally:
        assert PAID == []


@FUZZ
@given(damaged(tuple(json.dumps(state).encode() for state in STATES)) | st.binary(max_size=30))
def test_states_as_bytes(raw: bytes) -> None:
    """M08: loaded and resumed, or refused."""
    outcome(lambda: resumed(raw), StateError)


@st.composite
def tampered(draw: st.DrawFn) -> Any:
    """A state with up to three of its values replaced or removed, at any depth."""
    state = json.loads(json.dumps(draw(st.sampled_from(STATES))))
    for _ in range(draw(st.integers(1, 3))):
        places = places_in(state)
        if not places:
            break
        parent, key = draw(st.sampled_from(places))
        if draw(st.booleans()):
            parent[key] = draw(garbage | messages | st.sampled_from(("Shop", "Other", "pay", "look", "transfer_to_other", "call_1_1")))
        else:
            del parent[key]
    return state


@FUZZ
@given(tampered() | garbage)
def test_states_that_were_tampered_with(data: Any) -> None:
    """M08"""
    outcome(lambda: resumed(data), StateError)


@pytest.mark.parametrize("depth", [210, 900, 3_000, 100_000])
@pytest.mark.parametrize("field", ["context_variables", "nested", "messages", "calls", "extra"])
def test_states_nested_without_end(depth: int, field: str) -> None:
    """M08"""
    text = json.dumps(STATES[1])
    nest = '{"a":' * depth + "0" + "}" * depth
    data = text.removesuffix("}") + f', "{field}": {f"[{nest}]" if field in ("messages", "calls") else nest}}}'
    outcome(lambda: resumed(data), StateError)
    if depth < 10_000:
        outcome(lambda: resumed({**STATES[1], field: deep(depth)}), StateError)
        inner = STATES[1]
        for _ in range(depth if field == "nested" else 0):
            inner = {**inner, "nested": {"call_1_2": inner}}
        outcome(lambda: resumed(inner), StateError)


@FUZZ
@given(st.text(max_size=6) | st.sampled_from(TEXTS) | garbage | shaped({"a": garbage}))
def test_any_value_is_json_text(value: Any) -> None:
    """T17, T18"""
    assert json.loads(json_text(value)) is not Ellipsis
    json_text(value).encode()
