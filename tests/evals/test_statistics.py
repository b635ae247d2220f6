"""The arithmetic of evals, against counting everything by hand."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from statistics import quantiles

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from swarm.evals.statistics import Tally, independent_results, paired, pass_hat, percentile, share, total, wilson


@st.composite
def tallies(draw: st.DrawFn, most: int = 6) -> Tally:
    tried = draw(st.integers(1, most))
    return draw(st.integers(0, tried)), tried


# Shares and their intervals


@pytest.mark.parametrize(
    ("passed", "tried", "low", "high"),
    # Table I of R. G. Newcombe, https://doi.org/10.1002/(SICI)1097-0258(19980430)17:8<857::AID-SIM777>3.0.CO;2-E, method 3
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_as_published(passed: int, tried: int, low: float, high: float) -> None:
    """E05"""
    assert share([(1, 1)] * passed + [(0, 1)] * (tried - passed)).interval == pytest.approx((low, high), abs=5e-5)


@given(st.integers(0, 60), st.integers(1, 60))
def test_the_ends_of_wilsons_interval_solve_its_equation(passed: int, tried: int) -> None:
    passed = min(passed, tried)
    rate, z = passed / tried, 1.7
    low, high = wilson(rate, tried, z)
    assert 0 <= low <= rate <= high <= 1
    for end in {low, high} - {0.0, 1.0}:
        assert abs(rate - end) == pytest.approx(z * math.sqrt(end * (1 - end) / tried), rel=1e-6)


@given(st.lists(tallies(), min_size=1, max_size=12))
def test_repetitions_are_worth_no_more_than_results_and_no_less_than_one(cases: list[Tally]) -> None:
    worth = independent_results(cases)
    assert 1 - 1e-9 <= worth <= sum(tried for _, tried in cases) + 1e-9


@given(st.lists(st.booleans(), min_size=1, max_size=30), st.integers(1, 5))
def test_repetitions_that_only_repeat_make_no_interval_narrower(outcomes: list[bool], times: int) -> None:
    """E05"""
    once = share([(int(outcome), 1) for outcome in outcomes])
    often = share([(times * outcome, times) for outcome in outcomes])
    assert often.interval == pytest.approx(once.interval)
    assert (often.tried, often.cases, often.value) == (times * once.tried, once.cases, once.value)


def test_repetitions_that_differ_at_random_narrow_it() -> None:
    alike, mixed = share([(4, 4), (0, 4)] * 10), share([(2, 4)] * 20)
    assert alike.value == mixed.value == 0.5
    assert mixed.interval[1] - mixed.interval[0] < 0.6 * (alike.interval[1] - alike.interval[0])


@pytest.mark.parametrize("repetitions", [1, 5])
def test_intervals_hold_the_truth_as_often_as_they_say(repetitions: int) -> None:
    """E05: of cases that differ much in how hard they are, so that results of one case are alike."""
    chance, held = random.Random(repetitions), 0
    for _ in range(400):
        cases = [sum(chance.random() < rate for _ in range(repetitions)) for rate in (chance.betavariate(0.5, 0.5) for _ in range(50))]
        low, high = share((passed, repetitions) for passed in cases).interval
        held += low <= 0.5 <= high
    assert 0.92 <= held / 400 <= 0.98  # 95 % give or take three standard errors


def test_a_share_of_nothing() -> None:
    nothing = share([(0, 0)])
    assert (nothing.value, nothing.cases, nothing.interval) == (None, 0, (0.0, 1.0))


# Reliability


@given(st.lists(tallies(), min_size=1, max_size=5), st.integers(1, 6))
def test_pass_hat_is_the_share_of_draws_that_all_passed(cases: list[Tally], k: int) -> None:
    """E06"""
    k = min(k, *(tried for _, tried in cases))
    shares: list[Fraction] = []
    for passed, tried in cases:
        draws = list(itertools.combinations([True] * passed + [False] * (tried - passed), k))
        shares.append(Fraction(sum(map(all, draws)), len(draws)))
    assert pass_hat(cases, k) == pytest.approx(float(sum(shares) / len(shares)))


@pytest.mark.parametrize(("cases", "k"), [([], 1), ([(1, 1)], 0), ([(3, 3), (1, 2)], 3)])
def test_pass_hat_needs_enough_repetitions(cases: list[Tally], k: int) -> None:
    with pytest.raises(ValueError, match=f"pass\\^{k} needs cases"):
        pass_hat(cases, k)


# Numbers


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=40))
def test_percentiles_are_those_of_the_standard_library(values: list[float]) -> None:
    for percent, expected in enumerate(quantiles(values, n=100, method="inclusive"), 1):
        assert percentile(values, percent) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert (percentile(values, 0), percentile(values, 100)) == (min(values), max(values))


def test_a_percentile_of_one_value_is_that_value() -> None:
    assert percentile([3.5], 95) == 3.5


def test_what_is_not_known_is_no_zero() -> None:
    """E07"""
    some, none = total([0.5, None, 0.25]), total([None, None])
    assert (some.value, some.known, some.of) == (0.75, 2, 3)
    assert (none.value, none.known, none.of) == (None, 0, 2)


# Two runs

runs = st.lists(st.tuples(tallies(3), tallies(3)), min_size=1, max_size=9)


def as_runs(cases: list[tuple[Tally, Tally]]) -> tuple[dict[str, Tally], dict[str, Tally]]:
    return {str(n): before for n, (before, _) in enumerate(cases)}, {str(n): after for n, (_, after) in enumerate(cases)}


@given(runs)
@example([((0, 1), (1, 1))] * 9)
def test_the_test_counts_every_way_to_swap(cases: list[tuple[Tally, Tally]]) -> None:
    """E08"""
    changes = [Fraction(*after) - Fraction(*before) for before, after in cases]
    seen = sum(changes)
    sums = [
        sum(sign * change for sign, change in zip(signs, changes, strict=True)) for signs in itertools.product((1, -1), repeat=len(changes))
    ]
    fell = sum(value <= seen for value in sums) / len(sums)
    rose = sum(value >= seen for value in sums) / len(sums)
    found = paired(*as_runs(cases))
    assert (found.cases, found.difference) == (len(cases), pytest.approx(float(seen) / len(cases)))
    assert found.p_worse == pytest.approx(fell)
    assert found.p_value == pytest.approx(min(1.0, 2 * min(fell, rose)))


@given(st.integers(0, 20), st.integers(0, 20), st.integers(1, 30))
def test_with_one_repetition_it_is_mcnemars_exact_test(fixed: int, broken: int, same: int) -> None:
    """E08"""
    found = paired(*as_runs([((0, 1), (1, 1))] * fixed + [((1, 1), (0, 1))] * broken + [((1, 1), (1, 1))] * same))
    changed = fixed + broken
    tail = sum(math.comb(changed, number) for number in range(min(fixed, broken) + 1)) / 2**changed
    assert found.p_value == pytest.approx(min(1.0, 2 * tail))


@pytest.mark.parametrize(
    ("fixed", "broken", "same", "low", "high"),
    # diffpropci(b, c, n, .95) of http://users.stat.ufl.edu/~aa/cda/R/matched/R2_matched/index.html, worked out by hand
    [
        (0, 0, 10, -1.96 / 12, 1.96 / 12),
        (16, 4, 30, 12 / 52 - 1.96 * math.sqrt(21 - 144 / 52) / 52, 12 / 52 + 1.96 * math.sqrt(21 - 144 / 52) / 52),
    ],
)
def test_the_interval_of_the_difference(fixed: int, broken: int, same: int, low: float, high: float) -> None:
    found = paired(*as_runs([((0, 1), (1, 1))] * fixed + [((1, 1), (0, 1))] * broken + [((1, 1), (1, 1))] * same))
    assert found.interval == pytest.approx((low, high), abs=1e-4)


@given(runs)
def test_the_difference_turns_round_with_the_runs(cases: list[tuple[Tally, Tally]]) -> None:
    old, new = as_runs(cases)
    there, back = paired(old, new), paired(new, old)
    assert there.difference == pytest.approx(-back.difference)
    assert there.interval == pytest.approx((-back.interval[1], -back.interval[0]))
    assert there.p_value == pytest.approx(back.p_value)
    assert -1 <= there.interval[0] <= there.interval[1] <= 1


@pytest.mark.parametrize(("before", "after"), [(1, 1), (3, 3), (1, 3)])
def test_chance_alone_is_seldom_called_worse(before: int, after: int) -> None:
    """E08: whether or not the runs repeat their cases equally often."""
    chance, alarms = random.Random(before + after), 0
    for _ in range(400):
        rates = [chance.betavariate(2, 1) for _ in range(40)]
        old, new = (
            {str(case): (sum(chance.random() < rate for _ in range(tries)), tries) for case, rate in enumerate(rates)}
            for tries in (before, after)
        )
        alarms += paired(old, new).p_worse <= 0.05
    assert alarms / 400 <= 0.08  # 5 % and three standard errors


def test_thousands_of_cases_with_uneven_repetitions() -> None:
    worse = paired(*as_runs([((3, 3), (3, 5)), ((1, 2), (1, 2)), ((0, 4), (1, 3)), ((2, 2), (1, 2))] * 1_250))
    assert worse.p_worse < 1e-9
    assert worse.interval[0] < worse.difference < worse.interval[1] < 0


def test_runs_without_a_shared_case() -> None:
    with pytest.raises(ValueError, match="share no case"):
        paired({"a": (1, 1)}, {"b": (1, 1), "a": (0, 0)})
