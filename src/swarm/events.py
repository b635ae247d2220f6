"""What a run tells whoever watches it: typed events, and the dict form of `run(stream=True)`.

Events come in order and are the same for every driver. Each carries `agent`, the name of the agent that was speaking, and `cause`, what it
came from: a short text that names another event, so that a record of events tells why an agent took over or a run ended (`causes.explain`).

    input        what the caller gave: messages, or calls that they left open
    turn:2       the reply of that turn, and what its calls came to
    call:ID      the tool call of that id
    limit:NAME   the limit of that name
    policy:NAME  the policy of that class name
    cancel       whoever holds the run ended it

Plain classes with slots, for the reason given in `effects`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_core import to_jsonable_python

if TYPE_CHECKING:
    from .records import ModelCall
    from .types import Pending, Response, ToolCall

__all__ = [
    "Delta",
    "Done",
    "Event",
    "HandedOff",
    "LimitHit",
    "MessageAdded",
    "MessageDone",
    "Nested",
    "PartialOutput",
    "Paused",
    "PolicyActed",
    "ToolDone",
    "ToolStarted",
    "TurnEnded",
    "TurnStarted",
]


class Event:
    """The base of all events.

    Attributes:
        agent: name of the agent that was active.
        cause: what it came from, as above; None for a piece of a reply, and where a policy does not say.
    """

    __slots__ = ("agent",)
    cause: str | None = None

    def __init__(self, agent: str) -> None:
        self.agent = agent

    def as_dict(self) -> dict[str, Any]:
        """The event as plain JSON: `{"event": <class name>, ...}`."""
        return {"event": type(self).__name__} | {name: _plain(getattr(self, name)) for name in _fields(type(self))}

    def __repr__(self) -> str:
        said = {name: value for name in _fields(type(self)) if (value := getattr(self, name)) is not None}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in said.items())})"


class TurnStarted(Event):
    """An agent is about to be asked. `turn` counts from 1 within the run."""

    __slots__ = ("turn", "cause")

    def __init__(self, agent: str, turn: int, cause: str | None = None) -> None:
        self.agent = agent
        self.turn = turn
        self.cause = cause


class Delta(Event):
    """A piece of a reply as it arrives. `delta` is in Chat Completions form; the first of a reply has `role` and `sender`."""

    __slots__ = ("delta",)

    def __init__(self, agent: str, delta: dict[str, Any]) -> None:
        self.agent = agent
        self.delta = delta

    @property
    def text(self) -> str:
        """The text of this piece, `""` when it holds none."""
        content = self.delta.get("content")
        return content if isinstance(content, str) else ""


class PartialOutput(Event):
    """What there is so far of the answer of an agent with an `output_type`, told by `stream()` only, when there is more of it.

    `value` is JSON data, not yet read into the type: a dict for an object, and whatever the answer is otherwise. What is not there yet is
    absent; its last text may be unfinished. Each event has a value of its own.
    """

    __slots__ = ("value",)

    def __init__(self, agent: str, value: Any) -> None:
        self.agent = agent
        self.value = value


class MessageDone(Event):
    """A whole message of the assistant, as it stands in `Response.messages`; `call` says what the model call took that it came from,
    None if it came from none: a policy may have answered itself.
    """

    __slots__ = ("message", "call", "cause")

    def __init__(self, agent: str, message: dict[str, Any], call: ModelCall | None = None, cause: str | None = None) -> None:
        self.agent = agent
        self.message = message
        self.call = call
        self.cause = cause


class MessageAdded(Event):
    """The run itself put a message into the history: what tools gave the model to see, or the question for an answer that fits."""

    __slots__ = ("message", "cause")

    def __init__(self, agent: str, message: dict[str, Any], cause: str | None = None) -> None:
        self.agent = agent
        self.message = message
        self.cause = cause


class ToolStarted(Event):
    """A tool is about to run. `arguments` are the validated values by name."""

    __slots__ = ("id", "name", "arguments", "cause")

    def __init__(self, agent: str, id: str, name: str, arguments: dict[str, Any], cause: str | None = None) -> None:
        self.agent = agent
        self.id = id
        self.name = name
        self.arguments = arguments
        self.cause = cause


class ToolDone(Event):
    """A call is answered. `call` says what became of it, `message` is the tool message."""

    __slots__ = ("call", "message", "cause")

    def __init__(self, agent: str, call: ToolCall, message: dict[str, Any]) -> None:
        self.agent = agent
        self.call = call
        self.message = message
        self.cause: str | None = f"call:{call.id}"


class HandedOff(Event):
    """Another agent takes over. `to` is its name, `call_id` the call that asked for it, "" if a policy handed over by itself."""

    __slots__ = ("to", "call_id", "cause")

    def __init__(self, agent: str, to: str, call_id: str, cause: str | None = None) -> None:
        self.agent = agent
        self.to = to
        self.call_id = call_id
        self.cause = cause or f"call:{call_id}"


class TurnEnded(Event):
    """The reply and all its calls are done."""

    __slots__ = ("turn", "cause")

    def __init__(self, agent: str, turn: int) -> None:
        self.agent = agent
        self.turn = turn
        self.cause: str | None = f"turn:{turn}"


class Paused(Event):
    """The run waits for a person. `pending` lists the calls that need a decision."""

    __slots__ = ("pending", "cause")

    def __init__(self, agent: str, pending: list[Pending], cause: str | None = None) -> None:
        self.agent = agent
        self.pending = pending
        self.cause = cause


class LimitHit(Event):
    """A limit stopped the run, or is about to. `limit` is its name, `reason` says how much was allowed and used."""

    __slots__ = ("limit", "reason", "cause")

    def __init__(self, agent: str, limit: str, reason: str, cause: str | None = None) -> None:
        self.agent = agent
        self.limit = limit
        self.reason = reason
        self.cause = cause


class PolicyActed(Event):
    """A policy changed what would have happened, or decided about it: `policy` is its class name ("approvals" for a decision of the
    caller), `what` it did, and why; `detail` says more for programs, or is None. `cause` is the turn or call that it stands around.
    """

    __slots__ = ("policy", "what", "reason", "detail", "cause")

    def __init__(
        self, agent: str, policy: str, what: str, reason: str = "", detail: dict[str, Any] | None = None, cause: str | None = None
    ) -> None:
        self.agent = agent
        self.policy = policy
        self.what = what
        self.reason = reason
        self.detail = detail
        self.cause = cause


class Nested(Event):
    """An event of a run inside a call (`agent.as_tool()`, `Handoff(returns=True)`). `call_id` is the outer call."""

    __slots__ = ("call_id", "event")

    def __init__(self, call_id: str, event: Event) -> None:
        self.agent = event.agent
        self.call_id = call_id
        self.event = event

    @property
    def cause(self) -> str | None:  # type: ignore[override]  # read only
        """That of the event inside, in the words of the run inside."""
        return self.event.cause

    def as_dict(self) -> dict[str, Any]:
        """The event inside stands under "inner"."""
        return {"event": "Nested", "agent": self.agent, "call_id": self.call_id, "inner": self.event.as_dict()}


class Done(Event):
    """The last event: the run is over, and this is its response."""

    __slots__ = ("response", "cause")

    def __init__(self, agent: str, response: Response, cause: str | None = None) -> None:
        self.agent = agent
        self.response = response
        self.cause = cause

    def as_dict(self) -> dict[str, Any]:
        """The response in short: why it ended, its text, usage and messages."""
        response = self.response
        told = {"agent": self.agent, "cause": self.cause, "stop_reason": response.stop_reason, "text": response.text}
        return {"event": "Done", **told, "usage": response.usage.as_dict(), "messages": _plain(response.messages)}


def nested(path: tuple[str, ...], event: Event) -> Event:
    """The event as the outermost run tells it: wrapped once for each call on the path, outermost first."""
    for call_id in reversed(path):
        event = Nested(call_id, event)
    return event


def as_stream_item(event: Event) -> dict[str, Any] | None:
    """The dict form that `run(stream=True)` hands out, or None for an event that has no such form.

    Deltas pass with their `sender`; a turn is bracketed by `{"delim": "start"}` and `{"delim": "end"}`; `{"response": ...}` is last.
    """
    if isinstance(event, Delta):
        delta = event.delta
        return delta if len(delta) == 1 and "content" in delta else _filled(delta)
    if isinstance(event, TurnStarted):
        return {"delim": "start"}
    if isinstance(event, MessageDone):
        return {"delim": "end"}
    return {"response": event.response} if isinstance(event, Done) else None


def _filled(delta: dict[str, Any]) -> dict[str, Any]:
    """A delta with the keys that readers of such streams look up unasked: `content`, and of a call `index`, `id`, `function.name`."""
    item = dict(delta)
    item.setdefault("content", None)
    if "tool_calls" in item:
        item["tool_calls"] = [
            {"index": index, "id": None, **call, "function": {"name": None, "arguments": "", **(call.get("function") or {})}}
            for index, call in enumerate(item["tool_calls"] or ())
        ]
    return item


def _fields(kind: type[Event]) -> tuple[str, ...]:
    return ("agent", *kind.__slots__) if kind is not Event else ("agent",)


def _plain(value: Any) -> Any:
    return to_jsonable_python(value, fallback=lambda other: other.as_dict() if hasattr(other, "as_dict") else str(other))
