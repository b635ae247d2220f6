"""Agents inside agents: one as a function of another, and a triage agent over several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .effects import Flow, Message
from .errors import AgentError
from .handoffs import transfer_name
from .history import Start
from .limits import Limits, checked
from .tools import Tool, result_text
from .types import Agent, Handoff, Pending

if TYPE_CHECKING:
    from .run import Run


def agent_tool(agent: Agent, name: str | None, description: str | None, limits: Limits | None) -> Tool:
    """An agent as a function with one parameter `input`; see `Agent.as_tool`."""

    def ask(input: str) -> str:
        raise RuntimeError(f"{agent.name} as a tool runs inside Swarm.run only; to ask it directly: Swarm().run(agent, text).text")

    ask.__name__ = name or transfer_name(agent.name).removeprefix("transfer_to_")
    tool = Tool(ask, description=description or agent.description or f"Ask {agent.name}.")
    checked(limits)
    tool.nested = lambda run, id, arguments: _inside(run, id, agent, [{"role": "user", "content": arguments["input"]}], None, limits)
    return tool


def returning(handoff: Handoff) -> Callable[[Run, str, dict[str, Any]], Flow]:
    """`Handoff(returns=True)`: the target works on the conversation so far; its last text is the result of the call."""

    def flow(run: Run, id: str, arguments: dict[str, Any]) -> Flow:
        last = next(index for index in range(len(run.history) - 1, -1, -1) if run.history[index].get("role") == "assistant")
        return (yield from _inside(run, id, handoff.agent, run.history[:last], handoff, handoff.limits))

    return flow


def _inside(run: Run, call_id: str, agent: Agent, messages: list[Message], handoff: Handoff | None, limits: Limits | None) -> Flow:
    """Run an agent inside a call, or go on with it if it was saved there."""
    from .approvals import inner_decisions
    from .calls import Outcome
    from .loop import turns
    from .run import Run

    inner = run.nested.get(call_id)
    if inner is None:
        inner = run.nested[call_id] = Run(agent, Start(messages), run.context, run.options, run.signal, run, (*run.path, call_id))
    else:
        inner.pending = []
        inner.approvals = inner_decisions(run, call_id)
    if inner.handed_by is None:
        inner.handoff = handoff
    if limits is not None:
        inner.confine(limits)
    try:
        response = yield from turns(inner)
    except Exception:
        del run.nested[call_id]
        raise
    if response.stop_reason == "approval":
        inner.pending = [Pending(f"{call_id}/{item.id}", item.name, item.arguments, item.agent) for item in response.pending]
        return Outcome("paused", "")
    del run.nested[call_id]
    text = result_text(response.output) if response.stop_reason == "stopped" else response.text
    if response.stop_reason in ("complete", "stopped"):
        return text
    return f"{agent.name} stopped early ({response.stop_reason}). {text}".strip()


def create_triage_agent(name: str, instructions: str, agents: Sequence[Agent], add_backlinks: bool = False) -> Agent:
    """An agent that decides which of several others should help, with a transfer function to each.

    Args:
        name: the triage agent's name.
        instructions: its instructions; the list of agents and what they do is put behind them.
        agents: who it may hand over to. The list itself is not changed, nor the lists the agents were made from.
        add_backlinks: whether each agent gets a function back to the triage agent. Called twice, each still has one per triage agent.

    Returns:
        the triage agent.

    Raises:
        AgentError: instructions that are no text.
    """
    if not isinstance(instructions, str):  # type: ignore[redundant-expr]  # callers without a type checker
        raise AgentError(f"create_triage_agent({name!r}): instructions must be a text, since the list of agents is put behind it")
    lines = [f"- {agent.name}: {agent.description or _first_line(agent.instructions)}" for agent in agents]
    triage = Agent(name=name, instructions="\n".join([instructions, "", "Agents to transfer to:", *lines]), handoffs=list(agents))
    if add_backlinks:
        for agent in agents:
            agent.handoffs = [entry for entry in agent.handoffs if not (isinstance(entry, _Backlink) and entry.agent.name == name)]
            agent.handoffs.append(_Backlink(triage, description=f"Transfer back to {name} for anything this agent does not handle."))
    return triage


class _Backlink(Handoff):
    """A way back that `create_triage_agent` made, and may replace."""


def _first_line(instructions: Any) -> str:
    text = instructions if isinstance(instructions, str) else ""
    return text.strip().splitlines()[0] if text.strip() else "no description"
