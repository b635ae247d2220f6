"""The request of a turn: what the active agent is told, what it sees of the history, which tools it is offered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import groupby
from typing import Any, TypeAlias

from .effects import Call, CallModel, Flow, Message, Reply
from .errors import HistoryError, InvalidReply
from .history import NOT_EXECUTED, checked, open_calls, repaired, tool_message
from .legal import call_name
from .limits import needs_cost, needs_tokens
from .models.client import ForeignClient
from .models.profiles import Profile
from .offers import OFFER_NAMES, Table, ask, offered, table_of
from .outputs import asked_again, output_of
from .prices import require
from .run import Route, Run, base_url_of
from .tools import callback_parameters
from .types import Agent
from .wire import WireHistory

Made: TypeAlias = tuple[Any, dict[str, Any], dict[str, Any]]
"""The client to ask, the tools on offer by name, and the keyword arguments of `chat.completions.create`."""


def request_for(run: Run, tools: bool = True) -> Made | Flow:
    """Make the request for the active agent.

    Args:
        run: the run.
        tools: whether the agent may call functions this time.

    Returns:
        what was made; or, where a function of the user's has to be asked first, a flow that comes to it.
    """
    fields, route = run.fields, run.route()
    told, typed = fields["instructions"], fields["output_type"] is not None and fields["output_type"] is not str
    if typed:
        tools = tools and not (run.history and asked_again(run.history[-1]))
    table = table_of(run.agent) if tools else None
    is_filtered = fields["history_filter"] is not None or (run.handoff is not None and run.handoff.history_filter is not None)
    if callable(told) or is_filtered or (table is not None and table.changing):
        return _asked_for(run, route, table, is_filtered, typed)
    on_offer, entries = (table.tools, table.wire) if table is not None else _nothing()
    return _made(run, route, told, on_offer, entries, prepared(run, route), typed)


def _nothing() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    return {}, []


def _asked_for(run: Run, route: Route, table: Table | None, is_filtered: bool, typed: bool) -> Flow:
    """The same, of what the user's functions say."""
    told = run.fields["instructions"]
    if callable(told):
        told = yield from instructions_of(run, run.agent)
    on_offer, entries = (yield from offered(table, run.about)) if table is not None else _nothing()
    seen: WireHistory = (yield from filtered(run, run.agent, route)) if is_filtered else prepared(run, route)
    return _made(run, route, told, on_offer, entries, seen, typed)


def _made(
    run: Run, route: Route, told: str | None, on_offer: dict[str, Any], entries: list[dict[str, Any]], seen: WireHistory, typed: bool
) -> Made:
    agent, fields, profile, response_format = run.agent, run.fields, route.profile, None
    if profile.tool_name is not None:
        profile.check_tools(on_offer, agent.name)
    if typed:
        response_format, told = output_of(agent).request(profile, bool(entries), told)
    request: dict[str, Any] = {"model": route.name, "messages": seen.with_system(told, route.encodes)}
    if fields["model_settings"]:
        request = {name: value for name, value in fields["model_settings"].items() if value is not None} | request
    if response_format is not None:
        request.setdefault("response_format", response_format)
    if entries:
        request["tools"] = entries
        if fields["tool_choice"] is not None or "parallel_tool_calls" in agent.__pydantic_fields_set__:
            _choose(run, agent, request, profile)
    if run.options.stream:
        request["stream"] = True
        if takes_usage(run, route):
            request.setdefault("stream_options", {"include_usage": True})
    if profile.max_tokens is not None:
        spell_max_tokens(request, profile.max_tokens)
    return route.model, on_offer, request


def ask_model(run: Run, effect: CallModel) -> Flow:
    """The innermost layer around a model call."""
    if run.bounded and needs_cost(run.scopes):
        require(effect.request.get("model", ""), base_url_of(effect.client), run.options.prices)
    return answered(run, effect, (yield effect))


def answered(run: Run, effect: CallModel, reply: Any) -> Reply:
    """A model's answer, looked at and counted, whichever policy asked for it."""
    if not isinstance(reply, Reply):
        raise InvalidReply(f"{type(effect.client).__name__} answered with {reply!r}; complete() must return a Reply, stream() chunks")
    run.count(reply, effect)
    return reply


def instructions_of(run: Run, agent: Agent) -> Flow:
    """The system message that a function gives; it is asked each time, with the variables of the moment."""
    instructions = agent.instructions
    assert callable(instructions)
    wanted = callback_parameters(instructions, OFFER_NAMES, single_positional=True)
    if wanted is None:
        text = yield Call(instructions, (run.about_instructions("context_variables"),))
    else:
        text = yield Call(instructions, (), {name: run.about_instructions(name) for name in wanted})
    return text if text is None or isinstance(text, str) else str(text)


def prepared(run: Run, route: Route) -> WireHistory:
    """The history in wire form. Each message is prepared once per run and provider."""
    wire, history = route.wire, run.history
    if wire.count == 0:
        _add(run, wire, history, route.provider, places=run.start.places_in(history))
    elif len(run.providers) == 1 and route.provider in run.providers:
        wire.add(history[wire.count :])
    else:
        _add(run, wire, history[wire.count :], route.provider, wire.count)
    return wire


def filtered(run: Run, agent: Agent, route: Route) -> Flow:
    """What the history filters leave, the Handoff's first, then the agent's; prepared again, since a filter may break pairs."""
    view: list[Message] = list(run.history)
    for keep in (run.handoff.history_filter if run.handoff else None, agent.history_filter):
        if keep is not None:
            view = yield from ask(keep, partial(_of_view, run, view))
            if not isinstance(view, Iterable) or isinstance(view, str | dict):  # type: ignore[redundant-expr]  # a function of the user's
                raise HistoryError(f"the history_filter for agent {agent.name!r} returned {type(view).__name__}, not a list of messages")
            view = list(view)
    view = repaired(view, allow_open_tail=True)
    answers = {message["tool_call_id"]: message for message in run.history if message["role"] == "tool"}
    for call in open_calls(view):  # a filter that kept calls and dropped their answers
        view.append(answers.get(call["id"]) or tool_message(call["id"], call_name(call), NOT_EXECUTED))
    seen = WireHistory(route.profile)
    start = checked(view, allow_open_tail=False)
    _add(run, seen, start.messages, route.provider, places=start.places)
    return seen


def _add(run: Run, seen: WireHistory, messages: list[Message], provider: Any, first: int = 0, places: Sequence[int] | None = None) -> None:
    """Fields that are private to a provider go back to that provider only, so a message of this run knows where it came from.

    Of the caller's messages, of which those before `first` are not among them, nobody knows; they are echoed. A message that a filter
    made anew has lost its origin, and is not.
    """
    if not run.providers or (len(run.providers) == 1 and provider in run.providers):
        seen.add(messages, places=places)
        return
    unknown = set(map(id, run.history[first : run.new_from]))

    def is_own(message: Message) -> bool:
        origin = run.origins.get(id(message))
        return id(message) in unknown if origin is None else origin == provider

    for own, some in groupby(messages, is_own):
        seen.add(some, own)


def takes_usage(run: Run, route: Route) -> bool:
    """Whether a stream is asked for its usage: where a limit needs it, or where the provider is known to have it."""
    return needs_tokens(run.scopes) or (route.profile.stream_usage and not isinstance(route.model, ForeignClient))


def spell_max_tokens(request: dict[str, Any], wanted: str) -> None:
    """Give the limit on a reply's length the name that a provider takes."""
    for name in ("max_tokens", "max_completion_tokens"):
        if name != wanted and name in request:
            request[wanted] = request.pop(name)


def _of_view(run: Run, view: list[Message], name: str) -> Any:
    return view if name == "messages" else run.about(name)


def _choose(run: Run, agent: Agent, request: dict[str, Any], profile: Profile) -> None:
    if agent.parallel_tool_calls is not None and profile.parallel_flag and "parallel_tool_calls" in agent.__pydantic_fields_set__:
        request["parallel_tool_calls"] = agent.parallel_tool_calls
    choice = agent.tool_choice
    if choice is None:
        return
    if choice not in ("auto", "none"):
        if agent in run.spent:
            return
        run.spent[agent] = run.turn
    request["tool_choice"] = choice
