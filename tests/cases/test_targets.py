"""Agents that are handed to and cannot begin: whatever the reason, the error surfaces and the history claims no success."""

from __future__ import annotations

from typing import Any

import pytest

from swarm import Agent, Handoff, Response, Result, tool
from swarm.models.scripted import call
from tests.look import is_valid, tool_texts
from tests.modes import Drive

HI = [{"role": "user", "content": "hi"}]


def fine() -> str:
    return "fine"


def fails(*_: Any, **__: Any) -> Any:
    raise LookupError("no customer")


async def fails_later(messages: list[Any]) -> Any:
    raise LookupError("no customer")


class Unprintable:
    def __str__(self) -> str:
        raise LookupError("no customer")


def broken(kind: str) -> Agent:
    """An agent B that fails when it is to be asked for the first time."""
    match kind:
        case "instructions":
            return Agent(name="B", instructions=lambda context_variables: fails())
        case "instructions that are no text":
            return Agent(name="B", instructions=lambda: Unprintable())  # type: ignore[arg-type, return-value]
        case "history_filter":
            return Agent(name="B", history_filter=lambda messages: fails())
        case "async history_filter":
            return Agent(name="B", history_filter=fails_later)
        case "a filter that gives no list":
            return Agent(name="B", history_filter=lambda messages: "text")  # type: ignore[arg-type, return-value]
        case "a condition":
            return Agent(name="B", handoffs=[Handoff(Agent(name="C"), when=lambda: fails())])
        case "enabled":
            return Agent(name="B", functions=[tool(fine, enabled=lambda: fails())])
        case "description":
            return Agent(name="B", functions=[tool(fine, description=lambda: fails())])
        case "client":
            return Agent(name="B", client=object())
        case _:
            agent = Agent(name="B")
            agent.functions.append(42)  # type: ignore[arg-type]
            return agent


KINDS = [
    "instructions",
    "instructions that are no text",
    "history_filter",
    "async history_filter",
    "a filter that gives no list",
    "a condition",
    "enabled",
    "description",
    "client",
    "functions",
]


@pytest.mark.parametrize("how", ["handoff", "function", "result"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_history_claims_no_success(drive: Drive, kind: str, how: str) -> None:
    """H12, H15: of a batch only the answer of the handoff says so; what else was done stays."""
    b = broken(kind)

    def to_b() -> Agent:
        return b

    def with_result() -> Result:
        return Result(value="all yours", agent=b, context_variables={"seen": True})

    name = {"handoff": "transfer_to_b", "function": "to_b", "result": "with_result"}[how]
    a = Agent(name="A", functions=[fine, to_b, with_result], handoffs=[b])
    with pytest.raises(Exception) as caught:
        drive(a, HI, [call("fine"), [call("fine"), call(name), call("fine")], "never"])
    response: Response = caught.value.response  # type: ignore[attr-defined]
    texts = tool_texts(response)
    assert [text for at, text in enumerate(texts) if at != 2] == ["fine"] * 3
    assert texts[2] == f"Error: handed over to B, which could not begin: {type(caught.value).__name__}"
    assert is_valid(response.messages)
    assert len(drive.requests) == 2


def test_a_target_that_began_is_not_blamed_later(drive: Drive) -> None:
    """H12: it answered once, so the transfer did succeed, whatever fails in its second turn."""
    turns = iter([None, None])

    def instructions() -> str:
        if next(turns, "over") == "over":
            raise LookupError("no customer")
        return "b"

    b = Agent(name="B", instructions=instructions, functions=[fine])
    with pytest.raises(LookupError) as caught:
        drive(Agent(name="A", handoffs=[b]), HI, [call("transfer_to_b"), call("fine"), call("fine"), "never"])
    response: Response = caught.value.response  # type: ignore[attr-defined]
    assert tool_texts(response) == ['{"assistant": "B"}', "fine", "fine"]


def test_only_the_last_of_several_targets_is_blamed(drive: Drive) -> None:
    """H12, K13"""
    a = Agent(name="A", handoffs=[Agent(name="C"), broken("instructions")])
    with pytest.raises(LookupError) as caught:
        drive(a, HI, [[call("transfer_to_b"), call("transfer_to_c"), call("transfer_to_b")], "never"])
    response: Response = caught.value.response  # type: ignore[attr-defined]
    assert [text.startswith("Error: ") for text in tool_texts(response)] == [False, False, True]


def test_one_that_is_asked_inside_is_a_failed_call(drive: Drive) -> None:
    """H12, U10: with control coming back, the one who asked is told."""
    a = Agent(name="A", handoffs=[Handoff(broken("instructions"), returns=True)])
    response = drive(a, HI, [call("transfer_to_b"), "sorry"])
    assert tool_texts(response) == ["Error: LookupError: no customer"]
    assert response.text == "sorry"
