"""A run as plain JSON: saved between any two events, loaded in another process, forked, refused when it does not fit."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from swarm import Agent, AsyncSwarm, Handoff, Result, RunInfo, ScriptedModel, State, Swarm, load_state, tool
from swarm.errors import OutputError, RateLimitError, StateError
from swarm.events import Done, Event, HandedOff, MessageDone, PolicyActed, ToolDone, ToolStarted, TurnEnded, TurnStarted
from swarm.models.scripted import Turn, call
from tests.look import is_valid
from tests.modes import Drive


def add(a: int, b: int, context_variables: dict[str, Any]) -> str:
    context_variables["sums"] = [*context_variables.get("sums", []), a + b]
    return str(a + b)


ADDER = Agent(name="Adder", functions=[add])


def states(drive: Drive, agent: Agent, turns: list[Any], kind: type[Event], **options: Any) -> list[State]:
    """The state at each event of a kind, in the stream modes of `drive`; the modes without a stream read one as well."""
    found: list[State] = []
    swarm_options = options.pop("swarm", {})

    async def read() -> None:
        stream = AsyncSwarm(ScriptedModel(turns), **swarm_options).stream(agent, "go", **options)
        async for event in stream:
            if type(event) is kind:
                found.append(stream.state())

    if drive.mode.startswith("async"):
        asyncio.run(read())
    else:
        stream = Swarm(ScriptedModel(turns), **swarm_options).stream(agent, "go", **options)
        found += [stream.state() for event in stream if type(event) is kind]
    return found


def loaded(state: State, *agents: Agent) -> State:
    return load_state(json.dumps(state), agents=agents or (ADDER,))


SUMS = [call("add", {"a": 1, "b": 2}), call("add", {"a": 3, "b": 4}), "done"]


def test_run_again_from_any_step(drive: Drive) -> None:
    """C10, D4: each step may be gone back to, any number of times, with another model too."""
    one, two, three = states(drive, ADDER, SUMS, TurnEnded)
    for _ in range(2):
        done = drive.resume(loaded(one), ["only the first"])
        assert (done.text, done.context_variables) == ("only the first", {"sums": [3]})
        assert done.usage.calls == 2
    assert drive.resume(loaded(two), ["both"]).context_variables == {"sums": [3, 7]}
    finished = drive.resume(loaded(three), [])
    assert (finished.text, finished.stop_reason, finished.usage.calls) == ("done", "complete", 3)


def test_the_state_of_a_response_is_that_of_its_stream(drive: Drive) -> None:
    """M09: and resuming changes neither, however often."""
    whole = states(drive, ADDER, SUMS, Done)[0]
    resumed = drive.resume(loaded(whole), [])
    assert resumed.state() == whole
    assert drive.resume(loaded(resumed.state()), []).messages == resumed.messages


def test_a_state_before_anything_happened_and_after_a_close() -> None:
    stream = Swarm(ScriptedModel(SUMS)).stream(ADDER, "go", {"user": "Ann"})
    state = stream.state()
    assert state["messages"] == [{"role": "user", "content": "go"}]
    assert (state["turn"], state["context_variables"]) == (0, {"user": "Ann"})
    for event in stream:
        if type(event) is ToolStarted:
            break
    stream.close()
    assert stream.response is not None
    assert stream.state() == stream.response.state()
    done = Swarm(ScriptedModel(["on we go"])).resume(loaded(stream.state()))
    assert is_valid(done.messages)
    assert [made.outcome for made in done.calls] == ["unknown"]


def test_a_state_is_a_copy(drive: Drive) -> None:
    """K08"""
    one, *_ = states(drive, ADDER, SUMS, TurnEnded)
    before = json.dumps(one)
    drive.resume(one, SUMS[1:])
    assert json.dumps(one) == before
    one["messages"][0]["content"] = "changed"
    assert states(drive, ADDER, SUMS, TurnEnded)[0]["messages"][0]["content"] == "go"


def test_a_reply_that_had_not_come_is_asked_for_again_as_the_same_turn(drive: Drive) -> None:
    """D7: a forced choice is forced again, since nobody answered it."""
    agent = Agent(name="Adder", functions=[add], tool_choice="required")
    first, second, _ = states(drive, agent, SUMS, TurnStarted)
    for state, choice, turn in ((first, "required", 0), (second, None, 1)):
        assert state["turn"] == turn
        drive.resume(loaded(state, agent), [call("add", {"a": 5, "b": 5}), "done"])
        assert drive.requests[0].get("tool_choice") == choice


def test_a_text_that_has_come_is_not_asked_for_again(drive: Drive) -> None:
    """M09"""
    last = states(drive, ADDER, SUMS, MessageDone)[-1]
    done = drive.resume(loaded(last), [])
    assert (done.text, done.stop_reason, drive.requests) == ("done", "complete", [])


def test_a_cut_off_reply_stays_cut_off(drive: Drive) -> None:
    """D5: none of its calls is run by whoever loads the state in between."""
    turns = [Turn(None, [call("add", {"a": 1, "b": 1}), call("add", {"a": 2, "b": 2})], finish_reason="length"), "done"]
    for kind in (MessageDone, ToolDone):
        state = states(drive, ADDER, turns, kind)[0]
        done = drive.resume(loaded(state), ["done"])
        assert [made.outcome for made in done.calls] == ["skipped", "skipped"]
        assert done.context_variables == {}


def test_the_state_at_a_handoff_is_with_the_new_agent(drive: Drive) -> None:
    """D44"""
    b = Agent(name="B")
    a = Agent(name="A", handoffs=[Handoff(b, history_filter=lambda messages: messages[-1:])])
    state = states(drive, a, [call("transfer_to_b"), "hello"], HandedOff)[0]
    assert (state["agent"], state["handoff"]) == ("B", {"agent": "A", "tool": "transfer_to_b"})
    done = drive.resume(loaded(state, a, b), ["hello"])
    assert (done.agent, done.used["handoffs"]) == (b, 1)


def test_a_finished_call_of_a_batch_keeps_its_variables(drive: Drive) -> None:
    """D44, K14: merged in call order, also where the calls run side by side."""

    def put(n: int) -> Result:
        return Result(value=f"put {n}", context_variables={"last": n, f"n{n}": n})

    agent = Agent(name="A", functions=[put])
    batch = [call("put", {"n": n}) for n in (1, 2, 3)]
    for parallel in (False, True):
        for state in states(drive, agent, [batch, "done"], ToolDone, swarm={"parallel_tools": parallel}):
            done = drive.resume(loaded(state, agent), ["done"], swarm={"parallel_tools": parallel})
            assert done.context_variables == {"last": 3, "n1": 1, "n2": 2, "n3": 3}
            assert [message["content"] for message in done.messages[1:4]] == ["put 1", "put 2", "put 3"]


def test_a_call_that_runs_again_has_the_same_key(drive: Drive) -> None:
    """D18, D43: so that the outside can tell that it is the same."""
    keys: list[Any] = []

    @tool
    def pay(run: RunInfo) -> str:
        keys.append(run.idempotency_key)
        return "paid"

    agent = Agent(name="A", functions=[pay])
    state = states(drive, agent, [call("pay"), "done"], ToolStarted)[0]
    assert state["begun"] == ["call_1_1"]
    drive.resume(loaded(state, agent), ["done"])
    assert len(keys) == 2 and len(set(keys)) == 1
    drive.resume(loaded(state, agent).fork(), ["done"])
    assert keys[2] != keys[0], "a fork is another run"


def test_a_typed_answer_is_read_again(drive: Drive) -> None:
    """O01: one that fits comes back as its type, one that does not is asked for once more."""
    agent = Agent(name="A", output_type=int)
    state = states(drive, agent, ['{"value": 3}'], MessageDone)[0]
    assert drive.resume(loaded(state, agent), []).output == 3
    wrong = states(drive, agent, ["three", '{"value": 3}'], MessageDone)[0]
    assert drive.resume(loaded(wrong, agent), ['{"value": 4}']).output == 4
    with pytest.raises(OutputError):
        drive.resume(loaded(wrong, agent), ["four"])


def test_a_value_that_ends_a_run_comes_back_as_json(drive: Drive) -> None:
    def finish() -> Result:
        return Result(value={"id": 7}, stop=True)

    agent = Agent(name="A", functions=[finish])
    response = drive(agent, "go", [call("finish")])
    again = drive.resume(loaded(response.state(), agent), [])
    assert (again.stop_reason, again.output, again.messages) == ("stopped", {"id": 7}, response.messages)


def test_unknown_functions_beside_one_that_waits(drive: Drive) -> None:
    """M08: a name that the model made up is no forgery."""
    agent = Agent(name="A", functions=[tool(lambda: "refunded", name="refund", approval=True)])
    first = drive(agent, "go", [[call("made_up"), call("refund")]])
    done = drive.resume(loaded(first.state(), agent), ["done"], approvals={"call_1_2": True})
    assert [made.outcome for made in done.calls] == ["error", "ok"]


def test_a_saved_state_after_a_failure_goes_on(drive: Drive) -> None:
    """X07, X05: the same turn is tried again."""
    with pytest.raises(RateLimitError) as caught:
        drive(ADDER, "go", [SUMS[0], RateLimitError("429: slow down")])
    assert caught.value.response is not None
    done = drive.resume(loaded(caught.value.response.state()), ["done"])
    assert (done.text, done.context_variables) == ("done", {"sums": [3]})


# Forks


def test_what_if_the_tool_had_said_something_else(drive: Drive) -> None:
    """D4: the first run, its state and its agents stay as they are."""
    one = loaded(states(drive, ADDER, SUMS, TurnEnded)[0])
    before = json.dumps(one)
    messages = [*one["messages"][:-1], {**one["messages"][-1], "content": "5"}]
    fork = one.fork(messages=messages, context_variables={"who": "Ann"})
    done = drive.resume(fork, ["Five, then."])
    assert drive.requests[0]["messages"][-1]["content"] == "5"
    assert done.context_variables == {"sums": [3], "who": "Ann"}
    assert fork["id"] != one["id"]
    assert json.dumps(one) == before


def test_a_fork_may_go_back_or_on_or_to_another_agent(drive: Drive) -> None:
    other = Agent(name="Other", functions=[add])
    end = loaded(states(drive, ADDER, SUMS, Done)[0], ADDER, other)
    back = end.fork(messages=end["messages"][:3], agent=other)
    done = drive.resume(back, ["again"])
    assert (done.agent, done.text, len(done.messages)) == (other, "again", 3)
    assert loaded(back, ADDER, other).agents["Other"] is other
    on = end.fork(messages=[*end["messages"], {"role": "user", "content": "and now?"}])
    assert drive.resume(on, ["now this"]).text == "now this"
    assert drive.resume(end.fork(), []).text == "done"
    by_hand = loaded(end)
    by_hand["messages"].append({"role": "user", "content": "and now?"})
    assert drive.resume(by_hand, ["this"]).text == "this"


def test_a_fork_in_the_middle_of_a_batch(drive: Drive) -> None:
    """D44: what was finished stays so while its call is open, and is forgotten with it."""
    batch = [call("add", {"a": 1, "b": 1}), call("add", {"a": 2, "b": 2})]
    state = loaded(states(drive, ADDER, [batch, "done"], ToolDone)[0])
    assert list(state["held"]) == ["call_1_1"]
    kept = drive.resume(state.fork(context_variables={"x": 1}), ["done"])
    assert kept.context_variables == {"sums": [2, 4], "x": 1}
    gone = state.fork(messages=state["messages"][:1])
    assert (gone["held"], gone["begun"]) == ({}, [])
    assert drive.resume(gone, ["done"]).text == "done"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"messages": [{"role": "robot", "content": "x"}]}, r"fork.messages: messages\[0\]"),
        ({"messages": [{"role": "user", "content": object()}]}, r"messages\[0\].content is a object"),
        ({"context_variables": {"db": object()}}, "context_variables.db is a object"),
    ],
)
def test_a_fork_that_cannot_be_is_refused(change: dict[str, Any], words: str) -> None:
    state = Swarm(ScriptedModel(["done"])).run(ADDER, "go").state()
    with pytest.raises(StateError, match=words):
        state.fork(**change)


# From outside


CHANGES: list[tuple[dict[str, Any], str]] = [
    ({"version": 0}, "version 0"),
    ({"version": 2}, "version 2"),
    ({"version": "1"}, "version '1'"),
    ({"version": None}, "version None"),
    ({"over": "finished"}, "state.over"),
    ({"counts": None}, "state.counts"),
    ({"counts": {"model_calls": -1, "handoffs": 0, "tool_calls": 0, "tokens": 0}}, "state.counts.model_calls"),
    ({"limit": {"name": "tokens", "why": "", "amount": 1}}, "state.limit.name"),
    ({"circles": {"repeats": "many", "bounces": 0, "executed": []}}, "state.circles.repeats"),
    ({"begun": ["elsewhere"]}, "state.begun names 'elsewhere', which is no open call"),
    ({"spent_tool_choice": ["Nobody"]}, "Nobody"),
]


@pytest.mark.parametrize(("change", "words"), CHANGES, ids=[json.dumps(change) for change, _ in CHANGES])
def test_a_stale_or_tampered_state_is_refused(change: dict[str, Any], words: str) -> None:
    """C10, M08"""
    state = Swarm(ScriptedModel(["done"])).run(ADDER, "go").state()
    with pytest.raises(StateError, match=words):
        load_state({**state, **change}, agents=[ADDER])


def test_a_state_from_another_process(tmp_path: Any) -> None:
    """C10: saved after a run, loaded in a new process; messages, variables and the active agent are there."""
    program = f"""
import json
from swarm import Agent, ScriptedModel, Swarm
from swarm.models.scripted import call
b = Agent(name="B")
a = Agent(name="A", handoffs=[b])
response = Swarm(ScriptedModel([call("transfer_to_b"), "hello from B"])).run(a, "hi", {{"user": "Ann"}})
open({str(tmp_path / "state.json")!r}, "w").write(json.dumps(response.state()))
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parent.parent / "src")
    b = Agent(name="B", functions=[add])
    a = Agent(name="A", handoffs=[b])
    state = load_state((tmp_path / "state.json").read_bytes(), agents=[a, b])
    on = state.fork(messages=[*state["messages"], {"role": "user", "content": "add"}])
    response = Swarm(ScriptedModel([call("add", {"a": 1, "b": 2}), "three"])).resume(on)
    assert response.agent is b
    assert response.context_variables == {"user": "Ann", "sums": [3]}
    assert [message["role"] for message in response.messages] == [
        "assistant",
        "tool",
        "assistant",
        "user",
        "assistant",
        "tool",
        "assistant",
    ]


def test_who_has_seen_the_last_item_finds_the_state_saved() -> None:
    """M05: an observer that takes its time is awaited before the item is handed out, in a stream that is read or closed, and in a run."""
    saved: list[str] = []

    async def save(event: Event) -> None:
        if type(event) is Done:
            await asyncio.sleep(0.01)
            saved.append(json.dumps(event.response.state()))

    async def main() -> None:
        swarm = AsyncSwarm(ScriptedModel(["one", "two", "three", "four"]), on_event=save)
        async for event in swarm.stream(ADDER, "go"):
            last = event
        assert type(last) is Done and len(saved) == 1
        async for item in swarm.run(ADDER, "go", stream=True):
            assert ("response" in item) == (len(saved) == 2)
        async with swarm.stream(ADDER, "go") as stream:
            await anext(stream)
        assert len(saved) == 3
        await swarm.run(ADDER, "go")
        assert len(saved) == 4

    asyncio.run(main())
    for text in saved:
        assert load_state(text, agents=[ADDER])["messages"][0]["content"] == "go"


def test_a_state_while_functions_write_to_the_context() -> None:
    """D50: what runs in another thread meanwhile breaks no saving."""
    stop = threading.Event()

    def write(context_variables: dict[str, Any]) -> str:
        for number in range(100_000):
            if stop.is_set():
                break
            context_variables[f"key{number % 5_000}"] = [number]
        return "written"

    def quick() -> str:
        return "quick"

    agent = Agent(name="A", functions=[write, quick])
    stream = Swarm(ScriptedModel([[call("quick"), call("write")], "done"]), parallel_tools=True).stream(agent, "go")
    for event in stream:
        if type(event) is ToolDone and event.call.name == "quick":
            for _ in range(20):
                json.dumps(stream.state())
            stop.set()


def test_a_resumed_run_can_be_read_as_it_happens(drive: Drive) -> None:
    """X09: the same events, and states of its own."""
    agent = Agent(name="A", functions=[tool(lambda: "refunded", name="refund", approval=True)])
    state = loaded(drive(agent, "go", [call("refund")]).state(), agent)
    seen: list[Event] = []

    async def read() -> None:
        async for event in AsyncSwarm(ScriptedModel(["all done"])).resume_stream(state, approvals={"call_1_1": True}):
            seen.append(event)

    if drive.mode.startswith("async"):
        asyncio.run(read())
    else:
        seen += Swarm(ScriptedModel(["all done"])).resume_stream(state, approvals={"call_1_1": True})
    told = [type(event) for event in seen]
    assert told[:4] == [PolicyActed, ToolStarted, ToolDone, TurnStarted]
    assert isinstance(seen[-1], Done)
    assert "".join(event.text for event in seen if hasattr(event, "text")) == "all done"


def test_a_response_of_no_run_has_no_state() -> None:
    from swarm import Response

    with pytest.raises(StateError, match="not made by a run"):
        Response().state()
