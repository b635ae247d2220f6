"""Who speaks next, what results carry, and when a run stops."""

from __future__ import annotations

import json
from typing import Any

import pytest

from swarm import Agent, Result
from swarm.models.scripted import call
from tests.look import is_valid, outline, tool_names, tool_texts
from tests.modes import Drive

HI = [{"role": "user", "content": "hi"}]


def switch(name: str, target: Agent) -> Any:
    """A function called `name` that hands over to `target`."""

    def to() -> Agent:
        return target

    to.__name__ = name
    return to


def plain() -> str:
    return "plain"


def test_a_function_that_returns_an_agent_hands_off(drive: Drive) -> None:
    """K13"""
    b = Agent(name="B", instructions="I am B.", functions=[plain])
    a = Agent(name="A", functions=[switch("to_b", b)])
    response = drive(a, HI, [call("to_b"), "B here."])
    assert response.agent is b
    assert json.loads(tool_texts(response)[0]) == {"assistant": "B"}
    assert drive.requests[1]["messages"][0]["content"] == "I am B."
    assert [tool_names(request) for request in drive.requests] == [["to_b"], ["plain"]]
    assert response.handoffs == [("A", "B")]


@pytest.mark.parametrize("name", ["Zoë", "助手", 'Say "hi"', "A\nB"])
def test_the_tool_message_is_readable_json(drive: Drive, name: str) -> None:
    """K13, D21, P17"""
    response = drive(Agent(functions=[switch("to_b", Agent(name=name))]), HI, [call("to_b"), "ok"])
    text = tool_texts(response)[0]
    assert json.loads(text) == {"assistant": name}
    assert "\\u" not in text
    assert response.messages[-1]["sender"] == name


def test_no_agent_no_change(drive: Drive) -> None:
    """K13"""
    a = Agent(functions=[plain])
    assert drive(a, HI, [call("plain"), "ok"]).agent is a


def test_the_last_of_several_is_used(drive: Drive) -> None:
    """K13"""
    b, c = Agent(name="B"), Agent(name="C")
    a = Agent(name="A", functions=[switch("to_b", b), switch("to_c", c), plain])
    response = drive(a, HI, [[call("to_c"), call("to_b"), call("plain")], "ok"])
    assert response.agent is b
    assert tool_texts(response) == ['{"assistant": "C"}', '{"assistant": "B"}', "plain"]
    assert response.messages[-1]["sender"] == "B"
    assert response.handoffs == [("A", "B")]


def test_a_failed_call_does_not_undo_a_handoff(drive: Drive) -> None:
    """K13"""
    b = Agent(name="B")
    response = drive(Agent(functions=[switch("to_b", b)]), HI, [[call("to_b"), call("nothing")], "ok"])
    assert response.agent is b


def test_all_calls_of_a_reply_run_with_the_functions_of_its_agent(drive: Drive) -> None:
    """K13, H05"""

    def own() -> str:
        return "own"

    b = Agent(name="B", functions=[switch("foreign", Agent())])
    a = Agent(name="A", functions=[switch("to_b", b), own])
    response = drive(a, HI, [[call("to_b"), call("own"), call("foreign")], "ok"])
    texts = tool_texts(response)
    assert texts[1] == "own"
    assert texts[2].startswith("Error: Tool foreign not found.")
    assert response.agent is b
    assert {made.agent for made in response.calls} == {"A"}


def test_afterwards_the_old_tools_are_gone(drive: Drive) -> None:
    """K13"""
    b = Agent(name="B")
    a = Agent(name="A", functions=[switch("to_b", b), plain])
    response = drive(a, HI, [call("to_b"), call("plain"), "ok"])
    assert tool_texts(response)[1].startswith("Error: Tool plain not found.")


def test_chains_work_within_one_run(drive: Drive) -> None:
    """K13, H16, H17"""
    a, b, c = Agent(name="A"), Agent(name="B"), Agent(name="C")
    a.functions, b.functions, c.functions = [switch("to_b", b)], [switch("to_c", c)], [switch("to_a", a)]
    response = drive(a, HI, [call("to_b"), call("to_c"), call("to_a"), "home"])
    assert response.agent is a
    assert [message["sender"] for message in response.messages if message["role"] == "assistant"] == ["A", "B", "C", "A"]
    assert [tool_names(request) for request in drive.requests] == [["to_b"], ["to_c"], ["to_a"], ["to_b"]]
    assert drive.requests[3]["messages"][1:] == drive.requests[2]["messages"][1:] + drive.requests[3]["messages"][-2:]


def test_a_result_carries_value_agent_and_variables_together(drive: Drive) -> None:
    """K14"""
    b = Agent(name="B", instructions=lambda context_variables: f"Hello {context_variables['name']}")

    def both() -> Result:
        return Result(value="Transfered to B. Adopt persona immediately.", agent=b, context_variables={"name": "Ann"})

    response = drive(Agent(functions=[both]), HI, [call("both"), "ok"], context_variables={"name": "Bo", "kept": 1})
    assert tool_texts(response) == ["Transfered to B. Adopt persona immediately."]
    assert response.agent is b
    assert response.context_variables == {"name": "Ann", "kept": 1}
    assert drive.requests[1]["messages"][0]["content"] == "Hello Ann"


def test_variables_merge_one_level_deep_and_later_calls_win(drive: Drive) -> None:
    """K14"""

    def put(key: str, value: dict[str, Any]) -> Result:
        return Result(value="ok", context_variables={key: value})

    calls = [
        call("put", {"key": "a", "value": {"x": 1}}),
        call("put", {"key": "a", "value": {"y": 2}}),
        call("put", {"key": "b", "value": {}}),
    ]
    response = drive(Agent(functions=[put]), HI, [calls, "ok"], context_variables={"a": {"old": 0}, "c": 3})
    assert response.context_variables == {"a": {"y": 2}, "b": {}, "c": 3}


def test_a_call_sees_what_earlier_calls_of_the_reply_merged(drive: Drive) -> None:
    """K14"""

    def put() -> Result:
        return Result(value="ok", context_variables={"n": 1})

    def get(context_variables: dict[str, Any]) -> str:
        return str(context_variables.get("n"))

    response = drive(Agent(functions=[put, get]), HI, [[call("get"), call("put"), call("get")], "ok"])
    assert tool_texts(response) == ["None", "ok", "1"]


def test_variables_of_a_run_without_any(drive: Drive) -> None:
    """C09"""

    def put() -> Result:
        return Result(value="ok", context_variables={"a": 1})

    assert drive(Agent(functions=[put]), HI, [call("put"), "ok"]).context_variables == {"a": 1}


# Where a run stops


def test_no_turns(drive: Drive) -> None:
    """K15"""
    agent = Agent(functions=[plain])
    response = drive(agent, HI, [], max_turns=0, context_variables={"a": 1})
    assert (response.messages, response.agent, response.context_variables) == ([], agent, {"a": 1})
    assert drive.requests == []
    assert response.stop_reason == "max_turns"


def test_one_turn_runs_its_tools(drive: Drive) -> None:
    """K15"""
    response = drive(Agent(functions=[plain]), HI, [call("plain")], max_turns=1)
    assert outline(response) == [("assistant", "Agent", None), ("tool", "plain", "plain")]
    assert len(drive.requests) == 1
    assert response.stop_reason == "max_turns"
    assert is_valid(response.messages)


@pytest.mark.parametrize(("limit", "asked"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (float("inf"), 4)])
def test_max_turns_counts_messages_added(drive: Drive, limit: float, asked: int) -> None:
    """K15, L06"""
    drive(Agent(functions=[plain]), HI, [call("plain")] * 3 + ["done"], max_turns=limit)
    assert len(drive.requests) == asked


def test_three_calls_in_one_turn_count_as_messages(drive: Drive) -> None:
    """K15, L06"""
    response = drive(Agent(functions=[plain]), HI, [[call("plain")] * 3], max_turns=3)
    assert len(response.messages) == 4
    assert len(drive.requests) == 1


def test_a_long_history_does_not_use_up_the_turns(drive: Drive) -> None:
    """K15"""
    assert drive(Agent(), HI * 10, ["ok"], max_turns=1).text == "ok"


@pytest.mark.parametrize("limit", [-1, -0.5])
def test_a_negative_number_of_turns_is_refused(drive: Drive, limit: float) -> None:
    """L06"""
    with pytest.raises(ValueError, match="max_turns"):
        drive(Agent(), HI, ["never"], max_turns=limit)


def test_tools_are_not_executed_on_demand(drive: Drive) -> None:
    """K15"""
    called: list[str] = []

    def note() -> str:
        called.append("note")
        return "noted"

    a = Agent(name="A", functions=[note, switch("to_b", Agent(name="B"))])
    response = drive(a, HI, [[call("note"), call("to_b")]], execute_tools=False)
    assert [entry["function"]["name"] for entry in response.messages[0]["tool_calls"]] == ["note", "to_b"]
    assert len(response.messages) == 1
    assert called == []
    assert response.agent is a
    assert response.stop_reason == "tool_calls"
    assert len(drive.requests) == 1


def test_a_text_ends_the_run(drive: Drive) -> None:
    """K15, H19"""
    a = Agent(name="A", functions=[switch("to_b", Agent(name="B"))])
    response = drive(a, HI, ["I will transfer you to B."])
    assert response.agent is a
    assert response.stop_reason == "complete"
    assert len(response.messages) == 1
