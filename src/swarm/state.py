"""A run as plain JSON: to pause for a person, survive a crash, move to another machine, or fork.

A state from outside is untrusted input: agents and tools are looked up by name among those given, nothing is imported or unpickled,
and what a state claims was approved does not count. Approvals are given to `resume`, by the one who resumes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from pydantic_core import from_json

from .errors import StateError
from .handoffs import table_of
from .messages import open_calls, repaired
from .types import Agent, Response, Usage

if TYPE_CHECKING:
    from .run import Options, Run, Signal

VERSION = 1
_FIELDS: dict[str, type | tuple[type, ...]] = {
    "id": str,
    "agent": str,
    "messages": list,
    "new_from": int,
    "context_variables": dict,
    "usage": dict,
    "counts": dict,
    "spent_tool_choice": list,
    "handoff": (dict, type(None)),
    "held": dict,
    "nested": dict,
}


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
        raise StateError("this Response was not made by a run, so there is no state to save; save its messages instead")
    agents: dict[str, Agent] = {}
    return State(_dumped(run, agents), agents)


def _dumped(run: Run, agents: dict[str, Agent]) -> dict[str, Any]:
    def named(agent: Agent) -> str:
        if agents.setdefault(agent.name, agent) is not agent:
            raise StateError(f"two agents of this run are called {agent.name!r}; a state tells agents apart by name, so rename one")
        return agent.name

    counts = run.counts
    data: dict[str, Any] = {
        "version": VERSION,
        "id": run.id,
        "agent": named(run.agent),
        "messages": run.history,
        "new_from": run.new_from,
        "context_variables": run.context,
        "usage": run.usage.as_dict(),
        "counts": {"model_calls": counts.model_calls, "handoffs": counts.handoffs, "tool_calls": counts.tool_calls},
        "spent_tool_choice": [named(agent) for agent in run.spent],
        "handoff": _handoff_name(run, named),
        "held": {
            id: {
                "kind": held.kind,
                "text": held.text,
                "agent": named(held.agent) if held.agent else None,
                "stop": held.stop,
                "value": held.value if held.stop else None,
            }
            for id, held in run.held.items()
        },
        "nested": {id: _dumped(inner, agents) for id, inner in run.nested.items()},
    }
    return cast("dict[str, Any]", _json(data, ""))


def _handoff_name(run: Run, named: Any) -> dict[str, str] | None:
    if run.handoff is None or run.handed_by is None:
        return None
    return {"agent": named(run.handed_by[0]), "tool": run.handed_by[1]}


def _json(value: Any, path: str) -> Any:
    """A copy that holds nothing but JSON."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):
        pairs = cast("dict[Any, Any]", value).items()
        for key, _ in pairs:
            if not isinstance(key, str):
                raise StateError(f"{path[1:]}: the key {key!r} is no text, so JSON cannot hold it")
        return {key: _json(item, f"{path}.{key}") for key, item in pairs}
    if isinstance(value, list):
        return [_json(item, f"{path}[{index}]") for index, item in enumerate(cast("list[Any]", value))]
    raise StateError(
        f"{path[1:]} is a {type(value).__name__}, which JSON cannot hold; store plain values, or give live objects to "
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
        except ValueError as error:
            raise StateError(f"the state is not JSON: {error}") from None
    by_name: dict[str, Agent] = {}
    for agent in agents:
        if by_name.setdefault(agent.name, agent) is not agent:
            raise StateError(f"two of the agents given are called {agent.name!r}; a state tells agents apart by name, so rename one")
    state = State(data if isinstance(data, dict) else {}, by_name)
    _check(state, by_name, "state")
    return state


def _check(data: dict[str, Any], agents: dict[str, Agent], where: str) -> None:
    version = data.get("version")
    if version != VERSION:
        raise StateError(f"{where} has version {version!r}; this release reads version {VERSION}")
    for name, kind in _FIELDS.items():
        if not isinstance(data.get(name), kind):
            raise StateError(f"{where}.{name} is {data.get(name)!r}, which is not what a saved state holds there")
    agent = _named(agents, data["agent"], f"{where}.agent")
    messages = repaired(data["messages"], allow_open_tail=True)
    if not 0 <= data["new_from"] <= len(messages):
        raise StateError(f"{where}.new_from is {data['new_from']}, with {len(messages)} messages")
    tools = table_of(agent).tools
    calls = {call["id"]: call["function"]["name"] for call in open_calls(messages)}
    for id, name in calls.items():
        if name not in tools:
            raise StateError(
                f"{where}: the open call {id!r} is of {name!r}, which {agent.name!r} does not have; it has {', '.join(tools) or 'no tools'}"
            )
    for part in ("held", "nested"):
        for id, item in data[part].items():
            if id not in calls or not isinstance(item, dict):
                raise StateError(f"{where}.{part} names {id!r}, which is no open call")
    for id, inner in data["nested"].items():
        _check(inner, agents, f"{where}.nested[{id!r}]")


def _named(agents: dict[str, Agent], name: Any, where: str) -> Agent:
    if name not in agents:
        raise StateError(f"{where} is {name!r}, which is not among the agents given: {', '.join(map(repr, agents)) or 'none'}")
    return agents[name]


def revive(state: State, options: Options, signal: Signal, approvals: dict[str, Any], context: dict[str, Any]) -> Run:
    """The run that a state describes, ready to go on.

    Args:
        state: from `load_state`, or straight from `Response.state()`.
        options: how to run it.
        signal: asks it to end.
        approvals: decisions for its open calls.
        context: live objects to put over the saved context variables.
    """
    _check(state, state.agents, "state")
    run = _revived(state, state.agents, options, signal, None, ())
    run.context.update(context)
    run.approvals = approvals
    return run


def _revived(
    data: dict[str, Any], agents: dict[str, Agent], options: Options, signal: Signal, outer: Run | None, path: tuple[str, ...]
) -> Run:
    from .calls import Outcome
    from .run import Run

    context = outer.context if outer else _json(data["context_variables"], "")
    run = Run(agents[data["agent"]], repaired(data["messages"], allow_open_tail=True), context, options, signal, outer, path)
    run.restore(data["id"], data["new_from"])
    if outer is None:
        run.usage = Usage(**{key: value for key, value in data["usage"].items() if key in Usage.__slots__})
        for name, value in data["counts"].items():
            if name in ("model_calls", "handoffs", "tool_calls") and isinstance(value, int):
                setattr(run.counts, name, value)
    run.spent = [_named(agents, name, "state.spent_tool_choice") for name in data["spent_tool_choice"]]
    if data["handoff"] is not None:
        source = _named(agents, data["handoff"].get("agent"), "state.handoff.agent")
        tool = table_of(source).tools.get(data["handoff"].get("tool"))
        if tool is None or tool.handoff is None:
            raise StateError(f"state.handoff names {data['handoff'].get('tool')!r}, which is no handoff of {source.name!r}")
        run.handoff, run.handed_by = tool.handoff, (source, tool.name)
    for id, held in data["held"].items():
        outcome = run.held[id] = Outcome(str(held.get("kind")), str(held.get("text")))
        outcome.agent = _named(agents, held["agent"], f"state.held[{id!r}].agent") if held.get("agent") else None
        outcome.stop, outcome.value = held.get("stop") is True, held.get("value")
    for id, inner in data["nested"].items():
        run.nested[id] = _revived(inner, agents, options, signal, run, (*path, id))
    return run
