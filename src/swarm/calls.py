"""May a call run, and what does it come to."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from .approvals import ApprovalError
from .context import own
from .effects import Call, CallTool, Flow, HandOff, Message
from .errors import OutOfTime, ToolError, ToolNotFound, ToolTimeout
from .events import ToolDone, ToolStarted
from .handoffs import message_for
from .limits import passed
from .messages import tool_message
from .parts import shortened, told
from .run import Run, RunInfo, logger
from .tools import Tool, result_text
from .types import Agent, Handoff, Refuse, Result, ToolCall


class Outcome:
    """What a call came to.

    Attributes:
        kind: as `ToolCall.outcome`, or "paused".
        text: the content of the tool message.
        error: the failure, or None.
        agent: the agent it hands over to, or None.
        handoff: the Handoff through which, or None.
        variables: context variables to merge.
        stop, value: whether the run ends here, or the reason for which it does; and with what value.
        parts: content parts for the model to see, or None.
        seconds: how long it ran.
        merged: whether `variables` have been merged.
        given: whether it stood in the caller's history already.
    """

    __slots__ = ("agent", "error", "given", "handoff", "kind", "merged", "parts", "seconds", "stop", "text", "value", "variables")

    def __init__(self, kind: str, text: str, parts: list[Message] | None = None, error: Exception | None = None) -> None:
        self.kind = kind
        self.text = text
        self.error = error
        self.agent: Agent | None = None
        self.handoff: Handoff | None = None
        self.variables: dict[str, Any] | None = None
        self.parts = parts
        self.stop: bool | str = False
        self.merged = self.given = False
        self.value: Any = None
        self.seconds = 0.0


class Planned:
    """One call of a reply before it runs.

    Attributes:
        id, name, raw: as the model wrote them.
        arguments: validated values by name, or `raw` where it could not be read.
        changed: whether a person approved other arguments.
        tool: the tool, or None if there is none of that name.
        outcome: set already if the call will not run.
        seconds: how long it ran, all tries together.
    """

    __slots__ = ("arguments", "changed", "id", "name", "outcome", "raw", "seconds", "tool")
    context = tries = variables = None  # as on a CallTool, which `perform` takes too

    def __init__(self, id: str, name: str, raw: Any) -> None:
        self.changed = False
        self.seconds = 0.0
        self.id = id
        self.name = name
        self.raw = self.arguments = raw
        self.tool: Tool | None = None
        self.outcome: Outcome | None = None

    def spent(self, seconds: float) -> None:
        """Note the time of one try."""
        self.seconds += seconds

    def refuse(self, kind: str, text: str) -> None:
        """Decide that the call will not run, and what the model is told instead."""
        self.outcome = Outcome(kind, text)


def plan(run: Run, message: Message) -> list[Planned]:
    """The calls of a reply, resolved against the tools that were offered with it, arguments read and checked."""
    planned: list[Planned] = []
    for entry in message["tool_calls"]:
        function: dict[str, Any] = entry.get("function") or {}
        raw = function.get("arguments")
        call = Planned(entry["id"], function.get("name") or "", raw)
        planned.append(call)
        tool = call.tool = run.offered.get(call.name)
        try:
            if tool is None:
                raise ToolNotFound(_unknown(call.name, run))
            call.arguments = tool.arguments(raw)
        except ToolError as error:
            call.outcome = failed(run, error)
    return planned


def _unknown(name: str, run: Run) -> str:
    from difflib import get_close_matches  # few runs need it

    offered = [name for name in run.offered if name not in run.withheld]
    names = ", ".join(offered) or "none: answer with text instead"
    near = " or ".join(get_close_matches(name, offered, n=3, cutoff=0.6))
    return f"Tool {name} not found. {f'Did you mean {near}? ' if near else ''}Available tools: {names}."


def perform(run: Run, effect: CallTool | Planned) -> Flow:
    """Run one call, as often as its tool allows. What it raises is the caller's to explain."""
    tool = effect.tool
    assert tool is not None
    if tool.nested is not None:
        return (yield from tool.nested(run, effect.id, effect.arguments))
    tries = 1 if tool.effect == "once" else effect.tries or tool.retries + 1
    while True:
        arguments = own(effect.arguments)
        if tool.context_parameter:
            arguments = {**arguments, "context_variables": run.context if effect.variables is None else effect.variables}
        if tool.run_parameter:
            arguments = {**arguments, tool.run_parameter: RunInfo(run, effect.id)}
        call = Call(tool.fn, (), arguments, not (tool.inline or tool.is_async), tool.timeout, effect.context)
        try:
            return (yield call)
        except OutOfTime:
            raise
        except Exception:
            tries -= 1
            if not tries:
                raise
        finally:
            if effect.spent is not None:
                effect.spent(call.seconds)


def attempt(run: Run, call: Planned) -> Flow:
    """Run a call that may run, and note its outcome. Only BaseExceptions and OutOfTime leave it."""
    outcome, options = call.outcome, run.options
    if outcome is None:
        assert call.tool is not None
        run.begun.add(call.id)
        count(run, 1)
        if options.watched:
            yield from run.tell(ToolStarted(run.agent.name, call.id, call.name, call.arguments, run.cause))
        try:
            if "tool" in options.hooks:
                effect = CallTool(call.tool, call.id, call.arguments, run.agent, RunInfo(run, call.id), None, call.spent)
                value = yield from run.through(effect)
            else:
                value = yield from perform(run, call)
            if options.overrides:
                value = _converted(run, value)
            outcome = value if isinstance(value, Outcome) else read(value, call.tool)
            if outcome.agent is not None and outcome.agent is not run.agent:
                yield from _may_hand_over(run, call, outcome)
        except (OutOfTime, ApprovalError):
            raise
        except Exception as error:
            outcome = failed(run, error)
        outcome.seconds = call.seconds
        if call.tool.max_chars is not None:
            outcome.text = shortened(outcome.text, call.tool.max_chars)
    if outcome.kind == "paused":
        run.begun.discard(call.id)
        count(run, -1)  # it is counted when it is run again
        return outcome
    run.finished[call.id] = outcome
    if options.logs:
        run.log("%s(%s) came to %s: %s", call.name, call.arguments, outcome.kind, outcome.text)
    if options.watched:
        yield from run.tell(ToolDone(run.agent.name, record(run, call, outcome), tool_message(call.id, call.name, outcome.text)))
    return outcome


def count(run: Run, calls: int) -> None:
    """Add to the tool calls that were used, in every scope."""
    for scope in run.scopes:
        scope.tool_calls += calls


def read(value: Any, tool: Tool | None = None) -> Outcome:
    """What a function's value means."""
    if isinstance(value, str):
        return Outcome("ok", result_text(value))
    if isinstance(value, Agent):
        handoff = tool.handoff if tool is not None else None
        outcome = Outcome("ok", (handoff.message if handoff else None) or message_for(value))
        outcome.agent, outcome.handoff = value, handoff
    elif isinstance(value, Result):
        text, parts = told(value.value, value.parts)
        outcome = Outcome("ok", message_for(value.agent) if value.agent is not None and value.value == "" else text, parts)
        outcome.agent, outcome.variables = value.agent, value.context_variables
        outcome.stop, outcome.value = value.stop, value.value
    else:
        outcome = Outcome("ok", *told(value))
    return outcome


def _converted(run: Run, value: Any) -> Any:
    """What a subclass of Swarm makes of a function's value, if it has a way of its own."""
    convert = run.options.overrides.get("handle_function_result")
    return value if convert is None or isinstance(value, Outcome) else convert(value, False)


def _may_hand_over(run: Run, call: Planned, outcome: Outcome) -> Flow:
    target = outcome.agent
    assert target is not None
    if run.bounded and (hit := passed("handoffs", run.scopes)) is not None:
        run.limit = hit
        refusal = Refuse(f"not handed over to {target.name}: {hit.why}")
    elif "handoff" in run.options.hooks:
        refusal = yield from run.through(HandOff(run.agent, target, call.id, RunInfo(run, call.id)))
        if isinstance(refusal, Agent):
            outcome.agent = refusal
            outcome.text = message_for(refusal) if outcome.text == message_for(target) else outcome.text
            return
    else:
        return
    outcome.agent = outcome.handoff = None
    outcome.kind = "refused"
    outcome.text = refusal.reason if isinstance(refusal, Refuse) and refusal.reason else f"The handoff to {target.name} was refused."


def failed(run: Run, error: Exception) -> Outcome:
    """What a call came to that raised an error: the text that tells the model."""
    options = run.options
    text = _said(error, options.redact)
    if options.logs and not isinstance(error, ToolError):
        logger.debug("a call failed: %s", text, exc_info=error if options.redact is None else None)
    if not options.raise_errors:
        with suppress(Exception):  # an exception may refuse to be changed
            error.__traceback__ = None
            error.__context__ = error.__cause__ = None
    return Outcome("timed_out" if isinstance(error, ToolTimeout) else "error", f"Error: {text}", error=error)


def _said(error: Exception, redact: Callable[[Any], Any] | None) -> str:
    try:
        text = str(error) if redact is None else str(redact(error))
    except Exception as why:
        logger.debug("the text of a failed call cannot be had", exc_info=why if redact is None else None)
        text = f"its text cannot be had, {type(why).__name__}"
    if redact is not None:
        return text
    kind = type(error).__name__
    return text if isinstance(error, ToolError) else f"{kind}: {text}" if text else kind


def record(run: Run, call: Planned, outcome: Outcome) -> ToolCall:
    """A call and what it came to, as events and `Response.calls` have it."""
    error = outcome.text.removeprefix("Error: ") if outcome.kind in ("error", "timed_out", "unknown") else None
    target = outcome.agent.name if outcome.agent is not None and outcome.agent is not run.agent else None
    return ToolCall(call.id, call.name, call.arguments, run.fields["name"], outcome.kind, error, target, outcome.seconds)
