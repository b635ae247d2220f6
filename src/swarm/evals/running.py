"""Cases played side by side, their results kept as they come."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any
from uuid import uuid4

from ..models.default import default_client
from ..types import Agent
from .cases import Case, digest_of
from .playing import Player
from .records import CaseResult, Header, Results, Writer
from .scoring import BUILT_IN, Scorer, named
from .simulating import Simulate


async def evaluate(
    agent: Agent,
    cases: Iterable[Case],
    *,
    client: Any = None,
    model: str | None = None,
    max_turns: float = float("inf"),
    agents: Sequence[Agent] = (),
    context_variables: dict[str, Any] | Callable[[], dict[str, Any] | Awaitable[dict[str, Any]]] | None = None,
    state: Callable[[dict[str, Any]], Any] | None = None,
    scorers: Sequence[Scorer] = (),
    simulate: Simulate | None = None,
    repeat: int = 1,
    concurrency: int = 8,
    seed: int | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    on_result: Callable[[CaseResult], Any] | None = None,
    target: str | None = None,
    **swarm: Any,
) -> Results:
    """Play cases and score them.

    Args:
        agent: who hears the cases that name no agent.
        cases: from `load_cases`, or made.
        client: who is asked, as for `AsyncSwarm`.
        model, max_turns: as `model_override` and `max_turns` of `AsyncSwarm.run`.
        agents: others that cases name, beside those that can be reached from `agent`.
        context_variables: copied for each conversation, those of the case over them; or a function, sync or async, that
            makes fresh ones for each.
        state: makes of the context variables at the end what `Case.state` is compared with, such as the rows of a database; sync or
            async.
        scorers: your own, beside those for the fields of a case.
        simulate: who plays the `user` of cases, such as a `UserModel`; by default a `UserScript`.
        repeat: how often to play each case.
        concurrency: how many conversations go on at once.
        seed: from which each request gets a `seed`, another for each conversation and the same whenever it is played; None sends none.
        out: the file to which results are written as they come.
        resume: go on with that file, and play only what is missing or failed.
        on_result: called with each result, those in the file first.
        target: what the results call the agent; by default its name.
        swarm: further arguments of `AsyncSwarm`: policies, limits, prices, ...; limits hold for each run.

    Raises:
        TypeError: an argument that there is not.
        EvalError: cases that cannot be played, before any is; a file that is there already, or that is of another run.
        ConfigError: no client was given and the environment names none.
        ValueError: `repeat` or `concurrency` below 1.
    """
    if repeat < 1 or concurrency < 1:
        raise ValueError(f"repeat={repeat} and concurrency={concurrency} must be at least 1")
    cases, own, asked = list(cases), named(scorers), client if client is not None else default_client()
    player = Player(agent, agents, asked, swarm, model, max_turns, context_variables, state, own, simulate, seed)
    player.check(cases)
    header = _header(player, cases, repeat, target or agent.name)
    if out is None:
        return await _played(player, cases, concurrency, Results(header), None, on_result)
    with Writer(out, header, resume) as writer:
        return await _played(player, cases, concurrency, Results(writer.header, writer.before), writer, on_result)


def run_evals(agent: Agent, cases: Iterable[Case], **options: Any) -> Results:
    """`evaluate` for code that is not async.

    Args:
        agent, cases, options: as for `evaluate`.

    Raises:
        RuntimeError: an event loop runs in this thread; `await evaluate(...)` instead.
        KeyboardInterrupt: Ctrl-C; results so far are in the file `out`, and `resume=True` goes on.
        Exception: what `evaluate` raises.
    """
    return asyncio.run(evaluate(agent, cases, **options))


async def _played(
    player: Player,
    cases: Sequence[Case],
    concurrency: int,
    results: Results,
    writer: Writer | None,
    on_result: Callable[[CaseResult], Any] | None,
) -> Results:
    """Play what has no result yet: all cases once, then all a second time."""
    done = {result.key for result in results.results}
    todo = [(case, repetition) for repetition in range(results.header.repeat) for case in cases if (case.id, repetition) not in done]
    if on_result is not None:
        for result in results.results:
            on_result(result)

    async def work(jobs: Iterator[tuple[Case, int]]) -> None:
        for case, repetition in jobs:
            result = await player.play(case, repetition)
            if writer is not None:
                writer.write(result)
            results.results.append(result)
            if on_result is not None:
                on_result(result)
            await asyncio.sleep(0)  # a model in this process never waits, and others want their turn

    jobs = iter(todo)  # one for all workers
    workers = [asyncio.create_task(work(jobs)) for _ in range(min(concurrency, len(todo)))]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    return results


def _header(player: Player, cases: Sequence[Case], repeat: int, target: str) -> Header:
    try:
        number = version("openswarm")
    except PackageNotFoundError:  # run from a directory that was never installed
        number = "unknown"
    return Header(
        id=uuid4().hex[:12],
        target=target,
        files=list(dict.fromkeys(case.place.rpartition(":")[0] for case in cases if case.place)),
        cases=len(cases),
        digest=digest_of(cases),
        repeat=repeat,
        seed=player.seed,
        model=_model(player),
        swarm=number,
        started=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        scorers=[*BUILT_IN, *player.scorers],
        models_apart=_models_apart(player),
    )


def _models_apart(player: Player) -> dict[str, str]:
    """The models of those that measure, as far as they were named: a scorer's, and the simulated user's."""
    measuring = {**player.scorers, "user": player.simulate}
    return {name: model for name, one in measuring.items() if isinstance(model := getattr(one, "model", None), str)}


def _model(player: Player) -> str:
    """Which model is asked, as far as that is known before it is."""
    if isinstance(getattr(player.client, "announcement", None), str):
        return "offline"
    agent = player.agent
    usual = agent.model if "model" in agent.model_fields_set else os.environ.get("SWARM_MODEL") or agent.model
    return player.model or usual
