"""What a Response holds, and that nothing of the caller's is changed."""

from __future__ import annotations

import copy
import json
import threading
from typing import Any

import pytest

from swarm import Agent, Result, Swarm
from swarm.models.scripted import ScriptedModel, Turn, call
from tests.clients import SHAPES, ForeignClient
from tests.look import is_valid
from tests.modes import Drive

HI = {"role": "user", "content": "hi"}


def weather(city: str, unit: str = "C") -> str:
    return f"21 {unit} in {city}"


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_messages_are_new_and_plain(drive: Drive, shape: str, is_async: bool) -> None:
    """K07, P12"""
    client = ForeignClient([call("weather", {"city": "Graz"}, id="c1"), "It is warm."], shape, is_async)
    response = drive(Agent(name="Bot", functions=[weather]), [HI], client)
    assert response.messages == [
        {
            "role": "assistant",
            "content": None,
            "sender": "Bot",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Graz"}'}}],
        },
        {"role": "tool", "tool_call_id": "c1", "tool_name": "weather", "content": "21 C in Graz"},
        {"role": "assistant", "content": "It is warm.", "sender": "Bot", "tool_calls": None},
    ]
    assert json.loads(json.dumps(response.messages)) == response.messages
    assert all(type(message) is dict for message in response.messages)
    assert client.open_streams == 0


def test_text_beside_calls_stays(drive: Drive) -> None:
    """K07"""
    response = drive(Agent(functions=[weather]), [HI], [Turn("I look.", [call("weather", {"city": "Graz"})]), "ok"])
    assert response.messages[0]["content"] == "I look."
    assert response.messages[0]["tool_calls"][0]["function"]["name"] == "weather"


def test_the_sender_is_who_wrote_the_message(drive: Drive) -> None:
    """K07, H05"""

    def to_b() -> Agent:
        return b

    b = Agent(name="B", functions=[weather])
    a = Agent(name="A", functions=[to_b, weather])
    turns = [[call("to_b"), call("weather", {"city": "x"})], call("weather", {"city": "y"}), "done"]
    response = drive(a, [HI], turns)
    assert [message.get("sender") for message in response.messages] == ["A", None, None, "B", None, "B"]


def test_an_answer_without_text_is_one_empty_message(drive: Drive) -> None:
    """K07, L04"""
    response = drive(Agent(), [HI], [""])
    assert [(message["role"], message["content"]) for message in response.messages] == [("assistant", "")]
    assert response.stop_reason == "complete"
    assert response.text == ""


def test_the_callers_messages_and_variables_are_not_changed(drive: Drive) -> None:
    """K08"""

    def spoil(context_variables: dict[str, Any]) -> Result:
        context_variables["list"].append(1)
        context_variables["dict"]["inner"]["x"] = 1
        context_variables["new"] = True
        return Result(value="ok", context_variables={"list2": [2]})

    picture = [{"type": "text", "text": "hi"}, {"type": "image_url", "image_url": {"url": "data:x"}}]
    asked = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "", "type": "function", "function": {"name": "f", "arguments": ""}}],
    }
    messages = [{"role": "user", "content": picture}, asked, {"role": "tool", "tool_call_id": "", "content": "x"}, HI]
    variables = {"list": [0], "list2": [1], "dict": {"inner": {}}}
    before = copy.deepcopy((messages, variables))
    response = drive(Agent(functions=[spoil]), messages, [call("spoil"), "ok"], context_variables=variables)
    assert (messages, variables) == before
    assert response.context_variables == {"list": [0, 1], "list2": [2], "dict": {"inner": {"x": 1}}, "new": True}
    assert is_valid(drive.requests[1]["messages"])


def test_aliases_survive_and_what_cannot_be_copied_is_shared(drive: Drive) -> None:
    """K08, D17"""
    lock, friend = threading.Lock(), Agent(name="Friend")

    def look(context_variables: dict[str, Any]) -> str:
        context_variables["a"].append(1)
        return f"{context_variables['b']} {context_variables['lock'] is lock} {context_variables['agent'] is friend}"

    shared: list[int] = []
    variables = {"a": shared, "b": shared, "lock": lock, "agent": friend, "fn": look}
    response = drive(Agent(functions=[look]), [HI], [call("look"), "ok"], context_variables=variables)
    assert response.messages[1]["content"] == "[1] True True"
    assert shared == []
    assert response.context_variables["fn"] is look


def test_what_a_request_held_is_not_changed_later(drive: Drive) -> None:
    """K08: messages that were sent stay as they were."""
    response = drive(Agent(functions=[weather]), [HI], [call("weather", {"city": "Graz"}), call("weather", {"city": "Linz"}), "ok"])
    assert [len(request["messages"]) for request in drive.requests] == [2, 4, 6]
    assert drive.requests[2]["messages"][:4] == drive.requests[1]["messages"]
    before = copy.deepcopy(drive.requests)
    response.messages[0]["content"] = "changed"
    response.messages.clear()
    assert drive.requests == before


def test_no_state_between_two_runs_of_one_client() -> None:
    """K08, C03, L08"""

    def count(context_variables: dict[str, Any]) -> str:
        context_variables["n"] = context_variables.get("n", 0) + 1
        return str(context_variables["n"])

    swarm = Swarm(ScriptedModel([call("count"), "one", call("count"), "two"]))
    agent = Agent(functions=[count])
    first = swarm.run(agent, [HI])
    second = swarm.run(agent, [HI])
    assert (first.context_variables, second.context_variables) == ({"n": 1}, {"n": 1})
    assert [m["content"] for m in second.messages] == [None, "1", "two"]
    assert (first.usage.calls, second.usage.calls) == (2, 2)


def test_a_response_continues_the_conversation(drive: Drive) -> None:
    """K08, H18"""

    def to_b(context_variables: dict[str, Any]) -> Result:
        context_variables["seen"] = True
        return Result(agent=b)

    b = Agent(name="B", instructions="I am B.")
    first = drive(Agent(name="A", functions=[to_b]), [HI], [call("to_b"), "B here."])
    assert first.agent is not None
    messages = [HI, *first.messages, {"role": "user", "content": "and now?"}]
    second = drive(first.agent, messages, ["Still B."], context_variables=first.context_variables)
    assert [message["role"] for message in drive.requests[0]["messages"]] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert drive.requests[0]["messages"][0]["content"] == "I am B."
    assert second.messages[0]["sender"] == "B"
    assert second.context_variables == {"seen": True}


def test_the_text_of_a_response(drive: Drive) -> None:
    """U09: the final text is to be had in one way."""
    assert drive(Agent(functions=[weather]), [HI], [call("weather", {"city": "Graz"}), "It is warm."]).text == "It is warm."
    assert drive(Agent(), [HI], [], max_turns=0).text == ""


def test_a_provider_that_gives_the_same_id_twice(drive: Drive) -> None:
    """D52: ids are unique in the conversation, the later one gets "_2"."""
    turns = [[call("weather", {"city": "a"}, id="x"), call("weather", {"city": "b"}, id="x")], call("weather", {"city": "c"}, id="x"), "ok"]
    response = drive(Agent(functions=[weather]), [HI], turns)
    ids = [entry["id"] for message in response.messages for entry in message.get("tool_calls") or ()]
    assert ids[0] == "x"
    assert len(set(ids)) == 3
    assert is_valid(response.messages)
    assert [m["content"] for m in response.messages if m["role"] == "tool"] == ["21 C in a", "21 C in b", "21 C in c"]


def test_a_provider_that_gives_no_ids(drive: Drive) -> None:
    """D3: made-up ids are derived from position, so that a repeated run has the same."""
    turns = [[call("weather", {"city": "a"}, id=""), call("weather", {"city": "b"}, id="")], "ok"]
    one = drive(Agent(functions=[weather]), [HI], turns)
    other = drive(Agent(functions=[weather]), [HI], turns)
    assert one.messages == other.messages
    assert is_valid(one.messages)
