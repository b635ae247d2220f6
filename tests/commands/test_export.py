"""`swarm export`: what it writes, what it says, how it fails."""

from __future__ import annotations

import json

import pytest

from swarm import Agent, Swarm
from swarm.ext.sessions import SessionStore
from swarm.models.scripted import ScriptedModel, call
from swarm.testing import Tape
from tests.commands.conftest import Commands


def refund(item: int) -> str:
    """Pay an item back."""
    return f"{item} refunded"


@pytest.fixture
def taped(shop: Commands) -> Commands:
    """A folder with a tape and a store of sessions, of the agents in shop.py."""
    agent = Agent(name="Solo", instructions="Refund.", functions=[refund])
    Swarm(Tape(shop.folder / "tape.jsonl", ScriptedModel([call("refund", {"item": 7}), "Done."]), record=True)).run(agent, "Refund 7")
    with SessionStore(str(shop.folder / "sessions.db")) as store:
        Swarm(ScriptedModel(["Yes."])).run(Agent(name="Triage"), "hi", session=store.session("a"))
    return shop


def test_a_tape_becomes_a_file_that_the_check_takes(taped: Commands) -> None:
    """D74"""
    result = taped("export", "tape.jsonl", "-o", "train.jsonl")
    assert (result.exit_code, result.stdout) == (0, "train.jsonl: 1 example\n1 conversation, 2 answers to learn from\n")
    assert "only 1 example: OpenAI's API asks for 10" in result.stderr
    assert json.loads((taped.folder / "train.jsonl").read_text())["messages"][0] == {"role": "system", "content": "Refund."}
    checked = taped("export", "train.jsonl", "--check")
    assert (checked.exit_code, checked.stdout) == (0, "1 example, none of them wrong\n")


def test_the_check_names_the_lines(taped: Commands) -> None:
    (taped.folder / "bad.jsonl").write_text('{"messages": [{"role": "user", "content": "hi"}]}\nnothing\n')
    result = taped("export", "bad.jsonl", "--check")
    assert result.exit_code == 1
    assert result.stdout.startswith("bad.jsonl:1: the last message is not the assistant's\n")
    assert "bad.jsonl:2: no JSON" in result.stdout
    assert result.stdout.endswith("2 examples, 2 of them wrong\n")


def test_agents_say_what_was_told_in_sessions(taped: Commands) -> None:
    result = taped("export", "sessions.db", "--agents", "shop:triage", "-o", "train.jsonl")
    assert result.exit_code == 0
    line = json.loads((taped.folder / "train.jsonl").read_text())
    assert [tool["function"]["name"] for tool in line["tools"]] == ["to_refunds"]
    without = taped("export", "sessions.db", "-o", "none.jsonl")
    assert (without.exit_code, without.stdout.splitlines()[0]) == (1, "none.jsonl: 0 examples")
    assert "the agent 'Triage' is not among those that were given" in without.stderr
    assert "nothing is left to train on" in without.stderr


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (["tape.jsonl"], 2, "say where to write the examples, with -o FILE"),
        (["gone.jsonl", "-o", "x.jsonl"], 2, "there is no file 'gone.jsonl'"),
        (["shop.py", "-o", "x.jsonl"], 1, "is no tape, no results of an eval and no sessions"),
        (["tape.jsonl", "-o", "x.jsonl", "--split", "2"], 1, "must be a share between 0 and 1"),
        (["tape.jsonl", "-o", "x.jsonl", "--redact", "("], 1, "is no regular expression"),
        (["sessions.db", "-o", "x.jsonl", "--agents", "shop:triage", "--learn", "Bee"], 1, "no agent is called 'Bee'; there are Triage"),
    ],
)
def test_what_is_wrong_is_said(taped: Commands, options: list[str], code: int, says: str) -> None:
    result = taped("export", *options)
    assert result.exit_code == code
    assert says in result.stderr
    assert not (taped.folder / "x.jsonl").exists()
