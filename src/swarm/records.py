"""What a run answers with: Response, Usage, what became of its calls, and the decisions that a caller gives back.

Plain classes with slots; a run makes some of them in every turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import StateError

if TYPE_CHECKING:
    from .limits import Scope
    from .run import Run
    from .state import State
    from .types import Agent


class _Plain:
    """Small records of a run: equal by content, printable, their fields as a dict on request."""

    __slots__ = ()

    def as_dict(self) -> dict[str, Any]:
        """The fields by name."""
        return {name: getattr(self, name) for name in self.__slots__ if not name.startswith("_")}

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.as_dict() == other.as_dict()

    __hash__ = None  # type: ignore[assignment]  # mutable, compared by content

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in self.as_dict().items())})"


class Usage(_Plain):
    """What a run cost.

    Attributes:
        input_tokens, output_tokens: as the provider counted them.
        cached_tokens, reasoning_tokens: the parts of those that were read from a cache, or were hidden reasoning.
        calls: answers of a model.
        cost: in US dollars, None while unknown.
        seconds: spent waiting for models.
        estimated: whether some tokens were estimated because the provider sent no count.
        by_agent: tokens and calls per agent name.
    """

    __slots__ = (
        "input_tokens",
        "output_tokens",
        "cached_tokens",
        "reasoning_tokens",
        "calls",
        "cost",
        "seconds",
        "estimated",
        "by_agent",
    )

    def __init__(
        self,
        input_tokens: int = 0,
        output_tokens: int = 0,
        cached_tokens: int = 0,
        reasoning_tokens: int = 0,
        calls: int = 0,
        cost: float | None = None,
        seconds: float = 0.0,
        estimated: bool = False,
        by_agent: dict[str, dict[str, int]] | None = None,
    ) -> None:
        self.input_tokens = input_tokens
        self.output_tokens = output_tokens
        self.cached_tokens = cached_tokens
        self.reasoning_tokens = reasoning_tokens
        self.calls = calls
        self.cost = cost
        self.seconds = seconds
        self.estimated = estimated
        self.by_agent = by_agent if by_agent is not None else {}

    @property
    def total_tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens


class ToolCall(_Plain):
    """What became of one call.

    Attributes:
        id, name: as in the messages.
        arguments: the validated values by name, or the model's own text where it could not be read.
        agent: name of the agent that made the call.
        outcome: "ok", "error", "refused", "skipped", "timed_out" or "unknown" (it began, and the run was cut off).
        error: what went wrong, or None.
        handoff_to: name of the agent that took over because of it, or None.
        seconds: how long it ran.
    """

    __slots__ = ("id", "name", "arguments", "agent", "outcome", "error", "handoff_to", "seconds")

    def __init__(
        self,
        id: str,
        name: str,
        arguments: Any,
        agent: str,
        outcome: str = "ok",
        error: str | None = None,
        handoff_to: str | None = None,
        seconds: float = 0.0,
    ) -> None:
        self.id = id
        self.name = name
        self.arguments = arguments
        self.agent = agent
        self.outcome = outcome
        self.error = error
        self.handoff_to = handoff_to
        self.seconds = seconds


class Pending(_Plain):
    """A call that waits for a person's decision.

    Attributes:
        id: the key for `approvals={id: ...}`; inside a nested run the ids are joined by "/".
        name: the tool.
        arguments: validated values by name.
        agent: name of the agent that made the call.
    """

    __slots__ = ("id", "name", "arguments", "agent")

    def __init__(self, id: str, name: str, arguments: dict[str, Any], agent: str) -> None:
        self.id = id
        self.name = name
        self.arguments = arguments
        self.agent = agent


class Approve(_Plain):
    """A decision for `approvals=`: run the call, with other arguments if `arguments` is given."""

    __slots__ = ("arguments",)

    def __init__(self, arguments: dict[str, Any] | None = None) -> None:
        self.arguments = arguments


class Refuse(_Plain):
    """A decision for `approvals=`: do not run the call; `reason` is what the model is told."""

    __slots__ = ("reason",)

    def __init__(self, reason: str = "") -> None:
        self.reason = reason


class Response(_Plain):
    """What a run came to.

    Attributes:
        messages: the new messages, plain dicts, in order.
        agent: the agent that is active now; give it to the next run.
        context_variables: as they are now.
        usage: tokens, calls, seconds.
        stop_reason: why the run ended: "complete", "max_turns", "limit:<name>", "loop", "tool_calls", "approval", "stopped",
            "length", "refusal", "content_filter", "guardrail:<name>", "cancelled", or "error" on an exception's `.response`.
        calls: every tool call and what became of it.
        pending: calls that wait for a decision, when `stop_reason` is "approval".
        output: the final text as the `output_type` of its agent says, or the value of `Result(stop=True)`, else None.
    """

    __slots__ = ("messages", "agent", "context_variables", "usage", "stop_reason", "calls", "pending", "output", "_run", "_scope")

    def __init__(
        self,
        messages: list[dict[str, Any]] | None = None,
        agent: Agent | None = None,
        context_variables: dict[str, Any] | None = None,
        usage: Usage | None = None,
        stop_reason: str = "complete",
        calls: list[ToolCall] | None = None,
        pending: list[Pending] | None = None,
        output: Any = None,
    ) -> None:
        self.messages = messages if messages is not None else []
        self.agent = agent
        self.context_variables = context_variables if context_variables is not None else {}
        self.usage = usage if usage is not None else Usage()
        self.stop_reason = stop_reason
        self.calls = calls if calls is not None else []
        self.pending = pending if pending is not None else []
        self.output = output
        self._run: Run | None = None
        self._scope: Scope | None = None

    @property
    def text(self) -> str:
        """The last text of the assistant, `""` if there is none."""
        for message in reversed(self.messages):
            if message.get("role") == "assistant" and message.get("content"):
                from .messages import text_of

                return text_of(message)
        return ""

    def model_dump(self) -> dict[str, Any]:
        """The same as `as_dict()`, by the name that code knows from pydantic models."""
        return self.as_dict()

    @property
    def handoffs(self) -> list[tuple[str, str]]:
        """Who handed over to whom, in order, by name."""
        return [(call.agent, call.handoff_to) for call in self.calls if call.handoff_to is not None]

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        """For pickle and copies: without what `state()` is made from, which holds clients and locks."""
        return None, {**self.as_dict(), "_run": None, "_scope": self._scope}

    @property
    def used(self) -> dict[str, float]:
        """What the run used of what `Limits` count, with everything nested in it, by name."""
        return self._scope.used if self._scope is not None else {}

    @property
    def remaining(self) -> dict[str, float]:
        """What its limits have left, by name; no key for what was not limited."""
        return self._scope.remaining if self._scope is not None else {}

    def state(self) -> State:
        """The run as plain JSON, to go on later or elsewhere: `Swarm().resume(load_state(data, agents=[...]))`.

        Raises:
            StateError: the response was not made by a run, or is a copy of one that was; or a context variable that JSON cannot hold, with
                its path.
        """
        from .state import dump

        if self._run is None:
            raise StateError("this Response was not made by a run, or is a copy of one, so there is nothing to save; save its messages")
        return dump(self._run)
