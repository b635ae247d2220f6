"""The airline: its agents, their texts, and each policy played through, happy and unhappy branches."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from examples.airline.configs import agents as configured
from examples.airline.configs import tools
from examples.airline.configs.agents import agents, flight_cancel, flight_change, flight_modification, lost_baggage, triage_agent
from examples.airline.data.database import Airline
from examples.airline.data.sample import sample_context
from examples.airline.routines.baggage import BAGGAGE_POLICY
from examples.airline.routines.cancel import CANCEL_POLICY
from examples.airline.routines.change import CHANGE_POLICY
from examples.airline.routines.starter import STARTER_PROMPT
from swarm import Agent
from swarm.models.scripted import call
from tests.examples.readmes import blocks
from tests.examples.talk import ROOT, Talk, script
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


IDA, TOMAS, NADIA, PIET = "40217", "40311", "40502", "40777"


def context(customer: str = IDA) -> dict[str, Any]:
    """What a conversation with a customer begins with, on records of its own."""
    return sample_context(customer, Airline())


def status(talk: Talk) -> tuple[Any, ...]:
    """Of the booking that a conversation is about: status, flight, seat, what was paid and not given back, in cents."""
    booking = talk.context["airline"].booking(talk.context["customer"], talk.context["booking"])
    return booking.status, booking.flight, booking.seat, booking.paid


AS_BOOKED = ("booked", "1919", "14C", 42000)


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
    assert tools.change_flight() == "The flight is changed to 1917, 20 May 2027, 15:00, seat 14A."
    assert tools.initiate_baggage_search() == "The bag is found, at Lisbon airport. It will be delivered to 12 Harbor Street, Boston."
    assert tools.case_resolved() == "The case is closed. Have a good flight."
    assert tools.escalate_to_agent() == "A human agent takes over now."
    assert tools.escalate_to_agent("rude bot") == "A human agent takes over now. Reason: rude bot."
    assert tools.initiate_refund().startswith("A refund"), "each such call has the sample for itself"


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
    branches = re.findall(r"^   (\d[a-d])\. ", policy, re.MULTILINE)
    for step in {branch[0] for branch in branches}:
        letters = [branch[1] for branch in branches if branch[0] == step]
        assert letters == ["a", "b", "c", "d"][: len(letters)]
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
    assert status(talk) == ("refunded", "1919", None, 0)
    assert talk.context["airline"].rows("SELECT kind, cents, due FROM payment WHERE booking = 'MA2F8K'") == [
        ("ticket", 42000, "2027-02-01 10:00"),
        ("refund", -42000, "2027-05-17 09:00"),
    ]
    systems = [request["messages"][0]["content"] for request in talk.requests]
    assert [CANCEL_POLICY in text for text in systems] == [False, False, True, True, True, True, True, True]
    assert ["seat 14C" in text for text in systems][2:] == [True, True, True, False, False, False], "the instructions know what was done"
    assert "to Lisbon (LIS): refunded" in systems[-1]


def test_cancelling_for_credits(drive: Drive) -> None:
    talk = Talk(drive, flight_cancel, context())
    talk.say(*THE_ONE)
    talk.say("credits", call("initiate_flight_credits"), "You have them in 15 minutes.")
    talk.say(*NOTHING_ELSE)
    assert talk.told[0] == "Flight credits of 420.00 USD are initiated. They are available in 15 minutes."
    assert status(talk) == ("credited", "1919", None, 0)
    airline = talk.context["airline"]
    assert airline.customer(IDA).credit == 42000
    assert airline.rows("SELECT cents, due FROM payment WHERE kind = 'credits'") == [(-42000, "2027-05-10 09:15")]


def test_nobody_gets_both_refund_and_credits_or_a_refund_twice(drive: Drive) -> None:
    """D70: what makes a payment happen once is the record, not the model."""
    talk = Talk(drive, flight_cancel, context())
    talk.say("a refund", call("initiate_refund"), "Done.")
    talk.say("and the credits, and the refund again", [call("initiate_flight_credits"), call("initiate_refund")], "Sorry.")
    assert talk.told[1:] == ["Nothing was done. Flight 1919 is refunded already."] * 2
    assert talk.context["airline"].rows("SELECT count(*) FROM payment WHERE cents < 0") == [(1,)]
    assert talk.context["airline"].customer(IDA).credit == 0


def test_the_next_conversation_finds_the_refund_of_the_last(drive: Drive) -> None:
    airline = Airline()
    Talk(drive, flight_cancel, sample_context(IDA, airline)).say("a refund", call("initiate_refund"), "Done.")
    again = Talk(drive, flight_cancel, sample_context(IDA, airline))
    again.say("a refund", call("initiate_refund"), "Sorry.")
    assert again.told == ["Nothing was done. Flight 1919 is refunded already."]


def test_a_fare_that_gives_no_money_back(drive: Drive) -> None:
    talk = Talk(drive, flight_cancel, context(TOMAS))
    talk.say("a refund", call("initiate_refund"), "I am sorry, this fare gives no money back. Credits?")
    talk.say("then credits", call("initiate_flight_credits"), "Done.")
    assert talk.told == [
        "Nothing was done. The fare of flight 1919 gives no money back, but flight credits.",
        "Flight credits of 340.00 USD are initiated. They are available in 15 minutes.",
    ]
    assert status(talk) == ("credited", "1919", None, 0)


def test_cancelling_another_flight_goes_to_a_human(drive: Drive) -> None:
    talk = Talk(drive, flight_cancel, context())
    talk.say("flight 7", call("escalate_to_agent", {"reason": "another flight"}), "A colleague will help you.")
    assert talk.told == ["A human agent takes over now. Reason: another flight."]
    assert status(talk) == AS_BOOKED


def test_keeping_the_flight_after_all(drive: Drive) -> None:
    talk = Talk(drive, flight_cancel, context())
    talk.say("I'll keep it", "As you like. Anything else?")
    talk.say(*NOTHING_ELSE)
    assert talk.called == ["case_resolved"]
    assert status(talk) == AS_BOOKED


def test_changing_to_the_day_before(drive: Drive) -> None:
    talk = Talk(drive, triage_agent, context())
    talk.say(*TO_CHANGE)
    talk.say("a wedding", call("valid_to_change_flight"), "One day earlier, for 40 dollars?")
    talk.say("yes", call("change_flight"), "Done.")
    talk.say(*NOTHING_ELSE)
    assert talk.called[2:] == ["valid_to_change_flight", "change_flight", "case_resolved"]
    assert talk.told[2].endswith("flight 1917, 20 May 2027, 15:00, 3 seats free, fare difference 40.00 USD.")
    assert talk.told[3] == "The flight is changed to 1917, 20 May 2027, 15:00, seat 14A."
    assert status(talk) == ("booked", "1917", "14A", 46000)
    assert talk.context["airline"].rows("SELECT booking FROM seat WHERE place = '14C' AND flight = 3") == [(None,)]
    assert "Flight 1917" in talk.requests[-1]["messages"][0]["content"]


def test_a_change_is_made_once_and_paid_back_whole(drive: Drive) -> None:
    talk = Talk(drive, flight_change, context())
    talk.say("yes", [call("change_flight"), call("change_flight")], "Done.")
    assert talk.told[1] == "Nothing was changed. The fare of flight 1917 does not allow another change."
    cancelled = Talk(drive, flight_cancel, talk.context)
    cancelled.say("cancel it after all, a refund", call("initiate_refund"), "Done.")
    assert cancelled.told == ["A refund of 460.00 USD is initiated. It arrives within 3 to 5 business days."]
    assert status(cancelled) == ("refunded", "1917", None, 0)


def test_a_fare_that_allows_no_change(drive: Drive) -> None:
    talk = Talk(drive, flight_change, context(TOMAS))
    talk.say("a wedding", call("valid_to_change_flight"), "I am sorry. Shall I get a human?")
    talk.say("change it all the same", call("change_flight"), "I cannot.")
    talk.say("then a human", call("escalate_to_agent"), "Here they are.")
    assert talk.told == [
        "The fare of flight 1919 does not allow changes.",
        "Nothing was changed. The fare of flight 1919 does not allow changes.",
        "A human agent takes over now.",
    ]
    assert status(talk) == ("booked", "1919", "30E", 34000)


def test_no_seat_a_day_earlier(drive: Drive) -> None:
    talk = Talk(drive, flight_change, context(NADIA))
    talk.say("a wedding", call("valid_to_change_flight"), "It is full, I am sorry.")
    talk.say("try it", call("change_flight"), "It is full.")
    talk.say(*NOTHING_ELSE)
    assert ", 0 seats free," in talk.told[0]
    assert talk.told[1] == "Nothing was changed. No seat is free."
    assert status(talk) == ("booked", "1426", "02A", 55000)


def test_no_flight_a_day_earlier(drive: Drive) -> None:
    known = context(NADIA)
    known["airline"].rows("DELETE FROM fare WHERE flight = 4 AND name = 'flex'")
    talk = Talk(drive, flight_change, known)
    talk.say("a wedding", [call("valid_to_change_flight"), call("change_flight")], "There is none, I am sorry.")
    assert talk.told == [
        "Flight 1426 may be changed, but there is no flight one day earlier.",
        "Nothing was changed. There is no flight one day earlier.",
    ]


def test_the_fare_difference_is_too_much(drive: Drive) -> None:
    talk = Talk(drive, flight_change, context())
    talk.say("a wedding", call("valid_to_change_flight"), "It is 40 dollars more.")
    talk.say("too much", "Then all stays as it is. Anything else?")
    talk.say(*NOTHING_ELSE)
    assert talk.called == ["valid_to_change_flight", "case_resolved"]
    assert status(talk) == AS_BOOKED


def test_a_flight_that_has_departed(drive: Drive) -> None:
    known = context(PIET)
    change = Talk(drive, flight_change, known)
    change.say("change it", [call("valid_to_change_flight"), call("change_flight")], "It has departed, I am sorry.")
    cancel = Talk(drive, flight_cancel, known)
    cancel.say("then a refund, or credits", [call("initiate_refund"), call("initiate_flight_credits")], "I am sorry.")
    assert change.told == ["Flight 1408 has departed.", "Nothing was changed. Flight 1408 has departed."]
    assert cancel.told == ["Nothing was done. Flight 1408 has departed."] * 2
    assert status(cancel) == ("booked", "1408", "10C", 39000)


@pytest.mark.parametrize("booking", ["MA6H2C", "NOSUCH"], ids=["of somebody else", "unknown"])
def test_a_booking_that_is_not_the_customers(drive: Drive, booking: str) -> None:
    """D70: both are told the same, so that nobody learns which codes there are."""
    known: dict[str, Any] = {**context(), "booking": booking}
    before = known["airline"].rows("SELECT * FROM booking"), known["airline"].rows("SELECT * FROM payment")
    change = Talk(drive, flight_change, known)
    change.say("change it", [call("valid_to_change_flight"), call("change_flight")], "I do not find it.")
    cancel = Talk(drive, flight_cancel, known)
    cancel.say("refund it", [call("initiate_refund"), call("initiate_flight_credits")], "I do not find it.")
    why = f"Customer 40217 has no booking {booking}."
    assert change.told == [why, f"Nothing was changed. {why}"]
    assert cancel.told == [f"Nothing was done. {why}"] * 2
    assert (known["airline"].rows("SELECT * FROM booking"), known["airline"].rows("SELECT * FROM payment")) == before


def test_a_customer_who_is_not_known(drive: Drive) -> None:
    known: dict[str, Any] = {**context(), "customer": "1"}
    change = Talk(drive, flight_change, known)
    change.say("change it", [call("valid_to_change_flight"), call("change_flight")], "I do not find you.")
    bag = Talk(drive, lost_baggage, known)
    bag.say("my bag", call("initiate_baggage_search"), "I do not find you.")
    assert change.told == ["There is no customer 1.", "Nothing was changed. There is no customer 1."]
    assert bag.told == ["The bag is not found. There is no customer 1."]


def test_a_bag_that_is_found(drive: Drive) -> None:
    talk = Talk(drive, triage_agent, context())
    talk.say("where is my bag", call("transfer_to_lost_baggage"), call("initiate_baggage_search"), "Found, it will be delivered.")
    talk.say(*NOTHING_ELSE)
    assert talk.called == ["transfer_to_lost_baggage", "initiate_baggage_search", "case_resolved"]
    assert talk.told[1] == "The bag is found, at Lisbon airport. It will be delivered to 12 Harbor Street, Boston."
    assert talk.context["airline"].rows("SELECT place, searched, deliver_to FROM bag WHERE tag = 'MA0451'") == [
        ("Lisbon airport", "2027-05-10 09:00", "12 Harbor Street, Boston")
    ]


def test_a_bag_that_is_not_found(drive: Drive) -> None:
    talk = Talk(drive, lost_baggage, context(TOMAS))
    escalated = call("escalate_to_agent", {"reason": "bag not found"})
    talk.say("my bag", call("initiate_baggage_search"), escalated, "A colleague will call you.")
    talk.say(*NOTHING_ELSE)
    assert talk.told[:2] == [
        "The bag is not found. The search for bag MA0460 goes on.",
        "A human agent takes over now. Reason: bag not found.",
    ]
    assert talk.context["airline"].rows("SELECT searched, deliver_to FROM bag WHERE tag = 'MA0460'") == [("2027-05-10 09:00", None)]


def test_a_customer_whose_bags_have_all_arrived(drive: Drive) -> None:
    talk = Talk(drive, lost_baggage, context(NADIA))
    talk.say("my bag", call("initiate_baggage_search"), call("escalate_to_agent"), "A colleague will call you.")
    assert talk.told[0] == "The bag is not found. No bag of this customer's is missing in our records."


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
    talk.say("and again", call("initiate_refund"), "No.")
    assert status(talk) == ("refunded", "1919", None, 0)
    assert talk.told[-1] == "Nothing was done. Flight 1919 is refunded already."
    assert talk.requests[0]["messages"][0]["content"].endswith("# Customer\n\n\n# Flight\n\n")


def test_with_the_context_variables_of_a_tutorial(drive: Drive) -> None:
    """K04, K10: two texts about the customer and the flight, and no record is named."""
    told = {"customer_context": "1. NAME: Ida Moreau", "flight_context": "The flight # is 1919, at 3pm on 5/21/2027."}
    talk = Talk(drive, flight_change, told)
    talk.say("a wedding", call("valid_to_change_flight"), call("change_flight"), "Done.")
    assert status(talk) == ("booked", "1917", "14A", 46000)
    assert "at 3pm on" in talk.requests[0]["messages"][0]["content"]
    assert "Flight 1917" in talk.requests[-1]["messages"][0]["content"]


def test_nothing_of_the_context_is_sent_as_an_argument(drive: Drive) -> None:
    """K06"""
    talk = Talk(drive, flight_change, context())
    talk.say("hello", "Hello.")
    for entry in talk.requests[0]["tools"]:
        wanted = {"reason"} if entry["function"]["name"] == "escalate_to_agent" else set[str]()
        assert set(entry["function"]["parameters"]["properties"]) == wanted


# The commands


def test_the_airline_takes_lines_from_a_pipe_to_the_end() -> None:
    """D30: the README's `make demo`, and then all that a cancellation takes."""
    said = "I want to cancel my flight\nyes, flight 1919\na refund please\na refund please\nno, that's all\n"
    done = script("-m", "swarm", "demo", "airline", "--offline", said=said)
    assert (done.returncode, done.stderr) == (0, "")
    for line in (
        "-> initiate_refund()",
        "<- A refund of 420.00 USD is initiated. It arrives within 3 to 5 business days.",
        "<- Nothing was done. Flight 1919 is refunded already.",
        "<- The case is closed. Have a good flight.",
    ):
        assert line in done.stdout


def test_what_was_done_in_a_file_is_still_so_the_next_time(tmp_path: Path) -> None:
    file = str(tmp_path / "meadow.sqlite")
    first, second = (
        script("-m", "examples.airline.main", file, said=f"{said}\n")
        for said in ("I want to cancel my flight and get my money back", "cancel my flight, a refund please")
    )
    assert (first.returncode, first.stderr, second.returncode, second.stderr) == (0, "", 0, "")
    with closing(sqlite3.connect(file)) as records:
        assert records.execute("SELECT status FROM booking WHERE code = 'MA2F8K'").fetchone() == ("refunded",)
        assert records.execute("SELECT kind, cents FROM payment WHERE cents < 0").fetchall() == [("refund", -42000)]
    assert "A refund of 420.00 USD is initiated." in first.stdout
    assert "Nothing was done. Flight 1919 is refunded already." in second.stdout


def test_the_python_in_its_readme_prints_what_stands_below_it(capsys: pytest.CaptureFixture[str]) -> None:
    readme = ROOT / "examples" / "airline" / "README.md"
    [snippet] = blocks(readme, "python")
    exec(snippet, {})
    assert f"```python\n{snippet}```\n\n```text\n{capsys.readouterr().out}```" in readme.read_text(encoding="utf-8")
