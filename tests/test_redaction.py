"""What observers see where `redact` hides something, and that nobody else sees less."""

from __future__ import annotations

import json
import logging
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from swarm import Agent, Refuse, Result, Swarm, tool
from swarm.events import Done, Event, MessageDone, Nested, Paused, PolicyActed, ToolDone, ToolStarted
from swarm.models.scripted import ScriptedModel, Turn, call
from swarm.policies import Approval
from swarm.redaction import for_observers
from tests.modes import Drive, names

SECRET = "hunter2"
CARD = 4111111111111111


def hide(value: Any) -> str:
    """By what it looks like, and by its name where that is told."""
    text = str(value).replace(SECRET, "***").replace(str(CARD), "0")
    return re.sub(r'("password": )"[^"]*"', r'\1"***"', text)


class Login(BaseModel):
    user: str
    password: str


def sign_in(login: Login, card: int, note: str, context_variables: dict[str, Any]) -> Result:
    context_variables["token"] = SECRET
    return Result(value=f"signed in with {SECRET}", context_variables={"session": SECRET})


LOGIN = {"login": {"user": "ann", "password": "swordfish"}, "card": CARD, "note": f"my word is {SECRET}"}


def watched(drive: Drive, agent: Agent, turns: list[Any], **swarm: Any) -> tuple[list[Event], Any]:
    seen: list[Event] = []
    response = drive(agent, "go", turns, swarm={"on_event": seen.append, "redact": hide, **swarm})
    return seen, response


def test_observers_see_no_secret_and_the_run_is_as_ever(drive: Drive) -> None:
    """U01, U02: in arguments by name and by value, in numbers, results, texts and what was asked of a person."""
    inner = Agent(name="Inner", functions=[tool(sign_in, approval=True)])
    outer = Agent(name="Outer", functions=[inner.as_tool()])
    turns = [call("inner", {"input": "x"}), Turn(f"I use {SECRET}.", [call("sign_in", LOGIN)]), f"in: {SECRET}", "out"]
    events, response = watched(drive, outer, turns, policies=[Approval(lambda: True)])
    record = json.dumps([event.as_dict() for event in events])
    assert SECRET not in record and str(CARD) not in record and "swordfish" not in record
    assert repr(events).count(SECRET) == 0
    assert names(events, without=()).count("Delta") == 0
    started = next(event.event for event in events if isinstance(event, Nested) and isinstance(event.event, ToolStarted))
    assert started.arguments == {"login": {"user": "ann", "password": "***"}, "card": "0", "note": "my word is ***"}
    done = events[-1]
    assert isinstance(done, Done)
    assert done.response.context_variables == {}
    assert (done.response.stop_reason, done.response.used["model_calls"]) == ("complete", 4)
    assert response.context_variables == {"token": SECRET, "session": SECRET}
    assert SECRET in drive.requests[2]["messages"][-1]["content"]


def test_what_names_things_is_left(drive: Drive) -> None:
    """Ids, roles and names of tools, so that one can tell what an event is about."""
    events, _ = watched(drive, Agent(name="Ann", functions=[sign_in]), [call("sign_in", LOGIN, id=f"id-{SECRET}"), "ok"])
    done = next(event for event in events if isinstance(event, ToolDone))
    assert (done.call.id, done.call.name, done.call.agent) == (f"id-{SECRET}", "sign_in", "Ann")
    assert done.message == {"role": "tool", "tool_call_id": f"id-{SECRET}", "tool_name": "sign_in", "content": "signed in with ***"}
    assert done.cause == f"call:id-{SECRET}"


def test_a_pause_and_a_decision(drive: Drive) -> None:
    agent = Agent(functions=[tool(sign_in, approval=True)])
    events, _ = watched(drive, agent, [call("sign_in", LOGIN)])
    pause = next(event for event in events if isinstance(event, Paused))
    assert pause.pending[0].arguments["note"] == "my word is ***"
    assert pause.pending[0].id == "call_1_1"
    events, _ = watched(drive, agent, [call("sign_in", LOGIN), "ok"], policies=[Approval(lambda: Refuse(f"not with {SECRET}"))])
    told = next(event for event in events if isinstance(event, PolicyActed))
    assert told.reason == "not with ***"
    assert told.detail is not None and told.detail["reason"] == "not with ***"


def test_who_reads_the_stream_sees_everything(drive: Drive) -> None:
    """It is the caller's own run."""
    if drive.streams:
        events = drive.events(Agent(), "go", [f"it is {SECRET}"], swarm={"redact": hide})
        assert any(isinstance(event, MessageDone) and SECRET in event.message["content"] for event in events)


def test_a_redact_that_fails_tells_nobody_and_breaks_nothing(drive: Drive, caplog: pytest.LogCaptureFixture) -> None:
    """U02"""

    def fails(value: Any) -> str:
        raise ValueError(f"cannot read {value}")

    seen: list[Event] = []
    response = drive(Agent(), "go", [f"it is {SECRET}"], swarm={"on_event": seen.append, "redact": fails})
    assert response.text == f"it is {SECRET}"
    assert names(seen) == ["TurnStarted", "TurnEnded"]
    assert "redact failed with ValueError, so no observer is told of MessageDone" in caplog.text
    assert SECRET not in caplog.text


def test_without_redact_observers_get_the_events_themselves(drive: Drive) -> None:
    seen: list[Event] = []
    response = drive(Agent(), "go", ["done"], swarm={"on_event": seen.append})
    done = seen[-1]
    assert isinstance(done, Done) and done.response is response


def test_an_observer_that_stops_for_good_is_asked_again_and_breaks_nothing(drive: Drive, caplog: pytest.LogCaptureFixture) -> None:
    """U02: sync and async ones, in inner runs too."""
    count = 0

    async def fails(event: Event) -> None:
        nonlocal count
        count += 1
        raise RuntimeError("observer")

    agent = Agent(functions=[Agent(name="inner").as_tool()])
    with caplog.at_level(logging.ERROR, logger="swarm"):
        response = drive(agent, "go", [call("inner", {"input": "x"}), "in", "out"], swarm={"on_event": [fails]})
    assert response.text == "out"
    assert count == len(caplog.records) > 10


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text("ab*", max_size=3) | st.just(SECRET),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("kp", min_size=1, max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_a_copy_has_the_same_shape_and_only_what_is_hidden_differs(value: Any) -> None:
    """And hiding changes nothing of the original."""
    before = json.dumps(value)
    event = ToolStarted("A", "1", "f", {"x": value})
    shown: Any = for_observers(event, lambda text: str(text).replace(SECRET, "***"))
    assert json.dumps(shown.arguments) == json.dumps({"x": value}).replace(SECRET, "***")
    assert json.dumps(value) == before
    assert repr(for_observers(event, lambda text: text)) == repr(event)


def test_what_is_no_json_any_more_is_told_as_it_is() -> None:
    event = ToolStarted("A", "1", "f", {"pin": 7})
    shown: Any = for_observers(event, lambda text: "(gone)" if "pin" in text else text)
    assert shown.arguments == {"pin": "(gone)"}


def test_the_trace_of_debug_still_goes_through_redact(capsys: pytest.CaptureFixture[str]) -> None:
    """D32"""
    Swarm(ScriptedModel([f"it is {SECRET}"]), redact=hide).run(Agent(), "go", debug=True)
    assert "it is ***" in capsys.readouterr().out
