"""Step 1: a routine, that is instructions in steps and functions to take them with, in a loop written by hand.

Run it: `python -m examples.routines.step1_routine`. Ctrl-D ends it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from swarm import Swarm
from swarm.util import function_to_schema

# Only its client is used here. OpenAI(), ChatClient(), OfflineModel(): anything with chat.completions.create will do.
swarm = Swarm()

ROUTINE = """You are a customer service agent of ACME Inc. Answer in one sentence at most. Follow this routine:
1. Ask questions until you understand the customer's problem, unless the customer has told you the reason already.
2. Propose a fix. Make one up.
3. Offer a refund only if the customer is not satisfied with the fix.
4. If the customer accepts: look up the id of the item, then execute the refund."""


def look_up_item(search_query: str) -> str:
    """Find the id of an item that was bought.

    Args:
        search_query: What the item is: a description, or key words.
    """
    item_id = "item_132612938"
    print("Found item:", item_id)
    return item_id


def execute_refund(item_id: str, reason: str = "not provided") -> str:
    """Refund an item.

    Args:
        item_id: The id of the item, such as item_99.
        reason: Why the customer wants the money back.
    """
    print(f"Refunding {item_id}, reason: {reason}")
    return "success"


TOOLS: dict[str, Callable[..., str]] = {"execute_refund": execute_refund, "look_up_item": look_up_item}


def run_full_turn(system_message: str, tools: dict[str, Callable[..., str]], messages: list[Any]) -> None:
    """Ask the model until it calls no function any more. Each message is put at the end of `messages`."""
    schemas = [function_to_schema(function) for function in tools.values()]
    while True:
        completion = swarm.client.chat.completions.create(
            model=os.environ.get("SWARM_MODEL", "gpt-4o"),
            messages=[{"role": "system", "content": system_message}, *messages],
            tools=schemas,
        )
        message = completion.choices[0].message
        messages.append(message)
        if message.content:
            print("Assistant:", message.content)
        if not message.tool_calls:
            return
        for call in message.tool_calls:
            arguments = json.loads(call.function.arguments)
            print(f"Assistant: {call.function.name}({arguments})")
            result = tools[call.function.name](**arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


if __name__ == "__main__":
    history: list[Any] = []
    while True:
        try:
            history.append({"role": "user", "content": input("User: ")})
        except EOFError:
            break
        run_full_turn(ROUTINE, TOOLS, history)
