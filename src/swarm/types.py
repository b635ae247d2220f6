"""The nouns that a caller writes: Agent, Handoff, Result. What a run answers with stands in `records`, under these names too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError, field_validator, model_serializer

from .errors import AgentError, ConfigError
from .records import Approve as Approve
from .records import ModelCall as ModelCall
from .records import Pending as Pending
from .records import Refuse as Refuse
from .records import Response as Response
from .records import ToolCall as ToolCall
from .records import Usage as Usage

if TYPE_CHECKING:
    from .limits import Limits
    from .models.profiles import Profile
    from .tools import Tool

AS_NAME = "agents are named"
"""The context of a serialisation in which an Agent is its name, as in the message of a handoff: a model must not read its instructions."""

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
        history_filter: what this agent sees: a function that returns messages, of `messages` and, if it asks for them,
            `context_variables`, `agent`, `run`.
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

    @model_serializer(mode="wrap")
    def _as_name(self, handler: Any, info: Any) -> Any:
        return {"assistant": self.name} if info.context == AS_NAME else handler(self)

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

    def as_tool(self, name: str | None = None, description: str | None = None, limits: Limits | None = None) -> Tool:
        """This agent as a function of another: it gets one text, works on it alone, and its last text is the result, or
        "<name> stopped early (<stop reason>). <last text>".

        The inner messages stay inside; limits, usage and the context variables are shared with the outer run. For more options:
        `tool(agent.as_tool(), approval=True)`; `timeout` and `retries` do not apply to it.

        Args:
            name: the function's name; by default the agent's own, made legal.
            description: what the outer model is told of it; by default the agent's description.
            limits: what may be used inside one call, counted afresh for each; the outer limits hold as well.

        Raises:
            AgentError: a name that no provider takes.
            TypeError: `limits` is neither Limits nor None.
        """
        from .agents import agent_tool

        return agent_tool(self, name, description, limits)

    def __deepcopy__(self, memo: dict[Any, Any] | None = None) -> Agent:
        return self if memo and SHARE_AGENTS in memo else super().__deepcopy__(memo)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r})"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__  # type: ignore[assignment]  # in C; an agent is a key in many tables


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
        limits: what may be used inside one call, with `returns=True`; see `Agent.as_tool`.

    Raises:
        AgentError: `agent` is no Agent, `when` or `history_filter` cannot be called, `limits` without `returns=True`.
        TypeError: `limits` is neither Limits nor None.
    """

    __slots__ = ("agent", "description", "history_filter", "limits", "message", "name", "returns", "when")

    def __init__(
        self,
        agent: Agent,
        name: str | None = None,
        description: str | None = None,
        when: Callable[..., Any] | None = None,
        history_filter: Callable[..., Any] | None = None,
        message: str | None = None,
        returns: bool = False,
        limits: Limits | None = None,
    ) -> None:
        if not isinstance(agent, Agent):  # type: ignore[redundant-expr]  # callers without a type checker
            raise AgentError(f"Handoff(agent=...) needs an Agent, not {type(agent).__name__}")
        for label, value in (("when", when), ("history_filter", history_filter)):
            if value is not None and not callable(value):
                raise AgentError(f"Handoff({agent.name!r}, {label}=...) needs a function, not {type(value).__name__}")
        if limits is not None:
            from .limits import checked

            checked(limits)
            if not returns:
                raise AgentError(
                    f"Handoff({agent.name!r}, limits=...) needs returns=True: an agent that takes over has the run's own limits"
                )
        self.agent = agent
        self.name = name
        self.description = description
        self.when = when
        self.history_filter = history_filter
        self.message = message
        self.returns = returns
        self.limits = limits

    def __repr__(self) -> str:
        return f"Handoff({self.agent.name!r})"


class Result(BaseModel):
    """What a function may return when a plain value does not say it all.

    Args:
        value: what the model is told.
        agent: the agent that takes over, if any.
        context_variables: merged into the run's, one level deep.
        stop: whether the run ends here; `value` is then `Response.output`.
        parts: what the model is to see: `Image`, `File`, or content parts as dicts. They follow the answers to all calls of the reply.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    value: Any = ""
    agent: Agent | None = None
    context_variables: dict[str, Any] = Field(default_factory=dict)
    stop: bool = False
    parts: list[Any] = Field(default_factory=list)
