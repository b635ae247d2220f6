"""What 10,000 messages of history cost, once per run: found to be valid, or repaired. Budget where only the end is wrong: 10 ms.

A history in which every turn is broken has to be made anew as a whole; that is listed, without a budget.

    python -m benchmarks.history_cost
"""

from __future__ import annotations

from typing import Any

from benchmarks.measure import interleaved, table
from swarm.history import repaired

TURNS = 2_500
BUDGET = 10.0
ROUNDS = 9


def conversation(id: str | None = None, answered: bool = True) -> list[dict[str, Any]]:
    """Turns of four messages: a question, a call, its answer, a text.

    Args:
        id: the id of every call; None gives each its own.
        answered: whether the calls have answers.
    """
    messages: list[dict[str, Any]] = []
    for number in range(TURNS):
        call = {"id": id if id is not None else f"call_{number}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        messages.append({"role": "user", "content": f"question {number}"})
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        if answered:
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": "ok"})
        messages.append({"role": "assistant", "content": "done"})
    return messages


HISTORIES = {
    "valid": conversation(),
    "an answer too many at the end": [*conversation(), {"role": "tool", "tool_call_id": "x", "content": "late"}],
    "a call without an answer near the end": [*conversation()[:-2], *conversation()[-1:], {"role": "user", "content": "and?"}],
    "one id in every turn": conversation("f"),
    "no ids": conversation(""),
    "no answers": conversation(answered=False),
}
WITH_BUDGET = 3


def main() -> None:
    seconds = interleaved(
        {name: lambda messages=messages: repaired(messages, allow_open_tail=False) for name, messages in HISTORIES.items()}, ROUNDS, 1
    )
    rows = [
        (name, f"{len(HISTORIES[name])}", f"{cost * 1e3:.1f}", f"{BUDGET:.0f}" if number < WITH_BUDGET else "")
        for number, (name, cost) in enumerate(seconds.items())
    ]
    print(table(("history", "messages", "milliseconds", "budget"), rows))


if __name__ == "__main__":
    main()
