"""openai-agents, over Chat Completions. Tracing is switched off (`set_tracing_disabled`): it would send traces elsewhere."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import cycle

from agents import Agent, Model, ModelResponse, OpenAIChatCompletionsModel, Runner, Usage, function_tool, set_tracing_disabled
from openai import AsyncOpenAI
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from benchmarks.scenarios import DESK, IN_PROCESS, PING, PONG, QUESTION, TELLER, TIMEOUT, USUAL, Turn, get_weather_async, setting
from benchmarks.wire import message_of

DISTRIBUTION = "openai-agents"
IMPORT = "from agents import Agent, Runner"
IS_ASYNC = True
DIALECT = USUAL
CANNOT: dict[str, str] = {}
TURNS = 30

set_tracing_disabled(True)


class Scripted(Model):
    """Answers in no time."""

    def __init__(self) -> None:
        self.responses = cycle([response(number, turn) for number, turn in enumerate(IN_PROCESS.turns)])

    async def get_response(self, *args: object, **kwargs: object) -> ModelResponse:
        return next(self.responses)

    def stream_response(self, *args: object, **kwargs: object):
        raise NotImplementedError


def response(number: int, turn: Turn) -> ModelResponse:
    message = message_of(number, turn)
    output: list[object] = [
        ResponseFunctionToolCall(
            call_id=call["id"], name=call["function"]["name"], arguments=call["function"]["arguments"], type="function_call"
        )
        for call in message.get("tool_calls", [])
    ]
    if message["content"]:
        text = ResponseOutputText(text=message["content"], type="output_text", annotations=[])
        output.append(ResponseOutputMessage(id="1", content=[text], role="assistant", status="completed", type="message"))
    return ModelResponse(output=output, usage=Usage(), response_id=None)


def model(base: str) -> Model:
    return OpenAIChatCompletionsModel("gpt-4o", AsyncOpenAI(base_url=base, api_key="benchmark", max_retries=0, timeout=TIMEOUT))


def agent_for(scenario: str, model: Model) -> Agent:
    if scenario == "handoff":
        weather = Agent("Weather", instructions=TELLER, model=model, tools=[function_tool(get_weather_async)])
        return Agent("Front desk", instructions=DESK, model=model, handoffs=[weather])
    if scenario == "pingpong":
        ping = Agent("Ping", instructions=PING, model=model)
        ping.handoffs.append(Agent("Pong", instructions=PONG, model=model, handoffs=[ping]))
        return ping
    begin = setting(scenario, True)
    return Agent("Agent", instructions=begin.instructions, model=model, tools=[function_tool(function) for function in begin.functions])


def conversation(scenario: str, base: str) -> Callable[[], Awaitable[str]]:
    agent = agent_for(scenario, Scripted() if scenario == "inprocess" else model(base))
    messages = [*setting(scenario, True).history, {"role": "user", "content": QUESTION}]

    async def stream() -> str:
        pieces: list[str] = []
        async for event in Runner.run_streamed(agent, messages).stream_events():
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                pieces.append(event.data.delta)
        return "".join(pieces)

    async def run() -> str:
        return (await Runner.run(agent, messages, max_turns=TURNS)).final_output

    return stream if scenario == "stream" else run


def agent(base: str) -> Callable[[], object]:
    shared = model(base)
    return lambda: Agent("Weather", instructions=TELLER, model=shared, tools=[function_tool(get_weather_async)])
