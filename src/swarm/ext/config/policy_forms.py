"""The form of the policies, each named by `type` as in `swarm.policies`, and of the checks that a guardrail can have.

Each key is the argument of that name. What only a function could say is said as a function's dotted path, or not at all.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

from ...policies.expressions import Expression


class Form(BaseModel):
    """What all forms share: nothing unknown, and values as they are written."""

    model_config = ConfigDict(extra="forbid", strict=True, protected_namespaces=(), use_attribute_docstrings=True)


def _in_cel(source: str) -> str:
    Expression(source, ())  # says what is wrong with it
    return source


Condition: TypeAlias = Annotated[str, AfterValidator(_in_cel)]
"""In the Common Expression Language."""
FunctionName: TypeAlias = Annotated[str, Field(pattern=r"^[^\W\d]\w*(\.[^\W\d]\w*)+$")]
"""A function by its dotted path: `module.function`."""
OneOrMore: TypeAlias = str | list[str]


class RetryForm(Form):
    """Tries again what failed for the moment."""

    type: Literal["Retry"]
    tries: int = Field(5, ge=1)
    seconds: float = Field(60.0, ge=0)
    tools: bool | list[str] = False


class RateLimitForm(Form):
    """Keeps to requests and tokens a minute."""

    type: Literal["RateLimit"]
    requests_per_minute: int | None = Field(None, ge=1)
    tokens_per_minute: int | None = Field(None, ge=1)
    wait: bool = True


class CacheForm(Form):
    """Answers a request that was answered before."""

    type: Literal["Cache"]
    path: str | None = None
    """Relative to this file, and in its folder; without it, replies are kept in memory."""
    ttl: float | None = Field(None, gt=0)
    """Seconds."""
    max_entries: int = Field(10_000, ge=1)


class OtherClientForm(Form):
    """A client, and the model to ask for there."""

    client: str
    """Its key under `clients`."""
    model: str | None = None


class FallbackForm(Form):
    """Asks another model or client where the first cannot answer: one of models, clients."""

    type: Literal["Fallback"]
    models: list[str] = Field(default_factory=list[str])
    clients: list[OtherClientForm] = Field(default_factory=list[OtherClientForm])
    content_filter: bool = False


class SummaryForm(Form):
    """A model sums up what is left out."""

    type: Literal["Summary"]
    model: str | None = None
    client: str | None = None
    words: int = Field(200, ge=1)


class ContextWindowForm(Form):
    """Keeps each request within a number of tokens."""

    type: Literal["ContextWindow"]
    max_tokens: int = Field(ge=1)
    strategy: Annotated[
        Annotated[Literal["drop", "shorten"], Tag("as a text")] | Annotated[SummaryForm, Tag("as a table")],
        Discriminator(lambda value: "as a table" if isinstance(value, dict | Form) else "as a text"),
    ] = "drop"


class RuleForm(Form):
    """What a rule is about; all that is named has to fit. Names may hold * and ?."""

    tools: OneOrMore | None = None
    to: OneOrMore | None = None
    """Names of agents that are handed over to."""
    agents: OneOrMore | None = None
    users: OneOrMore | None = None
    roles: OneOrMore | None = None
    when: Condition | None = None
    """In CEL over user, roles, tool, to, arguments, context_variables, agent."""
    reason: str = ""

    @model_validator(mode="after")
    def _is_about_one(self) -> RuleForm:
        if self.tools is not None and self.to is not None:
            raise ValueError("has both tools and to; calls and handoffs need a rule each")
        return self


class PermissionForm(Form):
    """Lets only those tools and handoffs be used that rules allow. A rule under deny wins."""

    type: Literal["Permission"]
    allow: list[RuleForm] = Field(default_factory=list[RuleForm])
    deny: list[RuleForm] = Field(default_factory=list[RuleForm])
    default: Literal["allow", "deny"] = "deny"
    user: str = "user"
    roles: str = "roles"
    secrets: dict[str, OneOrMore] = Field(default_factory=dict[str, OneOrMore])
    """Context variables, each with the tools that get it."""


class ApprovalForm(Form):
    """Asks about calls that need an approval."""

    type: Literal["Approval"]
    ask: FunctionName | None = None
    """Decides; without it the run pauses, and the caller decides."""
    when: Condition | None = None
    """Which calls need one though their tool does not say so: in CEL over tool, arguments, context_variables, agent."""


class RouterForm(Form):
    """Hands over before the first model call where it is plain who should answer."""

    type: Literal["Router"]
    start: str
    """The key of the agent that decides otherwise."""
    routes: dict[str, list[str]] = Field(min_length=1)
    """For each agent, by its key, what users say who need it."""
    threshold: float | None = Field(None, ge=-1, le=1)
    margin: float | None = Field(None, ge=0, le=2)


class SmallModelForm(Form):
    """Makes requests easier for a small model."""

    type: Literal["SmallModel"]
    tools: int | None = Field(None, ge=1)
    route: bool = True
    strict: bool = True
    nudge: bool = True
    agents: list[str] | None = None
    """The keys of those whom it helps; by default all."""


class PatternForm(Form):
    """A regular expression that blocks, or whose matches are replaced."""

    type: Literal["Pattern"]
    pattern: str
    by: str | None = None
    longest: int = Field(200, ge=1)


class LengthForm(Form):
    """Blocks a text that is too long."""

    type: Literal["Length"]
    characters: int | None = Field(None, ge=1)
    tokens: int | None = Field(None, ge=1)


class HostsForm(Form):
    """Blocks or replaces links to other hosts."""

    type: Literal["Hosts"]
    allowed: list[str]
    by: str | None = None


class JsonSchemaForm(Form):
    """Blocks what does not follow a JSON Schema."""

    type: Literal["JsonSchema"]
    json_schema: dict[str, Any] = Field(alias="schema")


class JudgeForm(Form):
    """Asks a model whether a text keeps to a rule."""

    type: Literal["Judge"]
    rule: str
    client: str | None = None
    model: str | None = None
    settings: dict[str, Any] = Field(default_factory=dict[str, Any])


class FunctionCheckForm(Form):
    """A check of one's own."""

    type: Literal["function"]
    use: FunctionName


CheckForm: TypeAlias = Annotated[
    PatternForm | LengthForm | HostsForm | JsonSchemaForm | JudgeForm | FunctionCheckForm, Field(discriminator="type")
]
_Where: TypeAlias = Literal["input", "output", "arguments", "result"]


class GuardrailForm(Form):
    """Checks what goes in and comes out."""

    type: Literal["Guardrail"]
    check: CheckForm
    on: _Where | list[_Where] = "output"
    name: str | None = None
    message: str | None = None
    on_block: Literal["tell", "end", "raise"] = "tell"
    beside: bool | None = None
    window: int | None = Field(None, ge=1)


PolicyForm: TypeAlias = Annotated[
    ApprovalForm
    | CacheForm
    | ContextWindowForm
    | FallbackForm
    | GuardrailForm
    | PermissionForm
    | RateLimitForm
    | RetryForm
    | RouterForm
    | SmallModelForm,
    Field(discriminator="type"),
]
