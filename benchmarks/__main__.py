"""The contest of this library, the raw clients and the peers.

python -m benchmarks [--rounds 3] [--seconds 0.15] [--only swarm,aiohttp] [--scenarios answer,tool] [--without-peers]
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.contest import TITLES, Entrant, hold
from benchmarks.environments import NotInstalled, peers, python_of
from benchmarks.processes import ROOT
from benchmarks.report import Results, absent, details, summary
from benchmarks.scenarios import SCENARIOS

RESULTS = Path(__file__).parent / "results"
HERE = {
    "openai": "openai_sync",
    "urllib3": "bare_urllib3",
    "swarm": "swarm_sync",
    "openai-async": "openai_async",
    "aiohttp": "bare_aiohttp",
    "swarm-async": "swarm_async",
}


def entrants(only: list[str], with_peers: bool) -> list[Entrant]:
    found = [Entrant(name, f"benchmarks.contestants.{module}", sys.executable) for name, module in HERE.items()]
    names = {peer.replace("_", "-"): peer for peer in peers()} if with_peers else {}
    if unknown := set(only) - set(HERE) - set(names):
        raise SystemExit(f"no contestant is called {', '.join(sorted(unknown))}; there are {', '.join([*HERE, *names])}")
    for name, peer in names.items():
        if only and name not in only:
            continue
        try:
            found.append(Entrant(name, f"benchmarks.peers.{peer}", python_of(peer)))
        except NotInstalled as why:
            found.append(Entrant(name, "", "", out={"": f"cannot be installed: {why}"}))
    return [entrant for entrant in found if not only or entrant.name in only]


def about(entrants: list[Entrant]) -> dict[str, Any]:
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "versions": {entrant.name: entrant.facts.get("version") for entrant in entrants},
        "out": {entrant.name: entrant.out for entrant in entrants if entrant.out},
    }


def heading(facts: dict[str, Any], rounds: int) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items() if version)
    return f"{facts['date'][:10]}, Python {facts['python']}, {facts['machine']}, medians of {rounds} rounds. {versions}."


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="This library, the raw clients and the peers.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.15, help="CPU seconds that one sample should take, 0 for one run")
    parser.add_argument("--only", type=lambda text: text.split(","), default=[], help="contestants, separated by commas")
    parser.add_argument("--scenarios", type=lambda text: text.split(","), default=list(TITLES), help="their names, separated by commas")
    parser.add_argument("--without-peers", action="store_true")
    options = parser.parse_args()
    if unknown := set(options.scenarios) - set(TITLES):
        parser.error(f"no scenario is called {', '.join(sorted(unknown))}; there are {', '.join(TITLES)}")
    taking_part = entrants(options.only, not options.without_peers)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{datetime.now(UTC):%Y%m%d-%H%M%S}.jsonl"
    with path.open("w", encoding="utf-8") as file:
        samples = hold(taking_part, options.scenarios, SCENARIOS, options.rounds, options.seconds, file)
        print(json.dumps(about(taking_part)), file=file)
    results = Results(samples, taking_part)
    text = "\n\n".join(filter(None, [heading(about(taking_part), options.rounds), summary(results), absent(about(taking_part)["out"])]))
    print(text)
    path.with_suffix(".md").write_text(f"{text}\n\n{details(results)}\n", encoding="utf-8")
    print(f"\nEvery number with its spread: {path.with_suffix('.md').relative_to(ROOT)}; every sample: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
