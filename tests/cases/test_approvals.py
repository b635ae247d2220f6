"""What approvals must never do."""

from __future__ import annotations

from typing import Any

import pytest

from swarm import Agent, Response, tool
from swarm.errors import StateError
from swarm.models.scripted import call
from tests.look import is_valid
from tests.modes import Drive

HI = [{"role": "user", "content": "hi"}]


def test_an_approval_is_not_for_a_call_made_later(drive: Drive) -> None:
    """D3, X09: nothing was open; some providers use the function's name as id, so the id could be guessed."""
    paid: list[int] = []

    @tool(approval=True)
    def pay() -> str:
        paid.append(1)
        return "paid"

    with pytest.raises(StateError, match="no call is open"):
        drive(Agent(functions=[pay]), HI, [call("pay", id="pay")], approvals={"pay": True})
    response = drive(Agent(functions=[pay]), HI, [call("pay", id="pay")], approvals={})
    assert response.stop_reason == "approval"
    assert [pending.id for pending in response.pending] == ["pay"]
    assert paid == []


def test_a_run_that_may_resume_leaves_no_open_calls_of_its_own(drive: Drive) -> None:
    """D43: approvals={} was given and nothing was open; the run fails before its first call begins."""

    def explode(context_variables: dict[str, Any]) -> bool:
        raise ZeroDivisionError

    def pay() -> str:
        return "paid"

    with pytest.raises(ZeroDivisionError) as caught:
        drive(Agent(functions=[tool(pay, approval=explode)]), HI, [call("pay")], approvals={})
    response: Response = caught.value.response  # type: ignore[attr-defined]
    assert is_valid(response.messages)
    assert [made.outcome for made in response.calls] == ["skipped"]
