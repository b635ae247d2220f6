"""A run that dies anywhere and goes on from what was saved last comes to what a run that never died comes to.

The process "dies" by an exception that is raised before or after any model call or function; what was saved before it goes through JSON
into new agents and a new Swarm. The model answers by what it is asked, so it needs no memory of its own.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from swarm import Agent, AsyncSwarm, Handoff, Limits, Response, Result, RunInfo, Swarm, load_state, tool
from swarm.effects import CallModel, Reply
from swarm.events import Delta, Event, Nested, TurnEnded
from swarm.models.scripted import ScriptedModel, Turn, call


class Killed(BaseException):
    """The end of a process."""


class World:
    """What outlives a process, and the point at which it dies: `kill_at` counts the beginnings and ends of model calls and functions."""

    def __init__(self, kill_at: int | None = None) -> None:
        self.steps = 0
        self.kill_at = kill_at
        self.begun: list[Any] = []
        self.ended: list[Any] = []

    def step(self) -> None:
        self.steps += 1
        if self.kill_at is not None and self.steps > self.kill_at:
            raise Killed

    def live(self) -> World:
        """The next process: the same world, in which nothing dies any more."""
        self.kill_at = None
        return self


class Player:
    """A model whose answer depends on the agent that asks and on how many replies it has seen."""

    def __init__(self, world: World, script: dict[str, list[Any]]) -> None:
        self.world = world
        self.script = script

    def model_for(self, request: CallModel) -> ScriptedModel:
        self.world.step()
        messages = request.request["messages"]
        number = sum(message["role"] == "assistant" for message in messages)
        turn = self.script[messages[0]["content"]][number]
        calls = [turn] if isinstance(turn, dict) else turn if isinstance(turn, list) else turn.calls if isinstance(turn, Turn) else ()
        named = [{**made, "id": f"{messages[0]['content']}-{number}-{at}"} for at, made in enumerate(calls)]
        return ScriptedModel([Turn(turn.text, named, finish_reason=turn.finish_reason) if isinstance(turn, Turn) else named or turn])

    def complete(self, request: CallModel) -> Reply:
        reply = self.model_for(request).complete(request)
        self.world.step()
        return reply

    def stream(self, request: CallModel) -> Iterator[dict[str, Any]]:
        yield from self.model_for(request).stream(request)
        self.world.step()


def function(world: World, name: str, does: Callable[..., Any] = lambda context: "done", **options: Any) -> Any:
    def work(n: int, context_variables: dict[str, Any], run: RunInfo) -> Any:
        world.begun.append(run.idempotency_key)
        world.step()
        value = does(context_variables)
        world.ended.append(run.idempotency_key)
        world.step()
        return value

    return tool(work, name=name, description="Work.", **options)


def agent(name: str, *functions: Any, **fields: Any) -> Agent:
    return Agent(name=name, instructions=name, functions=list(functions), **fields)


def raises(context: dict[str, Any]) -> str:
    raise ValueError("no")


Scene = tuple[Agent, list[Agent], dict[str, list[Any]]]


def handing_over(world: World) -> Scene:
    """Two handoffs, one in a batch with other calls, one with a filter; variables of Results that later calls see."""
    c = agent("C")
    b = agent("B", function(world, "note", lambda context: Result(value="noted", context_variables={"note": context.get("seen")})))
    b.handoffs = [Handoff(c, history_filter=lambda messages: messages[-2:])]
    a = agent("A", function(world, "look", lambda context: Result(value="seen", context_variables={"seen": 1})), handoffs=[b])
    there = [call("look", {"n": 1}), call("transfer_to_b"), call("look", {"n": 2})]
    script = {
        "A": [call("look", {"n": 0}), there],
        "B": ["", "", [call("note", {"n": 3}), call("note", {"n": 4})], call("transfer_to_c")],
        "C": ["", "done"],
    }
    return a, [a, b, c], script


def nested(world: World) -> Scene:
    """Agents inside agents, two levels, beside a function; one with limits of its own, one that comes back."""
    deep = agent("Deep", function(world, "dig"))
    inner = agent("Inner", function(world, "work"), deep.as_tool())
    helper = agent("Helper", function(world, "help"))
    outer = agent(
        "Outer",
        function(world, "near"),
        inner.as_tool(limits=Limits(tool_calls=3)),
        handoffs=[Handoff(helper, returns=True)],
    )
    script = {
        "Outer": [
            [call("near", {"n": 1}), call("inner", {"input": "x"}), call("transfer_to_helper"), call("near", {"n": 2})],
            "all done",
        ],
        "Inner": [[call("work", {"n": 3}), call("deep", {"input": "z"})], call("work", {"n": 4}), "inner done"],
        "Deep": [call("dig", {"n": 5}), "deep done"],
        "Helper": [call("help", {"n": 6}), "helped"],
    }
    return outer, [outer, inner, deep, helper], script


def failing(world: World) -> Scene:
    """What goes wrong: a function, a name, arguments, a reply that is cut off."""
    a = agent("A", function(world, "fail", raises), function(world, "work"))
    script = {
        "A": [
            [call("fail", {"n": 1}), call("nothing"), call("work", {"n": "x"}), call("work", {"n": 2})],
            Turn(None, [call("work", {"n": 3}), call("work", {"n": 4})], finish_reason="length"),
            call("work", {"n": 5}),
            Turn("cut", finish_reason="length"),
        ]
    }
    return a, [a], script


def stopping(world: World) -> Scene:
    """A function that ends the run, in a batch that also hands over."""
    b = agent("B")
    a = agent("A", function(world, "work"), function(world, "stop", lambda context: Result(value={"n": 1}, stop=True)), handoffs=[b])
    return a, [a, b], {"A": [call("work", {"n": 1}), [call("stop", {"n": 2}), call("transfer_to_b"), call("work", {"n": 3})]]}


def circling(world: World) -> Scene:
    """A run that stops because it goes in circles."""
    a = agent("A", function(world, "work"))
    return a, [a], {"A": [call("work", {"n": 1})] * 9}


def limited(world: World) -> Scene:
    """A run that stops at a limit on handoffs, which no count shows before the next is tried."""
    a, b = agent("A", function(world, "work")), agent("B", function(world, "work"))
    a.handoffs, b.handoffs = [b], [a]
    turn = [call("work", {"n": 1}), call("transfer_to_a"), call("work", {"n": 2})]
    return a, [a, b], {"A": [call("transfer_to_b"), "never"], "B": ["never", turn, "never"]}


SCENES: dict[str, tuple[Callable[[World], Scene], Limits]] = {
    "handing over": (handing_over, Limits()),
    "nested": (nested, Limits()),
    "failing": (failing, Limits()),
    "stopping": (stopping, Limits()),
    "circling": (circling, Limits(repeats=4)),
    "limited": (limited, Limits(handoffs=1)),
}


def read_to_the_end(make: Callable[[], Any], is_async: bool, take: Callable[[Any, Event], None]) -> None:
    """Read a stream to its end, or until it dies."""

    async def read() -> None:
        stream = make()
        async for event in stream:
            take(stream, event)

    if is_async:
        asyncio.run(read())
        return
    stream = make()
    for event in stream:
        take(stream, event)


class Process:
    """One process: new agents and a new Swarm in the world."""

    def __init__(self, world: World, scene: str, is_async: bool, parallel: bool, only: type[Event] | None = None) -> None:
        make, limits = SCENES[scene]
        self.agent, self.agents, script = make(world)
        self.is_async = is_async
        self.only = only
        self.swarm: Any = (AsyncSwarm if is_async else Swarm)(Player(world, script), parallel_tools=parallel, limits=limits)
        self.state: Any = None
        self.response: Response | None = None

    @property
    def saved(self) -> str:
        """What was saved last, as it lies on a disk."""
        return json.dumps(self.state)

    def begin(self) -> Response:
        return self._read(lambda: self.swarm.stream(self.agent, "go", {"start": 0}))

    def resume(self, saved: str, **options: Any) -> Response:
        state = load_state(saved, agents=self.agents)
        return self._read(lambda: self.swarm.resume_stream(state, **options))

    def _read(self, stream: Callable[[], Any]) -> Response:
        def take(stream: Any, event: Event) -> None:
            self.response = stream.response
            inner = event
            while isinstance(inner, Nested):
                inner = inner.event
            if type(inner) is not Delta if self.only is None else type(event) is self.only:  # a delta changes nothing that is saved
                self.state = stream.state()

        def first() -> Any:
            made = stream()
            self.state = made.state()
            return made

        read_to_the_end(first, self.is_async, take)
        assert self.response is not None
        return self.response


def outcome(response: Response) -> dict[str, Any]:
    """What must be the same, however often the process died: everything but how long it took."""
    usage = Counter((call.agent, call.model, call.input_tokens, call.output_tokens) for call in response.usage.by_call)
    return {
        "messages": response.messages,
        "context": response.context_variables,
        "agent": response.agent and response.agent.name,
        "reason": response.stop_reason,
        "output": response.output,
        "usage": usage,
        "used": response.used,
        "calls": [(made.id, made.name, made.outcome, made.handoff_to) for made in response.calls],
    }


MODES = [(False, False), (True, False), (False, True), (True, True)]


@pytest.mark.parametrize(("is_async", "parallel"), MODES)
@pytest.mark.parametrize("scene", SCENES)
def test_a_run_that_dies_anywhere_goes_on_where_it_was(scene: str, is_async: bool, parallel: bool) -> None:
    """M09, C10, D4, D44: saved after each step; nothing that is known to have finished runs twice, and nothing is left out."""
    wanted = outcome(Process(World(), scene, is_async, parallel).begin())
    for kill_at in range(1_000):
        world = World(kill_at)
        first = Process(world, scene, is_async, parallel)
        try:
            first.begin()
        except Killed:
            pass
        else:
            break
        known = finished_in(json.loads(first.saved))
        before = Counter(world.begun)
        second = Process(world.live(), scene, is_async, parallel)
        assert outcome(second.resume(first.saved)) == wanted, kill_at
        assert {key for key, count in Counter(world.begun).items() if count > before[key] and key.split("/", 1)[1] in known} == set()
        again = Process(world, scene, is_async, parallel)
        asked = world.steps
        assert outcome(again.resume(second.saved)) == wanted
        assert world.steps == asked, "a run that has come to its end asks and calls nothing"
    else:
        raise AssertionError("the run never came to its end")


def finished_in(state: dict[str, Any], path: str = "") -> set[str]:
    """The calls, by path, whose answers a saved state holds."""
    ids = {message["tool_call_id"] for message in state["messages"] if message["role"] == "tool"} | state["held"].keys()
    found = {path + id for id in ids}
    for id, inner in state["nested"].items():
        found |= finished_in(inner, f"{path}{id}/")
    return found


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("scene", SCENES)
def test_a_run_that_dies_again_and_again(scene: str, is_async: bool) -> None:
    """M09: saved after each turn only; each process lives a little longer than it takes to load."""
    wanted = outcome(Process(World(), scene, is_async, False).begin())
    for life in (3, 5, 8, 13):
        world = World(life)
        process, saved = Process(world, scene, is_async, False), ""
        for _ in range(200):
            try:
                response = process.resume(saved) if saved else process.begin()
            except Killed:
                saved = process.saved
                world.kill_at = world.steps + life
                process = Process(world, scene, is_async, False)
            else:
                assert outcome(response) == wanted
                break
        else:
            raise AssertionError("the run never came to its end")


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("scene", SCENES)
def test_a_run_that_is_saved_after_its_turns_only(scene: str, is_async: bool) -> None:
    """M09: what was done since the last turn is done again, with the same key; the run comes to the same."""
    wanted = outcome(Process(World(), scene, is_async, False).begin())
    for kill_at in range(0, 1_000, 2):
        world = World(kill_at)
        first = Process(world, scene, is_async, False, TurnEnded)
        try:
            first.begin()
        except Killed:
            pass
        else:
            break
        assert outcome(Process(world.live(), scene, is_async, False).resume(first.saved)) == wanted, kill_at


def once(world: World) -> Scene:
    """A function that may run only once, between others, also in an inner run."""
    inner = agent("Inner", function(world, "pay", effect="once"))
    a = agent("A", function(world, "work"), function(world, "pay", effect="once"), inner.as_tool())
    turn = [call("work", {"n": 1}), call("pay", {"n": 2}), call("inner", {"input": "x"}), call("work", {"n": 3})]
    return a, [a, inner], {"A": [turn, "done"], "Inner": [call("pay", {"n": 4}), "inner done"]}


SCENES_ONCE = {"once": (once, Limits())}


@pytest.mark.parametrize(("is_async", "parallel"), MODES)
def test_what_may_run_once_never_runs_twice(is_async: bool, parallel: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """M09, D43: it is reported as unknown if it had begun and is not known to have finished."""
    monkeypatch.setattr("tests.test_state_kill.SCENES", SCENES_ONCE)
    unknown = 0
    for kill_at in range(1_000):
        world = World(kill_at)
        first = Process(world, "once", is_async, parallel)
        try:
            first.begin()
        except Killed:
            pass
        else:
            break
        response = Process(world.live(), "once", is_async, parallel).resume(first.saved)
        pays = Counter(key for key in world.begun if key.endswith(("A-0-1", "Inner-0-0")))
        assert set(pays.values()) <= {1}, kill_at
        assert response.stop_reason == "complete"
        assert response.used["tool_calls"] == 5
        unknown += sum(made.outcome == "unknown" for made in response.calls)
    assert unknown > 0


def gated(world: World) -> Scene:
    """Calls that wait for a person, in the outer run and in an inner one."""
    inner = agent("Inner", function(world, "pay", approval=True), function(world, "work"))
    a = agent("A", function(world, "work"), function(world, "pay", approval=True), inner.as_tool())
    turn = [call("work", {"n": 1}), call("pay", {"n": 2}), call("inner", {"input": "x"})]
    return a, [a, inner], {"A": [turn, "done"], "Inner": [[call("work", {"n": 3}), call("pay", {"n": 4})], "inner done"]}


@pytest.mark.parametrize(("is_async", "parallel"), MODES)
def test_a_run_that_waits_for_people_and_dies(is_async: bool, parallel: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """M09, M08, X09: a saved state approves nothing; whoever resumes is asked again for what has not run, and for nothing else."""
    monkeypatch.setattr("tests.test_state_kill.SCENES", {"gated": (gated, Limits())})

    def to_the_end(world: World, saved: str) -> Response:
        approvals: dict[str, Any] = {}
        for _ in range(9):
            process = Process(world, "gated", is_async, parallel)
            response = process.resume(saved, approvals=approvals) if saved else process.begin()
            saved, approvals = process.saved, {waiting.id: True for waiting in response.pending}
            if not approvals:
                return response
        raise AssertionError("still waiting")

    wanted = outcome(to_the_end(World(), ""))
    for kill_at in range(1_000):
        world = World(kill_at)
        saved, approvals, died = "", {}, False
        for _ in range(9):
            process = Process(world, "gated", is_async, parallel)
            try:
                response = process.resume(saved, approvals=approvals) if saved else process.begin()
            except Killed:
                died = True
                break
            finally:
                saved = process.saved
            approvals = {waiting.id: True for waiting in response.pending}
            if not approvals:
                break
        if not died:
            break
        known = finished_in(json.loads(saved))
        before = Counter(world.begun)
        assert outcome(to_the_end(world.live(), saved)) == wanted, kill_at
        assert {key for key, count in Counter(world.begun).items() if count > before[key] and key.split("/", 1)[1] in known} == set()
