"""Tool calls as a tape keeps them, and back: what the model was told, who took over, what became of the context variables."""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import to_jsonable_python

from ...calls import Outcome, read
from ...effects import CallTool
from ...errors import ToolError, ToolTimeout
from ...types import Result
from .agents import find_agent
from .lines import Line, TapeError, as_json
from .redaction import Redaction

_GONE = object()


def asked_call(call: CallTool, redaction: Redaction) -> Line:
    """What a call is recognised by: its tool, its id with those of the calls around it, its arguments."""
    key = call.run.idempotency_key or call.id
    arguments = to_jsonable_python(call.arguments, fallback=lambda value: as_json(value))
    return {"tool": call.tool.name, "call": key.partition("/")[2] or key, "arguments": redaction.data(arguments)}


class Variables:
    """The context variables before a call, so that what it changed can be told."""

    def __init__(self, variables: dict[str, Any]) -> None:
        self._variables = variables
        self._before = {key: (value, _held(value)) for key, value in variables.items()}

    def changes(self, tool: str, redaction: Redaction) -> Line:
        """What is different now: `context` has the new values, `removed` the names that are gone.

        Args:
            tool: the tool's name, for the error.
            redaction: what is hidden.

        Raises:
            TapeError: a new value that JSON cannot hold. One that was there before and has only changed inside is left alone.
        """
        new: Line = {}
        for key, value in list(self._variables.items()):
            old, text = self._before.get(key, (_GONE, None))
            now = _held(value)
            if now is None and value is not old:
                raise TapeError(_cannot_hold(f"{tool} set the context variable {key!r} to", value))
            if now is not None and now != text:
                new[key] = json.loads(now)
        gone = [redaction.text(key) for key in self._before if key not in self._variables]
        return {**({"context": redaction.data(new)} if new else {}), **({"removed": gone} if gone else {})}


def _held(value: Any) -> str | None:
    """The value as JSON text; None for one that would not come back from it as it was."""
    try:
        text = json.dumps(value)
        return text if json.loads(text) == value else None
    except (TypeError, ValueError, RecursionError):
        return None


def _cannot_hold(what: str, value: Any) -> str:
    return (
        f"{what} a {type(value).__name__}, which a tape cannot hold: keep plain values, "
        "or leave out policies=[tape], so that tools run when the tape is replayed"
    )


def written_value(call: CallTool, value: Any, redaction: Redaction) -> Line:
    """What a tool returned, as JSON without secrets.

    Raises:
        TapeError: variables of a Result, or the value of one that stops the run, that JSON cannot hold.
    """
    outcome = value if isinstance(value, Outcome) else read(value, call.tool)
    line: Line = {"text": redaction.text(outcome.text)}
    if outcome.parts:
        line["parts"] = redaction.said(as_json(outcome.parts))
    if outcome.agent is not None:
        line["next"] = outcome.agent.name
    for name, wanted, part in (("variables", bool(outcome.variables), outcome.variables), ("stop", outcome.stop, outcome.value)):
        if wanted:
            text = _held(part)
            if text is None:
                raise TapeError(_cannot_hold(f"{call.tool.name} returned a Result with {'value' if name == 'stop' else name} of", part))
            line[name] = redaction.data(json.loads(text))
    return line


def written_failure(error: Exception, redaction: Redaction) -> Line:
    """What a tool raised, as JSON without secrets."""
    kind = type(error).__name__
    text = str(error) if isinstance(error, ToolError) else f"{kind}: {error}" if str(error) else kind
    return {"text": redaction.text(text), "failed": "timeout" if isinstance(error, ToolTimeout) else "error"}


def value_of(line: Line, call: CallTool) -> Any:
    """What the tool returns when the call is replayed.

    Raises:
        ToolError: it failed when it was recorded.
        TapeError: the agent that took over cannot be found.
    """
    if "failed" in line:
        raise (ToolTimeout if line["failed"] == "timeout" else ToolError)(line["text"])
    agent = find_agent(line["next"], call.tool, call.agent) if "next" in line else None
    stops, variables, parts = "stop" in line, line.get("variables"), line.get("parts")
    if not stops and not variables and not parts:
        if agent is None:
            return line["text"]
        if read(agent, call.tool).text == line["text"]:
            return agent
    value = as_json(line["stop"]) if stops else line["text"]
    return Result(value=value, agent=agent, context_variables=as_json(variables or {}), stop=stops, parts=as_json(parts or []))


def change(variables: dict[str, Any], line: Line, number: int, changed_by: dict[str, int]) -> None:
    """Change the context variables as a call did.

    Args:
        variables: the run's, live.
        line: the call's.
        number: the place of the line in the tape.
        changed_by: for each variable the place of the last line that changed it. Calls side by side may come in another order than
            they did; the last one that was recorded wins all the same.
    """
    for key in (*line.get("context", ()), *line.get("removed", ())):
        if changed_by.get(key, -1) > number:
            continue
        changed_by[key] = number
        if key in line.get("context", ()):
            variables[key] = as_json(line["context"][key])
        else:
            variables.pop(key, None)
