"""One case played once: the conversation, its scores, its record."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from inspect import isawaitable
from typing import Any

from ..core import AsyncSwarm
from ..effects import CallModel, Flow
from ..inspection import read_graph
from ..legal import is_dict
from ..types import Agent, Response, ToolCall, Usage
from .cases import NO_CONVERSATION, Case, check_ids
from .outcome import Outcome
from .problems import EvalError
from .records import CaseResult, as_json
from .scoring import Scorer, scores_of
from .simulating import MOST, Said, Simulate, UserScript, is_persons

_USER_MODEL = "give it one, or a model: --user-model, in Python evaluate(simulate=UserModel(...))"
_JUDGE_MODEL = "name one: --judge-model, in Python evaluate(scorers=[JudgeModel(...)])"
_CHECKED = ("function", "calls", "handoffs", "final_agent", "state", "text")


@dataclass
class Player:
    """What playing a case needs; the fields are arguments of `evaluate`, which explains them."""

    agent: Agent
    agents: Sequence[Agent]
    client: Any
    swarm: dict[str, Any]
    model: str | None
    max_turns: float
    context_variables: dict[str, Any] | Callable[[], dict[str, Any] | Awaitable[dict[str, Any]]] | None
    state: Callable[[dict[str, Any]], Any] | None
    scorers: dict[str, Scorer]
    simulate: Simulate | None
    seed: int | None
    _by_name: dict[str, list[Agent]] = field(init=False, default_factory=dict[str, list[Agent]])

    def __post_init__(self) -> None:
        self._swarm([])  # a wrong argument is found before anything is played
        self._know([self.agent, *self.agents])

    def check(self, cases: Sequence[Case]) -> None:
        """Make sure that each case can be played, and that something of it is looked at.

        Raises:
            EvalError: one cannot, or nothing is; or two have one id.
        """
        if stranger := [case for case in cases if not isinstance(case, Case)]:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"cases are objects of the class Case, as load_cases('cases.json') returns them, not {stranger[0]!r}")
        check_ids(cases)
        if any(case.agent is not None and case.agent not in self._by_name for case in cases):
            self._know([agent for agent in read_graph(self.agent, *self.agents).agents if agent.name not in self._by_name])
        for case in cases:
            self._check(case)

    def _know(self, agents: Iterable[Agent]) -> None:
        for agent in dict.fromkeys(agents):
            self._by_name.setdefault(agent.name, []).append(agent)

    def _check(self, case: Case) -> None:
        where, found = case.place or f"case {case.id!r}", self._by_name.get(case.agent, []) if case.agent is not None else [self.agent]
        if len(found) != 1:
            what = "there are several agents" if found else "there is no agent"
            raise EvalError(f"{where}: {what} called {case.agent!r}; there are {', '.join(self._by_name)}. Others: evaluate(agents=[...])")
        if not case.conversation and case.user is None:
            raise EvalError(f"{where}: {NO_CONVERSATION}")
        if case.user is not None and self.simulate is None and not case.user.get("script"):
            raise EvalError(f"{where}: the 'user' has no script, and nobody plays it; {_USER_MODEL}")
        if case.judge is not None and "judge" not in self.scorers:
            raise EvalError(f"{where}: the case asks a 'judge', and there is none; {_JUDGE_MODEL}")
        if not self.scorers and all(getattr(case, name) is None for name in _CHECKED):
            raise EvalError(f"{where}: nothing to check; give the case one of {', '.join(_CHECKED)}, or give a scorer of your own")

    async def play(self, case: Case, repetition: int) -> CaseResult:
        """Play a case once. What fails in it, a function that wants to end the process too, is in the result."""
        started, begun = datetime.now(UTC), time.perf_counter()
        outcome = Outcome(self._by_name[case.agent][0] if case.agent is not None else self.agent, list(case.conversation), 0, {})
        outcome.input, begins, error = len(outcome.messages), outcome.agent.name, None
        try:
            outcome.context_variables = await self._variables(case)
            await self._converse(case, outcome, None if self.seed is None else seed_of(self.seed, case.id, repetition))
        except (Exception, SystemExit) as failure:
            partial = getattr(failure, "response", None)
            if isinstance(partial, Response):
                outcome.add(partial)
            outcome.stop_reason, error = "error", failure
        seconds, scores = time.perf_counter() - begun, {}
        if error is None:
            try:
                outcome.state = await self._state(case, outcome)
                scores = await scores_of(case, outcome, self.scorers)
            except (Exception, SystemExit) as failure:
                error = failure
        return CaseResult(
            case=case.id,
            repetition=repetition,
            place=case.place,
            tags=case.tags,
            agent=begins,
            passed=error is None and all(score.passed for score in scores.values()),
            scores=scores,
            messages=as_json(outcome.messages),
            input=outcome.input,
            final_agent=outcome.agent.name,
            calls=[_call(call) for call in outcome.calls],
            handoffs=[list(pair) for pair in outcome.handoffs],
            stop_reason=outcome.stop_reason,
            state=as_json(outcome.state),
            usage=_usage(outcome.usage),
            usage_apart={name: _usage(usage) for name, usage in outcome.usage_apart.items()},
            seconds=seconds,
            error=None if error is None else {"type": type(error).__name__, "message": str(error)},
            started=f"{started:%Y-%m-%dT%H:%M:%SZ}",
        )

    async def _variables(self, case: Case) -> dict[str, Any]:
        given = self.context_variables
        made: Any = await _ready(given() if callable(given) else given) or {}
        if not is_dict(made):
            raise EvalError(f"the function that makes context variables returned {made!r}, not a dict")
        return {**made, **case.context_variables}

    async def _state(self, case: Case, outcome: Outcome) -> Any:
        if case.is_first_reply_only:  # nothing has changed, and nobody asks
            return None
        return outcome.context_variables if self.state is None else await _ready(self.state(outcome.context_variables))

    async def _converse(self, case: Case, outcome: Outcome, seed: int | None) -> None:
        swarm = self._swarm([] if seed is None else [_Seeded(seed)])
        is_asked = case.user is None or (case.conversation and case.conversation[-1].get("role") == "user")
        goes_on = not is_asked or await self._run(swarm, case, outcome)
        if case.user is not None:
            simulate = self.simulate or UserScript()
            while goes_on and await _speaks(simulate, case, outcome, seed):
                goes_on = await self._run(swarm, case, outcome)

    def _swarm(self, policies: list[Any]) -> AsyncSwarm:
        options: dict[str, Any] = {**self.swarm, "policies": [*self.swarm.get("policies", ()), *policies]}
        return AsyncSwarm(self.client, **options)

    async def _run(self, swarm: AsyncSwarm, case: Case, outcome: Outcome) -> bool:
        """Let the agents answer. Returns whether the conversation can go on."""
        response = await swarm.run(
            outcome.agent,
            outcome.messages,
            outcome.context_variables,
            self.model,
            max_turns=self.max_turns,
            execute_tools=not case.is_first_reply_only,
        )
        outcome.add(response)
        return response.stop_reason == "complete"


async def _ready(value: Any) -> Any:
    return await value if isawaitable(value) else value


async def _speaks(simulate: Simulate, case: Case, outcome: Outcome, seed: int | None) -> bool:
    """Let the user speak. Returns whether there is something to answer.

    Raises:
        EvalError: the user said nothing, though it is not done; or it is done before anything was said.
    """
    answer: Any = await _ready(simulate(case, outcome.messages, seed))
    if not isinstance(answer, Said | str | None):
        raise EvalError(f"the simulated user said {answer!r}, not a text, a Said, or None for the end")
    count = sum(map(is_persons, outcome.messages[outcome.input :]))
    said = answer if isinstance(answer, Said) else Said(answer or "", answer is None)
    outcome.add_apart("user", said.usage)
    if not said.text and not (said.is_last and outcome.messages):
        raise EvalError("the simulated user said nothing")
    if count == (case.user or {}).get("max_messages", MOST) and not said.is_last:
        outcome.stop_reason = "max_messages"
        return False
    if said.text:
        outcome.messages.append({"role": "user", "content": said.text})
    return not said.is_last


class _Seeded:
    """Adds `seed` to each request, innermost, so that no policy that writes requests loses it."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def model(self, call: CallModel) -> Flow:
        return (yield call.replace(request={**call.request, "seed": self._seed}))


def seed_of(seed: int, case: str, repetition: int) -> int:
    """The seed of one conversation, below 2**31 as providers want it: another for each, and the same whenever it is played."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{repetition}/{case}".encode(errors="backslashreplace")).digest()[:4]) >> 1


def _call(call: ToolCall) -> dict[str, Any]:
    return {"name": call.name, "arguments": as_json(call.arguments), "agent": call.agent, "outcome": call.outcome}


def _usage(usage: Usage) -> dict[str, Any]:
    counts = {name: getattr(usage, name) for name in ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")}
    return {**counts, "model_calls": usage.calls, "cost": usage.cost}
