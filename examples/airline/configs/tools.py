"""What the airline's agents can do. Each function reads and changes the booking in the context variables, so nothing is done twice."""

from __future__ import annotations

from typing import Any

from swarm import tool

from ..data.sample import booking_of

Context = dict[str, Any]


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
    booking = booking_of(context_variables)
    if not booking["changeable"]:
        return f"The fare of flight {booking['flight']} does not allow changes."
    other = booking["day_earlier"]
    return (
        f"Flight {booking['flight']} may be changed. One day earlier: flight {other['flight']}, {other['departure']}, "
        f"{other['free_seats']} seats free, fare difference {other['fare_difference']}."
    )


@tool(examples=["the earlier one is good, take it", "I agree to pay the extra, please put me on that plane", "okay, do it"])
def change_flight(context_variables: Context | None = None) -> str:
    """Book the other flight that was offered. Only once the customer has agreed to it and to its price."""
    booking = booking_of(context_variables)
    other = booking["day_earlier"]
    if booking["status"] != "booked":
        return _nothing_done(booking)
    if not booking["changeable"] or not other["free_seats"]:
        return "Nothing was changed: the fare does not allow it." if not booking["changeable"] else "Nothing was changed: no seat is free."
    booking["status"] = "changed"
    return f"The flight is changed to {other['flight']}, {other['departure']}."


@tool(examples=["pay it back to me", "I want the money, no credits"])
def initiate_refund(context_variables: Context | None = None) -> str:
    """Refund the cancelled flight. For customers who want their money back."""
    booking = booking_of(context_variables)
    if booking["status"] != "booked":
        return _nothing_done(booking)
    booking["status"] = "refunded"
    return f"A refund of {booking['paid']} is initiated. It arrives within 3 to 5 business days."


@tool(examples=["give me the credits", "I'll take the voucher", "I will use it for another trip"])
def initiate_flight_credits(context_variables: Context | None = None) -> str:
    """Give flight credits for the cancelled flight. For customers who want credits or a voucher instead of money."""
    booking = booking_of(context_variables)
    if booking["status"] != "booked":
        return _nothing_done(booking)
    booking["status"] = "credited"
    return f"Flight credits of {booking['paid']} are initiated. They are available in 15 minutes."


@tool(examples=["nothing more, goodbye", "that solves it, thanks", "it has arrived, all is well"])
def case_resolved() -> str:
    """Close the case. When it is resolved and the customer needs nothing else."""
    return "The case is closed. Have a good flight."


@tool(examples=["my backpack did not come out on the belt", "please find my luggage", "they lost my trunk"])
def initiate_baggage_search(context_variables: Context | None = None) -> str:
    """Search for the lost bag."""
    found_at = booking_of(context_variables)["bag_found_at"]
    return f"The bag is found, at {found_at}." if found_at else "The bag is not found."


def _nothing_done(booking: Context) -> str:
    return f"Nothing was done: flight {booking['flight']} is {booking['status']} already."
