"""`swarm check`: what it prints, its exit codes, and that it is content with the examples that are shipped."""

from __future__ import annotations

import json

import pytest

from swarm.commands.gallery import names
from swarm.inspection import RULES
from tests.commands.conftest import Commands
from tests.examples.talk import ROOT

CLEAN = '''
from swarm import Agent

def order(item: str) -> str:
    """Order an item."""
    raise SystemExit("nothing is ever called")

def back() -> Agent:
    """Hand back."""
    return triage

triage = Agent(name="Triage", instructions="Find out what the customer wants, and hand over.")
sales = Agent(name="Sales", instructions="You sell bees to beekeepers.", functions=[order, back])
triage.handoffs.append(sales)
agents = [triage, sales]
by_name = {"triage": triage, "sales": sales}
number = 1
nothing = []
mixed = [triage, 1]

def make():
    return triage

def make_both():
    return triage, sales

def make_nothing():
    return None

def fails():
    raise KeyError("nothing")

def ends():
    raise SystemExit(0)

def needs(config):
    return triage

async def later():
    return triage
'''
PLANTED = """
from clean import sales, triage
from swarm import Agent

sales.functions.append(lambda_for := lambda: "x")
sales.functions[-1].__name__ = "mystery"
claims = Agent(name="Claims", instructions="Call pay_out.", handoffs=[triage])
"""


@pytest.fixture
def clean(swarm: Commands) -> Commands:
    """A module without a mistake, and one with two."""
    swarm.write("clean.py", CLEAN)
    swarm.write("planted.py", PLANTED)
    return swarm


def test_nothing_found(clean: Commands) -> None:
    """D36: tools that would end the program are not called."""
    result = clean("check", "clean:triage")
    assert (result.exit_code, result.stdout, result.stderr) == (0, f"2 agents, nothing found by {len(RULES)} rules\n", "")


def test_findings_are_lines_with_rule_agent_and_place(clean: Commands) -> None:
    result = clean("check", "planted:triage")
    first, second, last = result.stdout.splitlines()
    assert result.exit_code == 1
    assert first == (
        "warning unreachable-agent Claims: no handoff leads to it from Triage; give somebody a way to claims, "
        "or name it as a start of its own"
    )
    assert second.startswith("warning no-description Sales: mystery has no description; ")
    assert second.endswith(" (planted.py:5)")
    assert last == "2 agents, 2 warnings. To leave one out: --ignore unreachable-agent"


def test_several_targets_are_several_starts(clean: Commands) -> None:
    result = clean("check", "planted:triage", "planted:claims")
    assert result.exit_code == 1
    assert [line.split(":")[0] for line in result.stdout.splitlines()] == [
        "error unknown-tool Claims",
        "warning no-description Sales",
        "3 agents, 1 error, 1 warning. To leave one out",
    ]


def test_rules_can_be_ignored(clean: Commands) -> None:
    both = ["--ignore", "unreachable-agent", "--ignore", "no-description"]
    assert clean("check", "planted:triage", *both).exit_code == 0
    assert clean("check", "planted:triage", "--ignore", "warning").exit_code == 0
    assert clean("check", "planted:claims", "--ignore", "warning").exit_code == 1
    result = clean("check", "planted:triage", "--ignore", "nonsense")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: there is no rule 'nonsense' to ignore; the rules are broken-agent, same-agent-name,")


def test_json(clean: Commands) -> None:
    clean.write("noisy.py", "print('noise')\nfrom planted import *\n")
    result = clean("check", "noisy:triage", "--json")
    data = json.loads(result.stdout)
    assert (result.exit_code, result.stderr) == (1, "noise\n")
    assert set(data) == {"targets", "version", "agents", "findings", "unread"}
    assert (data["targets"], data["version"], data["agents"], data["unread"]) == (["noisy:triage"], 1, ["Triage", "Sales"], [])
    assert [(finding["rule"], finding["severity"], finding["agent"], finding["tool"]) for finding in data["findings"]] == [
        ("unreachable-agent", "warning", "Claims", None),
        ("no-description", "warning", "Sales", "mystery"),
    ]
    assert all(set(finding) == {"rule", "severity", "agent", "tool", "message", "where"} for finding in data["findings"])


@pytest.mark.parametrize("name", ["agents", "by_name", "make", "make_both"])
def test_a_target_may_be_several_agents_or_a_function_that_makes_them(clean: Commands, name: str) -> None:
    result = clean("check", f"clean.py:{name}")
    assert (result.exit_code, result.stdout) == (0, f"2 agents, nothing found by {len(RULES)} rules\n")


@pytest.mark.parametrize(
    ("target", "code", "told"),
    [
        ("missing_module:agent", 2, "there is no module 'missing_module'"),
        ("clean:nobody", 2, "'clean' has no 'nobody'. Agents in it: triage, sales"),
        ("clean", 2, "does not say which agent"),
        ("clean:number", 2, "clean:number is of type int, not an Agent. Agents in it: triage, sales"),
        ("clean:nothing", 2, "clean:nothing is an empty list. Agents in it: triage, sales"),
        ("clean:mixed", 2, "clean:mixed is a list that holds something else than agents. Agents in it"),
        ("clean:make_nothing", 2, "clean:make_nothing is a function that returns no agent. Agents in it"),
        ("clean:fails", 1, "clean:fails() failed: KeyError: 'nothing'"),
        ("clean:ends", 1, "clean:ends() failed: SystemExit: 0"),
        ("clean:needs", 2, "clean:needs is a function that needs config; name an agent, or a function without parameters"),
        ("clean:later", 2, "clean:later is no plain function"),
        ("ends:agent", 1, "'ends' cannot be imported: SystemExit: 0"),
        ("asks:agent", 1, 'put what should not run on import under `if __name__ == "__main__":`'),
        ("doubled:agent", 1, "Agent 'A' has two functions called 'f'; rename one"),
    ],
)
def test_what_cannot_be_checked_is_told(clean: Commands, target: str, code: int, told: str) -> None:
    """A module that ends the program while it is imported would otherwise pass a check in CI."""
    clean.write("ends.py", "import sys\nfrom swarm import Agent\nagent = Agent()\nsys.exit(0)\n")
    clean.write("asks.py", "from swarm import Agent\nagent = Agent()\ninput()\n")
    clean.write(
        "doubled.py", "from swarm import Agent\ndef f(): pass\ndef g(): pass\ng.__name__ = 'f'\nagent = Agent(name='A', functions=[f, g])\n"
    )
    result = clean("check", target)
    assert (result.exit_code, result.stdout) == (code, "")
    assert told in result.stderr


def test_dynamic_instructions_are_named_and_no_finding(swarm: Commands) -> None:
    swarm.write("dynamic.py", "from swarm import Agent\ndef say(context_variables):\n    return 1 / 0\nagent = Agent(instructions=say)\n")
    result = swarm("check", "dynamic:agent")
    assert (result.exit_code, result.stdout.splitlines()[0]) == (0, "note Agent: instructions are a function (dynamic), not read")


def test_names_cannot_forge_a_line(swarm: Commands) -> None:
    swarm.write("forged.py", "from swarm import Agent\nagent = Agent(name='A\\x1b[2J\\nerror', instructions='Call do_it.')\n")
    first, _ = swarm("check", "forged:agent").stdout.splitlines()
    assert first.startswith("error unknown-tool A�[2J error: the instructions name do_it, ")


TOLD_SO = "examples/support_bot/demo.py:agent"
EXAMPLES = [one for name in names() for what in ("agent", "agents") if (one := f"examples/{name}/demo.py:{what}") != TOLD_SO]
SINGLE = ["basic/agent_handoff.py:english_agent", "basic/function_calling.py:agent", "basic/context_variables.py:agent"]
TOGETHER = ("routines/step2_two_agents.py:sales_agent", "routines/step2_two_agents.py:refund_agent")


@pytest.mark.parametrize("targets", [*((one,) for one in EXAMPLES), *((f"examples/{one}",) for one in SINGLE), TOGETHER], ids="+".join)
def test_the_examples_are_clean(swarm: Commands, targets: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example that is shipped, from where it begins."""
    monkeypatch.setenv("SWARM_OFFLINE", "1")  # some scripts talk when they are imported
    monkeypatch.chdir(ROOT)
    paths = [target if target.startswith("examples/") else f"examples/{target}" for target in targets]
    result = swarm("check", *paths)
    assert result.exit_code == 0, result.stdout + result.stderr
    assert f"nothing found by {len(RULES)} rules" in result.stdout


def test_the_desk_from_which_nobody_goes_back_is_told_so(swarm: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    """The support bot's only warning, which its README names."""
    monkeypatch.chdir(ROOT)
    result = swarm("check", TOLD_SO, "--json")
    assert [(finding["rule"], finding["agent"]) for finding in json.loads(result.stdout)["findings"]] == [
        ("no-way-back", "Help Center Agent")
    ]


def test_the_step_that_hands_over_without_a_way_back_is_told_so(swarm: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other examples' only warnings, which their README names."""
    monkeypatch.chdir(ROOT)
    result = swarm("check", "examples/routines/step3_handoffs.py:triage_agent", "--ignore", "unreachable-agent", "--json")
    assert [finding["rule"] for finding in json.loads(result.stdout)["findings"]] == ["no-way-back", "no-way-back"]
