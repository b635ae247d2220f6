"""Processes that are killed while a run waits for a person: what was done is not done again, what was not done is done once."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# One process of a shop that keeps its state in a file. Its arguments: what it does, and where to die.
SHOP = """
import json, os, signal, sys
from pathlib import Path
from swarm import Agent, Swarm, load_state, tool
from swarm.models.scripted import ScriptedModel, call
from swarm.policies import Approval

does, dies = sys.argv[1:]
saved, ran = Path("state.json"), Path("ran.txt")

def die(where):
    if where == dies:
        os.kill(os.getpid(), signal.SIGKILL)

def note(what):
    with ran.open("a") as file:
        file.write(what + "\\n")
    return what

def look_up(item: str):
    return note(f"look_up {item}")

@tool(approval=True)
def pay(amount: int):
    return note(f"pay {amount}")

def ask():
    die("asked")
    return True

def read(stream):
    for event in stream:
        saved.write_text(json.dumps(stream.state()))
        die(type(event).__name__)
    return stream.response

inner = Agent(name="Inner", functions=[pay], client=ScriptedModel([call("pay", {"amount": 3}), "inner done"]))
outer = Agent(name="Outer", functions=[look_up, pay, inner.as_tool(name="inner")])
batch = [call("look_up", {"item": "b"}), call("pay", {"amount": 1}), call("pay", {"amount": 2}), call("inner", {"input": "x"})]
turns = [call("look_up", {"item": "a"}), batch, "done"]
policies = [Approval(ask)] if "ask" in does else []
if does.startswith("begin"):
    response = read(Swarm(ScriptedModel(turns), policies=policies).stream(outer, "go"))
else:
    state = load_state(saved.read_text(), agents=[outer, inner])
    if state["nested"]:
        inner.client = ScriptedModel(["inner done"])
    left = [message for message in state["messages"] if message["role"] == "assistant"]
    approvals = {} if policies else {id: True for id in sys.stdin.read().split()}
    response = read(Swarm(ScriptedModel(turns[len(left):]), policies=policies).resume_stream(state, approvals))
print(response.stop_reason, *(item.id for item in response.pending))
"""


class Shop:
    """The shop's directory, and its processes one after another."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "shop.py").write_text(SHOP, encoding="utf-8")

    def process(self, does: str, dies: str = "", approves: str = "") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "shop.py", does, dies]
        path = {"PYTHONPATH": str(ROOT / "src"), "PATH": ""}
        return subprocess.run(command, cwd=self.folder, env=path, input=approves, capture_output=True, text=True, timeout=60)

    @property
    def ran(self) -> list[str]:
        return (self.folder / "ran.txt").read_text().split("\n")[:-1]


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def test_killed_between_each_pause_and_its_approval(shop: Shop) -> None:
    """X09, D4, D44: three processes, two of them killed at a pause; each tool ran exactly once."""
    assert shop.process("begin", "Paused").returncode == -signal.SIGKILL
    assert shop.ran == ["look_up a"]
    second = shop.process("resume", "Paused", "call_2_2 call_2_3")
    assert second.returncode == -signal.SIGKILL
    assert shop.ran == ["look_up a", "look_up b", "pay 1", "pay 2"]
    third = shop.process("resume", "", "call_2_4/call_1_1")
    assert (third.stdout, third.stderr) == ("complete\n", "")
    assert shop.ran == ["look_up a", "look_up b", "pay 1", "pay 2", "pay 3"]


def test_killed_while_a_person_is_asked(shop: Shop) -> None:
    """X09: whoever was asked is asked again; each tool ran exactly once."""
    assert shop.process("begin ask", "asked").returncode == -signal.SIGKILL
    assert shop.ran == ["look_up a"]
    done = shop.process("resume ask")
    assert (done.stdout, done.stderr) == ("complete\n", "")
    assert shop.ran == ["look_up a", "look_up b", "pay 1", "pay 2", "pay 3"]
