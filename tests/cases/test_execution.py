"""Trying again, approving, and cancelling, as programs in earnest need them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator
from typing import Any

import pytest

from swarm import Agent, Approve, AsyncSwarm, Handoff, Refuse, ScriptedModel, Swarm, load_state, tool
from swarm.effects import CallModel, Sleep
from swarm.errors import ConnectionFailed, ModelTimeout, RateLimitError, RequestError, ServerError, StreamBroken, TransientError
from swarm.events import Nested, ToolStarted
from swarm.models.scripted import Turn, call
from tests.look import is_valid, outline, tool_texts
from tests.modes import Drive

HI = [{"role": "user", "content": "hi"}]


def transient(kind: type[TransientError], retry_after: float | None = None) -> TransientError:
    error = kind("try later")
    error.retry_after = retry_after
    return error


class Again:
    """Asks a model again after a transient failure, as often as it is told, and notes how long it would have waited."""

    def __init__(self, tries: int) -> None:
        self.tries = tries
        self.waited: list[float] = []

    def model(self, call: CallModel) -> Generator[Any, Any, Any]:
        for number in range(self.tries - 1):
            try:
                return (yield call)
            except TransientError as error:
                self.waited.append(error.retry_after if error.retry_after is not None else 2.0**number)
                yield Sleep(0)
        return (yield call)


class Counted:
    """A tool that counts."""

    def __init__(self) -> None:
        self.times = 0

    def charge(self) -> str:
        self.times += 1
        return f"charged {self.times}"


@pytest.mark.parametrize("kind", [RateLimitError, ServerError, ConnectionFailed, ModelTimeout])
def test_a_model_is_asked_again_and_nothing_else_is(drive: Drive, kind: type[TransientError]) -> None:
    """X07: twice refused after a tool has run; the tool ran once, each message is there once, and so is its usage."""
    counted, again = Counted(), Again(3)
    turns = [call("charge"), transient(kind, 7), transient(kind), "done"]
    events = drive.events(Agent(functions=[counted.charge]), HI, turns, swarm={"policies": [again]})
    response = events[-1].response  # type: ignore[attr-defined]
    assert counted.times == 1
    assert sum(isinstance(event, ToolStarted) for event in events) == 1
    assert [message["role"] for message in response.messages] == ["assistant", "tool", "assistant"]
    assert response.usage.calls == 2
    assert again.waited == [7, 2]
    assert drive.requests[1]["messages"] == drive.requests[2]["messages"] == drive.requests[3]["messages"]


def test_tries_are_bounded_and_what_was_done_is_kept(drive: Drive) -> None:
    """X07"""
    counted = Counted()
    turns = [call("charge"), *[transient(RateLimitError) for _ in range(5)]]
    with pytest.raises(RateLimitError) as caught:
        drive(Agent(functions=[counted.charge]), HI, turns, swarm={"policies": [Again(3)]})
    assert len(drive.requests) == 4
    assert caught.value.response is not None
    assert tool_texts(caught.value.response) == ["charged 1"]
    assert is_valid(caught.value.response.messages)


def test_what_another_try_would_not_mend_is_not_tried_again(drive: Drive) -> None:
    """X07"""
    with pytest.raises(RequestError):
        drive(Agent(), HI, [RequestError("400: no such model"), "never"], swarm={"policies": [Again(5)]})
    assert len(drive.requests) == 1


@pytest.mark.parametrize("is_async", [False, True])
def test_text_that_was_shown_is_not_shown_twice(is_async: bool) -> None:
    """X07, S15: a stream that breaks behind its first text is not tried again, one that breaks before it is."""

    def read(turns: list[Turn]) -> str:
        model, again = ScriptedModel(turns), Again(3)
        if not is_async:
            return "".join(item.get("content") or "" for item in Swarm(model, policies=[again]).run(Agent(), HI, stream=True))

        async def shown() -> str:
            stream = AsyncSwarm(model, policies=[again]).run(Agent(), HI, stream=True)
            return "".join([item.get("content") or "" async for item in stream])

        return asyncio.run(shown())

    assert read([Turn(chunks=[transient(ConnectionFailed)]), Turn("Hello")]) == "Hello"
    with pytest.raises(StreamBroken):
        read([Turn(chunks=["Hel", transient(ConnectionFailed)]), Turn("Hello")])


# Approval


class Desk:
    """Functions of which two need a person, and what ran."""

    def __init__(self) -> None:
        self.ran: list[str] = []

        def note(text: str) -> str:
            self.ran.append(f"note {text}")
            return "noted"

        @tool(approval=True)
        def pay(amount: int) -> str:
            self.ran.append(f"pay {amount}")
            return f"paid {amount}"

        self.other = Agent(name="Other", functions=[note])

        @tool(approval=True)
        def hand_over() -> Agent:
            self.ran.append("hand over")
            return self.other

        self.agent = Agent(name="Desk", functions=[note, pay, hand_over])


BATCH = [
    call("note", {"text": "a"}, id="n"),
    call("pay", {"amount": 5}, id="p"),
    call("hand_over", id="h"),
    call("note", {"text": "b"}, id="m"),
]


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize(
    ("decisions", "ran", "texts", "agent"),
    [
        (
            {"p": True, "h": True},
            ["note a", "pay 5", "hand over", "note b"],
            ["noted", "paid 5", '{"assistant": "Other"}', "noted"],
            "Other",
        ),
        (
            {"p": Refuse("too much"), "h": True},
            ["note a", "hand over", "note b"],
            ["noted", "The call was not approved. too much", '{"assistant": "Other"}', "noted"],
            "Other",
        ),
        (
            {"p": Approve(arguments={"amount": 3}), "h": False},
            ["note a", "pay 3", "note b"],
            ["noted", "paid 3", "The call was not approved.", "noted"],
            "Desk",
        ),
        (
            {"p": {"approve": False, "reason": "no"}, "h": {"approve": False}},
            ["note a", "note b"],
            ["noted", "The call was not approved. no", "The call was not approved.", "noted"],
            "Desk",
        ),
    ],
)
def test_a_batch_waits_whole_and_runs_once(
    drive: Drive, decisions: dict[str, Any], ran: list[str], texts: list[str], agent: str, parallel: bool
) -> None:
    """X09: through JSON and back; the rest of the batch runs once, in order, whatever was decided, handoffs too."""
    desk, options = Desk(), {"parallel_tools": parallel}
    first = drive(desk.agent, HI, [BATCH], swarm=options)
    assert [pending.id for pending in first.pending] == ["p", "h"]
    assert desk.ran == []
    state = load_state(json.dumps(first.state()), agents=[desk.agent, desk.other])
    done = drive.resume(state, ["ok"], approvals=decisions, swarm=options)
    assert sorted(desk.ran) == sorted(ran)
    assert tool_texts(done) == texts
    assert done.agent is not None
    assert done.agent.name == agent
    assert is_valid(done.messages)
    assert outline(done)[-1] == ("assistant", agent, "ok")


def test_an_approval_behind_a_handoff_and_back(drive: Drive) -> None:
    """X09: the pause remembers who was active; the next gated call waits again."""
    desk = Desk()
    front = Agent(name="Front", handoffs=[Handoff(desk.agent)])
    first = drive(front, HI, [call("transfer_to_desk"), call("pay", {"amount": 1}, id="p1")])
    state = load_state(json.dumps(first.state()), agents=[front, desk.agent, desk.other])
    second = drive.resume(state, [call("pay", {"amount": 2}, id="p2")], approvals={"p1": True})
    assert (second.stop_reason, [pending.id for pending in second.pending]) == ("approval", ["p2"])
    assert desk.ran == ["pay 1"]


# Cancelling


@pytest.mark.parametrize("is_async", [False, True])
def test_a_graceful_cancel_finishes_the_turn_with_its_usage(is_async: bool) -> None:
    """X03: asked for while a tool runs; the whole batch is done and counted, and no other turn begins."""
    holder: list[Any] = []

    def ask_to_stop() -> str:
        holder[0].cancel(after_turn=True)
        return "asked"

    counted = Counted()
    agent = Agent(functions=[ask_to_stop, counted.charge])
    model = ScriptedModel([[call("ask_to_stop"), call("charge")], "never"])
    if is_async:

        async def read() -> Any:
            async with AsyncSwarm(model).stream(agent, HI) as stream:
                holder.append(stream)
                return [event async for event in stream][-1]

        last = asyncio.run(read())
    else:
        with Swarm(model).stream(agent, HI) as stream:
            holder.append(stream)
            last = list(stream)[-1]
    assert last.response.stop_reason == "cancelled"
    assert tool_texts(last.response) == ["asked", "charged 1"]
    assert (last.response.usage.calls, last.response.usage.total_tokens) == (1, 15)
    assert (len(model.requests), model.open_streams) == (1, 0)
    model = ScriptedModel(["ok"])
    assert Swarm(model).run(agent, [*HI, *last.response.messages, *HI]).text == "ok"


def test_a_graceful_cancel_lets_a_run_inside_come_to_its_end() -> None:
    """X03, D24: asked for in the inner run's first turn; it is part of the outer turn, so it takes all the turns it needs."""
    counted = Counted()
    inner = Agent(name="Inner", functions=[counted.charge])
    model = ScriptedModel([call("inner", {"input": "x"}), call("charge"), call("charge"), "inner text", "never"])
    with Swarm(model).stream(Agent(name="Outer", functions=[inner.as_tool()]), HI) as stream:
        for event in stream:
            if isinstance(event, Nested):
                stream.cancel(after_turn=True)
    assert stream.response is not None
    assert stream.response.stop_reason == "cancelled"
    assert tool_texts(stream.response) == ["inner text"]
    assert counted.times == 2
