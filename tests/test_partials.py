"""Partial values of typed answers: what is told of a text that is still being written, to whom, and what it costs."""

from __future__ import annotations

import dataclasses
import enum
import json
from collections.abc import AsyncIterator, Iterator
from itertools import pairwise
from typing import Any, Literal, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from swarm import Agent, Handoff, Swarm, load_state, partials, tool
from swarm.effects import CallModel, Flow, Reply
from swarm.errors import OutputError, ServerError
from swarm.events import Delta, Event, MessageDone, Nested, PartialOutput, TurnStarted
from swarm.models.scripted import ScriptedModel, Turn, call
from swarm.partials import Partials, value_so_far
from swarm.policies import Cache, Guardrail, Retry
from swarm.policies.checks import Pattern
from tests.modes import Drive, streaming


class Order(BaseModel):
    item: str
    price: float
    tags: list[str] = []


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Movie(TypedDict):
    title: str
    year: int


class Colour(enum.Enum):
    RED = "red"


TEXT = '{"item": "lamp", "price": 49.9, "tags": ["red", "old"]}'
WHOLE = {"item": "lamp", "price": 49.9, "tags": ["red", "old"]}


def typed(*pieces: str) -> Turn:
    """A turn that streams as these pieces."""
    text = "".join(pieces)
    begin, end = ({"choices": [{"index": 0, "delta": {"role": "assistant"}}]}, {"choices": [{"delta": {}, "finish_reason": "stop"}]})
    return Turn(text, chunks=[begin, *pieces, end])


def letters(text: str) -> Turn:
    return typed(*text)


def values(events: list[Event]) -> list[Any]:
    return [event.value for event in events if isinstance(event, PartialOutput)]


def told(kind: Any, text: str) -> list[Any]:
    """What is told of an answer that comes letter by letter."""
    return values(list(Swarm(ScriptedModel([letters(text)])).stream(Agent(output_type=kind), "x")))


# What is told


@streaming
def test_what_there_is_of_an_answer_is_told_as_it_grows(drive: Drive) -> None:
    """O05"""
    pieces = ['{"item": "la', 'mp", "pri', 'ce": 4', "9.9, ", '"tags": ["red", "o', 'ld"]}']
    events = drive.events(Agent(name="Shop", output_type=Order), "A lamp", [typed(*pieces)])
    assert values(events) == [
        {"item": "la"},
        {"item": "lamp"},
        {"item": "lamp", "price": 49.9},
        {"item": "lamp", "price": 49.9, "tags": ["red", "o"]},
        WHOLE,
    ]
    assert {event.agent for event in events if isinstance(event, PartialOutput)} == {"Shop"}


@streaming
def test_the_value_stands_behind_the_piece_that_it_came_with_and_before_the_whole(drive: Drive) -> None:
    """O05"""
    events = drive.events(Agent(output_type=Order), "A lamp", [letters(TEXT)])
    kinds = [type(event) for event in events]
    assert kinds[0] is TurnStarted
    assert all(kinds[at - 1] is Delta for at, kind in enumerate(kinds) if kind is PartialOutput)
    assert max(at for at, kind in enumerate(kinds) if kind is PartialOutput) < kinds.index(MessageDone)
    assert "".join(event.text for event in events if isinstance(event, Delta)) == TEXT
    assert events[-1].response.output == Order(item="lamp", price=49.9, tags=["red", "old"])  # type: ignore[attr-defined]


def test_the_event_as_json() -> None:
    """O05"""
    event = PartialOutput("Shop", {"item": "la"})
    assert event.as_dict() == {"event": "PartialOutput", "agent": "Shop", "value": {"item": "la"}}
    assert event.cause is None


def test_each_value_is_its_own() -> None:
    """O05, K19: a reader may change what it got."""
    seen: list[Any] = []
    for event in Swarm(ScriptedModel([letters(TEXT)])).stream(Agent(output_type=Order), "x"):
        if isinstance(event, PartialOutput):
            seen.append(dict(event.value))
            event.value.clear()
    assert seen[-1] == WHOLE


KINDS: list[tuple[Any, str, Any]] = [
    (Order, TEXT, WHOLE),
    (Point, '{"x": 1, "y": 2}', {"x": 1, "y": 2}),
    (Movie, '{"title": "Alien", "year": 1979}', {"title": "Alien", "year": 1979}),
    (list[int], '{"value": [1, 2, 3]}', [1, 2, 3]),
    (list[int], "[1, 2, 3]", [1, 2, 3]),
    (list[Point], '{"value": [{"x": 1}, {"x": 2}]}', [{"x": 1}, {"x": 2}]),
    (Order | Point, '{"value": {"x": 1}}', {"x": 1}),
    (Order | None, '{"value": null}', None),
    (dict[str, int], '{"value": 1, "b": 2}', {"value": 1, "b": 2}),
    (int, '{"value": 42}', 42),
    (Literal["yes", "no"], '{"value": "yes"}', "yes"),
    (Colour, '{"value": "red"}', "red"),
    (Order, f"Here you are:\n```json\n{TEXT}\n```\nEnjoy {{it}}!", WHOLE),
    (Order, f"Sure [1]: {TEXT} and more", WHOLE),
    (Order, '<think>{"item": "rug"}</think>' + TEXT, WHOLE),
]


@pytest.mark.parametrize(("kind", "text", "last"), KINDS)
def test_for_every_kind_of_type_the_last_value_is_the_whole(kind: Any, text: str, last: Any) -> None:
    """O05"""
    seen = told(kind, text)
    assert seen[-1] == last
    assert all(before != after for before, after in pairwise(seen))


@pytest.mark.parametrize(("kind", "text"), [(int, "42"), (Literal["yes", "no"], "yes"), (str, '{"a": 1}'), (None, TEXT)])
def test_what_has_no_parts_is_not_told(kind: Any, text: str) -> None:
    """O05: of a text, the deltas are what there is."""
    assert told(kind, text) == []


SO_FAR: list[tuple[str, Any]] = [
    ('{"item": "la', {"item": "la"}),
    ('{"item": "la\\', {"item": "la"}),
    ('{"item": "la\\u12', {"item": "la"}),
    ('{"ite', {}),
    ('{"a": 4', {}),
    ('{"a": 49.', {}),
    ('{"a": -1e', {}),
    ('{"a": 4,', {"a": 4}),
    ('{"a": "4', {"a": ""}),
    ('{"a": "apple', {"a": "apple"}),
    ('{"a": "x.', {"a": "x."}),
    ('{"a": tru', {}),
    ('{"a": true', {"a": True}),
    ("[1, 2", [1]),
    ("[1, 2]", [1, 2]),
    ('```json\n{"a": "b', {"a": "b"}),
    ('```json\n{"a": 1}\n```\nor [2, 3] and {"b": 1}', {"a": 1}),
    ('```\n{"a": 1}\n```\nno:\n```\n{"a": 2', {}),
    ('```\nnothing\n```\n{"a": 2}', {"a": 2}),
    ('{"a": "```\\n"}', {"a": "```\n"}),
    ('{x} [a] {"a": 1} then {"a": "b', {"a": "b"}),
    ('{"a" 1} {"a": 2}', {"a": 2}),
]


@pytest.mark.parametrize(("text", "value"), SO_FAR)
def test_what_a_text_says_so_far(text: str, value: Any) -> None:
    """O05: half a text is one, half a number is none."""
    assert value_so_far(text) == value


@pytest.mark.parametrize("text", ["", "{", "[", "{}", "n is 3", "[" * 3000, '{"a":' * 3000])
def test_where_there_is_nothing_yet_nothing_is_told(text: str) -> None:
    """O05"""
    assert Partials("A", bare=True).end(text) is None


CHARACTERS = st.characters(exclude_categories=["Cs"])
LEAF = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(CHARACTERS, max_size=8)
JSON: st.SearchStrategy[Any] = st.deferred(
    lambda: LEAF | st.lists(JSON, max_size=3) | st.dictionaries(st.text(CHARACTERS, max_size=3), JSON, max_size=3)
)


def is_part(part: Any, whole: Any) -> bool:
    """Whether a value is what there may be of another, so far."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and is_part(value, whole[key]) for key, value in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) <= len(whole) and all(map(is_part, part, whole))
    return whole.startswith(part) if isinstance(part, str) and isinstance(whole, str) else part == whole and type(part) is type(whole)


@given(st.dictionaries(st.text(CHARACTERS, max_size=3), JSON, min_size=1, max_size=4), st.booleans(), st.integers(1, 9))
def test_whatever_is_told_is_a_part_of_the_whole(value: dict[str, Any], ascii_only: bool, size: int) -> None:
    """O05"""
    text, partial = json.dumps(value, ensure_ascii=ascii_only), Partials("A", bare=True)
    found = [partial.feed(text[at : at + size]) for at in range(0, len(text), size)]
    seen = [event.value for event in [*found, partial.end(text)] if event is not None]
    assert seen[-1] == value
    for part, whole in zip(seen, [*seen[1:], value], strict=True):
        assert is_part(part, whole)


@pytest.mark.parametrize("depth", [100, 900, 50_000])
def test_an_answer_that_is_nested_without_end_breaks_nothing(depth: int) -> None:
    """O05"""
    text, partial = '{"a":' * depth + "1" + "}" * depth, Partials("A", bare=True)
    seen = [*(partial.feed(text[at : at + 50]) for at in range(0, len(text), 50)), partial.end(text)]
    assert any(seen) or depth > 100
    assert partial.end(text) is None


@given(st.text('[]{}":,\\n 1`\n', max_size=60))
def test_no_text_breaks_the_reading(text: str) -> None:
    """O05"""
    partial = Partials("A", bare=False)
    for letter in text:
        partial.feed(letter)
    partial.end(text)


# In a run


@streaming
def test_only_the_active_agent_and_each_reply_anew(drive: Drive) -> None:
    """O05, O02: across a handoff and tools."""

    def look_up() -> str:
        return "49.90"

    shop = Agent(name="Shop", functions=[look_up], output_type=Order)
    triage = Agent(name="Triage", handoffs=[shop])
    script = [Turn('{"item": "rug"}', [call("transfer_to_shop")]), call("look_up"), letters(TEXT)]
    events = drive.events(triage, "A lamp", script)
    assert {event.agent for event in events if isinstance(event, PartialOutput)} == {"Shop"}
    assert values(events)[-1] == WHOLE


@streaming
def test_the_second_answer_begins_anew(drive: Drive) -> None:
    """O05, O01"""
    events = drive.events(Agent(output_type=Order), "A lamp", [letters('{"item": "rug"}'), letters(TEXT)])
    turns: list[list[Any]] = []
    for event in events:
        if isinstance(event, TurnStarted):
            turns.append([])
        elif isinstance(event, PartialOutput):
            turns[-1].append(event.value)
    assert [turn[-1] for turn in turns] == [{"item": "rug"}, WHOLE]
    assert turns[1][0] == {"item": ""}


@streaming
def test_an_answer_that_never_fits_has_been_told_as_data(drive: Drive) -> None:
    """O05, O01"""
    seen: list[Event] = []
    with pytest.raises(OutputError):
        drive.events(Agent(output_type=Order), "x", [letters('{"item": "rug"}')] * 2, swarm={"on_event": seen.append})
    assert values(seen)[-1] == {"item": "rug"}


@streaming
@pytest.mark.parametrize("way", ["tool", "returns"])
def test_an_agent_inside_a_call_tells_its_own(drive: Drive, way: str) -> None:
    """O05, D45"""
    expert = Agent(name="Expert", output_type=Order)
    functions, handoffs = ([expert.as_tool("ask")], []) if way == "tool" else ([], [Handoff(expert, name="ask", returns=True)])
    outer = Agent(functions=functions, handoffs=handoffs)
    asked = call("ask", {"input": "?"} if way == "tool" else {}, id="c1")
    events = drive.events(outer, "A lamp", [asked, letters(TEXT), "Done."])
    inner = [event for event in events if isinstance(event, Nested) and isinstance(event.event, PartialOutput)]
    assert values([event.event for event in inner])[-1] == WHOLE
    assert {event.call_id for event in inner} == {"c1"}
    assert values(events) == []


@streaming
def test_through_gates_only_what_is_shown(drive: Drive) -> None:
    """O05, D11: of a text that is rewritten, or held back, the value is made from what comes out."""
    secret = '{"item": "card 4111111111111111 lamp", "price": 1.5}'
    policies = [Guardrail(Pattern(r"\d{16}", by="[card]", longest=16))]
    events = drive.events(Agent(output_type=Order), "x", [letters(secret)], swarm={"policies": policies})
    assert values(events)[-1] == {"item": "card [card] lamp", "price": 1.5}
    assert not any("41" in str(value) for value in values(events))
    shown = ""
    for event in events:
        shown += event.text if isinstance(event, Delta) else ""
        if isinstance(event, PartialOutput):
            assert event.value["item"] in shown


@streaming
def test_a_guardrail_that_sees_the_whole_shows_the_whole_value(drive: Drive) -> None:
    """O05, D11"""
    policies = [Guardrail(lambda text: text.replace("lamp", "rug"), "output")]
    events = drive.events(Agent(output_type=Order), "x", [letters(TEXT)], swarm={"policies": policies})
    assert values(events) == [{**WHOLE, "item": "rug"}]
    assert events[-1].response.output == Order(**{**WHOLE, "item": "rug"})  # type: ignore[attr-defined]


@streaming
def test_what_a_guardrail_withholds_is_not_told(drive: Drive) -> None:
    """O05, D11"""
    policies = [Guardrail(lambda text: False, "output")]
    events = drive.events(Agent(output_type=Order), "x", [letters(TEXT)], swarm={"policies": policies})
    assert values(events) == []


class Loud:
    """Shows each l as L; a policy, and the gate that it makes."""

    def model(self, call: CallModel) -> Flow:
        return (yield call.replace(gates=(Loud, *call.gates)))

    def feed(self, text: str) -> list[Any]:
        return [text.replace("l", "L")]

    def end(self) -> list[Any]:
        return []


@streaming
def test_a_gated_agent_inside_a_call(drive: Drive) -> None:
    """O05, D45, D11"""
    outer = Agent(functions=[Agent(name="Expert", output_type=Order).as_tool("ask")])
    script = [call("ask", {"input": "?"}), letters(TEXT), "Done."]
    events = drive.events(outer, "A lamp", script, swarm={"policies": [Loud()]})
    inner = [event.event for event in events if isinstance(event, Nested)]
    assert values(inner)[-1] == {"item": "Lamp", "price": 49.9, "tags": ["red", "oLd"]}
    assert "".join(event.text for event in inner if isinstance(event, Delta)) == TEXT.replace("l", "L")


@streaming
def test_an_answer_that_was_not_streamed_is_told_in_one(drive: Drive) -> None:
    """O05: from a cache."""
    swarm = {"policies": [Cache()]}
    agent = Agent(output_type=Order)
    first, second = (drive.events(agent, "A lamp", [letters(TEXT)] if drive.model.requests == [] else [], swarm=swarm) for _ in range(2))
    assert len(values(first)) > 1
    assert values(second) == [WHOLE]


@streaming
def test_a_try_that_broke_off_before_anything_came_leaves_nothing(drive: Drive) -> None:
    """O05"""
    script = [Turn(error=ServerError("503: overloaded")), letters(TEXT)]
    events = drive.events(Agent(output_type=Order), "x", script, swarm={"policies": [Retry(random=lambda: 0.0)]})
    assert values(events)[0] == {"item": ""}
    assert values(events)[-1] == WHOLE


@streaming
def test_a_text_that_is_cut_off_is_told_as_far_as_it_came(drive: Drive) -> None:
    """O05"""
    text = '{"item": "a lamp of the very old kind with a shade'
    events = drive.events(Agent(output_type=Order), "x", [Turn(text, finish_reason="length")])
    assert values(events)[-1] == {"item": text[10:]}
    assert events[-1].response.output is None  # type: ignore[attr-defined]


def test_through_a_pause_and_a_saved_state() -> None:
    """O05"""

    @tool(approval=True)
    def pay() -> str:
        return "paid"

    agent = Agent(functions=[pay], output_type=Order)
    paused = Swarm(ScriptedModel([call("pay")])).run(agent, "Pay")
    state = load_state(json.dumps(paused.state()), agents=[agent])
    stream = Swarm(ScriptedModel([letters(TEXT)])).resume_stream(state, approvals={paused.pending[0].id: True})
    assert values(list(stream))[-1] == WHOLE


def test_a_stream_that_is_closed_at_a_value_keeps_what_was_shown() -> None:
    """O05, D13"""
    with Swarm(ScriptedModel([letters(TEXT)])).stream(Agent(output_type=Order), "x") as stream:
        shown = ""
        for event in stream:
            shown += event.text if isinstance(event, Delta) else ""
            if isinstance(event, PartialOutput) and event.value == {"item": "lamp"}:
                break
    assert stream.response is not None
    assert stream.response.stop_reason == "cancelled"
    assert stream.response.text == shown


# Who is told


class Together:
    """Streams in batches, as our own client does."""

    def __init__(self, text: str, size: int) -> None:
        self.text = text
        self.size = size

    def complete(self, call: CallModel) -> Reply:
        return Reply({"role": "assistant", "content": self.text}, finish_reason="stop")

    def stream(self, call: CallModel) -> Iterator[dict[str, Any]]:
        for batch in self.batches(call):
            yield from batch

    def batches(self, call: CallModel) -> Iterator[list[dict[str, Any]]]:
        chunks = [{"choices": [{"index": 0, "delta": {"content": letter}}]} for letter in self.text]
        for at in range(0, len(chunks), self.size):
            yield chunks[at : at + self.size]

    async def astream(self, call: CallModel) -> AsyncIterator[dict[str, Any]]:
        for chunk in self.stream(call):
            yield chunk

    async def abatches(self, call: CallModel) -> AsyncIterator[list[dict[str, Any]]]:
        for batch in self.batches(call):
            yield batch


@streaming
def test_pieces_that_come_together_are_told_with_one_value(drive: Drive) -> None:
    """O05"""
    events = drive.events(Agent(output_type=Order), "x", Together(TEXT, 14))
    assert "".join(event.text for event in events if isinstance(event, Delta)) == TEXT
    assert len([event for event in events if isinstance(event, Delta)]) == len(TEXT)
    assert len(values(events)) <= len(TEXT) // 14 + 2
    assert values(events)[-1] == WHOLE


def test_the_dict_form_of_a_stream_is_what_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """O05, K17: nothing is looked for either."""
    monkeypatch.setattr(partials, "value_so_far", None)
    items = list(Swarm(ScriptedModel([letters(TEXT)])).run(Agent(output_type=Order), "x", stream=True))
    assert items[0] == {"delim": "start"}
    assert items[-2] == {"delim": "end"}
    assert "".join(item["content"] or "" for item in items[1:-2]) == TEXT


def test_a_run_that_nobody_streams_and_an_agent_without_a_type_look_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """O05"""
    monkeypatch.setattr(partials, "of", None)
    seen: list[Event] = []
    Swarm(ScriptedModel([TEXT]), on_event=seen.append).run(Agent(output_type=Order), "x")
    seen += list(Swarm(ScriptedModel([letters(TEXT)])).stream(Agent(), "x"))
    assert values(seen) == []


def test_observers_of_a_stream_see_values_unless_they_are_to_be_redacted() -> None:
    """O05"""
    for redact in (None, str):
        seen: list[Event] = []
        stream = Swarm(ScriptedModel([letters(TEXT)]), on_event=seen.append, redact=redact).stream(Agent(output_type=Order), "x")
        read = list(stream)
        assert values(read)[-1] == WHOLE
        assert values(seen) == ([] if redact else values(read))


# What it costs


@pytest.mark.parametrize("size", [1, 7])
@pytest.mark.parametrize("length", [500, 5_000, 50_000])
def test_what_is_read_grows_with_the_text_and_not_with_its_square(monkeypatch: pytest.MonkeyPatch, size: int, length: int) -> None:
    """O05"""
    text = json.dumps({"items": ["some words"] * (length // 14)})
    read, found = 0, partials.value_so_far

    def counted(text: str) -> Any:
        nonlocal read
        read += len(text)
        return found(text)

    monkeypatch.setattr(partials, "value_so_far", counted)
    partial = Partials("A", bare=True)
    events = [partial.feed(text[at : at + size]) for at in range(0, len(text), size)]
    assert read <= 20 * len(text)
    assert sum(event is not None for event in events) < 200
