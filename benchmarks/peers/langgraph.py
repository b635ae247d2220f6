"""langgraph with langgraph-swarm: the agents are langchain's `create_agent`, as the documentation of the swarm package has them."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from itertools import cycle
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_openai import ChatOpenAI
from langgraph_swarm import create_handoff_tool, create_swarm

from benchmarks.scenarios import DESK, IN_PROCESS, PING, PONG, QUESTION, TELLER, TIMEOUT, USUAL, Message, get_weather_async, setting
from benchmarks.wire import message_of

DISTRIBUTION = "langgraph"
IMPORT = "from langchain.agents import create_agent; from langchain_openai import ChatOpenAI; from langgraph_swarm import create_swarm"
IS_ASYNC = True
DIALECT = USUAL
CANNOT: dict[str, str] = {}
CONFIG = {"recursion_limit": 200}


class Scripted(BaseChatModel):
    """Answers in no time."""

    replies: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Scripted:
        return self

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=reply(next(self.replies)))])

    async def _agenerate(self, *args: Any, **kwargs: Any) -> ChatResult:
        return self._generate()


def reply(message: Message) -> AIMessage:
    """A new message each time: the graph gives it an id."""
    calls = [
        {"id": call["id"], "name": call["function"]["name"], "args": json.loads(call["function"]["arguments"])}
        for call in message.get("tool_calls", [])
    ]
    return AIMessage(message["content"] or "", tool_calls=calls)


def scripted() -> BaseChatModel:
    return Scripted(replies=cycle([message_of(number, turn) for number, turn in enumerate(IN_PROCESS.turns)]))


def model(base: str) -> BaseChatModel:
    return ChatOpenAI(model="gpt-4o", base_url=base, api_key="benchmark", max_retries=0, timeout=TIMEOUT)


def transfer(model: BaseChatModel, name: str, target: str, instructions: str) -> Any:
    return create_agent(model, [create_handoff_tool(agent_name=target)], system_prompt=instructions, name=name)


def agent_for(scenario: str, model: BaseChatModel) -> Any:
    if scenario == "handoff":
        weather = create_agent(model, [get_weather_async], system_prompt=TELLER, name="Weather")
        return create_swarm([transfer(model, "Desk", "Weather", DESK), weather], default_active_agent="Desk").compile()
    if scenario == "pingpong":
        both = [transfer(model, "Ping", "Pong", PING), transfer(model, "Pong", "Ping", PONG)]
        return create_swarm(both, default_active_agent="Ping").compile()
    begin = setting(scenario, True)
    return create_agent(model, begin.functions, system_prompt=begin.instructions)


def conversation(scenario: str, base: str) -> Callable[[], Awaitable[str]]:
    graph = agent_for(scenario, scripted() if scenario == "inprocess" else model(base))
    begin = {"messages": [*setting(scenario, True).history, {"role": "user", "content": QUESTION}]}

    async def stream() -> str:
        return "".join([chunk.content async for chunk, _ in graph.astream(begin, CONFIG, stream_mode="messages")])

    async def run() -> str:
        return (await graph.ainvoke(begin, CONFIG))["messages"][-1].content

    return stream if scenario == "stream" else run


def agent(base: str) -> Callable[[], object]:
    shared = model(base)
    return lambda: create_agent(shared, [get_weather_async], system_prompt=TELLER)
