"""Assertions about runs: what passes, and what each failure says."""

from __future__ import annotations

import datetime
from typing import Any
from unittest.mock import ANY

import pytest
from pydantic import BaseModel

from swarm import Agent, Response, ToolCall, tool
from swarm.models.scripted import call
from swarm.testing import assert_called, assert_handoffs, assert_not_called, assert_stopped, assert_valid_history
from tests.modes import Drive


class Item(BaseModel):
    id: int
    name: str = "shoe"


def refund(item: Item, reason: str = "none") -> str:
    """Refund an item."""
    if reason == "fail":
        raise ValueError("no money left")
    return "refunded"


def on(day: datetime.date) -> str:
    """Say the day."""
    return str(day)


@tool(approval=True)
def pay() -> str:
    """Pay."""
    return "paid"


refunds = Agent(name="Refunds", functions=[refund, on, pay])
triage = Agent(name="Triage", handoffs=[refunds])


@pytest.fixture
def response(drive: Drive) -> Response:
    """A run with a handoff, calls of every outcome and a long text."""
    turns = [
        call("transfer_to_refunds"),
        [
            call("refund", {"item": {"id": 7}, "reason": "broken"}),
            call("refund", {"item": {"id": 8}, "reason": "fail"}),
            call("refund", {"item": "eight"}),
        ],
        [call("on", {"day": "2031-05-04"}), call("fly", {})],
        "word " * 100,
    ]
    return drive(triage, "I want a refund", turns)


def message_of(check: Any, *args: Any, **kwargs: Any) -> str:
    with pytest.raises(AssertionError) as caught:
        check(*args, **kwargs)
    return str(caught.value)


# Handoffs


def test_handoffs_are_the_agents_in_order(response: Response) -> None:
    assert_handoffs(response, ["Triage", "Refunds"])
    assert_handoffs(response, [triage, refunds])


def test_a_run_without_a_handoff_has_one_agent(drive: Drive) -> None:
    assert_handoffs(drive(triage, "hi", ["Hello"]), ["Triage"])
    assert message_of(assert_handoffs, Response(), ["Triage"]).startswith("expected the agents Triage, but they were nobody\n")


def test_other_handoffs_are_told_with_the_whole_run(response: Response) -> None:
    text = message_of(assert_handoffs, response, ["Triage", "Sales", "Refunds"])
    assert text.splitlines()[:3] == [
        "expected the agents Triage -> Sales -> Refunds, but they were Triage -> Refunds",
        "what happened:",
        "  Triage called transfer_to_refunds() (ok), Refunds took over",
    ]


@pytest.mark.parametrize("wrong", ["Triage", [], ()])
def test_handoffs_take_a_list(response: Response, wrong: Any) -> None:
    with pytest.raises(TypeError, match="the first one too"):
        assert_handoffs(response, wrong)


# Calls


def test_a_call_is_found_by_some_of_its_arguments(response: Response) -> None:
    (found,) = assert_called(response, "refund", reason="broken")
    assert found.id == response.calls[1].id
    assert_called(response, "refund", item={"id": 7, "name": "shoe"})
    assert_called(response, "refund", item=Item(id=7), reason="broken")
    assert_called(response, "refund", item=ANY)
    assert_called(response, "on", day=datetime.date(2031, 5, 4))
    assert_called(response, "on", day="2031-05-04")
    assert len(assert_called(response, "refund")) == 2


def test_calls_are_counted(response: Response) -> None:
    """What the function could not be called with is no call of it."""
    assert_called(response, "refund", 2)
    assert_called(response, "fly", 0)
    assert message_of(assert_called, response, "refund", 3).startswith("expected 3 calls of refund(), but there were 2\n")
    assert message_of(assert_called, response, "refund", 2, reason="broken").startswith(
        "expected 2 calls of refund(reason='broken'), but there were 1\n"
    )


@pytest.mark.parametrize("arguments", [{"reason": "other"}, {"colour": "red"}, {"item": {"id": 9}}, {"item": Item(id=7, name="hat")}])
def test_a_call_with_other_arguments_is_another_call(response: Response, arguments: dict[str, Any]) -> None:
    text = message_of(assert_called, response, "refund", **arguments)
    assert text.startswith("expected a call of refund(")
    assert_not_called(response, "refund", **arguments)


def test_arguments_may_be_called_anything() -> None:
    found = ToolCall("1", "odd", {"response": 1, "name": 2, "count": 3}, "A")
    assert assert_called(Response(calls=[found]), "odd", 1, response=1, name=2, count=3) == [found]
    assert_not_called(Response(calls=[found]), "odd", name=3)


def test_a_missing_call_is_told_with_what_came_of_the_others(response: Response) -> None:
    lines = message_of(assert_called, response, "cancel", order=5).splitlines()
    assert lines[0] == "expected a call of cancel(order=5), but there were 0"
    assert lines[3:5] == [
        "  Refunds called refund(item=Item(id=7, name='shoe'), reason='broken') (ok)",
        "  Refunds called refund(item=Item(id=8, name='shoe'), reason='fail') (error: ValueError: no money left)",
    ]
    assert lines[5].startswith('  Refunds called refund({"item":"eight"}) (error: ')
    assert lines[7].startswith("  Refunds called fly({}) (error: Tool fly not found.")
    assert lines[8].startswith("  Refunds: word word") and lines[8].endswith("...") and len(lines[8]) < 350
    assert lines[9] == "  ended with 'complete'"


def test_a_call_that_is_there_fails_the_opposite(response: Response) -> None:
    assert_not_called(response, "cancel")
    assert_not_called(response, "fly")
    text = message_of(assert_not_called, response, "refund", reason="broken")
    assert text.startswith("expected no call of refund(reason='broken'), but there were 1\nwhat happened:\n")


@pytest.mark.parametrize("outcome", ["refused", "skipped"])
def test_a_call_that_did_not_run_is_none(outcome: str) -> None:
    response = Response(calls=[ToolCall("1", "pay", {}, "A", outcome)])
    assert_not_called(response, "pay")
    message_of(assert_called, response, "pay")


@pytest.mark.parametrize("outcome", ["ok", "error", "timed_out", "unknown"])
def test_a_call_that_ran_is_one_whatever_came_of_it(outcome: str) -> None:
    assert_called(Response(calls=[ToolCall("1", "pay", {}, "A", outcome)]), "pay", 1)


# How it ended


def test_the_reason_for_the_end(drive: Drive) -> None:
    response = drive(refunds, "pay", [call("pay")])
    assert_stopped(response, "approval")
    assert_not_called(response, "pay")
    assert message_of(assert_stopped, response, "complete").splitlines() == [
        "expected the run to end with 'complete', but it ended with 'approval'",
        "what happened:",
        "  Refunds wants pay (not run)",
        "  ended with 'approval'",
    ]


# Valid histories


def test_what_a_run_leaves_is_valid(response: Response) -> None:
    assert_valid_history(response.messages)
    assert_valid_history([{"role": "user", "content": "hi"}, *response.messages])
    assert_valid_history([])


def calls(*ids: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [{"id": id, "function": {"name": "pay"}} for id in ids]}


def answer(id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": "paid"}


USER: dict[str, Any] = {"role": "user", "content": "hi"}


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ([calls("1")], "the messages end, but the tool calls ['1'] have no answer"),
        ([calls("1", "2"), answer("1"), USER], "message 2 is of role 'user', but the tool calls ['2'] before it have no answer yet"),
        ([USER, answer("1")], "message 1 answers the tool call '1', but no call waits for an answer there"),
        ([calls("1"), answer("1"), answer("1")], "message 2 answers the tool call '1', but no call waits for an answer there"),
        ([calls("1", "2"), answer("2"), answer("1")], "message 1 answers the tool call '2', but the next one to be answered is '1'"),
        ([calls("1", "1"), answer("1"), answer("1")], "message 0 calls pay with the id '1', which is used before"),
        ([calls("1"), answer("1"), calls("1"), answer("1")], "message 2 calls pay with the id '1', which is used before"),
        ([calls("")], "message 0 calls pay with the id '', which is no id"),
        ([calls(None)], "message 0 calls pay with the id None, which is no id"),
    ],
)
def test_what_no_provider_takes_is_named(messages: list[dict[str, Any]], why: str) -> None:
    assert message_of(assert_valid_history, messages) == why
