"""Histories as they come back: from a client that saved them, from a run that was cut off, through a filter, out of a state."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from swarm import Agent, AsyncSwarm, Handoff, Response, ScriptedModel, Swarm, load_state, tool
from swarm.errors import HistoryError, StateError
from swarm.events import Delta, MessageDone
from swarm.models.profiles import PROFILES
from swarm.models.scripted import Turn, call
from tests.look import is_valid, outline, sent_unknown_keys, tool_texts
from tests.modes import Drive

USER = {"role": "user", "content": "hi"}


def search(q: str = "") -> str:
    return f"found {q}"


def asks(*ids: str) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [call("search", {"q": id}, id=id) for id in ids]}


def answer(id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": f"found {id}"}


# Open calls at the end


@pytest.mark.parametrize("tail", [[asks("a")], [asks("a", "b"), answer("b")], [asks("a"), answer("a"), asks("b")]])
def test_open_calls_are_refused_before_anything_is_sent(drive: Drive, tail: list[dict[str, Any]]) -> None:
    """M03: the answer names the calls and both ways out; nothing runs, nothing is sent."""
    ran: list[str] = []

    def search(q: str) -> str:
        ran.append(q)
        return "ran"

    with pytest.raises(HistoryError, match=r"search.*approvals=.*resume"):
        drive(Agent(functions=[search]), [USER, *tail], ["never"])
    assert (ran, drive.requests) == ([], [])


@pytest.mark.parametrize(
    ("tail", "ran"),
    [([asks("a")], ["a"]), ([asks("a", "b"), answer("b")], ["a"]), ([asks("a", "b", "c"), answer("b")], ["a", "c"])],
)
def test_open_calls_run_if_asked_for_and_once(drive: Drive, tail: list[dict[str, Any]], ran: list[str]) -> None:
    """M03, D44: what is answered already is not run again, and stays where it belongs."""
    done: list[str] = []

    def search(q: str) -> str:
        done.append(q)
        return f"found {q}"

    response = drive(Agent(functions=[search]), [USER, *tail], ["ok"], approvals={})
    assert done == ran
    sent = drive.requests[0]["messages"]
    assert is_valid(sent)
    assert [message["content"] for message in sent if message["role"] == "tool"] == [
        f"found {entry['id']}" for entry in tail[0]["tool_calls"]
    ]
    assert tool_texts(response) == [f"found {id}" for id in ran]


@pytest.mark.parametrize("how", ["cancel", "error"])
def test_the_next_prompt_after_a_cut_is_taken(how: str) -> None:
    """M03: a run that was cut off between its calls leaves a history that the next run takes."""

    def stop() -> str:
        if how == "error":
            raise SystemExit
        stream.cancel()
        return "stopped"

    agent = Agent(functions=[stop, search])
    stream = Swarm(ScriptedModel([[call("stop"), call("search")], "never"])).stream(agent, [USER])
    if how == "error":
        with pytest.raises(SystemExit):
            list(stream)
    else:
        list(stream)
    assert stream.response is not None
    left = stream.response.messages
    assert is_valid(left)
    assert [message["role"] for message in left] == ["assistant", "tool", "tool"]
    model = ScriptedModel(["ok"])
    assert Swarm(model).run(agent, [USER, *left, USER]).text == "ok"
    assert is_valid(model.requests[0]["messages"])


# Batches in a row


@pytest.mark.parametrize(
    ("messages", "sent"),
    [
        ([asks("a"), asks("b"), answer("a"), answer("b"), USER], ["asks a", "a", "asks b", "b"]),
        ([asks("a"), asks("b"), answer("b"), answer("a"), USER], ["asks a", "a", "asks b", "b"]),
        ([asks("a", "b"), asks("c"), answer("c"), answer("b"), answer("a"), USER], ["asks a b", "a", "b", "asks c", "c"]),
        ([asks("a"), asks("b"), asks("c"), answer("b"), USER], ["asks a", None, "asks b", "b", "asks c", None]),
        ([asks("a"), answer("a"), asks("b"), answer("b"), USER], ["asks a", "a", "asks b", "b"]),
        ([asks("a"), USER, asks("b"), answer("a"), answer("b"), USER], ["asks a", "a", "asks b", "b"]),
    ],
)
def test_batches_in_a_row_are_sent_in_order(drive: Drive, messages: list[dict[str, Any]], sent: list[Any]) -> None:
    """M04: each call answered once, behind its message; what nobody answered is said to be not executed."""
    before = json.dumps(messages)
    drive(Agent(instructions=None, functions=[search]), [USER, *messages], ["ok"])
    went = [message for message in drive.requests[0]["messages"] if message["role"] != "user"]
    assert is_valid(went)
    shown = [
        " ".join(["asks", *(entry["id"] for entry in message["tool_calls"])])
        if message["role"] == "assistant"
        else (message["content"].removeprefix("found ") if message["content"].startswith("found") else None)
        for message in went
    ]
    assert shown == sent
    assert json.dumps(messages) == before


# What a cancelled run leaves


def cut_after(model: ScriptedModel, agent: Agent, deltas: int, is_async: bool) -> Response:
    """The response of a stream that was closed after so many deltas."""
    if not is_async:
        with Swarm(model).stream(agent, [USER]) as stream:
            for event in stream:
                deltas -= isinstance(event, Delta)
                if deltas <= 0:
                    break
        assert stream.response is not None
        return stream.response

    async def read() -> Response:
        left = deltas
        async with AsyncSwarm(model).stream(agent, [USER]) as stream:
            async for event in stream:
                left -= isinstance(event, Delta)
                if left <= 0:
                    break
        assert stream.response is not None
        return stream.response

    return asyncio.run(read())


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    ("turn", "deltas", "kept"),
    [
        (Turn("one two three"), 2, ["one two "]),
        (Turn("one two three"), 0, []),
        (Turn("well ", [call("search", {"q": "a long argument"})]), 3, ["well "]),
        (Turn(None, [call("search", {"q": "a long argument"})]), 2, []),
        (Turn(chunks=[{"content": ""}, {"reasoning_content": "hm"}, {"content": "x"}]), 1, []),
    ],
)
def test_what_came_before_the_cut_is_sent_again_and_nothing_empty(turn: Turn, deltas: int, kept: list[str], is_async: bool) -> None:
    """M06: a partial text is a message like any other in the next run; without text there is none."""
    response = cut_after(ScriptedModel([turn]), Agent(functions=[search]), deltas, is_async)
    assert response.stop_reason == "cancelled"
    assert [message["content"] for message in response.messages] == kept
    model = ScriptedModel(["ok"])
    Swarm(model).run(Agent(instructions=None), [USER, *response.messages, USER])
    assert [message["content"] for message in model.requests[0]["messages"]] == ["hi", *kept, "hi"]
    assert sent_unknown_keys(model.requests) == set()


# Filters that replace


def test_a_summary_replaces_what_one_agent_sees_and_no_more(drive: Drive) -> None:
    """M07: B sees the summary, A everything; only the instructions are a system message, and they come first."""
    seen: list[list[str]] = []

    def summarised(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        seen.append([message["role"] for message in messages])
        return [{"role": "user", "content": "In short: hi."}, messages[-1] if messages[-1]["role"] == "user" else USER]

    b = Agent(name="B", instructions="b", functions=[search], history_filter=summarised)
    a = Agent(name="A", instructions="a", functions=[search], handoffs=[b])
    b.handoffs = [a]
    turns = [call("search"), call("transfer_to_b"), call("search"), call("transfer_to_a"), "end"]
    response = drive(a, [USER], turns)
    requests = [request["messages"] for request in drive.requests]
    assert [message["content"] for message in requests[2]] == ["b", "In short: hi.", "hi"]
    assert [message["content"] for message in requests[3]] == ["b", "In short: hi.", "hi"], "the summary is not added to"
    assert seen[1] == [*seen[0], "assistant", "tool"], "the filter always sees the whole"
    assert len(requests[4]) == 1 + 1 + 8
    assert "In short" not in json.dumps(requests[4])
    assert len(response.messages) == 9
    assert all([message["role"] for message in request].count("system") == 1 for request in requests)
    assert all(request[0]["role"] == "system" for request in requests)


def test_a_system_message_in_the_middle_only_where_the_filter_puts_it(drive: Drive) -> None:
    """M07"""
    summary = {"role": "system", "content": "Summary."}
    b = Agent(name="B", instructions="b")
    drive(Agent(handoffs=[Handoff(b, history_filter=lambda messages: [*messages[:1], summary])]), [USER], [call("transfer_to_b"), "ok"])
    assert [(message["role"], message["content"]) for message in drive.requests[1]["messages"]] == [
        ("system", "b"),
        ("user", "hi"),
        ("system", "Summary."),
    ]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("keep", [lambda messages: messages, lambda messages: messages[:2], lambda messages: messages[2:]])
def test_calls_of_another_kind_pass_through(keep: Any, profile: str) -> None:
    """M04, H15: a call that only its provider understands, as a client's object dumps it, pairs and survives filters."""
    custom = {"id": "c", "type": "custom", "custom": {"name": "grep", "input": "x"}, "function": None}
    messages = [USER, {"role": "assistant", "content": None, "tool_calls": [custom]}, answer("c"), USER]
    model = ScriptedModel(["ok"])
    Swarm(model, profile=profile).run(Agent(history_filter=keep), messages)
    assert is_valid(model.requests[0]["messages"])


@pytest.mark.parametrize("kind", [Swarm, AsyncSwarm])
def test_private_fields_come_back_to_their_provider_over_another_one(kind: Any) -> None:
    """P11, D26: two agents with clients of their own; what one's model said in private is told to it again, and never to the other's."""
    first = ScriptedModel([Turn(calls=[call("transfer_to_b")], extra={"reasoning_content": "of A"}), "end"])
    second = ScriptedModel([Turn(calls=[call("transfer_to_a")], extra={"reasoning_content": "of B"})])
    a, b = Agent(name="A", client=first), Agent(name="B", client=second)
    a.handoffs, b.handoffs = [b], [a]
    swarm = kind(first)
    response = asyncio.run(swarm.run(a, [USER])) if kind is AsyncSwarm else swarm.run(a, [USER])
    assert response.text == "end"
    assert [message.get("reasoning_content") for message in response.messages if message["role"] == "assistant"] == ["of A", "of B", None]
    said = [[message.get("reasoning_content") for message in request["messages"]] for request in (*second.requests, first.requests[1])]
    assert [[text for text in texts if text] for texts in said] == [[], ["of A"]]


# States from outside


def waiting(drive: Drive, ran: list[str]) -> tuple[Agent, Any]:
    """An agent with a gated function, and the JSON of a run that waits for it."""

    @tool(approval=True)
    def pay(amount: int) -> str:
        ran.append(f"pay {amount}")
        return "paid"

    def look() -> str:
        ran.append("look")
        return "seen"

    agent = Agent(name="Shop", functions=[pay, look])
    first = drive(agent, [USER], [[call("look", id="l"), call("pay", {"amount": 5}, id="p")]])
    return agent, json.loads(json.dumps(first.state()))


FORGED: list[dict[str, Any]] = [
    {"approvals": {"p": True}},
    {"approvals": {"p": {"approve": True}}},
    {"pending": []},
    {"agents": {"Shop": "os:system"}},
    {"extra": {"__reduce__": "os.system"}},
]


@pytest.mark.parametrize("forged", FORGED)
def test_a_state_approves_nothing(drive: Drive, forged: dict[str, Any]) -> None:
    """M08: what a state claims beyond its fields does not count; the call waits as before."""
    ran: list[str] = []
    agent, data = waiting(drive, ran)
    again = drive.resume(load_state({**data, **forged}, agents=[agent]), [])
    assert again.stop_reason == "approval"
    assert [pending.id for pending in again.pending] == ["p"]
    assert ran == []


@pytest.mark.parametrize("name", ["delete_everything", "os.system", "__import__", ""])
def test_a_state_calls_only_what_the_agent_has(drive: Drive, name: str) -> None:
    """M08"""
    ran: list[str] = []
    agent, data = waiting(drive, ran)
    data["messages"][1]["tool_calls"][1]["function"]["name"] = name
    with pytest.raises(StateError):
        load_state(data, agents=[agent])
    assert ran == []


def test_a_state_whose_call_was_renamed_to_a_gated_one_waits(drive: Drive) -> None:
    """M08: approval belongs to the function, not to the call that was saved."""
    ran: list[str] = []
    agent, data = waiting(drive, ran)
    data["messages"][1]["tool_calls"][0]["function"] = {"name": "pay", "arguments": '{"amount": 1000}'}
    again = drive.resume(load_state(data, agents=[agent]), [], approvals={"p": True})
    assert [pending.id for pending in again.pending] == ["l", "p"]
    assert ran == []


def test_arguments_of_a_state_are_read_again(drive: Drive) -> None:
    """M08: what no longer fits is told to the model and not run."""
    ran: list[str] = []
    agent, data = waiting(drive, ran)
    data["messages"][1]["tool_calls"][1]["function"]["arguments"] = '{"amount": "much"}'
    response = drive.resume(load_state(data, agents=[agent]), ["sorry"], approvals={})
    assert ran == ["look"]
    assert outline(response)[2][2].startswith("Error: Wrong arguments for pay")


def test_messages_done_are_those_of_the_response(drive: Drive) -> None:
    """M06, U02: a run that was not cut tells each assistant message once, as it is kept."""
    events = drive.events(Agent(functions=[search]), [USER], [call("search"), "ok"])
    told = [event.message for event in events if isinstance(event, MessageDone)]
    response = events[-1].response  # type: ignore[attr-defined]
    assert told == [message for message in response.messages if message["role"] == "assistant"]
