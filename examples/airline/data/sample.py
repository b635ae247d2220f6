"""One customer with one booking. Always the same, so that every conversation can be repeated."""

from __future__ import annotations

import copy
from typing import Any

CUSTOMER = """Customer number: 40217
Name: Ida Moreau
Phone: +1 617 555 0142
E-mail: ida.moreau@example.com
Address: 12 Harbor Street, Boston
Status: silver, customer since 2019"""

FLIGHT = """Flight 1919, Meadow Air, from Boston (BOS) to Lisbon (LIS)
Departure: 21 May 2027, 15:00, seat 14C
Paid: 420.00 USD, by card"""

BOOKING: dict[str, Any] = {
    "flight": "1919",
    "paid": "420.00 USD",
    "status": "booked",
    "changeable": True,
    "day_earlier": {"flight": "1917", "departure": "20 May 2027, 15:00", "free_seats": 3, "fare_difference": "40.00 USD"},
    "bag_found_at": "Lisbon airport",
}


def sample_context() -> dict[str, Any]:
    """Context variables for a conversation with this customer, fresh each time."""
    return {"customer_context": CUSTOMER, "flight_context": FLIGHT, "booking": copy.deepcopy(BOOKING)}


def booking_of(context_variables: dict[str, Any] | None) -> dict[str, Any]:
    """The booking that a conversation is about, which functions may change; the sample if it names none."""
    if context_variables is None:
        return copy.deepcopy(BOOKING)
    return context_variables.setdefault("booking", copy.deepcopy(BOOKING))
