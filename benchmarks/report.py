"""What the samples of a contest say, as Markdown: a summary for the reader, and every number with its spread for whoever doubts it."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median, quantiles

from benchmarks.contest import TITLES, Entrant, Sample
from benchmarks.measure import table
from benchmarks.scenarios import IN_PROCESS, SCENARIOS

RAW = {False: "openai", True: "openai-async"}
BARE = {False: "urllib3", True: "aiohttp"}
OURS = {False: "swarm", True: "swarm-async"}
GOAL = 1.4
IN_TURN = [name for name, scenario in SCENARIOS.items() if not scenario.at_once]
AT_ONCE = [name for name, scenario in SCENARIOS.items() if scenario.at_once]
NONE = "-"


class Results:
    """The samples by scenario and contestant."""

    def __init__(self, samples: list[Sample], entrants: list[Entrant]) -> None:
        self.names = [entrant.name for entrant in entrants if entrant.facts]
        self.is_async: dict[str, bool] = {entrant.name: entrant.facts["is_async"] for entrant in entrants if entrant.facts}
        self.peers = [name for name in self.names if name not in {*RAW.values(), *BARE.values(), *OURS.values()}]
        self._samples: dict[tuple[str, str], dict[int, Sample]] = {}
        for sample in samples:
            self._samples.setdefault((sample.scenario, sample.contestant), {})[sample.round] = sample

    def of(self, scenario: str, name: str) -> list[Sample]:
        return list(self._samples.get((scenario, name), {}).values())

    def costs(self, scenario: str, name: str) -> list[float]:
        return [sample.cost for sample in self.of(scenario, name)]

    def cost(self, scenario: str, name: str) -> float | None:
        """Median CPU seconds of a run."""
        costs = self.costs(scenario, name)
        return median(costs) if costs else None

    def more(self, scenario: str, name: str, what: str) -> float | None:
        """Median of what else was counted."""
        values = [sample.wall if what == "wall" else sample.more[what] for sample in self.of(scenario, name)]
        return median(values) if values else None

    def ratios(self, scenario: str, name: str, other: str) -> list[float]:
        """Costs as parts of another contestant's in the same round."""
        others = self._samples.get((scenario, other), {})
        return [sample.cost / others[sample.round].cost for sample in self.of(scenario, name) if sample.round in others]

    def to_raw(self, scenario: str, name: str) -> list[float]:
        """Costs as parts of those of the official client of the same mode."""
        return self.ratios(scenario, name, RAW[self.is_async[name]])

    def best_peer(self, scenario: str) -> tuple[float, str] | None:
        costs = [(cost, name) for name in self.peers if (cost := self.cost(scenario, name)) is not None]
        return min(costs) if costs else None


def number(value: float | None, scale: float = 1.0) -> str:
    if value is None:
        return NONE
    scaled = value * scale
    return f"{scaled:.0f}" if scaled >= 100 else f"{scaled:.1f}" if scaled >= 10 else f"{scaled:.2f}"


def spread(values: list[float]) -> str:
    """The median and, in parentheses, the quartiles."""
    if not values:
        return NONE
    low, _, high = quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    return f"{median(values):.2f} ({low:.2f} to {high:.2f})"


def summary(results: Results) -> str:
    """Ours against the transport it sits on and the best peer, row by row; then all contestants against the official client."""
    return "\n\n".join(part for part in [goals(results), ratios(results), crowds(results), alone(results), verdict(results)] if part)


def verdict(results: Results) -> str:
    """Which rows miss the goal, and in which rows a peer is ahead of the slower of our two modes."""
    over = [
        f"{TITLES[scenario]}, {OURS[mode]}: {median(found):.2f}"
        for scenario in [*IN_TURN, *AT_ONCE]
        for mode in (False, True)
        if (found := results.ratios(scenario, OURS[mode], BARE[mode])) and median(found) > GOAL
    ]
    measures = [(scenario, "") for scenario in TITLES] + [("agent", "bytes"), ("import", "rss"), ("import", "modules")]
    ahead = [line for scenario, what in measures for line in _ahead(results, scenario, what)]
    return "\n".join([f"Over the goal of {GOAL}: {'; '.join(over) or 'nothing'}.", f"Ahead of us: {'; '.join(ahead) or 'nobody'}."])


def _ahead(results: Results, scenario: str, what: str) -> list[str]:
    def amount(name: str) -> float | None:
        return results.more(scenario, name, what) if what else results.cost(scenario, name)

    ours = max((found for name in OURS.values() if (found := amount(name)) is not None), default=None)
    if ours is None:
        return []
    return [f"{name}, {TITLES[scenario]}{what and f' ({what})'}" for name in results.peers if (theirs := amount(name)) and theirs < ours]


def goals(results: Results) -> str:
    rows: list[tuple[str, ...]] = []
    for scenario in [*IN_TURN, *AT_ONCE]:
        cells: list[str] = [TITLES[scenario]]
        for mode in (False, True):
            cells += [number(results.cost(scenario, who[mode]), 1e3) for who in (BARE, OURS)]
            cells.append(spread(results.ratios(scenario, OURS[mode], BARE[mode])))
        best, ours = results.best_peer(scenario), results.cost(scenario, OURS[True])
        cells += [f"{number(best[0], 1e3)} {best[1]}", number(best[0] / ours if ours else None)] if best else [NONE, NONE]
        if set(cells[1:]) != {NONE}:
            rows.append(tuple(cells))
    head = ("CPU of a run, ms", "urllib3", "swarm", "ratio", "aiohttp", "swarm async", "ratio", "best peer", "times ours async")
    if not rows:
        return ""
    return f"Goal: at most {GOAL} of the bare transport. In parentheses: quartiles.\n\n{table(head, rows)}"


def ratios(results: Results) -> str:
    others = [name for name in results.names if name not in RAW.values()]
    rows: list[tuple[str, ...]] = []
    for scenario in [*IN_TURN, *AT_ONCE]:
        parts = [results.to_raw(scenario, name) for name in others]
        if any(parts):
            raw = [number(results.cost(scenario, name), 1e3) for name in RAW.values()]
            rows.append((TITLES[scenario], *raw, *(number(median(part)) if part else NONE for part in parts)))
    head = ("CPU of a run", "openai, ms", "openai async, ms", *others)
    return f"As parts of the official client of the same mode in the same round, medians:\n\n{table(head, rows)}" if rows else ""


def crowds(results: Results) -> str:
    rows: list[tuple[str, ...]] = []
    for name in results.names:
        cells = [
            cell
            for scenario in AT_ONCE
            for cell in (number(results.cost(scenario, name), 1e3), number(results.more(scenario, name, "wall")))
        ]
        if set(cells) != {NONE}:
            rows.append((name, *cells))
    head = ("at once", *(text for scenario in AT_ONCE for text in (f"{SCENARIOS[scenario].at_once}: CPU ms each", "wall s")))
    return f"Conversations at once, two replies of 0.2 s each, so 0.4 s is ideal:\n\n{table(head, rows)}" if rows else ""


def alone(results: Results) -> str:
    turns = len(IN_PROCESS.turns)
    rows: list[tuple[str, ...]] = []
    for name in results.names:
        cells = (
            number(results.cost("inprocess", name), 1e6 / turns),
            number(results.cost("agent", name), 1e6),
            number(results.more("agent", name, "bytes")),
            number(results.cost("import", name), 1e3),
            number(results.more("import", name, "rss"), 1e-6),
            number(results.more("import", name, "modules")),
            number(results.cost("cold", name), 1e3),
        )
        if set(cells) != {NONE}:
            rows.append((name, *cells))
    head = ("without a server", "turn, µs", "agent, µs", "bytes", "import, ms", "MB", "modules", "first answer, ms")
    return table(head, rows) if rows else ""


def details(results: Results) -> str:
    """Each scenario, each contestant: CPU with minimum and quartiles, ratio, clock, and what the server counted."""
    parts: list[str] = []
    head = ("contestant", "CPU ms (quartiles)", "least", "of the official client (quartiles)", "wall ms", "requests", "KB sent", "at once")
    for scenario, title in TITLES.items():
        rows = [_detail(results, scenario, name) for name in results.names if results.of(scenario, name)]
        if rows:
            parts.append(f"### {title}\n\n{table(head, rows)}")
    return "\n\n".join(parts)


def _detail(results: Results, scenario: str, name: str) -> tuple[str, ...]:
    samples = results.of(scenario, name)
    milliseconds = [sample.cost * 1e3 for sample in samples]
    runs = samples[0].runs
    served = "requests" in samples[0].more
    return (
        name,
        spread(milliseconds),
        f"{min(milliseconds):.2f}",
        spread(results.to_raw(scenario, name)),
        number(median(sample.wall / sample.runs for sample in samples), 1e3),
        number(samples[0].more["requests"] / runs) if served else NONE,
        number(samples[0].more["bytes"] / runs, 1e-3) if served else NONE,
        number(samples[0].more["most_at_once"]) if served else NONE,
    )


def absent(out: Mapping[str, Mapping[str, str]]) -> str:
    """Who could not do what, and why."""
    lines = [f"* {name}, {TITLES.get(scenario, 'everything')}: {why[:300]}" for name, whys in out.items() for scenario, why in whys.items()]
    return "\n".join(["Not done:", "", *lines]) if lines else ""
