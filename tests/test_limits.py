"""Limits of a run, and runs that go in circles."""

from __future__ import annotations

import json
import logging
import pickle
from typing import Any

import pytest

from swarm import Agent, AgentError, Handoff, Limits, Response, Result, RunInfo, ScriptedModel, Swarm, load_state, tool
from swarm.effects import CallModel, Flow, Reply
from swarm.errors import LimitExceeded, RateLimitError
from swarm.events import LimitHit, Nested
from swarm.limits import Circles, Scope, hit_again, late, passed, remaining, repeated
from swarm.models.scripted import Turn, call
from tests.look import is_valid
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


@pytest.mark.parametrize("name", ["model_calls", "handoffs", "tool_calls", "tokens", "cost", "seconds", "repeats"])
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
    one = scope(Limits(seconds=1, model_calls=2, tokens=30), model_calls=1, tokens=29)
    assert (late((one,), 100.9), passed("model_calls", (one,)), passed("tokens", (one,))) == (None, None, None)
    one.model_calls, one.tokens = 2, 30
    assert late((one,), 101.0) == ("seconds", "1.0 of 1 seconds used", one)
    assert passed("model_calls", (one,)) == ("model_calls", "2 of 2 model calls used", one)
    assert passed("tokens", (one,)) == ("tokens", "30 of 30 tokens used", one)
    free = scope(Limits(), model_calls=9, tokens=9)
    assert (late((free,), 1e9), passed("model_calls", (free,))) == (None, None)


def test_calls_may_use_a_limit_up_but_not_pass_it() -> None:
    """L05"""
    assert passed("tool_calls", (scope(Limits(), tool_calls=2),), 100) is None
    one = scope(Limits(tool_calls=3), tool_calls=2)
    assert passed("tool_calls", (one,), 1) is None
    assert passed("tool_calls", (one,), 2) == ("tool_calls", "2 of 3 tool calls used, 2 more wanted", one)


@pytest.mark.parametrize("name", ["model_calls", "handoffs", "tool_calls", "tokens"])
def test_of_two_scopes_the_outer_one_is_named_first(name: str) -> None:
    """D6: an inner scope cannot hide that the whole is used up."""
    outer, inner = scope(Limits(**{name: 1}), **{name: 1}), scope(Limits(**{name: 0}))  # type: ignore[arg-type]
    assert (passed(name, (outer, inner)) or ("",))[-1] is outer
    assert (passed(name, (scope(Limits()), inner)) or ("",))[-1] is inner


def test_what_is_left_is_the_least_of_all_scopes() -> None:
    """D6"""
    outer = scope(Limits(model_calls=9, tokens=100, seconds=60), model_calls=3, tokens=90)
    inner = scope(Limits(model_calls=2, tokens=50, handoffs=1), model_calls=1, tokens=5, handoffs=2)
    outer.seconds = 45.0
    assert remaining((outer, inner)) == {"model_calls": 1, "tokens": 10, "seconds": 15.0, "handoffs": 0}
    assert inner.used == {"model_calls": 1, "handoffs": 2, "tool_calls": 0, "tokens": 5, "seconds": 0.0}
    assert remaining((Scope(Limits()),)) == {}
    assert "seconds" not in Scope(Limits()).used


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


# Why a run ends


def stop() -> Result:
    return Result(value="stopped here", stop=True)


def exits() -> str:
    raise KeyboardInterrupt


def refund() -> str:
    return "refunded"


B = Agent(name="B")
A = Agent(name="A", functions=[ping, stop, exits, tool(refund, approval=True)], handoffs=[B])
B.handoffs = [A]
ENDLESS = [call("ping", {"n": 1})] * 60

REASONS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "complete": (["done"], {}),
    "max_turns": (ENDLESS, {"max_turns": 3}),
    "limit:model_calls": (ENDLESS, {"limits": Limits(model_calls=2)}),
    "limit:handoffs": ([call("transfer_to_b"), call("transfer_to_a")], {"limits": Limits(handoffs=1)}),
    "limit:tool_calls": (ENDLESS, {"limits": Limits(tool_calls=2)}),
    "limit:tokens": (ENDLESS, {"limits": Limits(tokens=40)}),
    "limit:cost": (ENDLESS, {"limits": Limits(cost=0.000_1)}),
    "limit:seconds": (ENDLESS, {"limits": Limits(seconds=0)}),
    "loop": (ENDLESS, {"limits": Limits(repeats=3)}),
    "tool_calls": (ENDLESS, {"execute_tools": False}),
    "approval": ([call("refund")], {}),
    "stopped": ([call("stop")], {}),
    "length": ([Turn("so fa", finish_reason="length")], {}),
    "refusal": ([Turn(None, extra={"refusal": "no"})], {}),
    "content_filter": ([Turn("so", finish_reason="content_filter")], {}),
    "cancelled": ([call("exits")], {}),
    "error": ([RateLimitError("429: slow down")], {}),
}


@pytest.mark.parametrize("reason", REASONS)
def test_each_reason_to_stop(drive: Drive, reason: str) -> None:
    """L05, D5, D6: in every mode; the history is valid, and what was used is told."""
    turns, options = REASONS[reason]
    if reason in ("cancelled", "error"):
        with pytest.raises((KeyboardInterrupt, RateLimitError)) as caught:
            drive(A, "go", turns, **options)
        response: Response = caught.value.response  # type: ignore[attr-defined]
    else:
        response = drive(A, "go", turns, **options)
    assert response.stop_reason == reason
    assert is_valid(response.messages) or reason in ("tool_calls", "approval")
    assert response.used["model_calls"] == response.usage.calls == len(drive.requests) - (reason == "error")
    limits: Limits | None = options.get("limits")
    name = reason.removeprefix("limit:")
    if limits is not None and name in response.used and name != "tool_calls":
        assert response.remaining[name] == 0


@pytest.mark.parametrize("reason", ["loop", "limit:handoffs", "limit:tool_calls", "limit:model_calls", "limit:tokens", "max_turns"])
def test_a_stopped_run_goes_on_only_if_it_may_do_more(drive: Drive, reason: str) -> None:
    """D6, M09: the same limits stop it again at once; looser ones let it go on where it was."""
    turns, options = REASONS[reason]
    response = drive(A, "go", turns, **options)
    again = drive.resume(load_state(json.dumps(response.state()), agents=[A, B]), ["never"], **options)
    assert (again.stop_reason, again.messages, drive.requests) == (reason, response.messages, [])
    done = drive.resume(load_state(json.dumps(response.state()), agents=[A, B]), ["done"])
    assert (done.stop_reason, done.text) == ("complete", "done")


def test_the_end_of_a_circle_names_what_it_saw(drive: Drive) -> None:
    """L02, D6"""
    with pytest.raises(LimitExceeded, match="ping called 3 times in a row with the same results, last by A") as caught:
        drive(A, "go", ENDLESS, limits=Limits(repeats=3, on_limit="raise"))
    assert caught.value.limit == "loop"
    told = drive.events(A, "go", [call("transfer_to_b"), call("transfer_to_a")] * 5, limits=Limits(repeats=4))
    hit = next(event for event in told if isinstance(event, LimitHit))
    assert (hit.limit, hit.reason) == ("loop", "transfer_to_a called 4 times in a row with the same results, last by B")


# Scopes


def test_the_limits_of_a_swarm_hold_for_each_run_and_a_run_tightens_them(drive: Drive) -> None:
    """D6, L08"""
    swarm = {"limits": Limits(model_calls=3)}
    for _ in range(2):
        assert drive(AGENT, "go", looping(9), swarm=swarm).used["model_calls"] == 3
    both = drive(AGENT, "go", looping(9), swarm=swarm, limits=Limits(model_calls=9, tokens=20))
    assert (both.stop_reason, both.used["model_calls"]) == ("limit:tokens", 2)
    assert both.remaining == {"model_calls": 1, "tokens": 0}
    with pytest.raises(TypeError, match="limits must be a Limits"):
        drive(AGENT, "go", [], swarm={"limits": 3})


def seeing(seen: list[Any]) -> Any:
    @tool
    def look(run: RunInfo) -> str:
        seen.append((run.limits.model_calls, run.used["model_calls"], run.remaining, [scope.used["tool_calls"] for scope in run.scopes]))
        return "ok"

    return look


@pytest.mark.parametrize("parallel", [False, True])
def test_an_inner_scope_counts_afresh_and_the_outer_one_goes_on(drive: Drive, parallel: bool) -> None:
    """D6, D45, U10: each call has a budget of its own; what it uses counts outside as well."""
    seen: list[Any] = []
    inner = Agent(name="Inner", functions=[seeing(seen)])
    outer = Agent(name="Outer", functions=[inner.as_tool(limits=Limits(model_calls=2, tokens=1_000))])
    ask = call("inner", {"input": "q"})
    turns = [ask, call("look"), "one", ask, call("look"), call("look"), "done"]
    response = drive(outer, "go", turns, limits=Limits(model_calls=9, tool_calls=9), swarm={"parallel_tools": parallel})
    assert [message["content"] for message in response.messages] == [None, "one", None, "Inner stopped early (limit:model_calls).", "done"]
    assert seen[0] == (2, 1, {"model_calls": 1, "tool_calls": 7, "tokens": 985}, [2, 1])
    assert seen[1] == (2, 1, {"model_calls": 1, "tool_calls": 5, "tokens": 985}, [4, 1])
    assert response.used == {"model_calls": 7, "handoffs": 0, "tool_calls": 5, "tokens": 105}
    assert response.remaining == {"model_calls": 2, "tool_calls": 4}


class Side:
    """Answers by what it is asked, since agents in threads ask in any order: the outer agent calls thrice, each inner one looks once."""

    def complete(self, call_: CallModel) -> Reply:
        last = call_.request["messages"][-1]
        if last["role"] == "tool":
            return Reply({"role": "assistant", "content": "done"})
        made = [call("inner", {"input": "q"})] * 3 if last["content"] == "go" else [call("look")]
        return Reply({"role": "assistant", "content": None, "tool_calls": made})

    def stream(self, call_: CallModel) -> Any:
        yield {"choices": [{"index": 0, "delta": self.complete(call_).message, "finish_reason": "stop"}]}


def test_inner_scopes_side_by_side_do_not_count_each_other(drive: Drive) -> None:
    """D45"""
    seen: list[Any] = []
    inner = Agent(name="Inner", functions=[seeing(seen)])
    outer = Agent(name="Outer", functions=[inner.as_tool(limits=Limits(model_calls=2))])
    response = drive(outer, "go", Side(), swarm={"parallel_tools": 3})
    assert response.used["model_calls"] == 8
    assert [item[1] for item in seen] == [1, 1, 1]


def test_an_outer_limit_ends_the_inner_run_and_then_the_outer_one(drive: Drive) -> None:
    """D6, D45"""
    inner = Agent(name="Inner", functions=[ping])
    outer = Agent(name="Outer", functions=[inner.as_tool(limits=Limits(model_calls=5, on_limit="raise"))])
    response = drive(outer, "go", [call("inner", {"input": "q"}), *looping(5)], limits=Limits(model_calls=3))
    assert response.stop_reason == "limit:model_calls"
    assert response.messages[-1]["content"] == "Inner stopped early (limit:model_calls)."
    assert response.used["model_calls"] == 3


@pytest.mark.parametrize(
    ("on_limit", "text"),
    [
        ("return", "Inner stopped early (limit:model_calls)."),
        ("answer", "Inner stopped early (limit:model_calls). so far"),
        ("raise", "Error: LimitExceeded: the run was stopped by its limit on model_calls: 1 of 1 model calls used"),
    ],
)
def test_what_an_inner_limit_comes_to(drive: Drive, on_limit: Any, text: str) -> None:
    """L05, D6"""
    inner = Agent(name="Inner", functions=[ping])
    outer = Agent(name="Outer", functions=[inner.as_tool(limits=Limits(model_calls=1, on_limit=on_limit))])
    last = ["so far"] if on_limit == "answer" else []
    response = drive(outer, "go", [call("inner", {"input": "q"}), *looping(1), *last, "done"])
    assert response.messages[1]["content"].startswith(text)
    assert response.text == "done"
    events = drive.events(outer, "go", [call("inner", {"input": "q"}), *looping(1), *last, "done"])
    assert [e.event.limit for e in events if isinstance(e, Nested) and isinstance(e.event, LimitHit)] == ["model_calls"]


def test_a_handoff_that_returns_may_have_limits(drive: Drive) -> None:
    """D24, D6"""
    helper = Agent(name="Helper", functions=[ping], handoffs=[B])
    desk = Agent(name="Desk", handoffs=[Handoff(helper, returns=True, limits=Limits(handoffs=0))])
    response = drive(desk, "go", [call("transfer_to_helper"), call("transfer_to_b"), "done"])
    assert response.messages[1]["content"].startswith("Helper stopped early (limit:handoffs)")
    assert response.text == "done"
    with pytest.raises(AgentError, match="returns=True"):
        Handoff(helper, limits=Limits(handoffs=0))
    with pytest.raises(TypeError, match="limits must be a Limits"):
        Handoff(helper, returns=True, limits=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="limits must be a Limits"):
        helper.as_tool(limits={"tokens": 3})  # type: ignore[arg-type]


def test_the_seconds_of_an_inner_scope_begin_with_it(drive: Drive) -> None:
    """D6: told by a clock that the test moves."""
    inner = Agent(name="Inner", functions=[ping])
    outer = Agent(name="Outer", functions=[inner.as_tool(limits=Limits(seconds=10)), ping])
    clock = Clock(step=4.0)
    turns = [call("ping", {"n": 1}), call("inner", {"input": "q"}), *looping(3), "done"]
    response = drive(outer, "go", turns, swarm={"policies": [clock]}, limits=Limits(seconds=1_000))
    assert response.messages[3]["content"].startswith("Inner stopped early (limit:seconds)")
    assert 0 < response.used["seconds"] < 1_000
    assert response.remaining["seconds"] == 1_000 - response.used["seconds"]


class Clock:
    """Makes each model call take so many seconds, for whoever asks what time it is."""

    def __init__(self, step: float) -> None:
        self.step = step

    def model(self, call: CallModel) -> Flow:
        reply = yield call
        assert call.run is not None
        for scope in call.run.scopes:
            if scope.started is not None:
                scope.started -= self.step
        return reply


def test_a_policy_sees_what_is_left(drive: Drive) -> None:
    """L10, D9, D18"""
    left: list[Any] = []

    class Watch:
        def model(self, call: CallModel) -> Flow:
            assert call.run is not None
            left.append(call.run.remaining)
            return (yield call)

    drive(AGENT, "go", [*looping(1), "done"], swarm={"policies": [Watch()]}, limits=Limits(model_calls=5, tool_calls=1))
    assert left == [{"model_calls": 5, "tool_calls": 1}, {"model_calls": 4, "tool_calls": 0}]


def test_a_response_that_nobody_ran_or_that_was_copied() -> None:
    assert (Response().used, Response().remaining) == ({}, {})
    response = Swarm(ScriptedModel(["done"])).run(AGENT, "go", limits=Limits(model_calls=5))
    assert pickle.loads(pickle.dumps(response)).remaining == response.remaining == {"model_calls": 4}


def test_the_counts_of_an_inner_scope_are_saved(drive: Drive) -> None:
    """D6, D44: a call that paused goes on with what is left of its own budget."""
    inner = Agent(name="Inner", functions=[ping, tool(refund, approval=True)])
    outer = Agent(name="Outer", functions=[inner.as_tool(limits=Limits(model_calls=3))])
    first = drive(outer, "go", [call("inner", {"input": "q"}), *looping(1), call("refund")], limits=Limits(model_calls=9))
    assert first.stop_reason == "approval"
    state = load_state(json.dumps(first.state()), agents=[outer, inner])
    turns = [*looping(1), "done"]
    done = drive.resume(state, turns, approvals={first.pending[0].id: True}, limits=Limits(model_calls=9))
    assert done.messages[1]["content"] == "Inner stopped early (limit:model_calls)."
    assert done.used["model_calls"] == 5


@pytest.mark.parametrize(
    ("limits", "repeats", "before", "again"),
    [
        (Limits(tool_calls=2), None, ("tool_calls", "why", 2.0), True),
        (Limits(tool_calls=1), None, ("tool_calls", "why", 2.0), True),
        (Limits(tool_calls=3), None, ("tool_calls", "why", 2.0), False),
        (Limits(handoffs=2), None, ("tool_calls", "why", 2.0), False),
        (Limits(), 50, ("loop", "why", 50.0), True),
        (Limits(), 10, ("loop", "why", 50.0), True),
        (Limits(), 60, ("loop", "why", 50.0), False),
        (Limits(), None, ("loop", "why", 50.0), False),
    ],
)
def test_a_limit_that_ended_a_saved_run_holds_unless_more_is_allowed(limits: Limits, repeats: Any, before: Any, again: bool) -> None:
    """D4, L02, L03"""
    scope = Scope(limits)
    hit = hit_again(before, (Scope(Limits()), scope), scope, repeats)
    assert (hit is not None) is again
    assert hit is None or (hit.name, hit.why, hit.scope) == (before[0], "why", scope)
