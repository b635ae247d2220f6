"""What one run knows: its history, its counts, which calls began and which finished. No I/O.

A run nested in a call (an agent used as a tool) has a Run of its own that shares usage, counts and context with the outer one.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from threading import TIMEOUT_MAX, Event, Lock
from typing import Any, cast

from . import events
from .effects import CallModel, Emit, Flow, Reply
from .history import Start
from .limits import Circles, Hit, Limits, Scope, Scopes, needs_cost, needs_tokens, remaining, smaller
from .models.client import model_for
from .models.profiles import Profile, choose
from .nesting import through
from .options import Options
from .prices import require
from .records import ModelCall
from .tokens import estimate
from .types import Agent, Handoff, Pending, Response, ToolCall, Usage
from .wire import WireHistory

logger = logging.getLogger("swarm")
_NONE: frozenset[str] = frozenset()
_making_wake = Lock()


class Signal:
    """How the holder of a stream asks a run to end: at the next step, or after the turn. Safe from any thread."""

    __slots__ = ("_inner", "_wake", "after_turn", "cancelled")

    def __init__(self) -> None:
        self.cancelled = False
        self.after_turn = False
        self._wake: Event | None = None
        self._inner: list[Signal] = []

    def inner(self) -> Signal:
        """A signal for a part of the run, which can be ended by itself and ends with the whole."""
        part = Signal()
        self._inner.append(part)
        if self.cancelled:
            part.cancel()
        return part

    def cancel(self) -> None:
        """End the run at its next step, and wake whatever sleeps in it."""
        self.cancelled = True
        for part in self._inner:
            part.cancel()
        if self._wake is not None:
            self._wake.set()

    def wait(self, seconds: float) -> None:
        """Sleep, but not past a cancellation."""
        with _making_wake:  # flows side by side may fall asleep at once, and one event has to wake them all
            self._wake = wake = self._wake or Event()
        if not self.cancelled:
            wake.wait(min(seconds, TIMEOUT_MAX))


class Route:
    """Where requests go.

    Attributes:
        client: as the user gave it; model: the same as the drivers ask it.
        name: the model's name for the request.
        provider: what tells one provider from another, for fields that are private to it.
        encodes: whether the model asks lists for their JSON text.
        profile: how it wants messages; wire: the history in that form, as far as it was sent, shared by the routes to one provider.
    """

    __slots__ = ("client", "encodes", "model", "name", "profile", "provider", "wire")

    def __init__(self, client: Any, model: Any, name: str, provider: Any, profile: Profile, wire: WireHistory) -> None:
        self.client = client
        self.model = model
        self.encodes = getattr(model, "encodes", False) is True
        self.name = name
        self.provider = provider
        self.profile = profile
        self.wire = wire


class Run:
    """One run.

    What it is about:
        options, signal: how to run, and how its holder asks it to end.
        agent: the agent that is active; fields: its fields, live, since each read of one through pydantic costs ten times as much.
        handoff, handed_by: the Handoff whose history_filter is in force, whose it is and its tool's name.
        start: the history it began with; history, new_from: every message, those of `start` first; where the new ones begin.
        context: the context variables, live; path: ids of the calls this run is nested in.

    What was used: usage (shared with nested runs), scopes (whose limits hold), scope (its own, if it has one), bounded (whether one limits
        more than repeats), repeats (how often it may repeat itself), circles, turn, replied (the last turn whose reply is in the history).

    What became of calls:
        calls: every call so far; begun, finished: ids of calls of this batch that started, and what they came to.
        offered: the tools that were on offer with the last reply, by name.
        approvals: decisions for the calls that were open at the beginning, or None; pending: what waits for a person.
        held, given: finished answers of a batch that was not finished, by call id; ids of those that the caller's history had.
        nested: runs inside the calls of this batch, by call id.

    How it ends: limit (the one that was hit), stopped_by (the one that ended it before it was saved), output (of `Result(stop=True)`),
        finish (why the model ended its last reply), cut_off (whether the one before was), over (the stop reason, once all is done).

    What requests are made from:
        ids: ids of tool calls in use; numbers: where to look for a free one; spent: the turn in which an agent's `tool_choice` was sent.
        arrival: after a handoff, until the new agent is asked: how far from the end of the history its tool message stands.
        origins: the provider that a message of this run came from, by the message's id(); providers: all of them; shared with nested runs.
        asked: the provider that answered last; known: the provider behind a model, by the model's id().
        routes: where requests go, by the id() of a client, the model's name and the agent's profile.
        memory: what policies keep for this run; withheld: names of tools that a policy does not let the active agent see; hidden: names of
            context variables that only tools may get, and only those that a policy gives them to.
        cause: what the next event comes from, see `events`.
    """

    __slots__ = (
        "_id",
        "agent",
        "approvals",
        "arrival",
        "asked",
        "begun",
        "bounded",
        "circles",
        "calls",
        "cause",
        "context",
        "cut_off",
        "fields",
        "finish",
        "finished",
        "given",
        "handed_by",
        "handoff",
        "held",
        "hidden",
        "history",
        "ids",
        "known",
        "limit",
        "memory",
        "nested",
        "new_from",
        "numbers",
        "offered",
        "options",
        "origins",
        "output",
        "over",
        "path",
        "pending",
        "providers",
        "repeats",
        "replied",
        "routes",
        "scope",
        "scopes",
        "signal",
        "spent",
        "start",
        "stopped_by",
        "turn",
        "usage",
        "withheld",
    )

    def __init__(
        self,
        agent: Agent,
        start: Start,
        context: dict[str, Any],
        options: Options,
        signal: Signal | None = None,
        outer: Run | None = None,
        path: tuple[str, ...] = (),
    ) -> None:
        self.take_up(agent)
        self.start = start
        self.history = list(start.messages)
        self.new_from = len(start.messages)
        self.context = context
        self.options = options
        self.signal = signal or Signal()
        self.path = path
        self.usage = outer.usage if outer else Usage()
        self.scope = None if outer else Scope(options.limits)
        self.scopes: Scopes = outer.scopes if outer else (cast("Scope", self.scope),)
        self.bounded = outer.bounded if outer else options.limits.bounded
        self.repeats = outer.repeats if outer else options.limits.repeats
        self.circles = Circles()
        self.memory: dict[int, dict[str, Any]] = outer.memory if outer else {}
        self.hidden: frozenset[str] = outer.hidden if outer else _NONE
        self.withheld: frozenset[str] = _NONE
        self._id: str | None = None
        self.calls: list[ToolCall] = []
        self.begun: set[str] = set()
        self.finished: dict[str, Any] = {}
        self.ids = start.ids
        self.numbers: dict[str, int] = {}
        self.spent: dict[Agent, int] = {}
        self.handoff: Handoff | None = None
        self.handed_by: tuple[Agent, str] | None = None
        self.arrival: int | None = None
        self.approvals: dict[str, Any] | None = None
        self.held: dict[str, Any] = {}
        self.given: set[str] = set()
        self.nested: dict[str, Run] = {}
        self.pending: list[Pending] = []
        self.offered: dict[str, Any] = {}
        self.output: Any = None
        self.limit: Hit | None = None
        self.stopped_by: tuple[str, str, float] | None = None
        self.finish: str | None = None
        self.over: str | None = None
        self.cut_off = False
        self.turn = self.replied = 0
        self.cause = "input"
        self.origins: dict[int, Any] = outer.origins if outer else {}
        self.providers: set[Any] = outer.providers if outer else set()
        self.asked: Any = None
        self.known: dict[int, Any] = {}
        self.routes: dict[tuple[int, str, Any], Route] = {}

    @property
    def id(self) -> str:
        """A name for this run, the same after it was saved and resumed."""
        if self._id is None:
            from uuid import uuid4

            self._id = uuid4().hex
        return self._id

    def take_up(self, agent: Agent) -> None:
        """Make an agent the active one."""
        self.agent = agent
        self.fields = vars(agent)

    def restore(self, id: str, new_from: int) -> None:
        """Go on as the run of that id, whose new messages begin at `new_from`."""
        self._id = id
        self.new_from = new_from

    def confine(self, limits: Limits) -> None:
        """Put the run in a scope of its own, with fresh counts unless it has one; the outer scopes go on counting."""
        if self.scope is None:
            self.scope = Scope(limits)
            self.scopes = (*self.scopes, self.scope)
        self.scope.limits = limits
        self.bounded = self.bounded or limits.bounded
        self.repeats = smaller(self.repeats, limits.repeats)

    def tell(self, event: events.Event) -> Flow:
        """Emit an event, through the policies that want to see it."""
        effect = Emit(events.nested(self.path, event) if self.path else event)
        if "event" in self.options.hooks:
            return (yield from self.through(effect))
        return (yield effect)

    def log(self, text: str, *values: Any) -> None:
        """Log at debug level, through `redact`. Arguments and results are logged nowhere else."""
        redact = self.options.redact
        logger.debug("%s", text % values if redact is None else redact(text % values))

    def through(self, effect: Any) -> Flow:
        """Pass an effect through the policies."""
        return through(effect, self)

    def about(self, name: str) -> Any:
        """What a callback's parameter of that name gets."""
        match name:
            case "context_variables":
                return {name: value for name, value in self.context.items() if name not in self.hidden} if self.hidden else self.context
            case "messages":
                return list(self.history)
            case "agent":
                return self.agent
            case "run":
                return RunInfo(self)
            case _:
                return None

    def about_instructions(self, name: str) -> Any:
        """The same for instructions, which see missing context variables as ""."""
        return defaultdict(str, self.about(name)) if name == "context_variables" else self.about(name)

    def route(self) -> Route:
        """Where the requests of the active agent go."""
        client, name = self.fields["client"], self._model()
        if client is None:
            client = self.options.client
        if client is None and "model" not in self.options.overrides:
            client = self.options.default_client()
        return self.routes.get((id(client), name, self.fields["profile"])) or self._new_route(
            client, name, self.fields["profile"], self.agent.client is None, self.options.overrides.get("model")
        )

    def route_to(self, agent: Agent, client: Any, name: str) -> Route:
        """Where the requests of an agent go that a policy sends to another client or model."""
        usual = self.options.client if agent.client is None else agent.client
        wanted = agent.profile if client is usual else None
        return self.routes.get((id(client), name, wanted)) or self._new_route(client, name, wanted, False, None)

    def _new_route(self, client: Any, name: str, wanted: Profile | str | None, is_usual: bool, model: Any) -> Route:
        others = self.routes.values()
        known = next((route for route in others if route.client is client), None)
        model = known.model if known else model or model_for(client)
        base_url = base_url_of(client)
        if self.bounded and needs_cost(self.scopes):
            require(name, base_url, self.options.prices)
        provider = self.known[id(model)] = base_url or id(client)
        own = getattr(client, "profile", None)
        given = self.options.profile if is_usual or client is self.options.client else None
        profile = choose(base_url, name, wanted or given or (own if isinstance(own, Profile | str) else None))
        wire = next((route.wire for route in others if route.provider == provider and route.profile is profile), None)
        route = Route(client, model, name, provider, profile, wire or WireHistory(profile))
        self.routes[id(client), name, wanted] = route
        return route

    def _model(self) -> str:
        if self.options.model_override:
            return self.options.model_override
        if self.options.default_model and self.agent.client is None and "model" not in self.agent.model_fields_set:
            return self.options.default_model
        return self.fields["model"]

    def provider_of(self, model: Any) -> Any:
        """What tells the provider behind a model from another."""
        return self.known.get(id(model)) or base_url_of(model) or id(model)

    def credit(self, model: Any) -> None:
        """Note that the answer at hand came from a model, so that what is private to its provider goes back there."""
        self.asked = self.provider_of(model)
        self.providers.add(self.asked)

    def count(self, reply: Reply, effect: CallModel) -> None:
        """Add an answer to usage and counts, and note who gave it, which a policy may have changed."""
        asked = self.asked = self.known.get(id(effect.client)) or self.provider_of(effect.client)
        self.providers.add(asked)
        tokens = _counted(reply.usage) if reply.usage else None
        estimated = tokens is None and (reply.cut or (self.bounded and needs_tokens(self.scopes)))
        if estimated:
            tokens = (estimate(effect.request.get("messages", ())), estimate((reply.message,)), 0, 0)
        inputs, outputs, cached, reasoning = tokens or _UNKNOWN
        taken = (
            vars(effect.agent)["name"],
            effect.request.get("model", ""),
            reply.model,
            asked if type(asked) is str else None,
            inputs,
            outputs,
            cached,
            reasoning,
            effect.seconds,
            effect.time_to_first_delta,
            estimated,
            self.options.prices,
        )
        reply.call = ModelCall(*taken) if self.bounded or self.options.watched or self.options.hooks else None
        self.usage.note(reply.call or taken)
        cost = (reply.call.cost or 0.0) if reply.call is not None and self.bounded and needs_cost(self.scopes) else 0.0
        for scope in self.scopes:
            scope.model_calls += 1
            scope.cost += cost
            if tokens is not None:
                scope.tokens += tokens[0] + tokens[1]

    def response(self, reason: str) -> Response:
        """What the run has come to."""
        self.routes.clear()  # a Response keeps its run; what requests were made from is not needed any more
        new = self.history[self.new_from :]
        response = Response(
            messages=[message for message in new if message.get("tool_call_id") not in self.given] if self.given else new,
            agent=self.agent,
            context_variables=self.context,
            usage=self.usage,
            stop_reason=reason,
            calls=self.calls,
            pending=self.pending,
            output=self.output,
        )
        response._scope = self.scopes[0]  # type: ignore[reportPrivateUsage]  # what used and remaining are read from
        response._run = self  # type: ignore[reportPrivateUsage]  # what state() is made from
        return response


class RunInfo:
    """What a run tells tools, callbacks and policies: a parameter annotated `RunInfo`, or a callback's parameter `run`, gets it."""

    __slots__ = ("_call_id", "_run")

    def __init__(self, run: Run, call_id: str | None = None) -> None:
        self._run = run
        self._call_id = call_id

    @property
    def agent(self) -> Agent:
        """The agent that is active."""
        return self._run.agent

    @property
    def turn(self) -> int:
        """The number of the turn, from 1."""
        return self._run.turn

    @property
    def limits(self) -> Limits:
        """What may be used in the innermost scope."""
        return self._run.scopes[-1].limits

    @property
    def used(self) -> dict[str, float]:
        """What was used in the innermost scope, by name."""
        return self._run.scopes[-1].used

    @property
    def remaining(self) -> dict[str, float]:
        """What is left before the first limit of any scope, by name; seconds as the clock was last looked at."""
        return remaining(self._run.scopes)

    @property
    def scopes(self) -> Scopes:
        """The scopes that the run stands in, the outermost first, each with `limits`, `used` and `remaining`."""
        return self._run.scopes

    @property
    def usage(self) -> Usage:
        """Tokens so far, of the whole run."""
        return self._run.usage

    @property
    def deadline(self) -> float | None:
        """Monotonic time at which `Limits(seconds=)` or `timeout` ends the run, or None."""
        scopes, timeout = self._run.scopes, self._run.options.timeout
        ends = [scope.started + scope.limits.seconds for scope in scopes if scope.started is not None and scope.limits.seconds is not None]
        if timeout is not None and scopes[0].started is not None:
            ends.append(scopes[0].started + timeout)
        return min(ends, default=None)

    @property
    def call_id(self) -> str | None:
        """The id of the call that runs, inside a tool."""
        return self._call_id

    @property
    def idempotency_key(self) -> str | None:
        """A key for the effects of this call on the outside, the same when the run is resumed elsewhere."""
        return None if self._call_id is None else f"{self._run.id}/{'/'.join((*self._run.path, self._call_id))}"

    @property
    def cancelled(self) -> bool:
        """Whether the run is being cancelled; a long tool may look and stop."""
        return self._run.signal.cancelled

    def state(self, policy: Any) -> dict[str, Any]:
        """A dict in which a policy keeps what belongs to this run."""
        return self._run.memory.setdefault(id(policy), {})

    def flow(self, effect: Any) -> Flow:
        """An effect of a policy's own making, passed through all the policies of its kind."""
        return self._run.through(effect)


def base_url_of(client: Any) -> str | None:
    """Where a client sends its requests, if it says so."""
    text = str(getattr(client, "base_url", None) or "")
    return text if text.startswith(("http://", "https://")) else None


_UNKNOWN = (None, None, 0, 0)


def _counted(sent: Any) -> tuple[int, int, int, int] | None:
    """The tokens that a provider counted: input, output, cached, reasoning; None if it counted none.

    Some leave reasoning out of `completion_tokens` and have it in `total_tokens` (xAI: https://docs.x.ai/docs/guides/reasoning; Gemini
    in this API). It is paid as output, so the total is believed.
    """
    if type(sent.get("prompt_tokens")) is not int and type(sent.get("completion_tokens")) is not int:
        return None
    inputs, outputs = _number(sent, "prompt_tokens"), _number(sent, "completion_tokens")
    cached = _number(sent.get("prompt_tokens_details"), "cached_tokens")
    reasoning = _number(sent.get("completion_tokens_details"), "reasoning_tokens")
    hidden = _number(sent, "total_tokens") - inputs - outputs
    return (inputs, outputs + hidden, cached, max(reasoning, hidden)) if inputs and hidden > 0 else (inputs, outputs, cached, reasoning)


def _number(counts: Any, name: str) -> int:
    value: Any = cast("dict[str, Any]", counts).get(name) if isinstance(counts, dict) else None
    return value if type(value) is int and value > 0 else 0
