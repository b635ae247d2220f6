"""The form of a saved state, checked field by field. Apart from `state`, so that only a program that loads one makes these models."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from .errors import StateError

Count = Annotated[int, Field(ge=0)]
Guarded = Annotated[str, Field(pattern="^guardrail:.")]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Form(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")


class SavedModelCall(_Form):
    """As `ModelCall`."""

    agent: str
    model: str
    response_model: str | None
    provider: str | None
    input_tokens: Count | None
    output_tokens: Count | None
    cached_tokens: Count
    reasoning_tokens: Count
    seconds: Seconds
    time_to_first_delta: Seconds | None
    estimated: bool


class SavedCounts(_Form):
    """As `Scope`, without its time."""

    model_calls: Count
    handoffs: Count
    tool_calls: Count
    tokens: Count
    cost: Seconds


class SavedCircles(_Form):
    """As `Circles`."""

    repeats: Count
    bounces: Count
    executed: list[Any]


class SavedLimit(_Form):
    """A limit that ended the run, and how much it allowed."""

    name: Literal["handoffs", "tool_calls", "loop"]
    why: str
    amount: Seconds


class SavedCall(_Form):
    """As `ToolCall`."""

    id: str
    name: str
    arguments: Any
    agent: str
    outcome: Literal["ok", "error", "refused", "skipped", "timed_out", "unknown"]
    error: str | None
    handoff_to: str | None
    seconds: Seconds


class SavedHandoff(_Form):
    """The handoff whose history_filter is in force: whose it is, and its tool."""

    agent: str
    tool: str


class SavedOutcome(_Form):
    """A finished answer of a batch that is not finished."""

    kind: Literal["ok", "error", "refused", "skipped", "timed_out", "unknown"]
    text: str
    agent: str | None
    through_handoff: bool
    variables: dict[str, Any] | None
    stop: bool | Guarded
    value: Any
    seconds: Seconds
    given: bool
    parts: list[dict[str, Any]] | None


class Saved(_Form):
    """A whole state."""

    id: str
    agent: str
    messages: list[dict[str, Any]]
    new_from: Count
    context_variables: dict[str, Any]
    turn: Count
    cause: str
    finish: str | None
    cut_off: bool
    over: Literal["complete", "stopped", "length", "refusal", "content_filter"] | Guarded | None
    output: Any
    limit: SavedLimit | None
    usage: list[SavedModelCall]
    counts: SavedCounts | None
    circles: SavedCircles
    calls: list[SavedCall]
    spent_tool_choice: list[str]
    handoff: SavedHandoff | None
    origins: dict[Annotated[int, Field(ge=0, strict=False)], str]
    held: dict[str, SavedOutcome]
    begun: list[str]
    unknown: list[str]
    nested: dict[str, Saved]


def read_saved(data: dict[str, Any]) -> Saved:
    """Check a state's fields.

    Raises:
        StateError: names each field that is missing or wrong.
    """
    try:
        return Saved.model_validate(data)
    except ValidationError as error:
        places = (f"state.{'.'.join(map(str, item['loc']))}: {item['msg'].lower()}" for item in error.errors(include_url=False))
        raise StateError(f"this is no saved state. {'; '.join(places)}") from None
    except RecursionError:
        raise StateError("this is no saved state: it is nested too deeply") from None
