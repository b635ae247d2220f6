"""Agents inside agents: as a function, and as a handoff that comes back."""

from __future__ import annotations

from typing import Any

from swarm import Agent, Handoff, Limits
from swarm.events import Delta, Nested
from swarm.models.scripted import call
from tests.modes import Drive


def test_an_agent_as_a_function(drive: Drive) -> None:
    """U10, D24, D45"""

    def count(context_variables: dict[str, Any]) -> str:
        context_variables["n"] = context_variables.get("n", 0) + 1
        return "counted"

    inner = Agent(name="Weather Expert", description="Knows the weather.", instructions="Answer.", functions=[count])
    outer = Agent(name="Outer", functions=[inner.as_tool()])
    turns = [call("weather_expert", {"input": "Oslo?"}), call("count"), "rain in Oslo", "It rains."]
    response = drive(outer, "How is Oslo?", turns, context_variables={"n": 1})
    assert [m["content"] for m in response.messages] == [None, "rain in Oslo", "It rains."]
    assert drive.requests[1]["messages"] == [{"role": "system", "content": "Answer."}, {"role": "user", "content": "Oslo?"}]
    assert drive.requests[0]["tools"][0]["function"]["description"] == "Knows the weather."
    assert response.context_variables == {"n": 2}
    assert response.usage.calls == 4
    assert response.agent is outer
    assert [c.name for c in response.calls] == ["weather_expert"]


def test_the_events_of_an_inner_run_are_nested(drive: Drive) -> None:
    """D45"""
    outer = Agent(name="Outer", functions=[Agent(name="Inner").as_tool()])
    turns = [call("inner", {"input": "x"}), "inner text", "outer text"]
    events = drive.events(outer, "go", turns)
    inside = [e for e in events if isinstance(e, Nested)]
    assert {e.call_id for e in inside} == {"call_1_1"}
    assert "".join(e.event.text for e in inside if isinstance(e.event, Delta)) == "inner text"
    assert "".join(e.text for e in events if isinstance(e, Delta)) == "outer text"


def test_limits_are_shared_with_the_inner_run(drive: Drive) -> None:
    """D45"""
    outer = Agent(name="Outer", functions=[Agent(name="Inner").as_tool()])
    response = drive(outer, "go", [call("inner", {"input": "x"}), "inner text", "never"], limits=Limits(model_calls=2))
    assert response.stop_reason == "limit:model_calls"
    assert response.messages[-1]["content"] == "inner text"


def test_a_handoff_that_returns(drive: Drive) -> None:
    """D24"""
    helper = Agent(name="Helper", instructions="Help.")
    desk = Agent(name="Desk", handoffs=[Handoff(helper, returns=True)])
    response = drive(desk, "please", [call("transfer_to_helper"), "helped", "All done."])
    assert [m["content"] for m in response.messages] == [None, "helped", "All done."]
    assert drive.requests[1]["messages"] == [{"role": "system", "content": "Help."}, {"role": "user", "content": "please"}]
    assert response.agent is desk
    assert response.handoffs == []


def test_inner_runs_side_by_side(drive: Drive) -> None:
    inner = Agent(name="Inner", functions=[])
    outer = Agent(name="Outer", functions=[inner.as_tool()])
    turns = [[call("inner", {"input": "1"}), call("inner", {"input": "2"})], "same", "same", "done"]
    response = drive(outer, "go", turns, swarm={"parallel_tools": True})
    assert [m["content"] for m in response.messages] == [None, "same", "same", "done"]


def test_an_inner_run_that_fails_is_told_to_the_outer_model(drive: Drive) -> None:
    from swarm.errors import RateLimitError
    from swarm.models.scripted import Turn

    outer = Agent(name="Outer", functions=[Agent(name="Inner").as_tool()])
    response = drive(outer, "go", [call("inner", {"input": "x"}), Turn(error=RateLimitError("429: slow down")), "sorry"])
    assert response.messages[1]["content"].startswith("Error: RateLimitError: 429: slow down")
    assert response.text == "sorry"


def test_a_nested_event_as_json(drive: Drive) -> None:
    outer = Agent(name="Outer", functions=[Agent(name="Inner").as_tool()])
    events = drive.events(outer, "go", [call("inner", {"input": "x"}), "inner text", "outer text"])
    told = next(e for e in events if isinstance(e, Nested)).as_dict()
    assert told == {
        "event": "Nested",
        "agent": "Inner",
        "call_id": "call_1_1",
        "inner": {"event": "TurnStarted", "agent": "Inner", "turn": 1, "cause": "input"},
    }


def test_a_cancelled_inner_text_stays_inside() -> None:
    """D13, D24, D43: the outer call is answered, and the inner agent's text does not come out under the outer one's name."""
    from swarm import Swarm
    from swarm.models.scripted import ScriptedModel

    outer = Agent(name="Outer", functions=[Agent(name="Inner").as_tool()])
    stream = Swarm(ScriptedModel([call("inner", {"input": "q"}), "one two three"])).stream(outer, "go")
    for event in stream:
        if isinstance(event, Nested) and isinstance(event.event, Delta) and event.event.text:
            break
    stream.close()
    assert stream.response is not None
    assert [(m["role"], m.get("sender")) for m in stream.response.messages] == [("assistant", "Outer"), ("tool", None)]
    assert stream.response.calls[0].outcome == "unknown"


def test_an_outer_run_in_circles_is_seen_through_inner_ones(drive: Drive) -> None:
    """L02, D6"""
    outer = Agent(name="Outer", functions=[Agent(name="Inner").as_tool()])
    turns = [turn for _ in range(60) for turn in (call("inner", {"input": "q"}), "same")]
    response = drive(outer, "go", turns)
    assert response.stop_reason == "loop"


def test_a_graceful_cancel_lets_the_inner_run_finish() -> None:
    """X03"""
    from swarm import Swarm
    from swarm.models.scripted import ScriptedModel

    outer = Agent(name="Outer", functions=[Agent(name="Inner").as_tool()])
    stream = Swarm(ScriptedModel([call("inner", {"input": "q"}), "inner text", "never"])).stream(outer, "go")
    for event in stream:
        if isinstance(event, Nested):
            stream.cancel(after_turn=True)
    assert stream.response is not None
    assert stream.response.messages[-1]["content"] == "inner text"
