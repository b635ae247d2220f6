"""What is sent again is encoded once, and what is sent is never anything but what the request holds."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_core import to_json

from swarm import Agent, Handoff, Swarm, tool
from swarm import encoded as encoded_module
from swarm import wire as wire_module
from swarm.effects import CallModel, Flow, Message, Reply, StartRun
from swarm.encoded import Encoded, encode, remembering
from swarm.errors import HistoryError
from swarm.history import Start, checked, repaired
from swarm.models.endpoint import Endpoint
from swarm.models.outgoing import outgoing
from swarm.models.profiles import PROFILES, Profile
from swarm.models.scripted import ScriptedModel, Turn, call
from swarm.models.timeouts import Timeout
from swarm.offers import table_of
from swarm.wire import WireHistory, wire
from tests.modes import Drive
from tests.test_wire_paths import histories

ENDPOINT = Endpoint("http://127.0.0.1:1/v1", "key", None, None, None)
FOLDED = Profile("folded", instruction_role="user")
TALK = [{"role": ("user", "assistant")[number % 2], "content": f"message {number}"} for number in range(60)]
QUESTION = {"role": "user", "content": "Go."}


class Sending(ScriptedModel):
    """A scripted model that encodes each request as our client does.

    Attributes:
        bodies: what would have gone out.
    """

    encodes = True

    def __init__(self, turns: list[Any]) -> None:
        super().__init__(turns)
        self.bodies: list[bytes] = []

    def complete(self, call: CallModel) -> Reply:
        self.note(call)
        return super().complete(call)

    def stream(self, call: CallModel) -> Iterator[dict[str, Any]]:
        self.note(call)
        return super().stream(call)

    def note(self, call: CallModel) -> None:
        self.bodies.append(outgoing(ENDPOINT, Timeout(), call.request, None, stream=call.stream)[1])

    @property
    def sent(self) -> list[Any]:
        return [json.loads(body)["messages"] for body in self.bodies]


@pytest.fixture
def in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short histories go in pieces too, so that short tests see them."""
    monkeypatch.setattr(wire_module, "_SHORT", -1)


@pytest.fixture
def encoding(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes each call of the JSON writer made."""
    sizes: list[int] = []

    def counted(write: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
        def written(value: Any) -> bytes:
            text = write(value)
            sizes.append(len(text))
            return text

        return written

    for name in ("_written", "_plainly_written"):
        monkeypatch.setattr(wire_module, name, counted(getattr(wire_module, name)))
    monkeypatch.setattr(encoded_module, "to_json", counted(to_json))
    return sizes


def add(a: int, b: int) -> str:
    return str(a + b)


def calls(count: int) -> list[Any]:
    return [*(Turn(calls=[call("add", {"a": number, "b": 1}, id=f"c{number}")]) for number in range(count - 1)), "Done."]


def sent(messages: list[Message]) -> Any:
    return json.loads(encode({"model": "m", "messages": messages}))["messages"]


@pytest.mark.usefixtures("in_pieces")
@settings(max_examples=150)
@given(
    profile=st.sampled_from([*PROFILES.values(), FOLDED]),
    history=histories(),
    cuts=st.lists(st.integers(0, 6), max_size=3),
    told=st.lists(st.sampled_from([None, "", "A.", "B."]), min_size=1),
)
def test_each_turn_sends_what_its_request_holds(profile: Profile, history: list[Message], cuts: list[int], told: list[str | None]) -> None:
    """P07, D52: byte for byte what the JSON writer makes of the whole, however the history came, also of a request of an earlier turn."""
    wired, requests = WireHistory(profile), list[Any]()
    for number, cut in enumerate([*sorted(cuts), None]):
        wired.add(history[wired.count : cut])
        fields: dict[str, Any] = {"model": "m", "messages": wired.with_system(told[number % len(told)]), "n": 1}
        requests.append(fields)
        assert encode(fields) == encode(fields) == to_json({**fields, "messages": list(fields["messages"])})
    for fields in requests:
        assert encode(fields) == to_json(fields)


@pytest.mark.parametrize(
    "value",
    [{"a": float("nan")}, {1: True, None: 1.5}, {"a": (1, {"b"})}, {"a": b"x", "é": "\u2028"}, {"a": 10**30}, {}, {"a": {2: [None]}}],
)
def test_messages_are_written_like_everything_else(value: Any) -> None:
    assert wire_module._written([value, value]) == wire_module._plainly_written([value, value]) == to_json([value, value])


@given(history=histories())
def test_what_was_learnt_about_a_history_changes_nothing(history: list[Message]) -> None:
    """P01: only messages that need no other form are passed over."""
    start = checked(history, allow_open_tail=False)
    for profile in PROFILES.values():
        wired = WireHistory(profile)
        wired.add(start.messages, places=start.places_in(list(history)))
        assert wired.with_system("Help.") == wire(history, "Help.", profile)


def test_only_what_is_not_plain_is_looked_at_again() -> None:
    odd = {"role": "assistant", "content": "x", "sender": "A", "tool_calls": None}
    start = checked([*TALK, odd, QUESTION], allow_open_tail=False)
    assert list(start.places) == [60]
    assert list(start.places_in([*start.messages, QUESTION, odd])) == [60, 62, 63]
    assert list(start.places_in([odd, *start.messages])) == list(range(63))
    assert list(checked(TALK, allow_open_tail=False).places) == []
    assert list(Start([odd]).places) == [0]


@pytest.mark.parametrize("odd", [{"role": ["user"], "content": "x"}, {"role": "user", "text": "x"}, {"content": "x", "name": "a"}])
def test_a_message_that_cannot_even_be_asked_is_refused_with_its_place(odd: Any) -> None:
    with pytest.raises(HistoryError, match=r"messages\[1\]"):
        repaired([QUESTION, odd], allow_open_tail=False)


def test_a_turn_encodes_what_is_new(drive: Drive, encoding: list[int]) -> None:
    """Not the history, nor the tools, however long both are."""
    model = Sending(calls(12))
    drive(Agent(functions=[add], instructions="Add."), [*TALK, QUESTION], model)
    assert [len(messages) for messages in model.sent] == list(range(62, 86, 2))
    text = sum(map(len, model.bodies[0:1])) + len(to_json(model.sent[-1][62:]))
    assert text < sum(encoding) < text + 12 * 200  # a turn's own: its instructions, model and brackets


def test_instructions_of_the_moment_leave_the_rest_alone(drive: Drive, encoding: list[int]) -> None:
    """K04"""
    times = iter(range(100))
    model = Sending(calls(5))
    drive(Agent(functions=[add], instructions=lambda: f"It is {next(times)} o'clock."), [*TALK, QUESTION], model)
    assert [messages[0]["content"] for messages in model.sent] == [f"It is {number} o'clock." for number in range(5)]
    assert sum(encoding) < len(model.bodies[0]) + 5 * 400


def test_agents_of_one_provider_share_what_was_encoded(drive: Drive, encoding: list[int]) -> None:
    """K13"""
    second = Agent(name="B", instructions="You are B.")
    first = Agent(name="A", instructions="You are A.", handoffs=[Handoff(second)])
    model = Sending([Turn(calls=[call("transfer_to_b")]), "Hello."])
    drive(first, [*TALK, QUESTION], model)
    assert [messages[0]["content"] for messages in model.sent] == ["You are A.", "You are B."]
    assert sum(encoding) < len(model.bodies[0]) + 700


class Rewriting:
    """Sends what `change` makes of the messages."""

    def __init__(self, change: Callable[[Any], Any]) -> None:
        self.change = change

    def model(self, call: CallModel) -> Flow:
        return (yield call.replace(request={**call.request, "messages": self.change(call.request["messages"])}))


LAST = {"role": "user", "content": "Be short."}
CHANGES: dict[str, Callable[[Any], Any]] = {
    "a slice": lambda messages: messages[-3:],
    "a sum": lambda messages: [*messages, LAST],
    "a copy that is changed": lambda messages: [copy.copy(messages), messages.clear()][0] + [LAST],
    "a deep copy": lambda messages: copy.deepcopy(messages)[1:],
    "pickled": lambda messages: pickle.loads(pickle.dumps(messages))[1:],
    "of the same kind": lambda messages: type(messages)(messages[1:]),
    "appended in place": lambda messages: messages.append(LAST) or messages,
    "replaced in place": lambda messages: messages.__setitem__(5, LAST) or messages,
    "turned around in place": lambda messages: messages.reverse() or messages,
    "shorter in place": lambda messages: messages.pop() and messages,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_policy_that_changes_the_messages_sends_what_it_made(drive: Drive, change: Callable[[Any], Any]) -> None:
    """D52"""
    expected: list[Any] = []

    def noted(messages: Any) -> Any:
        changed = change(messages)
        expected.append(copy.deepcopy(list(changed)))
        return changed

    model = Sending(calls(3))
    drive(Agent(functions=[add]), [*TALK, QUESTION], model, swarm={"policies": [Rewriting(noted)]})
    assert model.sent == expected


def test_what_is_made_from_a_list_that_knows_its_text_is_a_plain_list() -> None:
    known = remembering([{"a": 1}])
    made = [known[:], known + known[:0], known * 1, copy.copy(known), copy.deepcopy(known), pickle.loads(pickle.dumps(known)), known.copy()]
    assert [type(other) for other in made] == [list] * len(made)
    assert all(other == known for other in made)
    assert json.loads(json.dumps(known)) == json.loads(to_json(known)) == known == [{"a": 1}]
    assert type(type(known)(known)) is Encoded
    assert type(known)(known).text is None


class Before:
    """Puts a message in front of the history, as a store of earlier conversations may."""

    def run(self, effect: StartRun) -> Flow:
        effect.messages.insert(0, {"role": "assistant", "content": "Earlier.", "sender": "A", "tool_calls": None})
        return (yield effect)


def test_a_history_that_a_policy_has_changed_before_the_first_turn_is_looked_at_anew(drive: Drive) -> None:
    """P01"""
    model = Sending(["Hello."])
    drive(Agent(instructions="Help."), [*TALK, QUESTION], model, swarm={"policies": [Before()]})
    assert model.sent[0][:3] == [{"role": "system", "content": "Help."}, {"role": "assistant", "content": "Earlier."}, TALK[0]]
    assert len(model.sent[0]) == 63


def test_half_characters_are_replaced_on_every_turn(drive: Drive) -> None:
    model = Sending(calls(3))
    drive(Agent(functions=[add]), [*TALK, {"role": "user", "content": "a\ud83d"}], model)
    assert [messages[61]["content"] for messages in model.sent] == ["a\ufffd"] * 3


def test_what_json_cannot_hold_is_named_with_its_place(drive: Drive) -> None:
    model = Sending(["Hello."])
    with pytest.raises(HistoryError, match=r"messages\[62\]\['x'\] of the request") as caught:
        drive(Agent(), [*TALK, QUESTION, {"role": "user", "content": "x", "x": object()}], model)
    assert caught.value.index == 62


def test_tools_are_encoded_once_for_all_runs(encoding: list[int]) -> None:
    """K05"""
    agent, model = Agent(functions=[add], instructions=None), Sending(["a", "b"])
    client = Swarm(model)
    client.run(agent, "hi")
    first = sum(encoding)
    encoding.clear()
    client.run(agent, "hi")
    assert sum(encoding) < first - len(to_json(table_of(agent).wire)) + 10
    agent.functions.append(tool(add, name="plus"))
    assert [entry["function"]["name"] for entry in json.loads(encode({"tools": table_of(agent).wire}))["tools"]] == ["add", "plus"]


def test_tools_of_the_moment_are_encoded_when_they_change(drive: Drive, encoding: list[int]) -> None:
    variables = {"n": 0}

    def is_second(context_variables: dict[str, Any]) -> bool:
        return context_variables["n"] == 2

    def count(context_variables: dict[str, Any]) -> str:
        context_variables["n"] += 1
        return "counted"

    often, rarely = tool(add, name="often", description=lambda: "Adds numbers. " * 100), tool(add, name="rarely", enabled=is_second)
    model = Sending([*(Turn(calls=[call("count", id=f"c{number}")]) for number in range(4)), "Done."])
    drive(Agent(functions=[often, rarely, count]), "hi", model, context_variables=variables)
    offers = [[entry["function"]["name"] for entry in json.loads(body)["tools"]] for body in model.bodies]
    assert offers == [["often", "count"], ["often", "count"], ["often", "rarely", "count"], ["often", "count"], ["often", "count"]]
    assert len([size for size in encoding if size > 1400]) == 3


def test_a_list_of_entries_that_is_changed_in_place_is_encoded_anew() -> None:
    entries = remembering([{"a": 1}])
    assert encode({"tools": entries}) == encode({"tools": entries}) == b'{"tools":[{"a":1}]}'
    entries.append({"b": 2})
    assert encode({"tools": entries}) == b'{"tools":[{"a":1},{"b":2}]}'


def test_nothing_to_send_is_an_empty_object() -> None:
    assert encode({}) == b"{}"
    assert encode({"messages": Encoded()}) == b'{"messages":[]}'
    assert encode({'a"b': remembering([]), "c": 1}) == b'{"a\\"b":[],"c":1}'


def test_flows_side_by_side_may_send_one_request() -> None:
    wired = WireHistory(PROFILES["default"])
    for number in range(0, len(TALK), 4):
        wired.add(TALK[number : number + 4])
        fields = {"model": "m", "messages": wired.with_system("Help.")}
        with ThreadPoolExecutor(4) as pool:
            texts = set(pool.map(encode, [fields] * 8))
        assert texts == {to_json(fields)}
