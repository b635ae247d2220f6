"""An agent that knows the weather and sends mail. Both functions are stand-ins: the weather is always the same, no mail leaves."""

from __future__ import annotations

import json

from swarm import Agent, tool


@tool(
    examples=[
        "how is the weather in Rome?",
        "will it rain in Denver tonight?",
        "do I need a warm coat in Vienna on Monday",
        "how cold does it get in Quito",
        "and how about Madrid next week?",
    ]
)
def get_weather(location: str, time: str = "now") -> str:
    """Get the weather at a location.

    Args:
        location: The city.
        time: The day or hour it is wanted for.
    """
    return json.dumps({"location": location, "temperature": "65", "time": time})


@tool(
    examples=[
        "write to kim@example.net that dinner is at eight",
        "lee@example.net should get an e-mail about the rent, it is due on Monday",
    ]
)
def send_email(recipient: str, subject: str, body: str) -> str:
    """Send an e-mail.

    Args:
        recipient: The e-mail address it goes to.
        subject: The subject line.
        body: The text of the e-mail.
    """
    return f"The e-mail {subject!r} to {recipient} is sent."


weather_agent = Agent(
    name="Weather Agent",
    instructions="You tell the weather and send e-mails. Call a function only if the user asks for what it does.",
    functions=[get_weather, send_email],
)
agents = [weather_agent]
