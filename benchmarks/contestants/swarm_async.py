"""Ours, async, with async tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from benchmarks.contestants.agents import agent_for, messages_for, replies
from benchmarks.scenarios import TELLER, USUAL, get_weather_async
from swarm import Agent, AsyncSwarm, ChatClient
from swarm.effects import CallModel, Reply

DISTRIBUTION = "openswarm"
IMPORT = "from swarm import Agent, AsyncSwarm"
IS_ASYNC = True
DIALECT = USUAL
CANNOT: dict[str, str] = {}


class Model:
    """Answers in no time."""

    def __init__(self) -> None:
        self.replies = replies()

    async def complete(self, call: CallModel) -> Reply:
        return next(self.replies)

    def stream(self, call: CallModel) -> Any:
        raise NotImplementedError("no scenario streams in process")


def conversation(scenario: str, base: str) -> Callable[[], Awaitable[str]]:
    client = AsyncSwarm(Model() if scenario == "inprocess" else ChatClient(base, "benchmark"), parallel_tools=scenario == "parallel")
    agent, messages = agent_for(scenario, True), messages_for(scenario)

    async def run() -> str:
        if scenario == "stream":
            return "".join([piece.get("content") or "" async for piece in client.run(agent, messages, stream=True)])
        return (await client.run(agent, messages)).messages[-1]["content"]

    return run


def agent(base: str) -> Callable[[], object]:
    return lambda: Agent(name="Weather", instructions=TELLER, functions=[get_weather_async])
