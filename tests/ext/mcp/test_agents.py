"""Agents offered as an MCP server: `swarm mcp` as a process, asked by the SDK's client, by ours, and by hand."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError

from swarm import Agent, AgentError, AsyncSwarm, ScriptedModel
from swarm.ext.mcp import McpServer
from swarm.ext.mcp.agents import AgentServer
from swarm.models.scripted import call
from tests.commands.conftest import Commands, swarm  # noqa: F401  # a fixture
from tests.ext.mcp.conftest import HERE, OverHttp, called, environment, free_port, told
from tests.modes import Drive

TARGETS = [f"{HERE / 'shop.py'}:triage", f"{HERE / 'shop.py'}:refunds"]
COMMAND = ["-m", "swarm", "mcp", *TARGETS]
Ask = Callable[[Client], Awaitable[Any]]


def over_stdio(folder: Path, ask: Ask) -> Any:
    """What asking comes to, with a process of its own and the SDK's client."""

    async def main() -> Any:
        place = StdioServerParameters(command=sys.executable, args=COMMAND, env=environment(), cwd=folder)
        with open(folder / "errors", "w") as errors:
            async with Client(stdio_client(place, errors)) as client:
                return await ask(client)

    return asyncio.run(main())


def over_http(folder: Path, ask: Ask) -> Any:
    """The same over HTTP."""
    port = free_port()
    server = OverHttp(sys.executable, *COMMAND, "--http", port=port, prefix="127.0.0.1:", cwd=folder, env=environment())

    async def main() -> Any:
        async with Client(server.url) as client:
            return await ask(client)

    try:
        return asyncio.run(main())
    finally:
        server.kill()


ways = pytest.mark.parametrize("asking", [over_stdio, over_http])


@ways
def test_each_agent_is_a_tool(asking: Any, tmp_path: Path) -> None:
    """D94"""

    async def ask(client: Client) -> Any:
        return (await client.list_tools()).tools

    triage, refunds = asking(tmp_path, ask)
    assert (triage.name, triage.title, triage.description) == ("ask_triage", "Triage", "Ask Triage.")
    assert (refunds.name, refunds.description) == ("ask_refunds", "Ask Refunds. Gives money back.")
    assert refunds.input_schema["required"] == ["message"]
    assert set(refunds.input_schema["properties"]) == {"message", "conversation"}


@ways
def test_a_conversation_goes_on(asking: Any, tmp_path: Path) -> None:
    """D94: the agent that was handed over to answers; what came before is known; progress says who does what."""
    told: list[str] = []

    async def progress(_: float, __: float | None, message: str | None) -> None:
        told.append(message or "")

    async def ask(client: Client) -> Any:
        first = await client.call_tool("ask_triage", {"message": "to_refunds"}, progress_callback=progress)
        again = {"conversation": first.structured_content["conversation"]}
        return [
            first,
            await client.call_tool("ask_triage", {"message": "Thanks", **again}),
            await client.call_tool("ask_refunds", {"message": "Direct"}),
            await client.call_tool("ask_refunds", {"message": "Back", **again}),
            await client.call_tool("ask_triage", {"message": "Triage again", **again}),
        ]

    first, second, direct, back, triage = asking(tmp_path, ask)
    id = first.structured_content["conversation"]
    assert first.structured_content == {
        "text": '{"assistant": "Refunds"} (1)',
        "agent": "Refunds",
        "conversation": id,
        "stop_reason": "complete",
    }
    assert [block.text for block in first.content] == ['{"assistant": "Refunds"} (1)', f"(conversation: {id})"]
    assert second.structured_content == {"text": "Thanks (2)", "agent": "Refunds", "conversation": id, "stop_reason": "complete"}
    assert direct.structured_content["text"] == "Direct (1)"
    assert direct.structured_content["conversation"] != id
    assert (back.structured_content["text"], triage.structured_content["agent"]) == ("Back (3)", "Triage")
    assert told == ["Triage: turn 1", "Triage calls to_refunds", "Triage hands over to Refunds", "Refunds: turn 2"]


@ways
def test_what_fails_is_told_in_the_protocols_form(asking: Any, tmp_path: Path) -> None:
    """D94"""

    async def ask(client: Client) -> Any:
        answers = [
            await client.call_tool("ask_triage", arguments)
            for arguments in (
                {},
                {"message": " "},
                {"message": "Hi", "conversation": ["x"]},
                {"message": "Hi", "conversation": "x"},
                {"message": "break"},
                {"message": "crash"},
            )
        ]
        answers.append(await client.call_tool("ask_refunds", {"message": "cancel"}))
        with pytest.raises(MCPError, match=r"Unknown tool: ask_nobody\. There are ask_triage, ask_refunds"):
            await client.call_tool("ask_nobody", {"message": "Hi"})
        broken = answers[4].content[1].text.removeprefix("(conversation: ").removesuffix(")")
        answers.append(await client.call_tool("ask_triage", {"message": "Again", "conversation": broken}))
        return answers

    *wrong, broken, crashed, refused, again = asking(tmp_path, ask)
    assert [(answer.is_error, answer.content[0].text) for answer in wrong] == [
        (True, "message must be a text that is not empty"),
        (True, "message must be a text that is not empty"),
        (True, "conversation must be a text, the id that came with an earlier answer"),
        (True, "there is no conversation 'x', or no longer: leave it out to begin a new one"),
    ]
    assert (broken.is_error, broken.content[0].text) == (True, "503: overloaded")
    assert (crashed.is_error, crashed.structured_content["text"]) == (False, "Error: ValueError: a secret (1)")
    assert (refused.is_error, refused.structured_content["stop_reason"]) == (False, "complete")
    assert "nobody can be asked here" in refused.structured_content["text"]
    assert again.structured_content["text"] == "Again (2)"


@ways
def test_a_cancelled_call_ends_the_run(asking: Any, tmp_path: Path) -> None:
    """D94"""

    async def ask(client: Client) -> None:
        task = asyncio.create_task(client.call_tool("ask_refunds", {"message": "wait"}))
        while not (tmp_path / "waiting").exists():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        while not (tmp_path / "left").exists():
            await asyncio.sleep(0.01)

    asking(tmp_path, ask)


def test_only_the_protocol_is_on_standard_output(tmp_path: Path) -> None:
    """D94: what modules, their children and tools print is on standard error, and they read nothing of the protocol."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "hand", "version": "1"},
    }
    asked = {"name": "ask_refunds", "arguments": {"message": "look_up"}, "_meta": meta}
    process = subprocess.Popen(
        [sys.executable, *COMMAND],
        env=environment(),
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked}) + "\n")
    process.stdin.flush()
    (line,) = [process.stdout.readline()]
    assert json.loads(line)["result"]["structuredContent"]["text"] == "read '' (1)"
    rest, errors = process.communicate()
    assert (rest, process.returncode) == ("", 0)
    assert [text for text in ("printed at import", "printed by a child", "printed by a tool") if text not in errors] == []
    assert "Traceback" not in errors


def test_ctrl_c_ends_it_at_once(tmp_path: Path) -> None:
    """D94"""
    process = subprocess.Popen(
        [sys.executable, *COMMAND], env=environment(), cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    process.stdin.write(
        b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, '
    )
    process.stdin.write(b'"clientInfo": {"name": "hand", "version": "1"}}}\n')
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"] == "openswarm"
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130
    assert b"Traceback" not in process.stderr.read()
    for pipe in (process.stdin, process.stdout, process.stderr):
        pipe.close()


# A swarm that uses a swarm


@pytest.fixture(scope="module")
def colleague(tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpServer]:
    folder = tmp_path_factory.mktemp("colleague")
    with McpServer(sys.executable, COMMAND, env=environment(), cwd=folder, name="colleague") as server:
        yield server


def test_a_swarm_asks_a_swarm(drive: Drive, colleague: McpServer) -> None:
    """D94, D90"""
    agent = Agent(name="Boss", functions=[*colleague.tools()])
    (first,) = called(drive, agent, ("ask_triage", {"message": "to_refunds"}))
    text, id = first.splitlines()
    assert text == '{"assistant": "Refunds"} (1)'
    again = {"message": "Thanks", "conversation": id.removeprefix("(conversation: ").removesuffix(")")}
    assert called(drive, agent, ("ask_triage", again))[0].startswith("Thanks (2)")
    assert called(drive, agent, ("ask_triage", {"message": "break"}))[0].startswith("Error: 503: overloaded\n(conversation: ")


def test_many_conversations_at_once(drive: Drive, colleague: McpServer) -> None:
    """D94, D92"""
    turn = [call("ask_triage", {"message": f"number {number}"}) for number in range(50)]
    response = drive(Agent(functions=[*colleague.tools()]), "Go on", [turn, "Done."], swarm={"parallel_tools": True})
    assert [text.splitlines()[0] for text in told(response)] == [f"number {number} (1)" for number in range(50)]


# In this process


def test_messages_to_one_conversation_are_answered_in_turn() -> None:
    """D94"""
    model = ScriptedModel(["one", "two", "three"])
    server = AgentServer([Agent(name="Only")], AsyncSwarm(model))

    async def main() -> list[str]:
        async with Client(server.server) as client:
            first = await client.call_tool("ask_only", {"message": "1"})
            again = {"conversation": first.structured_content["conversation"]}
            both = await asyncio.gather(*(client.call_tool("ask_only", {"message": text, **again}) for text in "23"))
            return [answer.structured_content["text"] for answer in both]

    assert asyncio.run(main()) == ["two", "three"]
    assert [len(request["messages"]) for request in model.requests] == [2, 4, 6]


def test_the_oldest_conversation_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """D94"""
    monkeypatch.setattr("swarm.ext.mcp.agents._CONVERSATIONS", 2)
    server = AgentServer([Agent(name="Only")], AsyncSwarm(ScriptedModel(["answer"] * 6)))

    async def main() -> list[bool]:
        async with Client(server.server) as client:
            ids = [(await client.call_tool("ask_only", {"message": "Hi"})).structured_content["conversation"] for _ in range(3)]
            asked = [await client.call_tool("ask_only", {"message": "Hi", "conversation": id}) for id in ids]
            return [answer.is_error for answer in asked]

    assert asyncio.run(main()) == [True, False, False]


def test_each_conversation_begins_with_the_given_context_variables() -> None:
    """D94"""

    def count(context_variables: dict[str, Any]) -> str:
        """Count."""
        context_variables["n"] += 1
        return str(context_variables["n"])

    model = ScriptedModel([call("count"), "one", call("count"), "two", call("count"), "other"])
    given = {"n": 7}
    server = AgentServer([Agent(name="Only", functions=[count])], AsyncSwarm(model), context_variables=given)

    async def main() -> None:
        async with Client(server.server) as client:
            first = await client.call_tool("ask_only", {"message": "1"})
            await client.call_tool("ask_only", {"message": "2", "conversation": first.structured_content["conversation"]})
            await client.call_tool("ask_only", {"message": "3"})

    asyncio.run(main())
    counted = [request["messages"][-1]["content"] for request in model.requests if request["messages"][-1]["role"] == "tool"]
    assert (counted, given) == (["8", "9", "8"], {"n": 7})


def test_limits_and_names() -> None:
    """D94: agents of one name get names of their own; what stopped a run early is said."""
    agents = [Agent(name="Order Desk"), Agent(name="Order-desk"), Agent(name="名前")]
    model = ScriptedModel([call("no_such_tool"), "never"])
    server = AgentServer(agents, AsyncSwarm(model), max_turns=1)

    async def main() -> Any:
        async with Client(server.server) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            return names, (await client.call_tool(names[0], {"message": "Hi"})).structured_content

    names, answer = asyncio.run(main())
    assert names == ["ask_order_desk", "ask_order_desk_2", "ask_agent"]
    assert (answer["text"], answer["stop_reason"]) == ("Order Desk stopped early (max_turns).", "max_turns")
    with pytest.raises(AgentError, match="at least one agent"):
        AgentServer([], AsyncSwarm(model))


# The command


def test_wrong_use_is_told(swarm: Commands) -> None:  # noqa: F811
    """D94"""
    swarm.write("empty.py", "from swarm import Agent\nagent = Agent()\n")
    for arguments, code, text in (
        (["nonesuch:agent"], 2, "there is no module 'nonesuch'"),
        (["empty:nobody"], 2, "has no 'nobody'"),
        (["empty:agent", "--http", "8000"], 2, "must be HOST:PORT, such as 127.0.0.1:8000"),
        (["empty:agent", "--http", "localhost:99999"], 2, "must be HOST:PORT"),
        (["empty:agent", "--offline", "--base-url", "http://localhost:1/v1"], 2, "exclude each other"),
    ):
        done = swarm.process("mcp", *arguments)
        assert (done.returncode, done.stdout) == (code, ""), done.stderr
        assert text in done.stderr
    assert "swarm mcp shop:triage --http 127.0.0.1:8000" in swarm("mcp", "--help").stdout
