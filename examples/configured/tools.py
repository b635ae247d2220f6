"""What the desk's agents can do, on a list of loans in memory."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from swarm import Result, tool

LOANS = {"momo": date(2027, 3, 1), "dune": date(2027, 2, 14)}
"""When each book is due that is out, at the beginning."""
OWED = 12.5
"""What the reader owes at the beginning, in euros."""


def _due(context: dict[str, Any], book: str) -> date | None:
    known = {**LOANS, **{name: date.fromisoformat(day) for name, day in context.get("renewed", {}).items()}}
    return known.get(book.strip().lower())


@tool(examples=["when do I have to bring back Momo?", "until when may I keep this book?"])
def due_date(context_variables: dict[str, Any], book: str) -> str:
    """Say when a book is due.

    Args:
        book: The title of the book.
    """
    due = _due(context_variables, book)
    return f"{book} is due on {due}." if due else f"{book} is not out on this card."


@tool(effect="once", examples=["can I keep Momo longer?", "renew my book please"])
def renew(context_variables: dict[str, Any], book: str, weeks: int = 2) -> Any:
    """Renew a book.

    Args:
        book: The title of the book.
        weeks: For how many weeks.
    """
    due = _due(context_variables, book)
    if due is None:
        return f"{book} is not out on this card."
    later = due + timedelta(weeks=weeks)
    renewed = {**context_variables.get("renewed", {}), book.strip().lower(): later.isoformat()}
    return Result(value=f"{book} is due on {later} now.", context_variables={"renewed": renewed})


@tool(examples=["what do I owe?", "do I have to pay something?"])
def fees_of_reader(context_variables: dict[str, Any]) -> str:
    """Say what the reader owes."""
    return f"There are {context_variables.get('owed', OWED):.2f} euros to pay."


@tool(effect="once", examples=["please take the fee off my card", "I don't want to pay that fee"])
def waive_fee(context_variables: dict[str, Any], euros: float) -> Any:
    """Take a fee off the reader's card. For librarians.

    Args:
        euros: How much is waived.
    """
    owed = max(context_variables.get("owed", OWED) - euros, 0)
    return Result(value=f"Done. {owed:.2f} euros are left to pay.", context_variables={"owed": owed})
