"""A stage for the offline model: agents as raw tool schemas, and the loop that any application writes around a client."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import Any

from swarm.models.offline import OfflineModel

Message = dict[str, Any]

TEXT = {"type": "string"}
ELSEWHERE = "Call this when the customer asks for something that is not handled by this agent."


@functools.cache
def model() -> OfflineModel:
    """One model for all tests: loading takes half a second."""
    return OfflineModel()


def function(name: str, description: str = "", required: Sequence[str] = (), /, **properties: Any) -> Message:
    """An entry of a request's `tools`."""
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


AIRLINE: dict[str, list[Message]] = {
    "Triage Agent": [
        function("transfer_to_flight_modification", "Hand over to the agent that cancels or changes flights."),
        function("transfer_to_lost_baggage", "Hand over to the agent that finds lost baggage."),
    ],
    "Flight Modification Agent": [
        function("transfer_to_flight_cancel", "Hand over to the agent that cancels flights."),
        function("transfer_to_flight_change", "Hand over to the agent that changes flights."),
    ],
    "Flight Cancel Agent": [
        function("escalate_to_agent", "Get a human agent.", (), reason=TEXT),
        function("initiate_refund", "Refund the cancelled flight."),
        function("initiate_flight_credits", "Give flight credits instead of money."),
        function("transfer_to_triage", ELSEWHERE),
        function("case_resolved", "Close the case when nothing else is needed."),
    ],
    "Flight Change Agent": [
        function("escalate_to_agent", "Get a human agent.", (), reason=TEXT),
        function("change_flight", "Book the customer on another flight."),
        function("valid_to_change_flight", "Check whether the flight may be changed."),
        function("transfer_to_triage", ELSEWHERE),
        function("case_resolved", "Close the case when nothing else is needed."),
    ],
    "Lost Baggage Agent": [
        function("escalate_to_agent", "Get a human agent.", (), reason=TEXT),
        function("initiate_baggage_search", "Search for the lost bag."),
        function("transfer_to_triage", ELSEWHERE),
        function("case_resolved", "Close the case when nothing else is needed."),
    ],
}
AIRLINE_RESULTS = {
    "transfer_to_flight_modification": "Flight Modification Agent",
    "transfer_to_lost_baggage": "Lost Baggage Agent",
    "transfer_to_flight_cancel": "Flight Cancel Agent",
    "transfer_to_flight_change": "Flight Change Agent",
    "transfer_to_triage": "Triage Agent",
    "initiate_refund": "Refund initiated",
    "initiate_flight_credits": "Flight credits initiated",
    "change_flight": "The flight is changed",
    "valid_to_change_flight": "The flight may be changed",
    "initiate_baggage_search": "The bag is found",
    "escalate_to_agent": "A human takes over",
    "case_resolved": "The case is closed.",
}


class Stage:
    """A conversation with agents that are lists of tools.

    Args:
        agents: the tools of each agent by its name.
        results: what each function returns; the name of an agent is a handoff.
        start: the agent that speaks first.
    """

    def __init__(self, agents: dict[str, list[Message]], results: dict[str, str], start: str) -> None:
        self.agents, self.results, self.active = agents, results, start
        self.messages: list[Message] = []

    def say(self, text: str) -> tuple[list[str], str]:
        """Say something; the functions that were called for it, and the reply."""
        self.messages.append({"role": "user", "content": text})
        called: list[str] = []
        for _ in range(8):
            system = {"role": "system", "content": f"You are {self.active}."}
            answer = model().chat.completions.create(model="m", messages=[system, *self.messages], tools=self.agents[self.active])
            message = answer.choices[0].message
            self.messages.append(message.model_dump(exclude_none=True))
            if not message.tool_calls:
                return called, message.content
            for call in message.tool_calls:
                called.append(call.function.name)
                result = self.results[call.function.name]
                if result in self.agents:
                    self.active, result = result, json.dumps({"assistant": result})
                self.messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        raise AssertionError(f"no end after {called}")


def airline() -> Stage:
    return Stage(AIRLINE, AIRLINE_RESULTS, "Triage Agent")


def ask(text: str | Sequence[Message], tools: Sequence[Message] | None = None, **settings: Any) -> Any:
    """One request; its message."""
    messages = [{"role": "user", "content": text}] if isinstance(text, str) else list(text)
    return model().chat.completions.create(model="m", messages=messages, tools=tools, **settings).choices[0].message


def call_of(message: Any) -> tuple[str, dict[str, Any]]:
    """The one call of a message."""
    (call,) = message.tool_calls
    return call.function.name, json.loads(call.function.arguments)
