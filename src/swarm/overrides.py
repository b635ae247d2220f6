"""Steps of a run that a subclass of Swarm does in its own way, in the place of the flow that would do them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .calls import Outcome, Planned, attempt, count, record
from .effects import Call, CallModel, Flow, Reply
from .events import ToolDone, ToolStarted
from .history import NOT_EXECUTED
from .inside import inside
from .legal import json_text
from .messages import read_reply, tool_message
from .models.client import Chunks as ForeignChunks
from .models.client import as_dict
from .models.record import Record
from .run import Run


class OverriddenModel:
    """A subclass's `get_chat_completion` as the drivers see a model. It gets the whole history, as the small API gives it."""

    def __init__(self, ask: Any) -> None:
        self._ask = ask

    def complete(self, call: CallModel) -> Reply:
        """Ask for one answer."""
        return read_reply(as_dict(self._answer(call, False)))

    def stream(self, call: CallModel) -> Iterator[dict[str, Any]]:
        """Ask for a stream of chunks."""
        return ForeignChunks(self._answer(call, True))

    def _answer(self, call: CallModel, stream: bool) -> Any:
        assert call.run is not None
        run, agent = inside(call.run), call.agent
        if agent.tool_choice is not None and "tool_choice" not in call.request:
            agent = agent.copy(tool_choice=None)  # sent already; the step by itself does not know
        return self._ask(
            agent=agent,
            history=list(run.history),
            context_variables=run.context,
            model_override=run.options.model_override,
            stream=stream,
            debug=False,
        )


def batch_of_subclass(run: Run, planned: list[Planned]) -> Flow:
    """Run a batch through a subclass's `handle_tool_calls`, which answers with a Response of tool messages. Returns False: none paused.

    It gets the calls that may run, with the arguments that were approved; the others are answered as ever.
    """
    todo = [call for call in planned if call.outcome is None and call.id not in run.held]
    for call in planned:
        if call.outcome is not None and call.id not in run.held:
            yield from attempt(run, call)
    if not todo:
        return False
    wanted: list[dict[str, Any]] = []
    for call in todo:
        text = call.raw if isinstance(call.raw, str) and not call.changed else json_text(call.arguments)
        wanted.append({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": text}})
        run.begun.add(call.id)
        count(run, 1)
        if run.options.watched:
            yield from run.tell(ToolStarted(run.agent.name, call.id, call.name, call.arguments, run.cause))
    method = run.options.overrides["handle_tool_calls"]
    partial = yield Call(method, (Record.of({"calls": wanted}).calls, list(run.offered.values()), run.context, False), worker=True)
    texts = {message["tool_call_id"]: str(message["content"]) for message in partial.messages if "tool_call_id" in message}
    for call in todo:
        text = texts.get(call.id, NOT_EXECUTED)
        outcome = run.finished[call.id] = Outcome("error" if text.startswith("Error: ") else "ok", text)
        if call is todo[-1]:
            outcome.agent, outcome.variables = partial.agent, partial.context_variables
            outcome.parts = [part for message in partial.messages if "tool_call_id" not in message for part in message["content"]]
        if run.options.watched:
            yield from run.tell(ToolDone(run.agent.name, record(run, call, outcome), tool_message(call.id, call.name, text)))
    run.context.update(partial.context_variables)
    return False
