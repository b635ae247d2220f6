"""How the tests of the command line call it: in this process, as a process with pipes, and as a process on a terminal."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from swarm.cli import build_app

SOURCES = Path(__file__).parent.parent.parent / "src"
VARIABLES = ["OPENAI_API_KEY", "OPENAI_BASE_URL", "SWARM_OFFLINE", "SWARM_MODEL", "NO_COLOR", "FORCE_COLOR"]

SHOP = '''
"""A shop with a scripted model: what the agents do is known, word by word."""
from swarm import Agent, Result, tool
from swarm.models.scripted import ScriptedModel, call

def to_refunds():
    """Hand over to refunds."""
    return refunds

def look_up(item: str, count: int = 1) -> Result:
    """Look up an item."""
    return Result(value=f"{count} of {item}", context_variables={"item": item})

def fails():
    raise ValueError("out of order")

model = ScriptedModel([
    "How can I help?",
    call("to_refunds"),
    [call("look_up", {"item": "red [b]shoe[/b]"}), call("fails")],
    "It is [red]on[/red] its way.",
    "Bye.",
])
refunds = Agent(name="Refunds", functions=[look_up, fails], client=model)
triage = Agent(name="Triage", functions=[to_refunds], client=model)
'''


class Commands:
    """Calls `swarm` in a directory of its own.

    Attributes:
        folder: that directory.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, name: str, text: str) -> Path:
        """Put a file there."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def __call__(self, *arguments: str, input: str | None = None) -> Any:
        """In this process. Has `exit_code`, `stdout` and `stderr`; standard input is no terminal."""
        result = CliRunner().invoke(build_app(), list(arguments), input=input, prog_name="swarm")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    def process(self, *arguments: str, input: str = "") -> subprocess.CompletedProcess[str]:
        """As a process of its own, with pipes."""
        command = [sys.executable, "-m", "swarm", *arguments]
        return subprocess.run(
            command, input=input, cwd=self.folder, env=self.environment(), capture_output=True, encoding="utf-8", timeout=50, check=False
        )

    def environment(self) -> dict[str, str]:
        """Of such a process: this one's, with our sources importable."""
        return {**os.environ, "PYTHONPATH": str(SOURCES), "PYTHONIOENCODING": "utf-8", "TERM": "xterm"}

    def terminal(self, *arguments: str, typed: Sequence[tuple[str, str]]) -> tuple[int, str]:
        """As a process on a terminal.

        Args:
            arguments: of the command.
            typed: what to wait for on the screen, and what to type then.

        Returns:
            the exit code, and everything on the screen.
        """
        process, screen = pty.fork()
        if process == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # whoever runs the tests may ignore Ctrl-C
            os.chdir(self.folder)
            os.execve(sys.executable, [sys.executable, "-m", "swarm", *arguments], self.environment())
        shown = ""
        for awaited, keys in typed:
            seen = len(shown)
            while awaited not in shown[seen:]:
                piece = _read(screen)
                assert piece, f"{awaited!r} never came:\n{shown}"
                shown += piece
            if keys == "\x03":
                time.sleep(0.3)  # readline loses a Ctrl-C that comes between its prompt and its wait for a key
            os.write(screen, keys.encode())
        while piece := _read(screen):
            shown += piece
        os.close(screen)
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), shown.replace("\r\n", "\n")


def _read(screen: int) -> str:
    """What comes next, or "" when the process has ended or has nothing to say for a long time."""
    if not select.select([screen], [], [], 40)[0]:
        return ""
    try:
        return os.read(screen, 4096).decode("utf-8", "replace")
    except OSError:  # Linux says so when the other end is closed
        return ""


@pytest.fixture
def swarm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Commands]:
    """The command line in an empty directory, without anything from the machine that runs the tests."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    modules = set(sys.modules)
    yield Commands(tmp_path)
    for name in set(sys.modules) - modules:
        if str(getattr(sys.modules[name], "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def shop(swarm: Commands) -> Commands:
    """The same with a module `shop`."""
    swarm.write("shop.py", SHOP)
    return swarm
