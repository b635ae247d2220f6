"""autogen-agentchat. An agent and a team hold one conversation, so each conversation has its own; tools and client are shared."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import TextMessageTermination
from autogen_agentchat.messages import ModelClientStreamingChunkEvent
from autogen_agentchat.teams import Swarm
from autogen_core import FunctionCall
from autogen_core.model_context import UnboundedChatCompletionContext
from autogen_core.models import AssistantMessage, ChatCompletionClient, CreateResult, RequestUsage, UserMessage
from autogen_core.tools import FunctionTool
from autogen_ext.models.openai import OpenAIChatCompletionClient
from autogen_ext.models.replay import ReplayChatCompletionClient

from benchmarks.scenarios import DESK, IN_PROCESS, PING, PONG, QUESTION, TELLER, TIMEOUT, USUAL, Turn, get_weather_async, setting
from benchmarks.wire import message_of

DISTRIBUTION = "autogen-agentchat"
IMPORT = "from autogen_agentchat.agents import AssistantAgent; from autogen_ext.models.openai import OpenAIChatCompletionClient"
IS_ASYNC = True
DIALECT = USUAL
CANNOT: dict[str, str] = {}
TURNS = 30


def scripted() -> ReplayChatCompletionClient:
    """Answers in no time."""
    info = {"vision": False, "function_calling": True, "json_output": False, "structured_output": False, "family": "unknown"}
    return ReplayChatCompletionClient([result(number, turn) for number, turn in enumerate(IN_PROCESS.turns)], info)


def result(number: int, turn: Turn) -> CreateResult:
    message = message_of(number, turn)
    calls = [
        FunctionCall(id=call["id"], name=call["function"]["name"], arguments=call["function"]["arguments"])
        for call in message.get("tool_calls", [])
    ]
    usage = RequestUsage(prompt_tokens=57, completion_tokens=17)
    return CreateResult(finish_reason="function_calls" if calls else "stop", content=calls or message["content"], usage=usage, cached=False)


def model(base: str) -> ChatCompletionClient:
    return OpenAIChatCompletionClient(model="gpt-4o", base_url=base, api_key="benchmark", max_retries=0, timeout=TIMEOUT)


def tools_of(functions: list[Callable[..., Any]]) -> list[FunctionTool]:
    return [FunctionTool(function, description=function.__doc__ or "", name=function.__name__) for function in functions]


def team_for(scenario: str, model: ChatCompletionClient, tools: list[FunctionTool]) -> Swarm:
    if scenario == "handoff":
        desk = AssistantAgent("Desk", model, system_message=DESK, handoffs=["Weather"])
        weather = AssistantAgent("Weather", model, tools=tools, system_message=TELLER)
        return Swarm([desk, weather], termination_condition=TextMessageTermination("Weather"))
    ping = AssistantAgent("Ping", model, system_message=PING, handoffs=["Pong"])
    pong = AssistantAgent("Pong", model, system_message=PONG, handoffs=["Ping"])
    return Swarm([ping, pong], termination_condition=TextMessageTermination("Ping"))


def conversation(scenario: str, base: str) -> Callable[[], Awaitable[str]]:
    replay = scripted() if scenario == "inprocess" else None
    shared = replay or model(base)
    begin = setting(scenario, True)
    tools = tools_of(begin.functions)
    history = [
        UserMessage(content=message["content"], source="user")
        if message["role"] == "user"
        else AssistantMessage(content=message["content"], source="agent")
        for message in begin.history
    ]

    def make() -> AssistantAgent:
        return AssistantAgent(
            "agent",
            shared,
            tools=tools,
            system_message=begin.instructions,
            model_context=UnboundedChatCompletionContext(list(history)),
            model_client_stream=scenario == "stream",
            max_tool_iterations=TURNS,
        )

    async def stream() -> str:
        events = make().run_stream(task=QUESTION)
        return "".join([event.content async for event in events if isinstance(event, ModelClientStreamingChunkEvent)])

    async def run() -> str:
        if replay:
            replay.reset()
        return (await make().run(task=QUESTION)).messages[-1].content

    async def team() -> str:
        return (await team_for(scenario, shared, tools).run(task=QUESTION)).messages[-1].content

    return stream if scenario == "stream" else team if scenario in ("handoff", "pingpong") else run


def agent(base: str) -> Callable[[], object]:
    shared = model(base)
    return lambda: AssistantAgent("weather", shared, tools=tools_of([get_weather_async]), system_message=TELLER)
