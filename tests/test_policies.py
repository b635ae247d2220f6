"""Policies around effects: how they nest, what passes them, and that one implementation serves every driver."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from swarm import Agent, AsyncSwarm, Refuse, Response, Swarm
from swarm.effects import CallModel, CallTool, Emit, HandOff, Now, Reply, Sleep, StartRun
from swarm.errors import ConnectionFailed, TransientError
from swarm.events import PolicyActed
from swarm.models.scripted import Turn, call
from tests.modes import Drive

Hook = Generator[Any, Any, Any]


class Trace:
    """Notes its name on the way in and on the way out."""

    def __init__(self, name: str, log: list[str]) -> None:
        self.name = name
        self.log = log

    def model(self, call: CallModel) -> Hook:
        self.log.append(f"{self.name} in")
        reply = yield call
        self.log.append(f"{self.name} out")
        return reply


class Retry:
    def __init__(self, tries: int) -> None:
        self.tries = tries

    def model(self, call: CallModel) -> Hook:
        for attempt in range(self.tries - 1):
            try:
                return (yield call)
            except TransientError:
                assert call.run is not None
                yield Emit(PolicyActed(call.agent.name, "Retry", "tried again", str(attempt)))
                yield Sleep(0)
        return (yield call)


def ping() -> str:
    return "pong"


def test_the_first_policy_is_outermost(drive: Drive) -> None:
    log: list[str] = []
    drive(Agent(), "go", ["done"], swarm={"policies": [Trace("a", log), Trace("b", log)]})
    assert log == ["a in", "b in", "b out", "a out"]


def test_a_policy_may_ask_again(drive: Drive) -> None:
    """X07, D9: the same plain try/except under every driver."""
    turns = [Turn(error=ConnectionFailed("no")), Turn(error=ConnectionFailed("no")), "done"]
    response = drive(Agent(), "go", turns, swarm={"policies": [Retry(3)]})
    assert response.text == "done"
    assert len(response.messages) == 1
    assert response.usage.calls == 1


def test_a_policy_tells_the_watcher(drive: Drive) -> None:
    """D9"""
    events = drive.events(Agent(), "go", [Turn(error=ConnectionFailed("no")), "done"], swarm={"policies": [Retry(2)]})
    assert [e.what for e in events if isinstance(e, PolicyActed)] == ["tried again"]
    assert sum(type(e).__name__ == "TurnStarted" for e in events) == 1


def test_a_policy_may_answer_itself(drive: Drive) -> None:
    """D11, D46: a reply that nobody streamed is told as one delta."""

    class Canned:
        def model(self, call: CallModel) -> Hook:
            return Reply({"role": "assistant", "content": "from the cache"})
            yield

    events = drive.events(Agent(name="A"), "go", [], swarm={"policies": [Canned()]})
    deltas = [e.delta for e in events if type(e).__name__ == "Delta"]  # type: ignore[attr-defined]
    assert deltas == [{"role": "assistant", "content": "from the cache", "sender": "A"}]


def test_a_policy_may_change_the_request(drive: Drive) -> None:
    class Colder:
        def model(self, call: CallModel) -> Hook:
            return (yield call.replace(request={**call.request, "temperature": 0}))

    drive(Agent(model_settings={"temperature": 1}), "go", ["done"], swarm={"policies": [Colder()]})
    assert drive.requests[0]["temperature"] == 0


def test_two_judges_do_not_call_each_other_for_ever(drive: Drive) -> None:
    """D10: an effect of a policy's making passes every policy but those that it has passed on its way."""
    log: list[str] = []

    class Judge:
        def __init__(self, name: str) -> None:
            self.name = name

        def tool(self, call: CallTool) -> Hook:
            log.append(f"{self.name} judges {call.tool.name}")
            verdict = yield CallModel(
                call.agent, judge_model, {"model": "judge", "messages": [{"role": "user", "content": "ok?"}]}, run=call.run
            )
            log.append(f"{self.name} heard {verdict.message['content']}")
            return (yield call)

        def model(self, call: CallModel) -> Hook:
            log.append(f"{self.name} sees a model call to {call.request['model']}")
            return (yield call)

    from swarm.models.scripted import ScriptedModel

    judge_model = ScriptedModel(["yes", "yes"])
    response = drive(Agent(functions=[ping]), "go", [call("ping"), "done"], swarm={"policies": [Judge("a"), Judge("b")]})
    assert log == [
        "a sees a model call to gpt-4o",
        "b sees a model call to gpt-4o",
        "a judges ping",
        "b sees a model call to judge",
        "a heard yes",
        "b judges ping",
        "b heard yes",
        "a sees a model call to gpt-4o",
        "b sees a model call to gpt-4o",
    ]
    assert response.usage.calls == 4


def test_a_tool_hook_sees_failures_as_exceptions(drive: Drive) -> None:
    """D41"""

    class Calm:
        def tool(self, call: CallTool) -> Hook:
            try:
                return (yield call)
            except ValueError as error:
                return f"calmed: {error}"

    def fail() -> str:
        raise ValueError("bad")

    response = drive(Agent(functions=[fail]), "go", [call("fail"), "done"], swarm={"policies": [Calm()]})
    assert response.messages[1]["content"] == "calmed: bad"
    assert response.calls[0].outcome == "ok"


def test_a_handoff_may_be_refused_or_redirected(drive: Drive) -> None:
    """H23"""
    a, b, c = Agent(name="A"), Agent(name="B"), Agent(name="C")
    a.handoffs = [b]

    class Deny:
        def handoff(self, change: HandOff) -> Hook:
            return Refuse(f"{change.source.name} may not hand over to {change.target.name}")
            yield

    class Redirect:
        def handoff(self, change: HandOff) -> Hook:
            yield change
            return c

    refused = drive(a, "go", [call("transfer_to_b"), "done"], swarm={"policies": [Deny()]})
    assert refused.agent is a
    assert refused.messages[1]["content"] == "A may not hand over to B"
    assert refused.calls[0].outcome == "refused"
    redirected = drive(a, "go", [call("transfer_to_b"), "done"], swarm={"policies": [Redirect()]})
    assert redirected.agent is c


def test_a_run_hook_stands_around_everything(drive: Drive) -> None:
    log: list[str] = []

    class Around:
        def run(self, start: StartRun) -> Hook:
            log.append(f"begin {start.agent.name} {len(start.messages)}")
            response: Response = yield start
            log.append(f"end {response.stop_reason}")
            return response

    drive(Agent(name="A"), "go", ["done"], swarm={"policies": [Around()]})
    assert log == ["begin A 1", "end complete"]


def test_state_of_a_run_is_kept_in_the_run(drive: Drive) -> None:
    """D9"""
    seen: list[int] = []

    class Count:
        def model(self, call: CallModel) -> Hook:
            assert call.run is not None
            mine = call.run.state(self)
            mine["calls"] = mine.get("calls", 0) + 1
            seen.append(mine["calls"])
            yield Now()
            return (yield call)

    policy = Count()
    for _ in range(2):
        drive(Agent(functions=[ping]), "go", [call("ping"), "done"], swarm={"policies": [policy]})
    assert seen == [1, 2, 1, 2]


def test_what_is_no_policy_is_refused() -> None:
    """D40"""

    class Plain:
        def model(self, call: CallModel) -> Any:
            return call

    for kind in (Swarm, AsyncSwarm):
        with pytest.raises(TypeError, match="generator function"):
            kind(policies=[Plain()])
        with pytest.raises(TypeError, match="no policy"):
            kind(policies=[object()])
        with pytest.raises(TypeError, match=r"an instance, not a class: policies=\[Retry\(\.\.\.\)\]"):
            kind(policies=[Retry])
        for wrong in (Retry(2), "retry", None, {Retry(2)}, iter([Retry(2)])):
            with pytest.raises(TypeError, match="policies must be a list of policies"):
                kind(policies=wrong)  # type: ignore[arg-type]


class ForgetsModel:
    def model(self, call: CallModel) -> Hook:
        yield call


class ForgetsRun:
    def run(self, start: StartRun) -> Hook:
        yield start


class ReturnsText:
    def model(self, call: CallModel) -> Hook:
        reply = yield call
        return reply.message["content"]


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (ForgetsModel(), r"ForgetsModel\.model returned None, but a model hook returns a Reply: write `return \(yield effect\)`"),
        (ReturnsText(), r"ReturnsText\.model returned 'done', but a model hook returns a Reply"),
        (ForgetsRun(), r"ForgetsRun\.run returned None, but a run hook returns a Response"),
    ],
)
def test_a_hook_that_forgets_its_return_is_named(drive: Drive, policy: Any, said: str) -> None:
    """D40, U07: wherever it stands in the stack."""
    log: list[str] = []
    for policies in ([policy], [Trace("outer", log), policy, Trace("inner", log)]):
        with pytest.raises(TypeError, match=said):
            drive(Agent(), "go", ["done"], swarm={"policies": policies})


def test_an_outer_policy_sees_a_hook_that_forgets_its_return(drive: Drive) -> None:
    class Backup:
        def model(self, call: CallModel) -> Hook:
            try:
                return (yield call)
            except TypeError:
                return Reply({"role": "assistant", "content": "backup"})

    assert drive(Agent(), "go", ["done"], swarm={"policies": [Backup(), ForgetsModel()]}).text == "backup"


def test_a_handoff_hook_that_forgets_its_return_is_no_refusal(drive: Drive) -> None:
    class ForgetsHandoff:
        def handoff(self, change: HandOff) -> Hook:
            yield change

    agent = Agent(name="A", handoffs=[Agent(name="B")])
    with pytest.raises(TypeError, match=r"ForgetsHandoff\.handoff returned None, but a handoff hook returns an Agent or a Refuse"):
        drive(agent, "go", [call("transfer_to_b"), "done"], swarm={"policies": [ForgetsHandoff()], "tool_errors": "raise"})


def test_a_tool_hook_may_return_anything(drive: Drive) -> None:
    class Silent:
        def tool(self, call: CallTool) -> Hook:
            yield call

        def event(self, told: Emit) -> Hook:
            yield told

    response = drive(Agent(functions=[ping]), "go", [call("ping"), "done"], swarm={"policies": [Silent()], "on_event": lambda event: None})
    assert response.messages[1]["content"] == "None"


@pytest.mark.parametrize("wrong", [["a", "list"], "text", None, Agent(), Reply({})])
def test_a_hook_that_yields_no_effect_is_named_at_its_yield(drive: Drive, wrong: Any) -> None:
    caught: list[str] = []

    class Yields:
        def model(self, call: CallModel) -> Hook:
            try:
                yield wrong
            except TypeError as error:
                caught.append(str(error))
                raise
            return (yield call)

    with pytest.raises(TypeError, match=r"Yields\.model yielded .*, which is no effect"):
        drive(Agent(), "go", ["done"], swarm={"policies": [Yields()]})
    assert caught == [f"Yields.model yielded {wrong!r}, which is no effect (swarm.effects)"]


def test_an_error_passes_the_policies_and_carries_the_response(drive: Drive) -> None:
    log: list[str] = []
    with pytest.raises(ConnectionFailed) as caught:
        drive(Agent(functions=[ping]), "go", [call("ping"), Turn(error=ConnectionFailed("no"))], swarm={"policies": [Trace("a", log)]})
    assert log == ["a in", "a out", "a in"]
    assert caught.value.response is not None
    assert [m["role"] for m in caught.value.response.messages] == ["assistant", "tool"]
