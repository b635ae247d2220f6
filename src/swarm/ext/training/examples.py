"""From turns to examples. A model is trained on what it was sent, so an example is a request with its answer; and as long as the next
request goes on from it, what follows is part of the same example, so that nothing is trained twice.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...effects import Message
from ...legal import is_dict
from .form import fault_of
from .turns import Turn

_KEPT = {
    "system": ("role", "content", "name"),
    "developer": ("role", "content", "name"),
    "user": ("role", "content", "name"),
    "assistant": ("role", "content", "name", "refusal", "tool_calls"),
    "tool": ("role", "content", "tool_call_id"),
}


@dataclass(slots=True)
class Example:
    """One line of training data.

    Attributes:
        messages: in the form of the chat format, without anybody's own fields.
        tools: what the model is offered.
        settings: `parallel_tool_calls`, where it was sent.
        learned: where in the messages the answers stand that are learned from.
    """

    messages: list[Message]
    tools: list[dict[str, Any]]
    settings: dict[str, Any]
    learned: set[int] = field(default_factory=set[int])

    def as_line(self) -> dict[str, Any]:
        """The example as it is written: answers that are not learned from have the weight 0."""
        messages = [
            {**message, "weight": 0} if message["role"] == "assistant" and at not in self.learned else message
            for at, message in enumerate(self.messages)
        ]
        return {"messages": messages, **({"tools": self.tools} if self.tools else {}), **(self.settings if self.tools else {})}


def examples_of(turns: Sequence[Turn], learn: Collection[str] | None = None) -> list[Example]:
    """The examples that the turns of one conversation make, each answer learned from in one of them.

    An agent that takes over has instructions and tools of its own, so it begins an example, in which what others said before has the
    weight 0. So does one whose instructions change from turn to turn.

    Args:
        turns: in the order in which they happened.
        learn: names of the agents to learn from; None: all.
    """
    made: list[Example] = []
    for turn in turns:
        messages = [cleaned(message) for message in turn.messages]
        example = next((one for one in reversed(made) if _goes_on(one, turn, messages)), None)
        if example is None:
            example = Example(messages, turn.tools, turn.settings)
            made.append(example)
        else:
            example.messages = messages
        if (learn is None or turn.agent in learn) and not fault_of(turn.reply, turn.tools):
            example.learned.add(len(messages))
        example.messages = [*messages, cleaned(turn.reply)]
    return [example for example in made if example.learned]


def _goes_on(example: Example, turn: Turn, messages: list[Message]) -> bool:
    told = example.messages
    return example.tools == turn.tools and example.settings == turn.settings and messages[: len(told)] == told and len(messages) > len(told)


def cleaned(message: Message) -> Message:
    """A message with what the format has a place for, null where there is nothing left out."""
    kept = {name: message[name] for name in _KEPT.get(message["role"], ("role", "content")) if message.get(name) is not None}
    if "tool_calls" in kept:
        kept["tool_calls"] = [_call(call) for call in kept["tool_calls"]]
        if not kept["tool_calls"]:
            del kept["tool_calls"]
    if message["role"] == "assistant" and kept.get("content") == "" and "tool_calls" in kept:
        del kept["content"]
    return kept


def _call(call: Any) -> Any:
    function: Any = call.get("function") if is_dict(call) else None
    if not is_dict(function):
        return call
    return {"id": call.get("id"), "type": "function", "function": {"name": function.get("name"), "arguments": function.get("arguments")}}
