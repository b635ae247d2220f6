"""What a conversation begins with: who the customer is, and which flight it is about."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from .database import Airline, Booking, Customer

CUSTOMER = "40217"
"""The customer of a conversation that names none."""


def sample_context(customer: str = CUSTOMER, airline: Airline | None = None) -> dict[str, Any]:
    """Context variables for a conversation with a customer about their next flight.

    Args:
        customer: the customer's number.
        airline: the records. Without any, the conversation gets the sample in memory when a function first needs it, for itself alone.
    """
    records = airline or Airline()
    booking = records.next_booking(customer)
    context = {"customer": customer, "booking": booking.code}
    context |= {"customer_context": customer_text(records.customer(customer)), "flight_context": flight_text(booking)}
    return context if airline is None else {**context, "airline": airline}


def customer_text(customer: Customer) -> str:
    """What the agents are told of the customer."""
    lines = [f"Customer number: {customer.number}", f"Name: {customer.name}", f"Phone: {customer.phone}", f"E-mail: {customer.email}"]
    return "\n".join([*lines, f"Address: {customer.address}", f"Status: {customer.status}, customer since {customer.since}"])


def flight_text(booking: Booking) -> str:
    """What the agents are told of the flight."""
    if booking.status != "booked":
        return f"Flight {booking.flight}, Meadow Air, from {booking.origin} to {booking.destination}: {booking.status}"
    return f"""Flight {booking.flight}, Meadow Air, from {booking.origin} to {booking.destination}
Departure: {at(booking.departure)}, seat {booking.seat}
Paid: {in_dollars(booking.paid)}, by card"""


def at(departure: str) -> str:
    """ "2027-05-21 15:00" as "21 May 2027, 15:00"."""
    moment = datetime.fromisoformat(departure)
    return f"{moment.day} {moment:%B %Y, %H:%M}"


def in_dollars(cents: int) -> str:
    """42000 as "420.00 USD"."""
    return f"{'-' if cents < 0 else ''}{abs(cents) // 100:,}.{abs(cents) % 100:02} USD"
