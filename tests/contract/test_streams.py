"""`run(stream=True)`: what comes, in which order, and that it ends as a run without streaming does."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarm import Agent, AsyncSwarm, Result, Swarm
from swarm.errors import HistoryError, ModelError
from swarm.models.scripted import ScriptedModel, Turn, call
from tests.clients import SHAPES, ForeignClient
from tests.look import is_valid
from tests.modes import Drive

HI = [{"role": "user", "content": "hi"}]
Items = list[dict[str, Any]]
KINDS = ("sync", "async")


def items_of(
    kind: str, client: Any, agent: Agent, messages: Any = HI, seen: Callable[[Any], Any] = lambda _: None, **options: Any
) -> Items:
    """All items of a stream, read in one of the two ways; `seen` gets each as it comes."""
    items: Items = []

    def note(item: dict[str, Any]) -> None:
        seen(item)
        items.append(item)

    async def read() -> None:
        async for item in AsyncSwarm(client).run(agent, messages, stream=True, **options):
            note(item)

    if kind == "async":
        asyncio.run(read())
    else:
        for item in Swarm(client).run(agent, messages, stream=True, **options):
            note(item)
    return items


def shape_of(items: Items) -> list[str]:
    """The kinds of the items, deltas of one message drawn together."""
    kinds = ["response" if "response" in item else item.get("delim", "delta") for item in items]
    return [kind for at, kind in enumerate(kinds) if kind != "delta" or kinds[at - 1] != "delta"]


def deltas_of(items: Items) -> Items:
    return [item for item in items if "delim" not in item and "response" not in item]


def weather(city: str) -> str:
    return f"warm in {city}"


def to_b() -> Agent:
    return B


B = Agent(name="B")
A = Agent(name="A", functions=[weather, to_b])
TURNS = [[call("weather", {"city": "Graz"}), call("weather", {"city": "Linz"})], Turn("I pass you on.", [call("to_b")]), "B is here."]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_asked_before_it_is_read(kind: str) -> None:
    """K17"""
    model = ScriptedModel(["hello"])

    async def begin() -> None:
        stream = AsyncSwarm(model).run(Agent(), HI, stream=True)
        assert model.requests == []
        await stream.__anext__()
        await stream.aclose()

    if kind == "async":
        asyncio.run(begin())
    else:
        stream = Swarm(model).run(Agent(), HI, stream=True)
        assert model.requests == []
        next(stream)
        stream.close()
    assert model.open_streams == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_that_is_never_read_asks_nothing(kind: str) -> None:
    """K17"""
    model = ScriptedModel([])
    stream: Any = (Swarm if kind == "sync" else AsyncSwarm)(model).run(Agent(), HI, stream=True)
    del stream
    assert model.requests == []


@pytest.mark.parametrize("kind", KINDS)
def test_each_turn_is_bracketed_and_the_response_is_last(kind: str) -> None:
    """K17, S11, S19"""
    items = items_of(kind, ScriptedModel(TURNS), A)
    assert shape_of(items) == ["start", "delta", "end"] * 3 + ["response"]
    assert [item for item in items if "response" in item] == items[-1:]
    assert items[0] == {"delim": "start"}
    assert items[-1].keys() == {"response"}


@pytest.mark.parametrize("kind", KINDS)
def test_the_delta_with_the_role_carries_the_sender(kind: str) -> None:
    """K18"""
    items = items_of(kind, ScriptedModel(TURNS), A)
    assert [item["sender"] for item in items if item.get("role") == "assistant"] == ["A", "A", "B"]
    assert all(("sender" in item) is (item.get("role") == "assistant") for item in deltas_of(items))
    for at, item in enumerate(items):
        if item == {"delim": "start"}:
            assert items[at + 1]["role"] == "assistant"


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_calls_come_with_index_id_name_and_pieces(kind: str, shape: str, is_async: bool) -> None:
    """K18"""
    items = items_of(kind, ForeignClient(TURNS, shape, is_async), A)
    end = items.index({"delim": "end"})
    pieces = [entry for item in items[:end] for entry in item.get("tool_calls") or ()]
    calls: dict[int, list[str]] = {}
    for piece in pieces:
        joined = calls.setdefault(piece["index"], ["", "", ""])
        function = piece["function"]
        for at, part in enumerate((piece["id"], function["name"], function["arguments"])):
            joined[at] += part or ""
    assert [calls[0][1:], calls[1][1:]] == [["weather", '{"city":"Graz"}'], ["weather", '{"city":"Linz"}']]
    assert [calls[0][0], calls[1][0]] == [entry["id"] for entry in items[-1]["response"].messages[0]["tool_calls"]]
    assert len(pieces) > 4, "arguments should come in pieces"


@pytest.mark.parametrize("kind", KINDS)
def test_joined_contents_are_the_text(kind: str) -> None:
    """K18, S18"""
    items = items_of(kind, ScriptedModel(TURNS), A)
    texts, text = [], ""
    for item in items:
        text += item.get("content") or ""
        if item.get("delim") == "end":
            texts.append(text)
            text = ""
    said = [message["content"] or "" for message in items[-1]["response"].messages if message["role"] == "assistant"]
    assert texts == said == ["", "I pass you on.", "B is here."]


@pytest.mark.parametrize("kind", KINDS)
def test_readers_find_the_keys_they_look_up(kind: str) -> None:
    """K18: existing readers look up `content`, and `function.name` of each piece of a call, without asking whether they are there."""
    for item in deltas_of(items_of(kind, ScriptedModel(TURNS), A)):
        assert item["content"] is None or isinstance(item["content"], str)
        for entry in item.get("tool_calls") or ():
            assert entry["function"]["name"] in (None, "", "weather", "to_b")
            assert isinstance(entry["function"]["arguments"], str)
            assert isinstance(entry["index"], int)


@pytest.mark.parametrize("kind", KINDS)
def test_an_event_is_not_changed_after_it_was_handed_out(kind: str) -> None:
    """K19"""
    copies: Items = []
    items = items_of(
        kind, ScriptedModel(TURNS), A, seen=lambda item: copies.append(copy.deepcopy({k: v for k, v in item.items() if k != "response"}))
    )
    assert [{key: value for key, value in item.items() if key != "response"} for item in items] == copies
    assert len({id(item) for item in items}) == len(items)


@pytest.mark.parametrize("kind", KINDS)
def test_a_reader_may_change_what_it_got(kind: str) -> None:
    """K19: what is done to an item does not reach the run."""

    def spoil(item: dict[str, Any]) -> None:
        for entry in item.get("tool_calls") or ():
            entry["function"]["arguments"] = "spoiled"
        if "response" not in item:
            item.clear()

    response = items_of(kind, ScriptedModel(TURNS), A, seen=spoil)
    model = ScriptedModel(TURNS)
    assert response[-1]["response"].messages == Swarm(model).run(A, HI).messages


@pytest.mark.parametrize("kind", KINDS)
def test_items_are_json(kind: str) -> None:
    """K17"""
    json.dumps(items_of(kind, ScriptedModel(TURNS), A)[:-1])


def normal(messages: Items) -> Items:
    return [{**message, "content": message["content"] or None} for message in messages]


def test_the_response_is_that_of_a_run_without_streaming(drive: Drive) -> None:
    """K19"""
    response = drive(A, HI, TURNS, context_variables={"a": 1})
    expected = Swarm(ScriptedModel(TURNS)).run(A, HI, {"a": 1})
    assert normal(response.messages) == normal(expected.messages)
    assert response.agent is expected.agent is B
    assert (response.context_variables, response.stop_reason, response.handoffs) == ({"a": 1}, "complete", [("A", "B")])
    assert response.usage.total_tokens == expected.usage.total_tokens == 45


ARGUMENTS = st.dictionaries(st.sampled_from(["city", "x"]), st.text(max_size=5) | st.integers(0, 9), max_size=2)
CALL = st.builds(call, st.sampled_from(["weather", "to_b", "set_x", "nothing"]), ARGUMENTS | st.sampled_from(["", "{", "null", "[1]"]))
TURN = (
    st.text(max_size=12)
    | st.lists(CALL, min_size=1, max_size=3)
    | st.builds(Turn, st.text(max_size=8), st.lists(CALL, min_size=1, max_size=2))
)


def set_x(x: int, context_variables: dict[str, Any]) -> Result:
    context_variables["calls"] = context_variables.get("calls", 0) + 1
    return Result(value=f"x={x}", context_variables={"x": x})


@given(st.lists(TURN, max_size=4), st.sampled_from([1, 2, 3, 5, float("inf")]), st.booleans())
def test_four_modes_agree_on_any_script(turns: list[Any], max_turns: float, execute: bool) -> None:
    """K19, S11, S16"""
    results: list[Any] = []
    for mode in ("sync", "async", "sync-stream", "async-stream"):
        b = Agent(name="B", functions=[set_x])

        def to_b(b: Agent = b) -> Agent:
            return b

        one = Drive(mode)
        agent = Agent(name="A", functions=[weather, set_x, named("to_b", to_b)])
        response = one(agent, HI, [*turns, "end"], max_turns=max_turns, execute_tools=execute)
        requests = [{key: value for key, value in request.items() if not key.startswith("stream")} for request in one.requests]
        assert response.agent is not None
        assert is_valid(response.messages) or not execute
        results.append(
            (
                normal(response.messages),
                response.agent.name,
                response.context_variables,
                response.stop_reason,
                len(response.calls),
                requests,
            )
        )
    assert results[1:] == results[:1] * 3


def named(name: str, fn: Any) -> Any:
    def tool() -> Agent:
        return fn()

    tool.__name__ = name
    return tool


# Limits, errors and isolation hold as without streaming


@pytest.mark.parametrize("kind", KINDS)
def test_limits_hold(kind: str) -> None:
    """K19"""
    items = items_of(kind, ScriptedModel([call("weather", {"city": "x"})]), A, max_turns=1)
    assert shape_of(items) == ["start", "delta", "end", "response"]
    assert len(items[-1]["response"].messages) == 2
    items = items_of(kind, ScriptedModel([]), A, max_turns=0)
    assert shape_of(items) == ["response"]
    assert items[-1]["response"].agent is A


@pytest.mark.parametrize("kind", KINDS)
def test_calls_are_not_executed_on_demand(kind: str) -> None:
    """K19"""
    items = items_of(kind, ScriptedModel([call("to_b")]), A, execute_tools=False)
    assert items[-1]["response"].agent is A
    assert len(items[-1]["response"].messages) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_of_the_model_leaves_the_stream(kind: str) -> None:
    """K19"""
    items: Items = []
    with pytest.raises(ModelError, match="boom") as caught:
        items_of(kind, ForeignClient([call("weather", {"city": "x"}), RuntimeError("boom")]), A, seen=items.append)
    assert caught.value.response is not None
    assert [message["role"] for message in caught.value.response.messages] == ["assistant", "tool"]
    assert not any("response" in item for item in items)


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_messages_are_refused(kind: str) -> None:
    """K19"""
    with pytest.raises(HistoryError, match=r"messages\[1\]"):
        items_of(kind, ScriptedModel([]), A, [*HI, {"role": "nobody", "content": "x"}])


@pytest.mark.parametrize("kind", KINDS)
def test_the_callers_things_stay_as_they_were(kind: str) -> None:
    """K19, K08"""
    messages, variables = copy.deepcopy(HI), {"list": [1]}

    def spoil(context_variables: dict[str, Any]) -> str:
        context_variables["list"].append(2)
        return "ok"

    items = items_of(kind, ScriptedModel([call("spoil"), "ok"]), Agent(functions=[spoil]), messages, context_variables=variables)
    assert (messages, variables) == (HI, {"list": [1]})
    assert items[-1]["response"].context_variables == {"list": [1, 2]}


def test_a_stream_is_an_iterator_and_holds_the_response() -> None:
    """K17"""
    stream = Swarm(ScriptedModel(["hi"])).run(Agent(), HI, stream=True)
    assert iter(stream) is stream
    assert stream.response is None
    last = list(stream)[-1]
    assert stream.response is last["response"]
    with pytest.raises(StopIteration):
        next(stream)
