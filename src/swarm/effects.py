"""What the loop may ask for.

The loop never calls a model, runs a tool, sleeps, reads a clock or awaits. It yields one of these objects, and a driver answers it.
They are plain classes with slots: two dozen slotted dataclasses would cost 10 to 20 ms at import.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from .types import Agent

if TYPE_CHECKING:
    from contextvars import Context

    from .events import Event
    from .partials import Partials
    from .records import ModelCall
    from .run import RunInfo
    from .tools import Tool

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
        call: what the call took that it answers, once it was counted; None for a reply that no model gave, from a cache for example.
        cut: whether a gate ended it, so that the provider could not say what it took.
    """

    __slots__ = ("call", "cut", "finish_reason", "id", "message", "model", "told", "usage")

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
        self.call: ModelCall | None = None
        self.cut = False

    def __repr__(self) -> str:
        return f"Reply({self.message!r}, finish_reason={self.finish_reason!r})"


class Cut:
    """What a gate, or a flow of its, says to end a reply: nothing more of it is read or shown. `text` is shown in the place of the rest."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


class Gate(Protocol):
    """Looks at the text of a streamed reply before it is shown. It may keep text back, change it, or end the reply."""

    def feed(self, text: str) -> list[str | Cut | Flow]:
        """Take a piece of text. Returns what may be shown now, and flows that settle what follows: each comes to a text or a Cut."""
        ...

    def end(self) -> list[str | Cut | Flow]:
        """The same at the end of the text, for what was kept back."""
        ...


class CallModel:
    """Ask a model for one answer. The driver answers with a Reply.

    Attributes:
        agent: the agent that speaks.
        client: who is asked: a Model, or any object with `chat.completions.create`.
        request: the keyword arguments of `chat.completions.create`, complete and valid; never changed in place.
        stream: whether the caller wants deltas while the answer arrives.
        run: what the run tells callbacks and policies.
        timeout: seconds this call may take, or None for the client's own limit.
        path: ids of the calls that this call is nested in, outermost first.
        context: a contextvars.Context to run the call in, or None.
        gates: make the gates that a stream's text passes before it is shown, in this order; each is called once for each stream, so that
            a second try begins anew. A policy that wants one puts it in front: `call.replace(gates=(make, *call.gates))`.
        partials: finds the partial values in what a stream shows of a typed answer, or None if nobody is told of them.
        seconds: how long the answer took; set by the driver.
        time_to_first_delta: seconds until the first delta of a stream; set by the driver, None without one.
    """

    kind = "model"
    __slots__ = (
        "agent",
        "client",
        "context",
        "gates",
        "partials",
        "path",
        "request",
        "run",
        "seconds",
        "stream",
        "time_to_first_delta",
        "timeout",
    )

    def __init__(
        self,
        agent: Agent,
        client: Any,
        request: dict[str, Any],
        stream: bool = False,
        run: RunInfo | None = None,
        timeout: float | None = None,
        path: tuple[str, ...] = (),
        context: Context | None = None,
    ) -> None:
        self.agent = agent
        self.client = client
        self.request = request
        self.stream = stream
        self.run = run
        self.timeout = timeout
        self.path = path
        self.context = context
        self.gates: tuple[Callable[[], Gate], ...] = ()
        self.partials: Partials | None = None
        self.seconds = 0.0
        self.time_to_first_delta: float | None = None

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
        spent: called with the seconds of each try.
        tries: how often it may run at most, or None for as often as its tool allows.
        variables: what the tool gets as `context_variables`, or None for those of the run, live.
    """

    kind = "tool"
    __slots__ = ("agent", "arguments", "context", "id", "run", "spent", "tool", "tries", "variables")

    def __init__(
        self,
        tool: Tool,
        id: str,
        arguments: dict[str, Any],
        agent: Agent,
        run: RunInfo,
        context: Context | None = None,
        spent: Callable[[float], None] | None = None,
        tries: int | None = None,
    ) -> None:
        self.tool = tool
        self.id = id
        self.arguments = arguments
        self.agent = agent
        self.run = run
        self.context = context
        self.spent = spent
        self.tries = tries
        self.variables: dict[str, Any] | None = None

    def replace(self, **changes: Any) -> CallTool:
        """A copy with some attributes changed."""
        return _changed(self, changes)


class HandOff:
    """Switch from one agent to another. A policy returns the agent that takes over, or a Refuse.

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


class Decide:
    """Say whether a call may run, before any call of its reply does. Answered with True: it needs no approval; an Approve or a Refuse: it
    was decided; or None: it waits for a decision, and so does the run.

    If every policy with an `approval` hook has a true attribute `only_marked`, calls that need no approval and that the caller did not
    decide about are not passed through them.

    Attributes:
        tool: the tool.
        id: the id of the call.
        arguments: validated Python values by parameter name.
        agent: the agent that made the call.
        run: what the run tells callbacks and policies.
    """

    kind = "approval"
    __slots__ = ("agent", "arguments", "id", "run", "tool")

    def __init__(self, tool: Tool, id: str, arguments: dict[str, Any], agent: Agent, run: RunInfo) -> None:
        self.tool = tool
        self.id = id
        self.arguments = arguments
        self.agent = agent
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
        lasting: whether it goes on when the time of the run is over.
        seconds: how long it ran; set by the driver.
    """

    kind = None
    __slots__ = ("args", "context", "fn", "kwargs", "lasting", "seconds", "timeout", "worker")

    def __init__(
        self,
        fn: Callable[..., Any],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
        worker: bool = False,
        timeout: float | None = None,
        context: Context | None = None,
        lasting: bool = False,
    ) -> None:
        self.fn = fn
        self.args = args
        self.kwargs = kwargs or {}
        self.worker = worker
        self.timeout = timeout
        self.context = context
        self.lasting = lasting
        self.seconds = 0.0


class Together:
    """Run flows side by side. Answered with their results in the order given.

    Attributes:
        flows: the flows; each handles its own errors. Of a policy also effects: they go where its hook's own would, and come to their
            answer or to the Exception they failed with.
        limit: how many may run at once, or None.
        decides: if given, the first flow decides about the others. Until it has ended, what they tell is kept back; if `decides(its
            result)` is false, they are left, and come to None if they had not ended.
    """

    kind = None
    __slots__ = ("decides", "flows", "limit")

    def __init__(self, flows: Sequence[Any], limit: int | None = None, decides: Callable[[Any], bool] | None = None) -> None:
        self.flows = flows
        self.limit = limit
        self.decides = decides


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
    """Tell whoever watches the run. Answered with None."""

    kind = "event"
    __slots__ = ("event",)

    def __init__(self, event: Event) -> None:
        self.event = event


EFFECTS = (CallModel, CallTool, HandOff, Decide, StartRun, Call, Together, Sleep, Now, Emit)
"""What a flow may yield."""

KINDS = ("run", "model", "approval", "tool", "handoff", "event")
"""The hooks a policy may have. Each is a generator function of one effect of that kind."""

T = TypeVar("T", CallModel, CallTool)


def _changed(effect: T, changes: dict[str, Any]) -> T:
    other = object.__new__(type(effect))
    for name in type(effect).__slots__:
        setattr(other, name, changes.pop(name) if name in changes else getattr(effect, name))
    if changes:
        raise TypeError(f"{type(effect).__name__} has no {', '.join(changes)}; it has {', '.join(type(effect).__slots__)}")
    return other
