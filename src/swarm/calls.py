"""May a call run, and what does it come to."""

from __future__ import annotations

from typing import Any

from .effects import Call, CallTool, Flow, HandOff, Message, Together
from .errors import RunTimeout, StateError, ToolArgumentsError, ToolError, ToolNotFound, ToolTimeout
from .events import HandedOff, ToolDone, ToolStarted
from .handoffs import ask, message_for
from .limits import WARN_AFTER, repeated, too_many_calls
from .messages import assistant_message, open_calls, tool_message
from .models.record import Record
from .run import Run, RunInfo, logger
from .tools import Tool, result_text
from .types import Agent, Approve, Handoff, Pending, Refuse, Result, ToolCall

NOT_EXECUTED = "not executed"
UNKNOWN = "Error: it was started, but the run was cut off; whether it had an effect is not known"
CUT_OFF = (
    "Error: the reply was cut off by the output limit, so none of its calls was executed. Make the call again, with less text in one reply."
)
REFUSED = "The call was not approved."


class Outcome:
    """What a call came to.

    Attributes:
        kind: as `ToolCall.outcome`, or "paused".
        text: the content of the tool message.
        error: the failure, or None.
        agent: the agent it hands over to, or None.
        handoff: the Handoff through which, or None.
        variables: context variables to merge.
        stop, value: whether the run ends here, and with what value.
        seconds: how long it ran.
    """

    agent: Agent | None = None
    handoff: Handoff | None = None
    variables: dict[str, Any] | None = None
    stop = False
    value: Any = None
    seconds = 0.0

    def __init__(self, kind: str, text: str, error: Exception | None = None) -> None:
        self.kind = kind
        self.text = text
        self.error = error


class Planned:
    """One call of a reply before it runs; `outcome` is set already if it will not."""

    __slots__ = ("arguments", "id", "name", "outcome", "raw", "tool")

    def __init__(self, id: str, name: str, raw: Any) -> None:
        self.id = id
        self.name = name
        self.raw = self.arguments = raw
        self.tool: Tool | None = None
        self.outcome: Outcome | None = None

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
            call.outcome = _failed(run, error)
    return planned


def _unknown(name: str, run: Run) -> str:
    names = ", ".join(run.offered) or "none: answer with text instead"
    return f"Tool {name} not found. Available tools: {names}."


def undecided(run: Run, planned: list[Planned]) -> Flow:
    """Apply the decisions at hand; returns what still waits for one.

    Raises:
        StateError: a decision for a call that is not open.
    """
    if run.turn:
        run.approvals = None  # they were for what was open at the beginning, never for calls made later, whatever their ids
    if not run.approvals and not run.nested and not any(call.tool is not None and call.tool.approval for call in planned):
        return []
    decisions = dict(run.approvals or {})
    waiting: list[Pending] = []
    inner_ids = [id for id in decisions if id.split("/")[0] in run.nested]
    for call in planned:
        decision = decisions.pop(call.id, None)
        if call.outcome is not None or call.id in run.held:
            continue
        if decision is not None:
            _apply(call, decision)
        elif call.tool is not None and call.id not in run.nested and (yield from _gated(run, call.tool, call.arguments)):
            waiting.append(Pending(call.id, call.name, call.arguments, run.agent.name))
    unknown = [id for id in decisions if id not in inner_ids]
    if unknown:
        open_ids = [call.id for call in planned] + [item.id for inner in run.nested.values() for item in inner.pending]
        raise StateError(
            f"approvals names {', '.join(map(repr, unknown))}, which is not pending; pending are {', '.join(map(repr, open_ids))}"
        )
    return waiting


def _gated(run: Run, tool: Tool, arguments: dict[str, Any]) -> Flow:
    if not callable(tool.approval):
        return tool.approval
    return bool((yield from ask(tool.approval, lambda name: arguments if name == "arguments" else run.about(name))))


def _apply(call: Planned, decision: Any) -> None:
    if isinstance(decision, dict):  # the JSON form
        given: dict[str, Any] = decision  # type: ignore[assignment]  # JSON's keys are texts
        decision = Approve(given.get("arguments")) if given.get("approve") is True else Refuse(str(given.get("reason") or ""))
    if decision is True:
        return
    if isinstance(decision, Approve):
        if decision.arguments is not None and call.tool is not None:
            try:
                call.arguments = call.tool.arguments(decision.arguments)
            except ToolArgumentsError as error:
                raise StateError(f"approvals[{call.id!r}]: {error}") from None
    elif decision is False or isinstance(decision, Refuse):
        reason = decision.reason if isinstance(decision, Refuse) else ""
        call.refuse("refused", f"{REFUSED} {reason}".strip())
    else:
        raise StateError(f"approvals[{call.id!r}] is {decision!r}; give True, False, Approve(...) or Refuse(...)")


def perform(run: Run, effect: CallTool) -> Flow:
    """Run one call, as often as its tool allows. What it raises is the caller's to explain."""
    tool = effect.tool
    inner = tool.nested
    if inner is not None:
        return (yield from inner(run, effect))
    arguments = effect.arguments
    if tool.context_parameter or tool.run_parameter:
        arguments = dict(arguments)
        if tool.context_parameter:
            arguments["context_variables"] = run.context
        if tool.run_parameter:
            arguments[tool.run_parameter] = RunInfo(run, effect.id)
    tries = 1 if tool.effect == "once" else tool.retries + 1
    while True:
        call = Call(tool.fn, (), arguments, not (tool.inline or tool.is_async), tool.timeout, effect.context)
        try:
            return (yield call)
        except RunTimeout:
            raise
        except Exception:
            tries -= 1
            if not tries:
                raise
        finally:
            effect.seconds += call.seconds


def attempt(run: Run, call: Planned) -> Flow:
    """Run a call that may run, and note its outcome. Only BaseExceptions and RunTimeout leave it."""
    outcome = call.outcome
    if outcome is None:
        assert call.tool is not None
        run.begun.add(call.id)
        run.counts.tool_calls += 1
        if run.options.watched:
            yield from run.tell(ToolStarted(run.agent.name, call.id, call.name, call.arguments))
        effect = CallTool(call.tool, call.id, call.arguments, run.agent, RunInfo(run, call.id))
        try:
            if "tool" in run.options.hooks:
                value = yield from run.through(effect)
            else:
                value = yield from perform(run, effect)
            if run.options.overrides:
                value = overridden_result(run, value)
            outcome = value if isinstance(value, Outcome) else read(value, call.tool)
            if outcome.agent is not None and outcome.agent is not run.agent:
                yield from _may_hand_over(run, call, outcome)
        except RunTimeout:
            raise
        except Exception as error:
            outcome = _failed(run, error)
        outcome.seconds = effect.seconds
    if outcome.kind == "paused":
        run.begun.discard(call.id)
        return outcome
    run.finished[call.id] = outcome
    if run.options.logs:
        run.log("%s(%s) came to %s: %s", call.name, call.arguments, outcome.kind, outcome.text)
    if run.options.watched:
        yield from run.tell(ToolDone(run.agent.name, _record(run, call, outcome), tool_message(call.id, call.name, outcome.text)))
    return outcome


def read(value: Any, tool: Tool | None = None) -> Outcome:
    """What a function's value means."""
    if isinstance(value, str):
        return Outcome("ok", result_text(value))
    if isinstance(value, Agent):
        handoff = tool.handoff if tool is not None else None
        outcome = Outcome("ok", (handoff.message if handoff else None) or message_for(value))
        outcome.agent, outcome.handoff = value, handoff
    elif isinstance(value, Result):
        text = message_for(value.agent) if value.agent is not None and value.value == "" else result_text(value.value)
        outcome = Outcome("ok", text)
        outcome.agent, outcome.variables = value.agent, value.context_variables
        outcome.stop, outcome.value = value.stop, value.value
    else:
        outcome = Outcome("ok", result_text(value))
    return outcome


def overridden_result(run: Run, value: Any) -> Any:
    """What a subclass of Swarm makes of a function's value, if it has a way of its own."""
    convert = run.options.overrides.get("handle_function_result")
    return value if convert is None or isinstance(value, Outcome) else convert(value, False)


def overridden_batch(run: Run, planned: list[Planned]) -> Flow:
    """Run a batch in the way of a subclass of Swarm, which answers with a Response of tool messages."""
    wanted = [{"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.raw}} for call in planned]
    functions = list(run.offered.values())
    method = run.options.overrides["handle_tool_calls"]
    partial = yield Call(method, (Record.of({"calls": wanted}).calls, functions, run.context, False), worker=True)
    texts = {message["tool_call_id"]: message["content"] for message in partial.messages}
    for call in planned:
        run.begun.add(call.id)
        outcome = run.finished[call.id] = Outcome("ok", str(texts.get(call.id, NOT_EXECUTED)))
        if call is planned[-1]:
            outcome.agent, outcome.variables = partial.agent, partial.context_variables
            run.context.update(partial.context_variables)
    return False


def _may_hand_over(run: Run, call: Planned, outcome: Outcome) -> Flow:
    target = outcome.agent
    assert target is not None
    allowed = run.options.limits.handoffs
    if allowed is not None and run.counts.handoffs >= allowed:
        run.limit = ("handoffs", f"{run.counts.handoffs} of {allowed} handoffs used")
        refusal = Refuse(f"not handed over to {target.name}: {run.limit[1]}")
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


def _failed(run: Run, error: Exception) -> Outcome:
    options = run.options
    text = _said(error) if options.redact is None else str(options.redact(error))
    if options.logs and not isinstance(error, ToolError):
        logger.debug("a call failed: %s", text, exc_info=error if options.redact is None else None)
    if not options.raise_errors:
        error.__traceback__ = None
        error.__context__ = error.__cause__ = None
    return Outcome("timed_out" if isinstance(error, ToolTimeout) else "error", f"Error: {text}", error)


def _said(error: Exception) -> str:
    try:
        text = str(error)
    except Exception as why:
        text = f"its text cannot be had, {type(why).__name__}"
    kind = type(error).__name__
    return text if isinstance(error, ToolError) else f"{kind}: {text}" if text else kind


def _record(run: Run, call: Planned, outcome: Outcome) -> ToolCall:
    error = outcome.text.removeprefix("Error: ") if outcome.error is not None or outcome.kind == "unknown" else None
    target = outcome.agent.name if outcome.agent is not None and outcome.agent is not run.agent else None
    return ToolCall(call.id, call.name, call.arguments, run.agent.name, outcome.kind, error, target, outcome.seconds)


def too_many(run: Run, planned: list[Planned]) -> tuple[str, str] | None:
    """The limit that forbids running a batch, as (name, reason), or None."""
    if run.options.limits.tool_calls is None:
        return None
    wanted = sum(call.outcome is None and call.id not in run.held for call in planned)
    return too_many_calls(run.options.limits, run.counts, wanted)


def reopened(run: Run) -> Message:
    """The message whose calls the history leaves open. Answers to some of them are taken off and held, to be put back in call order."""
    while run.history[-1]["role"] == "tool":
        answered = run.history.pop()
        run.held[answered["tool_call_id"]] = Outcome("ok", answered["content"])
        run.given.add(answered["tool_call_id"])
    run.new_from = min(run.new_from, len(run.history))
    return run.history[-1]


def execute(run: Run, planned: list[Planned]) -> Flow:
    """Run a batch, in order or side by side. Returns whether a run inside it waits for a person."""
    if "handle_tool_calls" in run.options.overrides:
        return (yield from overridden_batch(run, planned))
    todo = [call for call in planned if call.id not in run.held] if run.held else planned
    parallel, paused = run.options.parallel_tools, False
    for group in _groups(todo) if parallel else [[call] for call in todo]:
        if len(group) == 1:
            outcomes = ((yield from attempt(run, group[0])),)
        else:
            outcomes = yield Together([attempt(run, call) for call in group], None if parallel is True else int(parallel))
        for outcome in outcomes:
            if outcome.variables:
                run.context.update(outcome.variables)
            if outcome.kind == "paused":
                paused = True
    if paused:
        run.pending = [item for inner in run.nested.values() for item in inner.pending]
        run.held.update({call.id: run.finished[call.id] for call in todo if call.id in run.finished})
    return paused


def _groups(planned: list[Planned]) -> list[list[Planned]]:
    groups: list[list[Planned]] = [[]]
    for call in planned:
        alone = call.tool is not None and call.tool.exclusive
        if alone or (groups[-1] and (last := groups[-1][-1].tool) is not None and last.exclusive):
            groups.append([])
        groups[-1].append(call)
    return [group for group in groups if group]


def skip(run: Run, planned: list[Planned], text: str) -> Flow:
    """Answer every call of a batch with the same text, without running any."""
    for call in planned:
        call.refuse("skipped", text)
        yield from attempt(run, call)
    answer(run, planned)


def conclude(run: Run, planned: list[Planned]) -> Flow:
    """Answer an executed batch and see who speaks next. Returns a reason to stop, or None.

    Raises:
        Exception: the first failure of the batch, if `Swarm(tool_errors="raise")`; the whole batch is in the history by then.
    """
    run.approvals = None
    run.nested.clear()
    outcomes = answer(run, planned)
    handed, stopped = None, None
    for position, outcome in enumerate(outcomes):
        if outcome.error is not None and run.options.raise_errors:
            raise outcome.error
        if outcome.agent is not None:
            handed = position
        if outcome.stop:
            stopped = outcome
    switched = handed is not None and (yield from switch(run, planned[handed], outcomes[handed], len(planned) - handed))
    if stopped is not None:
        run.output = stopped.value
        return "stopped"
    if run.limit is not None:
        return f"limit:{run.limit[0]}"
    return _in_circles(run, planned, outcomes, switched)


def _in_circles(run: Run, planned: list[Planned], outcomes: list[Outcome], switched: bool) -> str | None:
    allowed = run.options.limits.repeats
    if allowed is None:
        return None
    signature = [(call.name, outcome.text, call.arguments) for call, outcome in zip(planned, outcomes, strict=True)]
    only_handoffs = switched and all(outcome.agent is not None for outcome in outcomes)
    times = repeated(run.counts, signature, only_handoffs)
    if times < WARN_AFTER and times < allowed:
        return None
    what = f"{', '.join(call.name for call in planned)} called {times} times in a row with the same results, last by {run.calls[-1].agent}"
    if times >= allowed:
        run.limit = ("loop", what)
        return "loop"
    if times == WARN_AFTER:
        logger.warning("the run may be going in circles: %s; it stops after %s", what, allowed)
    return None


def settle(run: Run, partial: Message | None = None, error: Exception | None = None) -> None:
    """Make the history of a run that was cut off valid: keep a partial text, answer the open calls.

    A resumed batch of which nothing has begun stays open, so that it can be resumed again.

    Args:
        run: the run.
        partial: the part of a reply that had arrived, or None.
        error: what ended the run, or None if it was cancelled.
    """
    if partial is not None and partial.get("content"):
        run.history.append({**assistant_message(partial, run.agent.name), "tool_calls": None})
    if error is not None and run.arrival is not None:
        failed = f"Error: handed over to {run.agent.name}, which could not begin: {type(error).__name__}"
        run.history[-run.arrival] = {**run.history[-run.arrival], "content": failed}
    entries = open_calls(run.history)
    if not entries or (run.approvals is not None and not run.begun):
        return
    planned = [Planned(entry["id"], entry["function"].get("name") or "", entry["function"].get("arguments")) for entry in entries]
    outcomes = answer(run, planned)
    for outcome in outcomes:
        run.context.update(outcome.variables or {})


def answer(run: Run, planned: list[Planned]) -> list[Outcome]:
    """Put the tool messages of a batch behind its reply, in call order, and note the calls.

    A call without an outcome had begun, or not; its message says which.
    """
    outcomes: list[Outcome] = []
    winner: ToolCall | None = None
    for call in planned:
        outcome = run.finished.get(call.id) or run.held.pop(call.id, None) or call.outcome
        if outcome is None:
            outcome = Outcome("unknown", UNKNOWN) if call.id in run.begun else Outcome("skipped", NOT_EXECUTED)
        outcomes.append(outcome)
        run.history.append(tool_message(call.id, call.name, outcome.text))
        record = _record(run, call, outcome)
        run.calls.append(record)
        if outcome.agent is not None:
            if winner is not None:
                winner.handoff_to = None
            winner = record
    return outcomes


def switch(run: Run, call: Planned, outcome: Outcome, behind: int) -> Flow:
    """Make the agent that a call hands over to the active one; returns whether that is another one.

    Args:
        run: the run.
        call, outcome: the last call of the batch that hands over, and what it came to.
        behind: how far from the end of the history its tool message stands.
    """
    target = outcome.agent
    assert target is not None
    if target is run.agent:
        return False
    if run.options.watched:
        yield from run.tell(HandedOff(run.agent.name, target.name, call.id))
    if run.options.logs:
        run.log("handoff from %s to %s", run.agent.name, target.name)
    run.handed_by = (run.agent, call.name)
    run.agent, run.handoff, run.arrival = target, outcome.handoff, behind
    run.counts.handoffs += 1
    return True
