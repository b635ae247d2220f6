"""The five agents, and the functions by which they hand over to each other."""

from __future__ import annotations

from typing import Any

from swarm import Agent, tool

from ..routines.baggage import BAGGAGE_POLICY
from ..routines.cancel import CANCEL_POLICY
from ..routines.change import CHANGE_POLICY
from ..routines.starter import known, under_starter_prompt
from .tools import (
    case_resolved,
    change_flight,
    escalate_to_agent,
    initiate_baggage_search,
    initiate_flight_credits,
    initiate_refund,
    valid_to_change_flight,
)


@tool(examples=["I have to cancel my trip", "can I fly on a different day?", "give me a refund for my ticket", "book me on another plane"])
def transfer_to_flight_modification() -> Agent:
    """Hand over to the agent that cancels or changes flights."""
    return flight_modification


@tool(examples=["I don't want to fly any more", "please refund my ticket", "call off my trip"])
def transfer_to_flight_cancel() -> Agent:
    """Hand over to the agent that cancels flights."""
    return flight_cancel


@tool(examples=["can I take another plane?", "I need a different date", "put me on a later flight", "I want to travel on Monday"])
def transfer_to_flight_change() -> Agent:
    """Hand over to the agent that changes a flight to another date or time."""
    return flight_change


@tool(examples=["my luggage is missing", "the bag I checked in was not on the belt"])
def transfer_to_lost_baggage() -> Agent:
    """Hand over to the agent that finds lost baggage."""
    return lost_baggage


def transfer_to_triage() -> Agent:
    """Hand over to triage. For whatever is not handled by this agent and its policy."""
    return triage_agent


def triage_instructions(context_variables: dict[str, Any]) -> str:
    return f"""You are the first to talk to customers of Meadow Air. Find out what the request is about and hand over to the agent for it.
You need the topic only, not the details: as soon as you know it, call the function that hands over, without announcing it.
If you cannot tell the topic, ask one short question. If the customer only chats, answer in a sentence.

{known(context_variables)}"""


triage_agent = Agent(
    name="Triage Agent",
    description="Finds out what a request is about.",
    instructions=triage_instructions,
    functions=[transfer_to_flight_modification, transfer_to_lost_baggage],
)
flight_modification = Agent(
    name="Flight Modification Agent",
    description="Tells cancelling from changing.",
    instructions=(
        "You work for the customer service of Meadow Air. Find out whether the customer wants to cancel the flight or to change it, and "
        "hand over to the agent for it. If you cannot tell, ask. Do neither yourself."
    ),
    functions=[transfer_to_flight_cancel, transfer_to_flight_change],
)
flight_cancel = Agent(
    name="Flight Cancel Agent",
    description="Cancels flights, for a refund or for credits.",
    instructions=under_starter_prompt(CANCEL_POLICY),
    functions=[
        initiate_refund,
        initiate_flight_credits,
        escalate_to_agent,
        tool(transfer_to_triage, examples=["my bag is missing as well", "can I take another flight instead?"]),
        case_resolved,
    ],
)
flight_change = Agent(
    name="Flight Change Agent",
    description="Moves customers to another flight.",
    instructions=under_starter_prompt(CHANGE_POLICY),
    functions=[
        valid_to_change_flight,
        change_flight,
        escalate_to_agent,
        tool(transfer_to_triage, examples=["my bag is missing as well", "then cancel the flight instead", "I want my money back"]),
        case_resolved,
    ],
)
lost_baggage = Agent(
    name="Lost Baggage Agent",
    description="Finds lost baggage.",
    instructions=under_starter_prompt(BAGGAGE_POLICY),
    functions=[
        initiate_baggage_search,
        escalate_to_agent,
        tool(transfer_to_triage, examples=["I want to cancel a flight", "can you put me on another flight?"]),
        case_resolved,
    ],
)
agents = [triage_agent, flight_modification, flight_cancel, flight_change, lost_baggage]
