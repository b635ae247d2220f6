"""The contest does not rot: ours and the raw clients go through every scenario once, and whoever fails is named.

The peers need environments of their own, so of them only what can be read is looked at.
"""

from __future__ import annotations

import ast
import io
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import __main__ as command
from benchmarks import scale
from benchmarks.contest import TITLES, Entrant, Sample, hold
from benchmarks.contestant import Contestant
from benchmarks.environments import NotInstalled, peers
from benchmarks.processes import Provider
from benchmarks.provider import Route
from benchmarks.report import Results, absent, details, summary
from benchmarks.scenarios import QUESTION, SCENARIOS, TELLER, USUAL, degrees

PEERS = Path(command.__file__).parent / "peers"
SMALL = {name: replace(scenario, at_once=3 if scenario.at_once else 0, delay=0.0) for name, scenario in SCENARIOS.items()}
DIALECT = {"transfers": USUAL.transfers, "final": "", "farewell": False}


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider(sys.executable) as running:
        yield running


@pytest.mark.parametrize("mode", [("openai", "urllib3", "swarm"), ("openai-async", "aiohttp", "swarm-async")], ids=["sync", "async"])
def test_ours_and_the_raw_clients_do_every_scenario(mode: tuple[str, ...]) -> None:
    entrants = command.entrants(list(mode), with_peers=False)
    names = [name for name in TITLES if name not in ("import", "cold")]
    file = io.StringIO()
    samples = hold(entrants, names, SMALL, rounds=1, seconds=0, file=file)
    expected = {(entrant.name, name) for entrant in entrants for name in names if name not in entrant.facts["cannot"]}
    assert {entrant.name: entrant.out for entrant in entrants} == {entrant.name: entrant.facts["cannot"] for entrant in entrants}
    assert {(sample.contestant, sample.scenario) for sample in samples} == expected
    assert [Sample(**json.loads(line)) for line in file.getvalue().splitlines()] == samples
    sent = {name: {sample.more["requests"] / sample.runs for sample in samples if sample.scenario == name} for name in SMALL}
    assert sent == {name: {len(scenario.turns)} for name, scenario in SMALL.items()}
    text = summary(Results(samples, entrants))
    assert all(scenario.title in text for scenario in SMALL.values())


def test_an_import_and_a_first_answer_are_measured_in_fresh_processes() -> None:
    entrants = command.entrants(["urllib3"], with_peers=False)
    samples = hold(entrants, ["import", "cold"], SMALL, rounds=1, seconds=0, file=io.StringIO())
    by_name = {sample.scenario: sample for sample in samples}
    assert by_name["import"].more["modules"] > 10
    assert by_name["cold"].more["requests"] == 1


def test_a_contestant_that_does_not_start_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    gone = Entrant("gone", "benchmarks.contestants.gone", sys.executable)
    assert hold([gone], ["answer"], SMALL, rounds=1, seconds=0, file=io.StringIO()) == []
    assert "does not start" in absent({"gone": gone.out})


def test_a_peer_that_cannot_be_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(peer: str) -> str:
        raise NotInstalled("no such version")

    monkeypatch.setattr(command, "python_of", fail)
    out = {entrant.name: entrant.out for entrant in command.entrants(["agno"], with_peers=True)}
    assert absent(out) == "Not done:\n\n* agno, everything: cannot be installed: no such version"


def test_an_unknown_contestant_is_refused() -> None:
    with pytest.raises(SystemExit, match=r"no contestant is called swam; there are openai, .*agno"):
        command.entrants(["swam"], with_peers=True)


def test_a_request_without_what_its_turn_needs_is_refused() -> None:
    route = Route("somebody/tool", DIALECT, 0, 0.0)
    assert not isinstance(route.due(f"{QUESTION} {TELLER} get_weather".encode()), str)
    assert route.due(b"no result") == f"somebody/tool: the request of turn 1 lacks ['{degrees('Reykjavik')}']"


def test_among_many_conversations_the_request_says_which_turn_is_due() -> None:
    route = Route("somebody/crowd200", DIALECT, 200, 0.2)
    first, second = f"{QUESTION} {TELLER} get_weather", degrees("Reykjavik")
    assert [route.due(body.encode()) for body in (first + second, first)] == [route.steps[1], route.steps[0]]
    assert "fits no turn" in str(route.due(b"nothing"))


def test_a_library_that_asks_for_a_farewell_gets_one() -> None:
    steps = Route("somebody/handoff", {**DIALECT, "farewell": True}, 0, 0.0).steps
    assert [b"I have handed over" in step.whole for step in steps] == [False, True, False]


@pytest.mark.parametrize("peer", peers())
def test_a_peer_has_an_adapter_with_every_name_and_exact_pins(peer: str) -> None:
    """The names are those of `Contestant`; the pins name versions and no place to get them from."""
    tree = ast.parse((PEERS / f"{peer}.py").read_text(encoding="utf-8"))
    names: set[str] = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        names |= {target.id for target in targets if isinstance(target, ast.Name)}
    assert set(Contestant.__annotations__) | {"conversation", "agent"} <= names
    pins = (PEERS / f"{peer}.txt").read_text(encoding="utf-8").splitlines()
    assert [pin for pin in pins if not re.fullmatch(r"[\w.-]+==[\w.+!-]+", pin)] == []


def test_a_ratio_is_taken_within_its_round() -> None:
    """A round in which the machine was ten times slower changes no ratio."""
    facts: dict[str, Any] = {"is_async": False}
    entrants = [Entrant(name, "", "", facts=facts) for name in ("openai", "urllib3", "swarm")]
    costs = {"openai": 0.004, "urllib3": 0.001, "swarm": 0.00125}
    more = {"requests": 2.0, "bytes": 800.0, "most_at_once": 1.0}
    samples = [
        Sample(number, "answer", name, 2, cost * slow, 0.01, more) for number, slow in enumerate((1, 10, 1)) for name, cost in costs.items()
    ]
    results = Results(samples, entrants)
    assert results.ratios("answer", "swarm", "urllib3") == pytest.approx([1.25] * 3)
    assert "| 1.25 (1.25 to 1.25) |" in summary(results)
    cells = [cell.strip() for line in details(results).splitlines() if "| swarm " in line for cell in line.strip("|").split("|")]
    assert cells == ["swarm", "1.25 (1.25 to 6.88)", "1.25", "0.31 (0.31 to 0.31)", "5.00", "1.00", "0.40", "1.00"]


def test_many_conversations_keep_to_the_limit_and_none_is_lost(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(scale.LIMITS, "http-250", 2)
    provider.ask({"begin": "here/crowd1000", "dialect": DIALECT, "at_once": 6, "delay": 0.01})
    measured = scale.run_case("http-250", 6, f"{provider.base}/here/crowd1000")
    counts = provider.ask({"end": "here/crowd1000"})
    assert (measured["finished"], measured["lost"], counts) == (6, 0, {**counts, "requests": 14, "most_at_once": 2})


@pytest.mark.parametrize("case", ["in-process", "threads-250"])
def test_the_other_cases_of_scale_run(provider: Provider, case: str) -> None:
    measured = scale.measure(provider, case, 5)
    assert (measured["finished"], measured["lost"]) == (5, 0)
    assert scale.row(case, measured)[:3] == (case, "5", "0")
