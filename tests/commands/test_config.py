"""`swarm config`, and configurations wherever a command takes an agent."""

from __future__ import annotations

import json

import pytest

from swarm.commands import mcp
from swarm.commands.failure import Failure
from swarm.commands.setup import load_setup
from swarm.errors import ConfigError
from swarm.ext.config import json_schema
from tests.commands.conftest import Commands

TOOLS = '''
from swarm import tool

def look_up(order: int) -> str:
    """Look an order up."""
    return f"order {order}"

@tool(examples=["give me the money back for order 7", "refund order 8"])
def refund(order: int) -> str:
    """Refund an order."""
    return f"refunded {order}"
'''
TEXT = """
functions_from = ["desk_tools"]
agent = "desk"
[context_variables]
roles = "clerk"
[agents.desk]
name = "Desk"
instructions = "Hand over."
handoffs = ["refunds"]
[agents.refunds]
instructions = "Refund."
functions = ["desk_tools.refund"]
handoffs = ["desk"]
[[policies]]
type = "Permission"
allow = [{ roles = "clerk", tools = "refund" }]
"""


@pytest.fixture
def desk(swarm: Commands, monkeypatch: pytest.MonkeyPatch) -> Commands:
    monkeypatch.delenv("SWARM_ALLOW", raising=False)
    swarm.write("desk_tools.py", TOOLS)
    swarm.write("desk.toml", TEXT)
    return swarm


def test_a_check_that_finds_nothing(desk: Commands) -> None:
    """D78"""
    done = desk("config", "check", "desk.toml", "--allow", "desk_tools")
    assert (done.exit_code, done.stdout) == (0, "desk.toml: nothing wrong. Desk begins; agents: 2, policies: 1\n")


def test_a_check_tells_all_with_lines(desk: Commands) -> None:
    """D78"""
    desk.write("other.yaml", "agents:\n  a:\n    modle: x\n")
    done = desk("config", "check", "desk.toml", "other.yaml")
    assert done.exit_code == 1
    assert done.stdout.splitlines() == [
        "desk.toml:2: functions_from[0]: 'desk_tools' is not allowed to be imported for a configuration; if you trust it, "
        "load_config(..., modules=['desk_tools']), or --allow desk_tools or SWARM_ALLOW=desk_tools on the command line",
        "other.yaml:3: agents.a.modle: there is no such key; did you mean 'model'? The keys are: client, description, functions, handoffs, "
        "history_filter, instructions, model, model_settings, name, output_type, parallel_tool_calls, profile, tool_choice",
    ]
    found = json.loads(desk("config", "check", "other.yaml", "--json").stdout)["problems"]
    assert [(problem["source"], problem["line"], problem["key"]) for problem in found] == [("other.yaml", 3, "agents.a.modle")]
    assert json.loads(desk("config", "check", "desk.toml", "--allow", "desk_tools", "--json").stdout) == {"problems": []}


@pytest.mark.parametrize(("file", "told"), [("none.toml", "there is no file 'none.toml'"), ("desk_tools.py", "is no configuration")])
def test_a_check_of_what_is_none(desk: Commands, file: str, told: str) -> None:
    done = desk("config", "check", file)
    assert done.exit_code == 2
    assert told in done.stderr


def test_the_schema_is_printed_or_written(desk: Commands) -> None:
    assert json.loads(desk("config", "schema").stdout) == json_schema()
    assert desk("config", "schema", "-o", "x.json").stdout == ""
    assert json.loads((desk.folder / "x.json").read_text(encoding="utf-8")) == json_schema()


def test_every_command_takes_a_configuration(desk: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    """D73: with its policies and its context variables."""
    done = desk("run", "desk.toml:refunds", "refund order 7", "--offline", "--allow", "desk_tools")
    assert done.exit_code == 0
    assert "Permission allowed refund" in done.stdout and "refunded 7" in done.stdout
    done = desk("check", "desk.toml", "--allow", "desk_tools")
    assert (done.exit_code, done.stdout) == (0, "2 agents, nothing found by 13 rules\n")
    monkeypatch.setenv("SWARM_ALLOW", "another desk_tools")
    assert "-> refunds" in desk("graph", "desk.toml").stdout
    monkeypatch.setenv("SWARM_CONTEXT_VARIABLES__ROLES", "nobody")
    done = desk("chat", "desk.toml:refunds", "--offline", "--say", "refund order 7")
    assert "withheld refund" in done.stdout and "refunded" not in done.stdout


@pytest.mark.parametrize(
    ("target", "told", "code"),
    [
        ("desk.toml", "desk.toml:2: functions_from[0]: 'desk_tools' is not allowed", 1),
        ("none.toml", "there is no file 'none.toml'", 2),
        ("none.yaml:desk", "there is no file 'none.yaml'", 2),
        ("plain.toml:b", "'plain.toml' has no 'b'. Agents in it: a", 2),
    ],
)
def test_a_target_that_cannot_be_had(desk: Commands, target: str, told: str, code: int) -> None:
    """D75: nothing is imported that the command does not allow."""
    desk.write("plain.toml", "[agents.a]\n")
    desk.write("desk_tools.py", "raise SystemExit('imported')")
    done = desk("run", target, "hi", "--offline")
    assert done.exit_code == code
    assert told in done.stderr


def test_the_client_of_a_file(desk: Commands) -> None:
    desk.write("x.toml", 'client = "c"\n[clients.c]\nbase_url = "http://127.0.0.1:1/v1"\napi_key_env = "NO_SUCH_KEY"\n[agents.a]\n')
    setup = load_setup("x.toml")
    assert type(setup.client(True, None)).__name__ == "OfflineModel", "what the command says goes first"
    assert setup.client(False, "http://127.0.0.1:2/v1").base_url == "http://127.0.0.1:2/v1"
    with pytest.raises(ConfigError, match="set NO_SUCH_KEY"):
        setup.client(False, None)
    desk.write("one.py", "from swarm import Agent\nagent = Agent()\n")
    assert (load_setup("one").client(False, None), load_setup("one").swarm, load_setup("one").context_variables) == (None, {}, {})


def test_an_eval_of_a_configuration(desk: Commands) -> None:
    """D73: with its policies."""
    desk.write(
        "cases.json", '[{"conversation": [{"role": "user", "content": "refund order 7"}], "function": "refund", "agent": "refunds"}]'
    )
    assert desk("eval", "desk.toml", "cases.json", "--offline", "--allow", "desk_tools").exit_code == 0
    desk.write("desk.toml", TEXT.replace('roles = "clerk"\n', 'roles = "nobody"\n'))
    assert desk("eval", "desk.toml", "cases.json", "--offline", "--allow", "desk_tools").exit_code == 1


def test_agents_over_mcp_keep_their_policies(desk: Commands) -> None:
    """D73: and begin with its context variables."""
    agents, swarm, context = mcp._offered(["desk.toml"], ["desk_tools"], True, None)
    assert context == load_setup("desk.toml", ["desk_tools"]).context_variables != {}
    assert [agent.name for agent in agents] == ["Desk"]
    assert [type(policy).__name__ for policy in swarm["policies"]] == ["Permission"]
    assert type(swarm["client"]).__name__ == "OfflineModel"
    with pytest.raises(Failure, match="a configuration is served alone"):
        mcp._offered(["desk.toml", "desk_tools:agent"], ["desk_tools"], True, None)


def test_a_conversation_that_is_kept(desk: Commands) -> None:
    """D73: what the file says holds in a session too."""
    command = ("chat", "desk.toml:refunds", "--offline", "--allow", "desk_tools", "--session", "one", "--say")
    assert "Permission allowed refund" in desk(*command, "refund order 7").stdout
    assert "refunded 8" in desk(*command, "refund order 8").stdout


def test_a_type_needs_a_module(desk: Commands) -> None:
    desk.write("x.toml", "[agents.a]\noutput_type = 'int'\n")
    assert "x.toml:2: agents.a.output_type: 'int' must be a dotted path: module.name" in desk("config", "check", "x.toml").stdout
