"""agno. Its telemetry is switched off (`telemetry=False`): it would report each run. It hands off with a team in route mode."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import cycle
from typing import Any

from agno.agent import Agent
from agno.models.base import Model
from agno.models.message import Message as AgnoMessage
from agno.models.openai import OpenAIChat
from agno.models.response import ModelResponse
from agno.team import Team, TeamMode

from benchmarks.scenarios import DESK, IN_PROCESS, QUESTION, TELLER, TIMEOUT, Dialect, get_weather_async, setting
from benchmarks.wire import message_of

DISTRIBUTION = "agno"
IMPORT = "from agno.agent import Agent; from agno.models.openai import OpenAIChat"
IS_ASYNC = True
DIALECT = Dialect({"Weather": ("delegate_task_to_member", {"member_id": "weather", "task": QUESTION})})
CANNOT = {"pingpong": "a team's leader sends work to its members; a member cannot hand over to another"}


class Scripted(Model):
    """Answers in no time."""

    def __init__(self) -> None:
        super().__init__(id="scripted")
        messages = [message_of(number, turn) for number, turn in enumerate(IN_PROCESS.turns)]
        self.messages = cycle(messages)

    def invoke(self, *args: Any, **kwargs: Any) -> ModelResponse:
        message = next(self.messages)
        return ModelResponse(role="assistant", content=message["content"], tool_calls=message.get("tool_calls", []))

    async def ainvoke(self, *args: Any, **kwargs: Any) -> ModelResponse:
        return self.invoke()

    def invoke_stream(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    ainvoke_stream = _parse_provider_response = _parse_provider_response_delta = invoke_stream


def model(base: str) -> Model:
    return OpenAIChat(id="gpt-4o", base_url=base, api_key="benchmark", max_retries=0, timeout=TIMEOUT)


def agent_for(scenario: str, model: Model) -> Agent | Team:
    if scenario == "handoff":
        weather = Agent(name="Weather", model=model, instructions=TELLER, tools=[get_weather_async], telemetry=False)
        return Team(
            members=[weather], mode=TeamMode.route, determine_input_for_members=False, model=model, instructions=DESK, telemetry=False
        )
    begin = setting(scenario, True)
    return Agent(model=model, instructions=begin.instructions, tools=begin.functions, telemetry=False)


def conversation(scenario: str, base: str) -> Callable[[], Awaitable[str]]:
    agent = agent_for(scenario, Scripted() if scenario == "inprocess" else model(base))
    before = [AgnoMessage(**message) for message in setting(scenario, True).history]
    question = [*before, AgnoMessage(role="user", content=QUESTION)] if before else QUESTION

    async def stream() -> str:
        return "".join([event.content async for event in agent.arun(question, stream=True) if event.event == "RunContent"])

    async def run() -> str:
        return (await agent.arun(question)).content

    return stream if scenario == "stream" else run


def agent(base: str) -> Callable[[], object]:
    shared = model(base)
    return lambda: Agent(model=shared, instructions=TELLER, tools=[get_weather_async], telemetry=False)
