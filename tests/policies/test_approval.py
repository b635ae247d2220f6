"""Approval: decisions that are asked for while the run waits."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from typing import Any

import pytest

from swarm import Agent, AgentError, Approve, AsyncSwarm, Pending, Refuse, RunInfo, load_state, tool
from swarm.effects import Decide, Flow
from swarm.errors import StateError
from swarm.events import Nested, PolicyActed
from swarm.models.scripted import ScriptedModel, call
from swarm.policies import Approval
from swarm.testing.conformance import PolicyConformance
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

        self.agent = Agent(name="Shop", functions=[refund, look_up])


BATCH = [call("look_up", {"item": "bee"}), call("refund", {"amount": "5"}), call("refund", {"amount": 7})]


def policy(ask: Any, **options: Any) -> dict[str, Any]:
    return {"policies": [Approval(ask, **options)]}


@pytest.mark.parametrize("parallel", [False, True])
def test_who_is_asked_decides_and_the_run_needs_no_pause(drive: Drive, parallel: bool) -> None:
    """X09, D1: asked in the order of the reply, before any of its calls has run."""
    shop = Shop()
    asked: list[tuple[Pending, list[str]]] = []

    def ask(call: Pending) -> bool:
        asked.append((call, list(shop.ran)))
        return call.arguments["amount"] == 5

    swarm = policy(ask) | {"parallel_tools": parallel}
    response = drive(shop.agent, "go", [BATCH, "done"], swarm=swarm)
    assert asked == [(Pending("call_1_2", "refund", {"amount": 5}, "Shop"), []), (Pending("call_1_3", "refund", {"amount": 7}, "Shop"), [])]
    assert sorted(shop.ran) == ["look_up bee", "refund 5"]
    assert [m["content"] for m in response.messages] == [None, "bee found", "refunded 5", "The call was not approved.", "done"]
    assert [made.outcome for made in response.calls] == ["ok", "ok", "refused"]
    assert (response.stop_reason, response.pending) == ("complete", [])


@pytest.mark.parametrize(
    ("decision", "text"),
    [
        (True, "refunded 5"),
        (False, "The call was not approved."),
        (Refuse("too much"), "The call was not approved. too much"),
        (Approve({"amount": "3"}), "refunded 3"),
        ({"approve": False, "reason": "too much"}, "The call was not approved. too much"),
        ({"approve": True, "arguments": {"amount": 3}}, "refunded 3"),
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
def test_every_form_of_an_answer_sync_and_async(drive: Drive, decision: Any, text: str, is_async: bool) -> None:
    """D3"""
    shop = Shop()

    async def later() -> Any:
        await asyncio.sleep(0)
        return decision

    response = drive(shop.agent, "go", [call("refund", {"amount": 5}), "done"], swarm=policy(later if is_async else lambda: decision))
    assert response.messages[1]["content"] == text


def test_not_now_pauses_with_all_that_need_an_approval(drive: Drive) -> None:
    """D1, D4: what was approved already is asked again when the run goes on; what the caller decides is not."""
    shop, asked = Shop(), list[str]()

    def ask(call: Pending) -> bool | None:
        asked.append(call.id)
        return True if call.arguments["amount"] == 5 else None

    first = drive(shop.agent, "go", [BATCH], swarm=policy(ask))
    assert (first.stop_reason, [item.id for item in first.pending], shop.ran) == ("approval", ["call_1_2", "call_1_3"], [])
    state = load_state(json.dumps(first.state()), agents=[shop.agent])
    done = drive.resume(state, ["done"], approvals={"call_1_3": True}, swarm=policy(ask))
    assert done.text == "done"
    assert shop.ran == ["look_up bee", "refund 5", "refund 7"]
    assert asked == ["call_1_2", "call_1_3", "call_1_2"]


def test_a_refused_call_does_not_wait_with_the_others(drive: Drive) -> None:
    shop = Shop()
    first = drive(shop.agent, "go", [BATCH], swarm=policy(lambda call: None if call.arguments["amount"] == 7 else False))
    assert [item.id for item in first.pending] == ["call_1_3"]


def test_what_the_caller_decided_is_not_asked(drive: Drive) -> None:
    shop = Shop()
    first = drive(shop.agent, "go", [call("refund", {"amount": 5})])
    history = [{"role": "user", "content": "go"}, *first.messages]
    done = drive(shop.agent, history, ["done"], approvals={"call_1_1": False}, swarm=policy(lambda: 1 / 0))
    assert (done.text, shop.ran) == ("done", [])


def test_when_picks_calls_of_other_tools(drive: Drive) -> None:
    """A call that it picks waits like one whose tool says so, and a decision of the caller is enough for it."""
    shop, asked = Shop(), list[str]()

    def ask(call: Pending) -> None:
        asked.append(call.name)

    async def when(arguments: dict[str, Any], context_variables: dict[str, Any]) -> bool:
        return arguments.get("item") in context_variables["rare"]

    swarm = policy(ask, when=when)
    first = drive(
        shop.agent,
        "go",
        [[call("look_up", {"item": "bee"}), call("look_up", {"item": "ant"})]],
        swarm=swarm,
        context_variables={"rare": ["ant"]},
    )
    assert [(item.id, item.arguments) for item in first.pending] == [("call_1_2", {"item": "ant"})]
    done = drive.resume(load_state(json.dumps(first.state()), agents=[shop.agent]), ["done"], approvals={"call_1_2": True}, swarm=swarm)
    assert (done.text, shop.ran, asked) == ("done", ["look_up bee", "look_up ant"], ["look_up"])


def test_what_is_asked_for_by_name(drive: Drive) -> None:
    """D18: and what the function does to the arguments does not reach the call."""
    got = dict[str, Any]()

    @tool(approval=True)
    def tag(names: list[str]) -> str:
        return ",".join(names)

    def ask(arguments: Any, agent: Any, run: Any, messages: Any, context_variables: Any) -> bool:
        got.update(names=list(arguments["names"]), agent=agent, run=type(run), messages=len(messages), user=context_variables["user"])
        arguments["names"].append("forged")
        return True

    agent = Agent(name="Clerk", functions=[tag])
    response = drive(agent, "go", [call("tag", {"names": ["a"]}), "done"], swarm=policy(ask), context_variables={"user": "Ann"})
    assert response.messages[1]["content"] == "a"
    assert got == {"names": ["a"], "agent": agent, "run": RunInfo, "messages": 2, "user": "Ann"}


def test_a_call_inside_an_agent_that_is_a_tool(drive: Drive) -> None:
    """D24: with the id that `pending` would have, so the caller may decide about it too."""
    shop, asked = Shop(), list[str]()

    def ask(call: Pending, agent: Agent) -> bool | None:
        assert agent is shop.agent
        asked.append(call.id)
        return None if len(asked) == 1 else True

    outer = Agent(name="Desk", functions=[shop.agent.as_tool(name="ask_shop")])
    first = drive(outer, "go", [call("ask_shop", {"input": "x"}), call("refund", {"amount": 1})], swarm=policy(ask))
    assert [item.id for item in first.pending] == asked == ["call_1_1/call_2_1"]
    state = load_state(json.dumps(first.state()), agents=[outer, shop.agent])
    assert drive.resume(state, ["inner", "outer"], swarm=policy(ask)).text == "outer"
    assert (asked, shop.ran) == (["call_1_1/call_2_1"] * 2, ["refund 1"])


def test_each_decision_is_told_and_audited(drive: Drive, caplog: pytest.LogCaptureFixture) -> None:
    """U02: who decided what about which call, without its arguments."""
    shop = Shop()
    answers = iter([Approve({"amount": 3}), Refuse("too much")])
    with caplog.at_level(logging.INFO, logger="swarm.audit"):
        events = drive.events(shop.agent, "go", [BATCH, "done"], swarm=policy(lambda: next(answers)))
    told = [event for event in events if isinstance(event, PolicyActed)]
    assert names(events)[:5] == ["TurnStarted", "MessageDone", "PolicyActed", "PolicyActed", "ToolStarted"]
    assert [(event.policy, event.what, event.reason, event.cause) for event in told] == [
        ("Approval", "approved refund with other arguments", "", "call:call_1_2"),
        ("Approval", "refused refund", "too much", "call:call_1_3"),
    ]
    assert told[1].detail == {
        "decision": "refused",
        "call_id": "call_1_3",
        "tool": "refund",
        "agent": "Shop",
        "changed": False,
        "reason": "too much",
    }
    assert [record.audit["decision"] for record in caplog.records] == ["approved", "refused"]  # type: ignore[attr-defined]
    assert "amount" not in caplog.text


def test_decisions_of_the_caller_are_told_too(drive: Drive) -> None:
    shop = Shop()
    history = [{"role": "user", "content": "go"}, *drive(shop.agent, "go", [BATCH]).messages]
    events = drive.events(shop.agent, history, ["done"], approvals={"call_1_2": True, "call_1_3": Refuse("no")})
    told = [event for event in events if isinstance(event, PolicyActed)]
    assert [(event.policy, event.what, event.reason) for event in told] == [
        ("approvals", "approved refund", ""),
        ("approvals", "refused refund", "no"),
    ]


def test_an_event_of_an_inner_run_is_nested_once(drive: Drive) -> None:
    shop = Shop()
    outer = Agent(name="Desk", functions=[shop.agent.as_tool(name="ask_shop")])
    events = drive.events(
        outer, "go", [call("ask_shop", {"input": "x"}), call("refund", {"amount": 1}), "in", "out"], swarm=policy(lambda: True)
    )
    told = [event.event for event in events if isinstance(event, Nested) and isinstance(event.event, PolicyActed)]
    assert [event.what for event in told] == ["approved refund"]
    assert not any(isinstance(event, PolicyActed) for event in events)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("yes", r"what Approval\(ask=...\) says about the call 'call_1_1' is 'yes'"),
        ({"approved": True}, "call_1_1"),
        (Approve({"amount": "many"}), "do not fit"),
    ],
)
def test_an_answer_that_is_none_ends_the_run(drive: Drive, answer: Any, words: str) -> None:
    shop = Shop()
    with pytest.raises(StateError, match=words) as caught:
        drive(shop.agent, "go", [call("refund", {"amount": 5})], swarm=policy(lambda: answer))
    assert shop.ran == []
    assert caught.value.response is not None
    assert caught.value.response.calls[0].outcome == "skipped"


def test_who_is_asked_may_fail(drive: Drive) -> None:
    """What it raises ends the run, with the response so far; the call is answered as not executed."""
    shop = Shop()
    with pytest.raises(ZeroDivisionError) as caught:
        drive(shop.agent, "go", [call("refund", {"amount": 5})], swarm=policy(lambda: 1 / 0))
    response: Any = caught.value.response  # type: ignore[attr-defined]
    assert [m["role"] for m in response.messages] == ["assistant", "tool"]
    assert shop.ran == []


def test_what_cannot_be_asked_is_refused_when_it_is_made() -> None:
    with pytest.raises(AgentError, match="amount"):
        Approval(lambda amount: True)
    with pytest.raises(AgentError, match="order"):
        Approval(lambda: True, when=lambda order: True)
    with pytest.raises(TypeError, match="Approval"):
        Approval("yes")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"Approval\(ask=None\) must be a function"):
        Approval(None)  # type: ignore[arg-type]


def test_of_two_the_inner_one_is_asked_first(drive: Drive) -> None:
    """A person is asked only for what a rule does not decide."""
    shop, asked = Shop(), list[int]()

    def person(arguments: dict[str, Any]) -> bool:
        asked.append(arguments["amount"])
        return True

    rule = Approval(lambda arguments: True if arguments["amount"] < 6 else None)
    drive(shop.agent, "go", [BATCH, "done"], swarm={"policies": [Approval(person), rule]})
    assert (asked, shop.ran) == ([7], ["look_up bee", "refund 5", "refund 7"])


def test_a_policy_may_refuse_what_the_caller_approved(drive: Drive) -> None:
    """The hook stands around the caller's decisions too."""

    class Closed:
        def approval(self, call: Decide) -> Flow:
            yield call
            return Refuse("we are closed")

    shop = Shop()
    first = drive(shop.agent, "go", [call("refund", {"amount": 5})])
    history = [{"role": "user", "content": "go"}, *first.messages]
    done = drive(shop.agent, history, ["done"], approvals={"call_1_1": True}, swarm={"policies": [Closed()]})
    assert done.messages[0]["content"] == "The call was not approved. we are closed"
    assert shop.ran == []


def test_a_hook_that_returns_no_decision_is_named(drive: Drive) -> None:
    class Wrong:
        def approval(self, call: Decide) -> Flow:
            yield call
            return "yes"

    with pytest.raises(TypeError, match=r"Wrong\.approval returned 'yes', but an approval hook returns True, an Approve"):
        drive(Shop().agent, "go", [call("refund", {"amount": 5})], swarm={"policies": [Wrong()]})


def test_a_function_that_blocks_does_not_stall_the_event_loop() -> None:
    """T20: it runs in a worker thread; other tasks go on meanwhile."""
    shop, answered = Shop(), threading.Event()

    async def both() -> Any:
        async def person() -> None:
            answered.set()

        swarm = AsyncSwarm(ScriptedModel([call("refund", {"amount": 5}), "done"]), policies=[Approval(lambda: answered.wait(5))])
        running = asyncio.create_task(swarm.run(shop.agent, "go"))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        await person()
        return await running

    assert asyncio.run(both()).text == "done"
    assert shop.ran == ["refund 5"]


def test_a_run_with_the_policy_but_nothing_to_approve(drive: Drive) -> None:
    shop = Shop()
    response = drive(shop.agent, "go", [call("look_up", {"item": "bee"}), "done"], swarm=policy(lambda: 1 / 0))
    assert (response.text, shop.ran) == ("done", ["look_up bee"])


@pytest.mark.parametrize(("options", "names_seen"), [({}, ["refund"]), ({"when": lambda: False}, ["look_up", "refund"])])
def test_calls_that_need_no_approval_pass_it_by(drive: Drive, options: dict[str, Any], names_seen: list[str]) -> None:
    """So it costs nothing while there is nothing to approve."""
    seen: list[str] = []

    class Noting(Approval):
        def approval(self, call: Decide) -> Flow:
            seen.append(call.tool.name)
            return (yield from super().approval(call))

    turns = [call("look_up", {"item": "bee"}), call("refund", {"amount": 5}), "done"]
    drive(Shop().agent, "go", turns, swarm={"policies": [Noting(lambda: True, **options)]})
    assert seen == names_seen


def test_a_forged_history_is_not_run_without_approvals(drive: Drive) -> None:
    """D2: a policy that would say yes changes nothing about it."""
    shop = Shop()
    history = [{"role": "user", "content": "go"}, *drive(shop.agent, "go", [BATCH]).messages]
    with pytest.raises(ValueError, match="approvals"):
        drive(shop.agent, history, ["done"], swarm=policy(lambda: True))
    assert shop.ran == []


class TestIdle(PolicyConformance):
    def make(self) -> Any:
        return Approval(lambda: True)


class TestAsking(PolicyConformance):
    def make(self) -> Any:
        return Approval(lambda arguments: Refuse("not that one") if arguments.get("item") == 2 else True, when=lambda: True)
