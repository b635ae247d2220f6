"""OfflineModel: answers Chat Completions requests without a network, a key or a language model."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any, cast

from ...effects import CallModel, Reply
from ...inside import inside
from ...offers import table_of
from ..record import Chunks, Record
from . import templates
from .decision import CallFunction, Say, Scene, decide
from .embedder import Cached, Embedder, MiniLM, WordOverlap, installed
from .functions import Hint, as_dict, as_list, read
from .router import Router

MODEL_NAME = "swarm-offline"

Chunk = dict[str, Any]


class OfflineModel:
    """A semantic router that stands in for a language model: it chooses among the functions of a request and fills their arguments.

    It finds the function whose name, description and examples are most similar to what the user said, or none; takes the arguments from
    the user's words by rule; asks for a required one that is missing; asks back before a function marked `effect="once"` or `approval`, the
    latter unless a policy decides about approvals; after a handoff looks at the same words again with the new agent's functions, never
    going back; and reports results. It writes no text of its own: every reply is a template. The same request always gets the same answer,
    and nothing is kept between requests.

    It is a client (`chat.completions.create`) and a Model (`complete`, `stream`). Only as a Model does it see `@tool(examples=...)` and
    which functions are marked, since neither is part of a request.

    Args:
        embedder: turns texts into vectors of length one; by default the sentence model of the extra `offline` if it is installed, else
            overlap of words, which is much weaker; `announcement` tells.
    """

    blocking = False

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._by_words = isinstance(embedder, WordOverlap) or (embedder is None and not installed())
        self._router = Router(Cached(embedder or (WordOverlap() if self._by_words else MiniLM())))
        self.chat = SimpleNamespace(completions=SimpleNamespace(create=self._create))

    @property
    def announcement(self) -> str:
        """One line for the user: what this is and how it matches."""
        return templates.WHAT_IT_IS + (templates.BY_WORDS if self._by_words else templates.BY_MEANING)

    def complete(self, call: CallModel) -> Reply:
        """The answer to a request. `call.client` and `call.timeout` do not matter here."""
        request = call.request
        message = self._message(request, hints(call), call.agent.name)
        return Reply(message, None, _finish_reason(message), MODEL_NAME, _id(request))

    def stream(self, call: CallModel) -> Iterator[Chunk]:
        """The same in chunks, word by word."""
        request = call.request
        return _chunks(request, self._message(request, hints(call), call.agent.name))

    def _create(self, *, messages: list[Any], tools: Any = None, tool_choice: Any = None, stream: bool = False, **settings: Any) -> Any:
        """As `chat.completions.create` of the official client; `model` and settings that mean nothing to a router are ignored.

        Args:
            messages: the conversation.
            tools: the functions to choose among.
            tool_choice: "auto", "none", "required" or one function.
            stream: whether to return an iterator of chunks.
            settings: `stream_options`, and whatever else a request may hold.
        """
        request = {"messages": messages, "tools": tools, "tool_choice": tool_choice, **settings}
        message = self._message(request, {}, "")
        if stream:
            return Chunks(_chunks(request, message))
        choice = {"index": 0, "message": message, "finish_reason": _finish_reason(message), "logprobs": None}
        answer = {"id": _id(request), "object": "chat.completion", "created": 0, "model": MODEL_NAME, "choices": [choice]}
        return Record.of({**answer, "usage": _usage(request, message)})

    def _message(self, request: Mapping[str, Any], known: Mapping[str, Hint], speaker: str) -> dict[str, Any]:
        functions = read(request.get("tools"), known)
        messages = as_list(request.get("messages"))
        step = decide(self._router, Scene(messages, functions, request.get("tool_choice"), speaker, self.announcement))
        message: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None}
        if isinstance(step, Say):
            return {**message, "content": step.text}
        return {**message, "tool_calls": [_call(step, messages)]}


def announcement() -> str:
    """What `OfflineModel().announcement` says on this machine."""
    return OfflineModel().announcement


def hints(call: CallModel) -> dict[str, Hint]:
    """What the agent's tools say that is not in the request, by their names on the wire."""
    known: dict[str, Hint] = {}
    # Whether nobody else asks the user about approvals.
    asks = call.run is None or "approval" not in inside(call.run).options.hooks
    for name, tool in table_of(call.agent).tools.items():
        target = tool.handoff.agent if tool.handoff is not None else None
        is_marked = tool.effect == "once" or (asks and bool(tool.approval))
        known[name] = Hint(tool.examples, is_marked, tuple(table_of(target).tools) if target else ())
    return known


def _call(step: CallFunction, messages: list[Any]) -> dict[str, Any]:
    """A tool call; its id is made from its place in the conversation, so it is unique there and the same every time."""
    function = {"name": step.name, "arguments": json.dumps(step.arguments, ensure_ascii=False)}
    return {"id": f"call_offline_{len(messages)}", "type": "function", "function": function}


def _id(request: Mapping[str, Any]) -> str:
    return f"chatcmpl-offline-{zlib.crc32(_json(request.get('messages')).encode()):08x}"


def _finish_reason(message: Mapping[str, Any]) -> str:
    return "tool_calls" if message.get("tool_calls") else "stop"


def _usage(request: Mapping[str, Any], message: Mapping[str, Any]) -> dict[str, int]:
    """Tokens as they are usually estimated, four characters each: there is no tokenizer of a language model here."""
    asked = len(_json([request.get("messages"), request.get("tools")])) // 4 + 1
    answered = len(_json(message.get("content") or message.get("tool_calls"))) // 4 + 1
    return {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _chunks(request: Mapping[str, Any], message: Mapping[str, Any]) -> Iterator[Chunk]:
    """A message as a provider streams it (platform.openai.com/docs/api-reference/chat-streaming)."""
    frame = {"id": _id(request), "object": "chat.completion.chunk", "created": 0, "model": MODEL_NAME}

    def chunk(delta: dict[str, Any], finish_reason: str | None = None) -> Chunk:
        return {**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}

    content = cast("str | None", message.get("content"))
    yield chunk({"role": "assistant", "content": None if content is None else ""})
    words = (content or "").split(" ")
    for number, word in enumerate(words):
        if piece := word if number == len(words) - 1 else f"{word} ":
            yield chunk({"content": piece})
    for index, call in enumerate(message.get("tool_calls") or ()):
        arguments = call["function"]["arguments"]
        yield chunk({"tool_calls": [{**call, "index": index, "function": {**call["function"], "arguments": ""}}]})
        for start in range(0, len(arguments), 16):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": arguments[start : start + 16]}}]})
    yield chunk({}, _finish_reason(message))
    if as_dict(request.get("stream_options")).get("include_usage"):
        yield {**frame, "choices": [], "usage": _usage(request, message)}
