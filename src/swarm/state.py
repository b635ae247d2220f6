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
from .history import call_name, open_calls, repaired
from .offers import table_of
from .types import Agent, Response, ToolCall, Usage

if TYPE_CHECKING:
    from .calls import Outcome
    from .run import Options, Run
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


def dump(response: Response, run: Run | None) -> State:
    """The state behind a response.

    Raises:
        StateError: the response was not made by a run, or holds a value that JSON cannot hold; the error names its path.
    """
    if run is None:
        raise StateError(
            "this Response was not made by a run, or is a copy of one, so there is no state to save; save its messages instead"
        )
    agents: dict[str, Agent] = {}
    try:
        return State(_json(_dumped(run, agents), ""), agents)
    except RecursionError:
        raise StateError("the context variables are nested too deeply, or hold themselves, so JSON cannot hold them") from None


def _dumped(run: Run, agents: dict[str, Agent]) -> dict[str, Any]:
    def named(agent: Agent) -> str:
        if agents.setdefault(agent.name, agent) is not agent:
            raise StateError(f"two agents of this run are called {agent.name!r}; a state tells agents apart by name, so rename one")
        return agent.name

    counts = run.counts
    places = {id(message): index for index, message in enumerate(run.history)}
    return {
        "version": VERSION,
        "id": run.id,
        "agent": named(run.agent),
        "messages": run.history,
        "new_from": run.new_from,
        "context_variables": run.context if not run.path else {},
        "turn": run.turn,
        "cut_off": run.cut_off,
        "usage": run.usage.as_dict(),
        "counts": {"model_calls": counts.model_calls, "handoffs": counts.handoffs, "tool_calls": counts.tool_calls},
        "calls": [to_jsonable_python(call.as_dict(), fallback=str) for call in run.calls],
        "spent_tool_choice": [named(agent) for agent in run.spent],
        "handoff": {"agent": named(run.handed_by[0]), "tool": run.handed_by[1]} if run.handoff and run.handed_by else None,
        "origins": {str(places[key]): url for key, url in run.origins.items() if key in places and isinstance(url, str)},
        "held": {id: _dumped_outcome(held, named) for id, held in run.held.items()},
        "nested": {id: _dumped(inner, agents) for id, inner in run.nested.items()},
    }


def _dumped_outcome(held: Outcome, named: Any) -> dict[str, Any]:
    return {
        "kind": held.kind,
        "text": held.text,
        "agent": named(held.agent) if held.agent else None,
        "through_handoff": held.handoff is not None,
        "stop": held.stop,
        "value": held.value if held.stop else None,
        "seconds": held.seconds,
        "given": held.given,
    }


def _json(value: Any, path: str) -> Any:
    """A copy that holds nothing but JSON."""
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, dict):
        pairs = cast("dict[Any, Any]", value).items()
        for key, _ in pairs:
            if not isinstance(key, str):
                raise StateError(f"{path[1:]}: the key {key!r} is no text, so JSON cannot hold it")
        return {key: _json(item, f"{path}.{key}") for key, item in pairs}
    if isinstance(value, list):
        return [_json(item, f"{path}[{index}]") for index, item in enumerate(cast("list[Any]", value))]
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
    if type(version) is not int or version != VERSION:
        raise StateError(f"state has version {version!r}; this release reads version {VERSION}")
    saved = read_saved(state)
    _check(saved, state.agents, "state")
    return saved


def _check(saved: Saved, agents: dict[str, Agent], where: str) -> None:
    agent = _named(agents, saved.agent, f"{where}.agent")
    try:
        messages = repaired(saved.messages, allow_open_tail=True)
    except HistoryError as error:
        raise StateError(f"{where}.messages: {error}") from None
    if saved.new_from > len(messages):
        raise StateError(f"{where}.new_from is {saved.new_from}, with {len(messages)} messages")
    tools = table_of(agent).tools
    calls = {call["id"]: call_name(call) for call in open_calls(messages)}
    for id, name in calls.items():
        if name not in tools and id not in saved.held:
            has = ", ".join(tools) or "no tools"
            raise StateError(f"{where}: the open call {id!r} is of {name!r}, which {agent.name!r} does not have; it has {has}")
    for part, ids in (("held", saved.held), ("nested", saved.nested)):
        for id in ids:
            if id not in calls:
                raise StateError(f"{where}.{part} names {id!r}, which is no open call")
    for name in (*saved.spent_tool_choice, *(held.agent for held in saved.held.values() if held.agent is not None)):
        _named(agents, name, where)
    for id, inner in saved.nested.items():
        _check(inner, agents, f"{where}.nested[{id!r}]")


def _named(agents: dict[str, Agent], name: str, where: str) -> Agent:
    if name not in agents:
        raise StateError(f"{where} names {name!r}, which is not among the agents given: {', '.join(map(repr, agents)) or 'none'}")
    return agents[name]


def revive(state: State, options: Options, approvals: dict[str, Any], context: dict[str, Any]) -> Run:
    """The run that a state describes, ready to go on.

    Args:
        state: from `load_state`, or straight from `Response.state()`.
        options: how to run it.
        approvals: decisions for its open calls.
        context: live objects to put over the saved context variables.

    Raises:
        StateError: the state does not fit its agents.
    """
    run = _revived(checked(state), state.agents, options, None, ())
    run.context.update(context)
    run.approvals = approvals
    return run


def _revived(saved: Saved, agents: dict[str, Agent], options: Options, outer: Run | None, path: tuple[str, ...]) -> Run:
    from .run import Run

    context = outer.context if outer else _json(saved.context_variables, "")
    signal = outer.signal if outer else None
    run = Run(agents[saved.agent], repaired(saved.messages, allow_open_tail=True), context, options, signal, outer, path)
    run.restore(saved.id, saved.new_from)
    run.turn, run.cut_off = saved.turn, saved.cut_off
    if outer is None:
        run.usage = Usage(**saved.usage.model_dump())
        for name, value in saved.counts.model_dump().items():
            setattr(run.counts, name, value)
    run.calls = [ToolCall(**call.model_dump()) for call in saved.calls]
    run.spent = [agents[name] for name in saved.spent_tool_choice]
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
    names = {call["id"]: call_name(call) for call in open_calls(run.history)}
    for id_, held in saved.held.items():
        run.held[id_] = _revived_outcome(held, agents, run.agent, names[id_])
    for id_, inner in saved.nested.items():
        run.nested[id_] = _revived(inner, agents, options, run, (*path, id_))
    return run


def _revived_outcome(held: SavedOutcome, agents: dict[str, Agent], agent: Agent, name: str) -> Outcome:
    from .calls import Outcome

    outcome = Outcome(held.kind, held.text, ToolError(held.text.removeprefix("Error: ")) if held.kind == "error" else None)
    outcome.agent = agents[held.agent] if held.agent is not None else None
    tool = table_of(agent).tools.get(name)
    outcome.handoff = tool.handoff if held.through_handoff and tool is not None else None
    outcome.stop, outcome.value, outcome.seconds, outcome.given = held.stop, held.value, held.seconds, held.given
    return outcome
