"""A swarm as a solver of inspect-ai (https://inspect.aisi.org.uk/solvers.html): its tasks, scorers and logs, our agents.

Needs the extra `inspect`; nothing else of `swarm.evals` imports this.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, cast

from ..core import AsyncSwarm
from ..effects import CallModel, Reply
from ..errors import ConfigError
from ..legal import is_dict
from ..messages import text_of
from ..parts import placeholder
from ..types import Agent, Response
from .problems import EvalError
from .records import as_json

try:
    from inspect_ai.model import (
        ChatCompletionChoice,
        ChatMessage,
        ChatMessageAssistant,
        ChatMessageSystem,
        ChatMessageTool,
        ChatMessageUser,
        ContentImage,
        ContentText,
        GenerateConfig,
        ModelOutput,
        ModelUsage,
        StopReason,
        get_model,
    )
    from inspect_ai.solver import Generate, Solver, TaskState, solver
    from inspect_ai.tool import ToolCall, ToolChoice, ToolFunction, ToolInfo, ToolParams
except ImportError as error:
    raise ConfigError("a solver for inspect-ai needs an extra: pip install 'openswarm[inspect]'") from error

_REASONS: dict[str, StopReason] = {
    "complete": "stop",
    "length": "max_tokens",
    "content_filter": "content_filter",
    "tool_calls": "tool_calls",
}
_LENGTH = {"max_tokens": "length", "model_length": "length"}
_SETTINGS = {  # what a request may hold, and what inspect-ai calls it
    "temperature": "temperature",
    "top_p": "top_p",
    "seed": "seed",
    "stop": "stop_seqs",
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "parallel_tool_calls": "parallel_tool_calls",
    "reasoning_effort": "reasoning_effort",
}
_ORIGINAL = "inspect_message"  # a field of our messages


@solver
def swarm_solver(
    agent: Agent,
    *,
    client: Any = None,
    model: str | None = None,
    max_turns: float = float("inf"),
    context_variables: dict[str, Any] | Callable[[TaskState], dict[str, Any]] | None = None,
    **swarm: Any,
) -> Solver:
    """A solver that hands the conversation of a sample to agents, until they are done.

    What they say, their calls and results are added to the state's messages, each with its `sender` in `metadata`; the last text is the
    state's output, with the tokens and the cost of the run. The store has `swarm`: the active agent, the handoffs, why the run ended, and
    the context variables.

    Args:
        agent: who hears the sample.
        client: who is asked, as for `AsyncSwarm`; by default the model that inspect-ai evaluates, so that its cache, limits and logs see
            each call.
        model, max_turns: as `model_override` and `max_turns` of `AsyncSwarm.run`; without a client no model can be named.
        context_variables: copied for each sample, or a function that makes them from its TaskState.
        swarm: further arguments of `AsyncSwarm`.

    Raises:
        EvalError: a model without a client; a message of the sample that holds something else than text and images.
        TypeError: an argument that there is not.
    """
    if client is None and model is not None:
        raise EvalError(f"model={model!r} needs a client; without one the agents speak with the model that inspect-ai evaluates")
    running = AsyncSwarm(_InspectModel() if client is None else client, **swarm)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        given = context_variables(state) if callable(context_variables) else context_variables
        response = await running.run(agent, [_to_chat(message) for message in state.messages], given, model, max_turns=max_turns)
        said = [_from_chat(message) for message in response.messages]
        state.messages.extend(said)
        state.output = _output(state, response, said)
        active = (response.agent or agent).name
        told = {"agent": active, "handoffs": [list(pair) for pair in response.handoffs], "stop_reason": response.stop_reason}
        state.store.set("swarm", {**told, "context_variables": as_json(response.context_variables)})
        return state

    return solve


class _InspectModel:
    """The model that inspect-ai evaluates, as a Model of ours."""

    async def complete(self, call: CallModel) -> Reply:
        """Ask it once."""
        request = call.request
        settings = {theirs: request[name] for name, theirs in _SETTINGS.items() if request.get(name) is not None}
        output = await get_model().generate(
            [_from_chat(message) for message in request["messages"]],
            tools=[_tool(entry["function"]) for entry in request.get("tools") or ()],
            tool_choice=_choice(request.get("tool_choice")),
            config=GenerateConfig(**settings),
        )
        # The whole message goes along, since a provider may want back what has no place in ours, such as its reasoning.
        message = {**_to_chat(output.message), _ORIGINAL: output.message.model_dump(mode="json", exclude_none=True)}
        return Reply(message, _counts(output.usage), _LENGTH.get(output.stop_reason, output.stop_reason), output.model)

    async def stream(self, call: CallModel) -> AsyncIterator[dict[str, Any]]:
        """The whole answer as one chunk, since inspect-ai has no streams."""
        reply = await self.complete(call)
        yield {"choices": [{"index": 0, "delta": reply.message, "finish_reason": reply.finish_reason}]}


def _to_chat(message: ChatMessage) -> dict[str, Any]:
    """A message of inspect-ai in the form of Chat Completions."""
    if isinstance(message, ChatMessageTool):
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": message.text}
    if not isinstance(message, ChatMessageAssistant):
        parts = message.content
        return {"role": message.role, "content": parts if isinstance(parts, str) else [_part_to_chat(part) for part in parts]}
    chat: dict[str, Any] = {"role": "assistant", "content": message.text or None}
    if message.tool_calls:
        chat["tool_calls"] = [
            # what could not be read is passed on, so that the model is told and no function runs with half its arguments
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.function, "arguments": call.parse_error or json.dumps(call.arguments)},
            }
            for call in message.tool_calls
        ]
    return chat


def _part_to_chat(part: Any) -> dict[str, Any]:
    if isinstance(part, ContentText):
        return {"type": "text", "text": part.text}
    if isinstance(part, ContentImage):
        return {"type": "image_url", "image_url": {"url": part.image}}
    raise EvalError(f"the sample holds content of the type {getattr(part, 'type', part)!r}; agents are given text and images only")


def _from_chat(message: dict[str, Any]) -> ChatMessage:
    """A message in the form of Chat Completions as one of inspect-ai."""
    content, sender = _parts(message), {"sender": message["sender"]} if "sender" in message else None
    match message["role"]:
        case "assistant":
            return _assistant(message, sender)
        case "tool":
            return ChatMessageTool(content=content, tool_call_id=message.get("tool_call_id"), function=message.get("tool_name"))
        case "user":
            return ChatMessageUser(content=content, metadata=sender)
        case _:
            return ChatMessageSystem(content=content)


def _parts(message: dict[str, Any]) -> Any:
    parts: Any = message.get("content")
    if not isinstance(parts, list):
        return parts or ""
    return [
        ContentImage(image=part["image_url"]["url"])
        if part.get("type") == "image_url"
        else ContentText(text=part.get("text") or placeholder(part))
        for part in cast("list[dict[str, Any]]", parts)
    ]


def _assistant(message: dict[str, Any], sender: dict[str, str] | None) -> ChatMessageAssistant:
    if _ORIGINAL in message:
        whole = ChatMessageAssistant.model_validate(message[_ORIGINAL])
        if all(message.get(name) == value for name, value in _to_chat(whole).items()):  # no policy has changed it
            whole.metadata = {**(whole.metadata or {}), **(sender or {})} or None
            return whole
    calls = [_call(entry) for entry in message.get("tool_calls") or ()]
    return ChatMessageAssistant(content=text_of(message), tool_calls=calls or None, source="generate", metadata=sender)


def _call(entry: dict[str, Any]) -> ToolCall:
    name, text = entry["function"]["name"], entry["function"].get("arguments") or "{}"
    try:
        arguments = json.loads(text)
    except ValueError as error:
        return ToolCall(entry["id"], name, {}, parse_error=f"{error}: {text}")
    return ToolCall(entry["id"], name, arguments if is_dict(arguments) else {}, parse_error=None if is_dict(arguments) else text)


def _tool(function: dict[str, Any]) -> ToolInfo:
    schema: dict[str, Any] = function.get("parameters") or {}
    parameters = ToolParams.model_validate(_inlined(schema, schema.get("$defs") or {}))
    return ToolInfo(name=function["name"], description=function.get("description") or "", parameters=parameters)


def _inlined(schema: Any, known: dict[str, Any], inside: tuple[str, ...] = ()) -> Any:
    """A JSON Schema without references, which inspect-ai does not know; one to itself becomes a schema of anything."""
    if isinstance(schema, list):
        return [_inlined(item, known, inside) for item in cast("list[Any]", schema)]
    if not is_dict(schema):
        return schema
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    if name in known:
        return {} if name in inside else _inlined(known[name], known, (*inside, name))
    return {key: _inlined(value, known, inside) for key, value in schema.items() if key != "$defs"}


def _choice(choice: Any) -> ToolChoice | None:
    if is_dict(choice):
        return ToolFunction(choice["function"]["name"])
    return "any" if choice == "required" else choice


def _counts(usage: ModelUsage | None) -> dict[str, Any] | None:
    """The tokens as Chat Completions counts them, where those from a cache are part of the input."""
    if usage is None:
        return None
    cached = usage.input_tokens_cache_read or 0
    return {
        "prompt_tokens": usage.input_tokens + cached + (usage.input_tokens_cache_write or 0),
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens or 0},
    }


def _output(state: TaskState, response: Response, said: Sequence[ChatMessage]) -> ModelOutput:
    """The last reply, and what the whole run took."""
    usage, calls = response.usage, response.usage.by_call
    model = calls[-1].response_model or calls[-1].model if calls else str(state.model)
    replies = [message for message in said if isinstance(message, ChatMessageAssistant)]
    reason = _REASONS.get(response.stop_reason, "unknown")
    taken = ModelUsage(
        input_tokens=usage.input_tokens - usage.cached_tokens,
        input_tokens_cache_read=usage.cached_tokens,
        output_tokens=usage.output_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        total_tokens=usage.total_tokens,
        total_cost=usage.cost,
    )
    choices = [ChatCompletionChoice(message=message, stop_reason=reason) for message in replies[-1:]]
    return ModelOutput(model=model, choices=choices, usage=taken)
