"""The nouns: Agent, Handoff, Result, Response, Usage, and what a response says of its calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError, field_validator

from .errors import AgentError, ConfigError

if TYPE_CHECKING:
    from .models.profiles import Profile
    from .run import Run
    from .state import State
    from .tools import Tool

SHARE_AGENTS = "agents are shared"
"""A key in the memo of a deep copy: Agents are not copied then."""

NO_FUNCTION = "is no function: give handoffs=[...] to hand over to it, or agent.as_tool() to ask it"
"""What is said of an agent among the functions."""

_OTHER_WAYS = {
    "messages": "run(agent, messages)",
    "model": "Agent(model=...)",
    "stream": "run(..., stream=True)",
    "tool_choice": "Agent(tool_choice=...)",
    "tools": "Agent(functions=[...])",
}

AgentFunction: TypeAlias = Callable[..., Any]
"""A function that a model may call: returns a str, an Agent (a handoff), a Result, or any value that has a text form."""


class Agent(BaseModel):
    """Instructions and functions, and which model speaks for them. A run never writes to it.

    Agents are compared by identity, so two agents may share a name.

    Args:
        name: how it is called in messages and events; any script, not empty.
        model: the model's name as its provider knows it.
        instructions: the system message, sent verbatim (braces are not templates), or a function, sync or async, that returns it
            before every reply. It may ask for `context_variables`, `messages`, `agent`, `run` by parameter name; a single
            positional parameter of any name gets the context variables. None or "" sends no system message.
        functions: what the model may call; also accepted as `tools`.
        tool_choice: "auto", "none", "required" or one function, as the API takes it. Other values than "auto" and "none" are sent
            with this agent's first reply of a run only, since "required" would never end.
        parallel_tool_calls: sent if it was given and the agent has tools; None is never sent.
        description: one line for handoff tools and listings.
        handoffs: agents, or Handoff objects; each becomes a tool `transfer_to_<name>`.
        model_settings: further arguments of the request, such as `temperature`.
        output_type: what its final text has to be: a pydantic model, dataclass, TypedDict, plain type, or a list or union of these. Read
            into `Response.output`; a text that does not fit is asked for once more, without tools, and is then an OutputError.
        history_filter: what this agent sees: a function of `messages` (and `context_variables`) that returns messages.
        client: another provider than the Swarm's.
        profile: how the provider wants this agent's messages, a `swarm.models.profiles.Profile` or the name of one; by default as its
            client says, else as told by base URL and model name.

    Raises:
        AgentError: a field that is unknown or wrong, a function that no model could call, a type that JSON cannot hold.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True, protected_namespaces=())
    __slots__ = ("_output", "_table")  # made from the fields below and collected with them; see outputs.output_of, offers.table_of

    name: str = "Agent"
    model: str = "gpt-4o"
    instructions: str | Callable[..., Any] | None = "You are a helpful agent."
    functions: list[AgentFunction] = Field(default_factory=list[AgentFunction], validation_alias=AliasChoices("functions", "tools"))
    tool_choice: Any = None
    parallel_tool_calls: bool | None = True
    description: str | None = None
    handoffs: list[Any] = Field(default_factory=list)
    model_settings: dict[str, Any] = Field(default_factory=dict)
    output_type: Any = None
    history_filter: Callable[..., Any] | None = None
    client: Any = None
    profile: Any = None

    if TYPE_CHECKING:  # `tools` is another name of `functions`, which type checkers do not read from an alias

        def __init__(
            self,
            *,
            name: str = "Agent",
            model: str = "gpt-4o",
            instructions: str | Callable[..., Any] | None = "You are a helpful agent.",
            functions: Sequence[AgentFunction] = (),
            tools: Sequence[AgentFunction] = (),
            tool_choice: Any = None,
            parallel_tool_calls: bool | None = True,
            description: str | None = None,
            handoffs: Sequence[Agent | Handoff] = (),
            model_settings: dict[str, Any] = ...,
            output_type: Any = None,
            history_filter: Callable[..., Any] | None = None,
            client: Any = None,
            profile: Profile | str | None = None,
        ) -> None: ...

    else:

        def __init__(self, **fields: Any) -> None:
            try:
                super().__init__(**fields)
            except ValidationError as error:
                raise AgentError(_explain(type(self), fields, error)) from None
            if self.functions or self.handoffs or callable(self.instructions) or self.history_filter is not None:
                from .offers import check_agent

                check_agent(self)
            if self.output_type is not None:
                from .outputs import output_of

                output_of(self)

    @field_validator("name")
    @classmethod
    def _name_says_something(cls, name: str) -> str:
        if not name.strip():
            raise ValueError("must not be empty; it is shown in messages and events")
        return name

    @field_validator("model_settings")
    @classmethod
    def _settings_leave_the_rest_alone(cls, settings: dict[str, Any]) -> dict[str, Any]:
        wrong = [f"{name} (use {way})" for name, way in _OTHER_WAYS.items() if name in settings]
        if wrong:
            raise ValueError(f"holds what has a place of its own: {', '.join(wrong)}")
        return settings

    @field_validator("profile")
    @classmethod
    def _profile_is_known(cls, profile: Any) -> Any:
        from .models.profiles import checked

        try:
            return checked(profile)
        except (ConfigError, TypeError) as error:
            raise ValueError(str(error)) from None

    @property
    def tools(self) -> list[AgentFunction]:
        """The same list as `functions`."""
        return self.functions

    @tools.setter
    def tools(self, functions: list[AgentFunction]) -> None:
        self.functions = functions

    def copy(self, **changes: Any) -> Agent:
        """A new agent with the same fields but for `changes`. Lists are copied, what they hold is shared.

        Raises:
            AgentError: as for a new agent.
        """
        fields = {name: getattr(self, name) for name in self.model_fields_set}
        if "tools" in changes:
            fields.pop("functions", None)
        return type(self)(**{**fields, **changes})

    def as_tool(self, name: str | None = None, description: str | None = None) -> Tool:
        """This agent as a function of another: it gets one text, works on it alone, and its last text is the result, or
        "<name> stopped early (<stop reason>). <last text>".

        The inner messages stay inside; limits, usage and the context variables are shared with the outer run. For more options:
        `tool(agent.as_tool(), approval=True)`; `timeout` and `retries` do not apply to it.

        Args:
            name: the function's name; by default the agent's own, made legal.
            description: what the outer model is told of it; by default the agent's description.

        Raises:
            AgentError: a name that no provider takes.
        """
        from .agents import agent_tool

        return agent_tool(self, name, description)

    def __deepcopy__(self, memo: dict[Any, Any] | None = None) -> Agent:
        return self if memo and SHARE_AGENTS in memo else super().__deepcopy__(memo)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r})"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


def _explain(kind: type[Agent], fields: dict[str, Any], error: ValidationError) -> str:
    lines = [f"{kind.__name__}(name={fields.get('name', 'Agent')!r}) cannot be made:"]
    for item in error.errors(include_url=False):
        where = ".".join(str(part) for part in item["loc"])
        text = item["msg"].removeprefix("Value error, ")
        if item["type"] == "callable_type":
            wrong = item["input"]
            text = f"{wrong!r} is not callable; give a function, or an object with __call__"
            text = f"{wrong!r} {NO_FUNCTION}" if isinstance(wrong, Agent | Handoff) else text
        elif item["type"] == "extra_forbidden":
            text = f"there is no such field; the fields are {', '.join(kind.model_fields)}"
            text = "another name for functions; give one of the two" if where == "tools" else text
        lines.append(f"  {where}: {text}")
    return "\n".join(lines)


class Handoff:
    """A way from one agent to another, with more to say than the bare agent in `Agent(handoffs=[...])`.

    Args:
        agent: the agent that takes over.
        name: the tool's name; by default `transfer_to_<agent's name>`.
        description: what the model is told; by default made from the agent's description.
        when: a function (of `context_variables`, `messages`, ...) that returns whether the tool is offered now.
        history_filter: what the target sees of the history while it is active.
        message: what the tool message says; by default `{"assistant": "<name>"}`.
        returns: whether control and a value come back: the target works on the conversation until it is done, and its last text
            is the result of the call.

    Raises:
        AgentError: `agent` is none, `when` or `history_filter` cannot be called.
    """

    __slots__ = ("agent", "description", "history_filter", "message", "name", "returns", "when")

    def __init__(
        self,
        agent: Agent,
        name: str | None = None,
        description: str | None = None,
        when: Callable[..., Any] | None = None,
        history_filter: Callable[..., Any] | None = None,
        message: str | None = None,
        returns: bool = False,
    ) -> None:
        if not isinstance(agent, Agent):  # type: ignore[redundant-expr]  # callers without a type checker
            raise AgentError(f"Handoff(agent=...) needs an Agent, not {type(agent).__name__}")
        for label, value in (("when", when), ("history_filter", history_filter)):
            if value is not None and not callable(value):
                raise AgentError(f"Handoff({agent.name!r}, {label}=...) needs a function, not {type(value).__name__}")
        self.agent = agent
        self.name = name
        self.description = description
        self.when = when
        self.history_filter = history_filter
        self.message = message
        self.returns = returns

    def __repr__(self) -> str:
        return f"Handoff({self.agent.name!r})"


class Result(BaseModel):
    """What a function may return when a plain value does not say it all.

    Args:
        value: what the model is told.
        agent: the agent that takes over, if any.
        context_variables: merged into the run's, one level deep.
        stop: whether the run ends here; `value` is then `Response.output`.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    value: Any = ""
    agent: Agent | None = None
    context_variables: dict[str, Any] = Field(default_factory=dict)
    stop: bool = False


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
            "length", "refusal", "content_filter", "cancelled", or "error" on an exception's `.response`.
        calls: every tool call and what became of it.
        pending: calls that wait for a decision, when `stop_reason` is "approval".
        output: the final text as the `output_type` of its agent says, or the value of `Result(stop=True)`, else None.
    """

    __slots__ = ("messages", "agent", "context_variables", "usage", "stop_reason", "calls", "pending", "output", "_run")

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
        return None, {**self.as_dict(), "_run": None}

    def state(self) -> State:
        """The run as plain JSON, to go on later or elsewhere: `Swarm().resume(load_state(data, agents=[...]))`.

        Raises:
            StateError: the response was not made by a run, or is a copy of one that was; or a context variable that JSON cannot hold, with
                its path.
        """
        from .state import dump

        return dump(self, self._run)
