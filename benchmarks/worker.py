"""The process of one contestant: has conversations when told to, and says what they cost.

    python -m benchmarks.worker MODULE BASE_URL

Its first line says what the contestant is. Then each line of standard input is a command in JSON, answered by one line:

    {"scenario": "tool", "runs": 20}      {"cpu": 0.031, "wall": 0.052}, seconds for all of them; {"error": "..."} if one went wrong
    {"agents": 100}                       {"cpu": 0.0005, "wall": 0.0005, "bytes": 612}, bytes for each of them

Whatever a library prints goes nowhere: standard output belongs to the protocol. With --once instead of commands, it has one conversation
from a cold start and says what the whole process cost until then.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import importlib.metadata
import json
import os
import sys
import time
import traceback
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any, cast

from benchmarks.contestant import Contestant
from benchmarks.scenarios import IN_PROCESS, SCENARIOS

Measured = dict[str, float]


class Wrong(Exception):
    """A conversation came to another text than it should."""


class Worker:
    def __init__(self, contestant: Contestant, base: str, runner: asyncio.Runner) -> None:
        self.contestant = contestant
        self.base = base
        self.runner = runner
        self.conversations: dict[str, Callable[[], Any]] = {}

    def obey(self, command: dict[str, Any]) -> Measured:
        if "agents" in command:
            return self.make_agents(command["agents"])
        return self.converse(command["scenario"], command["runs"], command.get("at_once", False))

    def converse(self, name: str, runs: int, at_once: bool) -> Measured:
        if self.contestant.IS_ASYNC:
            return self.runner.run(self.converse_async(name, runs, at_once))
        talk = self.conversation(name)
        meter = Meter()
        if at_once:
            with ThreadPoolExecutor(runs) as pool:
                texts = [future.result() for future in [pool.submit(talk) for _ in range(runs)]]
        else:
            texts = [talk() for _ in range(runs)]
        return checked(name, texts, meter.read())

    async def converse_async(self, name: str, runs: int, at_once: bool) -> Measured:
        talk = self.conversation(name)
        meter = Meter()
        texts = await asyncio.gather(*(talk() for _ in range(runs))) if at_once else [await talk() for _ in range(runs)]
        return checked(name, list(texts), meter.read())

    def conversation(self, name: str) -> Callable[[], Any]:
        if name not in self.conversations:
            self.conversations[name] = self.contestant.conversation(name, f"{self.base}/{name}")
        return self.conversations[name]

    def make_agents(self, count: int) -> Measured:
        async def in_loop() -> Measured:
            return self.count_agents(count)

        return self.runner.run(in_loop()) if self.contestant.IS_ASYNC else self.count_agents(count)

    def count_agents(self, count: int) -> Measured:
        make = self.contestant.agent(f"{self.base}/tool")
        kept = [make()]
        meter = Meter()
        kept += [make() for _ in range(count)]
        measured = meter.read()
        kept.clear()
        gc.collect()
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        kept += [make() for _ in range(count)]
        measured["bytes"] = (tracemalloc.get_traced_memory()[0] - before) / count
        tracemalloc.stop()
        return measured


class Meter:
    """Seconds from now on: CPU of this process and all its threads, and the clock on the wall."""

    def __init__(self) -> None:
        gc.collect()
        self.cpu, self.wall = time.process_time(), time.perf_counter()

    def read(self) -> Measured:
        return {"cpu": time.process_time() - self.cpu, "wall": time.perf_counter() - self.wall}


def checked(name: str, texts: list[Any], measured: Measured) -> Measured:
    expected = (IN_PROCESS if name == "inprocess" else SCENARIOS[name]).expected
    for text in texts:
        if text != expected:
            raise Wrong(f"{name} came to {str(text)[:200]!r}, not to {expected[:40]!r}")
    return measured


def protocol() -> Any:
    """Standard output as it was; whoever prints from now on prints nowhere."""
    lines = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return lines


def says(contestant: Contestant) -> dict[str, Any]:
    return {
        "version": importlib.metadata.version(contestant.DISTRIBUTION),
        "import": contestant.IMPORT,
        "is_async": contestant.IS_ASYNC,
        "dialect": asdict(contestant.DIALECT),
        "cannot": contestant.CANNOT,
    }


def answer(worker: Worker, command: dict[str, Any]) -> Measured | dict[str, str]:
    try:
        return worker.obey(command)
    except Exception as error:
        where = "".join(traceback.format_exception(error)[-6:])
        return {"error": f"{type(error).__name__}: {str(error)[:1500]}", "where": where[-4000:]}


def main() -> None:
    module, base, *once = sys.argv[1:]
    lines = protocol()
    contestant = cast(Contestant, importlib.import_module(module))
    with asyncio.Runner() as runner:
        worker = Worker(contestant, base, runner)
        if once:
            worker.converse("answer", 1, False)
            print(json.dumps({"cpu": time.process_time()}), file=lines)
            return
        print(json.dumps(says(contestant)), file=lines)
        for line in sys.stdin:
            print(json.dumps(answer(worker, json.loads(line))), file=lines)


if __name__ == "__main__":
    main()
