"""What a line of training data must be, so that a provider takes the file.

The form is that of the API reference, https://platform.openai.com/docs/api-reference/fine-tuning/chat-input: text and images only, `weight`
of an assistant message 0 or 1, at most 128 tools. Others take it too, though some know no `weight`. That calls are answered in order and
that the last message is the model's is what training on a conversation means.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from ...legal import is_dict

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
_MOST_TOOLS = 128
_FIELDS = {
    "system": {"content", "name"},
    "developer": {"content", "name"},
    "user": {"content", "name"},
    "assistant": {"content", "name", "refusal", "tool_calls", "weight"},
    "tool": {"content", "tool_call_id"},
}


def read_examples(path: str | Path) -> Iterator[tuple[int, dict[str, Any], list[str]]]:
    """The lines of a file of training data, each with its number and what is wrong with it.

    Args:
        path: the file.

    Raises:
        OSError: it cannot be read.
    """
    with Path(path).open("rb") as file:
        for number, text in enumerate(file, 1):
            try:
                line: Any = json.loads(text.decode())
            except (ValueError, RecursionError) as error:
                yield number, {}, [f"no JSON ({error})"]
                continue
            yield number, line if is_dict(line) else {}, problems_of(line)


def problems_of(line: Any) -> list[str]:
    """What is wrong with an example; [] if nothing is.

    Args:
        line: as it stands in the file.
    """
    if not is_dict(line):
        return ["not an object"]
    found = [f"unknown field {name!r}" for name in line if name not in ("messages", "tools", "parallel_tool_calls")]
    messages: Any = line.get("messages")
    if not isinstance(messages, list) or not messages:
        return [*found, "no messages"]
    listed = cast("list[Any]", messages)
    tools, names = _tools(line.get("tools", []))
    found += tools
    for at, message in enumerate(listed):
        found += [f"messages[{at}]: {wrong}" for wrong in _message(message, names)]
    return found or [*_order(listed), *_ending(listed)]


def _tools(tools: Any) -> tuple[list[str], set[str]]:
    if not isinstance(tools, list):
        return ["tools: not a list"], set()
    found: list[str] = []
    names: set[str] = set()
    for at, tool in enumerate(cast("list[Any]", tools)):
        function: Any = tool.get("function") if is_dict(tool) and tool.get("type") == "function" else None
        name: Any = function.get("name") if is_dict(function) else None
        if not isinstance(name, str) or not _NAME.match(name):
            found.append(f"tools[{at}]: no function with a legal name")
        elif name in names:
            found.append(f"tools[{at}]: another tool is called {name!r}")
        else:
            names.add(name)
    if len(names) > _MOST_TOOLS:
        found.append(f"tools: {len(names)}, more than {_MOST_TOOLS}")
    return found, names


def _message(message: Any, tools: set[str]) -> Iterator[str]:
    role: Any = message.get("role") if is_dict(message) else None
    if not isinstance(role, str) or role not in _FIELDS:
        yield f"role {role!r} is none of {', '.join(_FIELDS)}"
        return
    yield from (f"unknown field {name!r} of role {role!r}" for name in message if name != "role" and name not in _FIELDS[role])
    content: Any = message.get("content")
    calls: Any = message.get("tool_calls")
    if role == "assistant":
        if message.get("weight", 1) not in (0, 1):
            yield f"weight {message['weight']!r} is neither 0 nor 1"
        if not content and not calls and not message.get("refusal"):
            yield "says nothing and calls nothing"
        if calls is not None:
            yield from _calls(calls, tools, is_learned=bool(message.get("weight", 1)))
        if content is None:
            return
    if not isinstance(content, str):
        yield from _parts(content, may_show=role == "user")
    if role == "tool" and not isinstance(message.get("tool_call_id"), str):
        yield "no tool_call_id"


def _parts(content: Any, may_show: bool) -> Iterator[str]:
    parts: list[Any] = cast("list[Any]", content) if isinstance(content, list) else []
    if not parts:
        yield "content is no text"
    for part in parts:
        kind: Any = part.get("type") if is_dict(part) else None
        if kind == "text" and isinstance(part.get("text"), str):
            continue
        if not (may_show and kind == "image_url" and is_dict(part.get("image_url"))):
            yield f"a part of kind {kind!r}; {'text and images' if may_show else 'only text'} can be trained on"


def fault_of(reply: Any, tools: Any) -> str:
    """Why nobody should learn to answer like this, or "": it calls what it was not offered, or with what is no object.

    Args:
        reply: an assistant message.
        tools: what was offered.
    """
    return next(_calls(reply.get("tool_calls") or [], _tools(tools)[1], is_learned=True), "")


def _calls(calls: Any, tools: set[str], is_learned: bool) -> Iterator[str]:
    listed: list[Any] = cast("list[Any]", calls) if isinstance(calls, list) else [None]
    for call in listed:
        function: Any = call.get("function") if is_dict(call) else None
        texts = (call.get("id"), function.get("name"), function.get("arguments")) if is_dict(call) and is_dict(function) else (None,)
        if not all(isinstance(text, str) for text in texts) or not texts[0]:
            yield "a tool call without id, name or arguments"
            return
    if is_learned:  # another agent may have made the others, and what was wrong with them was answered by an error
        yield from _unsound(listed, tools)


def _unsound(calls: Any, tools: set[str]) -> Iterator[str]:
    for call in calls:
        name = call["function"]["name"]
        if name not in tools:
            yield f"a call of {name!r}, which is none of the tools"
        if not _is_object(call["function"]["arguments"]):
            yield f"the arguments of {name!r} are no JSON object"


def _is_object(text: Any) -> bool:
    try:
        return isinstance(text, str) and is_dict(json.loads(text))
    except (ValueError, RecursionError):
        return False


def _order(messages: list[Mapping[str, Any]]) -> Iterator[str]:
    """Each call is answered once, in order, directly after its message; those of the last message need no answer."""
    seen: set[str] = set()
    waiting: list[str] = []
    for at, message in enumerate(messages):
        if message["role"] == "tool":
            if not waiting or message["tool_call_id"] != waiting.pop(0):
                yield f"messages[{at}]: answers no call, or not the next one"
                return
            continue
        if waiting:
            yield f"messages[{at}]: the call {waiting[0]!r} before it is not answered"
            return
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
        if len(seen) + len(waiting) != len(seen := {*seen, *waiting}):
            yield f"messages[{at}]: a call has the id of another"
            return


def _ending(messages: list[Mapping[str, Any]]) -> Iterator[str]:
    if messages[-1]["role"] != "assistant":
        yield "the last message is not the assistant's"
    if not any(message["role"] == "assistant" and message.get("weight", 1) for message in messages):
        yield "no message of the assistant has a weight, so there is nothing to learn"
