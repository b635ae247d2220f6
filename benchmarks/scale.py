"""Ten thousand conversations at once in one process: does each come to its end, at what cost, and is any of them left waiting?

Each has one tool call and two replies of 200 ms. All begin at the same moment, and a conversation's time runs from there. Each case has a
process of its own, so that its memory is its own: what the process grew by at its peak, per conversation.

    python -m benchmarks.scale [--conversations 10000]
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import resource
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from statistics import median
from typing import Any

from benchmarks.contestants.agents import agent_for, messages_for
from benchmarks.measure import table
from benchmarks.processes import Process, Provider
from benchmarks.scenarios import ANSWER, SCENARIOS, TIMEOUT, USUAL
from benchmarks.wire import message_of
from swarm import AsyncSwarm, ChatClient, Swarm
from swarm.effects import CallModel, Reply
from swarm.models.chat import Timeout

DELAY = 0.2
PATIENT = Timeout(connect=TIMEOUT)  # ten thousand connections at once can take longer to open than the ten seconds that are usual
LIMITS = {"http-all": 20_000, "http-1000": 1000, "http-250": 250}
CASES = {
    "in-process": "asyncio, model in process",
    "http-all": "asyncio, over HTTP, a connection each",
    "http-1000": "asyncio, over HTTP, 1,000 connections",
    "http-250": "asyncio, over HTTP, 250 connections",
    "threads-1000": "1,000 threads, over HTTP",
    "threads-250": "250 threads, over HTTP",
}
HEAD = (
    "at once",
    "finished",
    "lost",
    "wall s",
    "CPU ms each",
    "KiB each",
    "median s",
    "slowest s",
    "slowest/median",
    "most requests at once",
)
THREADS = {"threads-1000": 1000, "threads-250": 250}


class SlowModel:
    """Answers in 200 ms, as a server would."""

    def __init__(self) -> None:
        turns = SCENARIOS["tool"].turns
        self.first, self.second = [Reply(message_of(number, turn), finish_reason="stop") for number, turn in enumerate(turns)]

    async def complete(self, call: CallModel) -> Reply:
        await asyncio.sleep(DELAY)
        return self.second if call.request["messages"][-1]["role"] == "tool" else self.first

    def stream(self, call: CallModel) -> Any:
        raise NotImplementedError("nothing is streamed here")


class Tally:
    """What became of the conversations."""

    def __init__(self) -> None:
        gc.collect()
        self.memory = peak_memory()
        self.cpu, self.begun = time.process_time(), time.perf_counter()
        self.seconds: list[float] = []
        self.lost: list[str] = []

    def count(self, outcome: str | Exception) -> None:
        """Note how a conversation ended: with a text, or with what ended it."""
        if outcome == ANSWER:
            self.seconds.append(time.perf_counter() - self.begun)
        else:
            self.lost.append(repr(outcome))

    def read(self) -> dict[str, Any]:
        wall, cpu = time.perf_counter() - self.begun, time.process_time() - self.cpu
        count = len(self.seconds) + len(self.lost)
        return {
            "finished": len(self.seconds),
            "lost": len(self.lost),
            "first_lost": self.lost[0] if self.lost else "",
            "wall": wall,
            "cpu": cpu / count,
            "memory": (peak_memory() - self.memory) / count,
            "median": median(self.seconds or [0.0]),
            "slowest": max(self.seconds, default=0.0),
        }


def peak_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


async def in_one_loop(client: AsyncSwarm, count: int) -> Tally:
    agent, messages = agent_for("tool", True), messages_for("tool")
    await client.run(agent, messages)
    tally = Tally()

    async def converse() -> None:
        try:
            tally.count((await client.run(agent, messages)).messages[-1]["content"])
        except Exception as error:
            tally.count(error)

    await asyncio.gather(*(converse() for _ in range(count)))
    return tally


def in_threads(client: Swarm, count: int, threads: int) -> Tally:
    agent, messages = agent_for("tool", False), messages_for("tool")
    client.run(agent, messages)
    tally = Tally()

    def converse() -> None:
        try:
            outcome: str | Exception = client.run(agent, messages).messages[-1]["content"]
        except Exception as error:
            outcome = error
        with lock:
            tally.count(outcome)

    lock = threading.Lock()
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(count):
            pool.submit(converse)
    return tally


def run_case(case: str, count: int, base: str) -> dict[str, Any]:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if case in THREADS:
        return in_threads(Swarm(ChatClient(base, "benchmark", timeout=PATIENT)), count, THREADS[case]).read()
    if case == "in-process":
        return asyncio.run(in_one_loop(AsyncSwarm(SlowModel()), count)).read()
    client = ChatClient(base, "benchmark", timeout=PATIENT, max_connections=LIMITS[case])
    return asyncio.run(in_one_loop(AsyncSwarm(client), count)).read()


def measure(provider: Provider, case: str, count: int) -> dict[str, Any]:
    route = f"{case}/crowd1000"
    provider.ask({"begin": route, "dialect": asdict(USUAL), "at_once": count, "delay": DELAY})
    try:
        arguments = ["--case", case, "--base", f"{provider.base}/{route}", "--conversations", str(count)]
        with Process(sys.executable, "benchmarks.scale", *arguments) as process:
            measured = process.read()
    finally:
        counts = provider.ask({"end": route})
    return {**measured, **counts}


def row(title: str, measured: dict[str, Any]) -> tuple[str, ...]:
    unfair = measured["slowest"] / measured["median"] if measured["median"] else 0.0
    return (
        title,
        str(measured["finished"]),
        str(measured["lost"]),
        f"{measured['wall']:.1f}",
        f"{measured['cpu'] * 1e3:.2f}",
        f"{measured['memory'] / 1024:.1f}",
        f"{measured['median']:.2f}",
        f"{measured['slowest']:.2f}",
        f"{unfair:.2f}",
        str(measured["most_at_once"]),
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description="Many conversations at once in one process.")
    parser.add_argument("--conversations", type=int, default=10_000)
    parser.add_argument("--case", choices=list(CASES), help="only this one, in this process, as a line of JSON")
    parser.add_argument("--base", default="", help="the server, with --case")
    options = parser.parse_args()
    if options.case:
        print(json.dumps(run_case(options.case, options.conversations, options.base)))
        return
    with Provider(sys.executable) as provider:
        rows: list[tuple[str, ...]] = []
        for case, title in CASES.items():
            measured = measure(provider, case, options.conversations)
            rows.append(row(title, measured))
            if measured["lost"]:
                print(f"{title}: the first of {measured['lost']} that were lost: {measured['first_lost'][:500]}", file=sys.stderr)
    print(table(HEAD, rows))


if __name__ == "__main__":
    main()
