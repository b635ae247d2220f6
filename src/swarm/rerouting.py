"""A request once more, for another client or model than it was made for: what its provider wants is another, what is said stays.

Made from the request itself and not from the run: the policies outside of the one that asks may have changed it, and functions that give
instructions or filter the history are not asked twice for one reply. Fields that are private to a provider stay behind; those of the new
one's own earlier messages, which the first one must not see, are put back from the history.
"""

from __future__ import annotations

from typing import Any

from .effects import CallModel, Message
from .messages import text_of
from .models.client import client_of
from .models.profiles import Profile
from .outputs import output_of
from .request import spell_max_tokens, takes_usage
from .run import Route, Run
from .types import Agent
from .wire import WireHistory

_USAGE = {"include_usage": True}


def rerouted(run: Run, call: CallModel, client: Any, name: str) -> CallModel:
    """The same call for another client or model.

    Args:
        run: the run it is made in.
        call: as it was made.
        client: who is to be asked, or None for the same.
        name: the model.

    Raises:
        AgentError: a tool's name that the provider refuses.
        ConfigError: no client.
    """
    client = client_of(call.client) if client is None else client
    route, agent = run.route_to(call.agent, client, name), call.agent
    request: dict[str, Any] = {**call.request, "model": name}
    told, messages = _instructions(request["messages"])
    told = _ask_for_type(agent, route.profile, request, told)
    is_same = run.known.get(id(call.client)) == route.provider
    request["messages"] = _seen(run, messages, route, is_same).with_system(told)
    _settle(run, agent, request, route)
    return call.replace(client=route.model, request=request)


def _instructions(messages: list[Message]) -> tuple[str | None, list[Message]]:
    first = messages[0] if messages else {}
    is_told = first.get("role") in ("system", "developer") and isinstance(first.get("content"), str)
    return (first["content"], messages[1:]) if is_told else (None, messages)


def _ask_for_type(agent: Agent, profile: Profile, request: dict[str, Any], told: str | None) -> str | None:
    """Ask for the type of the final answer in the way of the new provider. Returns the instructions."""
    if agent.output_type in (None, str):
        return told
    output = output_of(agent)
    if told is not None and told.endswith(output.wish):
        told = told.removesuffix(output.wish).rstrip("\n") or None
        if request.get("response_format") == {"type": "json_object"}:
            del request["response_format"]
    elif output.format is not None and request.get("response_format") == output.format:
        del request["response_format"]
    else:
        return told
    form, told = output.request(profile, "tools" in request, told)
    if form is not None:
        request.setdefault("response_format", form)
    return told


def _seen(run: Run, messages: list[Message], route: Route, is_same: bool) -> WireHistory:
    """The messages as the new provider wants them."""
    own: dict[Any, Message] = {}
    if not is_same and route.provider in run.providers:
        own = {_said(message): message for message in run.history[run.new_from :] if run.origins.get(id(message)) == route.provider}
    seen = WireHistory(route.profile)
    for message in messages:
        source = own.get(_said(message)) if own and message["role"] == "assistant" else None
        if source is not None:
            pairs = zip(source["tool_calls"] or (), message.get("tool_calls") or (), strict=True)
            calls: list[Message] = [{**call, "id": sent["id"]} for call, sent in pairs]
            message = {**source, "tool_calls": calls}
        seen.add((message,), own=is_same or source is not None)
    return seen


def _said(message: Message) -> Any:
    """What an assistant's message is found again by: its text, and its calls without their ids, which may be others on the wire."""
    functions: list[Message] = [call.get("function") or {} for call in message.get("tool_calls") or ()]
    return text_of(message), tuple((function.get("name"), function.get("arguments")) for function in functions)


def _settle(run: Run, agent: Agent, request: dict[str, Any], route: Route) -> None:
    """The arguments beside the messages that depend on the provider."""
    profile = route.profile
    if "tools" in request:
        profile.check_tools((tool["function"]["name"] for tool in request["tools"]), agent.name)
        if not profile.parallel_flag:
            request.pop("parallel_tool_calls", None)
        elif agent.parallel_tool_calls is not None and "parallel_tool_calls" in agent.model_fields_set:
            request.setdefault("parallel_tool_calls", agent.parallel_tool_calls)
    if request.get("stream"):
        if takes_usage(run, route):
            request.setdefault("stream_options", _USAGE)
        elif request.get("stream_options") == _USAGE:
            del request["stream_options"]
    if profile.max_tokens is not None:
        spell_max_tokens(request, profile.max_tokens)
