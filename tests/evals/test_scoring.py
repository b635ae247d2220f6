"""Scores: each field of a case by itself, in conversations that are really played."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarm import Agent
from swarm.evals import Case, CaseResult, EvalError, Outcome, Score, run_evals, state_hash
from swarm.evals.conditions import broken_conditions
from swarm.evals.matching import difference
from swarm.evals.scoring import _fits  # type: ignore[reportPrivateUsage]
from tests.evals.shop import Rules, case, triage


def played(*cases: Case, **options: Any) -> list[CaseResult]:
    return run_evals(triage, cases, client=Rules(), concurrency=1, **options).results


def scored(said: str, name: str, **fields: Any) -> Score:
    [result] = played(case(said, **fields))
    assert result.error is None
    assert result.passed == all(score.passed for score in result.scores.values())
    return result.scores[name]


@pytest.mark.parametrize(
    ("said", "function", "passed", "actual"),
    [
        ('call look_up {"item": 7}', "look_up", True, "look_up"),
        ('call look_up {"item": 7}', "to_refunds", False, "look_up"),
        ('call look_up {"item": 7}', "None", False, "look_up"),
        ("Hello", "None", True, "None"),
        ("Hello", "look_up", False, "None"),
        ("call leaves", "leaves", True, "leaves"),
    ],
)
def test_the_function_of_the_first_reply_which_is_not_run(said: str, function: str, passed: bool, actual: str) -> None:
    """D61, U04: for the confusion matrix both are kept, also where they are equal."""
    [result] = played(case(said, function=function))
    assert result.scores == {"function": Score(passed, float(passed), function, actual)}
    assert result.calls == ([] if actual == "None" else [result.calls[0] | {"name": actual, "outcome": "not run"}])
    assert len(result.messages) == 2  # it was said, and the reply


@pytest.mark.parametrize(
    ("wanted", "passed", "reason"),
    [
        ({"item": 7}, True, ""),
        ({}, True, ""),
        ({"item": 8}, False, "item is 7 instead of 8"),
        ({"other": 1}, False, "other is missing"),
        ({"item": 7, "to": {"city": "Oslo"}}, True, ""),
        ({"item": 7, "to": {"city": "Rome"}}, False, "to.city is 'Oslo' instead of 'Rome'"),
    ],
)
def test_the_arguments_of_the_first_call(wanted: dict[str, Any], passed: bool, reason: str) -> None:
    """D61"""
    given = {"item": 7, "to": {"city": "Oslo", "street": 1}}
    [result] = played(case(f"call look_up {json.dumps(given)}", function="look_up", arguments=wanted))
    expected = {"arguments": Score(passed, float(passed), wanted, given, reason)} if wanted else {}
    assert {name: score for name, score in result.scores.items() if name != "function"} == expected
    assert result.passed is passed


def test_nobody_asks_for_the_arguments_of_a_wrong_function_or_of_broken_ones() -> None:
    """D61"""
    assert "arguments" not in played(case("call to_refunds", function="look_up", arguments={"item": 7}))[0].scores
    [broken] = played(case("call look_up {broken", function="look_up", arguments={"item": 7}))
    assert broken.scores["arguments"] == Score(False, 0.0, {"item": 7}, "{broken", "it is '{broken' instead of {'item': 7}")


STEPS = 'call to_refunds / call look_up {"item": 7} / call refund {"item": 7} / Done'


@pytest.mark.parametrize(
    ("calls", "reason"),
    [
        (["look_up", "refund"], None),
        (["to_refunds", "look_up", "refund"], None),
        ([("look_up", {"item": 7}), ("refund", {"item": 7})], None),
        (["...", "refund"], None),
        (["...", "look_up", "..."], None),
        (["look_up", "refund", "..."], None),
        ([], "2 calls, not 0"),
        (["look_up"], "2 calls, not 1"),
        (["refund", "look_up"], "call 1: look_up instead of refund"),
        (["look_up", ("refund", {"item": 8})], "call 2: refund.item is 7 instead of 8"),
        (["...", "look_up"], "the calls were look_up, refund"),
        (["...", "refund", "...", "look_up"], "the calls were look_up, refund"),
    ],
)
def test_the_calls_of_the_whole_run_in_order(calls: list[Any], reason: str | None) -> None:
    """D61: calls that only hand over count where the case names them; the functions are run."""
    made = [{"function": each[0], "arguments": each[1]} if isinstance(each, tuple) else each for each in calls]
    wanted: list[Any] = [{"function": each, "arguments": {}} if isinstance(each, str) and each != "..." else each for each in made]
    score = scored(STEPS, "calls", calls=wanted)
    assert (score.passed, score.reason) == (reason is None, reason or "")
    assert score.expected == wanted
    assert [call["function"] for call in score.actual][-2:] == ["look_up", "refund"]


def test_a_call_that_was_not_understood_is_none_and_one_that_raised_is() -> None:
    """D61"""
    said = 'call to_refunds / call refund {"item": "x"} / call fails / call fails / Done'
    [result] = played(case(said, calls=[{"function": "fails", "arguments": {}}] * 2))
    assert result.passed
    assert [call["outcome"] for call in result.calls] == ["ok", "error", "error", "error"]


@given(st.lists(st.sampled_from(["a", "b", "..."]), max_size=5), st.lists(st.sampled_from("ab"), max_size=5))
def test_three_dots_are_any_calls(wanted: list[str], made: list[str]) -> None:
    """D61: as a search by brute force says."""

    def fits(wanted: list[str], made: list[str]) -> bool:
        if not wanted:
            return not made
        if wanted[0] == "...":
            return any(fits(wanted[1:], made[at:]) for at in range(len(made) + 1))
        return bool(made) and wanted[0] == made[0] and fits(wanted[1:], made[1:])

    listed: list[Any] = [each if each == "..." else {"function": each, "arguments": {}} for each in wanted]
    assert _fits(listed, [{"function": each, "arguments": {}} for each in made]) is fits(wanted, made)


def test_handoffs_and_the_final_agent() -> None:
    """D61"""
    back = "call to_refunds / call to_triage / Hello"
    assert scored(back, "handoffs", handoffs=["Refunds", "Triage"]) == Score(True, 1.0, ["Refunds", "Triage"], ["Refunds", "Triage"])
    assert scored(back, "handoffs", handoffs=["Refunds"]).passed is False
    assert scored("Hello", "handoffs", handoffs=[]).passed is True
    assert scored(back, "final_agent", final_agent="Triage").passed is True
    assert scored(STEPS, "final_agent", final_agent="Triage") == Score(False, 0.0, "Triage", "Refunds")


def test_the_state_at_the_end() -> None:
    """D61: among others; by its hash; of what a function makes of it."""
    assert scored(STEPS, "state", state={"orders": {"7": "refunded"}}).passed is True
    twice = f'{STEPS.removesuffix(" / Done")} / call refund {{"item": 7}} / Done'
    score = scored(twice, "state", state={"refunds": 1})
    assert (score.passed, score.reason) == (False, "refunds is 2 instead of 1")
    whole = {"orders": {"7": "refunded"}, "refunds": 1}
    assert scored(STEPS, "state", state=state_hash(whole)) == Score(True, 1.0, state_hash(whole), state_hash(whole))
    assert scored(twice, "state", state=state_hash(whole)).actual == state_hash(whole | {"refunds": 2})
    [result] = played(case(STEPS, state={"count": 1}), state=lambda variables: {"count": variables["refunds"]})
    assert (result.passed, result.state) == (True, {"count": 1})


@pytest.mark.parametrize(
    ("conditions", "broken"),
    [
        ({"contains": ["REFUND", "item 7"]}, []),
        ({"contains": ["refund", "shoe"]}, ["contains 'shoe'"]),
        ({"not_contains": ["Sorry", "item"]}, ["not_contains 'item'"]),
        ({"matches": [r"item \d+", r"^refund"]}, ["matches '^refund'"]),
        ({"equals": " Your refund for item 7 is on its way.\n"}, []),
        ({"equals": "your refund for item 7 is on its way."}, ["equals 'your refund for item 7 is on its way.'"]),
    ],
)
def test_conditions_on_the_last_text(conditions: Any, broken: list[str]) -> None:
    """D61"""
    text = "Your refund for item 7 is on its way."
    assert broken_conditions(conditions, text) == broken
    score = scored(f"call to_refunds / {text}", "text", text=conditions)
    count = sum(len(each) if isinstance(each, list) else 1 for each in conditions.values())
    assert score == Score(not broken, 1 - len(broken) / count, conditions, text, f"not met: {'; '.join(broken)}" if broken else "")


def test_everything_that_a_case_asks_must_pass() -> None:
    [result] = played(case(STEPS, function="to_refunds", final_agent="Refunds", text={"contains": ["sorry"]}))
    assert {name: score.passed for name, score in result.scores.items()} == {"function": True, "final_agent": True, "text": False}
    assert result.passed is False


# Own scorers


def brief(_: Case, outcome: Outcome) -> bool:
    return len(outcome.text) < 10


async def half(_: Case, __: Outcome) -> float:
    await asyncio.sleep(0)
    return 0.5


class Topic:
    name = "topic"

    async def __call__(self, case: Case, outcome: Outcome) -> Score | None:
        wanted = (case.data or {}).get("topic")
        return None if wanted is None else Score(wanted in outcome.text, 0.25, wanted, outcome.text, "as the data say")


def test_own_scorers_are_functions_and_objects_sync_and_async() -> None:
    """D61"""
    one, other = played(case("Hello bees", data={"topic": "bees"}), case("Hi"), scorers=[brief, half, Topic()])
    topic = Score(True, 0.25, "bees", "Hello bees", "as the data say")
    assert one.scores == {"brief": Score(False, 0.0), "half": Score(True, 0.5), "topic": topic}
    assert other.scores == {"brief": Score(True, 1.0), "half": Score(True, 0.5)}
    assert (one.passed, other.passed) == (False, True)


def test_a_scorer_that_fails_is_an_error_and_no_verdict_on_the_agents() -> None:
    """D61, D62"""

    def broken(case: Case, outcome: Outcome) -> Any:
        return {"Hi": "yes", "Ho": 2}[outcome.text]

    results = played(case("Hi"), case("Ho"), case("Ha"), case("brief"), scorers=[broken, brief])
    errors = [result.error and result.error["message"] for result in results]
    assert errors == [
        "the scorer 'broken' failed: TypeError: a scorer returns a Score, a bool, a number from 0 to 1, or None, not 'yes'",
        "the scorer 'broken' failed: TypeError: a scorer returns a Score, a bool, a number from 0 to 1, or None, not 2",
        "the scorer 'broken' failed: KeyError: 'Ha'",
        "the scorer 'broken' failed: KeyError: 'brief'",
    ]
    assert all(not result.passed and result.scores == {} and len(result.messages) == 2 for result in results)


def test_what_nobody_scored_has_not_passed() -> None:
    """D61"""
    [result] = played(case("Hi"), scorers=[Topic()])
    assert not result.passed
    assert result.error is not None and "no scorer had anything to say" in result.error["message"]


def test_scorers_that_block_hold_up_nobody() -> None:
    """D62: as many as there are conversations wait for each other."""
    together = threading.Barrier(12)

    def waits(case: Case, outcome: Outcome) -> bool:
        return together.wait(20) < 12

    results = run_evals(triage, [case(f"{number}") for number in range(12)], client=Rules(), concurrency=12, scorers=[waits]).results
    assert all(result.passed for result in results)


def test_names_of_scorers_are_their_own() -> None:
    def text(case: Case, outcome: Outcome) -> bool:
        return True

    for scorers in ([text], [brief, brief]):
        with pytest.raises(EvalError, match="there are two scorers called"):
            played(case("Hi"), scorers=scorers)
    with pytest.raises(TypeError, match="a scorer is a function"):
        played(case("Hi"), scorers=["brief"])


# What holds what


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "a", "b"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_a_value_holds_itself_and_what_is_left_when_names_are_taken_out(value: Any) -> None:
    """D61"""
    assert difference(value, value) == ""
    assert difference(_less(value), value) == ""


def _less(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _less(item) for name, item in list(value.items())[1:]}
    return [_less(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("expected", "actual", "says"),
    [
        (1, 1.0, ""),
        (1, True, "it is True instead of 1"),
        (False, 0, "it is 0 instead of False"),
        ([1, 2], [1], "it has 1 items instead of 2"),
        ({"a": [{"b": 1}]}, {"a": [{"b": 2, "c": 3}], "d": 4}, "a[0].b is 2 instead of 1"),
        ({}, [], "it is [] instead of {}"),
    ],
)
def test_the_first_difference_is_named(expected: Any, actual: Any, says: str) -> None:
    assert difference(expected, actual) == says


def test_an_outcome_without_a_reply_has_no_call_and_no_text() -> None:
    outcome = Outcome(Agent(), [{"role": "user", "content": "hi"}], 1, {})
    assert (outcome.first_call, outcome.text, outcome.called) == (("None", {}), "", [])


def test_messages_that_were_given_are_nobodys_reply() -> None:
    """What the conversation begins with may hold replies and calls of its own."""
    before = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "old text", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "look_up"}}]},
        {"role": "tool", "tool_call_id": "1", "content": "x"},
        {"role": "user", "content": "call to_refunds"},
    ]
    [result] = played(replace(case("x", function="to_refunds"), conversation=before))
    assert (result.passed, result.input, len(result.messages)) == (True, 4, 5)


@pytest.mark.parametrize("said", [Score(True, float("nan")), Score(True, 2), Score("yes", 1), Score(True, 1, reason=None), SystemExit(3)])  # type: ignore[arg-type]
def test_a_score_that_is_none_spoils_no_file_and_no_page(said: Any) -> None:
    """D61, D62: nor does a scorer that wants to end the process."""

    def odd(case: Case, outcome: Outcome) -> Any:
        if isinstance(said, SystemExit):
            raise said
        return said

    first, second = played(case("Hi"), case("Ho", function="None"), scorers=[odd])
    assert not first.passed and first.error is not None and first.error["message"].startswith("the scorer 'odd' failed: ")
    assert second.error is not None


def test_what_a_scorer_names_is_kept_as_json() -> None:
    def odd(case: Case, outcome: Outcome) -> Score:
        return Score(True, 1, {1: (2, 3)}, {"picture": b"\xff\xfe", "name": b"text"})

    [result] = played(case("Hi"), scorers=[odd])
    assert result.scores["odd"] == Score(True, 1.0, {"1": [2, 3]}, {"picture": "__4=", "name": "dGV4dA=="})


def test_one_scorer_is_no_list_of_them() -> None:
    def brief(case: Case, outcome: Outcome) -> bool:
        return True

    with pytest.raises(TypeError, match=r"scorers=\[brief\]"):
        played(case("Hi"), scorers=brief)
