"""What can be typed in a conversation besides talking."""

from __future__ import annotations

import json
from typing import Any

import pytest

from swarm import Agent, Result, Swarm, load_state, tool
from swarm.commands.conversation import Conversation
from swarm.commands.display import Lines
from swarm.commands.slash import Slash
from swarm.errors import ServerError
from swarm.models.scripted import ScriptedModel, call
from tests.commands.conftest import Commands

TURNS = ["How can I help?", call("to_sales"), call("remember"), "Sold.", "And again."]


class Session:
    """A conversation with slash commands, and what they printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str], context: dict[str, Any] | None = None) -> None:
        def remember(context_variables: dict[str, Any]) -> Result:
            """Remember."""
            return Result(value="noted", context_variables={"customer": "Zoë"})

        def to_sales() -> Agent:
            """Hand over to sales."""
            return sales

        sales = Agent(name="Sales", functions=[remember])
        self.model = ScriptedModel(TURNS)
        self.agent = Agent(name="Triage", functions=[to_sales])
        self.conversation = Conversation(self.model, self.agent, context)
        self._slash = Slash(self.conversation, Lines())
        self._capsys = capsys

    def say(self, *texts: str) -> None:
        for text in texts:
            self.conversation.reply(text, lambda _: None, lambda _: {})

    def do(self, line: str) -> str:
        """What a command printed; it must not end the conversation."""
        assert self._slash.do(line)
        printed = self._capsys.readouterr()
        return printed.out + printed.err


@pytest.fixture
def session(capsys: pytest.CaptureFixture[str], swarm: Commands) -> Session:
    return Session(capsys)


def test_context_is_shown_as_json(session: Session) -> None:
    session.say("hello", "buy")
    assert json.loads(session.do("/context")) == {"customer": "Zoë"}
    assert "Zoë" in session.do("/context")


def test_context_that_json_cannot_hold_is_shown_all_the_same(capsys: pytest.CaptureFixture[str], swarm: Commands) -> None:
    session = Session(capsys, {"tool": tool(print), "pair": (1, 2), 3: "three"})  # type: ignore[dict-item]
    assert json.loads(session.do("/context")) == {"tool": "Tool('print')", "pair": [1, 2], "3": "three"}


def test_agent_shows_who_is_active_and_its_tools(session: Session) -> None:
    assert session.do("/agent") == "Triage\n  to_sales() Hand over to sales.\n"
    session.say("hello", "buy")
    assert session.do("/agent") == "Sales\n  remember() Remember.\n"


def test_reset_begins_anew(capsys: pytest.CaptureFixture[str], swarm: Commands) -> None:
    session = Session(capsys, {"list": [1]})
    session.say("hello", "buy")
    session.conversation.context["list"].append(2)
    assert session.do("/reset") == "begun anew with Triage\n"
    assert session.conversation.messages == []
    assert session.conversation.context == {"list": [1]}
    session.say("hello")
    assert [message["role"] for message in session.model.requests[-1]["messages"]] == ["system", "user"]


def test_a_conversation_is_saved_and_loaded(session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    """H18: it goes on with the agent and the context it had."""
    session.say("hello", "buy")
    assert session.do("/save told to all.json") == "saved to told to all.json: 8 messages, Sales is active\n"
    other = Session(capsys)
    assert other.do("/load told to all.json") == "loaded told to all.json: 8 messages, Sales is active\n"
    assert other.conversation.saved() == session.conversation.saved()
    other.say("more")
    assert len(other.model.requests[0]["messages"]) == 1 + 8 + 1


def test_what_is_saved_is_plain_json_in_readable_text(session: Session, swarm: Commands) -> None:
    session.say("hello", "buy")
    session.do("/save it.json")
    text = (swarm.folder / "it.json").read_text(encoding="utf-8")
    assert "Zoë" in text
    assert set(json.loads(text)) == {"agent", "messages", "context_variables"}


def test_a_state_of_a_run_can_be_loaded(session: Session, swarm: Commands) -> None:
    state = Swarm(ScriptedModel(["Hello."])).run(session.agent, "hi", {"a": 1}).state()
    assert load_state(json.dumps(state), agents=[session.agent])["agent"] == "Triage"
    swarm.write("state.json", json.dumps(state))
    assert session.do("/load state.json") == "loaded state.json: 2 messages, Triage is active\n"
    assert session.conversation.context == {"a": 1}


@pytest.mark.parametrize(
    ("value", "told"),
    [(object(), "not JSON serializable"), ((1, 2), "(1, 2)"), ({1: 2}, "{1: 2}"), (float("nan"), "nan"), ({1}, "not JSON serializable")],
)
def test_a_context_that_json_cannot_hold_is_not_saved(capsys: pytest.CaptureFixture[str], swarm: Commands, value: Any, told: str) -> None:
    session = Session(capsys, {"fine": [1], "live": value})
    session.say("hello")
    shown = session.do("/save it.json")
    assert shown.startswith("Error: /save: nothing saved") and "'live'" in shown and told in shown
    assert not (swarm.folder / "it.json").exists()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "is not JSON"),
        ("[1]", "it holds no saved conversation: 'agent' should be a str"),
        ('{"agent": "Triage"}', "'messages' should be a list"),
        ('{"agent": "Triage", "messages": []}', "'context_variables' should be a dict"),
        ('{"agent": "Nobody", "messages": [], "context_variables": {}}', "no agent is called 'Nobody'; known are Sales, Triage"),
        ('{"agent": "Sales", "messages": [{"role": "nonsense"}], "context_variables": {}}', "it.json"),
    ],
)
def test_a_file_that_is_no_conversation_changes_nothing(session: Session, swarm: Commands, text: str, told: str) -> None:
    session.say("hello")
    before = session.conversation.saved()
    swarm.write("it.json", text)
    shown = session.do("/load it.json")
    assert shown.startswith("Error: /load: it.json") and told in shown
    assert session.conversation.saved() == before


def test_two_agents_of_one_name_cannot_be_told_apart(session: Session, swarm: Commands) -> None:
    session.agent.handoffs.append(Agent(name="Sales"))
    swarm.write("it.json", '{"agent": "Sales", "messages": [], "context_variables": {}}')
    assert "2 agents are called 'Sales'" in session.do("/load it.json")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("/load nothing.json", "Error: /load: No such file or directory: nothing.json\n"),
        ("/save no/such/folder.json", "Error: /save: No such file or directory: no/such/folder.json\n"),
        ("/save", "Error: /save: type /save FILE\n"),
        ("/attach", "Error: /attach: type /attach FILE\n"),
        ("/attach nothing.png", "Error: /attach: No such file or directory: nothing.png\n"),
        ("/context all", "Error: /context: type /context\n"),
    ],
)
def test_what_goes_wrong_is_one_line(session: Session, line: str, told: str) -> None:
    assert session.do(line) == told


def test_a_command_that_there_is_not_lists_those_that_there_are(session: Session) -> None:
    shown = session.do("/nonsense 1")
    assert "there is no command /nonsense" in shown
    for name in ("/context", "/agent", "/attach FILE", "/reset", "/save FILE", "/load FILE", "/help", "/quit"):
        assert name in shown
    assert "/save FILE" in session.do("/help")


def test_a_history_that_was_saved_in_the_middle_goes_on(session: Session, swarm: Commands) -> None:
    messages = [{"role": "user", "content": "buy"}, {"role": "assistant", "content": None, "tool_calls": [call("remember", id="c1")]}]
    swarm.write("it.json", json.dumps({"agent": "Sales", "messages": messages, "context_variables": {}}))
    session.do("/load it.json")
    session.say("well?")
    assert [message["role"] for message in session.model.requests[0]["messages"]] == ["system", "user", "assistant", "tool", "user"]


def test_files_go_with_what_is_said_next(session: Session, swarm: Commands) -> None:
    """O06: once, together with the words, and they stay in the conversation."""
    (swarm.folder / "my dot.png").write_bytes(b"dot")
    swarm.write("notes.txt", "About dots.")
    assert session.do("/attach my dot.png") == "attached my dot.png: [image/png, 3 bytes]\n"
    assert session.do("/attach notes.txt") == "attached notes.txt: its text\n"
    session.say("hello")
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,ZG90"}}
    content = [{"type": "text", "text": "hello"}, image, {"type": "text", "text": "\nnotes.txt:\nAbout dots."}]
    assert session.model.requests[0]["messages"][1]["content"] == content
    session.say("buy")
    assert [message["content"] for message in session.model.requests[1]["messages"] if message["role"] == "user"] == [content, "buy"]
    assert session.do("/save it.json").startswith("saved to it.json")
    assert session.do("/load it.json").startswith("loaded it.json")
    assert session.conversation.messages[0]["content"] == content


def test_what_was_attached_is_kept_until_it_was_answered() -> None:
    """O06: a model that fails has not seen it; `/reset` forgets it."""
    conversation = Conversation(ScriptedModel([ServerError("down")]), Agent())
    conversation.attached.append({"type": "text", "text": "notes.txt: About dots."})
    with pytest.raises(ServerError):
        conversation.reply("hello", lambda _: None, lambda _, agent: {})
    assert len(conversation.attached) == 1
    conversation.reset()
    assert conversation.attached == []
