"""Router: hands over before the first model call where it is sure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.router_eval import measured
from swarm import Agent, Handoff, Limits, Refuse, load_state
from swarm.effects import HandOff, Now, StartRun
from swarm.events import HandedOff, PolicyActed
from swarm.models.scripted import call
from swarm.policies import Allow, Deny, Permission, Router
from swarm.policies.router import MARGIN, THRESHOLD
from swarm.testing.conformance import PolicyConformance
from tests.look import system_text
from tests.modes import Drive, names
from tests.vectors import Words

WORDS = Words("buy", "refund", "order", "hello", "help")
SALES, REFUNDS = Agent(name="Sales", instructions="Sell."), Agent(name="Refunds", instructions="Refund.")
TRIAGE = Agent(name="Triage", instructions="Decide.", handoffs=[SALES, REFUNDS])
ROUTES = {SALES: ["buy", "buy order"], REFUNDS: ["refund"]}


def router(**options: Any) -> Router:
    return Router(TRIAGE, ROUTES, embed=options.pop("embed", WORDS), **options)


class TestRouter(PolicyConformance):
    def make(self) -> Router:
        return Router(self.first, {Agent(name="Other"): ["something else"]}, embed=Words("something"))

    first = PolicyConformance.agent(PolicyConformance())

    def agent(self) -> Agent:
        return self.first


@pytest.mark.parametrize("is_async", [False, True])
def test_it_hands_over_before_the_first_model_call(drive: Drive, is_async: bool) -> None:
    """H17, H18: the history is only what was said; who said it, and the response, name the new agent."""
    response = drive(TRIAGE, "refund please", ["Sure."], swarm={"policies": [router(embed=WORDS.later if is_async else WORDS)]})
    assert response.agent is REFUNDS
    assert [(message["role"], message["sender"]) for message in response.messages] == [("assistant", "Refunds")]
    assert len(drive.requests) == 1
    assert system_text(drive.requests[0]) == "Refund."
    assert (response.used["handoffs"], response.handoffs) == (1, [])


@pytest.mark.parametrize("text", ["hello", "help refund hello", "buy refund", "", " "])
def test_where_it_is_not_sure_the_triage_agent_is_asked(drive: Drive, text: str) -> None:
    response = drive(TRIAGE, [{"role": "user", "content": text}], ["What can I do?"], swarm={"policies": [router(threshold=0.6)]})
    assert response.agent is TRIAGE
    assert system_text(drive.requests[0]) == "Decide."


@pytest.mark.parametrize(("margin", "is_sure"), [(0.0, True), (0.44, True), (0.45, False)])
def test_the_next_agent_must_be_far_enough(drive: Drive, margin: float, is_sure: bool) -> None:
    """ "buy buy refund" is at 2/sqrt(5) from the one and 1/sqrt(5) from the other, which is .447 farther."""
    response = drive(TRIAGE, "buy buy refund", ["ok"], swarm={"policies": [router(margin=margin)]})
    assert (response.agent is SALES) is is_sure


def test_of_an_agent_the_nearest_example_counts(drive: Drive) -> None:
    policy = Router(TRIAGE, {SALES: ["hello", "buy"], REFUNDS: ["refund buy"]}, embed=WORDS)
    assert drive(TRIAGE, "buy", ["ok"], swarm={"policies": [policy]}).agent is SALES


def test_it_says_so_before_the_first_turn(drive: Drive) -> None:
    """H23"""
    events = drive.events(TRIAGE, "buy a buy", ["Yes."], swarm={"policies": [router()]})
    assert names(events) == ["PolicyActed", "HandedOff", "TurnStarted", "MessageDone", "TurnEnded", "Done"]
    acted, handed = events[:2]
    assert isinstance(acted, PolicyActed)
    assert isinstance(handed, HandedOff)
    assert (acted.agent, acted.policy, acted.what) == ("Triage", "Router", "hands over to Sales")
    assert acted.reason == "near 'buy': 1.00, Refunds 0.00"
    assert (handed.agent, handed.to, handed.call_id) == ("Triage", "Sales", "")


def test_a_run_of_another_agent_is_left_alone(drive: Drive) -> None:
    """H18: who has taken over keeps the conversation."""
    response = drive(SALES, "refund please", ["Let me see."], swarm={"policies": [router()]})
    assert response.agent is SALES


def test_later_in_a_run_it_does_nothing(drive: Drive) -> None:
    back = SALES.copy(handoffs=[TRIAGE])
    response = drive(back, "refund please", [call("transfer_to_triage"), "I am triage."], swarm={"policies": [router()]})
    assert response.agent is TRIAGE


def test_only_a_message_of_the_user_is_routed(drive: Drive) -> None:
    history = [{"role": "user", "content": "refund"}, {"role": "assistant", "content": "Yes?"}]
    assert drive(TRIAGE, history, ["ok"], swarm={"policies": [router()]}).agent is TRIAGE


@pytest.mark.parametrize("options", [{"max_turns": 0}, {"execute_tools": False}, {"limits": Limits(handoffs=0)}])
def test_what_forbids_handoffs_forbids_this_one(drive: Drive, options: dict[str, Any]) -> None:
    """K15, L03"""
    response = drive(TRIAGE, "refund", ["ok"], swarm={"policies": [router()]}, **options)
    assert response.agent is TRIAGE


def test_it_counts_as_a_handoff(drive: Drive) -> None:
    """L03: Limits(handoffs=1) is used up by it."""
    refunds = REFUNDS.copy(handoffs=[SALES])
    policy = Router(TRIAGE, {refunds: ["refund"]}, embed=WORDS)
    response = drive(TRIAGE, "refund", [call("transfer_to_sales"), "ok"], swarm={"policies": [policy]}, limits=Limits(handoffs=1))
    assert response.agent is refunds
    assert response.stop_reason == "limit:handoffs"


def test_other_policies_may_refuse_or_redirect_it(drive: Drive) -> None:
    """H23: wherever they stand; Router stands around the run, they around the handoff."""
    seen: list[tuple[str, str, str]] = []

    class Gate:
        answer: Any = Refuse("closed today")

        def handoff(self, change: HandOff) -> Any:
            seen.append((change.source.name, change.target.name, change.call_id))
            target = yield change
            return self.answer or target

    gate = Gate()
    for policies in ([gate, router()], [router(), gate]):
        events = drive.events(TRIAGE, "refund", ["ok"], swarm={"policies": policies})
        assert events[-1].response.agent is TRIAGE  # type: ignore[attr-defined]
        acted = next(event for event in events if isinstance(event, PolicyActed))
        assert (acted.what, acted.reason) == ("may not hand over to Refunds", "closed today")
    gate.answer = SALES
    assert drive(TRIAGE, "refund", ["ok"], swarm={"policies": [router(), gate]}).agent is SALES
    assert seen == [("Triage", "Refunds", "")] * 3


@pytest.mark.parametrize("outside", [True, False])
def test_what_is_not_permitted_is_not_handed_over_to(drive: Drive, outside: bool) -> None:
    """H23: a policy that the run has passed on its way to the router as well."""
    permission = Permission([Allow(), Deny(to="Refunds", reason="closed today")])
    policies = [permission, router()] if outside else [router(), permission]
    assert drive(TRIAGE, "refund", ["ok"], swarm={"policies": policies}).agent is TRIAGE


def test_a_hook_that_fails_fails_the_run(drive: Drive) -> None:
    class Broken:
        def handoff(self, change: HandOff) -> Any:
            yield Now()
            raise ValueError("no list of agents")

    with pytest.raises(ValueError, match="no list of agents"):
        drive(TRIAGE, "refund", ["ok"], swarm={"policies": [router(), Broken()]})


def test_what_is_no_number_is_not_sure(drive: Drive) -> None:
    policy = Router(TRIAGE, {REFUNDS: ["refund"], SALES: ["buy"]}, embed=lambda texts: [[float("nan")]] * len(texts))
    assert drive(TRIAGE, "refund", ["ok"], swarm={"policies": [policy]}).agent is TRIAGE


@pytest.mark.parametrize("is_open", [False, True])
def test_the_handoff_of_the_triage_agent_holds(drive: Drive, is_open: bool) -> None:
    """H15, H21, D20: its `when`, and its filter while the other agent is active."""

    def last(messages: list[Any]) -> list[Any]:
        return messages[-1:]

    triage = Agent(
        name="Triage", handoffs=[Handoff(REFUNDS, history_filter=last, when=lambda context_variables: context_variables["open"])]
    )
    history = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Yes?"}, {"role": "user", "content": "refund"}]
    policy = Router(triage, {REFUNDS: ["refund"]}, embed=WORDS)
    response = drive(triage, history, ["ok"], swarm={"policies": [policy]}, context_variables={"open": is_open})
    assert (response.agent is REFUNDS) is is_open
    assert len(drive.requests[0]["messages"]) == (2 if is_open else 4)
    if is_open:
        state = load_state(json.dumps(response.state()), agents=[triage, REFUNDS])
        on = state.fork(messages=[*state["messages"], {"role": "user", "content": "and now?"}])
        drive.resume(on, ["Still here."])
        assert len(drive.requests[0]["messages"]) == 2


def test_inner_policies_see_who_begins(drive: Drive) -> None:
    began: list[str] = []

    class Watch:
        def run(self, start: StartRun) -> Any:
            began.append(start.agent.name)
            return (yield start)

    drive(TRIAGE, "refund", ["ok"], swarm={"policies": [Watch(), router(), Watch()]})
    assert began == ["Triage", "Refunds"]


def test_agents_behind_functions_are_reached_too(drive: Drive) -> None:
    def to_sales() -> Agent:
        return SALES

    triage = Agent(name="Triage", functions=[to_sales])
    response = drive(triage, "buy", ["ok"], swarm={"policies": [Router(triage, {SALES: ["buy"]}, embed=WORDS)]})
    assert response.agent is SALES


@pytest.mark.parametrize(
    ("routes", "options", "error", "said"),
    [
        ({}, {}, ValueError, "must name the agents that may take over"),
        ({TRIAGE: ["x"]}, {}, ValueError, "and not the one that begins"),
        ({"Sales": ["buy"]}, {}, TypeError, "'Sales' is no Agent"),
        ({SALES: []}, {}, ValueError, "examples must be at least one text"),
        ({SALES: "buy"}, {}, TypeError, "examples must be a list of texts"),
        (ROUTES, {"threshold": 2}, ValueError, r"Router\(threshold=2, margin=0.1\)"),
        (ROUTES, {"margin": -0.1}, ValueError, r"Router\(threshold=0.5, margin=-0.1\)"),
        (ROUTES, {"embed": 3}, TypeError, "embed must be a function"),
    ],
)
def test_what_is_wrong_is_said_at_once(routes: Any, options: dict[str, Any], error: type[Exception], said: str) -> None:
    """U07"""
    with pytest.raises(error, match=said):
        Router(TRIAGE, routes, **{"embed": WORDS, **options})


def test_the_measured_defaults() -> None:
    """The numbers in the documentation are those of the code: sure of half of the messages, and then right."""
    found = measured(THRESHOLD, MARGIN)
    assert (found.messages, found.for_an_agent, found.sure, found.right) == (97, 68, 48, 48)
    assert str(found) in (Path(__file__).parent.parent.parent / "docs" / "handoffs.md").read_text(encoding="utf-8")
