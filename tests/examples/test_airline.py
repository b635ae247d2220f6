"""The airline: its agents, their texts, and each policy played through, happy and unhappy branches."""

from __future__ import annotations

import re
from typing import Any

import pytest

from examples.airline.configs import agents as configured
from examples.airline.configs import tools
from examples.airline.configs.agents import agents, flight_cancel, flight_change, flight_modification, lost_baggage, triage_agent
from examples.airline.data.sample import BOOKING, sample_context
from examples.airline.routines.baggage import BAGGAGE_POLICY
from examples.airline.routines.cancel import CANCEL_POLICY
from examples.airline.routines.change import CHANGE_POLICY
from examples.airline.routines.starter import STARTER_PROMPT
from swarm import Agent
from swarm.models.scripted import call
from tests.examples.talk import Talk
from tests.modes import Drive

TO_CANCEL = ("I want to cancel my flight", call("transfer_to_flight_modification"), call("transfer_to_flight_cancel"), "Which flight?")
TO_CHANGE = ("I want to change my flight", call("transfer_to_flight_modification"), call("transfer_to_flight_change"), "For what reason?")
THE_ONE = ("flight 1919", "A refund or credits?")
NOTHING_ELSE = ("no, that's all", call("case_resolved"), "Goodbye.")

FUNCTIONS = {
    "Triage Agent": ["transfer_to_flight_modification", "transfer_to_lost_baggage"],
    "Flight Modification Agent": ["transfer_to_flight_cancel", "transfer_to_flight_change"],
    "Flight Cancel Agent": ["initiate_refund", "initiate_flight_credits", "escalate_to_agent", "transfer_to_triage", "case_resolved"],
    "Flight Change Agent": ["valid_to_change_flight", "change_flight", "escalate_to_agent", "transfer_to_triage", "case_resolved"],
    "Lost Baggage Agent": ["initiate_baggage_search", "escalate_to_agent", "transfer_to_triage", "case_resolved"],
}


def context(**booking: Any) -> dict[str, Any]:
    """The sample context with another booking."""
    known = sample_context()
    known["booking"].update(booking)
    return known


def instructions(agent: Agent) -> str:
    return agent.instructions(sample_context()) if callable(agent.instructions) else str(agent.instructions)


# The agents and their texts


def test_the_agents_and_their_functions() -> None:
    assert {agent.name: [function.__name__ for function in agent.functions] for agent in agents} == FUNCTIONS


def test_a_transfer_function_called_as_a_function_returns_its_agent() -> None:
    assert configured.transfer_to_flight_modification() is flight_modification
    assert configured.transfer_to_flight_cancel() is flight_cancel
    assert configured.transfer_to_flight_change() is flight_change
    assert configured.transfer_to_lost_baggage() is lost_baggage
    assert configured.transfer_to_triage() is triage_agent


def test_a_function_called_as_a_function_needs_no_arguments() -> None:
    assert tools.initiate_refund() == "A refund of 420.00 USD is initiated. It arrives within 3 to 5 business days."
    assert tools.initiate_flight_credits() == "Flight credits of 420.00 USD are initiated. They are available in 15 minutes."
    assert "may be changed" in tools.valid_to_change_flight()
    assert tools.change_flight() == "The flight is changed to 1917, 20 May 2027, 15:00."
    assert tools.initiate_baggage_search() == "The bag is found, at Lisbon airport."
    assert tools.case_resolved() == "The case is closed. Have a good flight."
    assert tools.escalate_to_agent() == "A human agent takes over now."
    assert tools.escalate_to_agent("rude bot") == "A human agent takes over now. Reason: rude bot."
    assert BOOKING["status"] == "booked", "the sample itself stays as it is"


def test_triage_is_told_the_customer_and_the_flight() -> None:
    """K04"""
    text = instructions(triage_agent)
    assert "Ida Moreau" in text
    assert "Flight 1919" in text
    assert not re.search(r"context|None|\{", text)


@pytest.mark.parametrize("agent", [flight_cancel, flight_change, lost_baggage], ids=lambda agent: agent.name)
def test_a_policy_stands_under_the_starter_prompt(agent: Agent) -> None:
    text = instructions(agent)
    assert text.startswith(STARTER_PROMPT)
    assert "Flight 1919" in text
    for rule in ("to the letter", "Never show", "Be kind", "escalate_to_agent at once", "transfer_to_triage", "case_resolved"):
        assert rule in STARTER_PROMPT, rule


POLICIES = {
    "cancel": (CANCEL_POLICY, flight_cancel, ["which flight", "refund or flight credits", "initiate_refund", "3 to 5 business days"]),
    "credits": (CANCEL_POLICY, flight_cancel, ["initiate_flight_credits", "15 minutes", "case_resolved"]),
    "change": (CHANGE_POLICY, flight_change, ["details", "reason", "valid_to_change_flight", "one day earlier", "seat is free"]),
    "fare": (CHANGE_POLICY, flight_change, ["fare difference", "call change_flight", "call case_resolved"]),
    "baggage": (
        BAGGAGE_POLICY,
        lost_baggage,
        ["initiate_baggage_search", "found", "delivered", "not found", "escalate_to_agent", "case_resolved"],
    ),
}


@pytest.mark.parametrize("part", POLICIES)
def test_a_policy_says_what_to_do_in_order(part: str) -> None:
    policy, agent, said = POLICIES[part]
    places = [policy.index(words) for words in said]
    assert places == sorted(places)
    known = {function.__name__ for function in agent.functions}
    named = set(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", policy))
    assert named <= known, "a policy names only functions that its agent has"


@pytest.mark.parametrize("policy", [CANCEL_POLICY, CHANGE_POLICY, BAGGAGE_POLICY])
def test_the_steps_are_numbered_without_gaps_and_branch_by_letters(policy: str) -> None:
    steps = [int(number) for number in re.findall(r"^(\d)\. ", policy, re.MULTILINE)]
    assert steps == list(range(1, len(steps) + 1))
    branches = re.findall(r"^   (\d[a-c])\. ", policy, re.MULTILINE)
    for step in {branch[0] for branch in branches}:
        letters = [branch[1] for branch in branches if branch[0] == step]
        assert letters == ["a", "b", "c"][: len(letters)]
        assert len(letters) > 1, f"step {step} has one branch only"
    assert {int(goes) for goes in re.findall(r"go to step (\d)", policy)} <= set(steps)


# The policies, played


def test_cancelling_for_a_refund_hands_over_twice(drive: Drive) -> None:
    """K13, H17, H18"""
    talk = Talk(drive, triage_agent, context())
    response = talk.say(*TO_CANCEL)
    assert response.handoffs == [("Triage Agent", "Flight Modification Agent"), ("Flight Modification Agent", "Flight Cancel Agent")]
    talk.say(*THE_ONE)
    talk.say("a refund please", call("initiate_refund"), "It is on its way.")
    talk.say(*NOTHING_ELSE)
    assert talk.called[2:] == ["initiate_refund", "case_resolved"]
    assert talk.told[2] == "A refund of 420.00 USD is initiated. It arrives within 3 to 5 business days."
    assert talk.agent is flight_cancel
    assert talk.context["booking"]["status"] == "refunded"
    systems = [request["messages"][0]["content"] for request in talk.requests]
    assert [CANCEL_POLICY in text for text in systems] == [False, False, True, True, True, True, True, True]


def test_cancelling_for_credits(drive: Drive) -> None:
    talk = Talk(drive, flight_cancel, context())
    talk.say(*THE_ONE)
    talk.say("credits", call("initiate_flight_credits"), "You have them in 15 minutes.")
    talk.say(*NOTHING_ELSE)
    assert talk.told[0] == "Flight credits of 420.00 USD are initiated. They are available in 15 minutes."
    assert talk.context["booking"]["status"] == "credited"


def test_nobody_gets_both_refund_and_credits_or_a_refund_twice(drive: Drive) -> None:
    """K10: what makes a payment happen once is the booking, not the model."""
    talk = Talk(drive, flight_cancel, context())
    talk.say("a refund", call("initiate_refund"), "Done.")
    talk.say("and the credits, and the refund again", [call("initiate_flight_credits"), call("initiate_refund")], "Sorry.")
    assert talk.told[1:] == ["Nothing was done: flight 1919 is refunded already."] * 2


def test_cancelling_another_flight_goes_to_a_human(drive: Drive) -> None:
    talk = Talk(drive, flight_cancel, context())
    talk.say("flight 7", call("escalate_to_agent", {"reason": "another flight"}), "A colleague will help you.")
    assert talk.told == ["A human agent takes over now. Reason: another flight."]
    assert talk.context["booking"]["status"] == "booked"


def test_keeping_the_flight_after_all(drive: Drive) -> None:
    talk = Talk(drive, flight_cancel, context())
    talk.say("I'll keep it", "As you like. Anything else?")
    talk.say(*NOTHING_ELSE)
    assert talk.called == ["case_resolved"]
    assert talk.context["booking"]["status"] == "booked"


def test_changing_to_the_day_before(drive: Drive) -> None:
    talk = Talk(drive, triage_agent, context())
    talk.say(*TO_CHANGE)
    talk.say("a wedding", call("valid_to_change_flight"), "One day earlier, for 40 dollars?")
    talk.say("yes", call("change_flight"), "Done.")
    talk.say(*NOTHING_ELSE)
    assert talk.called[2:] == ["valid_to_change_flight", "change_flight", "case_resolved"]
    assert talk.told[2].endswith("flight 1917, 20 May 2027, 15:00, 3 seats free, fare difference 40.00 USD.")
    assert talk.told[3] == "The flight is changed to 1917, 20 May 2027, 15:00."
    assert talk.context["booking"]["status"] == "changed"


def test_a_fare_that_allows_no_change(drive: Drive) -> None:
    talk = Talk(drive, flight_change, context(changeable=False))
    talk.say("a wedding", call("valid_to_change_flight"), "I am sorry. Shall I get a human?")
    talk.say("change it all the same", call("change_flight"), "I cannot.")
    talk.say("then a human", call("escalate_to_agent"), "Here they are.")
    assert talk.told == [
        "The fare of flight 1919 does not allow changes.",
        "Nothing was changed: the fare does not allow it.",
        "A human agent takes over now.",
    ]
    assert talk.context["booking"]["status"] == "booked"


def test_no_seat_a_day_earlier(drive: Drive) -> None:
    full = {**BOOKING["day_earlier"], "free_seats": 0}
    talk = Talk(drive, flight_change, context(day_earlier=full))
    talk.say("a wedding", call("valid_to_change_flight"), "It is full, I am sorry.")
    talk.say("try it", call("change_flight"), "It is full.")
    talk.say(*NOTHING_ELSE)
    assert ", 0 seats free," in talk.told[0]
    assert talk.told[1] == "Nothing was changed: no seat is free."
    assert talk.context["booking"]["status"] == "booked"


def test_the_fare_difference_is_too_much(drive: Drive) -> None:
    talk = Talk(drive, flight_change, context())
    talk.say("a wedding", call("valid_to_change_flight"), "It is 40 dollars more.")
    talk.say("too much", "Then all stays as it is. Anything else?")
    talk.say(*NOTHING_ELSE)
    assert talk.called == ["valid_to_change_flight", "case_resolved"]
    assert talk.context["booking"]["status"] == "booked"


def test_a_bag_that_is_found(drive: Drive) -> None:
    talk = Talk(drive, triage_agent, context())
    talk.say("where is my bag", call("transfer_to_lost_baggage"), call("initiate_baggage_search"), "Found, it will be delivered.")
    talk.say(*NOTHING_ELSE)
    assert talk.called == ["transfer_to_lost_baggage", "initiate_baggage_search", "case_resolved"]
    assert talk.told[1] == "The bag is found, at Lisbon airport."


def test_a_bag_that_is_not_found(drive: Drive) -> None:
    talk = Talk(drive, lost_baggage, context(bag_found_at=None))
    talk.say(
        "my bag", call("initiate_baggage_search"), call("escalate_to_agent", {"reason": "bag not found"}), "A colleague will call you."
    )
    assert talk.told == ["The bag is not found.", "A human agent takes over now. Reason: bag not found."]


@pytest.mark.parametrize("leaf", [flight_cancel, flight_change, lost_baggage], ids=lambda agent: agent.name)
def test_every_leaf_returns_to_triage_and_triage_goes_on(drive: Drive, leaf: Agent) -> None:
    """H17"""
    talk = Talk(drive, leaf, context())
    response = talk.say("something else: my bag", call("transfer_to_triage"), call("transfer_to_lost_baggage"), "Which bag?")
    assert response.handoffs == [(leaf.name, "Triage Agent"), ("Triage Agent", "Lost Baggage Agent")]
    assert talk.agent is lost_baggage


@pytest.mark.parametrize("leaf", [flight_cancel, flight_change, lost_baggage], ids=lambda agent: agent.name)
def test_a_human_on_demand(drive: Drive, leaf: Agent) -> None:
    talk = Talk(drive, leaf, context())
    talk.say("a human!", call("escalate_to_agent", {"reason": "asked for a human"}), "They are coming.")
    assert talk.told == ["A human agent takes over now. Reason: asked for a human."]


def test_without_context_variables_the_sample_booking_is_used(drive: Drive) -> None:
    """K04"""
    talk = Talk(drive, triage_agent)
    talk.say(*TO_CANCEL)
    talk.say("a refund", call("initiate_refund"), "Done.")
    assert talk.context["booking"]["status"] == "refunded"
    assert talk.requests[0]["messages"][0]["content"].endswith("# Customer\n\n\n# Flight\n\n")


def test_nothing_of_the_context_is_sent_as_an_argument(drive: Drive) -> None:
    """K06"""
    talk = Talk(drive, flight_change, context())
    talk.say("hello", "Hello.")
    for entry in talk.requests[0]["tools"]:
        wanted = {"reason"} if entry["function"]["name"] == "escalate_to_agent" else set[str]()
        assert set(entry["function"]["parameters"]["properties"]) == wanted
