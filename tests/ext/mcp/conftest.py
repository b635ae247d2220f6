"""What the tests of MCP share: real servers, and runs that call their tools."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from swarm import Agent, Limits, Response
from swarm.ext.mcp import McpServer
from swarm.models.scripted import call
from tests.modes import Drive

HERE = Path(__file__).parent
SOURCES = HERE.parent.parent.parent / "src"
SERVER = str(HERE / "server.py")
OLD_SERVER = str(HERE / "old_server.py")


def told(response: Response) -> list[str]:
    """The texts of the tool messages."""
    return [message["content"] for message in response.messages if message["role"] == "tool"]


def called(drive: Drive, agent: Agent, *calls: Any, **options: Any) -> list[str]:
    """What calls come to, one after the other; each a name, or a name and arguments."""
    turns = [call(one) if isinstance(one, str) else call(*one) for one in calls]
    return told(drive(agent, "Go on", [*turns, "Done."], limits=Limits(repeats=None), **options))


def until(happened: Callable[[], Any]) -> Any:
    """Wait for something, which then is returned; the test's own time limit ends a wait for nothing."""
    while not (found := happened()):
        time.sleep(0.01)
    return found


def is_running(pid: str | int) -> bool:
    """Whether a process is there, and no zombie."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return False


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class OverHttp:
    """A server process behind a port.

    Args:
        command: of the process, without the port.
        port: the port.
        prefix: what stands before it in the last argument.
        options: of the process.
    """

    def __init__(self, *command: str, port: int, prefix: str = "", **options: Any) -> None:
        self.url = f"http://127.0.0.1:{port}/mcp"
        self._command = [*command, f"{prefix}{port}"]
        self._port = port
        self._options = options
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self._command, stderr=subprocess.DEVNULL, **self._options)
        until(self._listens)

    def _listens(self) -> bool:
        assert self.process.poll() is None, f"{self._command} ended with {self.process.returncode}"
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._port)) == 0

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def environment() -> dict[str, str]:
    """Of a process that imports our sources and shows every warning."""
    return {**os.environ, "PYTHONPATH": f"{SOURCES}:{SOURCES.parent}", "PYTHONWARNINGS": "error", "SWARM_OFFLINE": ""}


def python(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own."""
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=50, check=False)


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the server notes what it does."""
    return tmp_path_factory.mktemp("notes")


@pytest.fixture(scope="module")
def server(notes: Path) -> Iterator[McpServer]:
    """A server that is connected; one for all tests of a module, as connecting takes a second."""
    with McpServer(sys.executable, [SERVER, str(notes)], name="tests") as server:
        yield server


@pytest.fixture
def equipped(server: McpServer) -> Agent:
    """An agent with the tools of that server."""
    return Agent(functions=[*server.tools()])
