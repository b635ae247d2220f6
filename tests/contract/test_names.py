"""The names, signatures and defaults that existing code relies on."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import swarm.agents
import swarm.core
import swarm.types
import swarm.util
from swarm import Agent, AsyncSwarm, Response, Result, Swarm
from swarm.models.scripted import ScriptedModel, call
from tests.clients import completion, mock_client

HI = [{"role": "user", "content": "hi"}]


def test_the_names_stand_where_code_imports_them() -> None:
    """K01"""
    assert swarm.types.Agent is Agent
    assert swarm.types.Response is Response
    assert swarm.types.Result is Result
    assert swarm.types.AgentFunction is not None
    assert swarm.core.Swarm is Swarm
    for name in ("function_to_json", "function_to_schema", "debug_print", "merge_chunk", "merge_fields"):
        assert callable(getattr(swarm.util, name))
    assert swarm.util.function_to_schema(plain) == swarm.util.function_to_json(plain)
    assert list(inspect.signature(swarm.agents.create_triage_agent).parameters) == ["name", "instructions", "agents", "add_backlinks"]
    assert inspect.signature(swarm.agents.create_triage_agent).parameters["add_backlinks"].default is False


@pytest.mark.parametrize("kind", [Swarm, AsyncSwarm])
def test_the_client_is_kept(kind: Any) -> None:
    """K02"""
    client = mock_client(completion({"role": "assistant", "content": "hi"}))
    assert kind(client).client is client
    assert kind(client=client).client is client
    client.chat.completions.create.assert_not_called()


@pytest.mark.parametrize("kind", [Swarm, AsyncSwarm])
def test_the_parameters_of_run(kind: Any) -> None:
    """K02, S17"""
    parameters = list(inspect.signature(kind.run).parameters.values())[1:9]
    names = ["agent", "messages", "context_variables", "model_override", "stream", "debug", "max_turns", "execute_tools"]
    assert [parameter.name for parameter in parameters] == names
    assert [parameter.default for parameter in parameters[3:]] == [None, False, False, float("inf"), True]
    assert all(parameter.kind is parameter.POSITIONAL_OR_KEYWORD for parameter in parameters)
    with pytest.raises(TypeError, match="steam"):
        kind(ScriptedModel(["hi"])).run(Agent(), HI, steam=True)


def test_run_takes_all_of_them_by_position() -> None:
    """K02"""
    model = ScriptedModel([call("f")])
    response = Swarm(model).run(Agent(functions=[plain]), HI, {"a": 1}, "other", False, False, 5, False)
    assert response.context_variables == {"a": 1}
    assert response.stop_reason == "tool_calls"
    assert model.requests[0]["model"] == "other"
    streamed = list(Swarm(ScriptedModel(["hi"])).run(Agent(), HI, {}, None, True, False, float("inf"), True))
    assert streamed[-1]["response"].text == "hi"


def plain() -> str:
    return "x"


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("get_chat_completion", ["agent", "history", "context_variables", "model_override", "stream", "debug"]),
        ("handle_function_result", ["result", "debug"]),
        ("handle_tool_calls", ["tool_calls", "functions", "context_variables", "debug"]),
        ("run_and_stream", ["agent", "messages", "context_variables", "model_override", "debug", "max_turns", "execute_tools"]),
    ],
)
def test_the_low_level_methods_have_their_parameters(name: str, parameters: list[str]) -> None:
    """K02"""
    assert list(inspect.signature(getattr(Swarm, name)).parameters)[1:] == parameters


def test_the_defaults_of_an_agent() -> None:
    """K03, U06"""
    agent = Agent()
    assert (agent.name, agent.model, agent.instructions) == ("Agent", "gpt-4o", "You are a helpful agent.")
    assert (agent.functions, agent.tool_choice, agent.parallel_tool_calls) == ([], None, True)


def test_the_defaults_of_result_and_response() -> None:
    """K03"""
    result, response = Result(), Response()
    assert (result.value, result.agent, result.context_variables) == ("", None, {})
    assert (response.messages, response.agent, response.context_variables) == ([], None, {})


def test_no_default_is_shared() -> None:
    """K03, C03"""
    one, other = Agent(), Agent()
    one.functions.append(plain)
    one.handoffs.append(other)
    one.model_settings["temperature"] = 1
    assert (other.functions, other.handoffs, other.model_settings) == ([], [], {})
    first, second = Response(), Response()
    first.messages.append({"role": "user"})
    first.context_variables["a"] = 1
    assert (second.messages, second.context_variables) == ([], {})
    Result().context_variables["a"] = 1
    assert Result().context_variables == {}


def test_nouns_take_keywords_and_attributes_can_be_set() -> None:
    """K03"""
    agent = Agent(name="Bot", model="gpt-4o-mini", instructions="Help.", functions=[plain], tool_choice="auto")
    agent.instructions = "Help well."
    agent.functions = []
    agent.model = "other"
    response = Response(messages=HI, agent=agent, context_variables={"a": 1})
    assert response.agent is agent
    assert Result(value="v", agent=agent, context_variables={"a": 1}).agent is agent
    assert (agent.instructions, agent.functions, agent.model) == ("Help well.", [], "other")
