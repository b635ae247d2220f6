"""A run as plain JSON: to pause for a person, survive a crash, move to another machine, or fork.

A state from outside is untrusted input: agents and tools are looked up by name among those given, nothing is imported or unpickled,
and what a state claims was approved does not count. Approvals are given to `resume`, by the one who resumes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from pydantic_core import from_json, to_jsonable_python

from .errors import HistoryError, StateError, ToolError
from .history import checked as checked_history
from .history import open_calls, repaired
from .legal import call_name
from .limits import COUNTED, LASTING, NO_LIMITS, Circles, needs_cost
from .offers import table_of
from .records import ModelCall
from .types import Agent, Handoff, ToolCall, Usage

if TYPE_CHECKING:
    from .calls import Outcome
    from .options import Options
    from .run import Run, Signal
    from .state_form import Saved, SavedOutcome

VERSION = 1


class State(dict[str, Any]):
    """The JSON of a run, with the agents that it names. `json.dumps` takes it as it is; `load_state` brings it back.

    Attributes:
        agents: the agents by name.
    """

    def __init__(self, data: dict[str, Any], agents: dict[str, Agent]) -> None:
        super().__init__(data)
        self.agents = agents

    def fork(
        self,
        messages: list[dict[str, Any]] | None = None,
        context_variables: dict[str, Any] | None = None,
        agent: Agent | None = None,
    ) -> State:
        """Another run from here on, with an id of its own; this state stays as it is.

        Args:
            messages: the whole history in the place of the one saved, such as the same with another word in it, or its beginning. Calls
                that it leaves open are run; what was saved of a call that it does not leave open is dropped.
            context_variables: put over those that were saved.
            agent: who goes on; with another agent than the one saved, its filter of the history is dropped.

        Raises:
            StateError: the messages are no history that a run could go on with, or a value that JSON cannot hold.
        """
        from uuid import uuid4

        data: dict[str, Any] = _json(dict(self), "")
        agents, old = dict(self.agents), checked(self)
        data["id"] = uuid4().hex
        data["context_variables"] |= _json(context_variables or {}, ".context_variables")
        if agent is not None:
            agents[agent.name] = agent
            data |= {"agent": agent.name} if old.agent == agent.name else {"agent": agent.name, "handoff": None}
        if messages is not None:
            new = data["messages"] = _repaired(_json(list(messages), ".messages"), "fork")
            is_open = {call["id"] for call in open_calls(new)}
            data |= {part: {id: kept for id, kept in data[part].items() if id in is_open} for part in ("held", "nested")}
            data |= {"begun": [id for id in old.begun if id in is_open], "new_from": min(old.new_from, len(new))}
            same = min((at for at, (one, other) in enumerate(zip(new, old.messages, strict=False)) if one != other), default=len(new))
            data["origins"] = {at: url for at, url in data["origins"].items() if int(at) < same}
            data |= {"over": None, "output": None, "finish": None, "cut_off": False, "limit": None, "cause": "input"}
        fork = State(data, agents)
        checked(fork)
        return fork


def dump(run: Run, first: int = 0) -> State:
    """A run as it is now: at its end, or between two of its steps.

    Args:
        run: the run.
        first: how many of its messages are left out, from the beginning.

    Raises:
        StateError: it holds a value that JSON cannot hold, named with its path, or two agents of one name.
    """
    agents: dict[str, Agent] = {}
    try:
        whole = _dumped(run, agents)
        messages = enumerate(whole.pop("messages")[first:], first)
        return State(_json(whole, "") | {"messages": [_json(message, f".messages[{at}]") for at, message in messages]}, agents)
    except RecursionError:
        raise StateError("the context variables are nested too deeply, or hold themselves, so JSON cannot hold them") from None


def _dumped(run: Run, agents: dict[str, Agent]) -> dict[str, Any]:
    def named(agent: Agent) -> str:
        if agents.setdefault(agent.name, agent) is not agent:
            raise StateError(f"two agents of this run are called {agent.name!r}; a state tells agents apart by name, so rename one")
        return agent.name

    begun = set(run.begun)  # before `finished`, since calls in other threads may go from one to the other meanwhile
    held = {**run.held, **run.finished}
    places = {id(message): index for index, message in enumerate(run.history)}
    return {
        "version": VERSION,
        "id": run.id,
        "agent": named(run.agent),
        "messages": run.history,
        "new_from": run.new_from,
        "context_variables": run.context if not run.path else {},
        "turn": run.replied,
        "cause": run.cause if run.cause.startswith(("turn:", "call:", "policy:")) else "input",
        "finish": run.finish,
        "cut_off": run.cut_off,
        "over": run.over,
        "output": to_jsonable_python(run.output, fallback=str) if run.over is not None else None,
        "limit": _dumped_limit(run),
        "usage": [call.fields() for call in run.usage.by_call],
        "counts": _dumped_counts(run),
        "circles": to_jsonable_python({name: getattr(run.circles, name) for name in Circles.__slots__}, fallback=str),
        "calls": [to_jsonable_python(call.as_dict(), fallback=str) for call in run.calls],
        "spent_tool_choice": [named(agent) for agent, turn in run.spent.items() if turn <= run.replied],
        "handoff": {"agent": named(run.handed_by[0]), "tool": _transfer(run.handoff, *run.handed_by)}
        if run.handoff and run.handed_by
        else None,
        "origins": {str(places[key]): url for key, url in list(run.origins.items()) if key in places and isinstance(url, str)},
        "held": {id: _dumped_outcome(outcome, named) for id, outcome in held.items()},
        "begun": sorted(begun - held.keys() - run.nested.keys()),
        "unknown": _unknown(run, held),
        "nested": {id: _dumped(inner, agents) for id, inner in list(run.nested.items())},
    }


def _transfer(handoff: Handoff, source: Agent, called: str) -> str:
    """The name of the tool that stands for a handoff; what was called may be a stand-in of a policy."""
    tools = table_of(source).tools
    return called if called in tools else next((name for name, tool in tools.items() if tool.handoff is handoff), called)


def _unknown(run: Run, held: dict[str, Outcome]) -> list[str]:
    """The open calls of functions that there are not, which whoever loads the state must not take for forged ones."""
    tools = table_of(run.agent).tools
    return [call["id"] for call in open_calls(run.history) if call_name(call) not in tools and call["id"] not in held]


def _dumped_outcome(held: Outcome, named: Any) -> dict[str, Any]:
    return {
        "kind": held.kind,
        "text": held.text,
        "agent": named(held.agent) if held.agent else None,
        "through_handoff": held.handoff is not None,
        "variables": None if held.merged else held.variables,
        "stop": held.stop,
        "value": held.value if held.stop else None,
        "seconds": held.seconds,
        "given": held.given,
        "parts": held.parts,
    }


def _dumped_limit(run: Run) -> dict[str, Any] | None:
    if run.limit is None or run.limit.name not in LASTING:
        return None
    name, why, scope = run.limit
    amount = getattr(scope.limits, name) if scope is not None and name != "loop" else run.repeats
    return {"name": name, "why": why, "amount": amount}


def _dumped_counts(run: Run) -> dict[str, float] | None:
    """What the run's own scope counted, without the calls that are not finished: they will be counted when they are run again."""
    if run.scope is None:
        return None
    counts: dict[str, float] = {name: getattr(run.scope, name) for name in (*COUNTED, "cost")}
    return counts | {"tool_calls": run.scope.tool_calls - _unfinished(run)}


def _unfinished(run: Run) -> int:
    return len(run.begun - run.finished.keys()) + sum(map(_unfinished, list(run.nested.values())))


def _json(value: Any, path: str) -> Any:
    """A copy that holds nothing but JSON."""
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, dict):
        pairs = list(cast("dict[Any, Any]", value).items())  # a copy, since a function in another thread may be writing to it
        for key, _ in pairs:
            if not isinstance(key, str):
                raise StateError(f"{path[1:]}: the key {key!r} is no text, so JSON cannot hold it")
        return {key: _json(item, f"{path}.{key}") for key, item in pairs}
    if isinstance(value, list):
        return [_json(item, f"{path}[{index}]") for index, item in enumerate(list(cast("list[Any]", value)))]
    what = repr(value) if isinstance(value, float) else f"a {type(value).__name__}"
    raise StateError(
        f"{path[1:]} is {what}, which JSON cannot hold; store plain values, or give live objects to "
        "resume(state, context_variables={...}) instead of keeping them in the context"
    )


def load_state(data: str | bytes | dict[str, Any], agents: Iterable[Agent]) -> State:
    """Bring a saved state back.

    Args:
        data: JSON text, or the dict made from it.
        agents: every agent that the run may name; looked up by name, so names must differ.

    Raises:
        StateError: no state, one of another version, a name that no given agent or tool has, or two agents of one name.
    """
    if isinstance(data, str | bytes):
        try:
            data = from_json(data)
        except (ValueError, TypeError) as error:  # TypeError: half a character
            raise StateError(f"the state is not JSON: {error}") from None
    by_name: dict[str, Agent] = {}
    for agent in agents:
        if not isinstance(agent, Agent):  # type: ignore[redundant-expr]  # callers without a type checker
            raise StateError(f"agents holds {agent!r}, which is no Agent")
        if by_name.setdefault(agent.name, agent) is not agent:
            raise StateError(f"two of the agents given are called {agent.name!r}; a state tells agents apart by name, so rename one")
    state = State(data if isinstance(data, dict) else {}, by_name)
    checked(state)
    return state


def checked(state: State) -> Saved:
    """The state, every field of the right kind and every name known.

    Raises:
        StateError: something is missing or wrong.
    """
    from .state_form import read_saved  # makes pydantic models, which only programs that load states need

    version = state.get("version")
    if "version" not in state:
        raise StateError("this is no saved state: it has no version; load what json.dumps(response.state()) gave")
    if type(version) is not int or version != VERSION:
        raise StateError(
            f"the state has version {version!r}, this release reads version {VERSION}; resume it with the release that saved it"
        )
    saved = read_saved(state)
    if saved.counts is None:
        raise StateError("this is no saved state. state.counts: it is missing")
    _check(saved, state.agents, "state")
    return saved


def _check(saved: Saved, agents: dict[str, Agent], where: str) -> None:
    agent = _named(agents, saved.agent, f"{where}.agent")
    messages = _repaired(saved.messages, where)
    if saved.new_from > len(messages):
        raise StateError(f"{where}.new_from is {saved.new_from}, with {len(messages)} messages")
    tools = table_of(agent).tools
    calls = {call["id"]: call_name(call) for call in open_calls(messages)}
    for id, name in calls.items():
        if name not in tools and id not in saved.held and id not in saved.unknown:
            has = ", ".join(tools) or "no tools"
            raise StateError(f"{where}: the open call {id!r} is of {name!r}, which {agent.name!r} does not have; it has {has}")
    for part, ids in (("held", saved.held), ("begun", saved.begun), ("nested", saved.nested)):
        for id in ids:
            if id not in calls:
                raise StateError(f"{where}.{part} names {id!r}, which is no open call")
    for name in (*saved.spent_tool_choice, *(held.agent for held in saved.held.values() if held.agent is not None)):
        _named(agents, name, where)
    for id, inner in saved.nested.items():
        _check(inner, agents, f"{where}.nested[{id!r}]")


def _repaired(messages: list[dict[str, Any]], where: str) -> list[dict[str, Any]]:
    try:
        return repaired(messages, allow_open_tail=True)
    except HistoryError as error:
        raise StateError(f"{where}.messages: {error}") from None


def _named(agents: dict[str, Agent], name: str, where: str) -> Agent:
    if name not in agents:
        raise StateError(f"{where} names {name!r}, which is not among the agents given: {', '.join(map(repr, agents)) or 'none'}")
    return agents[name]


def revive(state: State, options: Options, approvals: dict[str, Any], context: dict[str, Any], signal: Signal | None = None) -> Run:
    """The run that a state describes, ready to go on.

    Args:
        state: from `load_state`, or straight from `Response.state()`.
        options: how to run it.
        approvals: decisions for its open calls.
        context: live objects to put over the saved context variables.
        signal: how its holder asks it to end, if there is a holder already.

    Raises:
        StateError: the state does not fit its agents.
    """
    run = _revived(checked(state), state.agents, options, None, (), signal)
    run.context.update(context)
    run.approvals = approvals
    return run


def _revived(
    saved: Saved, agents: dict[str, Agent], options: Options, outer: Run | None, path: tuple[str, ...], signal: Signal | None
) -> Run:
    from .run import Run

    context = outer.context if outer else _json(saved.context_variables, "")
    run = Run(agents[saved.agent], checked_history(saved.messages, allow_open_tail=True), context, options, signal, outer, path)
    run.restore(saved.id, saved.new_from)
    run.turn = run.replied = saved.turn
    run.cause = saved.cause
    run.finish, run.cut_off = saved.finish, saved.cut_off
    if run.history and (run.history[-1]["role"] in ("assistant", "tool") or "sender" in run.history[-1]):  # else there is more to say
        run.over, run.output = saved.over, saved.output
    if outer is None:
        run.usage = Usage(ModelCall(**call.model_dump(), prices=options.prices) for call in saved.usage)
    if saved.counts is not None:
        if run.scope is None:
            run.confine(NO_LIMITS)  # those of the call are put on it when the call goes on
        _set(run.scopes[-1], saved.counts)
    if outer is None and needs_cost(run.scopes):  # the limit may be new, and then nothing was added up
        run.scopes[0].cost = sum(call.cost or 0.0 for call in run.usage.by_call)
    _set(run.circles, saved.circles)
    if saved.limit is not None:
        run.stopped_by = (saved.limit.name, saved.limit.why, saved.limit.amount)
    run.calls = [ToolCall(**call.model_dump()) for call in saved.calls]
    run.spent = dict.fromkeys((agents[name] for name in saved.spent_tool_choice), 0)
    if saved.handoff is not None:
        source = _named(agents, saved.handoff.agent, "state.handoff.agent")
        tool = table_of(source).tools.get(saved.handoff.tool)
        if tool is None or tool.handoff is None:
            raise StateError(f"state.handoff names {saved.handoff.tool!r}, which is no handoff of {source.name!r}")
        run.handoff, run.handed_by = tool.handoff, (source, tool.name)
    for index, url in saved.origins.items():
        if index < len(run.history):
            run.origins[id(run.history[index])] = url
            run.providers.add(url)
    _revive_calls(run, saved, agents)
    for id_, inner in saved.nested.items():
        run.nested[id_] = _revived(inner, agents, options, run, (*path, id_), run.signal)
    return run


def _set(record: Any, saved: Any) -> None:
    for name, value in saved.model_dump().items():
        setattr(record, name, value)


def _revive_calls(run: Run, saved: Saved, agents: dict[str, Agent]) -> None:
    """The answers that are there already. A call that had begun is run again, unless its tool may run only once."""
    from .batches import UNKNOWN
    from .calls import Outcome, count

    names = {call["id"]: call_name(call) for call in open_calls(run.history)}
    for id, held in saved.held.items():
        run.held[id] = _revived_outcome(held, agents, run.agent, names[id])
    tools = table_of(run.agent).tools
    for id in saved.begun:
        tool = tools.get(names[id])
        if tool is not None and tool.effect == "once" and id not in run.held:
            run.held[id] = Outcome("unknown", UNKNOWN)
            count(run, 1)


def _revived_outcome(held: SavedOutcome, agents: dict[str, Agent], agent: Agent, name: str) -> Outcome:
    from .calls import Outcome

    error = ToolError(held.text.removeprefix("Error: ")) if held.kind == "error" else None
    outcome = Outcome(held.kind, held.text, held.parts, error)
    outcome.agent = agents[held.agent] if held.agent is not None else None
    tool = table_of(agent).tools.get(name)
    outcome.handoff = tool.handoff if held.through_handoff and tool is not None else None
    outcome.stop, outcome.value, outcome.seconds, outcome.given = held.stop, held.value, held.seconds, held.given
    outcome.variables = held.variables
    return outcome
