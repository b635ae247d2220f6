"""Tools of MCP servers as functions of agents, over pipes: what is offered, what a call comes to."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest

from swarm import Agent, AgentError, ScriptedModel, Swarm, tool
from swarm.errors import ConfigError, ToolError
from swarm.ext.mcp import McpServer
from swarm.ext.mcp.naming import Naming
from swarm.models.scripted import call
from tests.ext.mcp.conftest import OLD_SERVER, SERVER, called, python, told
from tests.modes import Drive


def test_a_call_comes_to_the_servers_result(drive: Drive, equipped: Agent) -> None:
    """D90"""
    assert called(drive, equipped, ("add", {"a": 1, "b": 2}), ("big", {"characters": 3}), "fail", ("fail", {"how": "luck"})) == [
        "3",
        "äää",
        "Error: Error executing tool fail",
        "Error: Error executing tool fail: out of luck",
    ]


def test_the_server_checks_the_arguments(drive: Drive, equipped: Agent) -> None:
    """D90"""
    wrong, missing, broken = called(drive, equipped, ("add", {"a": "one", "b": 2}), ("add", {"a": 1}), ("add", '{"a": 1'))
    assert wrong.startswith("Error: ") and "valid integer" in wrong
    assert missing.startswith("Error: ") and "Field required" in missing
    assert broken.startswith("Error: The arguments of add are not valid JSON")


def test_a_failure_is_an_outcome_and_can_be_raised(server: McpServer) -> None:
    """D90, D23"""
    agent, model = Agent(functions=[*server.tools()]), ScriptedModel([call("fail", {"how": "luck"}), "Done."])
    assert Swarm(model).run(agent, "Go on").calls[0].outcome == "error"
    with pytest.raises(ToolError, match="out of luck"):
        Swarm(ScriptedModel([call("fail", {"how": "luck"})]), tool_errors="raise").run(agent, "Go on")


def test_a_picture_is_for_the_model_to_see(drive: Drive, equipped: Agent) -> None:
    """D90"""
    response = drive(equipped, "Go on", [call("picture"), "Done."])
    assert told(response) == ["a pixel"]
    (part,) = [part for message in response.messages if message["role"] == "user" for part in message["content"] if part["type"] != "text"]
    assert part["image_url"]["url"].startswith("data:image/png;base64,iVBORw0KGgo")


def test_a_result_of_five_megabytes_arrives(server: McpServer) -> None:
    """D90"""
    (big,) = [tool for tool in server.tools() if tool.name == "big"]
    model = ScriptedModel([call("big", {"characters": 2_500_000}), call("big", {"characters": 2_500_000}), "Done."])
    whole, short = told(Swarm(model).run(Agent(functions=[big]), "Go on", max_turns=2)), tool(big, name="big", max_chars=100)
    assert whole == ["ä" * 2_500_000]
    (text,) = told(Swarm(ScriptedModel([call("big", {"characters": 1_000}), "Done."])).run(Agent(functions=[short]), "Go on"))
    assert "900 of 1,000 characters left out" in text


def test_a_server_without_the_sdk(drive: Drive) -> None:
    """D90: an older protocol, several pages of tools, schemas of any kind, names that no model takes, contents of every kind."""
    with McpServer(sys.executable, [OLD_SERVER]) as server:
        tools = {tool.name: tool for tool in server.tools()}
        assert list(tools) == ["echo", "forget", "grow", "not_a_legal_name", "not_a_legal_name_2", "x" * 64, "tool", "odd"]
        schema = tools["echo"].wire["function"]["parameters"]
        assert schema["properties"] == {"self": {"type": ["string", "null"]}, "context_variables": {"$ref": "#/definitions/any"}}
        assert schema["$schema"] and schema["definitions"] and schema["x-odd"] == [1, {"deep": True}]
        response = drive(
            Agent(functions=list(tools.values())),
            "Go on",
            [call("not_a_legal_name_2", {"self": None, "context_variables": 1}), call("odd"), "Done."],
            context_variables={"secret": 1},
        )
        echoed, odd = told(response)
        assert echoed == '{"name":"not a legal name?","arguments":{"self":null,"context_variables":1},"count":1}'
        assert odd.splitlines() == [
            "[resource note: notes://1 (one)]",
            "two",
            "[audio of type audio/ogg, which cannot be passed on]",
            "[image of type image/png, which is no valid base64]",
        ]
        (seen,) = [message["content"] for message in response.messages if message["role"] == "user"]
        assert [part["type"] for part in seen] == ["text", "file", "input_audio"]
        assert seen[1]["file"]["filename"] == "report.pdf"
        assert (server.resources(), server.prompts(), server.templates()) == ([], [], [])


# Choosing and naming


def spec(name: str, **notes: Any) -> types.Tool:
    return types.Tool(name=name, input_schema={"type": "object"}, annotations=types.ToolAnnotations(**notes))


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, ["a", "b", "a_b", "a_b_2"]),
        ({"include": ["a", "a.b"]}, ["a", "a_b"]),
        ({"include": lambda tool: "." in tool.name}, ["a_b"]),
        ({"exclude": {"a", "a b"}}, ["b", "a_b"]),
        ({"include": ["a", "b"], "exclude": lambda tool: tool.name == "a"}, ["b"]),
        ({"prefix": "x_"}, ["x_a", "x_b", "x_a_b", "x_a_b_2"]),
        ({"prefix": "x_", "rename": {"a": "first"}}, ["first", "x_b", "x_a_b", "x_a_b_2"]),
        ({"rename": {"b": "a"}}, ["a_2", "a", "a_b", "a_b_2"]),
        ({"rename": {"a": "same", "b": "same"}}, ["same", "b", "a_b", "a_b_2"]),
    ],
)
def test_names_are_chosen_legal_and_unique(options: dict[str, Any], names: list[str]) -> None:
    """D90"""
    naming = Naming(**{"include": None, "exclude": None, "prefix": "", "rename": {}, **options})
    assert list(naming.named(map(spec, ["a", "b", "a.b", "a b"]))) == names


def test_long_names_stay_unique() -> None:
    """D90"""
    named = Naming(None, None, "p_", {}).named([spec("x" * 100 + end) for end in "abc"])
    assert [len(name) for name in named] == [64, 64, 64]
    assert list(named)[1].endswith("_2")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "needs one of the two"),
        ({"command": "python", "url": "http://x"}, "needs one of the two"),
        ({"command": "python", "args": "server.py"}, "a list"),
        ({"command": "python", "headers": {"a": "b"}}, "headers with a url"),
        ({"url": "http://x", "env": {"A": "b"}}, "go with a command"),
        ({"command": "python", "prefix": "a b"}, "'a b' cannot be in the name"),
        ({"command": "python", "rename": {"a": "é"}}, "'é' cannot be in the name"),
        ({"command": "python", "include": "add"}, "must be a list of names"),
        ({"command": "python", "timeout": 0}, "timeout=0.* must be a number of seconds above 0"),
        ({"command": "python", "connect_timeout": -1}, "connect_timeout=-1.* must be a number"),
    ],
)
def test_what_cannot_be_meant_is_refused(options: dict[str, Any], text: str) -> None:
    """D90"""
    with pytest.raises(ConfigError, match=text):
        McpServer(**options)


def test_two_servers_with_the_same_names(server: McpServer) -> None:
    """D90"""
    with pytest.raises(AgentError, match="two functions called 'add'"):
        Agent(functions=[*server.tools(), *server.tools()])


def test_a_name_that_is_misspelt_is_found(notes: Path) -> None:
    """D90"""
    for options in ({"include": ["ad"]}, {"rename": {"ad": "plus"}}):
        server = McpServer(sys.executable, [SERVER, str(notes)], **options)
        with pytest.raises(ConfigError, match=r"no tool 'ad', which include= or rename= names\. It has add, slow, "):
            server.tools()
        server.close()


def test_a_function_that_chooses_cannot_ask_the_server(notes: Path) -> None:
    """D92: it would wait for itself."""
    server = McpServer(sys.executable, [SERVER, str(notes)], include=lambda tool: server.read("notes://today").value == tool.name)
    with pytest.raises(RuntimeError, match="cannot be asked from a function that it calls itself"):
        server.tools()
    server.close()


def test_equipping_twice_or_with_a_name_that_is_taken(server: McpServer) -> None:
    """D93"""
    agent = Agent()
    assert server.equip(server.equip(agent)) is agent
    assert len(agent.functions) == len(server.tools())

    def add(a: int) -> int:
        return a

    other = Agent(functions=[add])
    with pytest.raises(AgentError, match="two functions called 'add'"):
        server.equip(other)
    assert other.functions == [add]


@pytest.fixture(scope="module")
def careful(notes: Path) -> Iterator[McpServer]:
    with McpServer(sys.executable, [SERVER, str(notes)], approval="destructive") as server:
        yield server


def test_approvals_follow_the_annotations(drive: Drive, careful: McpServer) -> None:
    """D90: a tool that says nothing of itself may destroy things, as the protocol has it."""
    assert {tool.name for tool in careful.tools() if tool.approval} == {"die", "fail", "learn", "forget"}
    assert {tool.name for tool in careful.tools() if tool.effect == "repeatable"} >= {"add", "pid", "big"}
    response = drive(Agent(functions=[*careful.tools()]), "Go on", [[call("add", {"a": 1, "b": 2}), call("fail")], "Done."])
    assert (response.stop_reason, [item.name for item in response.pending]) == ("approval", ["fail"])


def test_more_options_keep_the_schema(server: McpServer) -> None:
    """D90"""
    (add,) = [tool for tool in server.tools() if tool.name == "add"]
    again = tool(add, name="plus", approval=lambda arguments: arguments["a"] > 1)
    assert again.wire["function"]["parameters"] == add.wire["function"]["parameters"]
    model = ScriptedModel([call("plus", {"a": 1, "b": 1}), call("plus", {"a": 2, "b": 1})])
    response = Swarm(model).run(Agent(functions=[again]), "Go on")
    assert (told(response), response.stop_reason) == (["2"], "approval")


# Resources, prompts, the log


def test_resources_and_prompts_are_read(server: McpServer) -> None:
    """D90"""
    assert [item.uri for item in server.resources()] == ["notes://today", "notes://picture"]
    assert [item.uri_template for item in server.templates()] == ["notes://{day}/plan"]
    assert server.read("notes://today").value == "Nothing."
    assert server.read("notes://monday/plan").value == "Rest on monday."
    assert repr(server.read("notes://picture").parts) == "[Image([image/png, 68 bytes])]"
    assert [(item.name, [argument.name for argument in item.arguments or []]) for item in server.prompts()] == [("greet", ["name"])]
    assert server.prompt("greet", {"name": "Bo"}) == [{"role": "user", "content": "Say hello to Bo."}]
    model = ScriptedModel(["Hello Bo"])
    assert Swarm(model).run(Agent(), server.prompt("greet", {"name": "Bo"})).text == "Hello Bo"


def test_what_is_not_there_is_an_error(server: McpServer) -> None:
    """D90"""
    with pytest.raises(ToolError, match="reading notes://tomorrow was refused by tests"):
        server.read("notes://tomorrow")
    with pytest.raises(ToolError, match="the prompt curse was refused by tests"):
        server.prompt("curse")
    with pytest.raises(ToolError, match="the prompt greet was refused by tests"):
        server.prompt("greet")


def test_an_agent_reads_resources(drive: Drive, server: McpServer) -> None:
    """D90"""
    reader = server.reader()
    assert str(reader.description).splitlines() == [
        "Read from tests:",
        "- notes://today: today. What is on today",
        "- notes://picture: drawn",
        "- notes://{day}/plan: plan. The plan of a day",
    ]
    texts = called(drive, Agent(functions=[reader]), *[("read_resource", {"uri": f"notes://{what}"}) for what in ("today", "picture", "x")])
    assert texts[0] == "Nothing."
    assert texts[1].startswith("[image/png, 68 bytes]")
    assert texts[2].startswith("Error: reading notes://x was refused")


def test_what_a_server_says_is_in_the_log(drive: Drive, equipped: Agent, caplog: pytest.LogCaptureFixture) -> None:
    """D90: its log, its progress, its standard error, and what it prints where only the protocol belongs."""
    with caplog.at_level(logging.INFO, logger="swarm.mcp"):
        called(drive, equipped, "talk", ("slow", {"seconds": 0.05}))
    for text in ("words in the log", "words on standard error", "words on standard output", "slow: 1 of 2: half way"):
        assert f"tests: {text}" in caplog.messages


# What it costs not to use it


def test_the_sdk_is_loaded_when_a_server_is_used() -> None:
    """D90"""
    program = "import sys, swarm.ext.mcp; swarm.ext.mcp.McpServer('x'); sys.exit('mcp' in sys.modules or 'anyio' in sys.modules)"
    assert python(program).returncode == 0


def test_a_missing_extra_is_named() -> None:
    """D90"""
    program = "import sys; sys.modules['mcp_types'] = None; from swarm.ext.mcp import McpServer; McpServer('x').tools()"
    done = python(program)
    assert 'McpServer needs mcp_types, which is not installed: pip install "openswarm[mcp]"' in done.stderr
