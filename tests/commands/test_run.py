"""`swarm run`: one message, what is shown of it, and the exit code."""

from __future__ import annotations

import json
from typing import Any

import pytest

from swarm.commands.display import Lines, call_text
from swarm.events import PolicyActed
from tests.commands.conftest import Commands
from tests.loopback import Loopback, completion, json_answer


def lines(text: str) -> list[str]:
    return text.splitlines()


def test_it_shows_who_speaks_each_call_with_its_result_and_each_handoff(shop: Commands) -> None:
    shop.write("go.py", "from shop import model, triage as agent; model._left.pop()\n")
    result = shop("run", "go:agent", "my shoe is lost")
    assert result.exit_code == 0
    assert lines(result.stdout) == [
        "  -> to_refunds()",
        '  <- {"assistant": "Refunds"}',
        "  => Triage hands over to Refunds",
        '  -> look_up(item="red [b]shoe[/b]")',
        "  <- 1 of red [b]shoe[/b]",
        "  -> fails()",
        "  <- error: ValueError: out of order",
        "Refunds: It is [red]on[/red] its way.",
    ]


def test_the_text_may_be_piped(shop: Commands) -> None:
    result = shop.process("run", "shop:triage", input="a letter\nof two lines\n")
    assert (result.returncode, result.stdout) == (0, "Triage: How can I help?\n")


def test_nothing_to_say_is_an_error(shop: Commands) -> None:
    result = shop("run", "shop:triage", input="  \n")
    assert result.exit_code == 2
    assert 'swarm run module:agent "text"' in result.stderr


def test_a_failing_model_is_one_message_and_exit_code_1(swarm: Commands) -> None:
    swarm.write(
        "broken.py",
        """
        from swarm import Agent
        from swarm.errors import RateLimitError
        from swarm.models.scripted import ScriptedModel, Turn
        agent = Agent(client=ScriptedModel([Turn(chunks=["Half a "  , RateLimitError("429: slow down", status=429)])]))
        """,
    )
    result = swarm("run", "broken:agent", "hi")
    assert result.exit_code == 1
    assert result.stdout == "Agent: Half a \n"
    assert result.stderr == "Error: the stream broke off: 429: slow down\n"


def test_an_error_of_the_users_own_code_is_named_and_debug_shows_where(swarm: Commands) -> None:
    swarm.write(
        "wrong.py",
        """
        from swarm import Agent
        from swarm.models.scripted import ScriptedModel
        def instructions(context_variables):
            return context_variables.nonsense
        agent = Agent(instructions=instructions, client=ScriptedModel([]))
        """,
    )
    result = swarm("run", "wrong:agent", "hi")
    assert (result.exit_code, result.stderr) == (1, "Error: AttributeError: 'collections.defaultdict' object has no attribute 'nonsense'\n")
    assert 'wrong.py", line 5' in swarm("run", "wrong:agent", "hi", "--debug").stderr


def test_without_a_model_the_ways_out_are_named_and_those_of_the_command_line_too(swarm: Commands) -> None:
    """D30"""
    swarm.write("bare.py", "from swarm import Agent\nagent = Agent()\n")
    result = swarm("run", "bare:agent", "hi")
    assert result.exit_code == 1
    assert "OPENAI_API_KEY" in result.stderr and "--offline" in result.stderr and "--base-url" in result.stderr


def test_json_prints_every_event_as_one_line_and_nothing_else(shop: Commands) -> None:
    """U01: what tools print and the trace of --debug do not get among the events."""
    shop.write(
        "noisy.py",
        "from shop import model, refunds, triage\nmodel._left.pop()\ndef fails():\n    print('noise')\nrefunds.functions[1] = fails\n",
    )
    result = shop.process("run", "noisy:triage", "hello", "--json", "--debug")
    events = [json.loads(line) for line in lines(result.stdout)]
    kinds = [event["event"] for event in events if event["event"] != "Delta"]
    assert kinds[:4] == ["TurnStarted", "MessageDone", "ToolStarted", "ToolDone"]
    assert kinds.count("HandedOff") == 1
    assert "noise" in result.stderr and "Turn 1: asking Triage" in result.stderr
    done = events[-1]
    assert kinds[-1] == "Done" and set(done) == {"event", "agent", "cause", "stop_reason", "text", "usage", "messages"}
    assert (done["agent"], done["stop_reason"], done["text"]) == ("Refunds", "complete", "It is [red]on[/red] its way.")
    assert [message["role"] for message in done["messages"]] == ["assistant", "tool", "assistant", "tool", "tool", "assistant"]
    assert done["usage"]["calls"] == 3


def test_json_takes_arguments_that_are_no_json(swarm: Commands) -> None:
    swarm.write(
        "dates.py",
        """
        import datetime
        from pydantic import BaseModel
        from swarm import Agent
        from swarm.models.scripted import ScriptedModel, call
        class Seat(BaseModel):
            row: int
        def book(day: datetime.date, seat: Seat):
            return "booked"
        agent = Agent(client=ScriptedModel([call("book", {"day": "2026-01-02", "seat": {"row": 3}}), "Done."]), functions=[book])
        """,
    )
    events = [json.loads(line) for line in lines(swarm("run", "dates:agent", "hi", "--json").stdout)]
    started = next(event for event in events if event["event"] == "ToolStarted")
    assert started["arguments"] == {"day": "2026-01-02", "seat": {"row": 3}}
    assert '-> book(day="2026-01-02", seat={"row": 3})' in swarm.process("run", "dates:agent", "hi").stdout


def test_json_ends_with_what_was_done_when_the_run_fails(swarm: Commands) -> None:
    swarm.write(
        "fails.py",
        """
        from swarm import Agent
        from swarm.errors import ServerError
        from swarm.models.scripted import ScriptedModel, call
        def work():
            return "done"
        agent = Agent(client=ScriptedModel([call("work"), ServerError("500: no")]), functions=[work])
        """,
    )
    result = swarm("run", "fails:agent", "hi", "--json")
    done = json.loads(lines(result.stdout)[-1])
    assert (done["event"], done["stop_reason"], len(done["messages"])) == ("Done", "error", 2)
    assert (result.exit_code, result.stderr) == (1, "Error: 500: no\n")


def test_base_url_and_model_choose_who_answers(swarm: Commands) -> None:
    swarm.write("bare.py", "from swarm import Agent\nagent = Agent(name='Far')\n")
    with Loopback(json_answer(completion("Hello from afar"))) as server:
        result = swarm("run", "bare:agent", "hi", "--base-url", server.url, "--model", "llama3.2")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == "Far: Hello from afar\n"
    assert server.requests[0].json["model"] == "llama3.2"


def test_offline_answers_without_a_key(swarm: Commands) -> None:
    """D30"""
    swarm.write(
        "bare.py",
        '''
        from swarm import Agent
        def get_weather(location: str):
            """Get the current weather for a city."""
            return f"Sunny in {location}"
        agent = Agent(functions=[get_weather])
        ''',
    )
    result = swarm("run", "bare:agent", "What is the weather in Paris?", "--offline")
    assert result.exit_code == 0, result.stderr
    assert '-> get_weather(location="Paris")\n  <- Sunny in Paris\n' in result.stdout


def test_max_turns_stops_a_run_that_goes_on(swarm: Commands) -> None:
    """L09"""
    swarm.write(
        "loops.py",
        """
        from swarm import Agent
        from swarm.models.scripted import ScriptedModel, call
        def again():
            return "again"
        agent = Agent(client=ScriptedModel([call("again")] * 9), functions=[again])
        """,
    )
    result = swarm("run", "loops:agent", "hi", "--max-turns", "3")
    assert result.exit_code == 0
    assert lines(result.stdout).count("  -> again()") == 2
    assert lines(result.stdout)[-1].startswith("  ! stopped, max_turns:")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--offline", "--base-url", "http://127.0.0.1:1/v1"], "exclude each other"),
        (["--base-url", "nowhere"], "base_url must look like"),
        (["--max-turns", "-1"], "--max-turns"),
    ],
)
def test_options_that_cannot_be(shop: Commands, options: list[str], message: str) -> None:
    result: Any = shop("run", "shop:triage", "hi", *options)
    assert result.exit_code in (1, 2)
    assert message in result.stderr


def test_a_refusal_an_empty_reply_and_an_early_end_are_told(swarm: Commands) -> None:
    """T24: a reply without content is no empty line."""
    swarm.write(
        "odd.py",
        """
        from swarm import Agent
        from swarm.models.scripted import ScriptedModel, Turn
        refuses = Agent(client=ScriptedModel([Turn(None, extra={"refusal": "I will not."})]))
        silent = Agent(client=ScriptedModel([Turn("")]))
        short = Agent(client=ScriptedModel([Turn("Once upon", finish_reason="length")]))
        """,
    )
    assert lines(swarm("run", "odd:refuses", "hi").stdout) == ["Agent: (refused) I will not.", "  ! stopped, refusal"]
    assert lines(swarm("run", "odd:silent", "hi").stdout) == ["Agent: (no text)"]
    assert lines(swarm("run", "odd:short", "hi").stdout) == ["Agent: Once upon", "  ! stopped, length"]


def test_control_characters_of_tools_and_models_do_nothing(swarm: Commands) -> None:
    swarm.write(
        "evil.py",
        r"""
        from swarm import Agent
        from swarm.models.scripted import ScriptedModel, call
        def page():
            return "clear \x1b[2J\r\nand\ttab\x07 \u202e"
        agent = Agent(client=ScriptedModel([call("page"), "back \x1b[1A up \x9b"]), functions=[page])
        """,
    )
    output = swarm("run", "evil:agent", "hi").stdout
    assert lines(output) == ["  -> page()", "  <- clear ␛[2J", "     and\ttab␇ �", "Agent: back ␛[1A up �"]


def test_debug_prints_a_trace_between_the_lines(shop: Commands) -> None:
    """K16"""
    lines_of_it = lines(shop("run", "shop:triage", "hello", "--debug").stdout)
    assert "Turn 1: asking Triage" in lines_of_it[0]
    assert lines_of_it[1] == "Triage: How can I help?"
    assert "Reply of Triage" in lines_of_it[2]


def test_an_agent_used_as_a_tool_is_shown_further_in(swarm: Commands) -> None:
    swarm.write(
        "nested.py",
        """
        from swarm import Agent
        from swarm.models.scripted import ScriptedModel, call
        def look():
            return "seen"
        model = ScriptedModel([call("inner", {"input": "look"}), call("look"), "I have seen it.", "He has seen it."])
        inner = Agent(name="Inner", functions=[look], client=model)
        outer = Agent(name="Outer", functions=[inner.as_tool()], client=model)
        """,
    )
    assert lines(swarm("run", "nested:outer", "hi").stdout) == [
        '  -> inner(input="look")',
        "      -> look()",
        "      <- seen",
        "    Inner: I have seen it.",
        "  <- I have seen it.",
        "Outer: He has seen it.",
    ]


def test_what_a_policy_did_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    display = Lines()
    display.event(PolicyActed("Agent", "Retry", "waited 2 s", "429"))
    display.event(PolicyActed("Agent", "Cache", "answered"))
    assert capsys.readouterr().out == "  * Retry waited 2 s 429\n  * Cache answered\n"


def test_a_call_that_a_person_is_asked_to_approve_cannot_be_turned_round() -> None:
    assert call_text("pay", {"to": "me \u202eeert\u2066", "note": "\x1b[2K\x9b"}) == 'pay(to="me �eert�", note="\\u001b[2K�")'
    assert call_text("pay", "\x1b{broken") == "pay(␛{broken)"
