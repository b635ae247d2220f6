"""What a run relies on in a model that calls functions."""

from __future__ import annotations

import json
from typing import Any

from ...effects import Reply
from ...offers import table_of
from ...types import Agent
from ..assertions import assert_called, assert_handoffs, assert_valid_history
from .base import WAYS, ModelSuite, assembled, check_end, check_message
from .rules import require
from .runs import MODES, run_in


def get_weather(city: str) -> str:
    """Get the weather in a city."""
    return f"It is sunny in {city}."


class ToolCallConformance(ModelSuite):
    """Rules for a model that calls functions.

        class TestMine(ToolCallConformance):
            def make(self):
                return MyModel(...)

    `make` returns a new model that answers `text` with a call of `get_weather`, and what that returned with a text.
    """

    agent = Agent(name="Conformance", functions=[get_weather], tool_choice="required")
    text = "What is the weather in Paris?"

    def request(self) -> dict[str, Any]:
        """The keyword arguments of a request that is answered with a call."""
        return {**super().request(), "tools": table_of(self.agent).wire, "tool_choice": "required"}

    def test_a_whole_reply_has_whole_calls(self) -> None:
        """Each call has an id of its own, a name that was offered, and its arguments as the JSON text of an object."""
        for way in WAYS:
            _check_calls(self.asked(way, self.make()))

    def test_a_streamed_reply_has_whole_calls(self) -> None:
        """The same once the chunks are put together."""
        for way in WAYS:
            _check_calls(assembled(self.streamed(way, self.make())))

    def test_a_stream_makes_the_same_calls(self) -> None:
        """The same request gets the same calls, streamed or not, sync or async."""
        if not self.is_deterministic:
            return
        made: dict[str, str] = {}
        for way in WAYS:
            for name, reply in (("complete", self.asked(way, self.make())), ("stream", assembled(self.streamed(way, self.make())))):
                calls = [call["function"] for call in reply.message.get("tool_calls") or ()]
                made[f"{name}, {way}"] = json.dumps([[call["name"], json.loads(call["arguments"])] for call in calls], sort_keys=True)
        require(
            len(set(made.values())) == 1, "The same request is answered with the same calls, streamed or not, sync or async.", repr(made)
        )

    def test_a_run_calls_the_function(self) -> None:
        """A run with this model calls the function and ends with a text, sync and async, streamed and not."""
        for mode in MODES:
            response = run_in(mode, self.make(), self.agent, self.text, [])
            assert_called(response, "get_weather")
            assert_handoffs(response, [self.agent])
            assert_valid_history(response.messages)
            require(
                response.stop_reason == "complete" and response.text,
                "A run ends with the text in which the model answers what the function returned.",
                f"{response.stop_reason!r} with {response.text!r} in the mode {mode!r}",
            )


def _check_calls(reply: Reply) -> None:
    check_message(reply.message)
    check_end(reply)
    calls: list[Any] = reply.message.get("tool_calls") or []
    require(calls, "A request that asks for a call is answered with one.", repr(reply.message))
    ids = [call.get("id") for call in calls]
    require(all(isinstance(id, str) and id for id in ids), "Each call has an id, a text that is not empty.", repr(ids))
    require(len(set(ids)) == len(ids), "No two calls of a reply have the same id.", repr(ids))
    for call in calls:
        require(call.get("type") == "function", 'A call of a function has the type "function".', repr(call))
        function: dict[str, Any] = call.get("function") or {}
        require(function.get("name") == "get_weather", "A call names a function that was offered.", repr(call))
        arguments: Any = function.get("arguments")
        require(isinstance(arguments, str), "The arguments of a call are JSON text.", repr(arguments))
        try:
            is_object = isinstance(json.loads(arguments), dict)
        except ValueError:
            is_object = False
        require(is_object, "The arguments of a call are the text of a JSON object.", repr(arguments))
