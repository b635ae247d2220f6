"""What is sent to the model: instructions, history, model, tools, and nothing else."""

from __future__ import annotations

import functools
import json
from typing import Any

import pytest

from swarm import Agent, Result
from swarm.errors import AgentError
from swarm.models.scripted import call
from tests.look import system_text, tool_names
from tests.modes import Drive

HI = {"role": "user", "content": "hi"}


def ping() -> str:
    """Say pong."""
    return "pong"


def look(item: str, context_variables: dict[str, Any], times: int = 1) -> str:
    return item


class Shop:
    def find(self, item: str, context_variables: dict[str, Any]) -> str:
        return item


def test_a_plain_agent_sends_model_and_messages_only(drive: Drive) -> None:
    """K04, K05, P04, P05, P15"""
    drive(Agent(), [HI], ["hello"])
    assert {key: value for key, value in drive.requests[0].items() if key != "stream"} == {
        "model": "gpt-4o",
        "messages": [{"role": "system", "content": "You are a helpful agent."}, HI],
    }
    assert drive.requests[0].get("stream") is (True if drive.streams else None)


def test_the_instructions_come_first_then_the_history(drive: Drive) -> None:
    """K04"""
    history = [
        HI,
        {"role": "assistant", "content": "Hello."},
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "go on"},
    ]
    drive(Agent(instructions="Help."), history, ["ok"])
    assert drive.requests[0]["messages"] == [{"role": "system", "content": "Help."}, *history]


@pytest.mark.parametrize("messages", ["hi", [HI]])
def test_a_text_is_one_user_message(drive: Drive, messages: Any) -> None:
    """C08"""
    response = drive(Agent(instructions=None), messages, ["ok"])
    assert drive.requests[0]["messages"] == [HI]
    assert len(response.messages) == 1


def test_a_message_may_hold_parts(drive: Drive) -> None:
    """S16"""
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    message = {"role": "user", "content": [{"type": "text", "text": "what is it?"}, picture]}
    drive(Agent(instructions=None), [message], ["a cat"])
    assert drive.requests[0]["messages"] == [message]


def test_instructions_of_the_moment_get_the_context_variables(drive: Drive) -> None:
    """K04: a missing key reads as "" """
    seen: list[dict[str, Any]] = []

    def instructions(context_variables: dict[str, Any]) -> str:
        seen.append(dict(context_variables))
        return f"Help {context_variables['name']}{context_variables['unknown']}, {context_variables.get('other', 'friend')}."

    drive(Agent(instructions=instructions), [HI], ["ok"], context_variables={"name": "Ann"})
    assert system_text(drive.requests[0]) == "Help Ann, friend."
    assert seen == [{"name": "Ann"}]


def narrow(fn: Any) -> Any:
    """Wraps a function and takes positional arguments only."""

    @functools.wraps(fn)
    def wrapper(*args: Any) -> Any:
        return fn(*args)

    return wrapper


@pytest.mark.parametrize(
    "instructions",
    [
        lambda: "Help.",
        lambda context_variables: f"Help{context_variables['none']}.",
        lambda ctx: f"Help{ctx['none']}.",
        lambda ctx, style="": f"Help{ctx['none']}{style}.",
        lambda **names: f"Help{names['context_variables']['none']}.",
        lambda *args: f"Help{args[0]['none']}.",
        lambda *, context_variables: f"Help{context_variables['none']}.",
        lambda context_variables={}: f"Help{context_variables['none']}.",
        functools.partial(lambda style, context_variables: f"{style}{context_variables['none']}.", "Help"),
        functools.partial(lambda context_variables, style: f"{style}{context_variables['none']}.", style="Help"),
        narrow(lambda context_variables: f"Help{context_variables['none']}."),
        type("Text", (), {"__call__": lambda self, context_variables: "Help."})(),
        type("Text", (), {"say": lambda self: "Help."})().say,
    ],
)
def test_instructions_take_what_they_like(drive: Drive, instructions: Any) -> None:
    """K04, D18"""
    drive(Agent(instructions=instructions), [HI], ["ok"])
    assert system_text(drive.requests[0]) == "Help."


def test_instructions_may_be_async(drive: Drive) -> None:
    """K04"""

    async def instructions(context_variables: dict[str, Any]) -> str:
        return f"Help {context_variables['name']}."

    drive(Agent(instructions=instructions), [HI], ["ok"], context_variables={"name": "Ann"})
    assert system_text(drive.requests[0]) == "Help Ann."


def test_instructions_with_unknown_parameters_are_refused_when_the_agent_is_made() -> None:
    """D18, U07"""
    with pytest.raises(AgentError, match="customer"):
        Agent(instructions=lambda customer, mood: "Help.")


def test_instructions_are_asked_again_with_the_current_values(drive: Drive) -> None:
    """K04, C07"""

    def step(context_variables: dict[str, Any]) -> Result:
        return Result(value="ok", context_variables={"step": context_variables["step"] + 1})

    agent = Agent(instructions=lambda context_variables: f"Step {context_variables['step']}", functions=[step])
    drive(agent, [HI], [call("step"), call("step"), "done"], context_variables={"step": 1})
    assert [system_text(request) for request in drive.requests] == ["Step 1", "Step 2", "Step 3"]
    assert [sum(message["role"] == "system" for message in request["messages"]) for request in drive.requests] == [1, 1, 1]


def test_a_change_of_the_instructions_view_does_not_leak(drive: Drive) -> None:
    """K04, K08: reading a missing key does not put it among the variables."""
    agent = Agent(instructions=lambda context_variables: f"Hi {context_variables['ghost']}")
    assert drive(agent, [HI], ["ok"], context_variables={"a": 1}).context_variables == {"a": 1}


@pytest.mark.parametrize("text", ['Reply as {"city": "{{name}}"} and ${expr}', "{", "%s %(a)s", "{0} {a!r:>{b}}"])
def test_a_text_is_sent_verbatim(drive: Drive, text: str) -> None:
    """C06"""
    drive(Agent(instructions=text), [HI], ["ok"], context_variables={"name": "Ann"})
    assert system_text(drive.requests[0]) == text


def test_the_model_is_the_active_agents(drive: Drive) -> None:
    """K05, U06"""
    b = Agent(name="B", model="model-b")
    a = Agent(name="A", model="model-a", functions=[switch_to(b)])
    drive(a, [HI], [call("to_b"), "ok"])
    assert [request["model"] for request in drive.requests] == ["model-a", "model-b"]


def test_an_overriding_model_serves_every_agent(drive: Drive) -> None:
    """K05, U06"""
    b = Agent(name="B", model="model-b")
    a = Agent(name="A", model="model-a", functions=[switch_to(b)])
    drive(a, [HI], [call("to_b"), "ok"], model_override="other")
    assert [request["model"] for request in drive.requests] == ["other", "other"]


def switch_to(agent: Agent) -> Any:
    def to_b() -> Agent:
        return agent

    return to_b


def test_the_tools_come_in_the_order_of_the_functions(drive: Drive) -> None:
    """K05, K20"""
    drive(Agent(functions=[look, ping]), [HI], ["ok"])
    assert drive.requests[0]["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "look",
                "parameters": {
                    "type": "object",
                    "properties": {"item": {"type": "string"}, "times": {"type": "integer"}},
                    "required": ["item"],
                },
            },
        },
        {
            "type": "function",
            "function": {"name": "ping", "description": "Say pong.", "parameters": {"type": "object", "properties": {}, "required": []}},
        },
    ]


def test_context_variables_are_in_no_schema(drive: Drive) -> None:
    """K06"""
    drive(Agent(functions=[look, Shop().find]), [HI], ["ok"], context_variables={"secret": 1})
    assert "context_variables" not in json.dumps(drive.requests[0])
    assert "secret" not in json.dumps(drive.requests[0])


@pytest.mark.parametrize("choice", ["auto", "none", "required", {"type": "function", "function": {"name": "ping"}}])
def test_tool_choice_is_sent_as_given(drive: Drive, choice: Any) -> None:
    """K05"""
    drive(Agent(functions=[ping], tool_choice=choice), [HI], ["ok"])
    assert drive.requests[0]["tool_choice"] == choice


def test_a_forcing_tool_choice_is_sent_once_for_each_agent(drive: Drive) -> None:
    """K05, D7"""
    a = Agent(name="A", functions=[ping], tool_choice="required")
    b = Agent(name="B", tool_choice="required")
    b.functions = [switch_to(a), ping]
    a.functions = [switch_to(b), ping]
    turns = [call("ping"), call("to_b"), call("ping"), call("to_b"), call("ping"), "ok"]
    drive(a, [HI], turns)
    assert [request.get("tool_choice") for request in drive.requests] == ["required", None, "required", None, None, None]
    assert (a.tool_choice, b.tool_choice) == ("required", "required")
    drive(a, [HI], ["ok"])
    assert drive.requests[0]["tool_choice"] == "required"


@pytest.mark.parametrize("choice", ["auto", "none"])
def test_a_tool_choice_that_forces_nothing_stays(drive: Drive, choice: str) -> None:
    """K05, D7"""
    drive(Agent(functions=[ping], tool_choice=choice), [HI], [call("ping"), "ok"])
    assert [request["tool_choice"] for request in drive.requests] == [choice, choice]


@pytest.mark.parametrize(
    ("options", "sent"),
    [({}, None), ({"parallel_tool_calls": None}, None), ({"parallel_tool_calls": False}, False), ({"parallel_tool_calls": True}, True)],
)
def test_the_parallel_flag_is_sent_if_it_was_given(drive: Drive, options: dict[str, Any], sent: bool | None) -> None:
    """K05, D33, P06"""
    drive(Agent(functions=[ping], **options), [HI], ["ok"])
    assert drive.requests[0].get("parallel_tool_calls", None) is sent
    assert ("parallel_tool_calls" in drive.requests[0]) is (sent is not None)


def test_the_parallel_flag_may_be_set_later(drive: Drive) -> None:
    """K05, D33"""
    agent = Agent(functions=[ping])
    agent.parallel_tool_calls = False
    drive(agent, [HI], ["ok"])
    assert drive.requests[0]["parallel_tool_calls"] is False


@pytest.mark.parametrize("flag", [True, False, None])
def test_no_functions_no_word_of_tools(drive: Drive, flag: bool | None) -> None:
    """K05, P04, P05"""
    drive(Agent(functions=[], parallel_tool_calls=flag, tool_choice="auto"), [HI], ["ok"])
    assert drive.requests[0].keys() & {"tools", "tool_choice", "parallel_tool_calls"} == set()


def test_functions_may_change_between_runs(drive: Drive) -> None:
    """D19"""
    agent = Agent(functions=[ping])
    drive(agent, [HI], ["ok"])
    agent.functions.append(look)
    drive(agent, [HI], ["ok"])
    assert tool_names(drive.requests[0]) == ["ping", "look"]
    agent.functions = []
    drive(agent, [HI], ["ok"])
    assert "tools" not in drive.requests[0]


def test_model_settings_are_passed_on(drive: Drive) -> None:
    """DESIGN: parameters that were not set are absent, not null."""
    agent = Agent(model_settings={"temperature": 0, "max_tokens": None, "stop": ["."]})
    drive(agent, [HI], ["ok"])
    assert drive.requests[0]["temperature"] == 0
    assert drive.requests[0]["stop"] == ["."]
    assert "max_tokens" not in drive.requests[0]


def test_streaming_changes_nothing_else_in_the_requests() -> None:
    """S16"""
    sent: dict[str, list[dict[str, Any]]] = {}
    for mode in ("sync", "async", "sync-stream", "async-stream"):
        one = Drive(mode)
        agent = Agent(instructions=lambda context_variables: f"{context_variables}", functions=[look, ping], parallel_tool_calls=False)
        one(agent, [HI], [call("look", {"item": "bee"}), [call("ping"), call("nothing")], "ok"], context_variables={"a": 1})
        sent[mode] = [{key: value for key, value in request.items() if key not in ("stream", "stream_options")} for request in one.requests]
    assert sent["sync"] == sent["async"] == sent["sync-stream"] == sent["async-stream"]
