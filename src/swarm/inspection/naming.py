"""Rules about names, tools and their schemas."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator

from ..errors import AgentError, SchemaWarning
from ..handoffs import transfer_name
from ..offers import table_of
from ..schema import Schema
from ..signature import Signature
from ..tools import Tool
from ..types import Agent
from .findings import Finding, Subject
from .graph import Member
from .source import where


def broken_agent(subject: Subject) -> Iterator[Finding]:
    """An agent that cannot run, since its lists were changed after it was made."""
    for agent, member in subject.graph.members.items():
        text = member.broken
        if text is None and not _doubled(member):
            try:
                table_of(agent)
            except AgentError as error:
                text = str(error)
        if text is not None:
            yield Finding("broken-agent", "error", subject.graph.label(agent), text)


def same_agent_name(subject: Subject) -> Iterator[Finding]:
    """Two agents of one name: messages, events and saved states cannot tell them apart."""
    for name, count in Counter(agent.name for agent in subject.graph.agents).items():
        if count > 1:
            text = f"{count} agents are called {name!r}, and events and saved states tell them apart by name; rename all but one"
            yield Finding("same-agent-name", "error", name, text)


def same_tool_name(subject: Subject) -> Iterator[Finding]:
    """Two tools of one agent that the model cannot tell apart by name."""
    for agent, member in subject.graph.members.items():
        label = subject.graph.label(agent)
        for name in _doubled(member):
            text = f"two tools are called {name}; rename one with @tool(name=...) or Handoff(..., name=...), or leave one out"
            yield Finding("same-tool-name", "error", label, text, name)
        for tool in member.tools:
            target = _target_if_numbered(tool)
            if target is not None:
                text = f"the handoff to {target.name} became {tool.name}, since {transfer_name(target.name)} is taken"
                text += "; leave one out, or give it a name with Handoff(..., name=...)"
                yield Finding("same-tool-name", "error", label, text, tool.name)


def _doubled(member: Member) -> list[str]:
    return [name for name, count in Counter(tool.name for tool in member.tools).items() if count > 1]


def _target_if_numbered(tool: Tool) -> Agent | None:
    """Whom a handoff leads to whose name was taken, so that it got a number; else None.

    Names without a Latin letter all become the same; there the description tells them apart.
    """
    handoff = tool.handoff
    if handoff is None or handoff.name is not None or not any(letter.isascii() and letter.isalnum() for letter in handoff.agent.name):
        return None
    return handoff.agent if tool.name != transfer_name(handoff.agent.name) else None


def no_description(subject: Subject) -> Iterator[Finding]:
    """A tool of which the model is told nothing but its name."""
    for agent, member in subject.graph.members.items():
        for tool in member.tools:
            if isinstance(tool.description, str) and not tool.description.strip():
                text = f"{tool.name} has no description; give the function a docstring, or @tool(description=...)"
                yield Finding("no-description", "warning", subject.graph.label(agent), text, tool.name, where(tool.fn))


def schema(subject: Subject) -> Iterator[Finding]:
    """A parameter whose type cannot be said to a model, or a schema that cannot be strict."""
    for agent, member in subject.graph.members.items():
        for tool in member.tools:
            for text in _warned(tool):
                yield Finding("schema", "warning", subject.graph.label(agent), text, tool.name, where(tool.fn))


def _warned(tool: Tool) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Schema(Signature(tool.fn), tool.name)  # anew, since a tool warns only once
        wire = tool.wire
    texts = [str(warning.message) for warning in caught if issubclass(warning.category, SchemaWarning)]
    if tool.strict and "strict" not in wire["function"] and not any("strict" in text for text in texts):
        texts.append(f"{tool.name}: sent without strict=True, since its schema cannot be strict. Name its keys, or leave strict out.")
    return list(dict.fromkeys(texts))
