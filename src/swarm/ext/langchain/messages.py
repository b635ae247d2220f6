"""Messages between LangChain's form and ours."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from json import loads
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage, convert_to_messages, convert_to_openai_messages
from langchain_core.messages.ai import UsageMetadata
from langchain_core.prompt_values import PromptValue

from ...effects import Message
from ...records import Response, Usage
from ..serving import answer_text


def ours(given: Any) -> list[Message]:
    """What a runnable was given, as messages for a run.

    Args:
        given: a text, a prompt, a message or messages in any form that LangChain takes.

    Raises:
        ValueError, NotImplementedError: something that LangChain does not take for a message.
    """
    if isinstance(given, PromptValue):
        messages: Sequence[Any] = given.to_messages()
    else:
        messages = cast("Sequence[Any]", given) if isinstance(given, list) else [given]
    return [_ours(message) for message in convert_to_messages(messages)]


def _ours(message: BaseMessage) -> Message:
    converted: Message = convert_to_openai_messages(message)
    name = converted.pop("name", None)
    if isinstance(message, AIMessage):
        converted["content"] = converted.get("content") or None if message.tool_calls else converted.get("content")
        return {**converted, **({"sender": name} if name else {})}  # as a name, providers refuse most names of agents
    if isinstance(message, ToolMessage):
        return {**converted, "tool_name": name} if name else converted
    return {**converted, "name": name} if name else converted


def theirs(message: Message) -> BaseMessage:
    """One message of a Response in LangChain's form; the agent's name is the message's."""
    if message["role"] == "assistant":
        return _assistant(message)
    if message["role"] == "tool":
        return ToolMessage(content=message["content"], tool_call_id=message["tool_call_id"], name=message.get("tool_name"))
    return convert_to_messages([message])[0]


def _assistant(message: Message) -> AIMessage:
    calls: list[Any] = []
    invalid: list[Any] = []
    for call in message.get("tool_calls") or ():
        name, raw = call["function"]["name"], call["function"]["arguments"]
        arguments: Any = None
        with suppress(ValueError):
            arguments = loads(raw or "{}")
        if isinstance(arguments, dict):
            calls.append({"type": "tool_call", "id": call["id"], "name": name, "args": arguments})
        else:
            invalid.append({"type": "invalid_tool_call", "id": call["id"], "name": name, "args": raw, "error": "no JSON object"})
    return AIMessage(content=message.get("content") or "", name=message.get("sender"), tool_calls=calls, invalid_tool_calls=invalid)


def answer(response: Response) -> AIMessage:
    """What a run came to, as one message."""
    return AIMessage(
        content=answer_text(response),
        name=response.agent.name if response.agent is not None else None,
        additional_kwargs={} if response.output is None else {"parsed": response.output},  # where LangChain's chat models put it
        response_metadata=about(response),
        usage_metadata=usage(response.usage),
    )


def about(response: Response) -> dict[str, Any]:
    """Who answered, and why the run ended."""
    return {"agent": response.agent.name if response.agent is not None else None, "stop_reason": response.stop_reason}


def usage(used: Usage) -> UsageMetadata:
    """Tokens of the whole run."""
    return UsageMetadata(
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        total_tokens=used.total_tokens,
        input_token_details={"cache_read": used.cached_tokens},
        output_token_details={"reasoning": used.reasoning_tokens},
    )
