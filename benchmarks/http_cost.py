"""CPU time of a run over loopback HTTP: ours, the official client by hand, and the bare transports by hand, all in one interleaved run.

Sync tools for the sync driver, async tools for the async one: a sync tool in an async run costs a hop to a thread and back, which is
the price of a loop that never stalls and no business of the transport.

python -m benchmarks.http_cost
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks import by_hand, provider
from benchmarks.measure import interleaved, table
from swarm import Agent, AsyncSwarm, ChatClient, Swarm, tool

QUESTION = "What is the weather in Reykjavik?"
ROUNDS = 11
TITLES = {
    "answer": "one answer",
    "tool": "one tool call, then the answer",
    "handoff": "handoff, then the answer",
    "stream": f"stream of {provider.CHUNKS} chunks",
}
REPEATS = {"answer": 40, "tool": 20, "handoff": 20, "stream": 3}
EXPECTED = {name: provider.WORD * provider.CHUNKS if name == "stream" else provider.ANSWER for name in TITLES}


def get_weather(location: str) -> str:
    """The weather at a place."""
    return f"19 degrees in {location}"


WEATHER = Agent(name="Weather", instructions="You tell the weather.", functions=[get_weather])


def transfer_to_weather() -> Agent:
    """Hand over to the weather agent."""
    return WEATHER


@tool(name="get_weather")
async def get_weather_async(location: str) -> str:
    """The weather at a place."""
    return get_weather(location)


WEATHER_ASYNC = Agent(name="Weather", instructions="You tell the weather.", functions=[get_weather_async])


@tool(name="transfer_to_weather")
async def transfer_async() -> Agent:
    """Hand over to the weather agent."""
    return WEATHER_ASYNC


DESK = Agent(name="Front desk", instructions="You are the front desk.", functions=[transfer_to_weather])
DESK_ASYNC = DESK.copy(functions=[transfer_async])
AGENTS = {"answer": Agent(), "tool": WEATHER, "handoff": DESK, "stream": Agent()}
AGENTS_ASYNC = {"answer": Agent(), "tool": WEATHER_ASYNC, "handoff": DESK_ASYNC, "stream": Agent()}


def ours(base: str, scenario: str) -> Any:
    client = Swarm(ChatClient(f"{base}/{scenario}", "benchmark"))
    agent = AGENTS[scenario]
    messages = [{"role": "user", "content": QUESTION}]

    def run() -> str:
        if scenario == "stream":
            return "".join(piece.get("content") or "" for piece in client.run(agent, messages, stream=True))
        return client.run(agent, messages).messages[-1]["content"]

    return run


def ours_async(base: str, scenario: str) -> Any:
    client = AsyncSwarm(ChatClient(f"{base}/{scenario}", "benchmark"))
    agent = AGENTS_ASYNC[scenario]
    messages = [{"role": "user", "content": QUESTION}]

    async def run() -> str:
        if scenario == "stream":
            return "".join([piece.get("content") or "" async for piece in client.run(agent, messages, stream=True)])
        return (await client.run(agent, messages)).messages[-1]["content"]

    return run


@contextmanager
def running_provider() -> Generator[str]:
    """The base URL of a provider in another process."""
    command = [sys.executable, "-m", "benchmarks.provider"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent.parent) as process:
        assert process.stdin and process.stdout
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        process.stdin.close()


def many(run: Callable[[], str], scenario: str) -> Callable[[], object]:
    def work() -> None:
        for _ in range(REPEATS[scenario]):
            check(run(), scenario)

    return work


def many_async(runner: asyncio.Runner, run: Callable[[], Any], scenario: str) -> Callable[[], object]:
    async def work() -> None:
        for _ in range(REPEATS[scenario]):
            check(await run(), scenario)

    return lambda: runner.run(work())


def check(text: str, scenario: str) -> None:
    if text != EXPECTED[scenario]:
        raise SystemExit(f"{scenario}: a contestant came to {text[:80]!r}")


async def new_session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession()


def measure(base: str, runner: asyncio.Runner, session: aiohttp.ClientSession, scenario: str) -> dict[str, float]:
    """Milliseconds of CPU per run for each contestant."""
    contestants = {
        "official": many(by_hand.official(base, scenario, QUESTION), scenario),
        "urllib3": many(by_hand.bare_urllib3(base, scenario, QUESTION), scenario),
        "ours": many(ours(base, scenario), scenario),
        "official async": many_async(runner, by_hand.official_async(base, scenario, QUESTION), scenario),
        "aiohttp": many_async(runner, by_hand.bare_aiohttp(session, base, scenario, QUESTION), scenario),
        "ours async": many_async(runner, ours_async(base, scenario), scenario),
    }
    return {name: seconds * 1e3 / REPEATS[scenario] for name, seconds in interleaved(contestants, ROUNDS, 1).items()}


def row(title: str, cost: dict[str, float]) -> tuple[str, ...]:
    sync, aio = cost["official"], cost["official async"]
    return (
        title,
        f"{sync:.2f} ms",
        f"{cost['urllib3'] / sync:.2f}",
        f"{cost['ours'] / sync:.2f}",
        f"{cost['ours'] / cost['urllib3']:.2f}",
        f"{aio:.2f} ms",
        f"{cost['aiohttp'] / aio:.2f}",
        f"{cost['ours async'] / aio:.2f}",
        f"{cost['ours async'] / cost['aiohttp']:.2f}",
    )


def main() -> None:
    head = ("CPU of a run", "official", "urllib3", "ours", "ours/urllib3", "official async", "aiohttp", "ours async", "ours/aiohttp")
    with running_provider() as base, asyncio.Runner() as runner:
        session = runner.run(new_session())
        rows = [row(title, measure(base, runner, session, scenario)) for scenario, title in TITLES.items()]
        runner.run(session.close())
    print(table(head, rows))
    print("\nTransports and ours as parts of the official client of the same mode. Budget: ours at most 1.4 of the bare transport.")


if __name__ == "__main__":
    main()
