"""pydantic-ai. It hands off with output functions that run the next agent, so each handoff is nested in the one before."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from itertools import cycle

from openai import AsyncOpenAI
from pydantic_ai import Agent, ToolOutput
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from benchmarks.scenarios import DESK, IN_PROCESS, PING, PONG, QUESTION, TELLER, TIMEOUT, USUAL, Message, get_weather_async, setting
from benchmarks.wire import message_of

DISTRIBUTION = "pydantic-ai-slim"
IMPORT = "from pydantic_ai import Agent; from pydantic_ai.models.openai import OpenAIChatModel"
IS_ASYNC = True
DIALECT = USUAL
CANNOT: dict[str, str] = {}


def model(base: str) -> Model:
    client = AsyncOpenAI(base_url=base, api_key="benchmark", max_retries=0, timeout=TIMEOUT)
    return OpenAIChatModel("gpt-4o", provider=OpenAIProvider(openai_client=client))


def scripted() -> Model:
    """Answers in no time."""
    responses = cycle([response(message_of(number, turn)) for number, turn in enumerate(IN_PROCESS.turns)])

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return next(responses)

    return FunctionModel(answer)


def response(message: Message) -> ModelResponse:
    calls = [
        ToolCallPart(call["function"]["name"], json.loads(call["function"]["arguments"]), call["id"])
        for call in message.get("tool_calls", [])
    ]
    return ModelResponse(parts=calls or [TextPart(message["content"])])


def transfer(model: Model, instructions: str, target: Callable[[], Agent]) -> Agent:
    """An agent that hands over to another."""

    async def hand_over() -> str:
        return (await target().run(QUESTION)).output

    name = "transfer_to_weather" if instructions == DESK else f"transfer_to_{'pong' if instructions == PING else 'ping'}"
    return Agent(model, instructions=instructions, output_type=[ToolOutput(hand_over, name=name), str])


def agent_for(scenario: str, model: Model) -> Agent:
    if scenario == "handoff":
        weather = Agent(model, instructions=TELLER, tools=[get_weather_async])
        return transfer(model, DESK, lambda: weather)
    if scenario == "pingpong":
        ping = transfer(model, PING, lambda: pong)
        pong = transfer(model, PONG, lambda: ping)
        return ping
    begin = setting(scenario, True)
    return Agent(model, instructions=begin.instructions, tools=begin.functions)


def history_for(scenario: str) -> list[ModelMessage]:
    return [
        ModelRequest(parts=[UserPromptPart(message["content"])])
        if message["role"] == "user"
        else ModelResponse(parts=[TextPart(message["content"])])
        for message in setting(scenario, True).history
    ]


def conversation(scenario: str, base: str) -> Callable[[], Awaitable[str]]:
    agent = agent_for(scenario, scripted() if scenario == "inprocess" else model(base))
    history = history_for(scenario)

    async def stream() -> str:
        async with agent.run_stream(QUESTION) as result:
            return "".join([piece async for piece in result.stream_text(delta=True, debounce_by=None)])

    async def run() -> str:
        return (await agent.run(QUESTION, message_history=history)).output

    return stream if scenario == "stream" else run


def agent(base: str) -> Callable[[], object]:
    shared = model(base)
    return lambda: Agent(shared, instructions=TELLER, tools=[get_weather_async])
