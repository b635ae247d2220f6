"""Limits of a run, and runs that go in circles."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from swarm import Agent, Limits, Result, RunInfo, tool
from swarm.errors import LimitExceeded
from swarm.events import LimitHit
from swarm.limits import Circles, Scope, remaining, repeated, too_many_calls, too_many_handoffs, used_up
from swarm.models.scripted import Turn, call
from tests.modes import Drive


def ping(n: int) -> str:
    return f"pong {n}"


def looping(count: int) -> list[Any]:
    return [call("ping", {"n": n}) for n in range(count)]


AGENT = Agent(functions=[ping])


@pytest.mark.parametrize(
    ("limits", "reason", "messages"),
    [
        (Limits(model_calls=2), "limit:model_calls", 4),
        (Limits(tool_calls=2), "limit:tool_calls", 6),
        (Limits(tokens=30), "limit:tokens", 4),
        (Limits(tokens=31), "limit:tokens", 6),
        (Limits(model_calls=0), "limit:model_calls", 0),
        (Limits(model_calls=1, tokens=1_000, seconds=600), "limit:model_calls", 2),
    ],
)
def test_a_limit_returns_what_was_done(drive: Drive, limits: Limits, reason: str, messages: int) -> None:
    """L05"""
    response = drive(AGENT, "go", looping(9), limits=limits)
    assert response.stop_reason == reason
    assert len(response.messages) == messages
    calls = [c["id"] for m in response.messages for c in m.get("tool_calls") or ()]
    assert calls == [m["tool_call_id"] for m in response.messages if m["role"] == "tool"]


def test_a_reply_that_would_pass_the_limit_of_calls_runs_none(drive: Drive) -> None:
    """D1"""
    response = drive(AGENT, "go", [[call("ping", {"n": 1}), call("ping", {"n": 2})]], limits=Limits(tool_calls=1))
    assert [c.outcome for c in response.calls] == ["skipped", "skipped"]
    assert all(m["content"].startswith("Error: not executed") for m in response.messages[1:])


def test_only_a_change_of_agent_is_a_handoff(drive: Drive) -> None:
    """L07"""
    b = Agent(name="B")

    def stay() -> Agent:
        return a

    def to_b() -> Agent:
        return b

    a = Agent(name="A", functions=[stay, to_b])
    response = drive(a, "go", [call("stay"), call("stay"), call("stay"), call("to_b"), "done"], limits=Limits(handoffs=1))
    assert response.stop_reason == "complete"
    assert response.agent is b
    assert response.handoffs == [("A", "B")]


def test_a_handoff_over_the_limit_is_not_made(drive: Drive) -> None:
    """L03"""
    a, b = Agent(name="A"), Agent(name="B")
    a.handoffs, b.handoffs = [b], [a]
    response = drive(a, "go", [call("transfer_to_b"), call("transfer_to_a")], limits=Limits(handoffs=1))
    assert response.stop_reason == "limit:handoffs"
    assert response.agent is b
    assert "1 of 1 handoffs used" in response.messages[-1]["content"]


def test_answer_asks_once_more_without_tools(drive: Drive) -> None:
    """L05"""
    response = drive(AGENT, "go", [*looping(2), "so far: 2"], limits=Limits(model_calls=2, on_limit="answer"))
    assert response.stop_reason == "limit:model_calls"
    assert response.text == "so far: 2"
    assert "tools" not in drive.requests[2]


def test_raise_raises_with_the_response(drive: Drive) -> None:
    """L05"""
    with pytest.raises(LimitExceeded, match="2 of 2 model calls used") as caught:
        drive(AGENT, "go", looping(3), limits=Limits(model_calls=2, on_limit="raise"))
    assert caught.value.limit == "model_calls"
    assert caught.value.response is not None
    assert caught.value.response.stop_reason == "limit:model_calls"
    assert len(caught.value.response.messages) == 4


def test_max_turns_may_answer_or_raise_too(drive: Drive) -> None:
    """L05"""
    answered = drive(AGENT, "go", [*looping(1), "done"], max_turns=2, limits=Limits(on_limit="answer"))
    assert (answered.stop_reason, answered.text) == ("max_turns", "done")
    with pytest.raises(LimitExceeded):
        drive(AGENT, "go", looping(2), max_turns=2, limits=Limits(on_limit="raise"))


def test_a_limit_is_told(drive: Drive) -> None:
    events = drive.events(AGENT, "go", looping(2), limits=Limits(model_calls=1))
    assert [(e.limit, e.reason) for e in events if isinstance(e, LimitHit)] == [("model_calls", "1 of 1 model calls used")]


def test_each_run_begins_anew(drive: Drive) -> None:
    """L08"""
    for _ in range(2):
        assert drive(AGENT, "go", [*looping(1), "done"], limits=Limits(model_calls=2)).stop_reason == "complete"


def test_max_turns_counts_messages_added(drive: Drive) -> None:
    """K15, L06"""
    three = [call("ping", {"n": n}) for n in range(3)]
    assert len(drive(AGENT, "go", [three, "never"], max_turns=3).messages) == 4
    nothing = drive(AGENT, "go", [], max_turns=0)
    assert (nothing.messages, nothing.agent, nothing.stop_reason) == ([], AGENT, "max_turns")
    one = drive(AGENT, "go", [call("ping", {"n": 1}), "never"], max_turns=1)
    assert [m["role"] for m in one.messages] == ["assistant", "tool"]
    with pytest.raises(ValueError, match="max_turns"):
        drive(AGENT, "go", [], max_turns=-1)


def test_the_same_call_with_the_same_result_stops_in_the_end(drive: Drive, caplog: pytest.LogCaptureFixture) -> None:
    """L02, D6"""
    turns = [call("ping", '{"n": 1}' if n % 2 else '{ "n":1 }') for n in range(60)]
    with caplog.at_level(logging.WARNING, logger="swarm"):
        response = drive(AGENT, "go", turns)
    assert response.stop_reason == "loop"
    assert len(drive.requests) == 50
    assert [r.getMessage() for r in caplog.records] == [
        "the run may be going in circles: ping called 10 times in a row with the same results, last by Agent; it stops after 50"
    ]


def test_different_results_are_no_loop(drive: Drive) -> None:
    count = 0

    def poll() -> str:
        nonlocal count
        count += 1
        return f"{count}"

    response = drive(Agent(functions=[poll]), "go", [*[call("poll") for _ in range(60)], "done"])
    assert response.stop_reason == "complete"


def test_agents_that_hand_over_for_ever_are_stopped(drive: Drive) -> None:
    """L03, D6"""
    a, b = Agent(name="A"), Agent(name="B")
    a.handoffs, b.handoffs = [b], [a]
    turns = [call("transfer_to_b" if n % 2 == 0 else "transfer_to_a") for n in range(60)]
    response = drive(a, "go", turns)
    assert response.stop_reason == "loop"
    assert len(drive.requests) == 50
    assert drive(a, "go", [*turns[:54], "done"], limits=Limits(repeats=None)).stop_reason == "complete"


def test_a_cut_off_reply_runs_none_of_its_calls(drive: Drive) -> None:
    """D5"""
    cut = Turn(calls=[call("ping", '{"n": 1')], finish_reason="length")
    once = drive(AGENT, "go", [cut, call("ping", {"n": 2}), cut, "done"])
    assert once.stop_reason == "complete"
    assert [c.outcome for c in once.calls] == ["skipped", "ok", "skipped"]
    twice = drive(AGENT, "go", [cut, cut])
    assert twice.stop_reason == "length"
    assert [m["role"] for m in twice.messages] == ["assistant", "tool"] * 2


@pytest.mark.parametrize(
    ("turn", "reason"),
    [
        (Turn("so far", finish_reason="length"), "length"),
        (Turn("so far", finish_reason="content_filter"), "content_filter"),
        (Turn(calls=[call("ping", {"n": 1})], finish_reason="content_filter"), "content_filter"),
        (Turn(None, extra={"refusal": "I will not."}), "refusal"),
        (Turn(""), "complete"),
    ],
)
def test_why_a_reply_ends_the_run(drive: Drive, turn: Turn, reason: str) -> None:
    """D5, L04"""
    assert drive(AGENT, "go", [turn]).stop_reason == reason


def test_a_function_may_see_how_far_the_run_is(drive: Drive) -> None:
    """L10, D18"""
    seen: list[tuple[int, int | None, str | None]] = []

    def instructions(run: RunInfo) -> str:
        return f"turn {run.turn} of {run.limits.model_calls}"

    @tool
    def look(run: RunInfo) -> Result:
        seen.append((run.turn, run.limits.model_calls, run.call_id))
        assert run.idempotency_key is not None and run.idempotency_key.endswith("/call_1_1")
        return Result(value="ok")

    drive(Agent(instructions=instructions, functions=[look]), "go", [call("look"), "done"], limits=Limits(model_calls=5))
    assert seen == [(1, 5, "call_1_1")]
    assert [r["messages"][0]["content"] for r in drive.requests] == ["turn 1 of 5", "turn 2 of 5"]
    assert drive.requests[0]["tools"][0]["function"]["parameters"]["properties"] == {}


def test_limits_are_values() -> None:
    tight = Limits(model_calls=5, tokens=100).tighter(Limits(model_calls=9, handoffs=1, on_limit="raise"))
    assert (tight.model_calls, tight.tokens, tight.handoffs, tight.on_limit) == (5, 100, 1, "raise")
    with pytest.raises(ValueError, match="model_calls"):
        Limits(model_calls=-1)
    with pytest.raises(ValueError, match="on_limit"):
        Limits(on_limit="explode")
    assert repr(Limits(model_calls=1, repeats=None)) == "Limits(model_calls=1, on_limit='return')"


@pytest.mark.parametrize(
    ("outer", "inner", "both"),
    [
        ("raise", "return", "raise"),
        ("answer", "return", "answer"),
        ("raise", "answer", "answer"),
        ("return", "raise", "raise"),
        ("return", "return", "return"),
    ],
)
def test_what_happens_at_a_limit_is_the_inner_scopes_unless_it_says_nothing(outer: Any, inner: Any, both: str) -> None:
    """D6"""
    assert Limits(on_limit=outer).tighter(Limits(on_limit=inner)).on_limit == both


@pytest.mark.parametrize("name", ["model_calls", "handoffs", "tool_calls", "tokens", "seconds", "repeats"])
def test_each_amount_tightens_by_itself(name: str) -> None:
    """D6"""
    few, many, none = (Limits(**{"repeats": None, name: amount}) for amount in (2, 3, None))  # type: ignore[arg-type]
    for tight in (few.tighter(many), many.tighter(few), few.tighter(none), none.tighter(few)):
        assert repr(tight) == f"Limits({name}=2, on_limit='return')"
    assert repr(none.tighter(none)) == "Limits(on_limit='return')"


@pytest.mark.parametrize("value", ["5", [1], object()])
def test_an_amount_must_be_a_number(value: Any) -> None:
    with pytest.raises(TypeError, match=r"Limits\(tokens=.*must be a number"):
        Limits(tokens=value)


def test_an_amount_of_nothing_is_allowed() -> None:
    """L06: 0 forbids, None does not limit."""
    assert Limits(model_calls=0, seconds=0.0).bounded
    assert Limits(tool_calls=0).bounded and Limits(handoffs=0).bounded
    assert not Limits(repeats=0).bounded


def scope(limits: Limits, **used: int) -> Scope:
    made = Scope(limits)
    made.started = 100.0
    for name, amount in used.items():
        setattr(made, name, amount)
    return made


def test_a_limit_is_used_up_when_it_is_reached() -> None:
    """L06"""
    one = scope(Limits(seconds=1, model_calls=2))
    assert used_up((one,), 100.9) is None
    assert used_up((one,), 101.0) == ("seconds", "1.0 of 1 seconds used", one)
    one.model_calls = 2
    assert used_up((one,), 100.9) == ("model_calls", "2 of 2 model calls used", one)
    assert used_up((one,), 100.9, only_seconds=True) is None
    assert used_up((scope(Limits(), model_calls=9, tokens=9),), 1e9) is None


def test_calls_may_use_a_limit_up_but_not_pass_it() -> None:
    """L05"""
    assert too_many_calls((scope(Limits(), tool_calls=2),), 100) is None
    one = scope(Limits(tool_calls=3), tool_calls=2)
    assert too_many_calls((one,), 1) is None
    assert too_many_calls((one,), 2) == ("tool_calls", "2 of 3 tool calls used, 2 more wanted", one)


def test_of_two_scopes_the_outer_one_is_named_first() -> None:
    """D6: an inner scope cannot hide that the whole is used up."""
    outer, inner = scope(Limits(model_calls=3, tool_calls=3, handoffs=1), model_calls=3, tool_calls=3, handoffs=1), scope(Limits())
    inner.limits = Limits(model_calls=0, tool_calls=0, handoffs=0)
    for find in (lambda scopes: used_up(scopes, 0.0), lambda scopes: too_many_calls(scopes, 1), too_many_handoffs):
        hit = find((outer, inner))
        assert hit is not None and hit[2] is outer
    outer.limits = Limits()
    assert (used_up((outer, inner), 0.0) or ("",))[-1] is inner


def test_what_is_left_is_the_least_of_all_scopes() -> None:
    """D6"""
    outer = scope(Limits(model_calls=9, tokens=100, seconds=60), model_calls=3, tokens=90)
    inner = scope(Limits(model_calls=2, tokens=50, handoffs=1), model_calls=1, tokens=5, handoffs=2)
    outer.seconds = 45.0
    assert remaining((outer, inner)) == {"model_calls": 1, "tokens": 10, "seconds": 15.0, "handoffs": 0}
    assert inner.used == {"model_calls": 1, "handoffs": 2, "tool_calls": 0, "tokens": 5, "seconds": 0.0}
    assert remaining((Scope(Limits()),)) == {}
    assert "seconds" not in Scope(Limits()).used
    assert repr(Scope(Limits(tokens=1))).startswith("Scope(Limits(tokens=1, repeats=50")


class Vague:
    """Compares as arrays do."""

    def __eq__(self, other: object) -> bool:
        raise ValueError("the truth value of an array is ambiguous")

    __hash__ = None  # type: ignore[assignment]


def test_what_counts_as_the_same() -> None:
    """L02, L03: results and arguments, in a row; handoffs with nothing else between."""
    circles, one, other = Circles(), ["f", "x"], ["f", "y"]
    assert [repeated(circles, [*one, 1], False) for _ in range(3)] == [1, 2, 3]
    assert repeated(circles, [*one, 2], False) == 1, "other arguments"
    assert repeated(circles, [*other, 2], False) == 1, "another result"
    assert repeated(circles, [*other, 2], False) == 2
    assert [repeated(circles, ["to", str(at), at], True) for at in range(3)] == [1, 2, 3]
    assert repeated(circles, [*one, 1], False) == 1, "work between handoffs"
    assert [repeated(circles, ["to", str(at), at], True) for at in range(2)] == [1, 2]
    circles = Circles()
    assert [repeated(circles, [*one, Vague()], False) for _ in range(3)] == [1, 1, 1], "what cannot be compared is not the same"
