"""What the airline's agents can do. Each function looks up and changes the records of the customer whom the context variables name.

`initiate_refund` and its like are no `effect="once"`, before which the offline model would ask back: that a booking is paid back once is
the database's to hold, so it holds whatever the model does, and in the next conversation too.
"""

from __future__ import annotations

from typing import Any, Literal

from swarm import tool

from ..data.database import Airline, Booking, Declined
from ..data.sample import CUSTOMER, at, flight_text, in_dollars

Context = dict[str, Any]


def about(context_variables: Context | None) -> tuple[Airline, str, str]:
    """The records, the customer's number and the booking that a conversation is about. What the context variables lack is put into them.

    Raises:
        Declined: there is no such customer, or they have no booking.
    """
    context = {} if context_variables is None else context_variables
    airline: Airline = context.get("airline") or context.setdefault("airline", Airline())
    customer = airline.customer(context.setdefault("customer", CUSTOMER)).number
    return airline, customer, context.get("booking") or context.setdefault("booking", airline.next_booking(customer).code)


def retell(context_variables: Context | None, booking: Booking) -> None:
    """Tell the agents what the flight is now, since their instructions say what it was."""
    if context_variables is not None:
        context_variables["flight_context"] = flight_text(booking)


def give_back(context_variables: Context | None, kind: Literal["refund", "credits"], told: str) -> str:
    """Cancel the flight, and say with `told` how much is given back."""
    try:
        airline, customer, code = about(context_variables)
        cents = airline.give_back(customer, code, kind)
    except Declined as why:
        return f"Nothing was done. {why}"
    retell(context_variables, airline.booking(customer, code))
    return told.format(in_dollars(cents))


@tool(
    examples=[
        "I'd like to talk to one of your staff",
        "you are no help at all, connect me with someone",
        "is there anybody at the desk I can call?",
    ]
)
def escalate_to_agent(reason: str | None = None) -> str:
    """Get a human agent. For customers who want one, and where the policy says so.

    Args:
        reason: Why a human is needed.
    """
    return f"A human agent takes over now. Reason: {reason}." if reason else "A human agent takes over now."


@tool(examples=["can this booking be moved?", "I have to fly on another day because I am ill", "does my fare permit a new date?"])
def valid_to_change_flight(context_variables: Context | None = None) -> str:
    """Check whether the flight may be changed. Also tells what there is one day earlier."""
    try:
        airline, customer, code = about(context_variables)
        booking = airline.changeable(customer, code)
    except Declined as why:
        return str(why)
    other = airline.day_earlier(booking)
    if other is None:
        return f"Flight {booking.flight} may be changed, but there is no flight one day earlier."
    return (
        f"Flight {booking.flight} may be changed. One day earlier: flight {other.flight}, {at(other.departure)}, "
        f"{other.free_seats} seats free, fare difference {in_dollars(other.difference)}."
    )


@tool(
    examples=[
        "the earlier one is good, take it",
        "I agree to pay the extra, please put me on that plane",
        "okay, do it",
        "yes, please book that one for me",
    ]
)
def change_flight(context_variables: Context | None = None) -> str:
    """Book the other flight that was offered. Only once the customer has agreed to it and to its price."""
    try:
        airline, customer, code = about(context_variables)
        booking = airline.change(customer, code)
    except Declined as why:
        return f"Nothing was changed. {why}"
    retell(context_variables, booking)
    return f"The flight is changed to {booking.flight}, {at(booking.departure)}, seat {booking.seat}."


@tool(examples=["pay it back to me", "I want the money, no credits"])
def initiate_refund(context_variables: Context | None = None) -> str:
    """Refund the cancelled flight. For customers who want their money back."""
    return give_back(context_variables, "refund", "A refund of {} is initiated. It arrives within 3 to 5 business days.")


@tool(examples=["give me the credits", "I'll take the voucher", "I will use it for another trip"])
def initiate_flight_credits(context_variables: Context | None = None) -> str:
    """Give flight credits for the cancelled flight. For customers who want credits or a voucher instead of money."""
    return give_back(context_variables, "credits", "Flight credits of {} are initiated. They are available in 15 minutes.")


@tool(examples=["nothing more, goodbye", "that solves it, thanks", "it has arrived, all is well"])
def case_resolved() -> str:
    """Close the case. When it is resolved and the customer needs nothing else."""
    return "The case is closed. Have a good flight."


@tool(examples=["my backpack did not come out on the belt", "please find my luggage", "they lost my trunk"])
def initiate_baggage_search(context_variables: Context | None = None) -> str:
    """Search for the lost bag."""
    try:
        airline, customer, _ = about(context_variables)
    except Declined as why:
        return f"The bag is not found. {why}"
    bag = airline.search_bag(customer)
    if bag is None:
        return "The bag is not found. No bag of this customer's is missing in our records."
    if bag.place is None:
        return f"The bag is not found. The search for bag {bag.tag} goes on."
    return f"The bag is found, at {bag.place}. It will be delivered to {bag.address}."
