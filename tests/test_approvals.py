"""Pausing for a person, and going on: from messages, from a saved state, in a nested run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from swarm import Agent, Approve, Handoff, Pending, Refuse, Result, Swarm, load_state, tool
from swarm.errors import HistoryError, StateError
from swarm.models.scripted import ScriptedModel, call
from swarm.records import ModelCall
from tests.modes import Drive, names


class Shop:
    def __init__(self) -> None:
        self.ran: list[str] = []
        ran = self.ran

        @tool(approval=True)
        def refund(amount: int) -> str:
            ran.append(f"refund {amount}")
            return f"refunded {amount}"

        def look_up(item: str) -> str:
            ran.append(f"look_up {item}")
            return f"{item} found"

        @tool(approval=lambda arguments, context_variables: arguments["amount"] > context_variables.get("limit", 100))
        def pay(amount: int) -> str:
            ran.append(f"pay {amount}")
            return f"paid {amount}"

        self.agent = Agent(name="Shop", functions=[refund, look_up, pay])


BATCH = [call("look_up", {"item": "bee"}), call("refund", {"amount": "5"})]


def paused(drive: Drive, shop: Shop, **options: Any) -> Any:
    return drive(shop.agent, "go", [BATCH], **options)


def test_nothing_of_a_reply_runs_before_the_decision(drive: Drive) -> None:
    """X09, D1"""
    shop = Shop()
    response = paused(drive, shop)
    assert response.stop_reason == "approval"
    assert response.pending == [Pending("call_1_2", "refund", {"amount": 5}, "Shop")]
    assert shop.ran == []
    assert [m["role"] for m in response.messages] == ["assistant"]


@pytest.mark.parametrize("parallel", [False, True])
def test_approved_from_the_messages(drive: Drive, parallel: bool) -> None:
    """D1, D3"""
    shop = Shop()
    first = paused(drive, shop, swarm={"parallel_tools": parallel})
    history = [{"role": "user", "content": "go"}, *first.messages]
    response = drive(shop.agent, history, ["done"], approvals={"call_1_2": True}, swarm={"parallel_tools": parallel})
    assert sorted(shop.ran) == ["look_up bee", "refund 5"]
    assert [m["content"] for m in response.messages] == ["bee found", "refunded 5", "done"]


@pytest.mark.parametrize(
    ("decision", "text"),
    [
        (False, "The call was not approved."),
        (Refuse("too much"), "The call was not approved. too much"),
        ({"approve": False, "reason": "too much"}, "The call was not approved. too much"),
        (Approve(arguments={"amount": 3}), "refunded 3"),
        ({"approve": True, "arguments": {"amount": 3}}, "refunded 3"),
        ({"approve": True}, "refunded 5"),
    ],
)
def test_every_form_of_a_decision(drive: Drive, decision: Any, text: str) -> None:
    """D3: a refusal reads neutrally."""
    shop = Shop()
    first = paused(drive, shop)
    history = [{"role": "user", "content": "go"}, *first.messages]
    response = drive(shop.agent, history, ["done"], approvals={"call_1_2": decision})
    assert response.messages[1]["content"] == text
    assert response.calls[1].outcome == ("ok" if text.startswith("refunded") else "refused")


def test_an_approval_of_a_call_that_is_not_pending_is_refused(drive: Drive) -> None:
    """D3"""
    shop = Shop()
    first = paused(drive, shop)
    history = [{"role": "user", "content": "go"}, *first.messages]
    with pytest.raises(StateError, match=r"'forged'.*call_1_1.*call_1_2"):
        drive(shop.agent, history, ["done"], approvals={"forged": True})
    assert shop.ran == []


@pytest.mark.parametrize("decision", ["yes", 1, Approve(arguments={"amount": "many"}), Approve(arguments={"sum": 3})])
def test_a_decision_that_is_none_is_refused(drive: Drive, decision: Any) -> None:
    shop = Shop()
    history = [{"role": "user", "content": "go"}, *paused(drive, shop).messages]
    with pytest.raises(StateError):
        drive(shop.agent, history, ["done"], approvals={"call_1_2": decision})
    assert shop.ran == []


def test_open_calls_from_outside_are_never_run_by_themselves(drive: Drive) -> None:
    """D2, M03"""
    shop = Shop()
    history = [{"role": "user", "content": "go"}, *paused(drive, shop).messages]
    with pytest.raises(HistoryError, match=r"approvals=.*resume"):
        drive(shop.agent, history, ["done"])
    undecided = drive(shop.agent, history, [], approvals={})
    assert undecided.stop_reason == "approval"
    assert shop.ran == []


@pytest.mark.parametrize("options", [{"max_turns": 0}, {"execute_tools": False}])
def test_open_calls_stay_open_where_nothing_may_run(drive: Drive, options: dict[str, Any]) -> None:
    """D2"""
    shop = Shop()
    history = [{"role": "user", "content": "go"}, *paused(drive, shop).messages]
    response = drive(shop.agent, history, [], **options)
    assert response.stop_reason == "tool_calls"
    assert response.messages == []
    assert shop.ran == []


def test_an_approval_counts_for_the_open_calls_only(drive: Drive) -> None:
    """D3: a later call that happens to have the same id waits again."""
    shop = Shop()
    history = [{"role": "user", "content": "go"}, *paused(drive, shop).messages]
    again = {**call("refund", {"amount": 7}), "id": "call_1_2"}
    response = drive(shop.agent, history, [again], approvals={"call_1_2": True})
    assert response.stop_reason == "approval"
    assert response.pending[0].id == "call_1_2_2"
    assert shop.ran == ["look_up bee", "refund 5"]


def test_a_predicate_decides(drive: Drive) -> None:
    shop = Shop()
    free = drive(shop.agent, "go", [call("pay", {"amount": 50}), "done"])
    assert (free.stop_reason, shop.ran) == ("complete", ["pay 50"])
    asked = drive(shop.agent, "go", [call("pay", {"amount": 50})], context_variables={"limit": 10})
    assert asked.stop_reason == "approval"


def test_a_history_that_is_partly_answered(drive: Drive) -> None:
    """D44: the missing calls run, the answers stand in call order, and only what is new comes back."""
    shop = Shop()
    first = paused(drive, shop)
    given = {"role": "tool", "tool_call_id": "call_1_2", "tool_name": "refund", "content": "done by hand"}
    history = [{"role": "user", "content": "go"}, *first.messages, given]
    response = drive(shop.agent, history, ["done"], approvals={})
    assert shop.ran == ["look_up bee"]
    assert [m["content"] for m in response.messages] == ["bee found", "done"]
    assert [m["content"] for m in drive.requests[0]["messages"][3:]] == ["bee found", "done by hand"]


def through_json(response: Any, *agents: Agent) -> Any:
    return load_state(json.loads(json.dumps(response.state())), agents=agents)


def test_resumed_from_a_state(drive: Drive) -> None:
    """D4"""
    shop = Shop()
    first = paused(drive, shop, context_variables={"user": "Ann"})
    response = drive.resume(through_json(first, shop.agent), ["done"], approvals={"call_1_2": True})
    assert [m["content"] for m in response.messages] == [None, "bee found", "refunded 5", "done"]
    assert response.context_variables == {"user": "Ann"}
    assert response.usage.calls == 2
    assert shop.ran == ["look_up bee", "refund 5"]


def test_live_objects_are_given_at_the_resume(drive: Drive) -> None:
    """D4"""
    shop = Shop()
    first = paused(drive, shop)
    response = drive.resume(through_json(first, shop.agent), ["done"], approvals={"call_1_2": True}, context_variables={"db": shop})
    assert response.context_variables["db"] is shop


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"order": {"amount": object()}}, "context_variables.order.amount"),
        ({"a": [1, {2}]}, r"context_variables.a\[1\]"),
        ({"a": {1: 2}}, "context_variables.a"),
    ],
)
def test_a_state_that_json_cannot_hold_names_its_place(drive: Drive, value: dict[str, Any], path: str) -> None:
    """D4, C12"""
    response = drive(Agent(), "go", ["done"], context_variables=value)
    with pytest.raises(StateError, match=path):
        response.state()


def tampered(state: Any, **changes: Any) -> Any:
    return {**json.loads(json.dumps(state)), **changes}


def test_a_tampered_state_is_refused(drive: Drive) -> None:
    """M08"""
    shop = Shop()
    state = paused(drive, shop).state()
    other = json.loads(json.dumps(state))
    other["messages"][1]["tool_calls"][0]["function"]["name"] = "delete_everything"
    for data, what in [
        (tampered(state, version=2), "version"),
        (tampered(state, agent="Nobody"), "Nobody"),
        (tampered(state, new_from=99), "new_from"),
        (tampered(state, messages="x"), "messages"),
        (tampered(state, held={"x": {}}), "held"),
        (tampered(state, nested={"x": {}}), "nested"),
        (other, "delete_everything"),
        ({}, "version"),
        ("not json", "not JSON"),
        ('{"version": "\ud83d"}', "not JSON"),
    ]:
        with pytest.raises(StateError, match=what):
            load_state(data, agents=[shop.agent])
    assert shop.ran == []


def test_two_agents_of_one_name_are_refused() -> None:
    """D4, H09"""
    with pytest.raises(StateError, match="'A'"):
        load_state({"version": 1}, agents=[Agent(name="A"), Agent(name="A")])


def test_a_pause_inside_an_agent_used_as_a_tool(drive: Drive) -> None:
    """D24, D44: finished siblings are held, the inner run is resumed where it was."""
    shop = Shop()
    side: list[str] = []

    def note(text: str) -> str:
        side.append(text)
        return f"noted {text}"

    outer = Agent(name="Desk", functions=[note, shop.agent.as_tool(name="ask_shop", description="Ask the shop.")])
    batch = [call("note", {"text": "a"}), call("ask_shop", {"input": "refund 5"}), call("note", {"text": "b"})]
    first = drive(outer, "go", [batch, BATCH])
    assert first.stop_reason == "approval"
    assert [p.id for p in first.pending] == ["call_1_2/call_2_2"]
    assert side == ["a", "b"]
    assert [m["role"] for m in first.messages] == ["assistant"]
    state = through_json(first, outer, shop.agent)
    response = drive.resume(state, ["inner done", "all done"], approvals={"call_1_2/call_2_2": True})
    assert side == ["a", "b"]
    assert shop.ran == ["look_up bee", "refund 5"]
    assert [m["content"] for m in response.messages] == [None, "noted a", "inner done", "noted b", "all done"]
    assert response.usage.calls == 4


def test_pausing_twice(drive: Drive) -> None:
    shop = Shop()
    first = drive(shop.agent, "go", [call("refund", {"amount": 1})])
    second = drive.resume(through_json(first, shop.agent), [call("refund", {"amount": 2})], approvals={first.pending[0].id: True})
    assert second.stop_reason == "approval"
    third = drive.resume(through_json(second, shop.agent), ["done"], approvals={second.pending[0].id: False})
    assert third.text == "done"
    assert shop.ran == ["refund 1"]


def test_a_state_remembers_the_handoff_and_its_filter(drive: Drive) -> None:
    """D44, H15"""
    shop = Shop()
    triage = Agent(name="Triage", handoffs=[Handoff(shop.agent, history_filter=lambda messages: messages[-1:])])
    first = drive(triage, "go", [call("transfer_to_shop"), call("refund", {"amount": 1})])
    assert first.agent is shop.agent
    drive.resume(through_json(first, triage, shop.agent), ["done"], approvals={first.pending[0].id: True})
    assert len(drive.requests[0]["messages"]) <= 3


def test_the_events_of_a_pause(drive: Drive) -> None:
    shop = Shop()
    events = drive.events(shop.agent, "go", [BATCH])
    assert names(events) == ["TurnStarted", "MessageDone", "TurnEnded", "Paused", "Done"]


def test_a_result_that_stops(drive: Drive) -> None:
    """H22, D8"""

    def finish() -> Result:
        return Result(value="the end", stop=True, context_variables={"done": True})

    response = drive(Agent(functions=[finish]), "go", [call("finish")])
    assert (response.stop_reason, response.output) == ("stopped", "the end")
    assert response.messages[-1]["content"] == "the end"
    assert response.context_variables == {"done": True}


def test_an_approval_without_an_open_call_is_refused(drive: Drive) -> None:
    """D3"""
    shop = Shop()
    with pytest.raises(StateError, match="no call is open"):
        drive(shop.agent, "go", ["done"], approvals={"call_1_1": True})
    assert drive(shop.agent, "go", ["done"], approvals={}).text == "done"


def test_an_approval_of_a_run_that_is_over_is_refused() -> None:
    """D3, D44: it decided about a call that has run since; without decisions the state gives its response again."""
    shop = Shop()
    paused = Swarm(ScriptedModel([call("refund", {"amount": 5})])).run(shop.agent, "go")
    done = Swarm(ScriptedModel(["done"])).resume(paused.state(), approvals={paused.pending[0].id: True})
    with pytest.raises(StateError, match="'call_1_1', but no call is open"):
        Swarm(ScriptedModel([])).resume(done.state(), approvals={paused.pending[0].id: True})
    assert Swarm(ScriptedModel([])).resume(done.state(), approvals={}).text == "done"


@pytest.mark.parametrize(
    "wrong", [{"typo": True}, {"call_1_2/typo": True}, {"call_1_2/call_2_2": "yes"}, {"call_1_2/call_2_2": {"approved": True}}]
)
def test_a_wrong_decision_for_an_inner_run_raises_and_loses_nothing(drive: Drive, wrong: dict[str, Any]) -> None:
    """D3"""
    shop = Shop()
    outer = Agent(name="Desk", functions=[shop.agent.as_tool(name="ask_shop"), tool(lambda: "ok", name="note")])
    first = drive(outer, "go", [[call("note"), call("ask_shop", {"input": "x"})], BATCH])
    state = through_json(first, outer, shop.agent)
    with pytest.raises(StateError, match="call_1_2"):
        drive.resume(state, [], approvals=wrong)
    done = drive.resume(state, ["inner", "outer"], approvals={"call_1_2/call_2_2": True})
    assert done.text == "outer"
    assert shop.ran == ["look_up bee", "refund 5"]


def test_decisions_are_given_together(drive: Drive) -> None:
    """D1: while one is missing, every gated call is listed again and none runs."""
    shop = Shop()
    two = [call("refund", {"amount": 1}), call("refund", {"amount": 2})]
    first = drive(shop.agent, "go", [two])
    half = drive.resume(through_json(first, shop.agent), [], approvals={"call_1_1": True})
    assert [p.id for p in half.pending] == ["call_1_1", "call_1_2"]
    assert shop.ran == []
    whole = drive.resume(through_json(half, shop.agent), ["done"], approvals={"call_1_1": True, "call_1_2": False})
    assert (whole.text, shop.ran) == ("done", ["refund 1"])


def test_an_id_with_a_slash_inside_an_inner_run(drive: Drive) -> None:
    shop = Shop()
    outer = Agent(name="Desk", functions=[shop.agent.as_tool(name="ask_shop")])
    first = drive(outer, "go", [call("ask_shop", {"input": "x"}, id="o/1"), call("refund", {"amount": 1}, id="i/1")])
    assert [p.id for p in first.pending] == ["o/1/i/1"]
    drive.resume(through_json(first, outer, shop.agent), ["inner", "outer"], approvals={"o/1/i/1": True})
    assert shop.ran == ["refund 1"]


def test_a_state_keeps_what_was_done(drive: Drive) -> None:
    """D4, D8, T11: calls, turns, the failure of a finished sibling, the filter of a handoff that was decided."""
    shop = Shop()
    other = Agent(name="Other")

    def boom() -> str:
        raise ValueError("boom")

    handoff = Handoff(other, history_filter=lambda messages: messages[-1:])
    outer = Agent(name="Desk", functions=[boom, shop.agent.as_tool(name="ask_shop")], handoffs=[handoff])
    batch = [call("boom"), call("transfer_to_other"), call("ask_shop", {"input": "x"})]
    first = drive(outer, "go", [call("boom"), batch, call("refund", {"amount": 1})])
    state = through_json(first, outer, shop.agent, other)
    done = drive.resume(state, ["inner", "outer"], approvals={first.pending[0].id: True})
    assert [(c.name, c.outcome) for c in done.calls] == [
        ("boom", "error"),
        ("boom", "error"),
        ("transfer_to_other", "ok"),
        ("ask_shop", "ok"),
    ]
    assert done.calls[1].error == "ValueError: boom"
    assert done.agent is other
    assert len(drive.requests[1]["messages"]) <= 3
    with pytest.raises(Exception, match="boom"):
        drive.resume(state, ["inner", "outer"], approvals={first.pending[0].id: True}, swarm={"tool_errors": "raise"})


BAD_FIELDS: list[tuple[str, Any]] = [
    ("usage", {"input_tokens": "x"}),
    ("usage", 5),
    ("spent_tool_choice", [["A"]]),
    ("handoff", {"agent": [], "tool": "x"}),
    ("handoff", {"agent": "Nobody", "tool": "x"}),
    ("held", {"call_1_2": {}}),
    ("counts", {"model_calls": -100, "handoffs": 0, "tool_calls": 0}),
    ("version", True),
    ("turn", "1"),
    ("calls", [{}]),
    ("origins", {"x": "y"}),
    ("messages", [{"role": "nobody"}]),
    ("nested", {"call_1_2": {"version": 1}}),
    ("usage", [{**ModelCall("Shop", "gpt-4o").fields(), "input_tokens": -1}]),
]


@pytest.mark.parametrize(("field", "value"), BAD_FIELDS)
def test_a_state_from_outside_is_checked_field_by_field(drive: Drive, field: str, value: Any) -> None:
    """M08"""
    shop = Shop()
    data = tampered(paused(drive, shop).state(), **{field: value})
    with pytest.raises(StateError):
        load = load_state(data, agents=[shop.agent])
        drive.resume(load, ["done"], approvals={"call_1_2": True})
    assert shop.ran == []


def test_a_context_that_holds_itself_or_no_number(drive: Drive) -> None:
    loop: list[Any] = []
    loop.append(loop)
    for value in (loop, float("nan")):
        with pytest.raises(StateError):
            drive(Agent(), "go", ["done"], context_variables={"x": value}).state()
