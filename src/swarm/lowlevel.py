"""The single steps of a run under the names that code written against the small `swarm` API calls, or overrides in a subclass.

Each makes a Run and drives the one flow it needs. A subclass that overrides a step is honoured by `run`: its method answers in the place
of the flow, and may call `super()`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import batches, calls
from .drivers.sync import SyncDriver, finish, opened
from .effects import CallModel, Flow, Reply
from .messages import assistant_message, unique_ids
from .models.client import plain_calls
from .models.record import Chunks, Record
from .offers import table_of
from .request import ask_model, request_for
from .run import Run, RunInfo, Signal
from .types import Agent, AgentFunction, Response, Result
from .util import debug_print

STEPS = ("get_chat_completion", "handle_function_result", "handle_tool_calls")


class LowLevel:
    """The steps of a run, one by one, from sync code."""

    def _begin(self, agent: Agent, messages: Any, context: dict[str, Any] | None, approvals: Any = None, **given: Any) -> Run:
        raise NotImplementedError

    def _step(self, agent: Agent, messages: Any, context: dict[str, Any], model_override: str | None = None, stream: bool = False) -> Run:
        return self._begin(agent, messages, context, {}, model_override=model_override, stream=stream)

    def get_chat_completion(
        self,
        agent: Agent,
        history: Sequence[dict[str, Any]],
        context_variables: dict[str, Any],
        model_override: str | None,
        stream: bool,
        debug: bool,
    ) -> Any:
        """Ask an agent's model once.

        Args:
            agent: who answers.
            history: the conversation so far.
            context_variables: for instructions that are a function.
            model_override: another model than the agent's, or None.
            stream: return an iterator of chunks.
            debug: print what is sent.

        Returns:
            a completion, or an iterator of chunks, with attributes and `model_dump()`.
        """
        run = self._step(agent, history, context_variables, model_override, stream)
        run.options.overrides = {}
        made = request_for(run)
        client, _, request = made if isinstance(made, tuple) else _drive(made)
        debug_print(debug, "Getting chat completion for...:", request["messages"])
        call = CallModel(agent, client, request, stream, RunInfo(run))
        return Chunks(opened(client.stream(call), call)) if stream else _completion(_drive(ask_model(run, call)))

    def handle_function_result(self, result: Any, debug: bool) -> Result:
        """What a function's value means, as a Result: a Result as it is, an Agent as a handoff, anything else as text.

        Args:
            result: what the function returned.
            debug: print why it has no text form.

        Raises:
            TypeError: its `str()` fails.
        """
        if isinstance(result, Result):
            return result
        try:
            outcome = calls.read(result)
        except Exception as error:
            debug_print(debug, f"no text form: {type(result).__name__}: {error}")
            raise TypeError(f"a {type(result).__name__} has no text form, its str() fails: {error}; return a str or a Result") from error
        return Result(value=outcome.text, agent=outcome.agent, parts=outcome.parts or [])

    def handle_tool_calls(
        self, tool_calls: Sequence[Any], functions: Sequence[AgentFunction], context_variables: dict[str, Any], debug: bool
    ) -> Response:
        """Run the calls of a reply.

        Args:
            tool_calls: as in a completion, objects or dicts.
            functions: those that may be called.
            context_variables: handed, as they are, to functions that ask for them.
            debug: print each call.

        Returns:
            a Response with the tool messages, the agent handed to or None, and the variables that Results set.
        """
        debug_print(debug, "Processing tool calls:", tool_calls)
        run = self._step(Agent(functions=list(functions)), [], context_variables)
        run.options.overrides = {name: step for name, step in run.options.overrides.items() if name == "handle_function_result"}
        run.context = context_variables
        run.offered = table_of(run.agent).tools
        wanted = plain_calls(tool_calls)
        message = assistant_message({"role": "assistant", "tool_calls": wanted}, run.agent.name)
        planned = calls.plan(run, unique_ids(message, run.ids, 0))
        _drive(batches.execute(run, planned))
        outcomes = batches.answer(run, planned)
        variables: dict[str, Any] = {}
        for outcome in outcomes:
            variables.update(outcome.variables or {})
        target = next((outcome.agent for outcome in reversed(outcomes) if outcome.agent is not None), None)
        answers = zip(run.history, wanted, strict=False)  # under the ids that the caller has, unique or not
        messages = [{**answer, "tool_call_id": call.get("id") or answer["tool_call_id"]} for answer, call in answers]
        messages += run.history[len(wanted) :]  # what there is to see
        return Response(messages=messages, agent=target, context_variables=variables)

    def run_and_stream(
        self,
        agent: Agent,
        messages: list[dict[str, Any]],
        context_variables: dict[str, Any] | None = None,
        model_override: str | None = None,
        debug: bool = False,
        max_turns: float = float("inf"),
        execute_tools: bool = True,
    ) -> Any:
        """`run(..., stream=True)` under its older name; the same arguments."""
        go: Any = self
        return go.run(agent, messages, context_variables, model_override, True, debug, max_turns, execute_tools)


def overridden(swarm: LowLevel) -> dict[str, Any]:
    """The steps that a subclass does in its own way, by name."""
    return {name: getattr(swarm, name) for name in STEPS if getattr(type(swarm), name) is not getattr(LowLevel, name)}


def _drive(flow: Flow) -> Any:
    return finish(SyncDriver(Signal()).drive(flow))


def _completion(reply: Reply) -> Record:
    choice = {"index": 0, "message": reply.message, "finish_reason": reply.finish_reason}
    whole = {"id": reply.id, "object": "chat.completion", "model": reply.model, "choices": [choice], "usage": reply.usage}
    return Record.of(whole)
