"""What a history costs: a message of it in the first turn of a run, in each form that histories have, and 10,000 broken ones repaired.

The first table is a whole run of one turn up to the bytes of its request, without an empty run, beside what the JSON writer alone takes for
the same messages. Its goal is what one `json.loads` of 200 bytes costs, a tenth of it for plain messages. Later turns pay for what is new
only (tests/test_operations.py counts that). The second table has a budget where only the end is wrong: 10 ms. A history in which every
turn is broken has to be made anew as a whole; that is listed, without a budget.

    python -m benchmarks.history_cost
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from pydantic_core import to_json

from benchmarks.measure import interleaved, table
from benchmarks.scenarios import history
from benchmarks.turn_cost import SAMPLE, InstantModel
from swarm import Agent, Swarm
from swarm.effects import CallModel, Message, Reply
from swarm.history import repaired
from swarm.models.endpoint import Endpoint
from swarm.models.outgoing import outgoing
from swarm.models.timeouts import Timeout

TURNS = 2_500
BUDGET = 10.0
ROUNDS = 9
SIZES = (20, 200, 2_000, 10_000)
QUESTION = {"role": "user", "content": "And now?"}
ENDPOINT = Endpoint("http://127.0.0.1:1/v1", "key", None, None, None)


class Encoding(InstantModel):
    """Encodes a request as our client does, and answers in no time."""

    encodes = True

    def complete(self, call: CallModel) -> Reply:
        outgoing(ENDPOINT, Timeout(), call.request, None, stream=False)
        return super().complete(call)


def conversation(id: str | None = None, answered: bool = True) -> list[Message]:
    """Turns of four messages: a question, a call, its answer, a text.

    Args:
        id: the id of every call; None gives each its own.
        answered: whether the calls have answers.
    """
    messages: list[Message] = []
    for number in range(TURNS):
        call = {"id": id if id is not None else f"call_{number}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        messages.append({"role": "user", "content": f"question {number}"})
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        if answered:
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": "ok"})
        messages.append({"role": "assistant", "content": "done"})
    return messages


def kept(message: Message) -> Message:
    """A message as a Response holds it, with who spoke and which tool answered."""
    if message["role"] == "assistant":
        return {"role": "assistant", "content": message["content"], "sender": "Agent", "tool_calls": message.get("tool_calls")}
    return {**message, "tool_name": "f"} if message["role"] == "tool" else message


FORMS = {
    "plain texts": history(max(SIZES)),
    "texts, as a Response holds them": list(map(kept, history(max(SIZES)))),
    "texts, calls and answers": conversation(),
    "the same, as a Response holds them": list(map(kept, conversation())),
}
BROKEN = {
    "valid": conversation(),
    "an answer too many at the end": [*conversation(), {"role": "tool", "tool_call_id": "x", "content": "late"}],
    "a call without an answer near the end": [*conversation()[:-2], *conversation()[-1:], {"role": "user", "content": "and?"}],
    "one id in every turn": conversation("f"),
    "no ids": conversation(""),
    "no answers": conversation(answered=False),
}
WITH_BUDGET = 3


def thousand_loads() -> None:
    for _ in range(1_000):
        json.loads(SAMPLE)


def first_turns(size: int) -> list[tuple[str, ...]]:
    """The rows for histories of one size."""
    client, agent = Swarm(Encoding(1)), Agent()
    repeats = max(1, 10_000 // size)
    work: dict[str, Callable[[], Any]] = {"loads": thousand_loads, "empty": lambda: client.run(agent, [QUESTION])}
    for form, messages in FORMS.items():
        given, sent = (
            [*messages[:size], QUESTION],
            [{k: v for k, v in m.items() if k not in ("sender", "tool_name")} for m in messages[:size]],
        )
        work[form] = lambda given=given: client.run(agent, given)
        work[f"{form}, JSON"] = lambda sent=sent: to_json(sent)
    seconds = interleaved(work, ROUNDS, repeats)
    unit, rows = seconds["loads"] / 1_000, list[tuple[str, ...]]()
    for form in FORMS:
        whole, encoded = (seconds[form] - seconds["empty"]) / size, seconds[f"{form}, JSON"] / size
        beyond = whole - encoded
        rows.append((form, f"{size:,}", f"{whole * 1e6:.2f}", f"{encoded * 1e6:.2f}", f"{beyond * 1e6:.2f}", f"{beyond / unit:.2f}"))
    return rows


def main() -> None:
    head = ("a message of history, in the first turn", "of", "microseconds", "of them JSON", "ours", "ours in loads")
    print(table(head, [row for size in SIZES for row in first_turns(size)]), end="\n\n")
    seconds = interleaved(
        {name: lambda messages=messages: repaired(messages, allow_open_tail=False) for name, messages in BROKEN.items()}, ROUNDS, 1
    )
    rows = [
        (name, f"{len(BROKEN[name])}", f"{cost * 1e3:.1f}", f"{BUDGET:.0f}" if number < WITH_BUDGET else "")
        for number, (name, cost) in enumerate(seconds.items())
    ]
    print(table(("history", "messages", "milliseconds", "budget"), rows))


if __name__ == "__main__":
    main()
