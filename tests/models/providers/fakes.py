"""Providers that refuse what the real ones refuse, in-process and behind HTTP, and a conversation that is hard to send.

A fake answers from a script, with the private fields that its provider sends, and refuses a request in which they did not come back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from swarm import Agent
from swarm.effects import CallModel, Reply
from swarm.errors import status_error
from swarm.models.scripted import ScriptedModel, Turn, call
from tests.clients import completion
from tests.loopback import Answer, Request, json_answer, sse
from tests.models.providers.rules import refusal

URLS = {
    "openai": "https://api.openai.com/v1",
    "azure": "https://corp.openai.azure.com/openai/deployments/x",
    "azure-v1": "https://corp.openai.azure.com/openai/v1",
    "groq": "https://api.groq.com/openai/v1",
    "mistral": "https://api.mistral.ai/v1",
    "gemini": "https://generativelanguage.googleapis.com/v1beta/openai",
    "anthropic": "https://api.anthropic.com/v1",
    "deepseek": "https://api.deepseek.com",
    "dashscope": "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
    "xai": "https://api.x.ai/v1",
    "openrouter": "https://openrouter.ai/api/v1",
    "ollama": "http://localhost:11434/v1",
    "cerebras": "https://api.cerebras.ai/v1",
    "default": "http://localhost:9999/v1",
}
"""Where each is met; a local server that no URL tells is named instead."""

MODELS = {"gemini": "gemini-3-pro"}

THOUGHT = {"reasoning_content": "Let me see."}
PRIVATE: dict[str, dict[str, Any]] = {
    "groq": {"reasoning": "Let me see."},
    "mistral": {"prefix": False},
    "deepseek": THOUGHT,
    "dashscope": THOUGHT,
    "xai": {**THOUGHT, "encrypted_content": "x=="},
    "openrouter": {"reasoning": "Let me see.", "reasoning_details": [{"type": "reasoning.encrypted", "data": "x=="}]},
    "ollama": {"reasoning": "Let me see."},
    "llama.cpp": THOUGHT,
    "vllm": {"reasoning": "Let me see."},
    "sglang": THOUGHT,
    "litellm": {**THOUGHT, "thinking_blocks": [{"type": "thinking", "thinking": "Let me see.", "signature": "x=="}]},
    "cerebras": {"reasoning": "Let me see."},
}
"""The fields of its own that a provider's messages carry."""

PRIVATE_OF_CALLS: dict[str, dict[str, Any]] = {
    "gemini": {"extra_content": {"google": {"thought_signature": "c2lnbmVk"}}},
    "litellm": {"provider_specific_fields": {"thought_signature": "x=="}},
}
"""The same inside the first tool call of a message."""

TAKE_NOTHING_BACK = ("groq", "mistral")
SEND_USAGE_UNASKED = ("mistral", "gemini", "openrouter", "cerebras")
SEND_USAGE_NEVER = ("azure", "default")


class FakeProvider:
    """A provider in the process, scripted like ScriptedModel.

    Args:
        provider: a key of RULES.
        turns: what it answers; its private fields are added.
        profile: the form it is to be spoken to in, where its URL shall not tell.
    """

    blocking = False

    def __init__(self, provider: str, turns: Sequence[Turn], profile: Any = None) -> None:
        self.provider = provider
        self.base_url = URLS.get(provider)
        self.profile = profile if profile is not None or provider in URLS else provider
        self._model = ScriptedModel([own_turn(provider, turn) for turn in turns])
        self._said: dict[str, dict[str, Any]] = {}

    @property
    def requests(self) -> list[dict[str, Any]]:
        return self._model.requests

    def complete(self, call: CallModel) -> Reply:
        if words := self.refusal(call.request):
            raise status_error(400, words, body={"error": {"message": words}})
        return self.remember(self._model.complete(call))

    def stream(self, call: CallModel) -> Iterator[dict[str, Any]]:
        if words := self.refusal(call.request):
            raise status_error(400, words, body={"error": {"message": words}})
        self.remember(Reply(self._model.unused[0].extra | {"tool_calls": list(self._model.unused[0].calls)}))
        told = self.provider in SEND_USAGE_UNASKED or "stream_options" in call.request
        shown = told and self.provider not in SEND_USAGE_NEVER
        return (chunk for chunk in self._model.stream(call) if shown or "usage" not in chunk)

    def remember(self, reply: Reply) -> Reply:
        for made in reply.message.get("tool_calls") or ():
            self._said[made["id"]] = reply.message
        return reply

    def refusal(self, request: dict[str, Any]) -> str | None:
        """What the provider says to a request it does not take; else None."""
        return refusal(self.provider, request) or next(self._lost(request), None)

    def _lost(self, request: dict[str, Any]) -> Iterator[str]:
        if self.provider in TAKE_NOTHING_BACK:
            return
        for message in request["messages"]:
            for made in message.get("tool_calls") or ():
                said = self._said.get(made["id"], {})
                told = next((entry for entry in said.get("tool_calls", ()) if entry["id"] == made["id"]), made)
                lost = [key for key in PRIVATE.get(self.provider, {}) if key in said and message.get(key) != said[key]]
                lost += [key for key in PRIVATE_OF_CALLS.get(self.provider, {}) if made.get(key) != told.get(key)]
                yield from (f"{key} must be passed back unchanged" for key in lost)

    def over_http(self, request: Request) -> Answer:
        """The same provider as the script of a Loopback."""
        wanted, headers = request.json, {"Connection": "close"}
        if words := self.refusal(wanted):
            return json_answer({"error": {"message": words, "type": "invalid_request_error"}}, 400, headers)
        call = CallModel(Agent(), self, wanted)
        if wanted.get("stream"):
            return sse(*[{"id": "c-1", "created": 1, "model": wanted["model"], **chunk} for chunk in self.stream(call)], headers=headers)
        reply = self.complete(call)
        return json_answer(completion(reply.message, reply.finish_reason, usage=reply.usage), headers=headers)


def own_turn(provider: str, turn: Turn) -> Turn:
    """The turn with what the provider adds to its messages."""
    calls = [{**entry, **(PRIVATE_OF_CALLS.get(provider, {}) if at == 0 else {})} for at, entry in enumerate(turn.calls)]
    return Turn(turn.text, calls, extra={**turn.extra, **PRIVATE.get(provider, {})})


LONG_ID = "call:" + "x" * 60

ROUGH: list[dict[str, Any]] = [
    {"role": "system", "content": "The shop is open."},
    {"role": "user", "name": "Ann", "content": "Hello"},
    {"role": "assistant", "content": "", "sender": "Old", "tool_calls": None},
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": ""}, {"type": "text", "text": "My order?"}]},
    {
        "role": "assistant",
        "content": None,
        "sender": "Old",
        "of_another_provider": "hm",
        "tool_calls": [{**call("3d_view", "{broken", id=LONG_ID), "of_another_provider": "hm"}],
    },
    {"role": "tool", "tool_call_id": LONG_ID, "tool_name": "3d_view", "content": ""},
    {"role": "system", "content": "The shop closes soon."},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "And now?"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
            {"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}},
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}},
        ],
    },
]
"""A history in which every provider finds something to refuse, unless it is put into its form."""

SCRIPT = [
    Turn(None, [call("look_up", {"item": 1}, id="abcdef001"), call("note", "{broken", id="abcdef002")]),
    Turn("One moment.", [call("transfer_to_b", id="abcdef003")]),
    Turn("Done."),
]


def look_up(item: int) -> str:
    return "" if item else "nothing"


def note(text: str) -> None:
    raise AssertionError("the model's arguments cannot be read")


def agents(model: str = "some-model", **fields: Any) -> Agent:
    """Two agents that work on the script: the first with two tools, the second handed to. Each limits the reply in another spelling."""
    second = Agent(name="B", model=model, instructions="Conclude.", model_settings={"max_tokens": 50}, **fields)
    return Agent(
        name="A",
        model=model,
        instructions="Help.",
        functions=[look_up, note],
        handoffs=[second],
        parallel_tool_calls=True,
        model_settings={"max_completion_tokens": 50},
        **fields,
    )
