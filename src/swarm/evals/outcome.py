"""What a conversation came to, as scorers see it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from ..legal import call_name
from ..messages import text_of
from ..types import Agent, Response, ToolCall, Usage

_CALLED = ("ok", "error", "timed_out", "unknown", "pending")


@dataclass(slots=True)
class Outcome:
    """A conversation: one run for most cases, several with a simulated user.

    Attributes:
        agent: who is active.
        messages: the whole conversation; those of agents have a `sender`.
        input: how many of the messages were given.
        context_variables: as they are now, live.
        calls: every tool call and what became of it; `outcome` is "pending" for one that waits for an approval, "not run" for one that was
            left alone.
        handoffs: who handed over to whom, by name.
        stop_reason: why the last run ended, "error" if it failed.
        usage: tokens, cost and calls of the agents' models.
        usage_apart: the same of models that only measure, by who they are: "judge", "user".
        state: what the case's `state` is compared with.
    """

    agent: Agent
    messages: list[dict[str, Any]]
    input: int
    context_variables: dict[str, Any]
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    handoffs: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    stop_reason: str = "error"
    usage: Usage = field(default_factory=Usage)
    usage_apart: dict[str, Usage] = field(default_factory=dict[str, Usage])
    state: Any = None

    def add(self, response: Response) -> None:
        """Take in what a run came to."""
        self.agent = response.agent or self.agent
        self.messages += response.messages
        self.context_variables = response.context_variables
        waiting = [ToolCall(call.id, call.name, call.arguments, call.agent, "pending") for call in response.pending]
        known = {call.id for call in (*response.calls, *waiting)}
        self.calls += [*response.calls, *waiting, *(call for call in _left_alone(response.messages) if call.id not in known)]
        self.handoffs += response.handoffs
        self.stop_reason = response.stop_reason
        self.usage += response.usage

    def add_apart(self, name: str, usage: Usage) -> None:
        """Count what a model took that only measures.

        Args:
            name: who it is, such as "judge".
            usage: of one question to it.
        """
        if usage.calls:
            self.usage_apart[name] = self.usage_apart.get(name, Usage()) + usage

    @property
    def text(self) -> str:
        """The last text of an agent, "" if there is none."""
        said = (text_of(message) for message in reversed(self._replies()) if message.get("content"))
        return next(said, "")

    @property
    def first_call(self) -> tuple[str, Any]:
        """The first call of the first reply: its function and its arguments, or "None" and no arguments."""
        replies = self._replies()
        called: list[Any] = (replies[0].get("tool_calls") if replies else None) or []
        return (call_name(called[0]), _arguments_of(called[0])) if called else ("None", {})

    @property
    def called(self) -> list[ToolCall]:
        """The calls that ran or wait for an approval, whose arguments were understood."""
        return [call for call in self.calls if call.outcome in _CALLED and isinstance(call.arguments, dict)]

    def _replies(self) -> list[dict[str, Any]]:
        return [message for message in self.messages[self.input :] if message.get("role") == "assistant"]


def _left_alone(messages: list[dict[str, Any]]) -> list[ToolCall]:
    return [
        ToolCall(entry["id"], call_name(entry), _arguments_of(entry), message.get("sender") or "", "not run")
        for message in messages
        for entry in message.get("tool_calls") or ()
    ]


def _arguments_of(entry: dict[str, Any]) -> Any:
    """What the model wrote, as values if it is JSON."""
    text = entry.get("function", {}).get("arguments") or "{}"
    try:
        return json.loads(text)
    except ValueError:
        return text
