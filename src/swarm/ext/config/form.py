"""The form of a configuration, as pydantic models: what may stand where, and of which type. `editor` makes the JSON Schema of it.

Values are taken as they are: a number in quotes is a text, and no text becomes a number or a truth value.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, Field, JsonValue, Tag, model_validator

from .policy_forms import Condition, Form, FunctionName, PolicyForm

_Name: TypeAlias = Annotated[str, Field(min_length=1)]


def _written_as(value: Any) -> str:
    return "as a table" if isinstance(value, dict | Form) else "as a text"


def _function_written_as(value: Any) -> str:
    is_agent = "agent" in value if isinstance(value, dict) else isinstance(value, AgentToolForm)
    return "as an agent" if is_agent else _written_as(value)


class LimitsForm(Form):
    """What may be used; see `swarm.Limits`."""

    model_calls: int | None = Field(None, ge=0)
    handoffs: int | None = Field(None, ge=0)
    tool_calls: int | None = Field(None, ge=0)
    tokens: int | None = Field(None, ge=0)
    cost: float | None = Field(None, ge=0)
    """US dollars."""
    seconds: float | None = Field(None, ge=0)
    repeats: int | None = Field(None, ge=0)
    on_limit: Literal["return", "answer", "raise"] = "return"


class ClientForm(Form):
    """A server that speaks Chat Completions."""

    base_url: _Name
    """Such as http://localhost:11434/v1."""
    api_key_env: str | None = Field(None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """The name of the environment variable that holds the key; without it no key is sent."""
    profile: str | None = None
    """The name of a profile, where the server's address does not tell it."""
    timeout: float | None = Field(None, gt=0)
    """Seconds for a whole call."""


class InstructionsForm(Form):
    """Instructions that stand elsewhere: one of the two."""

    file: str | None = None
    """Relative to this file, and in its folder."""
    function: FunctionName | None = None
    """Returns them before every reply."""

    @model_validator(mode="after")
    def _is_one(self) -> InstructionsForm:
        return _one_of(self, "file", "function")


class HistoryForm(Form):
    """What is seen of the history: one of these."""

    last: int | None = Field(None, ge=1)
    """The last turns."""
    function: FunctionName | None = None
    """Returns messages."""

    @model_validator(mode="after")
    def _is_one(self) -> HistoryForm:
        return _one_of(self, "last", "function")


HistoryFilter: TypeAlias = Annotated[
    Annotated[Literal["since_handoff", "without_tools"], Tag("as a text")] | Annotated[HistoryForm, Tag("as a table")],
    Discriminator(_written_as),
]


class ToolForm(Form):
    """A function, with more to say; see `swarm.tool`."""

    use: FunctionName
    """The function."""
    name: str | None = None
    description: str | None = None
    approval: bool | Condition | None = None
    """Whether a person must agree; or a condition in CEL over arguments, context_variables, agent."""
    enabled: bool | Condition | None = None
    """Whether it is offered; or a condition in CEL over context_variables, messages, agent."""
    timeout: float | None = Field(None, gt=0)
    """Seconds a call may take."""
    retries: int | None = Field(None, ge=0)
    exclusive: bool | None = None
    strict: bool | None = None
    examples: list[str] | None = None
    effect: Literal["repeatable", "once"] | None = None
    max_chars: int | None = Field(None, ge=1)


class AgentToolForm(Form):
    """Another agent as a function; see `Agent.as_tool`."""

    agent: _Name
    """Its key under `agents`."""
    name: str | None = None
    description: str | None = None
    limits: LimitsForm | None = None


FunctionEntry: TypeAlias = Annotated[
    Annotated[FunctionName, Tag("as a text")] | Annotated[ToolForm, Tag("as a table")] | Annotated[AgentToolForm, Tag("as an agent")],
    Discriminator(_function_written_as),
]


class HandoffForm(Form):
    """A way to another agent; see `swarm.Handoff`."""

    to: _Name
    """The agent's key under `agents`."""
    when: Condition | None = None
    """A condition in CEL over context_variables, messages, agent."""
    similar_to: list[str] | None = Field(None, min_length=1)
    """Offered while the user's last message is near one of these in meaning."""
    threshold: float | None = Field(None, ge=-1, le=1)
    """For similar_to: the cosine from which a message is near."""
    name: str | None = None
    description: str | None = None
    message: str | None = None
    returns: bool = False
    history_filter: HistoryFilter | None = None
    limits: LimitsForm | None = None

    @model_validator(mode="after")
    def _has_one_condition(self) -> HandoffForm:
        if self.when is not None and self.similar_to is not None:
            raise ValueError("has both when and similar_to; write two handoffs with a name each, or keep one")
        if self.threshold is not None and self.similar_to is None:
            raise ValueError("threshold needs similar_to")
        return self


HandoffEntry: TypeAlias = Annotated[
    Annotated[_Name, Tag("as a text")] | Annotated[HandoffForm, Tag("as a table")], Discriminator(_written_as)
]
Settings: TypeAlias = dict[str, JsonValue]


class DefaultsForm(Form):
    """What holds for each agent that does not say it itself; model settings are taken one by one."""

    model: _Name | None = None
    model_settings: Settings | None = None
    parallel_tool_calls: bool | None = None
    client: str | None = None
    profile: str | None = None


class AgentForm(DefaultsForm):
    """An agent; see `swarm.Agent`."""

    name: _Name | None = None
    """By default its key."""
    description: str | None = None
    instructions: (
        Annotated[
            Annotated[str, Tag("as a text")] | Annotated[InstructionsForm, Tag("as a table")],
            Discriminator(_written_as),
        ]
        | None
    ) = None
    functions: list[FunctionEntry] = Field(default_factory=list[FunctionEntry])
    handoffs: list[HandoffEntry] = Field(default_factory=list[HandoffEntry])
    tool_choice: str | Settings | None = None
    output_type: str | Settings | None = None
    """A type by its dotted path, or a JSON Schema."""
    history_filter: HistoryFilter | None = None


class PriceForm(Form):
    """US dollars for a million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached: float | None = Field(None, ge=0)


class ConfigurationForm(Form):
    """Agents, and what stands around them."""

    functions_from: list[str] = Field(default_factory=list[str])
    """The modules whose functions may be named here. Whoever reads this file must allow them too."""
    agent: str | None = None
    """The key of the agent that begins, where there are several."""
    agents: dict[_Name, AgentForm] = Field(min_length=1)
    defaults: DefaultsForm = Field(default_factory=DefaultsForm)
    clients: dict[_Name, ClientForm] = Field(default_factory=dict[str, ClientForm])
    client: str | None = None
    """The key of the client for all agents; by default the one that the environment names."""
    profile: str | None = None
    limits: LimitsForm | None = None
    policies: list[PolicyForm] = Field(default_factory=list[PolicyForm])
    """The first is outermost."""
    prices: dict[str, PriceForm] = Field(default_factory=dict[str, PriceForm])
    parallel_tools: bool | Annotated[int, Field(ge=1)] = False
    tool_errors: Literal["report", "raise"] = "report"
    embed: FunctionName | None = None
    """Makes vectors of texts, for similar_to, Router and SmallModel; by default the sentence model of the extra `offline`."""
    context_variables: Settings = Field(default_factory=dict[str, JsonValue])
    """What a conversation on the command line begins with."""


def _one_of(form: Any, *names: str) -> Any:
    if sum(getattr(form, name) is not None for name in names) != 1:
        raise ValueError(f"needs one of {', '.join(names)}")
    return form
