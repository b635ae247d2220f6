"""Turns, replies, tools and handoffs of one run, the same in every mode."""

from __future__ import annotations

from typing import Any

import pytest

from swarm import Agent, Limits, Result, RunInfo, tool
from swarm.errors import LimitExceeded
from swarm.events import LimitHit, Nested, TurnEnded, TurnStarted
from swarm.models.scripted import call
from tests.modes import Drive, names


def test_a_tool_a_handoff_and_an_answer(drive: Drive) -> None:
    """K13, H03, H17, S11"""

    def lookup(item: str) -> str:
        return f"{item} is in stock"

    def to_sales() -> Agent:
        return sales

    sales = Agent(name="Sales", instructions="Sell.")
    triage = Agent(name="Triage", functions=[lookup, to_sales])
    response = drive(triage, "a bee?", [call("lookup", {"item": "bee"}), call("to_sales"), "Sold."])
    assert [(m["role"], m.get("sender"), m["content"]) for m in response.messages] == [
        ("assistant", "Triage", None),
        ("tool", None, "bee is in stock"),
        ("assistant", "Triage", None),
        ("tool", None, '{"assistant": "Sales"}'),
        ("assistant", "Sales", "Sold."),
    ]
    assert response.agent is sales
    assert response.handoffs == [("Triage", "Sales")]
    assert drive.requests[2]["messages"][0] == {"role": "system", "content": "Sell."}
    assert "bee is in stock" in [m["content"] for m in drive.requests[2]["messages"]]


def test_events_are_the_same_in_every_mode(drive: Drive) -> None:
    """U02"""

    def ping() -> str:
        return "pong"

    events = drive.events(Agent(functions=[ping]), "hi", [call("ping"), "done"])
    turn = ["TurnStarted", "MessageDone"]
    assert names(events) == [*turn, "ToolStarted", "ToolDone", "TurnEnded", *turn, "TurnEnded", "Done"]


def ping() -> str:
    return "pong"


def nested() -> Agent:
    """An agent that asks another one, which calls a function."""
    return Agent(name="Outer", functions=[Agent(name="Inner", functions=[ping]).as_tool(name="ask")])


class Clock:
    """Goes on by ten seconds each time it is looked at."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        self.now += 10
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    for driver in ("sync", "aio"):
        monkeypatch.setattr(f"swarm.drivers.{driver}.monotonic", made)
    return made


def test_a_run_inside_has_the_time_of_the_whole(drive: Drive, clock: Clock) -> None:
    """L05, D24: the inner run does not start the clock anew."""
    turns = [call("ask", {"input": "x"}), *[call("ping")] * 9]
    response = drive(nested(), "go", turns, limits=Limits(seconds=75))
    assert response.stop_reason == "limit:seconds"
    assert response.usage.calls == 7, "looked at after 10 seconds, and inside after 20, 30, ... 70; at 80 the time is over"


def test_the_deadline_is_that_of_whatever_ends_first(drive: Drive, clock: Clock) -> None:
    """L10, D18: from the run's beginning, for the soft limit and the hard one."""
    seen: list[float | None] = []

    @tool(inline=True)
    def look(run: RunInfo) -> str:
        seen.append(run.deadline)
        return "ok"

    agent = Agent(functions=[look])
    drive(agent, "go", [call("look"), "done"], limits=Limits(seconds=500))
    assert seen == [1_510.0]
    begun = clock.now + 10
    drive(agent, "go", [call("look"), "done"], timeout=300)
    assert seen[1] == begun + 300
    drive(agent, "go", [call("look"), "done"])
    assert seen[2] is None


@pytest.mark.parametrize("on_limit", ["return", "answer", "raise"])
def test_only_the_outermost_run_does_what_a_limit_asks_for(drive: Drive, on_limit: Any) -> None:
    """L05, U10: an inner run that is stopped ends its call; the last answer, or the error, is the whole run's."""
    turns = [call("ask", {"input": "x"}), call("ping"), *(["All I know."] if on_limit == "answer" else [])]
    limits = Limits(model_calls=2, on_limit=on_limit)
    if on_limit == "raise":
        with pytest.raises(LimitExceeded) as caught:
            drive(nested(), "go", turns, limits=limits)
        assert caught.value.response is not None
        assert len(caught.value.response.calls) == 1
        return
    events = drive.events(nested(), "go", turns, limits=limits)
    response = events[-1].response  # type: ignore[attr-defined]
    assert response.stop_reason == "limit:model_calls"
    assert response.text == ("All I know." if on_limit == "answer" else "")
    assert len([event for event in events if isinstance(event, LimitHit)]) == 1
    assert not [event for event in events if isinstance(event, Nested) and isinstance(event.event, LimitHit)]


@pytest.mark.parametrize("on_limit", ["answer", "raise"])
def test_a_limit_that_did_not_end_the_run_is_not_acted_on(drive: Drive, on_limit: Any) -> None:
    """L05, H22: a handoff was over the limit, and another call of the reply ended the run."""

    def finish() -> Result:
        return Result(value="the end", stop=True)

    agent = Agent(name="A", functions=[finish], handoffs=[Agent(name="B")])
    response = drive(agent, "go", [[call("transfer_to_b"), call("finish")]], limits=Limits(handoffs=0, on_limit=on_limit))
    assert (response.stop_reason, response.output) == ("stopped", "the end")


def test_what_waits_for_a_person_waits_whatever_the_limit(drive: Drive) -> None:
    """X09, D1: the calls of a reply that waits are not answered as too many."""
    agent = Agent(functions=[tool(ping, approval=True)])
    response = drive(agent, "go", [[call("ping"), call("ping")]], limits=Limits(tool_calls=1))
    assert response.stop_reason == "approval"
    assert [message["role"] for message in response.messages] == ["assistant"]


def test_one_turn_may_still_ask_for_a_last_answer(drive: Drive) -> None:
    """L05, K15: told as a turn of its own."""
    events = drive.events(Agent(functions=[ping]), "go", [call("ping"), "done"], max_turns=1, limits=Limits(on_limit="answer"))
    response = events[-1].response  # type: ignore[attr-defined]
    assert (response.stop_reason, response.text) == ("max_turns", "done")
    assert [event.turn for event in events if isinstance(event, TurnStarted)] == [1, 2]
    assert [event.turn for event in events if isinstance(event, TurnEnded)] == [1, 2]
    assert names(events)[-5:] == ["LimitHit", "TurnStarted", "MessageDone", "TurnEnded", "Done"]


@pytest.mark.parametrize("level", ["DEBUG", "INFO"])
def test_what_was_answered_is_logged_at_debug_only(drive: Drive, caplog: pytest.LogCaptureFixture, level: str) -> None:
    """U01, K16: also without a redaction hook, which is not asked where nothing is logged."""
    asked: list[Any] = []
    with caplog.at_level(level, logger="swarm"):
        drive(Agent(name="A"), "go", ["the answer"], swarm={"redact": lambda value: asked.append(value) or str(value)})
    assert ("A answered: {'role': 'assistant', 'content': 'the answer'" in caplog.text) is (level == "DEBUG")
    assert bool(asked) is (level == "DEBUG")
