"""`debug=True` tells when a turn breaks the prefix that the provider has cached, and only then."""

from __future__ import annotations

import gc
import re
from typing import Any

import pytest

from swarm import Agent, Handoff, Swarm, tool
from swarm.effects import CallModel, Flow
from swarm.models.scripted import ScriptedModel, Turn, call
from tests.modes import Drive

RULES = "Answer briefly and kindly, whatever is asked. It is 12:0"


def ping() -> str:
    return "pong"


def pong() -> str:
    return "ping"


def turns(count: int) -> list[Any]:
    return [*(Turn(calls=[call("ping", id=f"c{number}")]) for number in range(count - 1)), "Done."]


def told(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The lines of the trace that speak of the prompt's cache, without their colours and times."""
    return [line[line.index("PromptCache") :] for line in capsys.readouterr().out.splitlines() if "PromptCache" in line]


def counting(text: str) -> Any:
    """Instructions that end in another number each time."""
    numbers = iter(range(100))
    return lambda: f"{text}{next(numbers)}"


def test_a_clock_in_the_instructions_is_told_once_with_its_place(drive: Drive, capsys: pytest.CaptureFixture[str]) -> None:
    """K16"""
    drive(Agent(name="Desk", instructions=counting(RULES), functions=[ping]), "hi", turns(4), debug=True)
    (line,) = told(capsys)
    assert line.startswith("PromptCache for Desk: its instructions changed at character 57, from '...")
    assert "It is 12:00' to '" in line
    assert "It is 12:01'" in line
    assert "put what changes at their end, or into a message" in line


def test_only_the_text_around_the_difference_is_shown(drive: Drive, capsys: pytest.CaptureFixture[str]) -> None:
    texts = iter(["a" * 100 + "b" + "c" * 100, "a" * 100 + "d" + "c" * 100])
    drive(Agent(instructions=lambda: next(texts), functions=[ping]), "hi", turns(2), debug=True)
    (line,) = told(capsys)
    assert f"at character 101, from '...{'a' * 24}b{'c' * 23}...' to '...{'a' * 24}d{'c' * 23}...'" in line


def test_it_is_redacted_like_all_of_the_trace(drive: Drive, capsys: pytest.CaptureFixture[str]) -> None:
    """D32"""
    agent = Agent(instructions=counting("The key is sk-"), functions=[ping])
    drive(agent, "hi", turns(2), swarm={"redact": lambda value: re.sub(r"sk-\d", "***", str(value))}, debug=True)
    (line,) = told(capsys)
    assert "***" in line
    assert "sk-" not in line


def offering(description: Any = None, enabled: Any = True) -> Agent:
    return Agent(name="Desk", functions=[ping, tool(pong, description=description, enabled=enabled)])


def test_a_tool_that_comes_and_goes_is_told(drive: Drive, capsys: pytest.CaptureFixture[str]) -> None:
    states = iter([True, False, True])
    drive(offering(enabled=lambda: next(states)), "hi", turns(3), debug=True)
    (line,) = told(capsys)
    assert line.startswith("PromptCache for Desk: its tools changed: it lost pong (")
    assert "offer the same tools in the same order each time" in line
    states = iter([False, True])
    drive(offering(enabled=lambda: next(states)), "hi", turns(2), debug=True)
    assert told(capsys)[0].startswith("PromptCache for Desk: its tools changed: it got pong (")


def test_a_tool_described_in_other_words_is_told(drive: Drive, capsys: pytest.CaptureFixture[str]) -> None:
    drive(offering(description=counting("Call number ")), "hi", turns(2), debug=True)
    assert told(capsys)[0].startswith("PromptCache for Desk: its tools changed: pong (")


class Changing:
    """Sends another request from the second turn on."""

    def __init__(self, change: Any) -> None:
        self.change = change

    def model(self, call: CallModel) -> Flow:
        assert call.run is not None
        return (yield call if call.run.turn == 1 else call.replace(**self.change(call)))


def with_request(**fields: Any) -> Any:
    return lambda call: {"request": {**call.request, **{name: change(call.request[name]) for name, change in fields.items()}}}


def test_tools_in_another_order_are_told(drive: Drive, capsys: pytest.CaptureFixture[str]) -> None:
    policies = [Changing(with_request(tools=lambda tools: tools[::-1]))]
    drive(Agent(name="Desk", functions=[ping, pong]), "hi", turns(2), swarm={"policies": policies}, debug=True)
    assert told(capsys)[0].startswith("PromptCache for Desk: its tools changed their order, from ping, pong to pong, ping (")


EXPLAINED: dict[str, Any] = {
    "another model": with_request(model=lambda name: f"{name}-mini"),
    "a shortened history": with_request(messages=lambda messages: [{**messages[0], "content": "Short."}, *messages[2:]]),
    "no system message any more": with_request(messages=lambda messages: messages[1:]),
    "no messages at all": with_request(messages=lambda messages: []),
    "no tools": lambda call: {"request": {name: value for name, value in call.request.items() if name != "tools"}},
    "nothing changed": lambda call: {},
}


@pytest.mark.parametrize("change", EXPLAINED.values(), ids=EXPLAINED)
def test_what_explains_itself_is_not_told(drive: Drive, capsys: pytest.CaptureFixture[str], change: Any) -> None:
    drive(Agent(functions=[ping, pong]), "hi", turns(3), swarm={"policies": [Changing(change)]}, debug=True)
    assert told(capsys) == []


def test_a_handoff_explains_other_instructions_and_tools(drive: Drive, capsys: pytest.CaptureFixture[str]) -> None:
    sales = Agent(name="Sales", instructions="Sell.", functions=[ping])
    desk = Agent(name="Desk", instructions="Greet.", handoffs=[Handoff(sales)])
    drive(desk, "hi", [call("transfer_to_sales"), call("ping"), "Done."], debug=True)
    assert told(capsys) == []


def test_an_agent_inside_a_call_has_a_prefix_of_its_own(drive: Drive, capsys: pytest.CaptureFixture[str]) -> None:
    """U10"""
    inner = Agent(name="Inner", instructions="Other instructions.", functions=[ping])
    outer = Agent(name="Outer", functions=[inner.as_tool(), ping])
    drive(outer, "hi", [call("inner", {"input": "x"}), call("ping"), "inner done", call("ping"), "Done."], debug=True)
    assert told(capsys) == []


def test_each_agent_is_told_of_for_both_reasons(drive: Drive, capsys: pytest.CaptureFixture[str]) -> None:
    agent = offering(description=counting("Call number "))
    agent.instructions = counting("Turn ")
    drive(agent, "hi", turns(3), debug=True)
    assert [line.split(" changed")[0] for line in told(capsys)] == [
        "PromptCache for Desk: its instructions",
        "PromptCache for Desk: its tools",
    ]


def test_without_debug_nobody_looks(drive: Drive, capsys: pytest.CaptureFixture[str]) -> None:
    """D47"""
    events = drive.events(Agent(instructions=counting("Turn "), functions=[ping]), "hi", turns(3))
    assert "PolicyActed" not in [type(event).__name__ for event in events]
    assert capsys.readouterr().out == ""


def test_what_is_kept_for_it_is_no_cycle(capsys: pytest.CaptureFixture[str]) -> None:
    """D54"""
    agent, client = Agent(functions=[ping]), Swarm(ScriptedModel([*turns(3), *turns(3)]))
    client.run(agent, "hi", debug=True)
    gc.collect()
    client.run(agent, "hi", debug=True)
    assert gc.collect() == 0
