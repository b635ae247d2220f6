"""What the help center agent can do. Where things are kept comes from the environment, or from `home` among the context variables."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from swarm import RunInfo, tool
from swarm.errors import ConfigError, ToolError

from . import settings
from .desk import Desk
from .help_center import help_center
from .mail import checked_address, deliver

LONGEST_MESSAGE = 10_000
"""Characters of a mail or a ticket."""

NOTHING_FITS = "No article of the help center answers this. A ticket can be submitted, so that a person answers."

logger = logging.getLogger("support_bot")


def desk_of(context: dict[str, Any]) -> Desk:
    """The desk that a conversation uses."""
    return Desk(_home(context) / "desk.sqlite")


def _home(context: dict[str, Any]) -> Path:
    return Path(context["home"]) if context.get("home") else settings.home()


@tool(
    examples=[
        "how do I change my password?",
        "where can I see my bills?",
        "can I use it without internet?",
        "my notes are not the same on my phone",
        "I deleted a page by accident",
        "what does the bigger plan cost?",
    ]
)
def query_docs(query: str, context_variables: dict[str, Any]) -> str:
    """Search the help center's docs for the article that answers a question about Inkwharf.

    Args:
        query: The question, as the user put it.
    """
    try:
        hits = help_center(_home(context_variables), bool(context_variables.get("offline"))).search(query)
    except ConfigError as error:  # for whoever runs this; users cannot do anything about it
        logger.error("the help center cannot be searched: %s", error)
        raise ToolError("The help center cannot be searched at the moment. A ticket can be submitted.") from error
    if not hits:
        return NOTHING_FITS
    best, *others = (hit.article for hit in hits)
    answer = f"{best.title} (article {best.id}, {best.url}): {best.text}"
    near = "; ".join(f"{article.title} ({article.id})" for article in others)
    return f"{answer}\n\nOther articles that may fit: {near}" if near else answer


@tool(effect="once", examples=["please open a ticket", "I want somebody to look into this", "file a bug report: it crashes when I print"])
def submit_ticket(description: str, context_variables: dict[str, Any], run: RunInfo) -> str:
    """Submit a ticket to the support team, so that a person answers.

    Args:
        description: What the ticket shall say.
    """
    text = _text(description, "description")
    try:
        number = desk_of(context_variables).submit(text, run.idempotency_key)
    except ConfigError as error:
        logger.error("no ticket can be opened: %s", error)
        raise ToolError("No ticket can be opened at the moment.") from error
    return f"Ticket {number} is open. The support team answers within three working days."


@tool(effect="once", examples=["mail me that to ann@example.com", "send the steps to my address bo@example.org"])
def send_email(email_address: str, message: str, context_variables: dict[str, Any], run: RunInfo) -> str:
    """Send an e-mail to the user.

    Args:
        email_address: The user's e-mail address.
        message: What it shall say.
    """
    try:
        address = checked_address(email_address)
    except ValueError as error:
        raise ToolError(str(error)) from None
    desk, text = desk_of(context_variables), _text(message, "message")
    try:
        number = desk.queue(address, text, run.idempotency_key)
    except ConfigError as error:
        logger.error("no mail can be kept: %s", error)
        raise ToolError("No e-mail can be sent at the moment.") from error
    try:
        mail = deliver(desk, number)
    except ConfigError as error:
        logger.error("mail %d is not sent: %s", number, error)
        mail = desk.mail(number)._replace(reason="the mail server is set up wrongly")
    if mail.state == "sent":
        return f"The e-mail to {address} is sent."
    if mail.state == "refused":
        raise ToolError(f"The e-mail to {address} is not sent: {mail.reason}.")
    if mail.state == "unclear":
        return f"Nobody can say whether the e-mail to {address} arrives: {mail.reason}."
    return f"The e-mail to {address} is not sent yet. It waits in the outbox as number {number}: {mail.reason}."


def _text(given: str, what: str) -> str:
    text = given.strip()
    if not text or len(text) > LONGEST_MESSAGE:
        raise ToolError(f"the {what} must have between 1 and {LONGEST_MESSAGE:,} characters, not {len(text):,}")
    return text
