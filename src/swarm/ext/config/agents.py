"""From what a configuration says of its agents to the agents: all are made first, then joined, since handoffs go round in circles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...conditions import cel, similar_to
from ...models.profiles import checked as known_profile
from ...offers import check_agent
from ...projections import last, since_handoff, without_tools
from ...tools import Tool, tool
from ...types import Agent, Handoff
from .answers import type_of_schema
from .conditions import NeedsApproval
from .form import AgentForm, AgentToolForm, Form, HandoffForm, HistoryForm, InstructionsForm, ToolForm
from .parts import Parts, given
from .problems import KeyPath


def make_agents(parts: Parts, embed: Any) -> dict[str, Agent]:
    """The agents by their keys. What cannot be made is missing, and told in `parts.problems`.

    Args:
        parts: what the file says.
        embed: makes vectors of texts, or None.
    """
    made = {key: _bare(parts, ("agents", key), key, form) for key, form in parts.form.agents.items()}
    agents = {key: agent for key, agent in made.items() if agent is not None}
    for key, form in parts.form.agents.items():
        path, before = ("agents", key), len(parts.problems)
        functions: list[Any] = []
        for number, entry in enumerate(form.functions):
            functions += _functions(parts, agents, (*path, "functions", number), entry)
        handoffs: list[Any] = []
        for number, entry in enumerate(form.handoffs):
            handoffs += _handoffs(parts, agents, (*path, "handoffs", number), entry, embed)
        if len(parts.problems) == before and key in agents:
            parts.attempt(path, lambda agent=agents[key], functions=functions, handoffs=handoffs: _join(agent, functions, handoffs))
    return agents


def _join(agent: Agent, functions: list[Any], handoffs: list[Any]) -> None:
    agent.functions += functions
    agent.handoffs += handoffs
    check_agent(agent)


def _bare(parts: Parts, path: KeyPath, key: str, form: AgentForm) -> Agent | None:
    """The agent without functions and handoffs."""
    defaults = parts.form.defaults
    fields: dict[str, Any] = {**_set(defaults), **_set(form), "name": form.name or key, "functions": [], "handoffs": []}
    settings = {**(defaults.model_settings or {}), **(form.model_settings or {})}
    if settings:
        fields["model_settings"] = settings
    if form.instructions is not None:
        fields["instructions"] = _instructions(parts, (*path, "instructions"), form.instructions)
    fields["history_filter"] = _history_filter(parts, (*path, "history_filter"), form.history_filter)
    owner = path if form.client is not None else ("defaults",)
    fields["client"] = parts.client((*owner, "client"), fields.get("client"))
    owner = path if form.profile is not None else ("defaults",)
    fields["profile"] = parts.attempt((*owner, "profile"), lambda: known_profile(form.profile or defaults.profile))
    if form.output_type is not None:
        fields["output_type"] = _output_type(parts, (*path, "output_type"), form.output_type)
    return parts.attempt(path, lambda: Agent(**fields))


def _set(form: Form) -> dict[str, Any]:
    return {name: value for name, value in given(form, "name").items() if value is not None}


def _instructions(parts: Parts, path: KeyPath, form: str | InstructionsForm) -> Any:
    if isinstance(form, str):
        return form
    name = form.file
    return parts.function((*path, "function"), form.function) if name is None else parts.attempt((*path, "file"), lambda: parts.text(name))


def _history_filter(parts: Parts, path: KeyPath, form: str | HistoryForm | None) -> Any:
    if isinstance(form, HistoryForm):
        return parts.function((*path, "function"), form.function) if form.last is None else last(form.last)
    return {"since_handoff": since_handoff(), "without_tools": without_tools()}.get(form or "")


def _output_type(parts: Parts, path: KeyPath, form: Any) -> Any:
    return parts.attempt(path, lambda: parts.functions.kind(form) if isinstance(form, str) else type_of_schema(form))


def _agent(parts: Parts, agents: dict[str, Agent], path: KeyPath, key: str) -> Agent | None:
    """The agent of a key; one that could not be made was told already."""
    if key not in parts.form.agents:
        parts.unknown(path, key, list(parts.form.agents), "agents")
    return agents.get(key)


def _functions(parts: Parts, agents: dict[str, Agent], path: KeyPath, form: str | ToolForm | AgentToolForm) -> list[Any]:
    """The function of an entry, or nothing if it cannot be had."""
    if isinstance(form, AgentToolForm):
        agent, limits = _agent(parts, agents, (*path, "agent"), form.agent), parts.limits((*path, "limits"), form.limits)
        made = None if agent is None else parts.attempt(path, lambda: agent.as_tool(form.name, form.description, limits))
    elif isinstance(form, ToolForm):
        function = parts.function((*path, "use"), form.use)
        made = None if function is None else parts.attempt(path, lambda: _tool(form, function))
    else:
        made = parts.function(path, form)
    return [] if made is None else [made]


def _tool(form: ToolForm, function: Callable[..., Any]) -> Tool:
    """The function with what the file says of it; what it does not say stays as the code has it."""
    said = {name: value for name, value in given(form, "use").items() if value is not None}
    if isinstance(form.approval, str):
        said["approval"] = NeedsApproval(form.approval)
    if isinstance(form.enabled, str):
        said["enabled"] = cel(form.enabled)
    return tool(function, **said)


def _handoffs(parts: Parts, agents: dict[str, Agent], path: KeyPath, form: str | HandoffForm, embed: Any) -> list[Any]:
    """The handoff of an entry, or nothing if it cannot be made."""
    if isinstance(form, str):
        agent = _agent(parts, agents, path, form)
        return [] if agent is None else [agent]
    agent = _agent(parts, agents, (*path, "to"), form.to)
    if agent is None:
        return []
    options = given(form, "to", "when", "similar_to", "threshold")
    options["history_filter"] = _history_filter(parts, (*path, "history_filter"), form.history_filter)
    options["limits"] = parts.limits((*path, "limits"), form.limits)
    made = parts.attempt(path, lambda: Handoff(agent, when=_condition(form, embed), **options))
    return [] if made is None else [made]


def _condition(form: HandoffForm, embed: Any) -> Any:
    if form.when is not None:
        return cel(form.when)
    if form.similar_to is None:
        return None
    near = {} if form.threshold is None else {"threshold": form.threshold}
    return similar_to(form.similar_to, embed=embed, **near)
