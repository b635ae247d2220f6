"""smolagents, its ToolCallingAgent, without the log it prints. It is sync, and its final answer is itself a tool call.

An agent holds one conversation, so conversations at once need an agent each.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import Any

from smolagents import ActionStep, LogLevel, Model, OpenAIModel, TaskStep, Timing, ToolCallingAgent, tool
from smolagents.models import (
    ChatMessage,
    ChatMessageStreamDelta,
    ChatMessageToolCall,
    ChatMessageToolCallFunction,
    MessageRole,
    TokenUsage,
)

from benchmarks.scenarios import IN_PROCESS, QUESTION, SCENARIOS, TELLER, TIMEOUT, Dialect, Turn, get_weather, setting
from benchmarks.wire import calls_of

DISTRIBUTION = "smolagents"
IMPORT = "from smolagents import OpenAIModel, ToolCallingAgent"
IS_ASYNC = False
DIALECT = Dialect({}, final="final_answer")
NO_HANDOFF = "a managed agent reports to its manager; control is never handed over"
CANNOT = {"handoff": NO_HANDOFF, "pingpong": NO_HANDOFF}


class Scripted(Model):
    """Answers in no time."""

    def __init__(self) -> None:
        super().__init__()
        self.replies = cycle([reply(number, turn) for number, turn in enumerate(IN_PROCESS.turns)])

    def generate(self, *args: Any, **kwargs: Any) -> ChatMessage:
        return next(self.replies)


def reply(number: int, turn: Turn) -> ChatMessage:
    calls = [
        ChatMessageToolCall(id=call["id"], type="function", function=ChatMessageToolCallFunction(**call["function"]))
        for call in calls_of(number, turn, DIALECT)
    ]
    return ChatMessage(MessageRole.ASSISTANT, content=None, tool_calls=calls, token_usage=TokenUsage(1, 1))


def model(base: str) -> Model:
    return OpenAIModel("gpt-4o", api_base=base, api_key="benchmark", client_kwargs={"max_retries": 0, "timeout": TIMEOUT})


def steps_for(scenario: str) -> list[Any]:
    return [
        TaskStep(message["content"])
        if message["role"] == "user"
        else ActionStep(step_number=1, timing=Timing(0.0, 0.0), model_output=message["content"])
        for message in setting(scenario, False).history
    ]


def conversation(scenario: str, base: str) -> Callable[[], str]:
    shared = Scripted() if scenario == "inprocess" else model(base)
    begin = setting(scenario, False)
    tools = [tool(function) for function in begin.functions]
    before = steps_for(scenario)

    def make() -> ToolCallingAgent:
        return ToolCallingAgent(
            tools, shared, instructions=begin.instructions, stream_outputs=scenario == "stream", verbosity_level=LogLevel.OFF
        )

    agent = make()

    def stream() -> str:
        return "".join([event.content or "" for event in agent.run(QUESTION, stream=True) if isinstance(event, ChatMessageStreamDelta)])

    def run() -> str:
        return agent.run(QUESTION)

    def go_on() -> str:
        agent.memory.steps = list(before)
        return agent.run(QUESTION, reset=False)

    if scenario in SCENARIOS and SCENARIOS[scenario].at_once:
        return lambda: make().run(QUESTION)
    return stream if scenario == "stream" else go_on if before else run


def agent(base: str) -> Callable[[], object]:
    shared = model(base)
    return lambda: ToolCallingAgent([tool(get_weather)], shared, instructions=TELLER, verbosity_level=LogLevel.OFF)
