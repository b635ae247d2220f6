"""`swarm chat`: a conversation that is held by a person, by `--say`, or by a pipe."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.commands.conftest import Commands

SLOW = '''
import time
from swarm import Agent

class Slow:
    """Repeats what it hears; "slow" breaks off after its first words and never comes to an end."""
    blocking = False
    def complete(self, call):
        raise NotImplementedError
    def stream(self, call):
        said = [message["content"] for message in call.request["messages"][1:]]
        yield chunk({"role": "assistant", "content": f"[{len(said)}] you said "})
        yield chunk({"content": said[-1]})
        if said[-1] == "slow":
            time.sleep(60)
        yield chunk({}, "stop")

def chunk(delta, finish_reason=None):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}

agent = Agent(name="Echo", client=Slow())
'''

PAYMENTS = """
from swarm import Agent, tool
from swarm.models.scripted import ScriptedModel, call

@tool(approval=True)
def pay(amount: int):
    return f"paid {amount}"

agent = Agent(name="Teller", functions=[pay], client=ScriptedModel([[call("pay", {"amount": 1}), call("pay", {"amount": 2})], "All done."]))
model = ScriptedModel([call("desk", {"input": "pay"}), call("pay", {"amount": 3}), "Desk is done.", "Boss is done.", "Bye."])
desk = Agent(name="Desk", functions=[pay], client=model)
boss = Agent(name="Boss", functions=[desk.as_tool()], client=model)
"""

FAILING = """
from swarm import Agent
from swarm.errors import ServerError
from swarm.models.scripted import ScriptedModel, call

def note(context_variables):
    context_variables["noted"] = True
    return "noted"

model = ScriptedModel([ServerError("500: no"), "Here I am.", call("note"), ServerError("500: again"), "Still here."])
agent = Agent(functions=[note], client=model)

def heard():
    return [[message["role"] for message in request["messages"]][1:] for request in model.requests]
"""


def test_say_runs_without_a_person_and_reads_as_a_conversation(shop: Commands) -> None:
    """H18: the agent that was handed to answers what is said next."""
    result = shop("chat", "shop:triage", "--say", "hello", "--say", "my shoe", "--say", "thanks", input="never read\n")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines() == [
        "Model: gpt-4o at ScriptedModel",
        "User: hello",
        "Triage: How can I help?",
        "User: my shoe",
        "  -> to_refunds()",
        '  <- {"assistant": "Refunds"}',
        "  => Triage hands over to Refunds",
        '  -> look_up(item="red [b]shoe[/b]")',
        "  <- 1 of red [b]shoe[/b]",
        "  -> fails()",
        "  <- error: ValueError: out of order",
        "Refunds: It is [red]on[/red] its way.",
        "User: thanks",
        "Refunds: Bye.",
    ]


def test_a_pipe_is_a_conversation_line_by_line(shop: Commands) -> None:
    """U05: empty lines say nothing, and the end of input is the end."""
    result = shop.process("chat", "shop:triage", input="hello\n\n   \nmy shoe\r\n/context\nthanks")
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert [line for line in lines if line.startswith("User: ")] == ["User: hello", "User: my shoe", "User: /context", "User: thanks"]
    assert lines[-1] == "Refunds: Bye."
    assert '  "item": "red [b]shoe[/b]"' in lines


def test_an_empty_pipe_ends_at_once(shop: Commands) -> None:
    """U05"""
    result = shop.process("chat", "shop:triage")
    assert (result.returncode, result.stdout, result.stderr) == (0, "Model: gpt-4o at ScriptedModel\n", "")


def test_after_quit_nothing_more_is_said(shop: Commands) -> None:
    result = shop("chat", "shop:triage", input="/quit\nhello\n")
    assert (result.exit_code, "Triage:" in result.stdout) == (0, False)


def test_bytes_that_are_no_text_do_not_end_it(shop: Commands) -> None:
    import subprocess
    import sys

    command = [sys.executable, "-m", "swarm", "chat", "shop:triage"]
    result = subprocess.run(
        command, input=b"h\xffllo\n", cwd=shop.folder, env=shop.environment(), capture_output=True, timeout=50, check=False
    )
    assert result.returncode == 0
    assert "Triage: How can I help?" in result.stdout.decode()


def test_a_failing_model_ends_a_reply_and_not_the_conversation(swarm: Commands) -> None:
    """What was done is kept; where nothing was, what was said is forgotten, so that it can be said again."""
    swarm.write("failing.py", FAILING)
    result = swarm("chat", "failing:agent", input="one\none\ntwo\n/context\nthree\n")
    assert result.exit_code == 1
    assert result.stderr == "Error: 500: no\nError: 500: again\n"
    assert '"noted": true' in result.stdout
    assert result.stdout.endswith("Agent: Still here.\n")
    from failing import heard  # type: ignore[import-not-found]

    assert heard()[1] == ["user"]
    assert heard()[4] == ["user", "assistant", "user", "assistant", "tool", "user"]


def test_json_prints_the_events_of_each_reply(shop: Commands) -> None:
    result = shop.process("chat", "shop:triage", "--json", input="hello\nmy shoe\n/agent\n")
    events = [json.loads(line) for line in result.stdout.splitlines()]
    assert [event["agent"] for event in events if event["event"] == "Done"] == ["Triage", "Refunds"]
    assert "look_up(item, count) Look up an item." in result.stderr


def test_where_nobody_is_there_approvals_are_refused_and_said_to_be(swarm: Commands) -> None:
    swarm.write("payments.py", PAYMENTS)
    result = swarm("chat", "payments:agent", "--say", "pay")
    assert result.exit_code == 0
    told = "needs approval: refused, since nobody was there to approve it"
    assert f"  ? pay(amount=1) {told}\n  ? pay(amount=2) {told}\n" in result.stdout
    assert "  <- refused: The call was not approved. nobody was there to approve it\n" in result.stdout
    assert result.stdout.endswith("Teller: All done.\n")


def test_a_person_is_asked_for_each_approval(swarm: Commands) -> None:
    swarm.write("payments.py", PAYMENTS)
    code, screen = swarm.terminal(
        "chat", "payments:agent", typed=[("User: ", "pay\n"), ("[y/N/edit] ", "y\n"), ("[y/N/edit] ", "\n"), ("User: ", "\x04")]
    )
    assert code == 0
    assert "? pay(amount=1) needs approval. Run it? [y/N/edit]" in screen
    assert "<- paid 1" in screen and "paid 2" not in screen
    assert "refused: The call was not approved." in screen


def test_run_on_a_terminal_asks_too(swarm: Commands) -> None:
    swarm.write("payments.py", PAYMENTS)
    code, screen = swarm.terminal("run", "payments:agent", "pay", typed=[("[y/N/edit] ", "yes\n"), ("[y/N/edit] ", "\x04")])
    assert code == 0
    assert "<- paid 1" in screen and "paid 2" not in screen


def test_a_person_may_change_the_arguments_first(swarm: Commands) -> None:
    """D3: as one line of JSON, checked before it is used; an empty line goes back to the question."""
    swarm.write("payments.py", PAYMENTS)
    code, screen = swarm.terminal(
        "chat",
        "payments:agent",
        typed=[
            ("User: ", "pay\n"),
            ("[y/N/edit] ", "edit\n"),
            ("go back: ", "\x15not json\n"),
            ("go back: ", '\x15{"amount": "much"}\n'),
            ("go back: ", '\x15{"amount": 9}\n'),
            ("pay(amount=2) needs approval. Run it? [y/N/edit] ", "e\n"),
            ("go back: ", "\x15\n"),
            ("[y/N/edit] ", "n\n"),
            ("User: ", "\x04"),
        ],
    )
    assert code == 0
    assert 'go back: {"amount": 1}' in screen
    assert screen.count("  ! ") == 2
    assert "-> pay(amount=9)" in screen and "<- paid 9" in screen
    assert "paid 1" not in screen and "paid 2" not in screen


def test_ctrl_c_at_the_question_stops_the_reply(swarm: Commands) -> None:
    """U05: nothing of it has run."""
    swarm.write("payments.py", PAYMENTS)
    code, screen = swarm.terminal(
        "chat", "payments:agent", typed=[("User: ", "pay\n"), ("[y/N/edit] ", "\x03"), ("User: ", "again\n"), ("User: ", "\x04")]
    )
    assert code == 0
    assert "! stopped" in screen and "paid" not in screen
    assert "All done." in screen and "Traceback" not in screen


def test_an_approval_inside_an_agent_that_is_a_tool(swarm: Commands) -> None:
    """D24: what is inside comes back, and the conversation goes on from there."""
    swarm.write("payments.py", PAYMENTS)
    code, screen = swarm.terminal(
        "chat", "payments:boss", typed=[("User: ", "pay\n"), ("[y/N/edit] ", "y\n"), ("User: ", "bye\n"), ("User: ", "/quit\n")]
    )
    assert code == 0
    assert "<- paid 3" in screen and "Desk is done." in screen and "Boss is done." in screen and "Bye." in screen


def test_ctrl_c_stops_a_reply_whose_part_is_kept_and_leaves_at_the_prompt(swarm: Commands) -> None:
    """U05"""
    swarm.write("slow.py", SLOW)
    code, screen = swarm.terminal(
        "chat",
        "slow:agent",
        typed=[("User: ", "hi\n"), ("User: ", "slow\n"), ("you said slow", "\x03"), ("User: ", "again\n"), ("User: ", "\x03")],
    )
    assert code == 0
    assert "! stopped" in screen
    assert "[5] you said again" in screen  # hi, its answer, slow, the part of its answer, again
    assert "Traceback" not in screen


def test_the_end_of_input_leaves(swarm: Commands) -> None:
    """U05: and an empty line asks again."""
    swarm.write("slow.py", SLOW)
    code, screen = swarm.terminal("chat", "slow:agent", typed=[("User: ", "\n"), ("User: ", "hi\n"), ("User: ", "\x04")])
    assert code == 0
    assert "[1] you said hi" in screen
    assert "\033[" in screen  # in colour


def test_no_color_is_honoured(swarm: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    swarm.write("slow.py", SLOW)
    monkeypatch.setenv("NO_COLOR", "1")
    _, screen = swarm.terminal("chat", "slow:agent", typed=[("User: ", "hi\n"), ("User: ", "\x04")])
    assert not any(f"\033[{code}" in screen for code in ("3", "1;3", "9"))


def test_ctrl_c_ends_a_command_that_nobody_holds(swarm: Commands) -> None:
    swarm.write("slow.py", SLOW)
    for command in (["run", "slow:agent", "slow"], ["chat", "slow:agent", "--say", "slow", "--say", "more"]):
        code, screen = swarm.terminal(*command, typed=[("you said slow", "\x03")])
        assert code == 130
        assert "more" not in screen and "Traceback" not in screen


def test_a_tool_that_leaves_leaves(swarm: Commands) -> None:
    """D16: `exit()` in a function is not swallowed."""
    swarm.write(
        "leaving.py",
        """
        import sys
        from swarm import Agent
        from swarm.models.scripted import ScriptedModel, call
        def leave():
            sys.exit(7)
        agent = Agent(client=ScriptedModel([call("leave")]), functions=[leave])
        """,
    )
    assert swarm.process("chat", "leaving:agent", input="go\nmore\n").returncode == 7


def test_whoever_reads_may_go_away(swarm: Commands) -> None:
    import subprocess
    import sys

    swarm.write("slow.py", SLOW)
    command = [sys.executable, "-m", "swarm", "chat", "slow:agent"]
    process: Any = subprocess.Popen(
        command, cwd=swarm.folder, env=swarm.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.readline()
    process.stdout.close()
    _, errors = process.communicate(b"hi\n" * 100)
    assert process.returncode == 1
    assert b"Traceback" not in errors
