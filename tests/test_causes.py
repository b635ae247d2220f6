"""What caused each event, and the chain of causes read from a record."""

from __future__ import annotations

import json
from typing import Any

import pytest

from swarm import Agent, Limits, Refuse, Result, Swarm, load_state, tool
from swarm.causes import explain
from swarm.effects import CallModel, Emit, Flow, HandOff
from swarm.errors import ServerError
from swarm.events import Delta, Done, Event, HandedOff, Nested, PolicyActed, TurnStarted
from swarm.models.scripted import ScriptedModel, call
from swarm.policies import Approval, Retry, Router
from tests.modes import Drive


def look(item: str = "bee") -> str:
    return f"{item} found"


@tool(approval=True)
def refund(amount: int) -> str:
    return f"refunded {amount}"


def causes(events: list[Event]) -> list[tuple[str, str | None]]:
    return [(type(event).__name__, event.cause) for event in events if not isinstance(event, Delta)]


def shop() -> Agent:
    sales = Agent(name="Sales", functions=[look, refund])
    return Agent(name="Triage", functions=[look], handoffs=[sales])


def test_each_event_says_what_it_came_from(drive: Drive) -> None:
    """U02"""
    turns = [[call("look"), call("transfer_to_sales")], call("look", {"item": "ant"}), "done"]
    assert causes(drive.events(shop(), "go", turns)) == [
        ("TurnStarted", "input"),
        ("MessageDone", "turn:1"),
        ("ToolStarted", "turn:1"),
        ("ToolDone", "call:call_1_1"),
        ("ToolStarted", "turn:1"),
        ("ToolDone", "call:call_1_2"),
        ("HandedOff", "call:call_1_2"),
        ("TurnEnded", "turn:1"),
        ("TurnStarted", "call:call_1_2"),
        ("MessageDone", "turn:2"),
        ("ToolStarted", "turn:2"),
        ("ToolDone", "call:call_2_1"),
        ("TurnEnded", "turn:2"),
        ("TurnStarted", "turn:2"),
        ("MessageDone", "turn:3"),
        ("TurnEnded", "turn:3"),
        ("Done", "turn:3"),
    ]


def test_why_it_stopped_is_read_from_the_record(drive: Drive) -> None:
    """U02: from the events, or from their JSON."""
    turns = [call("look"), call("transfer_to_sales"), "It is on its way."]
    events = drive.events(shop(), "go", turns)
    told = [
        "Sales stopped: complete",
        "  because in turn 3 Sales answered 'It is on its way.'",
        "  because of the call call_2_1 of transfer_to_sales, which came to ok",
        "  because in turn 2 Triage called transfer_to_sales",
        "  because in turn 1 Triage called look",
        "  because of what the caller gave",
    ]
    assert explain(events).splitlines() == told
    lines = [json.loads(json.dumps(event.as_dict())) for event in events]
    assert explain(lines).splitlines() == told
    handoff = next(event for event in events if isinstance(event, HandedOff))
    assert explain(events, handoff).splitlines() == ["Triage handed over to Sales", *told[2:]]
    assert explain(lines, handoff.as_dict()) == explain(events, handoff)


def test_a_stop_by_a_limit(drive: Drive) -> None:
    events = drive.events(shop(), "go", [call("look")], limits=Limits(model_calls=1))
    assert explain(events).splitlines() == [
        "Triage stopped: limit:model_calls",
        "  because the limit on model_calls was hit: 1 of 1 model calls used",
        "  because in turn 1 Triage called look",
        "  because of what the caller gave",
    ]
    events = drive.events(shop(), "go", [call("look"), "Sorry."], limits=Limits(model_calls=1, on_limit="answer"))
    assert explain(events).splitlines()[:3] == [
        "Triage stopped: limit:model_calls",
        "  because in turn 2 Triage answered 'Sorry.'",
        "  because the limit on model_calls was hit: 1 of 1 model calls used",
    ]
    events = drive.events(shop(), "go", [call("look")], max_turns=1)
    assert explain(events).splitlines()[1] == "  because the limit on max_turns was hit: 2 messages added, 1 allowed"


def test_a_stop_by_a_function(drive: Drive) -> None:
    def finish() -> Result:
        return Result(value="the end", stop=True)

    events = drive.events(Agent(name="A", functions=[look, finish]), "go", [[call("look"), call("finish"), call("look")]])
    assert causes(events)[-1] == ("Done", "call:call_1_2")
    assert explain(events).splitlines()[:2] == ["A stopped: stopped", "  because of the call call_1_2 of finish, which came to ok"]


def test_a_pause_and_what_was_decided(drive: Drive) -> None:
    """X09: the record of both parts, one behind the other, is one chain."""
    agent = shop()
    turns = [call("transfer_to_sales"), call("refund", {"amount": 5})]
    events = drive.events(agent, "go", turns)
    assert explain(events[:-1]).splitlines() == [
        "Sales waits for a decision about call_2_1",
        "  because in turn 2 Sales called refund",
        "  because of the call call_1_1 of transfer_to_sales, which came to ok",
        "  because in turn 1 Triage called transfer_to_sales",
        "  because of what the caller gave",
    ]
    done = events[-1]
    assert isinstance(done, Done)
    state = load_state(json.dumps(done.response.state()), agents=[agent, *(entry for entry in agent.handoffs if isinstance(entry, Agent))])
    later: list[Event] = []
    drive.resume(state, ["done"], approvals={"call_2_1": Refuse("too much")}, swarm={"on_event": later.append})
    refused = next(event for event in later if type(event).__name__ == "ToolDone")
    assert explain([*events, *later], refused).splitlines()[1:4] == [
        "  because of the call call_2_1 of refund, which came to refused: 'The call was not approved. too much'",
        "    approvals refused refund: too much",
        "  because in turn 2 Sales called refund",
    ]
    assert explain(later).splitlines() == [
        "Sales stopped: complete",
        "  because in turn 3 Sales answered 'done'",
        "  because of turn:2, which is not in this record",
    ]


class Shy:
    """Refuses handoffs, and says so."""

    def handoff(self, effect: HandOff) -> Flow:
        yield Emit(PolicyActed(effect.source.name, "Shy", "refused", "no"))
        return Refuse("no")


def test_what_policies_did_stands_below_what_they_stood_around(drive: Drive) -> None:
    turns = [ServerError("503: busy"), call("transfer_to_sales"), "done"]
    events = drive.events(shop(), "go", turns, swarm={"policies": [Retry(random=lambda: 0.0), Shy()]})
    assert [event.cause for event in events if isinstance(event, PolicyActed)] == ["turn:1", "call:call_2_1"]
    assert explain(events).splitlines()[1:] == [
        "  because in turn 2 Triage answered 'done'",
        "  because in turn 1 Triage called transfer_to_sales",
        "    Retry tries the model again in 0.0 s (2 of 5): ServerError: 503: busy",
        "    Shy refused: no",
        "  because of what the caller gave",
    ]


def test_what_policies_did_about_a_call_stands_below_its_turn(drive: Drive) -> None:
    """U02: nobody asks about the call itself, and yet it is why the next turn said what it said; of this run, not of one before."""
    record: list[Event] = []
    for why in ("closed", "not yours"):
        turns = [[call("look"), call("refund", {"amount": 5})], "I may not."]
        policies = [Approval(lambda why=why: Refuse(why))]
        record += drive.events(Agent(name="Shop", functions=[look, refund]), "money back", turns, swarm={"policies": policies})
    assert explain(record).splitlines() == [
        "Shop stopped: complete",
        "  because in turn 2 Shop answered 'I may not.'",
        "  because in turn 1 Shop called look, refund",
        "    Approval refused refund: not yours",
        "  because of what the caller gave",
    ]


def test_a_policy_that_hands_over_by_itself(drive: Drive) -> None:
    agent, sales = Agent(name="Triage"), Agent(name="Sales")

    def embed(texts: list[str]) -> list[list[float]]:
        return [[1.0, 0.0] for _ in texts]

    router = Router(agent, {sales: ["buy"]}, embed=embed)
    events = drive.events(agent, "buy", ["Yes?"], swarm={"policies": [router]})
    told = explain(events).splitlines()
    assert told[:2] == ["Sales stopped: complete", "  because in turn 1 Sales answered 'Yes?'"]
    assert told[2].startswith("  because the policy Router hands over to Sales: ")
    assert told[3] == "  because of what the caller gave"


def test_what_happens_inside_a_call_leads_out_of_it(drive: Drive) -> None:
    """D45"""
    inner = Agent(name="Inner", functions=[look])
    outer = Agent(name="Outer", functions=[inner.as_tool()])
    events = drive.events(outer, "go", [call("inner", {"input": "x"}), call("look"), "in", "out"])
    last = [event for event in events if isinstance(event, Nested)][-1]
    assert last.cause == "turn:2"
    assert explain(events, last).splitlines() == [
        "TurnEnded of Inner",
        "  because in turn 2 Inner answered 'in'",
        "  because in turn 1 Inner called look",
        "  because of the call call_1_1 of inner",
        "  because in turn 1 Outer called inner",
        "  because of what the caller gave",
    ]
    piece = next(event for event in events if isinstance(event, Nested) and isinstance(event.event, Delta))
    assert explain(events, piece).splitlines()[1] == "  because in turn 1 Inner was asked"


def test_a_run_that_was_cancelled() -> None:
    stream = Swarm(ScriptedModel([call("look"), "never"])).stream(shop(), "go")
    events: list[Event] = []
    for event in stream:
        events.append(event)
        if type(event).__name__ == "ToolDone":
            stream.cancel()
    assert events[-1].cause == "cancel"
    assert explain(events).splitlines() == ["Triage stopped: cancelled", "  because whoever held the run ended it"]


def test_a_graceful_cancel() -> None:
    stream = Swarm(ScriptedModel([call("look"), "never"])).stream(shop(), "go")
    events: list[Event] = []
    for event in stream:
        events.append(event)
        stream.cancel(after_turn=True)
    assert (type(events[-1]), events[-1].cause) == (Done, "cancel")


def test_a_policy_may_say_the_cause_itself(drive: Drive) -> None:
    class Names:
        def model(self, effect: CallModel) -> Flow:
            yield Emit(PolicyActed("A", "Names", "looked", cause="policy:Other"))
            return (yield effect)

    events = drive.events(Agent(name="A"), "go", ["done"], swarm={"policies": [Names()]})
    assert next(event for event in events if isinstance(event, PolicyActed)).cause == "policy:Other"


def test_of_several_runs_in_one_record_the_latest_counts(drive: Drive) -> None:
    one = drive.events(Agent(name="One"), "go", [ServerError("503"), "first"], swarm={"policies": [Retry(random=lambda: 0.0)]})
    two = drive.events(Agent(name="Two"), "go", ["second"])
    assert "One" not in explain([*one, *two]) and "503" not in explain([*one, *two])
    assert "'first'" in explain([*one, *two], one[-1])


def test_what_cannot_be_explained_says_so() -> None:
    with pytest.raises(ValueError, match="no events"):
        explain([])
    with pytest.raises(ValueError, match="not among"):
        explain([TurnStarted("A", 1)], TurnStarted("A", 1))


def test_a_record_in_circles_ends() -> None:
    events: list[Any] = [{"event": "LimitHit", "agent": "A", "limit": "x", "reason": "1 of 1", "cause": "limit:x"}]
    assert explain(events).splitlines() == ["LimitHit of A", "  because the limit on x was hit: 1 of 1"]
