"""Context variables: what instructions and functions know of the user, and no model is told."""

from typing import Any

from swarm import Agent, Swarm

client = Swarm()


def instructions(context_variables: dict[str, Any]) -> str:
    return f"You look after accounts. Greet the user by name: {context_variables['name']}."


def print_account_details(context_variables: dict[str, Any]) -> str:
    """Show the user's account details."""
    print(f"Account of {context_variables['name']}, user {context_variables['user_id']}")
    return "The account details were shown."


agent = Agent(name="Agent", instructions=instructions, functions=[print_account_details])
context_variables = {"name": "James", "user_id": 123}

for text in ("Hi!", "Print my account details!"):
    response = client.run(agent=agent, messages=[{"role": "user", "content": text}], context_variables=context_variables)
    print(response.messages[-1]["content"])
