"""Our agents for every scenario, with the functions of either mode."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle

from benchmarks.scenarios import DESK, IN_PROCESS, PING, PONG, QUESTION, TELLER, Message, setting
from benchmarks.wire import message_of
from swarm import Agent
from swarm.effects import Reply


def agent_for(scenario: str, is_async: bool) -> Agent:
    """The agent that begins."""
    if scenario == "handoff":
        weather = setting("tool", is_async)
        return Agent(
            name="Front desk", instructions=DESK, handoffs=[Agent(name="Weather", instructions=TELLER, functions=weather.functions)]
        )
    if scenario == "pingpong":
        ping = Agent(name="Ping", instructions=PING)
        ping.handoffs.append(Agent(name="Pong", instructions=PONG, handoffs=[ping]))
        return ping
    instructions, functions, _ = setting(scenario, is_async)
    return Agent(instructions=instructions, functions=functions)


def messages_for(scenario: str) -> list[Message]:
    return [*setting(scenario, False).history, {"role": "user", "content": QUESTION}]


def replies() -> Iterator[Reply]:
    """The turns of a model in this process, over and over."""
    return cycle(
        [
            Reply(message_of(number, turn), finish_reason="tool_calls" if turn.calls else "stop")
            for number, turn in enumerate(IN_PROCESS.turns)
        ]
    )
