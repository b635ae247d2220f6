"""The request of a turn: what the active agent is told, what it sees of the history, which tools it is offered."""

from __future__ import annotations

from functools import partial
from typing import Any

from .effects import Call, Flow, Message
from .handoffs import CALLBACK_NAMES, ask, offered, table_of
from .messages import WireHistory, repaired
from .models.client import ForeignClient
from .models.profiles import Profile
from .run import Run
from .tools import callback_parameters
from .types import Agent


def request_for(run: Run, tools: bool = True) -> Flow:
    """Make the request for the active agent.

    Args:
        run: the run.
        tools: whether the agent may call functions this time.

    Returns:
        the client to ask, the tools on offer by name, and the keyword arguments of `chat.completions.create`.
    """
    agent, options = run.agent, run.options
    client, base_url, profile = run.route_of(agent)
    run.base_url = base_url
    told = (yield from instructions_of(run, agent)) if callable(agent.instructions) else agent.instructions
    choice: dict[str, Any] = {}
    entries: list[dict[str, Any]] = []
    if tools:
        table = table_of(agent)
        choice, entries = (yield from offered(table, run.about)) if table.changing else (table.tools, table.wire)
    if agent.history_filter is not None or (run.handoff is not None and run.handoff.history_filter is not None):
        seen: WireHistory = yield from filtered(run, agent, profile)
    else:
        seen = prepared(run, base_url, profile)
    request: dict[str, Any] = {"model": run.model_of(agent), "messages": seen.with_system(told)}
    if agent.model_settings:
        request = {name: value for name, value in agent.model_settings.items() if value is not None} | request
    if entries:
        request["tools"] = entries
        _choose(run, agent, request, profile)
    if options.stream:
        request["stream"] = True
        counted = options.limits.tokens is not None or options.limits.cost is not None
        if counted or (profile.stream_usage and not isinstance(client, ForeignClient)):
            request.setdefault("stream_options", {"include_usage": True})
    if profile.max_tokens is not None:
        _spell_max_tokens(request, profile.max_tokens)
    return client, choice, request


def instructions_of(run: Run, agent: Agent) -> Flow:
    """The system message that a function gives; it is asked each time, with the variables of the moment."""
    instructions = agent.instructions
    assert callable(instructions)
    wanted = callback_parameters(instructions, CALLBACK_NAMES, single_positional=True)
    if wanted is None:
        text = yield Call(instructions, (run.about_instructions("context_variables"),))
    else:
        text = yield Call(instructions, (), {name: run.about_instructions(name) for name in wanted})
    return text if text is None or isinstance(text, str) else str(text)


def prepared(run: Run, base_url: str | None, profile: Profile) -> WireHistory:
    """The history in wire form. Each message is prepared once per run and provider.

    Fields that are private to a provider go back to that provider only, so a message of this run knows where it came from.
    """
    key = (base_url, id(profile))
    seen = run.wires.get(key)
    if seen is None:
        seen = run.wires[key] = WireHistory(profile)
    new = run.history[seen.count :]
    if len(run.routes) == 1:
        seen.add(new)
    else:
        for index, message in enumerate(new, seen.count):
            seen.add((message,), own=run.origins.get(index, base_url) == base_url)
    return seen


def filtered(run: Run, agent: Agent, profile: Profile) -> Flow:
    """What the history filters leave, the Handoff's first, then the agent's; prepared again, since a filter may break pairs."""
    view: list[Message] = list(run.history)
    for keep in (run.handoff.history_filter if run.handoff else None, agent.history_filter):
        if keep is not None:
            view = yield from ask(keep, partial(_of_view, run, view))
    seen = WireHistory(profile)
    seen.add(repaired(view, allow_open_tail=False))
    return seen


def _spell_max_tokens(request: dict[str, Any], wanted: str) -> None:
    for name in ("max_tokens", "max_completion_tokens"):
        if name != wanted and name in request:
            request[wanted] = request.pop(name)


def _of_view(run: Run, view: list[Message], name: str) -> Any:
    return view if name == "messages" else run.about(name)


def _choose(run: Run, agent: Agent, request: dict[str, Any], profile: Profile) -> None:
    if agent.parallel_tool_calls is not None and profile.parallel_flag and "parallel_tool_calls" in agent.model_fields_set:
        request["parallel_tool_calls"] = agent.parallel_tool_calls
    choice = agent.tool_choice
    if choice is None:
        return
    if choice not in ("auto", "none"):
        if any(agent is other for other in run.spent):
            return
        run.spent.append(agent)
    request["tool_choice"] = choice
