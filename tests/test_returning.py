"""Call and return, `Handoff(returns=True)`: what the target sees, what comes back, and what it may use meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from swarm import Agent, Handoff, Limits, Result, tool
from swarm.events import HandedOff, Nested
from swarm.models.scripted import call
from tests.look import is_valid, system_text, tool_texts
from tests.modes import Drive


def note(text: str, context_variables: dict[str, Any]) -> str:
    """Write something down."""
    context_variables.setdefault("notes", []).append(text)
    return f"noted {text}"


def test_the_target_sees_the_conversation_up_to_the_reply_that_asks_it(drive: Drive) -> None:
    """D24, H03: earlier calls and their answers, and nothing of the reply itself, whose calls are not answered yet."""
    desk = Agent(name="Desk", functions=[note], handoffs=[Handoff(Agent(name="Helper"), returns=True)])
    turns = [call("note", {"text": "a"}), [call("note", {"text": "b"}), call("transfer_to_helper")], "helped", "done"]
    response = drive(desk, "please", turns)
    seen = drive.requests[2]["messages"]
    assert [message["role"] for message in seen] == ["system", "user", "assistant", "tool"]
    assert seen[-1]["content"] == "noted a"
    assert is_valid(drive.requests[3]["messages"])
    assert tool_texts(response) == ["noted a", "noted b", "helped"]


def test_the_filter_of_the_handoff_holds_inside_only(drive: Drive) -> None:
    """H15, D20"""

    def last(messages: list[Any]) -> list[Any]:
        return messages[-1:]

    desk = Agent(name="Desk", handoffs=[Handoff(Agent(name="Helper"), returns=True, history_filter=last)])
    history = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "yes"}, {"role": "user", "content": "two"}]
    drive(desk, history, [call("transfer_to_helper"), "helped", "done"])
    assert [len(request["messages"]) for request in drive.requests] == [4, 2, 6]


def test_its_condition_holds_as_for_any_handoff(drive: Drive) -> None:
    """H21"""
    handoff = Handoff(Agent(name="Helper"), returns=True, when=lambda context_variables: context_variables["open"])
    desk = Agent(name="Desk", handoffs=[handoff])
    response = drive(desk, "please", [call("transfer_to_helper"), "done"], context_variables={"open": False})
    assert "tools" not in drive.requests[0]
    assert response.calls[0].outcome == "error"


def test_what_the_target_changes_in_the_context_is_there_afterwards(drive: Drive) -> None:
    """D24"""
    desk = Agent(name="Desk", functions=[note], handoffs=[Handoff(Agent(name="Helper", functions=[note]), returns=True)])
    turns = [call("transfer_to_helper"), call("note", {"text": "inside"}), "helped", call("note", {"text": "outside"}), "done"]
    response = drive(desk, "please", turns, context_variables={"notes": ["before"]})
    assert response.context_variables == {"notes": ["before", "inside", "outside"]}


def test_handoffs_inside_stay_inside_and_count(drive: Drive) -> None:
    """D24, D45, L07: whoever ends the inner work, the value comes back to the agent that asked."""
    third = Agent(name="Third", instructions="third")
    helper = Agent(name="Helper", handoffs=[third])
    desk = Agent(name="Desk", instructions="desk", handoffs=[Handoff(helper, returns=True)])
    events = drive.events(desk, "please", [call("transfer_to_helper"), call("transfer_to_third"), "from the third", "done"])
    response = events[-1].response  # type: ignore[attr-defined]
    assert response.agent is desk
    assert tool_texts(response) == ["from the third"]
    assert [system_text(request) for request in drive.requests[2:]] == ["third", "desk"]
    assert (response.used["handoffs"], response.handoffs) == (1, [])
    handed = [event.event for event in events if isinstance(event, Nested) and isinstance(event.event, HandedOff)]
    assert [(event.agent, event.to) for event in handed] == [("Helper", "Third")]
    assert not any(isinstance(event, HandedOff) for event in events)


def test_a_value_that_ends_the_inner_work_is_what_comes_back(drive: Drive) -> None:
    """H22: Result(stop=True) inside ends the call, not the run."""

    def found() -> Result:
        """What was looked for."""
        return Result(value={"price": 3}, stop=True)

    desk = Agent(name="Desk", handoffs=[Handoff(Agent(name="Helper", functions=[found]), returns=True)])
    response = drive(desk, "please", [call("transfer_to_helper"), call("found"), "It costs 3."])
    assert (tool_texts(response), response.text, response.stop_reason) == (['{"price":3}'], "It costs 3.", "complete")


def test_usage_adds_up_over_all_depths(drive: Drive) -> None:
    """U10, U03, D45: in sum and by agent, each reply once."""
    deep = Agent(name="Deep")
    middle = Agent(name="Middle", functions=[deep.as_tool()])
    desk = Agent(name="Desk", handoffs=[Handoff(middle, returns=True)])
    turns = [call("transfer_to_middle"), call("deep", {"input": "x"}), "deep text", "middle text", "done"]
    response = drive(desk, "please", turns, limits=Limits(tokens=1_000))
    usage = response.usage
    assert (usage.calls, usage.input_tokens, usage.output_tokens) == (5, 50, 25)
    assert {name: share.calls if hasattr(share, "calls") else share["calls"] for name, share in usage.by_agent.items()} == {
        "Desk": 2,
        "Middle": 2,
        "Deep": 1,
    }
    assert (response.used["model_calls"], response.used["tokens"], response.used["tool_calls"]) == (5, 75, 2)
    assert response.remaining["tokens"] == 925


@pytest.mark.parametrize(
    ("middle", "deep", "whole", "texts", "reason"),
    [
        (None, Limits(model_calls=0), None, ["middle text"], "complete"),
        (Limits(model_calls=2), Limits(model_calls=9), None, ["Middle stopped early (limit:model_calls)."], "complete"),
        (
            Limits(model_calls=9),
            Limits(model_calls=9),
            Limits(model_calls=3),
            ["Middle stopped early (limit:model_calls)."],
            "limit:model_calls",
        ),
    ],
)
def test_the_tightest_of_nested_limits_counts(
    drive: Drive, middle: Limits | None, deep: Limits, whole: Limits | None, texts: list[str], reason: str
) -> None:
    """U10, D6, D45: a limit of the innermost ends the innermost, one further out ends all within."""
    inner = Agent(name="Deep")
    helper = Agent(name="Middle", functions=[inner.as_tool(limits=deep)])
    desk = Agent(name="Desk", handoffs=[Handoff(helper, returns=True, limits=middle)])
    turns = [call("transfer_to_middle"), call("deep", {"input": "x"})]
    turns += ["middle text", "done"] if deep.model_calls == 0 else ["deep text", "done"]
    response = drive(desk, "please", turns, limits=whole)
    assert (tool_texts(response), response.stop_reason) == (texts, reason)


def test_a_pause_inside_goes_on_where_it_was(drive: Drive) -> None:
    """D24, D44, X09: the path is in the id, and the outer call is answered once the inner work is done."""

    @tool(approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    desk = Agent(name="Desk", handoffs=[Handoff(Agent(name="Helper", functions=[pay]), returns=True)])
    paused = drive(desk, "please", [call("transfer_to_helper"), call("pay", {"amount": 3})])
    assert paused.stop_reason == "approval"
    (waiting,) = paused.pending
    assert (waiting.name, waiting.arguments, waiting.agent) == ("pay", {"amount": 3}, "Helper")
    assert waiting.id.startswith(f"{paused.messages[0]['tool_calls'][0]['id']}/")
    response = drive.resume(paused.state(), ["all paid", "done"], approvals={waiting.id: True})
    assert tool_texts(response) == ["all paid"]
    assert (response.text, response.agent) == ("done", desk)
