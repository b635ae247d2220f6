"""What a run answers with: Response, what its model calls took, what became of its tool calls, and the decisions a caller gives back.

Plain classes with slots; a run makes some of them in every turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .errors import StateError

if TYPE_CHECKING:
    from .limits import Scope
    from .prices import Price
    from .run import Run
    from .state import State
    from .types import Agent


class _Plain:
    """Small records of a run: equal by content, printable, their fields as a dict on request."""

    __slots__ = ()

    def fields(self) -> dict[str, Any]:
        """What it was made from, by name."""
        return {name: getattr(self, name) for name in self.__slots__ if not name.startswith("_")}

    def as_dict(self) -> dict[str, Any]:
        """The fields by name."""
        return self.fields()

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.fields() == other.fields()

    __hash__ = None  # type: ignore[assignment]  # mutable, compared by content

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in self.fields().items())})"


class ModelCall(_Plain):
    """One answer of a model: what it took, and how long.

    Attributes:
        agent: name of the agent that it was asked for; a policy's own calls count for the agent it works for.
        model: the model that was asked, as the request names it.
        response_model: the model that answered, in the provider's words, or None.
        provider: base URL of the client that was asked, or None if it does not tell.
        input_tokens, output_tokens: as the provider counted them, hidden reasoning included; None if it sent no count.
        cached_tokens, reasoning_tokens: the parts of those that were read from a cache, or were hidden reasoning.
        seconds: from the request to the end of the answer; of a stream, the time that its reader took is in it.
        time_to_first_delta: seconds from the request to the first delta; None for an answer that was not streamed.
        estimated: whether the tokens are an estimate, because the provider sent no count and a limit needs one.
    """

    __slots__ = (
        "agent",
        "model",
        "response_model",
        "provider",
        "input_tokens",
        "output_tokens",
        "cached_tokens",
        "reasoning_tokens",
        "seconds",
        "time_to_first_delta",
        "estimated",
        "_cost",
        "_prices",
    )

    def __init__(
        self,
        agent: str,
        model: str,
        response_model: str | None = None,
        provider: str | None = None,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        cached_tokens: int = 0,
        reasoning_tokens: int = 0,
        seconds: float = 0.0,
        time_to_first_delta: float | None = None,
        estimated: bool = False,
        prices: Mapping[str, Price] | None = None,
    ) -> None:
        self.agent = agent
        self.model = model
        self.response_model = response_model
        self.provider = provider
        self.input_tokens = input_tokens
        self.output_tokens = output_tokens
        self.cached_tokens = cached_tokens
        self.reasoning_tokens = reasoning_tokens
        self.seconds = seconds
        self.time_to_first_delta = time_to_first_delta
        self.estimated = estimated
        self._prices = prices
        self._cost: float | None = None

    @property
    def cost(self) -> float | None:
        """In US dollars, see `swarm.prices`; None if the price or the number of tokens is not known. Looked up when it is first read."""
        if self._cost is None and self.input_tokens is not None:
            from .prices import cost_of

            self._cost = cost_of(self, self._prices or {})
        return self._cost

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, and the cost."""
        return {**self.fields(), "cost": self.cost}


class Usage(_Plain):
    """What model calls took: those of a run, with everything nested in it, or those of one agent. All amounts are sums over `by_call`.

    Args:
        by_call: the calls, in the order in which they ended.
    """

    __slots__ = ("_calls",)

    def __init__(self, by_call: Iterable[ModelCall] = ()) -> None:
        self._calls: list[Any] = list(by_call)  # appended to from several threads, which a list takes and a sum does not

    @property
    def by_call(self) -> list[ModelCall]:
        """The calls, in the order in which they ended."""
        calls: list[Any] = self._calls
        for at, call in enumerate(calls):
            if not isinstance(call, ModelCall):
                calls[at] = ModelCall(*call)
        return calls

    def fields(self) -> dict[str, Any]:
        """What it was made from, by name."""
        return {"by_call": self.by_call}

    def note(self, call: ModelCall | tuple[Any, ...]) -> None:
        """Add a call: itself, or the arguments to make it from when it is first looked at, since most never are."""
        self._calls.append(call)

    @property
    def input_tokens(self) -> int:
        """As the providers counted them, or as they were estimated."""
        return sum(call.input_tokens or 0 for call in self.by_call)

    @property
    def output_tokens(self) -> int:
        """The same for what the models wrote, hidden reasoning included."""
        return sum(call.output_tokens or 0 for call in self.by_call)

    @property
    def total_tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    @property
    def cached_tokens(self) -> int:
        """The part of the input that providers read from their caches."""
        return sum(call.cached_tokens for call in self.by_call)

    @property
    def reasoning_tokens(self) -> int:
        """The part of the output that was hidden reasoning."""
        return sum(call.reasoning_tokens for call in self.by_call)

    @property
    def calls(self) -> int:
        """Answers of a model."""
        return len(self.by_call)

    @property
    def cost(self) -> float | None:
        """In US dollars. None as soon as the cost of one call is not known, since the sum of the others would pass for the whole."""
        total = 0.0
        for call in self.by_call:
            cost = call.cost
            if cost is None:
                return None
            total += cost
        return total

    @property
    def seconds(self) -> float:
        """Spent waiting for models; of calls side by side, the sum."""
        return sum(call.seconds for call in self.by_call)

    @property
    def estimated(self) -> bool:
        """Whether some tokens were estimated because the provider sent no count."""
        return any(call.estimated for call in self.by_call)

    @property
    def by_agent(self) -> dict[str, Usage]:
        """The same by the name of the agent."""
        shares: dict[str, Usage] = {}
        for call in self.by_call:
            shares.setdefault(call.agent, Usage()).note(call)
        return shares

    def as_dict(self) -> dict[str, Any]:
        """All amounts by name, `by_agent` and `by_call` included."""
        by_agent = {name: share._amounts() for name, share in self.by_agent.items()}
        return {**self._amounts(), "by_agent": by_agent, "by_call": [call.as_dict() for call in self.by_call]}

    def _amounts(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _AMOUNTS}

    def __add__(self, other: Usage) -> Usage:
        """The usage of several runs together."""
        return Usage([*self.by_call, *other.by_call])

    def __repr__(self) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name in _AMOUNTS if name != "cost")  # a look must not load the prices
        return f"Usage({', '.join(shown)})"


_AMOUNTS = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "calls", "cost", "seconds", "estimated")


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
        usage: tokens, cost, calls and seconds of its models.
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
