"""The tutorial on routines and the ACME shop: the loop by hand and Swarm do the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from openai import OpenAI

from examples.routines import acme, step1_routine, step2_two_agents, step3_handoffs
from examples.routines.acme import issues_and_repairs_agent, sales_agent, triage_agent
from swarm import Agent, ChatClient, Handoff, Response, Swarm
from swarm.models.scripted import call
from swarm.policies import Approval
from tests.examples.talk import Talk, script
from tests.loopback import Answer, Loopback, Request, completion, json_answer, tool_call
from tests.modes import Drive

Script = list[Any]


def serve(*turns: Any) -> Loopback:
    """A server that answers each request with the next of `turns`: a text, or (function, arguments)."""
    left = iter(enumerate(turns))

    def answer(_request: Request) -> Answer:
        number, turn = next(left)
        if isinstance(turn, str):
            return json_answer(completion(turn))
        return json_answer(completion(None, [tool_call(turn[0], turn[1], id=f"call_{number}")]))

    return Loopback(answer)


@pytest.fixture(params=["our client", "the official client"])
def connect(request: pytest.FixtureRequest) -> Iterator[Callable[[Loopback], Swarm]]:
    """A Swarm for a server, over our client and over the official one."""
    opened: list[Any] = []

    def swarm_for(server: Loopback) -> Swarm:
        client: Any = ChatClient(server.url, "key") if request.param == "our client" else OpenAI(base_url=server.url, api_key="key")
        opened.append(client)
        return Swarm(client)

    yield swarm_for
    for client in opened:
        client.close()


Connect = Callable[[Loopback], Swarm]


def said(messages: list[Any]) -> list[tuple[str, str | None, list[tuple[str, str]]]]:
    """What counts in messages of either loop: role, content, calls."""
    plain: list[dict[str, Any]] = [m if isinstance(m, dict) else m.model_dump() for m in messages]
    return [(m["role"], m["content"], _calls(m.get("tool_calls"))) for m in plain]


def _calls(entries: list[dict[str, Any]] | None) -> list[tuple[str, str]]:
    return [(entry["function"]["name"], entry["function"]["arguments"]) for entry in entries or []]


# Step 1


def test_step_1_looks_up_and_refunds(connect: Connect, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with serve(("look_up_item", {"search_query": "boot"}), ("execute_refund", {"item_id": "item_132612938"}), "Refunded.") as server:
        monkeypatch.setattr(step1_routine, "swarm", connect(server))
        messages: list[Any] = [{"role": "user", "content": "my boot hurts, money back"}]
        step1_routine.run_full_turn(step1_routine.ROUTINE, step1_routine.TOOLS, messages)
    assert [m[0] for m in said(messages)] == ["user", "assistant", "tool", "assistant", "tool", "assistant"]
    assert [m[1] for m in said(messages) if m[0] == "tool"] == ["item_132612938", "success"]
    out = capsys.readouterr().out
    assert "Refunding item_132612938, reason: not provided" in out
    assert out.endswith("Assistant: Refunded.\n")
    sent = server.requests[0].json
    assert sent["messages"][0]["content"] == step1_routine.ROUTINE
    assert [entry["function"]["name"] for entry in sent["tools"]] == ["execute_refund", "look_up_item"]


def test_the_routine_offers_a_refund_last() -> None:
    routine = step1_routine.ROUTINE
    steps = ["1. Ask", "2. Propose a fix", "3. Offer a refund only if", "4. If the customer accepts"]
    assert [routine.index(step) for step in steps] == sorted(routine.index(step) for step in steps)


# Step 2


def test_step_2_two_agents_switched_by_hand(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = (("place_order", {"item_name": "boot"}), "Ordered.", ("execute_refund", {"item_name": "boot"}), "Refunded.")
    with serve(*turns) as server:
        monkeypatch.setattr(step2_two_agents, "swarm", connect(server))
        messages: list[Any] = [{"role": "user", "content": "a boot"}]
        messages += step2_two_agents.run_full_turn(step2_two_agents.sales_agent, messages)
        messages.append({"role": "user", "content": "no, a refund"})
        messages += step2_two_agents.run_full_turn(step2_two_agents.refund_agent, messages)
    assert [m[1] for m in said(messages) if m[0] == "tool"] == ["boot is ordered.", "boot is refunded."]
    assert [r.json["messages"][0]["content"] for r in server.requests][1:3] == [
        "You sell our products.",
        "You help customers with refunds.",
    ]


# Step 3


def test_step_3_by_hand_and_with_swarm_are_the_same(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """K13"""
    turns: Script = [("transfer_to_refund_agent", {}), ("execute_refund", {"item_name": "boot"}), "Refunded."]
    question = [{"role": "user", "content": "my boot, money back"}]
    results: list[Response] = []
    for run, agent in (
        (step3_handoffs.run_full_turn, step3_handoffs.triage_agent),
        (step3_handoffs.run_with_swarm, step3_handoffs.short_triage_agent),
        (step3_handoffs.run_with_swarm, step3_handoffs.triage_agent),
    ):
        with serve(*turns) as server:
            monkeypatch.setattr(step3_handoffs, "swarm", connect(server))
            results.append(run(agent, question))
    by_hand, short, plain = results
    assert by_hand.agent is short.agent is plain.agent is step2_two_agents.refund_agent
    assert said(by_hand.messages) == said(short.messages)
    assert said(by_hand.messages)[1][1] == "Transfered to Refund Agent. Adopt persona immediately."
    assert said(plain.messages)[1][1] == '{"assistant": "Refund Agent"}'
    assert [m for i, m in enumerate(said(plain.messages)) if i != 1] == [m for i, m in enumerate(said(by_hand.messages)) if i != 1]


def test_a_message_of_ones_own_can_be_said_in_both_ways(drive: Drive) -> None:
    """K13, K14: through Handoff(message=...) and through Result(value=..., agent=...)."""
    target = Agent(name="Sales Agent")
    text = step3_handoffs.adopt(target).value
    by_handoff = drive(Agent(handoffs=[Handoff(target, message=text)]), "buy", [call("transfer_to_sales_agent"), "Yes?"])

    def transfer_to_sales_agent() -> Any:
        return step3_handoffs.adopt(target)

    by_result = drive(Agent(functions=[transfer_to_sales_agent]), "buy", [call("transfer_to_sales_agent"), "Yes?"])
    for response in (by_handoff, by_result):
        assert response.agent is target
        assert response.messages[1]["content"] == "Transfered to Sales Agent. Adopt persona immediately."


# The ACME shop


def test_the_shop_and_its_tools() -> None:
    assert {agent.name: [function.__name__ for function in agent.tools] for agent in acme.agents} == {
        "Triage Agent": ["transfer_to_sales_agent", "transfer_to_issues_and_repairs", "escalate_to_human"],
        "Sales Agent": ["execute_order", "transfer_back_to_triage"],
        "Issues and Repairs Agent": ["execute_refund", "look_up_item", "transfer_back_to_triage"],
    }


@pytest.mark.parametrize(
    ("answer", "result"), [("y", "The order is placed."), ("n", "The call was not approved. The customer has cancelled the order.")]
)
def test_an_order_is_confirmed_first(drive: Drive, monkeypatch: pytest.MonkeyPatch, answer: str, result: str) -> None:
    """K09, X09: the price comes as an int; the person is asked before the order is executed."""
    prompts: list[str] = []
    monkeypatch.setattr("builtins.input", lambda prompt="": prompts.append(prompt) or answer)
    talk = Talk(drive, triage_agent, policies=[Approval(acme.confirm)])
    order = call("execute_order", {"product": "anvil", "price": "10000"})
    talk.say("roadrunners!", call("transfer_to_sales_agent"), "An anvil?")
    talk.say("yes", order, "Very well.")
    assert prompts == ["Confirm the order? y/n: "]
    assert talk.told == ["Transfered to Sales Agent. Adopt persona immediately.", result]
    assert talk.agent is sales_agent


def test_an_order_waits_where_nobody_is_asked(drive: Drive) -> None:
    """X09"""
    response = drive(sales_agent, "yes", [call("execute_order", {"product": "anvil", "price": 9})])
    assert [item.name for item in response.pending] == ["execute_order"]


def test_a_refund_after_the_fix_did_not_help(drive: Drive) -> None:
    talk = Talk(drive, triage_agent)
    talk.say("my anvil floats", call("transfer_to_issues_and_repairs"), "Fill it with lead?")
    talk.say("no", "A refund?")
    refund = call("execute_refund", {"item_id": "item_132612938", "reason": "it floats"})
    talk.say("yes", call("look_up_item", {"search_query": "anvil"}), refund, "Done.")
    assert talk.told[1:] == ["item_132612938", "success"]
    assert talk.agent is issues_and_repairs_agent


def test_back_to_triage_and_on(drive: Drive) -> None:
    """H17"""
    talk = Talk(drive, sales_agent)
    response = talk.say("it is broken", call("transfer_back_to_triage"), call("transfer_to_issues_and_repairs"), "What is?")
    assert [to for _, to in response.handoffs] == ["Triage Agent", "Issues and Repairs Agent"]


def test_escalating_to_a_human_ends_with_a_report(drive: Drive, capsys: pytest.CaptureFixture[str]) -> None:
    """D16: SystemExit is not swallowed."""
    with pytest.raises(SystemExit) as end:
        drive(triage_agent, "a human!", [call("escalate_to_human", {"summary": "Floating anvil."})])
    assert end.value.code is None
    assert "=== Escalation report ===\nSummary: Floating anvil.\n" in capsys.readouterr().out


def test_the_shop_under_the_loop_by_hand_does_what_it_does_under_swarm(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """Either way the person is asked once before the order."""
    turns: Script = [("transfer_to_sales_agent", {}), ("execute_order", {"product": "anvil", "price": 9}), "Beep beep."]
    prompts: list[str] = []
    monkeypatch.setattr("builtins.input", lambda prompt="": prompts.append(prompt) or "y")
    results: list[Response] = []
    for run, module in ((step3_handoffs.run_full_turn, step3_handoffs), (acme.run_with_swarm, acme)):
        with serve(*turns) as server:
            client = connect(server).client
            monkeypatch.setattr(module, "swarm", Swarm(client, policies=[Approval(acme.confirm)]))
            results.append(run(triage_agent, [{"role": "user", "content": "an anvil"}]))
    assert said(results[0].messages) == said(results[1].messages)
    assert results[0].agent is results[1].agent is sales_agent
    assert prompts == ["Confirm the order? y/n: "] * 2


# As a person runs them


def test_the_loop_by_hand_over_the_model_that_swarm_model_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """P13, D29"""
    monkeypatch.setenv("SWARM_MODEL", "llama3.1")
    with serve("Hello.") as server:
        with ChatClient(server.url) as client:
            monkeypatch.setattr(step3_handoffs, "swarm", Swarm(client))
            step3_handoffs.run_full_turn(triage_agent, [{"role": "user", "content": "hi"}])
        assert json.loads(server.requests[0].body)["model"] == "llama3.1"


@pytest.mark.parametrize("loop", [(), ("by-hand",)])
def test_the_shop_offline_from_the_question_to_the_human(loop: tuple[str, ...]) -> None:
    said = "I want to order the Rocket Skates\n300\ny\nI want to talk to a human\n"
    done = script("-m", "examples.routines.acme", *loop, said=said)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Price: $300" in done.stdout
    assert "Order placed." in done.stdout
    assert done.stdout.endswith("=========================\n")
