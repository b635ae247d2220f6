"""Projections: what an agent sees of the history. Whatever they leave is a valid history that begins and ends as they say."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarm import Agent, AgentError, Handoff
from swarm.errors import HistoryError
from swarm.history import repaired
from swarm.models.scripted import call
from swarm.projections import compose, last, since_handoff, summary, without_tools
from swarm.steps import begins_step, begins_turn, steps
from tests.look import is_valid
from tests.modes import Drive

Messages = list[dict[str, Any]]
A, B = Agent(name="A"), Agent(name="B")


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def said(text: str | None, sender: str | None = "A", *ids: str) -> dict[str, Any]:
    calls = [{"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}} for id in ids] or None
    return {"role": "assistant", "content": text, "tool_calls": calls} | ({"sender": sender} if sender else {})


def answer(id: str, text: str = "done") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "tool_name": "f", "content": text}


def shown(text: str = "see") -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}], "sender": "A"}


@st.composite
def histories(draw: Any) -> Messages:
    """Valid histories: turns of two agents and of unknown ones, calls in batches, things that tools showed, system texts anywhere."""
    history: Messages = []
    for number in range(draw(st.integers(0, 12))):
        kind = draw(st.sampled_from(["user", "text", "calls", "calls", "shown", "system"]))
        text = f"{kind} {number} " + "word " * draw(st.sampled_from([0, 5, 60, 200]))
        if kind == "system":
            history.append({"role": "system", "content": text})
        elif kind == "user":
            history.append(user(text))
        elif kind == "text":
            history.append(said(text, draw(st.sampled_from(["A", "B", None]))))
        else:
            ids = [f"{number}_{at}" for at in range(draw(st.integers(1, 3)))]
            history.append(said(draw(st.sampled_from([None, text])), draw(st.sampled_from(["A", "B", None])), *ids))
            history += [answer(id, text) for id in ids]
            if kind == "shown":
                history.append(shown())
    assert is_valid(history)
    return history


def system_texts(messages: Messages) -> list[str]:
    return [message["content"] for message in messages if message["role"] == "system"]


def without_system(messages: Messages) -> Messages:
    return [message for message in messages if message["role"] != "system"]


TALK = [
    {"role": "system", "content": "We are closed."},
    user("one"),
    said("first", "A"),
    user("two"),
    said("wait", "A", "1", "2"),
    answer("1"),
    answer("2"),
    shown(),
    said(None, "A", "3"),
    answer("3", '{"assistant": "B"}'),
    said(None, "B", "4"),
    answer("4"),
]


# Steps


def test_calls_their_answers_and_what_these_show_are_one_step() -> None:
    assert [len(step) for step in steps(TALK)] == [1, 1, 1, 1, 4, 2, 2]
    assert [at for at in range(len(TALK)) if begins_turn(TALK, at)] == [1, 3]
    sent = [answer("1"), {"role": "user", "content": [{"type": "text", "text": "see"}]}]
    assert not begins_step(sent, 1), "in a request nobody says who put it there, but it is parts"
    assert begins_turn([answer("1"), user("stop")], 1)
    assert not begins_turn([said("x"), {**user("Your answer does not fit"), "sender": "A"}], 1)
    assert steps([]) == []
    old = [{"role": "assistant", "content": None, "function_call": {"name": "f"}}, {"role": "function", "name": "f", "content": "x"}]
    assert [len(step) for step in steps(old)] == [2]


@given(histories())
def test_a_cut_between_steps_leaves_two_valid_histories(history: Messages) -> None:
    """H14"""
    for at in range(len(history)):
        if begins_step(history, at):
            assert is_valid(history[:at]) and is_valid(history[at:])
    assert [message for step in steps(history) for message in step] == history


# Each projection


def test_the_last_turns() -> None:
    """H15"""
    assert last(1)(TALK) == [TALK[0], *TALK[3:]]
    assert last(2)(TALK) == last(9)(TALK) == TALK
    assert last(1)([said("hello"), user("one")]) == [said("hello"), user("one")]
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="at least 1"):
            last(wrong)


def test_without_tools() -> None:
    """H14, H15"""
    texts = [TALK[0], user("one"), said("first", "A"), user("two")]
    wait = {"role": "assistant", "content": "wait", "sender": "A"}
    assert without_tools()(TALK, B) == [*texts, wait, *TALK[10:]]
    assert without_tools()(TALK[:10], B) == texts, "it does not end in a message that had calls"
    assert without_tools()(TALK, A) == TALK[:10]
    assert without_tools(keep_own=False)(TALK, B) == without_tools()(TALK) == texts
    assert without_tools()([said("hi"), user("x"), said("y")]) == [said("hi"), user("x"), said("y")]


def test_since_the_handoff() -> None:
    """H15"""
    assert since_handoff()(TALK[:10], B) == [TALK[0], user("two")]
    assert since_handoff()(TALK, B) == [TALK[0], user("two"), *TALK[10:]]
    later = [*TALK, said("bye", "B"), user("three")]
    assert since_handoff()(later, B) == [TALK[0], user("two"), *TALK[10:], said("bye", "B"), user("three")]
    assert since_handoff()(later, A) == [TALK[0], user("three")]
    assert since_handoff()(TALK[:10], A) == TALK[:10]
    assert since_handoff()(TALK) == TALK
    assert since_handoff()([said("x", "A")], B) == [said("x", "A")], "there is nothing to give it else"
    assert since_handoff()([user("x"), said("y", None)], B) == [user("x"), said("y", None)]


def test_a_summary_and_the_last_turns() -> None:
    """H15, M07"""
    asked: list[Messages] = []

    def write(messages: Messages) -> str:
        asked.append(messages)
        return "They said one."

    seen = summary(write)(TALK)
    assert asked == [[user("one"), said("first", "A")]]
    assert [message["role"] for message in seen[:4]] == ["system", "user", "assistant", "user"]
    assert seen[2] == {"role": "assistant", "content": "They said one."}
    assert seen[3:] == TALK[3:]
    assert summary(write, turns=2)(TALK) == TALK
    assert summary(lambda messages: "")(TALK) == last(1)(TALK)
    with pytest.raises(ValueError, match="at least 1"):
        summary(write, turns=0)


def test_projections_compose() -> None:
    """H15"""
    assert compose(without_tools(), last(1))(TALK, B) == last(1)(without_tools()(TALK, B))
    assert compose()(TALK) == TALK
    named = compose(lambda messages, context_variables: [*messages, user(context_variables["name"])], last(1))
    assert named(TALK, context_variables={"name": "Ann"}) == [TALK[0], user("Ann")]
    with pytest.raises(AgentError, match="asks for"):
        compose(lambda messages, nonsense: messages)


def test_a_composition_waits_for_what_is_async() -> None:
    async def slow(messages: Messages) -> Messages:
        await asyncio.sleep(0)
        return [*messages, user("later")]

    async def write(messages: Messages) -> str:
        return f"{len(messages)} messages"

    made = asyncio.run(compose(last(2), slow, summary(write), slow)(TALK))
    assert [message["content"] for message in made[2:]] == ["11 messages", "later", "later"]


@given(histories(), st.integers(1, 4), st.sampled_from([A, B, None]))
def test_whatever_is_left_is_valid_and_begins_as_it_says(history: Messages, turns: int, agent: Agent | None) -> None:
    """H14, H15"""
    before = [dict(message) for message in history]
    views = {
        "last": last(turns)(history),
        "tools": without_tools()(history, agent),
        "none": without_tools(keep_own=False)(history, agent),
        "since": since_handoff()(history, agent),
        "summary": summary(lambda messages: "short", turns)(history),
        "all": compose(since_handoff(), without_tools(), last(turns))(history, agent),
    }
    has_turns = any(begins_turn(history, at) for at in range(len(history)))
    for name, view in views.items():
        assert is_valid(view), name
        assert system_texts(view) == system_texts(history), name
        assert repaired(view, allow_open_tail=False) == view, name
    rest = without_system(views["last"])
    assert rest == without_system(history) or begins_turn(rest, 0)
    assert sum(begins_turn(rest, at) for at in range(len(rest))) <= max(turns, 0) or rest == without_system(history)
    assert not any(message.get("tool_calls") or message["role"] == "tool" for message in views["none"])
    assert all(m.get("sender") == "A" for m in views["tools"] if m.get("tool_calls")) or agent is not A
    rest = without_system(views["since"])
    assert rest == without_system(history) or begins_turn(rest, 0)
    if has_turns and (view := views["tools"]):
        assert view[-1]["role"] != "assistant" or view[-1] in history, "nothing that had calls is the end"
    assert history == before


# In a run


def test_an_agent_sees_what_its_projection_leaves(drive: Drive) -> None:
    """H14, H15, D20, D52"""

    def look() -> str:
        return "found"

    b = Agent(name="B", instructions="B.", functions=[look])
    a = Agent(name="A", instructions="A.", functions=[look], handoffs=[Handoff(b, history_filter=without_tools())])
    turns = [call("look"), call("transfer_to_b"), call("look"), "done"]
    response = drive(a, "find it", turns)
    assert [[m["role"] for m in request["messages"]] for request in drive.requests] == [
        ["system", "user"],
        ["system", "user", "assistant", "tool"],
        ["system", "user"],
        ["system", "user", "assistant", "tool"],
    ]
    assert [m["role"] for m in response.messages] == ["assistant", "tool"] * 3 + ["assistant"]
    assert all(is_valid(request["messages"]) for request in drive.requests)


def test_a_summary_is_written_once_a_run(drive: Drive) -> None:
    """H15, M07"""
    asked: list[int] = []

    async def write(messages: Messages) -> str:
        asked.append(len(messages))
        return "short"

    def look() -> str:
        return "found"

    agent = Agent(functions=[look], history_filter=compose(summary(write), without_tools()))
    history = [user("one"), said("first"), user("two")]
    for _ in range(2):
        drive(agent, history, [call("look"), call("look"), "done"])
    assert asked == [2, 2]
    assert [m["content"] for m in drive.requests[-1]["messages"]][2:4] == ["short", "two"]


def test_a_projection_that_fails_is_told(drive: Drive) -> None:
    """H15"""
    agent = Agent(name="A", history_filter=compose(last(1), lambda messages: "text"))
    with pytest.raises(HistoryError, match="history_filter for agent 'A' returned str"):
        drive(agent, "hi", ["never"])
