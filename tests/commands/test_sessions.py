"""`swarm sessions`, and `swarm chat --session`: conversations that are kept between calls of the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from swarm import Agent, Swarm, tool
from swarm.commands.kept import KeptConversation
from swarm.ext.sessions import SessionStore, new_key
from swarm.models.scripted import ScriptedModel, call
from tests.commands.conftest import Commands

TWO = """
from swarm import Agent
from swarm.models.scripted import call

class Player:
    blocking = False
    def complete(self, request):
        raise NotImplementedError
    def stream(self, request):
        said = [message["content"] for message in request.request["messages"] if message["role"] == "user"]
        delta = {"content": f"{len(said)}: {said[-1]}"}
        if request.agent.name == "First" and request.request["messages"][-1]["role"] == "user" and said[-1] == "second please":
            delta = {"tool_calls": [{**call("transfer_to_second"), "index": 0, "id": f"c{len(said)}"}]}
        yield {"choices": [{"index": 0, "delta": delta, "finish_reason": "stop"}]}

second = Agent(name="Second", client=Player())
first = Agent(name="First", client=Player(), handoffs=[second])
"""


@pytest.fixture
def two(swarm: Commands, monkeypatch: pytest.MonkeyPatch) -> Commands:
    swarm.write("two.py", TWO)
    monkeypatch.chdir(swarm.folder)
    for name in ("SWARM_SESSIONS", "SWARM_SESSION_KEYS"):
        monkeypatch.delenv(name, raising=False)
    return swarm


def test_a_chat_goes_on_when_the_command_is_called_again(two: Commands) -> None:
    """U05, C10"""
    assert "2: second please" in two("chat", "two:first", "--session", "s", "--say", "hi", "--say", "second please").stdout
    again = two("chat", "two.py:first", "--session", "s", "--say", "and now?", "--say", "/agent")
    assert "Second: 3: and now?" in again.stdout
    with SessionStore(two.folder / "sessions.db") as store:
        assert store.info("s").agent == "Second"  # type: ignore[union-attr]
        assert len(store.messages("s")) == 8


def test_what_a_kept_chat_cannot_do_says_so(two: Commands) -> None:
    two("chat", "two:first", "--session", "s", "--say", "hi", "--say", "/save hi.json")
    assert len(json.loads((two.folder / "hi.json").read_text())["messages"]) == 2
    result = two("chat", "two:first", "--session", "s", "--say", "/reset", "--say", "/load hi.json")
    assert "begin another with --session" in result.stderr + result.stdout
    assert "load the file in one that is not" in result.stderr + result.stdout
    with SessionStore(two.folder / "sessions.db") as store:
        assert len(store.messages("s")) == 2


def test_sessions_are_listed_shown_exported_and_deleted(two: Commands) -> None:
    store = ["--store", "kept.db"]
    for name, text in (("a", "hi"), ("b", "second please")):
        two("chat", "two:first", "--session", name, *store, "--say", text)
    assert [line.split()[2] for line in two("sessions", "list", *store).stdout.splitlines()] == ["b", "a"]
    found = two("sessions", "list", *store, "--text", "SECOND", "--json").stdout
    assert [json.loads(line)["id"] for line in found.splitlines()] == ["b"]
    assert two("sessions", "list", *store, "--until", "2020-01-01").stderr == "no sessions\n"
    shown = two("sessions", "show", "b", *store).stdout
    assert "user: second please\nFirst: transfer_to_second({})\n" in shown
    assert "Second: 1: second please" in shown
    exported = [json.loads(line) for line in two("sessions", "export", *store).stdout.splitlines()]
    assert {line["session"]: line["agent"] for line in exported} == {"a": "First", "b": "Second"}
    assert [json.loads(line)["session"] for line in two("sessions", "export", "a", *store).stdout.splitlines()] == ["a"]
    result = two("sessions", "export", "nobody", "a", *store)
    assert (result.exit_code, result.stderr) == (1, "Error: there is no session 'nobody'; the others are exported\n")
    assert json.loads(result.stdout)["session"] == "a"
    result = two("sessions", "delete", "a", "nobody", *store)
    assert (result.exit_code, result.stderr) == (1, "Error: there is no session 'nobody'; the others are deleted\n")
    assert two("sessions", "delete", "b", *store).exit_code == 0
    assert two("sessions", "show", "b", *store).exit_code == 1


def test_a_store_that_is_not_there_is_not_made(two: Commands) -> None:
    result = two("sessions", "list", "--store", "nowhere.db")
    assert (result.exit_code, result.stderr) == (
        2,
        "Error: there is no session store 'nowhere.db'; say where it is with --store, or in SWARM_SESSIONS\n",
    )
    assert not Path("nowhere.db").exists()


def test_keys_come_from_the_environment(two: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWARM_SESSION_KEYS", new_key())
    monkeypatch.setenv("SWARM_SESSIONS", "sealed.db")
    two("chat", "two:first", "--session", "s", "--say", "my secret")
    assert "my secret" in two("sessions", "show", "s").stdout
    monkeypatch.delenv("SWARM_SESSION_KEYS")
    result = two("sessions", "show", "s")
    assert result.exit_code == 1
    assert "which was not given" in result.stderr
    assert b"secret" not in Path("sealed.db").read_bytes()


def test_a_run_that_paused_elsewhere_is_decided_in_the_chat(tmp_path: Path) -> None:
    """X09: the person at the terminal is asked; what was decided runs, once, and the session goes on."""
    paid: list[int] = []

    @tool(approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    clerk = Agent(name="Clerk", functions=[pay])
    with SessionStore(str(tmp_path / "s.db")) as store:
        paused = Swarm(ScriptedModel([call("pay", {"amount": 5})])).run(clerk, "Pay 5", session=store.session("a"))
        assert paused.stop_reason == "approval"
        chat = KeptConversation(ScriptedModel(["It is paid.", "Bye."]), clerk, store.session("a"), {}, [clerk])
        assert chat.waits
        asked: list[str] = []
        done = chat.reply(None, lambda event: None, lambda pending, agent: asked.append(pending.name) or True)
        assert (done is not None and done.text, asked, paid, chat.waits) == ("It is paid.", ["pay"], [5], False)
        chat.reply("Thanks", lambda event: None, lambda pending, agent: True)
        assert [message["role"] for message in store.messages("a")] == ["user", "assistant", "tool", "assistant", "user", "assistant"]
        assert chat.messages == store.messages("a")
