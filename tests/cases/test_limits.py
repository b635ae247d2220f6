"""Budgets, circles, and what is left when a run is stopped."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from swarm import Agent, AsyncSwarm, Handoff, Limits, RunInfo, ScriptedModel, Swarm
from swarm.errors import LimitExceeded
from swarm.events import LimitHit
from swarm.models.scripted import Turn, call
from tests.look import is_valid, outline, system_text, tool_texts
from tests.modes import Drive

HI = [{"role": "user", "content": "hi"}]
NAN = float("nan")


def search(q: str = "", page: int = 1) -> list[str]:
    return []


def tick(context_variables: dict[str, Any]) -> str:
    context_variables["n"] = context_variables.get("n", 0) + 1
    return str(context_variables["n"])


def endless(made: Any, times: int = 100) -> list[Any]:
    return [made] * times


# Going in circles


def test_the_same_call_with_the_same_result(drive: Drive) -> None:
    """L02, D6"""
    response = drive(Agent(functions=[search]), HI, endless(call("search", {"q": "x"})), limits=Limits(repeats=5))
    assert response.stop_reason == "loop"
    assert len(drive.requests) == 5
    assert is_valid(response.messages)


def test_the_order_of_keys_makes_no_other_call(drive: Drive) -> None:
    """L02"""
    turns = [call("search", '{"q": "x", "page": 2}'), call("search", '{"page": 2, "q": "x"}')] * 10
    assert drive(Agent(functions=[search]), HI, turns, limits=Limits(repeats=4)).stop_reason == "loop"
    assert len(drive.requests) == 4


def test_by_default_the_detector_is_lenient(drive: Drive, caplog: pytest.LogCaptureFixture) -> None:
    """L02, D6: a warning at 10, the end at 50."""
    response = drive(Agent(functions=[search]), HI, endless(call("search", {"q": "x"})))
    assert response.stop_reason == "loop"
    assert len(drive.requests) == 50
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert "search" in warnings[0]


def test_the_detector_can_be_switched_off(drive: Drive) -> None:
    """L02, D6"""
    response = drive(Agent(functions=[search]), HI, [*endless(call("search"), 60), "ok"], limits=Limits(repeats=None))
    assert response.stop_reason == "complete"


@pytest.mark.parametrize(
    "turns",
    [
        [call("search", {"q": str(number)}) for number in range(20)],
        [call("tick")] * 20,
        [call("search"), call("tick")] * 10,
        [[call("search"), call("tick")]] * 20,
    ],
)
def test_other_calls_or_results_are_no_circle(drive: Drive, turns: list[Any]) -> None:
    """L02"""
    response = drive(Agent(functions=[search, tick]), HI, [*turns, "ok"], limits=Limits(repeats=3))
    assert response.stop_reason == "complete"


def ping_pong() -> tuple[Agent, list[Any]]:
    """Two agents that hand over to each other, and the script for it."""
    a, b = Agent(name="A", functions=[search]), Agent(name="B", functions=[tick])
    a.handoffs, b.handoffs = [b], [a]
    return a, [call("transfer_to_b"), call("transfer_to_a")]


def test_two_agents_that_hand_over_for_ever(drive: Drive) -> None:
    """L03, D6"""
    agent, turns = ping_pong()
    response = drive(agent, HI, turns * 50)
    assert response.stop_reason == "loop"
    assert len(response.handoffs) == 50
    assert is_valid(response.messages)


def test_work_between_handoffs_is_no_circle(drive: Drive) -> None:
    """L03"""
    agent, (there, back) = ping_pong()
    response = drive(agent, HI, [there, call("tick"), back] * 8 + ["ok"], limits=Limits(repeats=4))
    assert response.stop_reason == "complete"


def test_failed_or_refused_handoffs_do_not_count(drive: Drive) -> None:
    """L03, L07"""
    agent, (there, _) = ping_pong()
    turns = [call("transfer_to_nobody"), call("transfer_to_c"), there, "ok"]
    response = drive(agent, HI, turns, limits=Limits(handoffs=1))
    assert response.stop_reason == "complete"
    assert response.handoffs == [("A", "B")]


def test_earlier_runs_do_not_count(drive: Drive) -> None:
    """L03, L08"""
    agent, (there, back) = ping_pong()
    first = drive(agent, HI, [there, back, "ok"], limits=Limits(handoffs=2))
    assert first.stop_reason == "complete"
    second = drive(agent, [*HI, *first.messages, *HI], [there, back, "ok"], limits=Limits(handoffs=2))
    assert second.stop_reason == "complete"


def test_a_limit_on_handoffs(drive: Drive) -> None:
    """L03, L07"""
    agent, turns = ping_pong()
    response = drive(agent, HI, turns * 5, limits=Limits(handoffs=3))
    assert response.stop_reason == "limit:handoffs"
    assert len(response.handoffs) == 3
    assert response.agent is not None
    assert response.agent.name == "B"
    assert tool_texts(response)[-1].startswith("not handed over to A")
    assert not tool_texts(response)[-1].startswith("Error")
    assert is_valid(response.messages)


@pytest.mark.parametrize("more", [3, 60])
def test_handing_over_to_oneself_does_not_count(drive: Drive, more: int) -> None:
    """L07"""
    b = Agent(name="B")
    a = Agent(name="A")
    a.handoffs = [a, b]
    limits = Limits(handoffs=1, repeats=None)
    response = drive(a, HI, [*endless(call("transfer_to_a"), more), call("transfer_to_b"), "ok"], limits=limits)
    assert response.stop_reason == "complete"
    assert response.agent is b
    assert response.handoffs == [("A", "B")]


# Empty answers


def test_an_empty_answer_ends_the_run(drive: Drive) -> None:
    """L04"""
    response = drive(Agent(functions=[search]), HI, ["", "never"])
    assert outline(response) == [("assistant", "Agent", "")]
    assert (response.stop_reason, len(drive.requests)) == ("complete", 1)


# What is left, and a last answer


LIMITED: list[tuple[dict[str, Any], str]] = [
    ({"max_turns": 2}, "max_turns"),
    ({"limits": Limits(model_calls=1)}, "limit:model_calls"),
    ({"limits": Limits(tool_calls=1)}, "limit:tool_calls"),
    ({"limits": Limits(tokens=10)}, "limit:tokens"),
    ({"limits": Limits(seconds=0)}, "limit:seconds"),
    ({"limits": Limits(repeats=2)}, "loop"),
]


@pytest.mark.parametrize(("options", "reason"), LIMITED)
def test_a_limit_returns_what_was_done(drive: Drive, options: dict[str, Any], reason: str) -> None:
    """L05"""
    response = drive(Agent(functions=[search]), HI, endless(call("search")), **options)
    assert response.stop_reason == reason
    assert is_valid(response.messages)
    assert response.agent is not None
    if reason != "limit:seconds":
        assert response.messages[0]["role"] == "assistant"


@pytest.mark.parametrize(("options", "reason"), LIMITED)
def test_a_limit_can_ask_for_a_last_answer(drive: Drive, options: dict[str, Any], reason: str) -> None:
    """L05: one more call, without tools."""
    limits = options.get("limits", Limits())
    amounts = {name: getattr(limits, name) for name in ("model_calls", "tool_calls", "tokens", "seconds", "repeats")}
    asked = {**options, "limits": Limits(**amounts, on_limit="answer")}
    number = {"limit:tool_calls": 2, "loop": 2, "limit:seconds": 0}.get(reason, 1)
    response = drive(Agent(functions=[search]), HI, [*endless(call("search"), number), "That is all I found."], **asked)
    assert response.stop_reason == reason
    assert response.text == "That is all I found."
    assert drive.requests[-1].keys() & {"tools", "tool_choice", "parallel_tool_calls"} == set()
    assert is_valid(response.messages)
    assert is_valid(drive.requests[-1]["messages"])


def test_a_last_answer_that_calls_all_the_same(drive: Drive) -> None:
    """L05"""
    response = drive(Agent(functions=[tick]), HI, [call("tick")] * 2, limits=Limits(model_calls=1, on_limit="answer"))
    assert response.context_variables == {"n": 1}
    assert is_valid(response.messages)
    assert [made.outcome for made in response.calls] == ["ok", "skipped"]


def test_no_turns_ask_for_no_last_answer(drive: Drive) -> None:
    """L05, K15"""
    response = drive(Agent(), HI, [], max_turns=0, limits=Limits(on_limit="answer"))
    assert (response.messages, drive.requests) == ([], [])


@pytest.mark.parametrize(("options", "reason"), LIMITED)
def test_a_limit_raises_only_if_asked(drive: Drive, options: dict[str, Any], reason: str) -> None:
    """L05"""
    limits = options.get("limits", Limits())
    amounts = {name: getattr(limits, name) for name in ("model_calls", "tool_calls", "tokens", "seconds", "repeats")}
    with pytest.raises(LimitExceeded) as caught:
        drive(Agent(functions=[search]), HI, endless(call("search")), **{**options, "limits": Limits(**amounts, on_limit="raise")})
    assert caught.value.response is not None
    assert is_valid(caught.value.response.messages)
    assert caught.value.limit == reason.removeprefix("limit:")


def test_a_watcher_is_told_of_the_limit(drive: Drive) -> None:
    """L05, D9"""
    events = drive.events(Agent(functions=[search]), HI, endless(call("search")), limits=Limits(model_calls=1))
    hit = [event for event in events if isinstance(event, LimitHit)]
    assert [event.limit for event in hit] == ["model_calls"]
    assert "1 of 1" in hit[0].reason


def test_a_reply_that_would_pass_the_limit_runs_none_of_its_calls(drive: Drive) -> None:
    """L05"""
    response = drive(Agent(functions=[tick]), HI, [call("tick"), [call("tick")] * 3], limits=Limits(tool_calls=3))
    assert response.context_variables == {"n": 1}
    assert response.stop_reason == "limit:tool_calls"
    assert all("not executed" in text for text in tool_texts(response)[1:])
    assert is_valid(response.messages)


# What is counted


@pytest.mark.parametrize(("limit", "asked", "messages"), [(0, 0, 0), (1, 1, 4), (3, 1, 4), (4, 1, 4), (5, 2, 5), (float("inf"), 2, 5)])
def test_three_calls_in_one_turn(drive: Drive, limit: float, asked: int, messages: int) -> None:
    """L06, K15"""
    response = drive(Agent(functions=[tick]), HI, [[call("tick")] * 3, "ok"], max_turns=limit)
    assert (len(drive.requests), len(response.messages)) == (asked, messages)


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_model_calls_are_counted_by_themselves(drive: Drive, limit: int) -> None:
    """L06"""
    response = drive(Agent(functions=[tick]), HI, endless([call("tick")] * 2), limits=Limits(model_calls=limit))
    assert len(drive.requests) == limit
    assert response.stop_reason == "limit:model_calls"


@pytest.mark.parametrize("name", ["model_calls", "handoffs", "tool_calls", "tokens", "seconds", "repeats"])
def test_bad_values_are_refused(name: str) -> None:
    """L06"""
    with pytest.raises(ValueError, match=name):
        Limits(**{name: -1})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=name):
        Limits(**{name: float("nan")})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="on_limit"):
        Limits(on_limit="explode")


@pytest.mark.parametrize("options", [{"max_turns": -1}, {"max_turns": NAN}, {"timeout": 0}, {"timeout": -1}, {"timeout": NAN}])
def test_bad_options_of_a_run_are_refused(drive: Drive, options: dict[str, Any]) -> None:
    """L06, X05"""
    with pytest.raises(ValueError, match=next(iter(options))):
        drive(Agent(), HI, ["never"], **options)
    assert drive.requests == []


def test_no_limit_can_be_said_as_none(drive: Drive) -> None:
    """L06: code that passes None for "no limit" works."""
    assert drive(Agent(functions=[tick]), HI, [call("tick"), "ok"], max_turns=None).text == "ok"


@pytest.mark.parametrize("kind", [Swarm, AsyncSwarm])
def test_each_run_has_a_fresh_budget(kind: Any) -> None:
    """L08"""
    import asyncio

    swarm = kind(ScriptedModel([call("tick"), "one", call("tick"), "two"]))
    limits = Limits(model_calls=2, tool_calls=1, tokens=31)

    def go() -> Any:
        run = swarm.run(Agent(functions=[tick]), HI, limits=limits)
        return asyncio.run(run) if kind is AsyncSwarm else run

    assert [go().stop_reason for _ in range(2)] == ["complete", "complete"]


def test_limits_of_scopes_combine() -> None:
    """D6"""
    both = Limits(model_calls=5, tokens=100).tighter(Limits(model_calls=9, handoffs=1, on_limit="raise"))
    assert (both.model_calls, both.tokens, both.handoffs, both.on_limit) == (5, 100, 1, "raise")


def test_the_repl_survives_its_limit(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """L09"""
    from swarm.repl import run_demo_loop

    model = ScriptedModel([call("tick"), call("tick"), "second line answered"])
    monkeypatch.setattr("swarm.repl.repl.Swarm", lambda *args, **kwargs: Swarm(model))
    typed = iter(["go", "again"])

    def read(prompt: str = "") -> str:
        try:
            return next(typed)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("builtins.input", read)
    run_demo_loop(Agent(functions=[tick]), max_turns=3)
    assert "second line answered" in capsys.readouterr().out
    assert len(model.requests) == 3


def test_an_agent_can_know_its_turn(drive: Drive) -> None:
    """L10"""

    def instructions(run: RunInfo, context_variables: dict[str, Any]) -> str:
        return f"Turn {run.turn} of {run.limits.model_calls}, {run.used['tool_calls']} calls, by {run.agent.name} {context_variables['x']}"

    drive(Agent(name="A", instructions=instructions, functions=[tick]), HI, [call("tick"), "ok"], limits=Limits(model_calls=4))
    assert [system_text(request) for request in drive.requests] == ["Turn 1 of 4, 0 calls, by A ", "Turn 2 of 4, 1 calls, by A "]


def test_turns_go_on_counting_in_a_resumed_run(drive: Drive) -> None:
    """L10, D7: a call that was left open is run by the resumed run, with the counts of both parts."""
    limits = Limits(model_calls=2)
    a = Agent(name="A", functions=[tick], handoffs=[Handoff(Agent(name="B"))])
    first = drive(a, HI, [call("tick")], execute_tools=False)
    again = drive.resume(first.state(), [call("tick"), "never"], limits=limits)
    assert again.stop_reason == "limit:model_calls"
    assert again.usage.calls == 2


@pytest.mark.parametrize("finish", ["length", "content_filter"])
def test_a_cut_off_reply_runs_none_of_its_calls(drive: Drive, finish: str) -> None:
    """D5, L05"""
    cut = Turn(None, [call("tick"), call("tick", '{"a')], finish_reason=finish)
    response = drive(Agent(functions=[tick]), HI, [cut, "short"] if finish == "length" else [cut])
    assert response.context_variables == {}
    assert all(text.startswith("Error: ") for text in tool_texts(response))
    assert response.stop_reason == ("complete" if finish == "length" else finish)
    assert is_valid(response.messages)


@pytest.mark.parametrize("finish", ["model_length", "max_tokens", "MAX_TOKENS", "sensitive", "SAFETY"])
def test_a_cut_off_has_many_words(drive: Drive, finish: str) -> None:
    """D5, L05: a provider's own word for it protects from half a call all the same."""
    reason = "content_filter" if finish.startswith(("s", "S")) else "length"
    assert drive(Agent(), HI, [Turn("half a", finish_reason=finish)]).stop_reason == reason
    cut = Turn(None, [call("tick")], finish_reason=finish)
    turns = [cut, cut] if reason == "length" else [cut]
    response = drive(Agent(functions=[tick]), HI, turns)
    assert (response.stop_reason, response.context_variables) == (reason, {})


def test_a_second_cut_off_in_a_row_ends_the_run(drive: Drive) -> None:
    """D5"""
    cut = Turn(None, [call("tick")], finish_reason="length")
    response = drive(Agent(functions=[tick]), HI, [cut, cut, "never"])
    assert response.stop_reason == "length"
    assert len(drive.requests) == 2
    again = drive(Agent(functions=[tick]), HI, [cut, call("tick"), cut, "ok"])
    assert again.stop_reason == "complete"


def test_a_refusal_is_a_reason_to_stop(drive: Drive) -> None:
    """DESIGN: stop reasons"""
    response = drive(Agent(), HI, [Turn(None, extra={"refusal": "I cannot help with that."})])
    assert response.stop_reason == "refusal"
    assert response.messages[0]["content"] is None
    assert drive(Agent(), HI, [Turn("half a", finish_reason="length")]).stop_reason == "length"
