"""The results of an eval in numbers, counted once for the terminal, the page and a comparison."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .statistics import Share, Tally, Total, pass_hat, share, total

if TYPE_CHECKING:
    from .records import CaseResult, Results

CALLED = "function"
"""The scorer whose expected and actual values make the confusion matrix."""


@dataclass(frozen=True, slots=True)
class Confusion:
    """What was called where something else, or the same, was expected.

    Attributes:
        labels: every name that was expected or called, sorted; "None" stands for no call.
        counts: how many results expected the first and called the second.
    """

    labels: list[str]
    counts: dict[tuple[str, str], int]


@dataclass(frozen=True, slots=True)
class Taken:
    """What results took of a model that only measures.

    Attributes:
        tokens: input and output tokens for each result that it had part in; None where the provider did not count.
        costs: the cost of each in US dollars; None where the price is not known.
    """

    tokens: list[int | None]
    costs: list[float | None]

    @property
    def cost(self) -> Total:
        """The sum of the costs, and for how many results they are known."""
        return total(self.costs)


@dataclass(frozen=True, slots=True)
class Summary:
    """The results of an eval in numbers.

    Attributes:
        overall: how many results passed.
        groups: how many passed by "scorer", "agent", "file" and "tag", then by name; a result without a file or tag counts in none.
        reliability: pass^1, pass^2 and so on, up to the number of times that every case was tried.
        confusion: of the functions that were called; None where no case expects one.
        errors: how many results are no answer of the agents because something failed; they count as not passed.
        seconds: how long each result took.
        tokens: input and output tokens of each result; None where the provider did not count.
        costs: the cost of each result in US dollars; None where the price is not known.
        apart: what the models took that only measure, by who they are; it is in none of the others.
    """

    overall: Share
    groups: dict[str, dict[str, Share]]
    reliability: list[float]
    confusion: Confusion | None
    errors: int
    seconds: list[float]
    tokens: list[int | None]
    costs: list[float | None]
    apart: dict[str, Taken]

    @property
    def cost(self) -> Total:
        """The sum of the costs, and for how many results they are known."""
        return total(self.costs)


def summarize(results: Results) -> Summary:
    """Count what came out of an eval.

    Args:
        results: those of one run, whole or not.
    """
    every = results.results
    tallies = tally(every)
    repetitions = min((tried for _, tried in tallies.values()), default=0)
    return Summary(
        share(tallies.values()),
        {
            "scorer": _shares((name, result.case, score.passed) for result in every for name, score in result.scores.items()),
            "agent": _shares((result.agent, result.case, result.passed) for result in every),
            "file": _shares((file_of(result.place), result.case, result.passed) for result in every),
            "tag": _shares((tag, result.case, result.passed) for result in every for tag in result.tags),
        },
        [pass_hat(list(tallies.values()), k) for k in range(1, repetitions + 1)],
        _confusion(every),
        sum(result.error is not None for result in every),
        [result.seconds for result in every],
        [tokens_of(result) for result in every],
        [cost_of(result) for result in every],
        _apart(every),
    )


def tally(results: Iterable[CaseResult]) -> dict[str, Tally]:
    """Of each case, how often it passed and how often it was tried."""
    return _tallies((result.case, result.passed) for result in results)


def file_of(place: str) -> str:
    """The file of a place such as "evals/triage.json:12"."""
    file, _, line = place.rpartition(":")
    return file if line.isdecimal() else place


def in_file(result: CaseResult) -> tuple[str, int, str, int]:
    """What results are sorted by to stand as their cases do in their files, repetitions side by side."""
    file, _, line = result.place.rpartition(":")
    name, number = (file, int(line)) if line.isdecimal() else (result.place, 0)
    return name, number, result.case, result.repetition


def tokens_of(result: CaseResult) -> int | None:
    """Input and output tokens of a result; None where the provider did not count, which shows as no tokens at all."""
    return _tokens(result.usage)


def cost_of(result: CaseResult) -> float | None:
    """The cost of a result in US dollars; None where it is not known, as where a model failed before it answered at all."""
    return None if result.error is not None and not result.usage["model_calls"] else result.usage["cost"]


def _tokens(usage: dict[str, Any]) -> int | None:
    return usage["input_tokens"] + usage["output_tokens"] or None


def _apart(results: Iterable[CaseResult]) -> dict[str, Taken]:
    taken: dict[str, Taken] = {}
    for result in results:
        for name, usage in result.usage_apart.items():
            mine = taken.setdefault(name, Taken([], []))
            mine.tokens.append(_tokens(usage))
            mine.costs.append(usage["cost"])
    return dict(sorted(taken.items()))


def _tallies(outcomes: Iterable[tuple[str, bool]]) -> dict[str, Tally]:
    passed, tried = Counter[str](), Counter[str]()
    for case, outcome in outcomes:
        tried[case] += 1
        passed[case] += outcome
    return {case: (passed[case], tried[case]) for case in tried}


def _shares(outcomes: Iterable[tuple[str | None, str, bool]]) -> dict[str, Share]:
    grouped: defaultdict[str, list[tuple[str, bool]]] = defaultdict(list)
    for name, case, passed in outcomes:
        if name:
            grouped[name].append((case, passed))
    return {name: share(_tallies(grouped[name]).values()) for name in sorted(grouped)}


def _confusion(results: Sequence[CaseResult]) -> Confusion | None:
    scores = [result.scores[CALLED] for result in results if CALLED in result.scores]
    counts = Counter((str(score.expected), str(score.actual)) for score in scores)
    if not counts:
        return None
    return Confusion(sorted({label for pair in counts for label in pair}), dict(counts))
