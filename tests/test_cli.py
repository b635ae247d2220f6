"""The command `swarm` itself: help, version, and what it says when its extra is missing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from typer.testing import CliRunner

from swarm.cli import build_app
from swarm.commands import root

SOURCES = Path(__file__).parent.parent / "src"
TALKING = ("run", "chat", "demo")
COMMANDS = (*TALKING, "check", "graph", "eval", "export", "mcp", "a2a", "config", "sessions")


def output(*arguments: str) -> str:
    result = CliRunner().invoke(build_app(), list(arguments), prog_name="swarm")
    assert result.exit_code == 0
    return result.stdout


def process(*command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(SOURCES), "COLUMNS": "120"}
    return subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, check=False, timeout=50)


def test_the_commands_are_listed() -> None:
    listed = re.findall(r"^  (\w+)  +\S", output("--help").partition("Commands:")[2], re.MULTILINE)
    assert listed == list(COMMANDS)


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)])
def test_every_command_has_help_with_examples(command: list[str]) -> None:
    text = output(*command, "--help")
    examples = text.partition("Examples:\n")[2]
    assert re.match(rf"    swarm {''.join(command)}", examples)
    assert "\b" not in text


@pytest.mark.parametrize("option", ["--model", "--base-url", "--offline", "--max-turns", "--json", "--debug"])
@pytest.mark.parametrize("command", TALKING)
def test_the_options_of_a_conversation_are_the_same_everywhere(command: str, option: str) -> None:
    assert option in output(command, "--help")


@pytest.mark.parametrize("module", ["swarm", "swarm.cli"])
def test_it_runs_as_a_module(module: str) -> None:
    result = process("-m", module, "--help")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("Usage: swarm ")


def test_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(root, "version", lambda name: {"openswarm": "1.2.3"}[name])
    assert output("--version") == "openswarm 1.2.3\n"


def test_version_of_sources_that_were_never_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(root, "version", missing)
    assert output("--version") == "openswarm of an unknown version\n"


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_a_missing_extra_is_named(missing: str) -> None:
    """The line says what to install, and nothing else is said."""
    code = f"import sys; sys.modules[{missing!r}] = None; sys.argv = ['swarm', 'demo']; from swarm.cli import main; main()"
    result = process("-c", code)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == f'The command line needs {missing}, which is not installed: pip install "openswarm[cli]"\n'


def test_the_repl_needs_no_extra() -> None:
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['typer', 'rich', 'click'])); from swarm.repl import run_demo_loop; import swarm.cli"
    )
    result = process("-c", code)
    assert (result.returncode, result.stderr) == (0, "")


def test_another_missing_module_is_not_taken_for_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    from swarm import cli

    def broken() -> None:
        raise ModuleNotFoundError("No module named 'other'", name="other")

    monkeypatch.setattr(cli, "build_app", broken)
    with pytest.raises(ModuleNotFoundError, match="other"):
        cli.main()
