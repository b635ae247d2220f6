"""The two agents: one that talks to users, one that knows the help center."""

from __future__ import annotations

from swarm import Agent, tool

from .tools import query_docs, send_email, submit_ticket


@tool(
    examples=[
        "how do I change my password?",
        "where can I see my bills?",
        "is it possible to draw in it?",
        "what does it cost?",
        "the program crashes all the time",
        "please open a ticket",
        "mail me that to ann@example.com",
    ]
)
def transfer_to_help_center() -> Agent:
    """Hand over to the help center: every question and problem with Inkwharf, tickets, and e-mails to the user."""
    return help_center_agent


user_interface_agent = Agent(
    name="User Interface Agent",
    description="Welcomes users.",
    instructions=(
        "You welcome the users of Inkwharf, a notebook that teams share. As soon as somebody has a question, a problem or a wish that "
        "concerns Inkwharf, hand over to the help center, without announcing it. Answer greetings and small talk yourself, in a sentence."
    ),
    functions=[transfer_to_help_center],
)
help_center_agent = Agent(
    name="Help Center Agent",
    description="Answers from the help center's articles.",
    instructions=(
        "You answer questions about Inkwharf. Search the docs for each question and answer only with what the articles say; name the "
        "article's address. If no article answers it, say so and offer to submit a ticket; do not guess. Submit a ticket or send an "
        "e-mail only when the user wants it, and say truly what came of it: a mail that waits in the outbox has not been sent."
    ),
    functions=[query_docs, submit_ticket, send_email],
)
agents = [user_interface_agent, help_center_agent]
