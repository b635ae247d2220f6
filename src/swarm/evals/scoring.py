"""From a case and what came of it to scores: one for each field of the case, and those of scorers of one's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import iscoroutinefunction
from typing import Any, TypeAlias, cast

from ..drivers.aio import in_worker
from ..drivers.threads import Job
from .cases import ANY_CALLS, Case, state_hash
from .conditions import broken_conditions, count_of
from .matching import difference
from .outcome import Outcome
from .problems import EvalError
from .records import Score, as_json

Scorer: TypeAlias = Callable[[Case, Outcome], Any]
"""Looks at a case and what came of it, sync or async; a sync one runs in a thread, so it may block. Returns a Score, True or False,
a number from 0 to 1, which passes from 0.5 on, or None where it has nothing to say. Its scores are called by its attribute `name`, else by
the name of the function."""


def function(case: Case, outcome: Outcome) -> Score | None:
    """Whether the first reply calls the right function, or none."""
    if case.function is None:
        return None
    name, _ = outcome.first_call
    return _exactly(case.function, name)


def arguments(case: Case, outcome: Outcome) -> Score | None:
    """Whether that call has the right arguments; of a wrong function nobody asks."""
    name, given = outcome.first_call
    if not case.arguments or name != case.function:
        return None
    return _among(case.arguments, given)


def calls(case: Case, outcome: Outcome) -> Score | None:
    """Whether the calls of the whole run are those of the case, in order. Which of them only hand over is told by what came of them."""
    if case.calls is None:
        return None
    named = {wanted["function"] for wanted in case.calls if not isinstance(wanted, str)}
    made = [call for call in outcome.called if call.handoff_to is None or call.name in named]
    actual = [{"function": call.name, "arguments": as_json(call.arguments)} for call in made]
    passed = _fits(case.calls, actual)
    return Score(passed, float(passed), case.calls, actual, "" if passed else _first_misfit(case.calls, actual))


def handoffs(case: Case, outcome: Outcome) -> Score | None:
    """Whether the right agents took over, in order."""
    return None if case.handoffs is None else _exactly(case.handoffs, [to for _, to in outcome.handoffs])


def final_agent(case: Case, outcome: Outcome) -> Score | None:
    """Whether the right agent is active at the end."""
    return None if case.final_agent is None else _exactly(case.final_agent, outcome.agent.name)


def state(case: Case, outcome: Outcome) -> Score | None:
    """Whether the state at the end is as it should be: among others, or by its hash."""
    if case.state is None:
        return None
    return _exactly(case.state, state_hash(outcome.state)) if isinstance(case.state, str) else _among(case.state, outcome.state)


def text(case: Case, outcome: Outcome) -> Score | None:
    """Whether the last text meets its conditions; the value is the share of them that it meets."""
    if case.text is None:
        return None
    broken = broken_conditions(case.text, outcome.text)
    count = count_of(case.text)
    return Score(not broken, 1 - len(broken) / count, case.text, outcome.text, f"not met: {'; '.join(broken)}" if broken else "")


BUILT_IN: dict[str, Scorer] = {scorer.__name__: scorer for scorer in (function, arguments, calls, handoffs, final_agent, state, text)}


def name_of(scorer: Scorer) -> str:
    """What the scores of a scorer are called: its attribute `name`, else the name of the function or class."""
    name = getattr(scorer, "name", None) or getattr(scorer, "__name__", None)
    return name if isinstance(name, str) else type(scorer).__name__


def named(scorers: Sequence[Scorer]) -> dict[str, Scorer]:
    """Scorers of one's own by name.

    Raises:
        TypeError: one that cannot be called, or one that stands for a list of them.
        EvalError: two of one name, or the name of a field.
    """
    if callable(scorers):
        raise TypeError(f"scorers is a list, also of one: scorers=[{name_of(scorers)}]")
    found: dict[str, Scorer] = {}
    for scorer in scorers:
        if not callable(scorer):
            raise TypeError(f"a scorer is a function of (case, outcome), not {scorer!r}")
        name = name_of(scorer)
        if name in found or name in BUILT_IN:
            raise EvalError(f"there are two scorers called {name!r}; give one another name: scorer.name = '...'")
        found[name] = scorer
    return found


async def scores_of(case: Case, outcome: Outcome, own: dict[str, Scorer]) -> dict[str, Score]:
    """All scores that apply, by name.

    Raises:
        EvalError: a scorer of one's own failed, or returned something else than scorers return; or none applies.
    """
    found = {name: score for name, scorer in BUILT_IN.items() if (score := scorer(case, outcome)) is not None}
    for name, scorer in own.items():
        try:
            score = _as_score(await _asked(scorer, case, outcome))
        except (Exception, SystemExit) as error:
            raise EvalError(f"the scorer {name!r} failed: {type(error).__name__}: {error}") from error
        if score is not None:
            found[name] = score
    if not found:
        raise EvalError("no scorer had anything to say, so nothing is known; give the case something to check")
    return found


async def _asked(scorer: Any, case: Case, outcome: Outcome) -> Any:
    if iscoroutinefunction(scorer) or iscoroutinefunction(scorer.__call__):
        return await scorer(case, outcome)
    said = await in_worker(Job(lambda: scorer(case, outcome)))  # not asyncio's threads, which hold up the end of a process
    return await said if hasattr(said, "__await__") else said


def _as_score(said: Any) -> Score | None:
    if said is None:
        return None
    if isinstance(said, Score):
        passed, reason = cast("Any", said.passed), cast("Any", said.reason)
        if not isinstance(passed, bool) or not _is_share(said.value) or not isinstance(reason, str):
            raise TypeError(f"a Score has True or False, a number from 0 to 1, and a text as reason: not {said!r}")
        return Score(said.passed, float(said.value), as_json(said.expected), as_json(said.actual), said.reason)
    if _is_share(said):
        return Score(said >= 0.5, float(said))
    raise TypeError(f"a scorer returns a Score, a bool, a number from 0 to 1, or None, not {said!r}")


def _is_share(value: Any) -> bool:
    return isinstance(value, bool | int | float) and 0 <= value <= 1


def _exactly(expected: Any, actual: Any) -> Score:
    passed = expected == actual
    return Score(passed, float(passed), expected, actual)


def _among(expected: dict[str, Any], actual: Any) -> Score:
    given = as_json(actual)
    reason = difference(expected, given)
    return Score(not reason, float(not reason), expected, given, reason)


def _fits(wanted: Sequence[dict[str, Any] | str], made: Sequence[dict[str, Any]]) -> bool:
    """Whether calls are those of a list in which "..." stands for any number of others."""
    places = {0}
    for item in wanted:
        if isinstance(item, str):
            places = set(range(min(places), len(made) + 1))
        else:
            places = {place + 1 for place in places if place < len(made) and not _misfit(item, made[place])}
        if not places:
            return False
    return len(made) in places


def _misfit(wanted: dict[str, Any], made: dict[str, Any]) -> str:
    if wanted["function"] != made["function"]:
        return f"{made['function']} instead of {wanted['function']}"
    return difference(wanted["arguments"], made["arguments"], wanted["function"])


def _first_misfit(wanted: Sequence[dict[str, Any] | str], made: Sequence[dict[str, Any]]) -> str:
    if ANY_CALLS in wanted:
        return f"the calls were {', '.join(call['function'] for call in made) or 'none'}"
    for number, (item, call) in enumerate(zip(wanted, made, strict=False), 1):
        if not isinstance(item, str) and (why := _misfit(item, call)):
            return f"call {number}: {why}"
    return f"{len(made)} of {len(wanted)} calls" if len(made) < len(wanted) else f"{len(made)} calls, not {len(wanted)}"
