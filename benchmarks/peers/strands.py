"""strands-agents, without the handler that prints. An agent holds one conversation, so each has one of its own.

It always streams, and it asks an agent that has handed over once more before the next one begins.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import cycle
from typing import Any

from openai import AsyncOpenAI
from strands import Agent, tool
from strands.models import Model
from strands.models.openai import OpenAIModel
from strands.multiagent import Swarm

from benchmarks.scenarios import (
    DESK,
    HANDOFFS,
    IN_PROCESS,
    PING,
    PONG,
    QUESTION,
    TELLER,
    TIMEOUT,
    Dialect,
    Message,
    get_weather_async,
    setting,
)
from benchmarks.wire import message_of

DISTRIBUTION = "strands-agents"
IMPORT = "from strands import Agent; from strands.models.openai import OpenAIModel"
IS_ASYNC = True
DIALECT = Dialect(
    {name: ("handoff_to_agent", {"agent_name": name.lower(), "message": QUESTION}) for name in ("Weather", "Ping", "Pong")}, farewell=True
)
CANNOT: dict[str, str] = {}


class Scripted(Model):
    """Answers in no time."""

    def __init__(self) -> None:
        self.replies = cycle([list(events(message_of(number, turn))) for number, turn in enumerate(IN_PROCESS.turns)])

    def update_config(self, **config: Any) -> None: ...

    def get_config(self) -> dict[str, Any]:
        return {}

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    async def stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        for event in next(self.replies):
            yield event


def events(message: Message) -> list[Any]:
    found: list[Any] = [{"messageStart": {"role": "assistant"}}]
    for call in message.get("tool_calls", []):
        found.append({"contentBlockStart": {"start": {"toolUse": {"name": call["function"]["name"], "toolUseId": call["id"]}}}})
        found += [{"contentBlockDelta": {"delta": {"toolUse": {"input": call["function"]["arguments"]}}}}, {"contentBlockStop": {}}]
    if message["content"]:
        found += [
            {"contentBlockStart": {"start": {}}},
            {"contentBlockDelta": {"delta": {"text": message["content"]}}},
            {"contentBlockStop": {}},
        ]
    return [*found, {"messageStop": {"stopReason": "tool_use" if message.get("tool_calls") else "end_turn"}}]


def model(base: str) -> Model:
    return OpenAIModel(AsyncOpenAI(base_url=base, api_key="benchmark", max_retries=0, timeout=TIMEOUT), model_id="gpt-4o")


def team_for(scenario: str, model: Model) -> Swarm:
    def member(name: str, instructions: str, tools: list[Any] | None = None) -> Agent:
        return Agent(model, name=name, system_prompt=instructions, tools=tools, callback_handler=None)

    if scenario == "handoff":
        return Swarm([member("desk", DESK), member("weather", TELLER, [tool(get_weather_async)])])
    return Swarm([member("ping", PING), member("pong", PONG)], max_handoffs=2 * HANDOFFS, max_iterations=2 * HANDOFFS)


def text_of(result: Any) -> str:
    return result.message["content"][0]["text"]


def conversation(scenario: str, base: str) -> Callable[[], Awaitable[str]]:
    shared = Scripted() if scenario == "inprocess" else model(base)
    begin = setting(scenario, True)
    tools = [tool(function) for function in begin.functions]
    history = [{"role": message["role"], "content": [{"text": message["content"]}]} for message in begin.history]

    def make() -> Agent:
        return Agent(shared, list(history), tools, system_prompt=begin.instructions, callback_handler=None)

    async def stream() -> str:
        return "".join([event["data"] async for event in make().stream_async(QUESTION) if "data" in event])

    async def run() -> str:
        return text_of(await make().invoke_async(QUESTION))

    async def team() -> str:
        result = await team_for(scenario, shared).invoke_async(QUESTION)
        return text_of(result.results[result.node_history[-1].node_id].result)

    return stream if scenario == "stream" else team if scenario in ("handoff", "pingpong") else run


def agent(base: str) -> Callable[[], object]:
    shared = model(base)
    return lambda: Agent(shared, system_prompt=TELLER, tools=[tool(get_weather_async)], callback_handler=None)
