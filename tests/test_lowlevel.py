"""The seed's low-level steps, and subclasses that do one of them in their own way."""

from __future__ import annotations

from typing import Any

import pytest

from swarm import Agent, Response, Result, Swarm
from swarm.models.scripted import ScriptedModel, call


def greet(name: str, context_variables: dict[str, Any]) -> str:
    context_variables["greeted"] = name
    return f"hello {name}"


class Call:
    """A tool call as an object with attributes, as client libraries give it."""

    def __init__(self, id: str, name: str, arguments: str) -> None:
        self.id = id
        self.type = "function"
        self.function = type("Function", (), {"name": name, "arguments": arguments})()


def test_get_chat_completion() -> None:
    """K02, D25"""
    model = ScriptedModel([call("greet", {"name": "Ann"})])
    completion = Swarm(model).get_chat_completion(Agent(functions=[greet]), [{"role": "user", "content": "hi"}], {}, "other", False, False)
    message = completion.choices[0].message
    assert message.content is None
    assert message.tool_calls[0].function.name == "greet"
    assert completion.model_dump()["choices"][0]["message"]["role"] == "assistant"
    assert model.requests[0]["model"] == "other"


def test_get_chat_completion_streamed() -> None:
    """K02"""
    chunks = Swarm(ScriptedModel(["one two"])).get_chat_completion(Agent(), [{"role": "user", "content": "hi"}], {}, None, True, False)
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == "one two"


def test_handle_function_result() -> None:
    """K02, K09"""
    swarm, agent = Swarm(ScriptedModel([])), Agent(name="B")
    result = Result(value="x")
    assert swarm.handle_function_result(result, False) is result
    assert swarm.handle_function_result(agent, False) == Result(value='{"assistant": "B"}', agent=agent)
    assert swarm.handle_function_result(5, False).value == "5"

    class Mute:
        def __str__(self) -> str:
            raise RuntimeError("mute")

    with pytest.raises(TypeError, match="Mute"):
        swarm.handle_function_result(Mute(), False)


def test_handle_tool_calls() -> None:
    """K02, K11"""
    context: dict[str, Any] = {}
    calls = [Call("1", "greet", '{"name": "Ann"}'), Call("2", "nobody", "{}")]
    response = Swarm(ScriptedModel([])).handle_tool_calls(calls, [greet], context, False)
    assert response.messages == [
        {"role": "tool", "tool_call_id": "1", "tool_name": "greet", "content": "hello Ann"},
        {"role": "tool", "tool_call_id": "2", "tool_name": "nobody", "content": "Error: Tool nobody not found. Available tools: greet."},
    ]
    assert context == {"greeted": "Ann"}
    assert response.agent is None


def test_run_and_stream() -> None:
    """K02"""
    items = list(Swarm(ScriptedModel(["hi"])).run_and_stream(Agent(), [{"role": "user", "content": "x"}]))
    assert items[0] == {"delim": "start"}
    assert items[-1]["response"].text == "hi"


@pytest.mark.parametrize("stream", [False, True])
def test_an_overridden_completion_is_honoured(stream: bool) -> None:
    """D25"""
    seen: list[str] = []

    class Logged(Swarm):
        def get_chat_completion(
            self, agent: Agent, history: Any, context_variables: Any, model_override: Any, stream: bool, debug: bool
        ) -> Any:
            seen.append(f"{agent.name} {len(history)}")
            return super().get_chat_completion(agent, history, context_variables, model_override, stream, debug)

    swarm = Logged(ScriptedModel([call("greet", {"name": "Ann"}), "done"]))
    result = swarm.run(Agent(functions=[greet]), "hi", stream=True) if stream else swarm.run(Agent(functions=[greet]), "hi")
    response = list(result)[-1]["response"] if stream else result
    assert isinstance(response, Response)
    assert response.text == "done"
    assert seen == ["Agent 1", "Agent 3"]


def test_an_overridden_result_is_honoured() -> None:
    """D25"""

    class Loud(Swarm):
        def handle_function_result(self, result: Any, debug: bool) -> Result:
            return Result(value=str(result).upper())

    response = Loud(ScriptedModel([call("greet", {"name": "Ann"}), "done"])).run(Agent(functions=[greet]), "hi")
    assert response.messages[1]["content"] == "HELLO ANN"


def test_an_overridden_batch_is_honoured() -> None:
    """D25"""
    other = Agent(name="Other")

    class Own(Swarm):
        def handle_tool_calls(self, tool_calls: Any, functions: Any, context_variables: Any, debug: bool) -> Response:
            names = [c.function.name for c in tool_calls]
            messages = [{"role": "tool", "tool_call_id": c.id, "tool_name": c.function.name, "content": "own"} for c in tool_calls]
            return Response(messages=messages, agent=other, context_variables={"names": names})

    response = Own(ScriptedModel([call("greet", {"name": "Ann"}), "done"])).run(Agent(functions=[greet]), "hi")
    assert response.messages[1]["content"] == "own"
    assert response.agent is other
    assert response.context_variables == {"names": ["greet"]}
