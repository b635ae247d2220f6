"""From `module:agent` to an Agent: what is found, and what is said when it is not."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest

from swarm import Agent, Handoff, Result, tool
from swarm.commands.failure import Failure
from swarm.commands.target import load_target, reachable
from tests.commands.conftest import Commands

ONE = "from swarm import Agent\nagent = Agent(name='One')\n"
TWO = "from swarm import Agent\nagent = same = Agent(name='One')\nother = Agent(name='Two')\nnumber = 1\n"


def failure_of(target: str) -> Failure:
    with pytest.raises(Failure) as caught:
        load_target(target)
    return caught.value


def test_a_module_of_the_current_directory(swarm: Commands) -> None:
    swarm.write("one.py", ONE)
    assert load_target("one:agent")[0].name == "One"


def test_a_module_in_a_package(swarm: Commands) -> None:
    swarm.write("house/__init__.py", "")
    swarm.write("house/desk.py", "from .names import NAME\nfrom swarm import Agent\nagent = Agent(name=NAME)\n")
    swarm.write("house/names.py", "NAME = 'Desk'\n")
    assert load_target("house.desk:agent")[0].name == "Desk"
    assert load_target("house/desk.py:agent")[0].name == "Desk"


@pytest.mark.parametrize("target", ["deep/agents.py:agent", "./deep/agents.py:agent", "deep/agents.py"])
def test_a_file_whose_neighbours_are_importable(swarm: Commands, target: str) -> None:
    swarm.write("deep/agents.py", "from neighbour_of_agents import NAME\nfrom swarm import Agent\nagent = Agent(name=NAME)\n")
    swarm.write("deep/neighbour_of_agents.py", "NAME = 'Deep'\n")
    assert load_target(target)[0].name == "Deep"


def test_an_absolute_path(swarm: Commands, tmp_path: Path) -> None:
    swarm.write("one.py", ONE)
    assert load_target(f"{tmp_path / 'one.py'}:agent")[0].name == "One"


def test_a_file_named_like_a_module_that_is_loaded_already(swarm: Commands) -> None:
    swarm.write("json.py", ONE)
    assert load_target("json.py:agent")[0].name == "One"
    import json

    assert json.loads("1") == 1


def test_the_only_agent_need_not_be_named(swarm: Commands) -> None:
    swarm.write("one.py", ONE + "again = agent\n")
    assert load_target("one")[0].name == "One"


def test_with_several_agents_one_must_be_named(swarm: Commands) -> None:
    swarm.write("two.py", TWO)
    assert "does not say which agent" in str(failure_of("two"))
    assert "Agents in it: agent, same, other" in str(failure_of("two:"))


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("two:agnet", "'two' has no 'agnet'. Agents in it: agent, same, other"),
        ("two:number", "two:number is of type int, not an Agent. Agents in it: agent, same, other"),
        ("missing_module:agent", "there is no module 'missing_module'"),
        ("two.deeper:agent", "there is no module 'two.deeper'"),
        ("nothing.py:agent", "there is no file 'nothing.py'"),
        (":agent", "names no module"),
        ("..two:agent", "names no module"),
    ],
)
def test_what_is_not_there_is_named(swarm: Commands, target: str, told: str) -> None:
    swarm.write("two.py", TWO)
    failure = failure_of(target)
    assert told in str(failure)
    assert failure.code == 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x = 1\nimport not_installed_anywhere\n", "ModuleNotFoundError: No module named 'not_installed_anywhere'"),
        ("x = 1\nfrom os import nonsense\n", "ImportError: cannot import name 'nonsense' from 'os'"),
        ("x = 1\nfrom swarm import Agent; Agent(name='')\n", "AgentError: Agent(name='') cannot be made"),
        ("x = 1\n1 / 0\n", "ZeroDivisionError: division by zero"),
    ],
)
@pytest.mark.parametrize("target", ["inner_error:agent", "inner_error.py:agent"])
def test_an_error_inside_the_module_is_shown_with_its_place(swarm: Commands, target: str, text: str, told: str) -> None:
    """Not as a module that is missing."""
    path = swarm.write("inner_error.py", text)
    failure = failure_of(target)
    assert told in str(failure)
    assert f"({path}, line 2)" in str(failure)
    assert failure.code == 1


def test_a_syntax_error_names_its_line_once(swarm: Commands) -> None:
    swarm.write("crooked.py", "x = 1\ny = (\n")
    assert str(failure_of("crooked:agent")).endswith("SyntaxError: '(' was never closed (crooked.py, line 2)")


def test_what_a_command_says_of_it(swarm: Commands) -> None:
    result: Any = swarm("run", "missing_module:agent", "hi")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: there is no module 'missing_module'")


direct = Agent(name="Direct")


def to_direct() -> Agent:
    return direct


class Desk:
    def to_direct(self) -> Result:
        return Result(agent=direct)


class Caller:
    def __call__(self) -> Agent:
        return direct


def functions() -> dict[str, Any]:
    enclosed = Agent(name="Enclosed")

    def to_enclosed() -> Agent:
        return enclosed

    return {
        "a global": (to_direct, "Direct"),
        "a closure": (to_enclosed, "Enclosed"),
        "a method": (Desk().to_direct, "Direct"),
        "a partial": (tool(functools.partial(to_direct), name="part"), "Direct"),
        "a tool": (tool(to_direct), "Direct"),
        "no Python function": (tool(Caller(), name="caller"), None),
    }


@pytest.mark.parametrize("kind", functions())
def test_agents_behind_functions_are_found_without_calling_them(kind: str) -> None:
    function, name = functions()[kind]
    names = [agent.name for agent in reachable([Agent(name="First", functions=[function])])]
    assert names == ["First", *([name] if name else [])]


def test_agents_behind_handoffs_are_found_round_and_round() -> None:
    last = Agent(name="Last")
    middle = Agent(name="Middle", handoffs=[Handoff(last)])
    first = Agent(name="First", handoffs=[middle])
    last.handoffs.append(first)
    assert [agent.name for agent in reachable([first])] == ["First", "Middle", "Last"]
