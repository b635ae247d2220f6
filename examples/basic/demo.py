"""All of this folder in one conversation, for `swarm demo basic`."""

from __future__ import annotations

from typing import Any

from swarm import Agent, tool

__all__ = ["about", "agent", "agents", "context_variables"]

about = "An English agent that knows the weather and your account, and hands Spanish speakers over."
context_variables: dict[str, Any] = {"name": "James", "user_id": 123}


def instructions(context_variables: dict[str, Any]) -> str:
    return f"You speak English and nothing else. Greet the user by name: {context_variables['name']}."


@tool(examples=["how warm is it in Rome?", "will it rain in Denver today"])
def get_weather(location: str) -> str:
    """Get the weather at a location."""
    return "{'temp':67, 'unit':'F'}"


@tool(examples=["what do you know about me?", "show me my profile"])
def print_account_details(context_variables: dict[str, Any]) -> str:
    """Show the user's account details."""
    return f"Account of {context_variables['name']}, user {context_variables['user_id']}."


@tool(examples=["buenos días, necesito ayuda", "¿hablas español?"])
def transfer_to_spanish_agent() -> Agent:
    """Hand over users who write in Spanish, at once."""
    return spanish_agent


spanish_agent = Agent(name="Spanish Agent", instructions="Hablas español y ninguna otra lengua.")
agent = Agent(name="English Agent", instructions=instructions, functions=[get_weather, print_account_details, transfer_to_spanish_agent])
agents = [agent, spanish_agent]
