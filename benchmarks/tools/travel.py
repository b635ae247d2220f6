"""Twenty-five functions of a travel agency, for an agent with many tools: real signatures, documented, of many types.

Annotations are objects, not strings: some libraries read them as they stand.
"""

from typing import Literal


def search_flights(
    origin: str, destination: str, date: str, passengers: int = 1, cabin: Literal["economy", "business", "first"] = "economy"
) -> str:
    """Search for flights between two airports.

    Args:
        origin: IATA code of the airport of departure.
        destination: IATA code of the airport of arrival.
        date: Day of departure as YYYY-MM-DD.
        passengers: How many travel.
        cabin: Cabin class.
    """
    return f"search_flights {origin} {destination} {date} {passengers} {cabin}"


def book_flight(flight_number: str, passenger: str, seat: str | None = None) -> str:
    """Book a seat on a flight.

    Args:
        flight_number: Number of the flight, such as FI204.
        passenger: Name as in the passport.
        seat: A seat, such as 14C, or none for any.
    """
    return f"book_flight {flight_number} {passenger} {seat}"


def cancel_flight(booking: str, refund: Literal["money", "credits"] = "money") -> str:
    """Cancel a booking.

    Args:
        booking: Reference of six letters.
        refund: How it is paid back.
    """
    return f"cancel_flight {booking} {refund}"


def change_flight(booking: str, flight_number: str, pay_difference: bool = False) -> str:
    """Move a booking to another flight.

    Args:
        booking: Reference of six letters.
        flight_number: Number of the new flight.
        pay_difference: Whether a higher fare may be charged.
    """
    return f"change_flight {booking} {flight_number} {pay_difference}"


def flight_status(flight_number: str, date: str | None = None) -> str:
    """Say whether a flight is on time.

    Args:
        flight_number: Number of the flight.
        date: Day of departure, or none for today.
    """
    return f"flight_status {flight_number} {date}"


def choose_seat(booking: str, row: int, letter: str) -> str:
    """Choose a seat for a booking.

    Args:
        booking: Reference of six letters.
        row: Row of the seat.
        letter: Letter of the seat.
    """
    return f"choose_seat {booking} {row} {letter}"


def add_baggage(booking: str, pieces: int, weights: list[float]) -> str:
    """Add pieces of baggage to a booking.

    Args:
        booking: Reference of six letters.
        pieces: How many pieces.
        weights: Weight of each in kilograms.
    """
    return f"add_baggage {booking} {pieces} {weights}"


def find_baggage(tag: str, color: str, contents: list[str]) -> str:
    """Search for baggage that did not arrive.

    Args:
        tag: Number on the baggage tag.
        color: Color of the piece.
        contents: What is inside.
    """
    return f"find_baggage {tag} {color} {contents}"


def search_hotels(town: str, arrival: str, nights: int, guests: int = 2, stars: int | None = None) -> str:
    """Search for hotels in a town.

    Args:
        town: Name of the town.
        arrival: First night as YYYY-MM-DD.
        nights: How many nights.
        guests: How many guests.
        stars: At least so many stars.
    """
    return f"search_hotels {town} {arrival} {nights} {guests} {stars}"


def book_hotel(hotel: str, room: Literal["single", "double", "suite"], guest: str, breakfast: bool = True) -> str:
    """Book a room.

    Args:
        hotel: Identifier of the hotel.
        room: Kind of room.
        guest: Name of the guest.
        breakfast: Whether breakfast is included.
    """
    return f"book_hotel {hotel} {room} {guest} {breakfast}"


def cancel_hotel(reservation: str, reason: str = "not given") -> str:
    """Cancel a room.

    Args:
        reservation: Number of the reservation.
        reason: Why.
    """
    return f"cancel_hotel {reservation} {reason}"


def rent_car(town: str, start: str, days: int, size: Literal["small", "medium", "van"] = "small", automatic: bool = False) -> str:
    """Rent a car.

    Args:
        town: Where it is picked up.
        start: First day as YYYY-MM-DD.
        days: How many days.
        size: Size of the car.
        automatic: Whether it shifts by itself.
    """
    return f"rent_car {town} {start} {days} {size} {automatic}"


def search_trains(origin: str, destination: str, after: str = "00:00", changes: int = 3) -> str:
    """Search for trains.

    Args:
        origin: Station of departure.
        destination: Station of arrival.
        after: Earliest time as HH:MM.
        changes: At most so many changes.
    """
    return f"search_trains {origin} {destination} {after} {changes}"


def buy_train_ticket(train: str, travellers: list[str], first_class: bool = False) -> str:
    """Buy a ticket for a train.

    Args:
        train: Number of the train.
        travellers: Names of the travellers.
        first_class: Whether in first class.
    """
    return f"buy_train_ticket {train} {travellers} {first_class}"


def call_taxi(address: str, minutes: int = 0, seats: int = 4) -> str:
    """Send a taxi.

    Args:
        address: Where it comes to.
        minutes: In how many minutes.
        seats: How many seats.
    """
    return f"call_taxi {address} {minutes} {seats}"


def travel_time(origin: str, destination: str, mode: Literal["walk", "bike", "car", "transit"] = "car") -> str:
    """Estimate how long a way takes.

    Args:
        origin: Where it begins.
        destination: Where it ends.
        mode: How one travels.
    """
    return f"travel_time {origin} {destination} {mode}"


def find_restaurants(town: str, kitchen: str | None = None, max_price: float = 50.0, open_now: bool = True) -> str:
    """Search for restaurants.

    Args:
        town: Name of the town.
        kitchen: Kind of kitchen.
        max_price: Most that a meal may cost.
        open_now: Whether it must be open.
    """
    return f"find_restaurants {town} {kitchen} {max_price} {open_now}"


def reserve_table(restaurant: str, time: str, people: int, wishes: list[str] | None = None) -> str:
    """Reserve a table.

    Args:
        restaurant: Identifier of the restaurant.
        time: When, as YYYY-MM-DD HH:MM.
        people: How many come.
        wishes: What else is wanted.
    """
    return f"reserve_table {restaurant} {time} {people} {wishes}"


def local_weather(town: str, days: int = 1, unit: Literal["celsius", "fahrenheit"] = "celsius") -> str:
    """Say what the weather will be.

    Args:
        town: Name of the town.
        days: For how many days.
        unit: Unit of temperature.
    """
    return f"local_weather {town} {days} {unit}"


def convert_money(amount: float, source: str, target: str) -> str:
    """Convert an amount of money.

    Args:
        amount: How much.
        source: Currency it is in, such as EUR.
        target: Currency that is wanted.
    """
    return f"convert_money {amount} {source} {target}"


def visa_rules(passport: str, destination: str, days: int = 30) -> str:
    """Say whether a visa is needed.

    Args:
        passport: Country of the passport.
        destination: Country that is visited.
        days: How many days.
    """
    return f"visa_rules {passport} {destination} {days}"


def travel_insurance(country: str, days: int, ages: list[int], sports: bool = False) -> str:
    """Offer an insurance for a trip.

    Args:
        country: Where the trip goes.
        days: How many days.
        ages: Age of each traveller.
        sports: Whether sports are covered.
    """
    return f"travel_insurance {country} {days} {ages} {sports}"


def find_events(town: str, date: str, kinds: list[str] | None = None) -> str:
    """Search for events.

    Args:
        town: Name of the town.
        date: Day as YYYY-MM-DD.
        kinds: Kinds of event, or none for all.
    """
    return f"find_events {town} {date} {kinds}"


def buy_event_ticket(event: str, count: int, category: Literal["standing", "seated", "box"] = "seated") -> str:
    """Buy tickets for an event.

    Args:
        event: Identifier of the event.
        count: How many.
        category: Where.
    """
    return f"buy_event_ticket {event} {count} {category}"


def plan_route(places: list[str], mode: Literal["walk", "bike", "car"] = "car", avoid_tolls: bool = False) -> str:
    """Plan a way through several places.

    Args:
        places: Places in the order they are visited.
        mode: How one travels.
        avoid_tolls: Whether roads with tolls are left out.
    """
    return f"plan_route {places} {mode} {avoid_tolls}"


TRAVEL = [
    search_flights,
    book_flight,
    cancel_flight,
    change_flight,
    flight_status,
    choose_seat,
    add_baggage,
    find_baggage,
    search_hotels,
    book_hotel,
    cancel_hotel,
    rent_car,
    search_trains,
    buy_train_ticket,
    call_taxi,
    travel_time,
    find_restaurants,
    reserve_table,
    local_weather,
    convert_money,
    visa_rules,
    travel_insurance,
    find_events,
    buy_event_ticket,
    plan_route,
]
