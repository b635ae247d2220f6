"""THE LOOP: turns, speak, act. A generator of effects: no I/O, no await, no clock, no thread.

    conversation    the whole run, through the policies; whatever ends it, the history is valid and the response whole
      turns         one turn after another, until there is a reason to stop
        speak       ask the active agent's model for one message
        act         run the calls of that message, answer each, and see who speaks next

A driver answers the effects (see `effects`), so the same lines serve sync and async, streamed and not, durable and replayed.
"""

from __future__ import annotations

from . import batches, calls, limits, outputs, partials
from .approvals import ApprovalError, may_wait, undecided
from .effects import CallModel, Flow, Message, Now, Reply, StartRun
from .errors import Cancelled, LimitExceeded, attach
from .events import Done, LimitHit, MessageDone, Paused, TurnEnded, TurnStarted
from .history import NOT_EXECUTED, open_calls, unique_ids
from .messages import assistant_message
from .models.profiles import ending
from .offers import offered, table_of
from .request import answered, request_for
from .run import Run, RunInfo


def conversation(run: Run) -> Flow:
    """The whole run. Returns its Response; an exception that leaves it carries the response so far."""
    try:
        effect = StartRun(run.agent, run.history, RunInfo(run))
        response = yield from (run.through(effect) if "run" in run.options.hooks else turns(run))
    except Cancelled as cut:
        batches.settle(run, cut.partial)
        response = run.response("cancelled")
    except Exception as error:
        batches.settle(run, error=error)
        attach(error, run.response(limits.reason_for(error)))
        raise
    except BaseException as error:
        if not isinstance(error, GeneratorExit):  # Ctrl-C, an exit, a cancellation of somebody else's
            batches.settle(run, getattr(error, "partial", None))
            attach(error, run.response("cancelled"))
        raise
    if run.options.watched:
        yield from run.tell(Done(run.agent.name, response, run.cause))
    return response


def turns(run: Run) -> Flow:
    """One turn after another. Returns the Response."""
    info, timed = RunInfo(run), limits.is_timed(run.scopes)
    if run.scopes[-1].started is None and (timed or run.options.timeout is not None):
        limits.begin(run.scopes, (yield Now()))
    reason = yield from pick_up(run)
    while reason is None and (reason := limits.before(run, (yield Now()) if timed else 0.0)) is None:
        run.turn += 1
        message = yield from speak(run, info)
        reason = run.over or (yield from act(run, message))
        if run.options.watched:
            yield from run.tell(TurnEnded(message["sender"], run.turn))
        if run.fields["output_type"] is not None:
            reason = yield from outputs.settled(run, message, reason)
    if run.limit is not None and run.limit.scope is run.scope is not None and reason == limits.reason_of(run.limit.name):
        yield from at_limit(run, info)
    if reason == "approval" and run.options.watched:
        yield from run.tell(Paused(run.agent.name, run.pending, run.cause))
    return run.response(reason)


def pick_up(run: Run) -> Flow:
    """Execute what the history left open, if it did. Returns a reason to stop, or None."""
    if run.approvals and not open_calls(run.history):
        raise ApprovalError(f"approvals names {', '.join(map(repr, run.approvals))}, but no call is open")
    if run.over is not None:
        last = run.history[-1]
        is_typed = last["role"] == "assistant" and run.fields["output_type"] is not None
        return (yield from outputs.settled(run, last, run.over)) if is_typed else run.over
    if run.stopped_by is not None:
        run.limit = limits.hit_again(run.stopped_by, run.scopes, run.scope, run.repeats)
    if not open_calls(run.history):
        return limits.reason_of(run.limit.name) if run.limit is not None else None
    if run.options.max_turns == 0:
        return "tool_calls"
    tools, _ = yield from offered(table_of(run.agent), run.about)
    run.offered = {**run.offered, **tools}  # a policy may have put there what it offered when the calls were made
    return (yield from act(run, batches.reopened(run)))


def speak(run: Run, info: RunInfo, tools: bool = True) -> Flow:
    """Ask the active agent's model for one message. Returns it; one without calls ends the run."""
    agent, options, watched = run.agent, run.options, run.options.watched
    client, run.offered, request = made if isinstance(made := request_for(run, tools), tuple) else (yield from made)
    run.arrival = run.approvals = None
    if watched:
        yield from run.tell(TurnStarted(agent.name, run.turn, run.cause))
    effect = CallModel(agent, client, request, options.stream, info, None, run.path)
    effect.partials = partials.of(run) if options.partials and run.fields["output_type"] is not None else None
    reply: Reply = (yield from run.through(effect)) if "model" in options.hooks else answered(run, effect, (yield effect))
    message = unique_ids(assistant_message(reply.message, run.fields["name"]), run.ids, len(run.history), run.numbers)
    run.origins[id(message)] = run.asked
    run.history.append(message)
    run.replied, run.finish, run.cause = run.turn, ending(reply.finish_reason), f"turn:{run.turn}"
    run.over = None if message["tool_calls"] else limits.last_words(message, run.finish)
    if watched:
        for event in partials.untold(effect, reply, message):
            yield from run.tell(event)
        yield from run.tell(MessageDone(agent.name, message, reply.call, run.cause))
    if options.logs:
        run.log("%s answered: %s", agent.name, message)
    return message


def act(run: Run, message: Message) -> Flow:
    """Run the calls of a message and answer each. Returns a reason to stop, or None."""
    if not run.options.execute_tools:
        return "tool_calls"
    planned = calls.plan(run, message)
    if run.finish in ("length", "content_filter"):
        yield from batches.skip(run, planned, batches.CUT_OFF[run.finish])
        again, run.cut_off = run.cut_off, run.finish == "length"
        run.over = None if run.cut_off and not again else run.finish  # the model may try a shorter reply, once
        return run.over
    run.cut_off = False
    run.pending = (yield from undecided(run, planned)) if may_wait(run, planned) else []
    if run.bounded and not run.pending and (hit := batches.too_many(run, planned)) is not None:
        run.limit = hit
        yield from batches.skip(run, planned, f"Error: {NOT_EXECUTED}: {hit.why}")
        return limits.reason_of(hit.name)
    if run.pending or (yield from batches.execute(run, planned)):
        return "approval"
    return (yield from batches.conclude(run, planned))


def at_limit(run: Run, info: RunInfo) -> Flow:
    """Tell of the limit that ends the run, and do what `Limits(on_limit=...)` says."""
    assert run.limit is not None and run.scope is not None
    (name, why, _), run.arrival = run.limit, None
    if run.options.watched:
        yield from run.tell(LimitHit(run.agent.name, name, why, run.cause))
    run.cause = f"limit:{name}"
    if run.scope.limits.on_limit == "raise":
        raise LimitExceeded(f"the run was stopped by its limit on {name}: {why}; what was done is on .response", name)
    if run.scope.limits.on_limit == "answer" and run.options.max_turns > 0:
        run.turn += 1
        message = yield from speak(run, info, tools=False)
        if message.get("tool_calls"):
            yield from batches.skip(run, calls.plan(run, message), f"Error: {NOT_EXECUTED}: {why}")
        if run.options.watched:
            yield from run.tell(TurnEnded(message["sender"], run.turn))
        if run.fields["output_type"] is not None:
            yield from outputs.settled(run, message, name)
