"""What becomes of sessions with MCP servers: killed, slow, changed, closed, shared by threads and loops."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from swarm import Agent, AsyncSwarm, Limits, RunTimeout, ScriptedModel, Swarm
from swarm.errors import ConfigError
from swarm.ext.mcp import McpServer
from swarm.models.scripted import call
from tests.ext.mcp.conftest import OLD_SERVER, SERVER, OverHttp, called, free_port, is_running, python, told, until
from tests.modes import Drive

MANY = 200


@pytest.fixture(scope="module")
def mortal(notes: Path) -> Iterator[McpServer]:
    """A server that dies a lot."""
    with McpServer(sys.executable, [SERVER, str(notes)], name="mortal") as server:
        yield server


@pytest.fixture(scope="module")
def hasty(notes: Path) -> Iterator[McpServer]:
    """A server that is not waited for."""
    with McpServer(sys.executable, [SERVER, str(notes)], name="hasty", timeout=0.2) as server:
        yield server


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[McpServer]:
    """A server of one test's own."""
    with McpServer(sys.executable, [SERVER, str(tmp_path)], name="fresh") as server:
        yield server


def pid_of(server: McpServer) -> str:
    (text,) = told(Swarm(ScriptedModel([call("pid"), "Done."])).run(Agent(functions=[*server.tools()]), "Go on"))
    return text


def own_function() -> str:
    """Not of a server."""
    return "own"


def noted(folder: Path, what: str) -> int:
    """How often a server noted something."""
    file = folder / what
    return len(file.read_text(encoding="utf-8").splitlines()) if file.exists() else 0


# Broken connections


def test_a_call_in_which_the_server_died_is_not_made_again(drive: Drive, mortal: McpServer, notes: Path) -> None:
    """D91: the model is told what is known, and the next call finds a new process."""
    died = noted(notes, "died")
    before, told, after = called(drive, Agent(functions=[*mortal.tools()]), "pid", "die", "pid")
    assert told == (
        "Error: the connection to mortal broke during die (Connection closed): it may have run or not. Find out before you call it again."
    )
    assert noted(notes, "died") == died + 1
    assert before != after and after.isdecimal()


def test_a_call_that_only_reads_is_made_again(drive: Drive, mortal: McpServer, notes: Path) -> None:
    """D91"""
    (notes / "died-once").unlink(missing_ok=True)
    assert called(drive, Agent(functions=[*mortal.tools()]), "die_once") == ["alive"]
    assert noted(notes, "died-once") == 1


def test_a_server_that_does_not_start_again(fresh: McpServer, tmp_path: Path) -> None:
    """D91: its last words are in the error."""
    agent = Agent(functions=[*fresh.tools()])
    os.kill(int(pid_of(fresh)), signal.SIGKILL)
    (tmp_path / "refuse").touch()
    (text,) = told(Swarm(ScriptedModel([call("die_once"), "Done."])).run(agent, "Go on"))
    assert text.startswith("Error: MCP server 'fresh' cannot be used: ") and "this server does not start again" in text
    (tmp_path / "refuse").unlink()
    assert pid_of(fresh).isdecimal()


def test_killed_from_outside_in_the_middle(fresh: McpServer, tmp_path: Path) -> None:
    """D91: of three calls at once two were running and one only reads."""
    pid = pid_of(fresh)

    def kill() -> None:
        until(lambda: noted(tmp_path, "slow-began") == 2)
        os.kill(int(pid), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    calls = [call("slow", {"seconds": 60}), call("slow", {"seconds": 60})]
    texts = told(Swarm(ScriptedModel([calls, call("pid"), "Done."]), parallel_tools=True).run(Agent(functions=[*fresh.tools()]), "Go on"))
    killer.join()
    assert all("it may have run or not" in text for text in texts[:2])
    assert texts[2] not in (pid, "") and texts[2].isdecimal()


# Time limits and cancelling


def test_a_slow_call_is_given_up_and_cancelled_at_the_server(drive: Drive, hasty: McpServer, notes: Path) -> None:
    """D92"""
    cancelled, agent = noted(notes, "slow-cancelled"), Agent(functions=[*hasty.tools()])

    def given_up() -> bool:
        response = drive(agent, "Go on", [call("slow", {"seconds": 60}), "Done."])
        assert (told(response), response.calls[0].outcome) == (["Error: timed out after 0.2 s"], "timed_out")
        return noted(notes, "slow-began") > cancelled  # a busy machine may have been too slow to begin

    until(given_up)
    until(lambda: noted(notes, "slow-cancelled") > cancelled)


def test_the_end_of_a_runs_time_cancels_its_call(drive: Drive, server: McpServer, notes: Path) -> None:
    """D92, D51"""
    cancelled, agent = noted(notes, "slow-cancelled"), Agent(functions=[*server.tools()])

    def given_up() -> bool:
        with pytest.raises(RunTimeout):
            drive(agent, "Go on", [call("slow", {"seconds": 60})], timeout=0.3)
        return noted(notes, "slow-began") > cancelled

    until(given_up)
    until(lambda: noted(notes, "slow-cancelled") > cancelled)


def test_cancelling_a_task_cancels_the_call(fresh: McpServer, tmp_path: Path) -> None:
    """D92, D49"""

    async def main() -> None:
        run = AsyncSwarm(ScriptedModel([call("slow", {"seconds": 60})])).run(Agent(functions=[*fresh.tools()]), "Go on")
        task = asyncio.create_task(run)
        while not noted(tmp_path, "slow-began"):
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    until(lambda: noted(tmp_path, "slow-cancelled"))
    assert pid_of(fresh).isdecimal()


# Many at once


@pytest.mark.parametrize("kind", [Swarm, AsyncSwarm])
def test_two_hundred_calls_at_once(server: McpServer, kind: Any) -> None:
    """D92"""
    model = ScriptedModel([[call("add", {"a": number, "b": 1}) for number in range(MANY)], "Done."])
    response = kind(model, parallel_tools=True).run(Agent(functions=[*server.tools()]), "Go on")
    response = asyncio.run(response) if kind is AsyncSwarm else response
    assert told(response) == [str(number + 1) for number in range(MANY)]


def test_threads_and_loops_share_one_session(server: McpServer) -> None:
    """D92"""
    agent, process = Agent(functions=[*server.tools()]), pid_of(server)

    def script(number: int) -> ScriptedModel:
        return ScriptedModel([*(call("add", {"a": number, "b": step}) for step in range(5)), call("pid"), "Done."])

    def in_sync(number: int) -> list[str]:
        return told(Swarm(script(number)).run(agent, "Go on"))

    def in_a_loop(number: int) -> list[str]:
        async def several() -> list[Any]:
            return await asyncio.gather(*(AsyncSwarm(script(number)).run(agent, "Go on") for _ in range(5)))

        first, *others = map(told, asyncio.run(several()))
        assert all(other == first for other in others)
        return first

    with ThreadPoolExecutor(8) as pool:
        found = [pool.submit(in_sync if number % 2 else in_a_loop, number) for number in range(16)]
        for number, future in enumerate(found):
            assert future.result() == [*(str(number + step) for step in range(5)), process]


def test_connecting_at_once_starts_one_process(tmp_path: Path) -> None:
    """D92"""
    server = McpServer(sys.executable, [SERVER, str(tmp_path)])
    with ThreadPoolExecutor(8) as pool:
        assert len({tuple(map(id, tools)) for tools in pool.map(lambda _: server.tools(), range(8))}) == 1
    server.close()


def test_connected_inside_an_event_loop(tmp_path: Path) -> None:
    """D92"""

    async def main() -> list[str]:
        async with McpServer(sys.executable, [SERVER, str(tmp_path)]) as server:
            agent = server.equip(Agent())
            read = await asyncio.to_thread(server.read, "notes://today")
            response = await AsyncSwarm(ScriptedModel([call("add", {"a": 1, "b": 1}), "Done."])).run(agent, "Go on")
            return [*told(response), read.value]

    assert asyncio.run(main()) == ["2", "Nothing."]


# Changing lists


def test_the_next_run_sees_changed_tools(drive: Drive, server: McpServer) -> None:
    """D93"""
    own = Agent(functions=[*server.tools()])
    agent = server.equip(Agent(functions=[own_function]))
    kept = agent.functions[1]
    assert called(drive, agent, ("learn", {"name": "dance"})) == ["learnt"]
    until(lambda: len(agent.functions) == len(own.functions) + 2)
    assert called(drive, agent, "dance") == ["dance"]
    assert agent.functions[:2] == [own_function, kept], "what did not change is the same"
    assert called(drive, agent, ("forget", {"name": "dance"})) == ["forgotten"]
    until(lambda: len(agent.functions) == len(own.functions) + 1)
    assert called(drive, agent, "dance")[0].startswith("Error: Tool dance not found.")


def test_a_new_tool_with_a_name_that_is_taken_is_left_out(fresh: McpServer, caplog: pytest.LogCaptureFixture) -> None:
    """D93: a server must not be able to break a run by what it offers."""
    agent = fresh.equip(Agent(functions=[own_function]))
    model = ScriptedModel([call("learn", {"name": "own_function"}), "Done."])
    assert told(Swarm(model).run(agent, "Go on")) == ["learnt"]
    until(lambda: "own_function" in [tool.name for tool in fresh.tools()])
    until(lambda: [message for message in caplog.messages if "its new tool own_function is left out" in message])
    assert told(Swarm(ScriptedModel([call("own_function"), "Done."])).run(agent, "Go on")) == ["own"]


def test_an_older_server_tells_of_changes_too() -> None:
    """D93"""
    with McpServer(sys.executable, [OLD_SERVER], prefix="old_") as server:
        agent = server.equip(Agent())
        assert told(Swarm(ScriptedModel([call("old_grow"), "Done."])).run(agent, "Go on")) == [""]
        until(lambda: "old_grown" in [tool.name for tool in server.tools()])
        assert len(agent.functions) == len(server.tools())


# Beginning and end


def test_closing_ends_the_process(tmp_path: Path) -> None:
    """D92"""
    server = McpServer(sys.executable, [SERVER, str(tmp_path)], name="closed")
    agent, process = server.equip(Agent()), pid_of(server)
    assert is_running(process)
    server.close()
    assert not is_running(process)
    server.close()
    with pytest.raises(ConfigError, match="MCP server 'closed' was closed"):
        server.tools()
    (text,) = told(Swarm(ScriptedModel([call("pid"), "Done."])).run(agent, "Go on"))
    assert text == "Error: MCP server 'closed' was closed; make a new McpServer to use it again"


END = """
import sys
from swarm import Agent, ScriptedModel, Swarm
from swarm.ext.mcp import McpServer
from swarm.models.scripted import call

server = McpServer(sys.executable, sys.argv[1:])
agent = Agent(functions=[*server.tools()])
print(Swarm(ScriptedModel([call("pid"), "Done."])).run(agent, "Go on").messages[1]["content"])
"""


def test_the_end_of_the_program_ends_the_process(tmp_path: Path) -> None:
    """D92: without `close`, and without a word."""
    done = python(END, SERVER, str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert not is_running(done.stdout.strip())


def test_a_forked_process_has_a_session_of_its_own(tmp_path: Path) -> None:
    """D92, D51"""
    fork = END.replace("agent =", "import os\nchild = os.fork()\nagent =") + "if child: os.waitpid(child, 0)\n"
    done = python(f"import warnings\nwarnings.simplefilter('ignore', DeprecationWarning)\n{fork}", SERVER, str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    processes = done.stdout.split()
    assert len(set(processes)) == 2
    assert not any(map(is_running, processes))


def test_what_cannot_be_started_says_why() -> None:
    """D91"""
    with pytest.raises(ConfigError, match="MCP server 'nonesuch' cannot be used: there is no 'nonesuch' to run"):
        McpServer("nonesuch").tools()
    with pytest.raises(ConfigError, match=r"(?s)'broken' cannot be used.*Its last words:.*No module named 'nonesuch'"):
        McpServer(sys.executable, ["-c", "import nonesuch"], name="broken").tools()
    with pytest.raises(ConfigError, match=r"(?s)'mute' did not answer within 0.5 s.*I think"):
        program = "import sys, time; print('I think', file=sys.stderr, flush=True); time.sleep(60)"
        McpServer(sys.executable, ["-c", program], name="mute", connect_timeout=0.5).tools()


def rough(kind: str) -> McpServer:
    return McpServer(sys.executable, [str(Path(__file__).with_name("rough_server.py")), kind], name="rough")


def test_tools_that_break_the_protocol_say_why() -> None:
    """D91: an error of this library, as for whatever else is wrong with a server."""
    with pytest.raises(ConfigError, match=r"'rough' lists tools that cannot be used: tools\.0\.inputSchema: Input should be"):
        rough("tools").tools()


def test_a_result_that_breaks_the_protocol_is_one_line_for_the_model() -> None:
    """D91"""
    with rough("results") as server:
        (text,) = told(Swarm(ScriptedModel([call("work"), "Done."])).run(Agent(functions=[*server.tools()]), "Go on"))
    assert text.startswith("Error: work: rough sent what cannot be used: content.0.")
    assert text.endswith("more)")
    assert "\n" not in text


def test_what_is_printed_between_messages_is_in_our_log(caplog: pytest.LogCaptureFixture) -> None:
    """D90: a line each, and no traceback of the SDK's."""
    with caplog.at_level(logging.INFO), rough("prints") as server:
        (text,) = told(Swarm(ScriptedModel([call("work"), "Done."])).run(Agent(functions=[*server.tools()]), "Go on"))
    assert text == "Fine."
    assert "rough: no message of the protocol: Loading the model ..." in caplog.messages
    assert [record for record in caplog.records if record.name.startswith("mcp") and record.levelno >= logging.WARNING] == []


def test_a_server_gets_no_secrets_but_those_it_is_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """D92"""
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    with McpServer(sys.executable, [SERVER, str(tmp_path)], env={"TOKEN_FOR_IT": "1"}) as server:
        (text,) = told(Swarm(ScriptedModel([call("variables"), "Done."])).run(Agent(functions=[*server.tools()]), "Go on"))
    assert "TOKEN_FOR_IT" in text.split() and "PATH" in text.split()
    assert "OPENAI_API_KEY" not in text


# Over HTTP


@pytest.fixture
def over_http(tmp_path: Path) -> Iterator[OverHttp]:
    server = OverHttp(sys.executable, SERVER, str(tmp_path), "--http", port=free_port())
    yield server
    server.kill()


def test_over_http(drive: Drive, over_http: OverHttp, tmp_path: Path) -> None:
    """D90, D91, D93: the same tools, and a server that was started again in between."""
    with McpServer(url=over_http.url, name="web") as server:
        agent = server.equip(Agent())
        before = len(agent.functions)
        assert called(drive, agent, ("add", {"a": 1, "b": 2}), "fail", ("learn", {"name": "dance"})) == [
            "3",
            "Error: Error executing tool fail",
            "learnt",
        ]
        until(lambda: len(agent.functions) == before + 1)
        over_http.kill()
        (down,) = called(drive, agent, ("learn", {"name": "sing"}))
        assert down.startswith("Error: MCP server 'web' cannot be used: no connection: ")
        over_http.start()
        assert called(drive, agent, ("learn", {"name": "sing"})) == ["learnt"]


def test_a_call_over_http_that_broke_is_not_made_again(over_http: OverHttp, tmp_path: Path) -> None:
    """D91"""
    with McpServer(url=over_http.url, name="web") as server:
        model = ScriptedModel([call("slow", {"seconds": 60}), "Done."])
        killer = threading.Thread(target=lambda: (until(lambda: noted(tmp_path, "slow-began")), over_http.kill()))
        killer.start()
        (text,) = told(Swarm(model).run(Agent(functions=[*server.tools()]), "Go on"))
        killer.join()
        assert text.startswith("Error: the connection to web broke during slow") and "it may have run or not" in text
        over_http.start()
        assert (pid_of(server), noted(tmp_path, "slow-began")) == (str(over_http.process.pid), 1)


def test_two_hundred_calls_over_http(over_http: OverHttp) -> None:
    """D92"""
    with McpServer(url=over_http.url) as server:
        model = ScriptedModel([[call("add", {"a": number, "b": 1}) for number in range(MANY)], "Done."])
        response = asyncio.run(AsyncSwarm(model, parallel_tools=True).run(Agent(functions=[*server.tools()]), "Go on"))
    assert told(response) == [str(number + 1) for number in range(MANY)]


def test_a_cancelled_call_over_http_is_cancelled_there(over_http: OverHttp, tmp_path: Path) -> None:
    """D92"""
    with McpServer(url=over_http.url, timeout=0.3) as server:

        def given_up() -> int:
            model = ScriptedModel([call("slow", {"seconds": 60}), "Done."])
            assert told(Swarm(model).run(Agent(functions=[*server.tools()]), "Go on")) == ["Error: timed out after 0.3 s"]
            return noted(tmp_path, "slow-began")

        until(given_up)
        until(lambda: noted(tmp_path, "slow-cancelled"))


def test_a_session_that_the_server_forgot_is_begun_anew() -> None:
    """D91: an older server with sessions; the call that it refused did not run and is made in the new one."""
    old = OverHttp(sys.executable, OLD_SERVER, "--http", port=free_port())
    try:
        with pytest.raises(ConfigError, match="the server answers 401 Unauthorized: give headers="):
            McpServer(url=old.url).tools()
        with McpServer(url=old.url, headers={"Authorization": "Bearer secret"}) as server:
            model = ScriptedModel([call("echo"), call("forget"), call("echo"), "Done."])
            texts = told(Swarm(model).run(Agent(functions=[*server.tools()]), "Go on", limits=Limits(repeats=None)))
        assert [text.partition(',"count":')[2] for text in texts] == ["1}", "2}", "3}"]
    finally:
        old.kill()
