"""`swarm demo`: the shipped examples, offline unless a model is at hand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from swarm.commands import gallery
from swarm.commands.failure import Failure
from tests.commands.conftest import Commands
from tests.loopback import Loopback, completion, json_answer

TOY = '''
from swarm import Agent
about = "A toy with one function."
context_variables = {"name": "James"}

def get_weather(location: str, context_variables: dict):
    """Get the current weather for a city."""
    return f"Sunny in {location}, {context_variables['name']}"

agent = Agent(name="Toy", functions=[get_weather])
'''


@pytest.fixture
def toy(swarm: Commands, monkeypatch: pytest.MonkeyPatch) -> Commands:
    """A checkout with an example `toy`, and one that is broken."""
    swarm.write("examples/__init__.py", "")
    swarm.write("examples/toy/__init__.py", "")
    swarm.write("examples/toy/demo.py", TOY)
    swarm.write("examples/broken/demo.py", "import not_installed_anywhere\n")
    swarm.write("examples/no_demo/main.py", "")
    (swarm.folder / "src" / "swarm").mkdir(parents=True)
    monkeypatch.setattr(gallery, "_PACKAGE", swarm.folder / "src" / "swarm")
    for name in [name for name in sys.modules if name.partition(".")[0] == "examples"]:
        monkeypatch.delitem(sys.modules, name)
    return swarm


def test_without_a_name_they_are_listed(toy: Commands) -> None:
    result = toy("demo")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].split(maxsplit=1) == ["broken", "cannot be loaded: ModuleNotFoundError: No module named 'not_installed_anywhere'"]
    assert lines[1].split(maxsplit=1) == ["toy", "A toy with one function."]
    assert "no_demo" not in result.stdout


def test_an_example_runs_offline_and_says_so(toy: Commands) -> None:
    """D30"""
    result = toy("demo", "toy", "--say", "What is the weather in Paris?")
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == "toy: A toy with one function."
    assert "offline model" in lines[1].lower()
    assert lines[2] == "User: What is the weather in Paris?"
    assert "  <- Sunny in Paris, James" in lines


@pytest.mark.parametrize("way", ["environment", "option"])
def test_a_model_at_hand_is_used_and_named(toy: Commands, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    with Loopback(json_answer(completion("Hello from afar"))) as server:
        if way == "environment":
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            monkeypatch.setenv("SWARM_MODEL", "llama3.2")
            result = toy("demo", "toy", "--say", "hi")
        else:
            result = toy("demo", "toy", "--say", "hi", "--base-url", server.url, "--model", "llama3.2")
    assert result.exit_code == 0, result.stderr
    assert f"Model: llama3.2 at {server.url}" in result.stdout
    assert "Toy: Hello from afar" in result.stdout
    assert server.requests[0].json["model"] == "llama3.2"


def test_offline_can_be_asked_for_though_a_model_is_at_hand(toy: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    """D30"""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    result = toy("demo", "toy", "--offline", "--say", "What is the weather in Paris?")
    assert "  <- Sunny in Paris, James" in result.stdout
    assert "sk-1" not in result.output


@pytest.mark.parametrize(("key", "offline"), [("", True), ("sk-1", False)])
def test_an_example_is_prepared_before_the_talk(toy: Commands, monkeypatch: pytest.MonkeyPatch, key: str, offline: bool) -> None:
    """It is told who answers, and what it does to the context variables counts."""
    prepare = "def prepare(offline, note):\n    context_variables['name'] = 'Ann'\n    note(f'Prepared, offline: {offline}.')\n"
    toy.write("examples/toy/demo.py", TOY + prepare)
    monkeypatch.setenv("OPENAI_API_KEY", key)
    result = toy("demo", "toy", "--say", "/context")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[1] == f"Prepared, offline: {offline}."
    assert '"name": "Ann"' in result.stdout


def test_an_example_that_there_is_not(toy: Commands) -> None:
    result = toy("demo", "nonsense")
    assert (result.exit_code, result.stderr) == (2, "Error: there is no example 'nonsense'; there are broken, toy\n")


def test_an_installed_package_has_them_inside(swarm: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    swarm.write("lib/swarm/_examples/toy/demo.py", TOY)
    swarm.write("lib/examples/other/demo.py", TOY)
    monkeypatch.setattr(gallery, "_PACKAGE", swarm.folder / "lib" / "swarm")
    assert gallery.names() == ["toy"]


def test_a_package_without_examples_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gallery, "_PACKAGE", tmp_path / "lib" / "swarm")
    with pytest.raises(Failure, match="the examples are missing"):
        gallery.names()


def test_the_airline_takes_lines_from_a_pipe(swarm: Commands) -> None:
    result = swarm.process("demo", "airline", input="I lost my bag\n")
    assert (result.returncode, result.stderr) == (0, "")
    assert "  => Triage Agent hands over to " in result.stdout


def test_every_example_is_listed_with_its_line(swarm: Commands) -> None:
    result = swarm("demo")
    assert result.exit_code == 0
    assert "airline" in result.stdout
    assert "cannot be loaded" not in result.stdout
