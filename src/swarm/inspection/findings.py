"""What a rule says of a swarm, and all that one check came to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from ..types import Agent
from .graph import Graph
from .instructions import Instructions
from .likeness import Measure

Severity: TypeAlias = Literal["error", "warning"]
"""An error contradicts itself or fails in a run; a warning may be meant."""


class Finding:
    """One thing that is wrong, or looks wrong.

    Attributes:
        rule: the rule's name.
        severity: "error" or "warning".
        agent: the agent's label: its name, with a number if several have the same.
        message: what is wrong and what to do.
        tool: the tool's name, or None.
        where: `file.py:12` of the tool's function, or None.
    """

    __slots__ = ("agent", "message", "rule", "severity", "tool", "where")

    def __init__(self, rule: str, severity: Severity, agent: str, message: str, tool: str | None = None, where: str | None = None) -> None:
        self.rule = rule
        self.severity: Severity = severity
        self.agent = agent
        self.message = message
        self.tool = tool
        self.where = where

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, for JSON."""
        return {name: getattr(self, name) for name in ("rule", "severity", "agent", "tool", "message", "where")}

    def __str__(self) -> str:
        return f"{self.severity} {self.rule} {self.agent}: {self.message}"

    def __repr__(self) -> str:
        return f"Finding({str(self)!r})"


class Subject:
    """What rules look at.

    Attributes:
        graph: the agents that can be reached, and how.
        known: agents that ought to be reached, such as those of one module.
        said: what the instructions of each agent that can be reached say.
        same: how instructions are compared; None is the best that is installed.
    """

    def __init__(self, graph: Graph, known: Mapping[str, Agent], same: Measure | None) -> None:
        self.graph = graph
        self.known = known
        self.said = {agent: Instructions(agent, graph.reader) for agent in graph.members}
        self.same = same


class Report:
    """What a check came to.

    Attributes:
        graph: the agents that can be reached, and how.
        findings: what is wrong, rule by rule in the order of `RULES`, errors first.
        unread: what could not be read without a run, one line each.
    """

    __slots__ = ("findings", "graph", "unread")

    def __init__(self, graph: Graph, findings: list[Finding], unread: list[str]) -> None:
        self.graph = graph
        self.findings = findings
        self.unread = unread

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON. New keys may be added; those that are there keep their meaning."""
        return {
            "version": 1,
            "agents": [self.graph.label(agent) for agent in self.graph.agents],
            "findings": [finding.as_dict() for finding in self.findings],
            "unread": self.unread,
        }
