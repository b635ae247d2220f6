"""What the loop may ask for, and how policies nest around what it asks.

The loop never calls a model, runs a tool, sleeps, reads a clock or awaits. It yields one of these objects, and a driver answers it.
They are plain classes with slots: two dozen slotted dataclasses would cost 10 to 20 ms at import.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from .errors import Cancelled

if TYPE_CHECKING:
    from contextvars import Context

    from .calls import Outcome
    from .events import Event
    from .run import RunInfo
    from .tools import Tool
    from .types import Agent

Message: TypeAlias = dict[str, Any]
Flow: TypeAlias = Generator[Any, Any, Any]
"""A generator of effects: yields what it asks for, is sent the answers, returns its result."""


class Reply:
    """One whole answer of a model.

    Attributes:
        message: the assistant message as the provider sent it, unknown fields included.
        usage: the provider's token counts as it sent them, or None.
        finish_reason: "stop", "length", "tool_calls", "content_filter", ... or None.
        model: the model that answered, in the provider's words, or None.
        id: the provider's id of the answer, or None.
        told: whether its text has been handed on as deltas already.
    """

    __slots__ = ("finish_reason", "id", "message", "model", "told", "usage")

    def __init__(
        self,
        message: Message,
        usage: dict[str, Any] | None = None,
        finish_reason: str | None = None,
        model: str | None = None,
        id: str | None = None,
        told: bool = False,
    ) -> None:
        self.message = message
        self.usage = usage
        self.finish_reason = finish_reason
        self.model = model
        self.id = id
        self.told = told

    def __repr__(self) -> str:
        return f"Reply({self.message!r}, finish_reason={self.finish_reason!r})"


class Gate(Protocol):
    """Looks at streamed text before it is shown: returns what may be shown now, and flows to run before what follows."""

    def feed(self, text: str) -> list[str | Flow]: ...

    def end(self) -> list[str | Flow]: ...


class CallModel:
    """Ask a model for one answer. The driver answers with a Reply.

    Attributes:
        agent: the agent that speaks.
        client: who is asked: a Model, or any object with `chat.completions.create`.
        request: the keyword arguments of `chat.completions.create`, complete and valid; never changed in place.
        stream: whether the caller wants deltas while the answer arrives.
        run: what the run tells callbacks and policies.
        timeout: seconds this call may take, or None for the client's own limit.
        gates: see Gate.
        path: ids of the calls that this call is nested in, outermost first.
        context: a contextvars.Context to run the call in, or None.
    """

    kind = "model"
    __slots__ = ("agent", "client", "context", "gates", "path", "request", "run", "stream", "timeout")

    def __init__(
        self,
        agent: Agent,
        client: Any,
        request: dict[str, Any],
        stream: bool = False,
        run: RunInfo | None = None,
        timeout: float | None = None,
        gates: Sequence[Gate] = (),
        path: tuple[str, ...] = (),
        context: Context | None = None,
    ) -> None:
        self.agent = agent
        self.client = client
        self.request = request
        self.stream = stream
        self.run = run
        self.timeout = timeout
        self.gates = gates
        self.path = path
        self.context = context

    def replace(self, **changes: Any) -> CallModel:
        """A copy with some attributes changed, for a policy that sends another request."""
        return _changed(self, changes)


class CallTool:
    """Run one tool call. For policies only: the innermost layer turns it into a Call, so no driver ever sees it.

    Attributes:
        tool: the tool.
        id: the id of the call.
        arguments: validated Python values by parameter name.
        agent: the agent that made the call.
        run: what the run tells callbacks and policies.
        context: a contextvars.Context to run the tool in, or None.
    """

    kind = "tool"
    __slots__ = ("agent", "arguments", "context", "id", "run", "tool")

    def __init__(
        self,
        tool: Tool,
        id: str,
        arguments: dict[str, Any],
        agent: Agent,
        run: RunInfo,
        context: Context | None = None,
    ) -> None:
        self.tool = tool
        self.id = id
        self.arguments = arguments
        self.agent = agent
        self.run = run
        self.context = context

    def replace(self, **changes: Any) -> CallTool:
        """A copy with some attributes changed."""
        return _changed(self, changes)


class HandOff:
    """Switch from one agent to another. A policy answers with the agent that takes over, or raises Refused.

    Attributes:
        source: the agent that hands off.
        target: the agent that is to take over.
        call_id: the id of the tool call that asked for it.
        run: what the run tells callbacks and policies.
    """

    kind = "handoff"
    __slots__ = ("call_id", "run", "source", "target")

    def __init__(self, source: Agent, target: Agent, call_id: str, run: RunInfo) -> None:
        self.source = source
        self.target = target
        self.call_id = call_id
        self.run = run


class StartRun:
    """The whole run, for a policy's `run` hook. Answered with the Response.

    Attributes:
        agent: the agent that begins.
        messages: the history it begins with.
        run: what the run tells callbacks and policies.
    """

    kind = "run"
    __slots__ = ("agent", "messages", "run")

    def __init__(self, agent: Agent, messages: list[Message], run: RunInfo) -> None:
        self.agent = agent
        self.messages = messages
        self.run = run


class Call:
    """Call a function of the user's: a tool, dynamic instructions, a condition.

    Attributes:
        fn: the function, sync or async.
        args: positional arguments.
        kwargs: keyword arguments.
        worker: whether a blocking function should leave the event loop (tools); callbacks run inline.
        timeout: seconds, or None.
        context: a contextvars.Context to run it in, or None for the current one.
        begin: called when the function is about to run, so that a cancelled run knows what had begun.
    """

    kind = None
    __slots__ = ("args", "begin", "context", "fn", "kwargs", "timeout", "worker")

    def __init__(
        self,
        fn: Callable[..., Any],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
        worker: bool = False,
        timeout: float | None = None,
        context: Context | None = None,
    ) -> None:
        self.fn = fn
        self.args = args
        self.kwargs = kwargs or {}
        self.worker = worker
        self.timeout = timeout
        self.context = context


class Together:
    """Run flows side by side. Answered with their results in the order given.

    Attributes:
        flows: the flows; each handles its own errors.
        limit: how many may run at once, or None.
    """

    kind = None
    __slots__ = ("flows", "limit")

    def __init__(self, flows: Sequence[Flow], limit: int | None = None) -> None:
        self.flows = flows
        self.limit = limit


class Sleep:
    """Wait for so many seconds."""

    kind = None
    __slots__ = ("seconds",)

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds


class Now:
    """The monotonic clock, in seconds."""

    kind = None
    __slots__ = ()


class Emit:
    """Tell whoever watches the run."""

    kind = "event"
    __slots__ = ("event",)

    def __init__(self, event: Event) -> None:
        self.event = event
