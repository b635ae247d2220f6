"""What each provider refuses, as it documents it or as its users found out: small validators, put together per provider.

They are written from the providers' side, and know nothing of the profiles they test. `refusal("groq", request)` gives the provider's
words for the first thing it does not take, or None. The sources stand with the profiles.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, cast

Request: TypeAlias = dict[str, Any]
Rule: TypeAlias = Callable[[Request], Iterator[str]]

FIELDS = {
    "system": {"role", "content", "name"},
    "developer": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "tool_calls"},
    "tool": {"role", "content", "tool_call_id"},
}


def calls_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    return message.get("tool_calls") or []


def texts_of(message: dict[str, Any]) -> list[Any]:
    """The texts of a message: its content, or those of its parts."""
    content: Any = message.get("content")
    parts = cast("list[dict[str, Any]]", content) if isinstance(content, list) else [{"type": "text", "text": content}]
    return [part.get("text") for part in parts if part.get("type") == "text"]


def each(request: Request, *roles: str) -> Iterator[tuple[int, dict[str, Any]]]:
    return ((at, message) for at, message in enumerate(request["messages"]) if not roles or message["role"] in roles)


def api_reference(request: Request) -> Iterator[str]:
    """What all of them hold to: known roles, paired calls, no parameter or field that is null for nothing."""
    yield from (f"{name} is null" for name, value in request.items() if value is None)
    yield from (f"{name} without tools" for name in ("parallel_tool_calls", "tool_choice") if name in request and "tools" not in request)
    if request.get("tools") == []:
        yield "tools is too short"
    if not request["messages"]:
        yield "messages is too short"
    waiting: list[str] = []
    seen: set[str] = set()
    for at, message in each(request):
        if message["role"] not in FIELDS:
            yield f"messages.{at}: unknown role {message['role']}"
        if {"sender", "tool_name", "annotations", "audio"} & message.keys():
            yield f"messages.{at}: bookkeeping of ours, or what the API does not take back"
        yield from (f"messages.{at}.{key} is null" for key, value in message.items() if value is None and key != "content")
        if message.get("content") is None and not (message["role"] == "assistant" and {"tool_calls", "refusal"} & message.keys()):
            yield f"messages.{at}: content is required"
        if message["role"] == "tool":
            if not waiting or message["tool_call_id"] != waiting.pop(0):
                yield f"messages.{at}: a tool message must follow the call it answers"
            continue
        if waiting:
            yield f"messages.{at}: calls were not answered: {waiting}"
        waiting = [call["id"] for call in calls_of(message)]
        if not all(waiting) or seen & set(waiting) or len(set(waiting)) < len(waiting):
            yield f"messages.{at}: ids must be there and differ"
        seen.update(waiting)
    yield from tool_names(r"[a-zA-Z0-9_-]{1,64}")(request)


def only_known_fields(*private: str) -> Rule:
    def rule(request: Request) -> Iterator[str]:
        for at, message in each(request):
            extra = message.keys() - FIELDS[message["role"]] - set(private)
            for call in calls_of(message):
                extra |= (call.keys() - {"id", "type", "function"}) | (call["function"].keys() - {"name", "arguments"})
            if extra:
                yield f"'messages.{at}' : for 'role:{message['role']}' property '{min(extra)}' is unsupported"

    return rule


def no_names(request: Request) -> Iterator[str]:
    yield from (f"messages[{at}].name is not supported" for at, message in each(request) if "name" in message)


def roles(*allowed: str) -> Rule:
    def rule(request: Request) -> Iterator[str]:
        for at, message in each(request):
            if message["role"] not in allowed:
                yield f"messages[{at}].role: unknown variant `{message['role']}`, expected one of {', '.join(allowed)}"

    return rule


def system_first(request: Request) -> Iterator[str]:
    yield from ("System message must be at the beginning." for at, _ in each(request, "system", "developer") if at)


def no_empty_text(request: Request) -> Iterator[str]:
    for at, message in each(request):
        if message.get("content") == [] or "" in texts_of(message):
            yield f"messages.{at}: text content blocks must be non-empty"


def says_or_calls(request: Request) -> Iterator[str]:
    for _, message in each(request, "assistant"):
        if not message.get("content") and not calls_of(message):
            yield "Assistant message must have either content or tool_calls, but not none."


def content_is_text(request: Request) -> Iterator[str]:
    yield from (f"messages[{at}]: invalid type: null, expected text" for at, m in each(request, "assistant") if m.get("content") is None)


def arguments_are_objects(request: Request) -> Iterator[str]:
    for at, message in each(request):
        for call in calls_of(message):
            try:
                parsed = json.loads(call["function"]["arguments"])
            except ValueError:
                parsed = None
            if not isinstance(parsed, dict):
                yield f'messages.{at}: The "function.arguments" parameter must be a JSON object'


def ids(pattern: str) -> Rule:
    def rule(request: Request) -> Iterator[str]:
        for at, message in each(request):
            for id in [*(call["id"] for call in calls_of(message)), *([message["tool_call_id"]] if message["role"] == "tool" else [])]:
                if not re.fullmatch(pattern, id):
                    yield f"messages.{at}: tool call id was {id} but must match {pattern}"

    return rule


def tool_names(pattern: str) -> Rule:
    def rule(request: Request) -> Iterator[str]:
        found = [entry["function"]["name"] for entry in request.get("tools", ())]
        found += [call["function"]["name"] for _, message in each(request) for call in calls_of(message)]
        yield from (f"Invalid function name {name}: must match {pattern}" for name in found if not re.fullmatch(pattern, name))

    return rule


def answer_after_tools(request: Request) -> Iterator[str]:
    before = ""
    for _, message in each(request):
        if before == "tool" and message["role"] not in ("tool", "assistant"):
            yield f"Unexpected role '{message['role']}' after role 'tool'"
        before = message["role"]


def must_have(field: str) -> Rule:
    def rule(request: Request) -> Iterator[str]:
        for _, message in each(request, "assistant"):
            if not isinstance(message.get(field), str):
                yield f"The `{field}` in the thinking mode must be passed back to the API."

    return rule


def signed(request: Request) -> Iterator[str]:
    for _, message in each(request, "assistant"):
        for call in calls_of(message)[:1]:
            if not call.get("extra_content", {}).get("google", {}).get("thought_signature"):
                yield "Function call is missing a thought_signature in functionCall parts."


def no_parameters(*names: str) -> Rule:
    def rule(request: Request) -> Iterator[str]:
        yield from (f'Unknown name "{name}": Cannot find field.' for name in names if name in request)

    return rule


def formats(kind: str, beside_tools: bool = False) -> Rule:
    """The one kind of response_format that is taken, or read, from every model."""

    def rule(request: Request) -> Iterator[str]:
        asked = request.get("response_format")
        if asked is None:
            return
        if asked["type"] != kind:
            yield f"This response_format type is unavailable now: {asked['type']}"
        if "tools" in request and not beside_tools:
            yield f"Cannot use {asked['type']} response type with tools."
        if kind == "json_object" and not any("json" in str(text).lower() for _, message in each(request) for text in texts_of(message)):
            yield "'messages' must contain the word 'json' in some form"
        if asked["type"] == "json_schema":
            yield from open_objects(asked["json_schema"]["schema"], "schema")

    return rule


def open_objects(schema: dict[str, Any], where: str) -> Iterator[str]:
    """What is not strict, at the root and in each property."""
    if schema.get("type") != "object" and where == "schema":
        yield f"{where} must be of type object"
    closed = schema.get("additionalProperties") is False
    if schema.get("type") == "object" and not (closed and set(schema["required"]) == set(schema["properties"])):
        yield f"{where}: additionalProperties must be false, and every property required"
    for name, inner in schema.get("properties", {}).items():
        yield from open_objects(inner, f"{where}.{name}")


def no_parts(*types: str) -> Rule:
    """Types of content parts that are refused, or passed over without a word."""

    def rule(request: Request) -> Iterator[str]:
        for at, message in each(request):
            content: Any = message.get("content")
            found = {part["type"] for part in cast("list[dict[str, Any]]", content)} if isinstance(content, list) else set[str]()
            yield from (f"messages[{at}]: unknown variant `{kind}`, expected `text`" for kind in types if kind in found)

    return rule


SHORT_IDS = ids(r".{1,40}")
ALSO_BESIDE_TOOLS = formats("json_schema", beside_tools=True)
ONLY_A_SCHEMA = formats("json_schema")
ONLY_AN_OBJECT = formats("json_object")
NO_FORMAT = no_parameters("response_format")
ANY_ROLE_BUT_DEVELOPER = roles("system", "user", "assistant", "tool")
NO_FILES = no_parts("file")
TEMPLATES = (system_first, arguments_are_objects)

RULES: dict[str, tuple[Rule, ...]] = {
    "default": (NO_FORMAT,),
    "openai": (SHORT_IDS, ALSO_BESIDE_TOOLS),
    "azure": (SHORT_IDS, no_parameters("stream_options"), ALSO_BESIDE_TOOLS),
    "azure-v1": (SHORT_IDS, ALSO_BESIDE_TOOLS),
    "groq": (only_known_fields(), no_names, ONLY_AN_OBJECT),
    "mistral": (
        only_known_fields(),
        no_names,
        ANY_ROLE_BUT_DEVELOPER,
        system_first,
        no_empty_text,
        says_or_calls,
        answer_after_tools,
        ids(r"[a-zA-Z0-9]{9}"),
        no_parameters("stream_options", "max_completion_tokens"),
        ONLY_A_SCHEMA,
    ),
    "gemini": (
        no_empty_text,
        arguments_are_objects,
        tool_names(r"[a-zA-Z_][a-zA-Z0-9_.:-]*"),
        signed,
        no_parameters("parallel_tool_calls"),
        ONLY_A_SCHEMA,
    ),
    "anthropic": (no_empty_text, arguments_are_objects, ids(r"[a-zA-Z0-9_-]+"), no_parts("input_audio"), NO_FORMAT),
    "deepseek": (
        ANY_ROLE_BUT_DEVELOPER,
        content_is_text,
        must_have("reasoning_content"),
        no_parts("image_url", "input_audio", "file"),
        no_parameters("max_completion_tokens"),
        ONLY_AN_OBJECT,
    ),
    "dashscope": (*TEMPLATES, NO_FILES, ONLY_AN_OBJECT),
    "xai": (no_empty_text, ONLY_A_SCHEMA),
    "openrouter": (SHORT_IDS, arguments_are_objects, NO_FORMAT),
    "ollama": (arguments_are_objects, NO_FILES, no_parameters("max_completion_tokens"), ONLY_A_SCHEMA),
    "llama.cpp": (*TEMPLATES, NO_FILES, no_parameters("max_completion_tokens"), ONLY_A_SCHEMA),
    "vllm": (*TEMPLATES, NO_FILES, ONLY_A_SCHEMA),
    "sglang": (*TEMPLATES, NO_FILES, ONLY_A_SCHEMA),
    "litellm": (arguments_are_objects, NO_FORMAT),
    "cerebras": (only_known_fields("reasoning"), ONLY_A_SCHEMA),
}
"""What each refuses beyond the API reference. A setting that a server does not read counts as refused, since it would be lost."""


def refusal(provider: str, request: Request) -> str | None:
    """What the provider answers with status 400, or None if it takes the request."""
    return next((words for rule in (api_reference, *RULES[provider]) for words in rule(request)), None)
