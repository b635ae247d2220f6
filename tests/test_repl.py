"""The loop that tutorials end with, and its two printers: what they print, to the letter."""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarm import Agent, Response, Result, Swarm, SwarmError, tool
from swarm.errors import ConfigError, ServerError
from swarm.models.scripted import ScriptedModel, Turn, call
from swarm.repl import repl, run_demo_loop
from swarm.repl.repl import pretty_print_messages, process_and_print_streaming_response

BANNER = "Starting Swarm CLI 🐝\n"
PROMPT = "\033[90mUser\033[0m: "
BLUE, MAGENTA, PLAIN = "\033[94m", "\033[95m", "\033[0m"


class Person:
    """Types lines; after the last one, what `input` raises at the end of input."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._lines: Iterator[Any] = iter(())
        self.prompts: list[str] = []
        monkeypatch.setattr(builtins, "input", self._input)

    def types(self, *lines: Any) -> None:
        self._lines = iter(lines)

    def _input(self, prompt: str = "") -> str:
        self.prompts.append(prompt)
        line = next(self._lines, EOFError())
        if isinstance(line, BaseException):
            raise line
        return line


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> Person:
    return Person(monkeypatch)


def shop(turns: list[Any]) -> tuple[Agent, ScriptedModel]:
    model = ScriptedModel(turns)

    def to_sales() -> Agent:
        return sales

    def look(item: str) -> Result:
        return Result(value="found", context_variables={"item": item})

    sales = Agent(name="Sales", client=model, functions=[look], instructions=lambda context_variables: f"item: {context_variables['item']}")
    return Agent(name="Triage", functions=[to_sales], client=model), model


# The loop


def test_the_parameters_are_those_that_people_pass() -> None:
    """K23, L09"""
    assert list(inspect.signature(run_demo_loop).parameters) == ["starting_agent", "context_variables", "stream", "debug", "max_turns"]


@pytest.mark.parametrize("stream", [False, True])
def test_history_agent_and_context_are_kept(person: Person, capsys: pytest.CaptureFixture[str], stream: bool) -> None:
    """K23, H18"""
    agent, model = shop([call("to_sales"), call("look", {"item": "hat"}), "Here.", "Still here."])
    person.types("a hat", "and?")
    run_demo_loop(agent, {"user": 1}, stream)
    printed = capsys.readouterr().out
    assert printed.startswith(BANNER)
    assert set(person.prompts) == {PROMPT}
    last = model.requests[-1]["messages"]
    assert [message["role"] for message in last] == ["system", "user", "assistant", "tool", "assistant", "tool", "assistant", "user"]
    assert last[0]["content"] == "item: hat"
    assert "Still here." in printed


@pytest.mark.parametrize("ending", [EOFError(), KeyboardInterrupt()])
def test_the_end_of_input_and_ctrl_c_leave(person: Person, capsys: pytest.CaptureFixture[str], ending: BaseException) -> None:
    """U05"""
    agent, model = shop(["Hello."])
    person.types("", "  ", "hi", ending)
    run_demo_loop(agent)
    assert capsys.readouterr().out == f"{BANNER}{BLUE}Triage{PLAIN}: Hello.\n\n"
    assert len(model.requests) == 1


@pytest.mark.parametrize("stream", [False, True])
def test_ctrl_c_in_the_middle_of_a_reply_leaves(person: Person, capsys: pytest.CaptureFixture[str], stream: bool) -> None:
    """U05"""
    agent, _ = shop([KeyboardInterrupt()])
    person.types("hi", "never")
    run_demo_loop(agent, stream=stream)
    assert capsys.readouterr().out == BANNER + "\n"


@pytest.mark.parametrize("stream", [False, True])
def test_a_failing_model_is_told_and_what_was_done_is_kept(person: Person, capsys: pytest.CaptureFixture[str], stream: bool) -> None:
    agent, model = shop([ServerError("500: no"), "Hello.", call("to_sales"), ServerError("500: again"), "Here."])
    person.types("one", "one", "two", "three")
    run_demo_loop(agent, stream=stream)
    printed = capsys.readouterr().out
    assert printed.count("Error: 500: no\n") == printed.count("Error: 500: again\n") == 1
    assert f"{MAGENTA}to_sales{PLAIN}()" in printed
    roles = [[message["role"] for message in request["messages"]] for request in model.requests]
    assert roles[1] == ["system", "user"]
    assert roles[4] == ["system", "user", "assistant", "user", "assistant", "tool", "user"]


def test_without_a_model_it_says_so(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "SWARM_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    person.types("hi")
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        run_demo_loop(Agent())


@pytest.mark.parametrize("stream", [False, True])
def test_max_turns_brings_the_prompt_back(person: Person, capsys: pytest.CaptureFixture[str], stream: bool) -> None:
    """L09"""
    model = ScriptedModel([call("again")] * 20)
    agent = Agent(functions=[again], client=model)
    person.types("go", "go")
    run_demo_loop(agent, stream=stream, max_turns=3)
    assert len(model.requests) == 4  # two for each message of the person's
    assert capsys.readouterr().out.count("again") == 4


def again() -> str:
    return "again"


@pytest.mark.parametrize("debug", [False, True])
def test_only_debug_prints_a_trace(person: Person, capsys: pytest.CaptureFixture[str], debug: bool) -> None:
    """K16, U01"""
    agent, _ = shop(["Hello."])
    person.types("hi")
    run_demo_loop(agent, debug=debug)
    assert ("asking Triage" in capsys.readouterr().out) is debug


def till(turns: list[Any]) -> Agent:
    """An agent whose payments need an approval, and one inside it."""

    @tool(approval=True)
    def pay(amount: int) -> str:
        return f"paid {amount}"

    model = ScriptedModel(turns)
    inner = Agent(name="Inner", functions=[pay], client=model)
    return Agent(name="Till", functions=[pay, inner.as_tool(name="inner")], client=model)


@pytest.mark.parametrize("stream", [False, True])
def test_a_person_at_the_terminal_is_asked_for_approvals(
    person: Person, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], stream: bool
) -> None:
    """X09, D24: what was printed is not printed again, and the conversation goes on from there."""
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    turns = [
        [call("pay", {"amount": 1}), call("pay", {"amount": 2})],
        "Paid.",
        call("inner", {"input": "x"}),
        call("pay", {"amount": 3}),
        "In.",
        "Out.",
    ]
    agent = till(turns)
    person.types("pay", "y", "no", "and inside", "edit", '{"amount": "x"}', '{"amount": 4}')
    run_demo_loop(agent, stream=stream)
    out = capsys.readouterr().out
    assert [prompt.strip() for prompt in person.prompts if "needs approval" in prompt] == [
        f"? pay(amount={amount}) needs approval. Run it? [y/N/edit]" for amount in (1, 2, 3)
    ]
    assert out.count("Paid.") == out.count("Out.") == 1
    assert out.count(f"{MAGENTA}pay{PLAIN}(") == 2
    requests = agent.client.requests
    assert [message["content"] for message in requests[1]["messages"][-2:]] == ["paid 1", "The call was not approved."]
    assert requests[4]["messages"][-1]["content"] == "paid 4"


def test_where_nobody_sits_calls_that_need_an_approval_are_refused(person: Person, capsys: pytest.CaptureFixture[str]) -> None:
    agent = till([call("pay", {"amount": 1}), "Sorry."])
    person.types("pay")
    run_demo_loop(agent)
    assert "  ? pay(amount=1) needs approval: refused, since nobody was there to approve it\n" in capsys.readouterr().out
    assert agent.client.requests[1]["messages"][-1]["content"] == "The call was not approved. nobody was there to approve it"


def test_swarm_is_looked_up_at_each_call_so_that_it_can_be_patched(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    """K23: with the arguments that mocks expect, as keywords."""
    asked: list[dict[str, Any]] = []
    other = Agent(name="Other")

    class Fake:
        def run(self, **options: Any) -> Response:
            asked.append(options)
            return Response(messages=[{"role": "assistant", "content": "Hi", "sender": "Fake"}], agent=other, context_variables={"n": 1})

    monkeypatch.setattr(repl, "Swarm", Fake)
    person.types("one", "two")
    first = Agent()
    run_demo_loop(first)
    assert asked[0] == {
        "agent": first, "messages": [{"role": "user", "content": "one"}], "context_variables": {}, "stream": False, "debug": False
    }  # fmt: skip
    assert (asked[1]["agent"], asked[1]["context_variables"]) == (other, {"n": 1})
    assert [message["role"] for message in asked[1]["messages"]] == ["user", "assistant", "user"]


def test_the_callers_context_is_not_changed(person: Person) -> None:
    """K08"""
    agent, _ = shop([call("to_sales"), call("look", {"item": "hat"}), "Here."])
    person.types("a hat")
    context: dict[str, Any] = {}
    run_demo_loop(agent, context)
    assert context == {}


# pretty_print_messages


def printed(capsys: pytest.CaptureFixture[str], *messages: dict[str, Any]) -> str:
    pretty_print_messages(messages)
    return capsys.readouterr().out


def said(content: Any, *calls: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "sender": "A", "content": content, "tool_calls": list(calls) or None, **fields}


def test_text_is_printed_behind_its_sender(capsys: pytest.CaptureFixture[str]) -> None:
    """K24"""
    assert printed(capsys, said("Hello: you")) == f"{BLUE}A{PLAIN}: Hello: you\n"


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({"k": 1}, '"k"= 1'),
        ({"a": "x: y", "b": [1, {"c": None}]}, '"a"= "x: y", "b"= [1, {"c"= null}]'),
        ({"name": "Zoë"}, '"name"= "Zoë"'),
        ({}, ""),
        ("", ""),
        ("{broken", "{broken"),
        ("[1, 2]", "[1, 2]"),
        ('{"a": "\\ud83d\\udc1d é \\ud83d"}', '"a"= "🐝 é \\ud83d"'),
        ("[" * 3_000, "[" * 3_000),
    ],
)
def test_a_call_is_printed_with_its_arguments(capsys: pytest.CaptureFixture[str], arguments: Any, shown: str) -> None:
    """K24: only the colon of a key is replaced."""
    assert printed(capsys, said(None, call("f", arguments))) == f"{BLUE}A{PLAIN}: {MAGENTA}f{PLAIN}({shown})\n"


def test_several_calls_stand_below_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, said(None, call("f"), call("g"))).splitlines()
    assert lines == [f"{BLUE}A{PLAIN}: ", f"{MAGENTA}f{PLAIN}()", f"{MAGENTA}g{PLAIN}()"]


def test_a_call_of_another_kind_is_printed_too(capsys: pytest.CaptureFixture[str]) -> None:
    """K24, T24"""
    custom = {"id": "c", "type": "custom", "custom": {"name": "grep", "input": "x"}}
    assert printed(capsys, said(None, custom)) == f"{BLUE}A{PLAIN}: {MAGENTA}custom{PLAIN}()\n"


@pytest.mark.parametrize("content", [None, "", []])
def test_without_text_only_the_calls_are_printed(capsys: pytest.CaptureFixture[str], content: Any) -> None:
    """T24"""
    assert printed(capsys, said(content, call("f"))) == f"{BLUE}A{PLAIN}: {MAGENTA}f{PLAIN}()\n"
    assert printed(capsys, said(content)) == ""


def test_others_than_assistants_are_passed_over(capsys: pytest.CaptureFixture[str]) -> None:
    """K24"""
    user, tool = {"role": "user", "content": "hi"}, {"role": "tool", "tool_call_id": "1", "tool_name": "f", "content": "x"}
    assert printed(capsys, user, tool, {"role": "system", "content": "s"}) == ""


def test_a_message_without_a_sender_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, {"role": "assistant", "content": [{"type": "text", "text": "Hi"}]}) == f"{BLUE}Assistant{PLAIN}: Hi\n"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


@given(st.dictionaries(st.text(), json_values), st.one_of(st.none(), st.text()))
def test_whatever_a_model_says_can_be_printed(arguments: dict[str, Any], content: str | None) -> None:
    """K24, T24"""
    lines: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builtins, "print", lambda *parts, **_: lines.append("".join(map(str, parts))))
        pretty_print_messages([said(content, call("f", arguments))])
    assert any(f"{MAGENTA}f{PLAIN}(" in line for line in lines)
    assert bool(content) is any(line == content for line in lines)


# process_and_print_streaming_response


def test_a_streamed_text_is_printed_piece_by_piece(capsys: pytest.CaptureFixture[str]) -> None:
    """K25"""
    agent, _ = shop(["Hello to you"])
    response = process_and_print_streaming_response(Swarm().run(agent, "hi", stream=True))
    assert capsys.readouterr().out == f"{BLUE}Triage:{PLAIN} Hello to you\n"
    assert isinstance(response, Response) and response.text == "Hello to you"


def test_a_streamed_call_is_printed_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    """K25: each with the agent that makes it, after a handoff too."""
    agent, _ = shop([call("to_sales"), [call("look", {"item": "hat"}), call("look", {"item": "cap"})], "Here."])
    process_and_print_streaming_response(Swarm().run(agent, "hi", stream=True))
    assert capsys.readouterr().out == (
        f"{BLUE}Triage: {MAGENTA}to_sales{PLAIN}()\n"
        f"{BLUE}Sales: {MAGENTA}look{PLAIN}()\n"
        f"{BLUE}Sales: {MAGENTA}look{PLAIN}()\n"
        f"{BLUE}Sales:{PLAIN} Here.\n"
    )


def test_a_call_behind_a_text_begins_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    """K25"""
    agent, _ = shop([Turn("I look.", [call("to_sales")]), "Here."])
    process_and_print_streaming_response(Swarm().run(agent, "hi", stream=True))
    assert capsys.readouterr().out.splitlines()[:2] == [f"{BLUE}Triage:{PLAIN} I look.", f"{BLUE}Triage: {MAGENTA}to_sales{PLAIN}()"]


def test_deltas_in_any_shape_can_be_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """T24, K25: without content, without names, without a response."""
    deltas: list[dict[str, Any]] = [
        {"delim": "start"},
        {"role": "assistant", "sender": "A", "content": None, "tool_calls": None},
        {"tool_calls": [{"index": 0}, {"index": 1, "function": None}, {"index": 2, "function": {"name": None, "arguments": "{"}}]},
        {"content": ""},
        {"content": "Hi"},
        {"content": " there"},
        {"delim": "end"},
    ]
    assert process_and_print_streaming_response(deltas) is None
    assert capsys.readouterr().out == f"{BLUE}A:{PLAIN} Hi there\n"


def test_a_stream_that_breaks_off_ends_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    agent, _ = shop([Turn(chunks=["Half ", ServerError("gone")])])
    with pytest.raises(SwarmError, match="gone"):
        process_and_print_streaming_response(Swarm().run(agent, "hi", stream=True))
    assert capsys.readouterr().out == f"{BLUE}Triage:{PLAIN} Half \n"
