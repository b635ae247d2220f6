"""What a policy runs side by side: effects among the flows, and a first flow that decides about the others."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from swarm import Agent
from swarm.effects import Call, CallModel, CallTool, Emit, Flow, Now, Sleep, Together
from swarm.errors import ConnectionFailed
from swarm.events import PolicyActed
from swarm.models.scripted import Turn, call
from swarm.run import Signal
from tests.modes import Drive


class Inner:
    """Notes the model calls that come by."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def model(self, call: CallModel) -> Flow:
        self.seen.append(call.request["model"])
        return (yield call)


class Twice:
    """Asks two models at once, in a model hook or a tool hook, and keeps what came."""

    def __init__(self, kind: str) -> None:
        self.came: list[Any] = []
        self.kind = kind

    def model(self, call: CallModel) -> Flow:
        if self.kind != "model":
            return (yield call)
        other = call.replace(request={**call.request, "model": "other"}, stream=False)
        self.came = yield Together([other, call, Now()])
        return self.came[1]

    def tool(self, call: CallTool) -> Flow:
        if self.kind == "tool":
            request = {"model": "judge", "messages": [{"role": "user", "content": "?"}]}
            self.came = yield Together([CallModel(call.agent, self.judge, request, run=call.run), call], 1)
            return self.came[1]
        return (yield call)

    judge: Any = None


def ping() -> str:
    return "pong"


def test_effects_among_the_flows_go_where_the_hooks_own_would(drive: Drive) -> None:
    """D10"""
    inner, twice = Inner(), Twice("model")
    response = drive(Agent(model="first"), "go", ["one", "two"], swarm={"policies": [twice, inner]})
    assert sorted(inner.seen) == ["first", "other"]
    assert sorted(reply.message["content"] for reply in twice.came[:2]) == ["one", "two"]
    assert isinstance(twice.came[2], float)
    assert response.usage.calls == 2


def test_an_effect_of_another_kind_passes_all_policies(drive: Drive) -> None:
    """D10"""
    from swarm.models.scripted import ScriptedModel

    inner, twice = Inner(), Twice("tool")
    twice.judge = ScriptedModel(["fine"])
    response = drive(Agent(model="m", functions=[ping]), "go", [call("ping"), "done"], swarm={"policies": [inner, twice]})
    assert inner.seen == ["m", "judge", "m"]
    assert response.messages[1]["content"] == "pong"


def test_an_effect_that_fails_comes_to_its_failure(drive: Drive) -> None:
    """A failure ends neither the flows beside it nor the run."""

    class Backup:
        def model(self, call: CallModel) -> Flow:
            replies = yield Together([call.replace(stream=False), call.replace(stream=False)], 1)
            assert isinstance(replies[0], ConnectionFailed)
            return replies[1]

    turns = [Turn(error=ConnectionFailed("no")), "done"]
    assert drive(Agent(), "go", turns, swarm={"policies": [Backup()]}).text == "done"


class Deciding:
    """A first flow that decides about two others."""

    def __init__(self, verdict: bool) -> None:
        self.verdict = verdict
        self.came: list[Any] = []
        self.ready = threading.Event()
        self.ended: list[str] = []

    def model(self, call: CallModel) -> Flow:
        self.came = yield Together([self.first(), self.other(call, "a"), self.other(call, "b")], decides=lambda came: came)
        return (yield call)

    def first(self) -> Flow:
        while not self.ready.is_set():
            yield Sleep(0.001)
        yield Emit(PolicyActed("A", "Deciding", "decided"))
        return self.verdict

    def other(self, call: CallModel, name: str) -> Flow:
        try:
            yield Emit(PolicyActed("A", "Deciding", f"{name} began"))
            if name == "b":
                self.ready.set()
            while not self.verdict:
                yield Sleep(0.001)
            yield Call(lambda: None)
            return name
        finally:
            self.ended.append(name)


@pytest.mark.parametrize("verdict", [True, False])
def test_the_first_flow_decides_about_the_others(drive: Drive, verdict: bool) -> None:
    """What they tell is kept back until then; those that are left have ended when the hook goes on."""
    policy = Deciding(verdict)
    events = drive.events(Agent(), "go", ["done"], swarm={"policies": [policy]})
    told = [event.what for event in events if isinstance(event, PolicyActed)]
    assert told[0] == "decided"
    assert set(told[1:]) == ({"a began", "b began"} if verdict else set())
    assert policy.came == [verdict, *(["a", "b"] if verdict else [None, None])]
    assert sorted(policy.ended) == ["a", "b"]
    assert events[-1].response.text == "done"  # type: ignore[attr-defined]


def test_one_flow_is_run_where_it_is_asked_for(drive: Drive) -> None:
    class Here:
        def model(self, call: CallModel) -> Flow:
            (self.thread,) = yield Together([self.flow()])
            return (yield call)

        def flow(self) -> Flow:
            return (yield Call(threading.get_ident))

    policy = Here()
    drive(Agent(), "go", ["done"], swarm={"policies": [policy]})
    assert policy.thread == threading.get_ident()


def test_a_part_of_a_run_ends_with_the_whole_and_by_itself() -> None:
    whole = Signal()
    parts = [whole.inner(), whole.inner()]
    parts[0].cancel()
    assert [part.cancelled for part in (whole, *parts)] == [False, True, False]
    whole.cancel()
    assert [part.cancelled for part in (*parts, whole.inner())] == [True, True, True]
