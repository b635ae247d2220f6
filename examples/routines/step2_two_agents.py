"""Step 2: two agents, each with a routine of its own. We say by hand who answers; the conversation goes on.

Run it: `python -m examples.routines.step2_two_agents`.
"""

from __future__ import annotations

import json
import os
from typing import Any

from swarm import Agent, Swarm
from swarm.util import function_to_schema

swarm = Swarm()


def execute_refund(item_name: str) -> str:
    """Refund an item.

    Args:
        item_name: What the item is called.
    """
    return f"{item_name} is refunded."


def place_order(item_name: str) -> str:
    """Order an item.

    Args:
        item_name: What the item is called.
    """
    return f"{item_name} is ordered."


refund_agent = Agent(name="Refund Agent", instructions="You help customers with refunds.", tools=[execute_refund])
sales_agent = Agent(name="Sales Agent", instructions="You sell our products.", tools=[place_order])


def run_full_turn(agent: Agent, messages: list[Any]) -> list[Any]:
    """Let one agent answer. Returns what is new."""
    tools = {function.__name__: function for function in agent.tools}
    new: list[Any] = []
    while True:
        completion = swarm.client.chat.completions.create(
            model=os.environ.get("SWARM_MODEL", agent.model),
            messages=[{"role": "system", "content": agent.instructions}, *messages, *new],
            tools=[function_to_schema(function) for function in tools.values()],
        )
        message = completion.choices[0].message
        new.append(message)
        if message.content:
            print(f"{agent.name}: {message.content}")
        if not message.tool_calls:
            return new
        for call in message.tool_calls:
            print(f"{agent.name}: {call.function.name}({call.function.arguments})")
            result = tools[call.function.name](**json.loads(call.function.arguments))
            new.append({"role": "tool", "tool_call_id": call.id, "content": result})


if __name__ == "__main__":
    history: list[Any] = []
    for speaker, text in ((sales_agent, "I want to order the Black Boot."), (refund_agent, "No, I want a refund for the Black Boot.")):
        print("User:", text)
        history.append({"role": "user", "content": text})
        history.extend(run_full_turn(speaker, history))
