"""The check of a swarm: every rule by its name, and `check`, which applies them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from ..types import Agent
from . import naming, texts, ways
from .findings import Finding, Report, Subject
from .graph import read_graph
from .likeness import Measure

RULES: dict[str, Callable[[Subject], Iterator[Finding]]] = {
    "broken-agent": naming.broken_agent,
    "same-agent-name": naming.same_agent_name,
    "same-tool-name": naming.same_tool_name,
    "unknown-tool": texts.unknown_tool,
    "unresolved-step": texts.unresolved_step,
    "unreachable-agent": ways.unreachable_agent,
    "no-way-back": ways.no_way_back,
    "endless-handoffs": ways.endless_handoffs,
    "endless-routine": texts.endless_routine,
    "no-description": naming.no_description,
    "schema": naming.schema,
    "unmentioned-tool": texts.unmentioned_tool,
    "alike-instructions": texts.alike_instructions,
}
"""The rules, in the order in which their findings are told."""


def check(*starts: Agent, known: Mapping[str, Agent] | None = None, ignore: Collection[str] = (), same: Measure | None = None) -> Report:
    """Look for mistakes in a swarm. It is read, never run: no function is called, no model is asked.

    Args:
        starts: the agents with whom a conversation may begin.
        known: agents that a handoff ought to reach, by the name to call them in a finding.
        ignore: names of rules to leave out; "warning" leaves out all findings that are no errors.
        same: whether two instructions say the same; by default the offline model's embeddings decide, if they are installed.

    Raises:
        TypeError: a start that is no Agent.
        ValueError: a rule to ignore that does not exist.
    """
    unknown = [rule for rule in ignore if rule not in RULES and rule != "warning"]
    if unknown:
        raise ValueError(
            f"there is no rule {unknown[0]!r} to ignore; the rules are {', '.join(RULES)}; 'warning' stands for all that are no errors"
        )
    subject = Subject(read_graph(*starts), known or {}, same)
    findings = [finding for name, rule in RULES.items() if name not in ignore for finding in rule(subject)]
    if "warning" in ignore:
        findings = [finding for finding in findings if finding.severity == "error"]
    return Report(subject.graph, findings, [*texts.unread_instructions(subject), *ways.unread_ways(subject.graph)])
