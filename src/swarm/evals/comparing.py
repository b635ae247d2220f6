"""Two runs of an eval side by side: which cases changed, and whether that is more than chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .problems import EvalError
from .statistics import Interval, paired
from .summary import Summary, summarize, tally

if TYPE_CHECKING:
    from .records import Results

SIGNIFICANT = 0.05
"""How likely a difference may be by chance alone and still be called one."""


@dataclass(frozen=True, slots=True)
class Change:
    """A case that fared otherwise than before.

    Attributes:
        case: its id.
        before: the share of its repetitions that passed, from 0 to 1.
        after: the same, in the later run.
    """

    case: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """How a later run differs from an earlier one, over the cases that both have.

    Attributes:
        cases: how many cases both have.
        fixed: cases that passed more often than before, the largest changes first.
        broken: cases that passed less often, the largest changes first.
        only_old: ids of cases that only the earlier run has; they are not compared.
        only_new: ids of cases that only the later run has.
        difference: by how much the mean of the cases' pass rates rose, from -1 to 1.
        interval: its 95 % confidence interval.
        p_value: how likely a difference at least as large, up or down, is by chance alone.
        p_worse: how likely a fall at least as large is by chance alone.
        old: the earlier run in numbers, all its cases.
        new: the later run in numbers.
    """

    cases: int
    fixed: list[Change]
    broken: list[Change]
    only_old: list[str]
    only_new: list[str]
    difference: float
    interval: Interval
    p_value: float
    p_worse: float
    old: Summary
    new: Summary

    @property
    def is_worse(self) -> bool:
        """Whether the later run is worse by more than chance: a one-sided test at 5 %."""
        return self.p_worse <= SIGNIFICANT

    @property
    def is_different(self) -> bool:
        """Whether the runs differ by more than chance: a two-sided test at 5 %."""
        return self.p_value <= SIGNIFICANT

    @property
    def verdict(self) -> str:
        """What the comparison comes to: "worse", "better" or "no significant difference"."""
        if self.is_worse:
            return "worse"
        return "better" if self.is_different else "no significant difference"


def compare(old: Results, new: Results) -> Comparison:
    """Compare two runs case by case. `swarm.evals.statistics.paired` says how, and why the case is what counts.

    Args:
        old: the earlier run.
        new: the later run.

    Raises:
        EvalError: they share no case.
    """
    before, after = tally(old.results), tally(new.results)
    try:
        found = paired(before, after)
    except ValueError:
        raise EvalError(
            f"none of the {len(before)} cases of the earlier run is among the {len(after)} of the later one; compare runs of the same files"
        ) from None
    changes = [_change(case, before, after) for case in before if case in after]
    return Comparison(
        found.cases,
        sorted(
            (change for change in changes if change.after > change.before), key=lambda change: (change.before - change.after, change.case)
        ),
        sorted(
            (change for change in changes if change.after < change.before), key=lambda change: (change.after - change.before, change.case)
        ),
        sorted(before.keys() - after.keys()),
        sorted(after.keys() - before.keys()),
        found.difference,
        found.interval,
        found.p_value,
        found.p_worse,
        summarize(old),
        summarize(new),
    )


def _change(case: str, before: dict[str, tuple[int, int]], after: dict[str, tuple[int, int]]) -> Change:
    return Change(case, before[case][0] / before[case][1], after[case][0] / after[case][1])
