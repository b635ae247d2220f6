"""The calls of one reply, together: run in order or side by side, answered whole, and who speaks next because of them."""

from __future__ import annotations

from typing import Any

from .calls import Outcome, Planned, attempt, record
from .effects import Flow, Message, Now, Together
from .errors import GuardrailTripped
from .events import HandedOff, MessageAdded
from .history import NOT_EXECUTED, open_calls
from .legal import call_name
from .limits import WARN_AFTER, Hit, is_timed, late, passed, reason_of, repeated
from .messages import assistant_message, tool_message
from .overrides import batch_of_subclass
from .run import Run, logger
from .types import ToolCall

UNKNOWN = "Error: it was started, but the run was cut off; whether it had an effect is not known"
CUT_OFF = {
    "length": "Error: the reply was cut off by the output limit, so none of its calls was executed. Make the call again, with less text.",
    "content_filter": "Error: the reply was cut off by the provider's content filter, so none of its calls was executed.",
}


def too_many(run: Run, planned: list[Planned]) -> Hit | None:
    """The limit that forbids running a batch, or None."""
    return passed("tool_calls", run.scopes, sum(call.outcome is None and call.id not in run.held for call in planned))


def reopened(run: Run) -> Message:
    """The message whose calls the history leaves open. Answers to some of them are taken off and held, to be put back in call order."""
    while run.history[-1]["role"] == "tool":
        answered = run.history.pop()
        outcome = run.held[answered["tool_call_id"]] = Outcome("ok", answered["content"])
        outcome.given = True
    run.new_from = min(run.new_from, len(run.history))
    return run.history[-1]


def execute(run: Run, planned: list[Planned]) -> Flow:
    """Run a batch, in order or side by side. Returns whether a run inside it waits for a person."""
    if "handle_tool_calls" in run.options.overrides:
        return (yield from batch_of_subclass(run, planned))
    if len(planned) > 1 and run.options.parallel_tools:
        paused = yield from _side_by_side(run, planned)
    else:
        paused = False
        timed = len(planned) > 1 and is_timed(run.scopes)
        for call in planned:
            if run.held and call.id in run.held:
                merge(run, run.held[call.id])
                continue
            if timed and call is not planned[0]:
                yield from _skip_if_late(run, [call])
            outcome = yield from attempt(run, call)
            if outcome.variables:
                merge(run, outcome)
            paused = paused or outcome.kind == "paused"
    if paused:
        run.pending = [item for inner in run.nested.values() for item in inner.pending]
        run.held.update(run.finished)
    return paused


def _side_by_side(run: Run, planned: list[Planned]) -> Flow:
    parallel, paused, timed = run.options.parallel_tools, False, is_timed(run.scopes)
    for group in _groups(planned):
        todo = [call for call in group if call.id not in run.held]
        if timed and group[0] is not planned[0]:
            yield from _skip_if_late(run, todo)
        if len(todo) > 1:
            outcomes = yield Together([attempt(run, call) for call in todo], None if parallel is True else int(parallel))
        else:
            outcomes = [(yield from attempt(run, todo[0]))] if todo else []
        paused = paused or any(outcome.kind == "paused" for outcome in outcomes)
        for call in group:
            outcome = run.held.get(call.id) or run.finished.get(call.id)
            if outcome is not None:
                merge(run, outcome)
    return paused


def merge(run: Run, outcome: Outcome) -> None:
    """Merge the variables of a Result into the context, one level deep, once."""
    if outcome.variables and not outcome.merged:
        run.context.update(outcome.variables)
        outcome.merged = True


def _skip_if_late(run: Run, group: list[Planned]) -> Flow:
    """Look at the clock before a group of calls; none of them is run once the time is up."""
    now: float = yield Now()
    run.limit = run.limit or late(run.scopes, now)
    if run.limit is not None:
        for call in group:
            if call.outcome is None:
                call.refuse("skipped", f"Error: {NOT_EXECUTED}: {run.limit.why}")


def _groups(planned: list[Planned]) -> list[list[Planned]]:
    """The calls that may run at the same time, group by group; one of an exclusive tool runs alone."""
    groups: list[list[Planned]] = [[]]
    for call in planned:
        alone = call.tool is not None and call.tool.exclusive
        if alone or (groups[-1] and (last := groups[-1][-1].tool) is not None and last.exclusive):
            groups.append([])
        groups[-1].append(call)
    return [group for group in groups if group]


def skip(run: Run, planned: list[Planned], text: str) -> Flow:
    """Answer every call of a batch with the same text, without running any; what is held already stays as it is."""
    todo = [call for call in planned if call.id not in run.held]
    for call in todo:
        call.refuse("skipped", text)
        run.finished[call.id] = call.outcome  # all at once: who saves the run at the first event must not find some of them open
    for call in todo:
        yield from attempt(run, call)
    answer(run, planned)


def conclude(run: Run, planned: list[Planned]) -> Flow:
    """Answer an executed batch and see who speaks next. Returns a reason to stop, or None.

    Raises:
        Exception: the first failure of the batch, if `Swarm(tool_errors="raise")`, or of a guardrail that is to raise; the whole batch is
            in the history by then.
    """
    run.approvals = None
    outcomes = answer(run, planned)
    if run.options.raise_errors:
        _raise_first(outcomes)
    handed, source, switched = None, run.agent, False
    for position, outcome in enumerate(outcomes):
        if outcome.error is not None and isinstance(outcome.error, GuardrailTripped):
            _raise_first([outcome])
        if outcome.agent is not None:
            handed = position
        if outcome.stop:
            run.output, run.cause = outcome.value, f"call:{planned[position].id}"
            run.over = outcome.stop if isinstance(outcome.stop, str) else "stopped"
    if handed is not None and outcomes[handed].agent is not source:
        take_over(run, planned, outcomes, handed)
        switched = True
    if run.over is None and run.limit is None:
        _look_for_circles(run, planned, outcomes, switched)
    # Told at the end, since who saves the run then must find it as it goes on.
    if run.options.watched and run.history[-1]["role"] == "user":
        yield from run.tell(MessageAdded(source.name, run.history[-1], run.cause))
    if switched and handed is not None and run.options.watched:
        yield from run.tell(HandedOff(source.name, run.calls[handed - len(planned)].handoff_to or "", planned[handed].id))
    return run.over or (reason_of(run.limit.name) if run.limit is not None else None)


def _raise_first(outcomes: list[Outcome]) -> None:
    errors = [outcome.error for outcome in outcomes if outcome.error is not None]
    for outcome in outcomes:
        outcome.error = None  # an error leads to the frame that made its outcome, which must not lead back
    if errors:
        try:
            raise errors[0]
        finally:
            errors.clear()


def take_over(run: Run, planned: list[Planned], outcomes: list[Outcome], position: int) -> None:
    """Make the agent that the call at this position of its batch hands over to the active one."""
    outcome = outcomes[position]
    assert outcome.agent is not None
    if run.options.logs:
        run.log("handoff from %s to %s", run.agent.name, outcome.agent.name)
    run.handed_by = (run.agent, planned[position].name)
    if run.over is None:
        run.cause = f"call:{planned[position].id}"
    run.take_up(outcome.agent)
    run.handoff, run.arrival = outcome.handoff, len(planned) - position + (run.history[-1]["role"] == "user")
    for scope in run.scopes:
        scope.handoffs += 1


def _look_for_circles(run: Run, planned: list[Planned], outcomes: list[Outcome], switched: bool) -> None:
    allowed = run.repeats
    if allowed is None:
        return
    executed: list[Any] = []
    for call, outcome in zip(planned, outcomes, strict=True):
        executed += (call.name, outcome.parts or outcome.text, call.arguments)
    times = repeated(run.circles, executed, switched and all(outcome.agent is not None for outcome in outcomes))
    if times < WARN_AFTER and times < allowed:
        return
    what = f"{', '.join(call.name for call in planned)} called {times} times in a row with the same results, last by {run.calls[-1].agent}"
    if times >= allowed:
        run.limit = Hit("loop", what, run.scope)
    elif times == WARN_AFTER:
        logger.warning("the run may be going in circles: %s; it stops after %s", what, allowed)


def settle(run: Run, partial: Message | None = None, error: Exception | None = None) -> None:
    """Make the history of a run that was cut off valid: keep a partial text, answer the open calls.

    A resumed batch of which nothing has begun stays open, so that it can be resumed again.

    Args:
        run: the run.
        partial: the part of a reply that had arrived, or None.
        error: what ended the run, or None if it was cancelled.
    """
    entries = open_calls(run.history)
    if error is None:
        run.cause = "cancel"
    if partial is not None and partial.get("content") and not entries:  # with open calls it is the text of a run nested in one of them
        run.history.append({**assistant_message(partial, run.agent.name), "tool_calls": None})
    if error is not None and run.arrival is not None:
        failed = f"Error: handed over to {run.agent.name}, which could not begin: {type(error).__name__}"
        run.history[-run.arrival] = {**run.history[-run.arrival], "content": failed}
    if not entries or (run.approvals is not None and not run.begun):
        return
    planned = [Planned(entry["id"], call_name(entry), _written(entry)) for entry in entries]
    outcomes = answer(run, planned)
    for outcome in outcomes:
        merge(run, outcome)
        outcome.error = None  # as in _raise_first
    handed = [position for position, outcome in enumerate(outcomes) if outcome.agent is not None]
    if handed and outcomes[handed[-1]].agent is not run.agent:
        take_over(run, planned, outcomes, handed[-1])


def _written(entry: Message) -> Any:
    function: dict[str, Any] = entry.get("function") or {}  # another kind of call has none
    return function.get("arguments")


def answer(run: Run, planned: list[Planned]) -> list[Outcome]:
    """Put the tool messages of a batch behind its reply, in call order, and note the calls. What they gave to see follows in one message.

    A call without an outcome had begun, or not; its message says which.
    """
    outcomes: list[Outcome] = []
    seen: list[Message] = []
    winner: ToolCall | None = None
    for call in planned:
        outcome = run.finished.get(call.id) or run.held.pop(call.id, None) or call.outcome
        if outcome is None:
            outcome = Outcome("unknown", UNKNOWN) if call.id in run.begun else Outcome("skipped", NOT_EXECUTED)
        outcomes.append(outcome)
        if outcome.given:
            run.given.add(call.id)
        run.history.append(tool_message(call.id, call.name, outcome.text))
        if outcome.parts:
            seen += [{"type": "text", "text": f"From {call.name} ({call.id}):"}, *outcome.parts]
        noted = record(run, call, outcome)
        run.calls.append(noted)
        if outcome.agent is not None:
            if winner is not None:
                winner.handoff_to = None
            winner = noted
    if seen:
        run.history.append({"role": "user", "content": seen, "sender": run.fields["name"]})
    run.begun.clear()
    run.finished.clear()
    if run.nested:
        run.nested.clear()
    return outcomes
