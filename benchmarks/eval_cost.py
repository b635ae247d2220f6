"""What an eval of many conversations costs, and whether one that is killed goes on where it was.

`swarm eval` plays cases against a server on this machine that takes 50 ms for a reply, on one core; each conversation has a tool call and
two replies. Then the same again, killed in the middle with SIGKILL and resumed: what was finished must not be asked a second time. The
budget is 60 s of CPU for 1,000 conversations, the table and the page of results included.

    python -m benchmarks.eval_cost [--conversations 1000]
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import table
from benchmarks.processes import ROOT, Provider, environment
from benchmarks.scenarios import ANSWER, QUESTION, TELLER, USUAL, get_weather_async
from swarm import Agent

DELAY = 0.05
BUDGET = 60.0
CONCURRENCY = 64
HEAD = ("", "finished before", "finished after", "requests", "wall s", "CPU s")

agent = Agent(name="Weather", instructions=TELLER, functions=[get_weather_async])


class Played(NamedTuple):
    """One process: its cost, what it asked the server, how many results there were when it ended."""

    code: int
    wall: float
    cpu: float
    requests: int
    finished: int


def write_cases(path: Path, count: int) -> None:
    """Cases that ask for one call and the answer."""
    case = {"conversation": QUESTION, "calls": ["get_weather"], "text": {"equals": ANSWER}}
    path.write_text(json.dumps([case] * count), encoding="utf-8")


def play(provider: Provider, name: str, folder: Path, kill_at: int | None = None) -> Played:
    """Run the command; end it with SIGKILL as soon as its file holds `kill_at` results."""
    out, route = folder / "out.jsonl", f"{name}/crowd1000"
    provider.ask({"begin": route, "dialect": asdict(USUAL), "at_once": CONCURRENCY, "delay": DELAY})
    command = [sys.executable, "-m", "swarm", "eval", "benchmarks.eval_cost:agent", str(folder / "cases.json")]
    options = ["--base-url", f"{provider.base}/{route}", "--concurrency", str(CONCURRENCY), "--out", str(out), "--resume"]
    begun = time.perf_counter()
    process = subprocess.Popen(
        [*command, *options, "--html", str(folder / "out.html")], cwd=ROOT, env=environment(), stdout=subprocess.DEVNULL
    )
    os.sched_setaffinity(process.pid, {min(os.sched_getaffinity(0))})
    while kill_at is not None and finished_in(out) < kill_at and process.poll() is None:
        time.sleep(0.01)
    if kill_at is not None:
        os.kill(process.pid, signal.SIGKILL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)  # it was waited for, and must not be again
    wall, counts = time.perf_counter() - begun, provider.ask({"end": route})
    return Played(process.returncode, wall, used.ru_utime + used.ru_stime, counts["requests"], finished_in(out))


def finished_in(out: Path) -> int:
    """How many results a file holds."""
    return max(0, out.read_bytes().count(b"\n") - 1) if out.exists() else 0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.eval_cost", description="What an eval of many conversations costs.")
    parser.add_argument("--conversations", type=int, default=1_000)
    count = parser.parse_args().conversations
    with Provider(sys.executable) as provider, tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        for folder in (one, other):
            write_cases(Path(folder) / "cases.json", count)
        whole = play(provider, "whole", Path(one))
        killed = play(provider, "killed", Path(other), kill_at=count // 2)
        resumed = play(provider, "resumed", Path(other))
    before = {"at a stretch": (0, whole), "killed in the middle": (0, killed), "resumed": (killed.finished, resumed)}
    rows = [
        (name, str(there), str(done.finished), str(done.requests), f"{done.wall:.1f}", f"{done.cpu:.1f}")
        for name, (there, done) in before.items()
    ]
    print(table(HEAD, rows))
    again = resumed.requests - 2 * (count - killed.finished)
    print(f"Asked again though finished: {again} requests. CPU of {BUDGET:.0f} s: {whole.cpu:.1f} s at a stretch.")
    if again or whole.code or resumed.code or resumed.finished != count or whole.cpu > BUDGET * count / 1_000:
        sys.exit("That is not as it should be.")


if __name__ == "__main__":
    main()
