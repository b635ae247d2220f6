"""All contestants, on one server, in turn: who costs how much in which scenario.

Each is a process of its own, so CPU time is what that process used, all its threads included, and nobody's imports burden another. In each
round and scenario they come in another order, and a cost is compared with the raw client's of the same round: a busy machine slows both.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, TextIO

from benchmarks.processes import Ended, Process, Provider, import_cost
from benchmarks.scenarios import SCENARIOS, Dialect, Scenario, turns_for

WITHOUT_SERVER = {"inprocess": "10 tool calls in sequence, model in process", "agent": "one agent", "import": "import"}
COLD = {"cold": "first answer of a fresh process"}
TITLES = {**{name: scenario.title for name, scenario in SCENARIOS.items()}, **WITHOUT_SERVER, **COLD}
MOST_RUNS = 500


class Failed(Exception):
    """A contestant could not do what was asked."""


@dataclass(frozen=True)
class Sample:
    """One measurement.

    Attributes:
        cost: CPU seconds of one run.
        wall: seconds on the clock for all runs.
        more: what else was counted: requests, bytes, modules, ...
    """

    round: int
    scenario: str
    contestant: str
    runs: int
    cost: float
    wall: float
    more: dict[str, float]


@dataclass
class Entrant:
    """One contestant, and what became of it.

    Attributes:
        facts: what its worker says of it.
        runs: how many runs make one sample, by scenario.
        out: why it takes no part, by scenario; "" is all of them.
    """

    name: str
    module: str
    python: str
    process: Process | None = None
    facts: dict[str, Any] = field(default_factory=dict[str, Any])
    runs: dict[str, int] = field(default_factory=dict[str, int])
    out: dict[str, str] = field(default_factory=dict[str, str])


class Contest:
    """
    Args:
        provider: the server.
        scenarios: those that go over HTTP, by name.
        seconds: CPU seconds that one sample should take; 0 is one run, whatever it takes.
    """

    def __init__(self, provider: Provider, scenarios: Mapping[str, Scenario], seconds: float) -> None:
        self._provider = provider
        self._scenarios = scenarios
        self._seconds = seconds
        self._running = ExitStack()

    def __enter__(self) -> Contest:
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def start(self, entrant: Entrant) -> None:
        """Start a contestant's process, instead of the one it may have had."""
        if entrant.process is not None:
            entrant.process.end()
        entrant.process = self._running.enter_context(Process(entrant.python, "benchmarks.worker", entrant.module, self._base(entrant)))
        entrant.facts = entrant.process.read()
        entrant.out |= entrant.facts["cannot"]

    def _base(self, entrant: Entrant) -> str:
        return f"{self._provider.base}/{entrant.name}"

    def prepare(self, entrant: Entrant, name: str) -> None:
        """Warm a contestant up, and find how many of its runs make a sample.

        Raises:
            Failed, Ended: it cannot do it.
        """
        if name in ("import", "cold"):
            entrant.runs[name] = 1
            return
        scenario = self._scenarios.get(name)
        self._measure(entrant, name, 1)
        if scenario and scenario.at_once:
            entrant.runs[name] = scenario.at_once
        elif not self._seconds:
            entrant.runs[name] = 1
        else:
            trial = 20 if name == "agent" else 2
            cost = self._measure(entrant, name, trial)["cpu"] / trial
            entrant.runs[name] = max(1, min(int(self._seconds / max(cost, 1e-6)), MOST_RUNS))

    def sample(self, entrant: Entrant, name: str, number: int) -> Sample:
        """One measurement.

        Raises:
            Failed, Ended: it went wrong.
        """
        runs = entrant.runs[name]
        measured: dict[str, float] = self._measure(entrant, name, runs)
        cpu, wall = measured.pop("cpu"), measured.pop("wall", 0.0)
        return Sample(number, name, entrant.name, runs, cpu / runs, wall, measured)

    def _measure(self, entrant: Entrant, name: str, runs: int) -> dict[str, float]:
        if name == "import":
            return import_cost(entrant.python, entrant.facts["import"])
        if name == "agent":
            return self._ask(entrant, {"agents": runs})
        if name == "inprocess":
            return self._ask(entrant, {"scenario": name, "runs": runs})
        scenario = self._scenarios["answer" if name == "cold" else name]
        with self._served(entrant, "answer" if name == "cold" else name, scenario) as counts:
            if name == "cold":
                with Process(entrant.python, "benchmarks.worker", entrant.module, self._base(entrant), "--once") as process:
                    measured = process.read()
            else:
                measured = self._ask(entrant, {"scenario": name, "runs": runs, "at_once": bool(scenario.at_once)})
        turns = len(turns_for(scenario, Dialect(**entrant.facts["dialect"])))
        if counts["requests"] != runs * turns:
            raise Failed(f"sent {counts['requests']} requests for {runs} runs of {turns} turns")
        return {**measured, **counts}

    @contextmanager
    def _served(self, entrant: Entrant, name: str, scenario: Scenario) -> Generator[dict[str, float]]:
        route = f"{entrant.name}/{name}"
        counts: dict[str, float] = {}
        dialect = entrant.facts["dialect"]
        self._provider.ask({"begin": route, "dialect": dialect, "at_once": scenario.at_once, "delay": scenario.delay})
        try:
            yield counts
        finally:
            counts |= self._provider.ask({"end": route})

    def _ask(self, entrant: Entrant, command: dict[str, Any]) -> dict[str, float]:
        assert entrant.process is not None
        answer = entrant.process.ask(command)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer


def attempt(contest: Contest, entrant: Entrant, name: str, act: Callable[[Entrant, str], Any]) -> Any:
    """Do something with a contestant; whoever fails is out of that scenario, is said to be, and goes on with a new process.

    What still runs in the old one, such as the other conversations of a crowd, must not burden the next sample.
    """
    if name in entrant.out or "" in entrant.out:
        return None
    try:
        return act(entrant, name)
    except (Failed, Ended, subprocess.CalledProcessError) as why:
        entrant.out[name] = f"failed: {why}"
    start(contest, entrant)
    print(f"  {entrant.name}, {name}: {entrant.out[name][:2000]}", file=sys.stderr)
    return None


def start(contest: Contest, entrant: Entrant) -> None:
    """Start a contestant, or say why it is out of everything."""
    if "" in entrant.out:
        return
    try:
        contest.start(entrant)
    except Ended as why:
        entrant.out[""] = f"does not start: {why}"


def hold(
    entrants: list[Entrant], names: list[str], scenarios: Mapping[str, Scenario], rounds: int, seconds: float, file: TextIO
) -> list[Sample]:
    """Hold the contest; each sample is written to `file` as a line of JSON as soon as it is there."""
    samples: list[Sample] = []
    shuffle = random.Random(rounds).shuffle
    with Provider(sys.executable) as provider, Contest(provider, scenarios, seconds) as contest:
        for entrant in entrants:
            start(contest, entrant)
        for name in names:
            for entrant in entrants:
                attempt(contest, entrant, name, contest.prepare)
        for number in range(rounds):
            print(f"round {number + 1} of {rounds}", file=sys.stderr)
            for name in names:
                order = list(entrants)
                shuffle(order)
                for entrant in order:
                    sample = attempt(contest, entrant, name, lambda entrant, name: contest.sample(entrant, name, number))  # noqa: B023  # called at once
                    if sample is not None:
                        samples.append(sample)
                        print(json.dumps(asdict(sample)), file=file, flush=True)
    return samples
