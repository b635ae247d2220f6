"""Rules about what instructions say."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterator
from string import ascii_lowercase

from ..errors import AgentError
from ..signature import Signature, name_of
from ..types import Agent
from .findings import Finding, Subject
from .graph import Graph, Member
from .instructions import Instructions, identifiers, negated, speaks_of, tools_called, without_code
from .likeness import too_alike
from .routines import Routine, references, routines_in

_CLOSE = 0.85  # ratio of difflib from which a name counts as another one misspelt


def unknown_tool(subject: Subject) -> Iterator[Finding]:
    """A tool that the instructions name, and the agent does not have."""
    graph = subject.graph
    parameters = {name for member in graph.members.values() for name in _parameters(member)}
    for agent, member in graph.members.items():
        own = [tool.name for tool in member.tools]
        text = without_code(subject.said[agent].text)
        for name in _named(text, agent, graph):
            if name not in own and name not in parameters:
                yield Finding(
                    "unknown-tool", "error", graph.label(agent), f"the instructions name {name}, {_instead(name, agent, graph)}", name
                )


def _named(text: str, agent: Agent, graph: Graph) -> list[str]:
    """Names that stand for tools in a text: it says to call them, others have them, or they are nearly those of own ones."""
    own = [tool.name for tool in graph.members[agent].tools]
    others = {tool.name: other for other, member in graph.members.items() for tool in member.tools if other is not agent}
    names = tools_called(text)
    for match in identifiers(text):
        owner = others.get(match[0])
        borrowed = owner is not None and not negated(text, match.start()) and owner.name.lower() not in text.lower()
        if borrowed or (owner is None and difflib.get_close_matches(match[0], own, 1, _CLOSE)):
            names.append(match[0])
    return list(dict.fromkeys(names))


def _instead(name: str, agent: Agent, graph: Graph) -> str:
    member = graph.members[agent]
    renamed = next((tool.name for tool in member.tools if name_of(tool.fn) == name), None)
    if renamed is not None:
        return f"but the model knows that tool as {renamed}"
    close = difflib.get_close_matches(name, [tool.name for tool in member.tools], 1, _CLOSE)
    if close:
        return f"but the tool is called {close[0]}"
    owners = [graph.label(other) for other, its in graph.members.items() if any(tool.name == name for tool in its.tools)]
    has = f"which {owners[0]} has, but not this agent" if owners else "but the agent has no such tool"
    return f"{has}; add it to its functions, or take it out of the instructions"


def _parameters(member: Member) -> list[str]:
    names: list[str] = []
    for tool in member.tools:
        try:
            names += Signature(tool.fn).parameters
        except AgentError:  # told by another rule
            continue
    return names


def unmentioned_tool(subject: Subject) -> Iterator[Finding]:
    """A tool that no step of the instructions speaks of, where they name others. Not said of instructions that are partly unknown, nor of
    the way back to where a conversation began: that is for what no step foresees."""
    for agent, member in subject.graph.members.items():
        said = subject.said[agent]
        steps = "\n".join(step.text for routine in _routines(said) for step in routine.steps)
        named = {*tools_called(steps), *(match[0] for match in identifiers(steps))}
        if not said.complete or not any(tool.name in named for tool in member.tools):
            continue
        targets = {edge.tool: edge.target for edge in member.edges if edge.target is not None}
        for tool in member.tools:
            target = targets.get(tool.name)
            is_told = target is not None and (target in subject.graph.starts or target.name.lower() in said.text.lower())
            if not is_told and not speaks_of(said.text, tool.name):
                text = f"the instructions name other tools, but never {tool.name}; say when to call it, or take it away"
                yield Finding("unmentioned-tool", "warning", subject.graph.label(agent), text, tool.name)


def unresolved_step(subject: Subject) -> Iterator[Finding]:
    """A routine whose numbers do not resolve: 3a without 3, a step that is missing or there twice, "go to step 5" without a 5."""
    for agent, said in subject.said.items():
        label = subject.graph.label(agent)
        for text in said.texts:
            routines = routines_in(text)
            if not routines or not all(routine.complete for routine in routines):
                continue
            for fault in (fault for routine in routines for fault in routine.faults()):
                yield Finding("unresolved-step", "error", label, f"{fault}; number the steps anew")
            names = set[str]().union(*(routine.names for routine in routines))
            for name in references(text):
                has_branches = any(other.rstrip(ascii_lowercase) == name for other in names)  # without their step, which has been told
                if name not in names and not has_branches:
                    yield Finding("unresolved-step", "error", label, f"the instructions refer to step {name}, which is not there")


def endless_routine(subject: Subject) -> Iterator[Finding]:
    """A routine in which every way leads back to an earlier step."""
    for agent, said in subject.said.items():
        for routine in _routines(said):
            if routine.complete and not routine.ends():
                text = (
                    f"the routine of steps {routine.steps[0].name} to {routine.steps[-1].name} leads back in every case; say when it ends"
                )
                yield Finding("endless-routine", "warning", subject.graph.label(agent), text)


def _routines(said: Instructions) -> list[Routine]:
    return [routine for text in said.texts for routine in routines_in(text)]


def alike_instructions(subject: Subject) -> Iterator[Finding]:
    """Two agents that one agent chooses between, and whose instructions say the same."""
    graph = subject.graph
    told: set[frozenset[Agent]] = set()
    for member in graph.members.values():
        siblings = list(dict.fromkeys(edge.target for edge in member.edges if edge.target is not None))
        for first, second in itertools.combinations(siblings, 2):
            a, b = subject.said[first].texts, subject.said[second].texts
            if frozenset((first, second)) in told or len(a) != 1 or len(b) != 1 or not a[0].strip() or not b[0].strip():
                continue
            if too_alike(a[0], b[0], subject.same):
                told.add(frozenset((first, second)))
                text = f"its instructions and those of {graph.label(second)} say nearly the same, and {graph.label(member.agent)}"
                yield Finding("alike-instructions", "warning", graph.label(first), f"{text} has to choose; say what is different")


def unread_instructions(subject: Subject) -> Iterator[str]:
    """The instructions that are functions, as far as they could not be read."""
    for agent, said in subject.said.items():
        if said.dynamic is not None:
            yield f"{subject.graph.label(agent)}: instructions are a function (dynamic), {said.dynamic}"
