"""The arithmetic of evals: how sure a share is, how reliable repetitions are, whether two runs differ. Plain functions of numbers.

The unit of evidence is the case. Repetitions of one case are not independent: a model that always errs on it errs in each of them, and
one at temperature 0 only repeats itself. So intervals are widened by what the repetitions have in common, and two runs are compared case
by case. See E. Miller, "Adding Error Bars to Evals", https://arxiv.org/abs/2411.00640.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Interval: TypeAlias = tuple[float, float]
Tally: TypeAlias = tuple[int, int]
"""Of one case: how often it passed, how often it was tried."""

Z95 = 1.959963984540054
"""Half the width of a 95 % interval of the normal distribution, in standard deviations."""

_NEGLIGIBLE = 1e-18


@dataclass(frozen=True, slots=True)
class Share:
    """How many of some results passed.

    Attributes:
        passed: how many did.
        tried: how many there are, repetitions included.
        cases: how many cases they are of.
        interval: the 95 % confidence interval of the share, from 0 to 1.
    """

    passed: int
    tried: int
    cases: int
    interval: Interval

    @property
    def value(self) -> float | None:
        """The share that passed, from 0 to 1; None if nothing was tried."""
        return self.passed / self.tried if self.tried else None


def share(tallies: Iterable[Tally]) -> Share:
    """The share of passed results with its 95 % interval.

    It is Wilson's score interval (https://doi.org/10.1080/01621459.1927.10502953) for as many independent results as these are worth:
    the number of results divided by the design effect, which is how much more the share varies than it would if repetitions of a case had
    nothing in common (https://pmc.ncbi.nlm.nih.gov/articles/PMC6690503). Without repetitions it is the plain interval.

    Args:
        tallies: one for each case.
    """
    counted = [tally for tally in tallies if tally[1]]
    passed, tried = sum(tally[0] for tally in counted), sum(tally[1] for tally in counted)
    interval = wilson(passed / tried, independent_results(counted)) if tried else (0.0, 1.0)
    return Share(passed, tried, len(counted), interval)


def independent_results(tallies: Sequence[Tally]) -> float:
    """How many independent results those of the cases are worth: from one a case, if repetitions only repeat, to all of them.

    Args:
        tallies: one for each case, tried at least once.
    """
    passed, tried = sum(tally[0] for tally in tallies), sum(tally[1] for tally in tallies)
    rate = passed / tried
    if passed in (0, tried):  # nothing varies, so nothing tells how alike repetitions are: taken as wholly alike
        return tried**2 / sum(count**2 for _, count in tallies)
    clustered = sum((good - rate * count) ** 2 for good, count in tallies)
    return min(float(tried), rate * (1 - rate) * tried**2 / clustered) if clustered else float(tried)


def wilson(rate: float, tried: float, z: float = Z95) -> Interval:
    """Wilson's score interval of a share, https://doi.org/10.1080/01621459.1927.10502953.

    Args:
        rate: the share that was seen, from 0 to 1.
        tried: of how many independent results, more than 0; need not be whole.
        z: half its width in standard deviations.
    """
    middle = (rate + z * z / (2 * tried)) / (1 + z * z / tried)
    half = z * math.sqrt(rate * (1 - rate) / tried + z * z / (4 * tried * tried)) / (1 + z * z / tried)
    return (0.0 if rate == 0 else max(0.0, middle - half)), (1.0 if rate == 1 else min(1.0, middle + half))


def pass_hat(tallies: Sequence[Tally], k: int) -> float:
    """pass^k: how likely a case passes k times in a row, as a mean over the cases.

    For one case, `comb(passed, k) / comb(tried, k)`: the share of all ways to take k of its repetitions in which each one passed, which is
    an unbiased estimate (tau-bench, https://arxiv.org/abs/2406.12045). pass^1 is also known as pass@1.

    Args:
        tallies: one for each case.
        k: how many times, at least 1.

    Raises:
        ValueError: there is no case, or one with fewer than k repetitions.
    """
    if k < 1 or not tallies or any(tried < k for _, tried in tallies):
        raise ValueError(f"pass^{k} needs cases that were each repeated at least max(1, {k}) times")
    return sum(math.comb(passed, k) / math.comb(tried, k) for passed, tried in tallies) / len(tallies)


def percentile(values: Sequence[float], percent: float) -> float:
    """The value below which so many percent of the values lie, with linear interpolation between neighbours.

    It is type 7 of Hyndman and Fan, https://doi.org/10.1080/00031305.1996.10473566, as spreadsheets and numpy count it.

    Args:
        values: at least one, in any order.
        percent: from 0 to 100.
    """
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


@dataclass(frozen=True, slots=True)
class Total:
    """A sum of numbers that are not all known.

    Attributes:
        value: the sum of those that are known; None if none is.
        known: how many are known.
        of: how many there are.
    """

    value: float | None
    known: int
    of: int


def total(values: Iterable[float | None]) -> Total:
    """The sum of what is known of some numbers. A number that is not known is no zero: it is counted as unknown.

    Args:
        values: the numbers; None for one that is not known.
    """
    everything = list(values)
    known = [value for value in everything if value is not None]
    return Total(math.fsum(known) if known else None, len(known), len(everything))


@dataclass(frozen=True, slots=True)
class Paired:
    """How the same cases fared in two runs.

    Attributes:
        cases: how many both have.
        difference: by how much the mean of the cases' pass rates rose, from -1 to 1.
        interval: its 95 % confidence interval.
        p_value: how likely a difference at least as large, up or down, is by chance alone.
        p_worse: how likely a fall at least as large is by chance alone.
    """

    cases: int
    difference: float
    interval: Interval
    p_value: float
    p_worse: float


def paired(old: Mapping[str, Tally], new: Mapping[str, Tally]) -> Paired:
    """Compare two runs over the cases that both have tried.

    The test is the exact permutation test of paired differences: if the runs do not differ, each case's two pass rates could as well be
    the other way round, so every way to swap them is equally likely (R. A. Fisher, "The Design of Experiments", 1935, section 21). For one
    repetition it is McNemar's test in its exact form (https://doi.org/10.1007/BF02295996), a sign test of the cases that changed. It is
    exact where a case has as many repetitions in both runs, and close where it has not. The interval is Agresti and Min's "Wald+2"
    (https://doi.org/10.1002/sim.1781), which stays honest for few cases and for no change at all.

    Args:
        old: the earlier run: for each case, how often it passed and how often it was tried.
        new: the later run.

    Raises:
        ValueError: they share no case.
    """
    pairs = [(old[case], new[case]) for case in old if case in new and old[case][1] and new[case][1]]
    if not pairs:
        raise ValueError("the two runs share no case, so there is nothing to compare")
    scale = math.lcm(*(before[1] * after[1] for before, after in pairs))
    changes = [(after[0] * before[1] - before[0] * after[1]) * (scale // (before[1] * after[1])) for before, after in pairs]
    fell, rose = _tails(changes)
    rates = [change / scale for change in changes]
    return Paired(len(pairs), math.fsum(rates) / len(rates), _wald_plus_two(rates), min(1.0, 2 * min(fell, rose)), fell)


def _tails(changes: Sequence[int]) -> tuple[float, float]:
    """How likely a sum as low as that of the changes is, and one as high, if each has its sign by chance.

    Changes of one size have a binomial number of plus signs; the sizes are put together one after the other.
    """
    sums = {0: 1.0}
    for size, many in Counter(abs(change) for change in changes if change).items():
        signs = {size * (2 * plus - many): math.comb(many, plus) / 2**many for plus in range(many + 1)}
        likely = [(value, chance) for value, chance in signs.items() if chance > _NEGLIGIBLE]
        joined: dict[int, float] = {}
        for before, chance in sums.items():
            for value, factor in likely:
                joined[before + value] = joined.get(before + value, 0.0) + chance * factor
        sums = {value: chance for value, chance in joined.items() if chance > _NEGLIGIBLE}
    seen = sum(changes)
    below = math.fsum(chance for value, chance in sums.items() if value <= seen)
    above = math.fsum(chance for value, chance in sums.items() if value >= seen)
    return min(1.0, below), min(1.0, above)


def _wald_plus_two(differences: Sequence[float]) -> Interval:
    """Two cases are added, as half a case in each of the four ways a pair can come out: one half rose, one fell, one did not change."""
    many = len(differences) + 2
    middle = math.fsum(differences) / many
    half = Z95 * math.sqrt((math.fsum(value * value for value in differences) + 1) / many - middle * middle) / math.sqrt(many)
    return max(-1.0, middle - half), min(1.0, middle + half)
