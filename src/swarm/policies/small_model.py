"""SmallModel: help for weak and local models, which know fewer tools, miss names and say what they should do."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from ..effects import CallModel, Emit, Flow, Message, Reply, StartRun
from ..errors import ModelError
from ..events import Delta, PolicyActed
from ..inside import inside
from ..meaning import Embed
from ..messages import text_of
from ..schema import NotStrict
from ..types import Agent
from .fewer import Fewer, hands_over
from .narration import narrates
from .route_tool import ROUTE, merged, put_back, route_tool, transfers

if TYPE_CHECKING:
    from ..run import Run

NUDGE = (
    "You wrote that you hand the user over, but you called no function, so nothing happened. To hand over, call {names} now. "
    "Otherwise answer the user yourself."
)


class SmallModel:
    """Makes requests easier for a small model, and asks once more where it only said that it hands over.

    Args:
        tools: how many functions are offered at a time: handoffs, those that were called before, then the nearest to the user's last two
            messages. The others may still be called. None offers all, since the one that is needed may be among the others.
        route: whether one function `route(agent)` stands for the handoffs of `handoffs=` where there are two or more, except those that
            return. The history has its calls.
        strict: whether the schema of functions is marked `strict` where the server then holds arguments to it (`Profile.strict_tools`).
        nudge: whether a reply that calls nothing but says that it hands over (in English, Spanish, German, French or Chinese) costs one
            more question, which the history does not have; at most once for each agent of a run. Its calls are added to the reply.
        agents: whom it helps; by default all.
        embed: as for `swarm.similar_to`; without it and without the extra `offline`, tools are compared by words.

    Raises:
        ValueError: `tools` below 1.
        TypeError: `agents` holds something else than Agents.
    """

    def __init__(
        self,
        *,
        tools: int | None = None,
        route: bool = True,
        strict: bool = True,
        nudge: bool = True,
        agents: Collection[Agent] | None = None,
        embed: Embed | None = None,
    ) -> None:
        if tools is not None and tools < 1:
            raise ValueError(f"SmallModel(tools={tools!r}) must be at least 1; None offers all")
        for agent in (None,) if isinstance(agents, Agent) else agents or ():
            if not isinstance(agent, Agent):
                raise TypeError(f"SmallModel(agents=...) takes a list of Agents, not {agent or agents!r}")
        self._fewer = Fewer(tools, embed) if tools is not None else None
        self._route = route
        self._strict = strict
        self._nudge = nudge
        self._agents = None if agents is None else frozenset(agents)

    def run(self, start: StartRun) -> Flow:
        """Know the function `route` in calls that a saved run left open."""
        if self._route:
            put_back(inside(start.run))
        return (yield start)

    def model(self, call: CallModel) -> Flow:
        """Offer less, ask, and ask once more if need be."""
        offers: list[Message] = call.request.get("tools") or []
        if call.run is None or not offers or call.agent is not call.run.agent:
            return (yield call)
        run, state, is_helped = inside(call.run), call.run.state(self), self._agents is None or call.agent in self._agents
        if is_helped:
            offers = yield from self._eased(run, state, call.request, offers)
            call = call.replace(request={**call.request, "tools": offers})
        run.withheld = frozenset(run.offered) - {offer["function"]["name"] for offer in offers}
        reply: Reply = yield call
        names = [name for offer in offers if hands_over(name := offer["function"]["name"], run.offered.get(name))]
        may = self._nudge and is_helped and names and not reply.message.get("tool_calls")
        if may and call.agent not in state.setdefault("nudged", set()):
            return (yield from _nudged(call, reply, names, state["nudged"]))
        return reply

    def _eased(self, run: Run, state: dict[Any, Any], request: Message, offers: list[Message]) -> Flow:
        if not isinstance(request.get("tool_choice"), dict):  # a function that is asked for by name has to be there
            if self._fewer is not None:
                offers = yield from self._fewer.chosen(run, state, request, offers)
            if self._route:
                offers = _routed(run, state, offers)
        if self._strict and run.route().profile.strict_tools:
            offers = [_strict(run, state, offer) for offer in offers]
        return offers


def _routed(run: Run, state: dict[Any, Any], offers: list[Message]) -> list[Message]:
    said = {offer["function"]["name"]: offer["function"].get("description", "") for offer in offers}
    targets = transfers({name: run.offered[name] for name in said if name in run.offered})
    if not targets:
        return offers
    key = (ROUTE, *((name, said[tool.name]) for name, tool in targets.items()))
    tool = state.get(key)
    if tool is None:
        tool = state[key] = route_tool(targets, {name: said[target.name] for name, target in targets.items()})
    run.offered = {**run.offered, ROUTE: tool}
    return merged(offers, targets, tool)


def _strict(run: Run, state: dict[Any, Any], offer: Message) -> Message:
    function = offer["function"]
    tool = run.offered.get(function["name"])
    if tool is None or "strict" in function:
        return offer
    if (tool, "strict") not in state:
        try:
            state[tool, "strict"] = {"parameters": tool.strict_parameters(), "strict": True}
        except NotStrict:
            state[tool, "strict"] = {}
    return {**offer, "function": {**function, **state[tool, "strict"]}}


def _nudged(call: CallModel, reply: Reply, names: list[str], nudged: set[Agent]) -> Flow:
    """Ask once more if the reply only says that it hands over. Returns the reply, with the calls that came."""
    text = text_of(reply.message)
    if reply.finish_reason not in (None, "stop") or not narrates(text):
        return reply
    nudged.add(call.agent)
    yield Emit(PolicyActed(call.agent.name, "SmallModel", "asks once more, since the reply hands over in words only", text))
    said = [{"role": "assistant", "content": text}, {"role": "user", "content": NUDGE.format(names=" or ".join(names))}]
    request = {name: value for name, value in call.request.items() if name not in ("stream", "stream_options")}
    try:
        second: Reply = yield call.replace(request={**request, "messages": [*request["messages"], *said]}, stream=False)
    except ModelError as error:
        yield Emit(PolicyActed(call.agent.name, "SmallModel", "leaves the reply as it is", f"{type(error).__name__}: {error}"))
        return reply
    calls = second.message.get("tool_calls")
    if not calls:
        return reply
    if reply.told:
        yield Emit(Delta(call.agent.name, {"tool_calls": [{"index": index, **made} for index, made in enumerate(calls)]}))
    both = Reply({**second.message, "content": text}, second.usage, second.finish_reason, second.model, second.id, reply.told)
    both.call = second.call
    return both
