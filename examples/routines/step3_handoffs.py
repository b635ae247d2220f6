"""Step 3: a function that returns an agent hands over to it. The loop by hand, and beside it the same in one `Swarm().run`.

Run it: `python -m examples.routines.step3_handoffs`.
"""

from __future__ import annotations

import json
import os
from typing import Any

from swarm import Agent, Handoff, Response, Result, Swarm
from swarm.util import function_to_schema

from .step2_two_agents import refund_agent, sales_agent

swarm = Swarm()


def transfer_to_sales_agent() -> Agent:
    """For anything about buying or ordering."""
    return sales_agent


def transfer_to_refund_agent() -> Agent:
    """For refunds and money back."""
    return refund_agent


triage_agent = Agent(
    name="Triage Agent",
    instructions="Find out what the customer wants, and hand over to the right agent.",
    tools=[transfer_to_sales_agent, transfer_to_refund_agent],
)


def adopt(agent: Agent) -> Result:
    """A handoff whose tool message tells the model that it is somebody else now."""
    return Result(value=f"Transfered to {agent.name}. Adopt persona immediately.", agent=agent)


def run_full_turn(agent: Agent, messages: list[Any]) -> Response:
    """Let an agent, and whoever it hands over to, answer. Returns what is new and who is active now."""
    new: list[Any] = []
    while True:
        tools = {function.__name__: function for function in agent.tools}
        completion = swarm.client.chat.completions.create(
            model=os.environ.get("SWARM_MODEL", agent.model),
            messages=[{"role": "system", "content": agent.instructions}, *messages, *new],
            tools=[function_to_schema(function) for function in tools.values()],
        )
        message = completion.choices[0].message
        new.append(message.model_dump(exclude_unset=True))
        if not message.tool_calls:
            return Response(messages=new, agent=agent)
        for call in message.tool_calls:
            result = tools[call.function.name](**json.loads(call.function.arguments))
            if isinstance(result, Agent):
                result = adopt(result)
            if isinstance(result, Result):
                agent, result = result.agent or agent, result.value
            new.append({"role": "tool", "tool_call_id": call.id, "content": result})


def run_with_swarm(agent: Agent, messages: list[Any]) -> Response:
    """The same, and more: checked arguments, errors told to the model, limits, streams."""
    return swarm.run(agent, messages)


# Handoffs need no functions of their own either. This agent is offered the same two, and its handoffs say the same.
short_triage_agent = Agent(
    name="Triage Agent",
    instructions=triage_agent.instructions,
    handoffs=[
        Handoff(sales_agent, description="For anything about buying or ordering.", message=adopt(sales_agent).value),
        Handoff(refund_agent, description="For refunds and money back.", message=adopt(refund_agent).value),
    ],
)


def show(title: str, response: Response) -> None:
    """Print what is new in a response."""
    print(f"--- {title}")
    for message in response.messages:
        calls: list[Any] = message.get("tool_calls") or []
        for call in calls:
            print(f"call: {call['function']['name']}({call['function']['arguments']})")
        if message.get("content"):
            print(f"{message['role']}: {message['content']}")


if __name__ == "__main__":
    question = [{"role": "user", "content": "I want a refund for the Black Boot."}]
    show("by hand", run_full_turn(triage_agent, question))
    show("with Swarm", run_with_swarm(triage_agent, question))
    show("with Swarm and Handoff(message=...)", run_with_swarm(short_triage_agent, question))
