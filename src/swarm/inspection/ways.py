"""Rules about who can be reached, and what from there."""

from __future__ import annotations

from collections.abc import Iterator

from ..types import Agent
from .findings import Finding, Subject
from .graph import Graph
from .instructions import only_hands_over

_MOST_NAMES = 8


def unreachable_agent(subject: Subject) -> Iterator[Finding]:
    """An agent of the module that no handoff reaches. Not said where a handoff may lead to anybody."""
    graph = subject.graph
    if any(edge.target is None for edge in graph.edges):
        return
    starts = _listed([graph.label(start) for start in graph.starts])
    for variable, agent in subject.known.items():
        if agent not in graph.members:
            text = f"no handoff leads to it from {starts}; give somebody a way to {variable}, or name it as a start of its own"
            yield Finding("unreachable-agent", "warning", agent.name, text)


def no_way_back(subject: Subject) -> Iterator[Finding]:
    """An agent that took over and from which no handoff leads back to where a conversation began.

    Two agents of which the second has no tools are taken as meant: a change of voice, such as another language.
    """
    graph = subject.graph
    active = graph.after(graph.starts, ["hands over"])
    active -= {agent for circle in _circles(subject) for agent in circle}  # told by another rule
    for agent in graph.agents:
        reached = graph.after([agent], ["hands over"])
        lost = any(edge.target is None for other in reached for edge in graph.members[other].edges)
        voice = len(graph.members) == 2 and not graph.members[agent].tools
        if agent in active and not lost and not voice and reached.isdisjoint(graph.starts):
            starts = _listed([graph.label(start) for start in graph.starts], "or")
            text = f"no handoff leads back to {starts}, so that a user with another question is stuck here; give it one"
            yield Finding("no-way-back", "warning", graph.label(agent), text)


def endless_handoffs(subject: Subject) -> Iterator[Finding]:
    """Agents that can only hand over to each other: none has a tool that does something, or anything to do but to hand over."""
    for circle in _circles(subject):
        names = _listed([subject.graph.label(agent) for agent in circle])
        text = f"{names} can only hand over, to each other" if len(circle) > 1 else "it can only hand over to itself"
        label = subject.graph.label(circle[0])
        yield Finding("endless-handoffs", "warning", label, f"{text}; give one of them a tool, or something to say")


def _circles(subject: Subject) -> list[list[Agent]]:
    """The agents that no handoff leads away from, where none can end anything."""
    graph = subject.graph
    found: list[list[Agent]] = []
    reached = {agent: graph.after([agent], ["hands over"]) for agent in graph.agents}
    for agent, circle in reached.items():
        closed = all(agent in reached[other] for other in circle)
        goes_on = any(edge.target in circle for edge in graph.members[agent].edges)
        known = any(agent in other for other in found)
        if closed and goes_on and not known and not any(_can_end(subject, other) for other in circle):
            found.append([other for other in graph.agents if other in circle])
    return found


def _can_end(subject: Subject, agent: Agent) -> bool:
    member, said = subject.graph.members[agent], subject.said[agent]
    unknown = said.dynamic == "not read" or any(edge.target is None for edge in member.edges)
    standard = agent.instructions == type(agent).model_fields["instructions"].default
    return bool(member.work) or unknown or not (standard or only_hands_over(said.text))


def unread_ways(graph: Graph) -> Iterator[str]:
    """The handoffs whose target only a run knows."""
    for edge in graph.edges:
        if edge.target is None:
            yield f"{graph.label(edge.source)}: {edge.tool} hands over to an agent that only a run knows (dynamic)"


def _listed(names: list[str], word: str = "and") -> str:
    if len(names) > _MOST_NAMES:
        names = [*names[: _MOST_NAMES - 1], f"{len(names) - _MOST_NAMES + 1} more"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"
