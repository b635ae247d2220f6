"""The results of an eval in numbers, and two runs side by side."""

from __future__ import annotations

import pytest

from swarm.evals.comparing import compare
from swarm.evals.problems import EvalError
from swarm.evals.records import Results, Score
from swarm.evals.summary import Confusion, file_of, summarize
from tests.evals.making import USAGE, a_header, a_result, a_run


def test_what_passed_by_scorer_agent_file_and_tag() -> None:
    scores = {"function": Score(True, 1.0, "a", "a"), "polite": Score(False, 0.4, reason="rude")}
    summary = summarize(
        Results(
            a_header(cases=3),
            [
                a_result("triage/1", tags=["new", "hard"]),
                a_result("triage/2", passed=False, scores=scores, tags=["hard"]),
                a_result("sales/1", agent="Sales", place=""),
            ],
        )
    )
    counted = {kind: {name: (share.passed, share.tried) for name, share in shares.items()} for kind, shares in summary.groups.items()}
    assert counted == {
        "scorer": {"function": (3, 3), "polite": (0, 1)},
        "agent": {"Sales": (1, 1), "Triage": (1, 2)},
        "file": {"evals/triage.json": (1, 2)},
        "tag": {"hard": (1, 2), "new": (1, 1)},
    }
    assert (summary.overall.passed, summary.overall.tried, summary.overall.cases) == (2, 3, 3)


def test_reliability_goes_as_far_as_every_case_was_repeated() -> None:
    """E06"""
    summary = summarize(a_run({"t/1": [True, True, True], "t/2": [True, False]}))
    assert summary.reliability == pytest.approx([0.75, 0.5])


def test_functions_that_were_called_instead_of_others() -> None:
    run = a_run({"t/1": [True, False], "t/2": [False]})
    assert summarize(run).confusion == Confusion(
        ["transfer_to_refunds", "transfer_to_sales"],
        {("transfer_to_refunds", "transfer_to_refunds"): 1, ("transfer_to_refunds", "transfer_to_sales"): 2},
    )
    assert summarize(a_run({"t/1": [True]}, scores={})).confusion is None


def test_tokens_and_costs_that_nobody_counted_are_not_known() -> None:
    """E07"""
    uncounted = USAGE | {"input_tokens": 0, "output_tokens": 0, "cost": None}
    summary = summarize(Results(a_header(), [a_result("t/1"), a_result("t/2", usage=uncounted)]))
    assert summary.tokens == [120, None]
    assert (summary.cost.value, summary.cost.known, summary.cost.of) == (0.002, 1, 2)


def test_a_model_that_failed_before_it_answered_cost_nobody_knows_what() -> None:
    """E07: not nothing, which would show as a sum of $0.00."""
    nothing = USAGE | {"input_tokens": 0, "output_tokens": 0, "model_calls": 0, "cost": 0.0}
    failed = a_result("t/1", usage=nothing, error={"type": "RateLimitError", "message": "slow down"})
    summary = summarize(Results(a_header(), [failed, a_result("t/2", usage=USAGE | {"cost": None}), a_result("t/3", usage=nothing)]))
    assert summary.costs == [None, None, 0.0]


def test_results_that_are_errors_are_counted() -> None:
    failed = a_result("t/1", passed=False, error={"type": "TimeoutError", "message": "30 s"})
    assert summarize(Results(a_header(), [failed, a_result("t/2")])).errors == 1


def test_a_run_without_results() -> None:
    summary = summarize(Results(a_header(), []))
    assert (summary.overall.value, summary.reliability, summary.confusion, summary.cost.value) == (None, [], None, None)


@pytest.mark.parametrize(("place", "file"), [("a/b.json:12", "a/b.json"), ("c:/b.yaml:3", "c:/b.yaml"), ("b.csv", "b.csv"), ("", "")])
def test_the_file_of_a_place(place: str, file: str) -> None:
    assert file_of(place) == file


# Comparing

OLD = a_run({f"t/{n}": [True, True] for n in range(1, 9)} | {"t/9": [False, False], "old/1": [True, True]})


def test_what_changed_between_two_runs() -> None:
    """E08"""
    new = a_run({"t/1": [False, True], "t/2": [False, False], "t/3": [True, True], "t/9": [True, False], "new/1": [True, True]})
    found = compare(OLD, new)
    assert [(change.case, change.before, change.after) for change in found.broken] == [("t/2", 1.0, 0.0), ("t/1", 1.0, 0.5)]
    assert [(change.case, change.before, change.after) for change in found.fixed] == [("t/9", 0.0, 0.5)]
    assert (found.only_new, found.only_old) == (["new/1"], ["old/1", "t/4", "t/5", "t/6", "t/7", "t/8"])
    assert (found.cases, found.difference) == (4, pytest.approx(-0.25))
    assert (found.old.overall.tried, found.new.overall.tried) == (20, 10)


@pytest.mark.parametrize(
    ("broken", "fixed", "verdict", "is_worse"),
    [
        (4, 0, "no significant difference", False),  # 1 in 16 by chance
        (5, 0, "worse", True),  # 1 in 32
        (6, 1, "no significant difference", False),  # 8 in 128, just above one in twenty
        (0, 5, "no significant difference", False),  # 2 in 32, since better is a two-sided question
        (0, 6, "better", False),
        (0, 0, "no significant difference", False),
    ],
)
def test_worse_is_more_than_chance(broken: int, fixed: int, verdict: str, is_worse: bool) -> None:
    """E08"""
    before = [True] * broken + [False] * fixed + [True] * 10
    after = [False] * broken + [True] * fixed + [True] * 10
    found = compare(
        a_run({f"t/{n}": [passed] for n, passed in enumerate(before)}), a_run({f"t/{n}": [passed] for n, passed in enumerate(after)})
    )
    assert (found.verdict, found.is_worse) == (verdict, is_worse)


def test_repetitions_are_no_evidence_of_their_own() -> None:
    """E08: a model at temperature 0 that breaks three cases breaks them each time."""
    before = {f"t/{n}": [True] * 10 for n in range(3)}
    assert not compare(a_run(before), a_run({case: [False] * 10 for case in before})).is_worse


def test_runs_of_other_cases_are_not_compared() -> None:
    with pytest.raises(EvalError, match="none of the 10 cases of the earlier run is among the 1 of the later one"):
        compare(OLD, a_run({"x/1": [True]}))


def test_what_only_measures_is_counted_apart() -> None:
    """D68, D69"""
    judge = USAGE | {"input_tokens": 3, "output_tokens": 4, "cost": None}
    results = [a_result("t/1", usage_apart={"judge": judge, "user": USAGE}), a_result("t/2", usage_apart={"judge": USAGE}), a_result("t/3")]
    summary = summarize(Results(a_header(), results))
    assert {name: (taken.tokens, taken.costs) for name, taken in summary.apart.items()} == {
        "judge": ([7, 120], [None, 0.002]),
        "user": ([120], [0.002]),
    }
    assert (summary.tokens, summary.cost.value) == ([120] * 3, 0.006)
