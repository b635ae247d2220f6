"""The airline's tools. Names, parameters and descriptions are the benchmark's; what they do was read off the recorded effects.

Some of it would surprise at a real airline, but is recorded so: a cancelled flight refunds no gift card, a booking takes no seat away, a
new cabin changes the price and not the reservation's `cabin`, a connection on the next day shows the seats of the day asked for.
"""

from __future__ import annotations

import json
from datetime import date as Date
from datetime import timedelta
from typing import Any, Literal, TypeAlias, get_args

from pydantic import BaseModel, Field

from swarm.errors import ToolError

from .arithmetic import calculate
from .database import Database, Record, database_in
from .people import transfer_to_human_agents

Cabin: TypeAlias = Literal["basic_economy", "economy", "business"]
Context: TypeAlias = dict[str, Any]

CABINS: tuple[str, ...] = get_args(Cabin)
NOW = "2024-05-15T15:00:00"
BAG, INSURANCE = 50, 30
NEW_RESERVATIONS = ("HATHAT", "HATHAU", "HATHAV")
NEW_CERTIFICATES = ("certificate_3221322", "certificate_3221323", "certificate_3221324")
CITIES = {
    "SFO": "San Francisco",
    "JFK": "New York",
    "LAX": "Los Angeles",
    "ORD": "Chicago",
    "DFW": "Dallas",
    "DEN": "Denver",
    "SEA": "Seattle",
    "ATL": "Atlanta",
    "MIA": "Miami",
    "BOS": "Boston",
    "PHX": "Phoenix",
    "IAH": "Houston",
    "LAS": "Las Vegas",
    "MCO": "Orlando",
    "EWR": "Newark",
    "CLT": "Charlotte",
    "MSP": "Minneapolis",
    "DTW": "Detroit",
    "PHL": "Philadelphia",
    "LGA": "LaGuardia",
}


class Leg(BaseModel):  # a docstring here would be sent to the model
    flight_number: str = Field(description="Flight number, such as 'HAT001'.")
    date: str = Field(description="The date for the flight in the format 'YYYY-MM-DD', such as '2024-05-01'.")


class Passenger(BaseModel):
    first_name: str = Field(description="The first name of the passenger, such as 'Noah'.")
    last_name: str = Field(description="The last name of the passenger, such as 'Brown'.")
    dob: str = Field(description="The date of birth of the passenger in the format 'YYYY-MM-DD', such as '1990-01-01'.")


class Payment(BaseModel):
    payment_id: str = Field(
        description="The payment id stored in user profile, such as 'credit_card_7815826', 'gift_card_7815826', 'certificate_7815826'."
    )
    amount: float = Field(description="The amount to be paid.")


# What is looked up


def get_user_details(user_id: str, context_variables: Context) -> Record:
    """Get the details of an user, including their reservations.

    Args:
        user_id: The user id, such as 'sara_doe_496'.
    """
    return _user(database_in(context_variables), user_id)


def get_reservation_details(reservation_id: str, context_variables: Context) -> Record:
    """Get the details of a reservation.

    Args:
        reservation_id: The reservation id, such as '8JX2WO'.
    """
    return _reservation(database_in(context_variables), reservation_id)


def list_all_airports() -> str:
    """List all airports and their cities."""
    return json.dumps(CITIES)


def search_direct_flight(origin: str, destination: str, date: str, context_variables: Context) -> str:
    """Search direct flights between two cities on a specific date.

    Args:
        origin: The origin city airport in three letters, such as 'JFK'.
        destination: The destination city airport in three letters, such as 'LAX'.
        date: The date of the flight in the format 'YYYY-MM-DD', such as '2024-01-01'.
    """
    flights = [flight for _, flight in database_in(context_variables).rows("flights")]
    offers = [_offer(flight, date) for flight in flights if (flight["origin"], flight["destination"]) == (origin, destination)]
    return json.dumps([offer for offer in offers if offer])


def search_onestop_flight(origin: str, destination: str, date: str, context_variables: Context) -> str:
    """Search direct flights between two cities on a specific date.

    Args:
        origin: The origin city airport in three letters, such as 'JFK'.
        destination: The destination city airport in three letters, such as 'LAX'.
        date: The date of the flight in the format 'YYYY-MM-DD', such as '2024-05-01'.
    """
    flights = [flight for _, flight in database_in(context_variables).rows("flights")]
    found: list[list[Record]] = []
    for first in flights:
        if first["origin"] != origin or not (offer := _offer(first, date)):
            continue
        arrival, over_night = first["scheduled_arrival_time_est"].removesuffix("+1"), "+1" in first["scheduled_arrival_time_est"]
        day = str(Date.fromisoformat(date) + timedelta(days=1)) if over_night else date
        for second in flights:
            if (second["origin"], second["destination"]) != (first["destination"], destination):
                continue
            if second["scheduled_departure_time_est"] >= arrival and (onward := _offer(second, date)):
                found.append([{**offer, "date": date}, {**onward, "date": day}])
    return json.dumps(found)


def think(thought: str) -> str:
    """Use the tool to think about something. It will not obtain new information or change the database, but just append the
    thought to the log. Use it when complex reasoning is needed.

    Args:
        thought: A thought to think about.
    """
    return ""


# What is changed


def book_reservation(
    user_id: str,
    origin: str,
    destination: str,
    flight_type: Literal["one_way", "round_trip"],
    cabin: Cabin,
    flights: list[Leg],
    passengers: list[Passenger],
    payment_methods: list[Payment],
    total_baggages: int,
    nonfree_baggages: int,
    insurance: Literal["yes", "no"],
    context_variables: Context,
) -> Record:
    """Book a reservation.

    Args:
        user_id: The ID of the user to book the reservation, such as 'sara_doe_496'.
        origin: The IATA code for the origin city, such as 'SFO'.
        destination: The IATA code for the destination city, such as 'JFK'.
        flights: An array of objects containing details about each piece of flight.
        passengers: An array of objects containing details about each passenger.
        payment_methods: An array of objects containing details about each payment method.
        total_baggages: The total number of baggage items included in the reservation.
        nonfree_baggages: The number of non-free baggage items included in the reservation.
    """
    database = database_in(context_variables)
    user = _user(database, user_id)
    legs = [_booked(database, leg, cabin, len(passengers)) for leg in flights]
    price = sum(leg["price"] for leg in legs) * len(passengers) + BAG * nonfree_baggages
    price += INSURANCE * len(passengers) if insurance == "yes" else 0
    payments: list[Record] = [{"payment_id": payment.payment_id, "amount": _whole(payment.amount)} for payment in payment_methods]
    _check_payments(user, payments, price)
    id = next((id for id in NEW_RESERVATIONS if database.find("reservations", id) is None), None)
    if id is None:
        raise ToolError("too many reservations")
    user = database.edit("users", user_id)
    user["reservations"].append(id)
    for payment in payments:
        if payment["payment_id"].startswith("certificate"):
            del user["payment_methods"][payment["payment_id"]]
        elif payment["payment_id"].startswith("gift_card"):
            user["payment_methods"][payment["payment_id"]]["amount"] -= payment["amount"]
    reservation: Record = {"reservation_id": id, "user_id": user_id, "origin": origin, "destination": destination}
    reservation |= {"flight_type": flight_type, "cabin": cabin, "flights": legs, "passengers": _plain(passengers)}
    reservation |= {"payment_history": payments, "created_at": NOW, "total_baggages": total_baggages}
    reservation |= {"nonfree_baggages": nonfree_baggages, "insurance": insurance}
    database.add("reservations", id, reservation)
    return reservation


def cancel_reservation(reservation_id: str, context_variables: Context) -> Record:
    """Cancel the whole reservation.

    Args:
        reservation_id: The reservation ID, such as 'ZFA04Y'.
    """
    database = database_in(context_variables)
    _reservation(database, reservation_id)
    reservation = database.edit("reservations", reservation_id)
    paid = reservation["payment_history"]
    paid += [{"payment_id": payment["payment_id"], "amount": -payment["amount"]} for payment in paid]
    reservation["status"] = "cancelled"
    return reservation


def update_reservation_flights(
    reservation_id: str, cabin: Cabin, flights: list[Leg], payment_id: str, context_variables: Context
) -> Record:
    """Update the flight information of a reservation.

    Args:
        reservation_id: The reservation ID, such as 'ZFA04Y'.
        flights: An array of objects containing details about each piece of flight in the ENTIRE new reservation. Even if the a
            flight segment is not changed, it should still be included in the array.
        payment_id: The payment id stored in user profile, such as 'credit_card_7815826', 'gift_card_7815826',
            'certificate_7815826'.
    """
    database = database_in(context_variables)
    reservation = _reservation(database, reservation_id)
    people = len(reservation["passengers"])
    kept = {(leg["flight_number"], leg["date"]): leg for leg in reservation["flights"]} if cabin == reservation["cabin"] else {}
    legs = [kept.get((leg.flight_number, leg.date)) or _booked(database, leg, cabin, people) for leg in flights]
    price = (sum(leg["price"] for leg in legs) - sum(leg["price"] for leg in reservation["flights"])) * people
    reservation = _paid_from(database, reservation, payment_id, price)
    reservation["flights"] = legs
    return reservation


def update_reservation_baggages(
    reservation_id: str, total_baggages: int, nonfree_baggages: int, payment_id: str, context_variables: Context
) -> Record:
    """Update the baggage information of a reservation.

    Args:
        reservation_id: The reservation ID, such as 'ZFA04Y'.
        total_baggages: The updated total number of baggage items included in the reservation.
        nonfree_baggages: The updated number of non-free baggage items included in the reservation.
        payment_id: The payment id stored in user profile, such as 'credit_card_7815826', 'gift_card_7815826',
            'certificate_7815826'.
    """
    database = database_in(context_variables)
    reservation = _reservation(database, reservation_id)
    price = BAG * max(0, nonfree_baggages - reservation["nonfree_baggages"])
    reservation = _paid_from(database, reservation, payment_id, price)
    reservation |= {"total_baggages": total_baggages, "nonfree_baggages": nonfree_baggages}
    return reservation


def update_reservation_passengers(reservation_id: str, passengers: list[Passenger], context_variables: Context) -> Record:
    """Update the passenger information of a reservation.

    Args:
        reservation_id: The reservation ID, such as 'ZFA04Y'.
        passengers: An array of objects containing details about each passenger.
    """
    database = database_in(context_variables)
    if len(_reservation(database, reservation_id)["passengers"]) != len(passengers):
        raise ToolError("number of passengers does not match")
    reservation = database.edit("reservations", reservation_id)
    reservation["passengers"] = _plain(passengers)
    return reservation


def send_certificate(user_id: str, amount: float, context_variables: Context) -> str:
    """Send a certificate to a user. Be careful!

    Args:
        user_id: The ID of the user to book the reservation, such as 'sara_doe_496'.
        amount: Certificate amount to send.
    """
    database = database_in(context_variables)
    methods = _user(database, user_id)["payment_methods"]
    id = next((id for id in NEW_CERTIFICATES if id not in methods), None)
    if id is None:
        raise ToolError("too many certificates")
    methods = database.edit("users", user_id)["payment_methods"]
    methods[id] = {"id": id, "source": "certificate", "amount": _whole(amount)}
    return f"Certificate {id} added to user {user_id} with amount {_whole(amount)}."


# Rules that several tools share


def _user(database: Database, id: str) -> Record:
    user = database.find("users", id)
    if user is None:
        raise ToolError("user not found")
    return user


def _reservation(database: Database, id: str) -> Record:
    reservation = database.find("reservations", id)
    if reservation is None:
        raise ToolError("reservation not found")
    return reservation


def _offer(flight: Record, date: str) -> Record | None:
    """What a search says of a flight on a day, or None if it cannot be booked."""
    day = flight["dates"].get(date)
    if day is None or day["status"] != "available":
        return None
    about = ("flight_number", "origin", "destination", "scheduled_departure_time_est", "scheduled_arrival_time_est")
    per_cabin = {name: {cabin: day[name][cabin] for cabin in CABINS} for name in ("available_seats", "prices")}
    return {**{name: flight[name] for name in about}, "status": day["status"], **per_cabin}


def _booked(database: Database, leg: Leg, cabin: Cabin, people: int) -> Record:
    flight = database.find("flights", leg.flight_number)
    if flight is None:
        raise ToolError(f"flight {leg.flight_number} not found")
    day = flight["dates"].get(leg.date)
    if day is None:
        raise ToolError(f"flight {leg.flight_number} not found on date {leg.date}")
    if day["status"] != "available":
        raise ToolError(f"flight {leg.flight_number} not available on date {leg.date}")
    if day["available_seats"][cabin] < people:
        raise ToolError(f"not enough seats on flight {leg.flight_number}")
    places = {"origin": flight["origin"], "destination": flight["destination"]}
    return {"flight_number": leg.flight_number, "date": leg.date, "price": day["prices"][cabin], **places}


def _check_payments(user: Record, payments: list[Record], price: int) -> None:
    for payment in payments:
        id, amount = payment["payment_id"], payment["amount"]
        method = user["payment_methods"].get(id)
        if method is None:
            raise ToolError(f"payment method {id} not found")
        if method.get("amount", amount) < amount:  # a credit card has no amount
            raise ToolError(f"not enough balance in payment method {id}")
    if (paid := sum(payment["amount"] for payment in payments)) != price:
        raise ToolError(f"payment amount does not add up, total price is {price}, but paid {paid}")


def _paid_from(database: Database, reservation: Record, payment_id: str, price: int) -> Record:
    """The reservation to change, once its owner has paid a price; a negative one is paid back.

    Raises:
        ToolError: the owner cannot pay so.
    """
    method = _user(database, reservation["user_id"])["payment_methods"].get(payment_id)
    if method is None:
        raise ToolError("payment method not found")
    if method["source"] == "certificate":
        raise ToolError("certificate cannot be used to update reservation")
    if method.get("amount", price) < price:
        raise ToolError("gift card balance is not enough")
    if price and method["source"] == "gift_card":
        database.edit("users", reservation["user_id"])["payment_methods"][payment_id]["amount"] -= price
    reservation = database.edit("reservations", reservation["reservation_id"])
    if price:
        reservation["payment_history"].append({"payment_id": payment_id, "amount": price})
    return reservation


def _plain(passengers: list[Passenger]) -> list[Record]:
    return [passenger.model_dump() for passenger in passengers]


def _whole(amount: float) -> float:
    """An amount as the database has it: 250, not 250.0."""
    return int(amount) if amount.is_integer() else amount


READS = (get_user_details, get_reservation_details, list_all_airports, search_direct_flight, search_onestop_flight)
WRITES = (
    book_reservation,
    cancel_reservation,
    update_reservation_flights,
    update_reservation_baggages,
    update_reservation_passengers,
    send_certificate,
)
BOTH = (calculate, think, transfer_to_human_agents)
