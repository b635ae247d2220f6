"""A task's gold actions as what a model would say: the script for a ScriptedModel."""

from __future__ import annotations

from typing import Any

from swarm import Agent
from swarm.handoffs import transfer_name
from swarm.testing import call

from .tasks import Task


def script(task: Task, agent: Agent, several: bool = False) -> list[list[dict[str, Any]] | str]:
    """The turns that play a task. The call of step 3 has the id "step_3"; handoffs are put in where the active agent lacks a tool.

    Args:
        task: whose gold actions to play.
        agent: who begins.
        several: whether a turn holds all the calls that the active agent can make, a handoff at the end included, and not only one.

    Returns:
        lists of calls, and at the end the text that tells the user what the task asks for.
    """
    turns: list[list[dict[str, Any]]] = []
    for number, step in enumerate(task["steps"]):
        calls = [call(step["name"], step["args"], id=f"step_{number}")]
        if step["name"] not in _tools(agent):
            agent = next(other for other in agent.handoffs if step["name"] in _tools(other))
            turns.append([call(transfer_name(agent.name), id=f"handoff_{number}")])
        turns.append(calls)
    return [*(_joined(turns) if several else turns), " ".join(task["outputs"]) or "Done."]


def _tools(agent: Agent) -> set[str]:
    return {function.__name__ for function in agent.functions}


def _joined(turns: list[list[dict[str, Any]]]) -> list[list[dict[str, Any]]]:
    """As few turns as there can be: one ends with a handoff, since the calls of a turn are all those of one agent."""
    joined: list[list[dict[str, Any]]] = []
    handed = True
    for calls in turns:
        if handed:
            joined.append([])
        joined[-1] += calls
        handed = calls[0]["id"].startswith("handoff_")
    return joined
