"""What a run does with its session, in every mode and in both databases."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from swarm import Agent, AsyncSwarm, Handoff, Limits, Refuse, Response, Result, RunInfo, RunTimeout, Swarm, tool
from swarm.errors import HistoryError, ServerError, StateError, StreamBroken
from swarm.events import Delta, Done, Event, MessageDone, ToolDone
from swarm.ext.sessions import SessionConflict, SessionError, SessionStore, StoredSession
from swarm.models.scripted import ScriptedModel, Turn, call
from swarm.testing import assert_valid_history
from tests.modes import Drive, streaming


def look(item: int, context_variables: dict[str, Any]) -> str:
    """Look at an item."""
    context_variables.setdefault("seen", []).append(item)
    return f"item {item}"


SALES = Agent(name="Sales", functions=[look])
TRIAGE = Agent(name="Triage", functions=[look], handoffs=[SALES])


def roles(messages: list[dict[str, Any]]) -> list[str]:
    return [message["role"] for message in messages]


def test_a_conversation_goes_on_where_it_was(drive: Drive, url: str) -> None:
    """C10, K08: messages, active agent and context variables, in another store object as in another process."""
    with SessionStore(url) as store:
        turns = [[call("look", {"item": 1}), call("transfer_to_sales")], "What can I sell you?"]
        first = drive(TRIAGE, "Hello", turns, context_variables={"name": "Ann"}, session=store.session("s"))
    with SessionStore(url) as store:
        second = drive(TRIAGE, "A bee", [call("look", {"item": 2}), "Sold."], session=store.session("s"))
        assert second.agent is SALES
        assert roles(second.messages) == ["assistant", "tool", "assistant"], "a response holds what is new"
        assert second.context_variables == {"name": "Ann", "seen": [1, 2]}
        sent = drive.requests[0]["messages"]
        assert [message["content"] for message in sent if message["role"] == "user"] == ["Hello", "A bee"]
        user = {"role": "user", "content": "A bee"}
        assert store.messages("s") == [{"role": "user", "content": "Hello"}, *first.messages, user, *second.messages]
        assert_valid_history(store.messages("s"))


def test_what_is_given_goes_over_what_is_kept(drive: Drive, store: SessionStore) -> None:
    given = {"plan": "free", "name": "Ann"}
    drive(TRIAGE, "Hello", ["Hi"], context_variables=given, session=store.session("s"))
    response = drive(TRIAGE, [{"role": "user", "content": "And?"}], ["So."], context_variables={"plan": "paid"}, session=store.session("s"))
    assert response.context_variables == {"plan": "paid", "name": "Ann"}
    assert given == {"plan": "free", "name": "Ann"}


def test_usage_and_limits_are_those_of_one_run(drive: Drive, store: SessionStore) -> None:
    for _ in range(3):
        response = drive(TRIAGE, "Hello", ["Hi"], limits=Limits(model_calls=1), session=store.session("s"))
        assert (response.stop_reason, response.usage.calls) == ("complete", 1)
    assert len(store.messages("s")) == 6


def test_sessions_do_not_mix(drive: Drive, store: SessionStore) -> None:
    drive(TRIAGE, "I am Ann", ["Hello Ann"], session=store.session("ann"))
    drive(TRIAGE, "I am Bob", ["Hello Bob"], session=store.session("bob"))
    assert [message["content"] for message in store.messages("ann")] == ["I am Ann", "Hello Ann"]


def kept(store: SessionStore) -> list[dict[str, Any]]:
    return store.messages("s")


@streaming
def test_what_is_shown_is_kept_already(drive: Drive, store: SessionStore) -> None:
    """M05, D80: whoever sees a whole message, a tool's answer, or the last event, finds it saved."""
    seen: list[str] = []

    def look_at(event: Event) -> None:
        if isinstance(event, MessageDone):
            assert event.message in kept(store)
        elif isinstance(event, ToolDone):
            seen.append(event.call.id)
            assert event.call.id in json.dumps(store.loaded("s"), default=str)
        elif isinstance(event, Done):
            assert store.info("s").status == "idle"  # type: ignore[union-attr]
            assert kept(store)[1:] == event.response.messages
            seen.append("done")

    turns = [[call("look", {"item": 1}), call("look", {"item": 2})], "Done."]
    watched(drive, store, turns, look_at)
    assert seen == ["call_1_1", "call_1_2", "done"]


def watched(drive: Drive, store: SessionStore, turns: list[Any], look_at: Callable[[Event], None]) -> None:
    model, options = ScriptedModel(turns), {"session": store.session("s")}
    if drive.mode == "sync-stream":
        for event in Swarm(model).stream(TRIAGE, "Go", **options):
            look_at(event)
        return

    async def read() -> None:
        async for event in AsyncSwarm(model).stream(TRIAGE, "Go", **options):
            look_at(event)

    asyncio.run(read())


def test_each_step_is_kept_before_the_next_begins(drive: Drive, store: SessionStore) -> None:
    """M09, D80: the question before the model is asked, a reply before its calls run, a call's answer before the next call."""
    found: list[Any] = []

    def note(run: RunInfo) -> str:
        found.append((roles(kept(store)), sorted(store.loaded("s")[1]["held"]), store.loaded("s")[1]["begun"]))  # type: ignore[index]
        return "noted"

    class Model(ScriptedModel):
        def complete(self, request: Any) -> Any:
            found.append(roles(kept(store)))
            return super().complete(request)

        def stream(self, request: Any) -> Any:
            found.append(roles(kept(store)))
            return super().stream(request)

    turns = [[call("note"), call("note")], "Done."]
    drive(Agent(functions=[note]), "Go", Model(turns), session=store.session("s"))
    reply = ["user", "assistant"]
    assert found == [["user"], (reply, [], ["call_1_1"]), (reply, ["call_1_1"], ["call_1_2"]), [*reply, "tool", "tool"]]


@pytest.mark.parametrize("parallel", [False, True])
def test_calls_side_by_side_are_kept_as_they_end(drive: Drive, store: SessionStore, parallel: bool) -> None:
    """M09: each in its own time; the session ends whole."""
    turns = [[call("look", {"item": number}) for number in range(5)], "Done."]
    response = drive(TRIAGE, "Go", turns, swarm={"parallel_tools": parallel}, session=store.session("s"))
    assert kept(store)[1:] == response.messages
    assert store.info("s").status == "idle"  # type: ignore[union-attr]


@tool(approval=True)
def refund(amount: int) -> str:
    """Refund an amount."""
    return f"{amount} refunded"


CLERK = Agent(name="Clerk", functions=[refund])


@pytest.mark.parametrize(("decision", "answer"), [(True, "50 refunded"), (Refuse("too much"), "The call was not approved. too much")])
def test_a_run_that_waits_is_decided_in_another_process(drive: Drive, url: str, decision: Any, answer: str) -> None:
    """C10: approvals are given with the session, by whoever opens it next."""
    with SessionStore(url) as store:
        paused = drive(CLERK, "My money!", [call("refund", {"amount": 50})], session=store.session("s"))
        assert paused.stop_reason == "approval"
        assert store.info("s").status == "waiting"  # type: ignore[union-attr]
    with SessionStore(url) as store:
        again = drive(CLERK, [], [], session=store.session("s"))
        assert [waiting.id for waiting in again.pending] == [paused.pending[0].id]
        with pytest.raises(StateError, match="waits for decisions about its calls 'call_1_1' \\(refund\\)"):
            drive(CLERK, "Hello?", [], session=store.session("s"))
        done = drive(CLERK, [], ["It is done."], approvals={"call_1_1": decision}, session=store.session("s"))
        assert (done.messages[1]["content"], done.text) == (answer, "It is done.")
        assert kept(store)[1:] == done.messages
        with pytest.raises(StateError, match="no call is open"):
            drive(CLERK, [], [], approvals={"call_1_1": True}, session=store.session("s"))
        with pytest.raises(StateError, match="messages=\\[\\]"):
            drive(CLERK, "And now?", [], approvals={"call_1_1": True}, session=store.session("s"))
        assert drive(CLERK, "Thanks", ["You are welcome."], session=store.session("s")).text == "You are welcome."


def test_calls_that_the_caller_runs_are_answered_with_the_next_messages(drive: Drive, store: SessionStore) -> None:
    drive(TRIAGE, "Go", [call("look", {"item": 1})], execute_tools=False, session=store.session("s"))
    answer = {"role": "tool", "tool_call_id": "call_1_1", "tool_name": "look", "content": "item 1, from outside"}
    assert drive(TRIAGE, [answer], ["Thank you."], session=store.session("s")).text == "Thank you."
    assert roles(kept(store)) == ["user", "assistant", "tool", "assistant"]
    drive(TRIAGE, "Go", [call("look", {"item": 2})], execute_tools=False, session=store.session("s"))
    drive(TRIAGE, "Never mind", ["Fine."], session=store.session("s"))
    assert kept(store)[-3]["content"] == "not executed"
    assert_valid_history(kept(store))


class Broken(Exception):
    """What an instruction raises."""


def test_what_was_done_before_a_failure_is_kept(drive: Drive, store: SessionStore) -> None:
    """C10: the session goes on after it."""
    with pytest.raises(ServerError) as failed:
        drive(TRIAGE, "Go", [call("look", {"item": 1}), ServerError("503: busy", status=503)], session=store.session("s"))
    assert failed.value.response is not None
    assert kept(store)[1:] == failed.value.response.messages
    assert drive(TRIAGE, [], ["Here I am."], session=store.session("s")).text == "Here I am."
    assert roles(kept(store)) == ["user", "assistant", "tool", "assistant"]
    assert drive(TRIAGE, [], [], session=store.session("s")).text == "Here I am.", "a run that came to its end says the same again"


@streaming
def test_what_was_shown_of_a_reply_that_broke_off_is_kept(drive: Drive, store: SessionStore) -> None:
    """M06: and said again to the model, so that it knows what the person has read."""
    with pytest.raises(StreamBroken):
        drive(TRIAGE, "Go", [Turn(chunks=["One two", " three", ServerError("503: gone", status=503)])], session=store.session("s"))
    assert [message["content"] for message in kept(store)] == ["Go", "One two three"]
    assert drive(TRIAGE, "And?", ["Four."], session=store.session("s")).text == "Four."
    assert drive.requests[0]["messages"][-2]["content"] == "One two three"


def test_a_run_out_of_time_is_kept(drive: Drive, store: SessionStore) -> None:
    """X05: also its last step, which is saved when its time is over."""

    async def sleep(run: RunInfo) -> str:
        while not run.cancelled:
            await asyncio.sleep(0.01)
        return "never heard"

    agent = Agent(functions=[look, sleep])
    turns = [[call("look", {"item": 1}), call("sleep")], "Not said."]
    with pytest.raises(RunTimeout):
        drive(agent, "Go", turns, timeout=1.0, session=store.session("s"))
    assert store.info("s").status == "idle"  # type: ignore[union-attr]
    assert [message["content"] for message in kept(store)[2:]] == ["item 1", kept(store)[3]["content"]]
    assert "not known" in kept(store)[3]["content"]


@pytest.mark.parametrize("where", ["context_variables", "messages"])
def test_what_json_cannot_hold_is_refused_before_anything_is_saved(drive: Drive, store: SessionStore, where: str) -> None:
    """C12: with its path, before the model is asked."""
    message: dict[str, Any] = {"role": "user", "content": "Go", "extra": {"amount": [Decimal(1)]} if where == "messages" else {}}
    context = {"cart": {"total": Decimal("1.2")}} if where == "context_variables" else {}
    path = {"context_variables": "context_variables.cart.total", "messages": r"messages\[0\].extra.amount\[0\]"}[where]
    with pytest.raises(StateError, match=f"^{path} is a Decimal"):
        drive(TRIAGE, [message], ["Not said."], context_variables=context, session=store.session("s"))
    assert drive.requests == []
    assert store.info("s") is None


def test_a_function_that_leaves_what_json_cannot_hold_ends_the_run(drive: Drive, store: SessionStore) -> None:
    """C12: what was kept before stays, and the session goes on."""

    def spoil(context_variables: dict[str, Any]) -> str:
        context_variables["lock"] = {1, 2}
        return "spoilt"

    with pytest.raises(StateError, match=r"context_variables\.lock is a set") as failed:
        drive(Agent(functions=[spoil]), "Go", [call("spoil"), "Not said."], session=store.session("s"))
    assert failed.value.response is not None
    assert roles(kept(store)) == ["user", "assistant"]
    assert drive(Agent(functions=[spoil]), "And?", ["So."], session=store.session("s")).text == "So."
    assert "not known" in kept(store)[2]["content"]


class Saying(ScriptedModel):
    """Does something while it answers."""

    def __init__(self, turns: list[Any], does: Callable[[], object]) -> None:
        super().__init__(turns)
        self.does = does

    def complete(self, request: Any) -> Any:
        self.does()
        return super().complete(request)

    def stream(self, request: Any) -> Any:
        self.does()
        return super().stream(request)


def test_a_second_run_at_the_same_time_is_refused(drive: Drive, store: SessionStore) -> None:
    """M09, D81: nothing of it is kept, and the first goes on."""

    def second() -> None:
        with pytest.raises(SessionConflict, match=r"another run is at work on the session 's'.*in 60 s at the latest"):
            Swarm(ScriptedModel(["Not said."])).run(TRIAGE, "Me too", session=store.session("s"))

    assert drive(TRIAGE, "Go", Saying(["Done."], second), session=store.session("s")).text == "Done."
    assert [message["content"] for message in kept(store)] == ["Go", "Done."]


def test_of_two_runs_that_begin_together_the_second_to_save_gets_a_conflict(drive: Drive, store: SessionStore) -> None:
    """D81: also on a session that was not there before."""

    class Late(StoredSession):
        def begin(self, agent: Agent) -> Any:
            hold = super().begin(agent)
            Swarm(ScriptedModel(["Quicker."])).run(TRIAGE, self.tags[0], session=store.session("s"))
            return hold

    for said in ("first", "later"):
        late = Late(store, "s", (), None, [said])
        with pytest.raises(SessionConflict, match="saved by another run, or deleted, since this one read it"):
            drive(TRIAGE, "Slow", ["Not said."], session=late)
        assert drive.requests == []
    assert [message["content"] for message in kept(store)] == ["first", "Quicker.", "later", "Quicker."]


def test_a_run_that_went_silent_is_taken_over_and_cannot_save_any_more(drive: Drive, store: SessionStore, clock: Any) -> None:
    """D81: fenced by the version, whatever its clock says."""

    def second() -> None:
        clock.now += 61
        assert Swarm(ScriptedModel(["I am here."])).run(TRIAGE, "Hello?", session=store.session("s")).text == "I am here."

    with pytest.raises(SessionConflict) as failed:
        drive(TRIAGE, "Go", Saying(["Too late."], second), session=store.session("s"))
    assert failed.value.response is not None
    assert failed.value.response.text == "Too late."
    assert [message["content"] for message in kept(store)] == ["Go", "Hello?", "I am here."]


def test_a_session_deleted_under_a_run_stays_deleted(drive: Drive, store: SessionStore) -> None:
    with pytest.raises(SessionConflict, match="deleted"):
        drive(TRIAGE, "Go", Saying(["Done."], lambda: store.delete("s")), session=store.session("s"))
    assert store.info("s") is None

    def anew() -> None:
        store.delete("s")
        Swarm(ScriptedModel(["New."])).run(TRIAGE, "Another", session=store.session("s"))

    with pytest.raises(SessionConflict):
        drive(TRIAGE, "Go", Saying(["Done."], anew), session=store.session("s"))
    assert [message["content"] for message in kept(store)] == ["Another", "New."]


@streaming
@pytest.mark.parametrize("end", ["close", "cancel", "leave"])
def test_a_stream_left_half_way_leaves_a_session_that_goes_on(drive: Drive, store: SessionStore, end: str) -> None:
    """M06, X03: text that was shown is kept if the stream was closed; one that nobody holds any more keeps nobody waiting."""
    asyncio.run(left(drive, store, end))
    gc.collect()
    shown = [message["content"] for message in kept(store)]
    if end == "leave":  # asyncio may close it in its own way
        assert shown[0] == "Go"
    else:
        assert (shown, store.info("s").status) == (["Go", "One "], "idle")  # type: ignore[union-attr]
    assert drive(TRIAGE, "Once more", ["Gladly."], session=store.session("s")).text == "Gladly."
    assert [message["content"] for message in kept(store)] == [*shown, "Once more", "Gladly."]
    assert_valid_history(kept(store))


async def left(drive: Drive, store: SessionStore, end: str) -> None:
    turns = ["One two three four five six seven eight."]
    if drive.mode == "sync-stream":
        with_sync = Swarm(ScriptedModel(turns)).stream(TRIAGE, "Go", session=store.session("s"))
        for event in with_sync:
            if isinstance(event, Delta):
                break
        if end == "close":
            with_sync.close()
        elif end == "cancel":
            with_sync.cancel()
            assert isinstance(list(with_sync)[-1], Done)
        return
    stream = AsyncSwarm(ScriptedModel(turns)).stream(TRIAGE, "Go", session=store.session("s"))
    async for event in stream:
        if isinstance(event, Delta):
            break
    if end == "close":
        await stream.aclose()
    elif end == "cancel":
        stream.cancel()
        assert isinstance([event async for event in stream][-1], Done)


def test_a_cancelled_task_is_kept(store: SessionStore) -> None:
    """X01: a cancellation of somebody else goes through, after what was done is saved."""

    async def hang() -> str:
        await asyncio.sleep(60)
        return "never"

    async def main() -> None:
        running = AsyncSwarm(ScriptedModel([call("hang"), "Not said."])).run(Agent(functions=[hang]), "Go", session=store.session("s"))
        task = asyncio.create_task(running)
        while store.info("s") is None or len(kept(store)) < 2:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert roles(kept(store)) == ["user", "assistant", "tool"]
    assert store.info("s").status == "idle"  # type: ignore[union-attr]


@streaming
def test_a_stream_that_never_began_saves_nothing(drive: Drive, store: SessionStore) -> None:
    """K17"""

    async def main() -> Response | None:
        stream = AsyncSwarm(ScriptedModel([])).stream(TRIAGE, "Go", session=store.session("s"))
        await stream.aclose()
        return stream.response

    if drive.mode == "sync-stream":
        stream = Swarm(ScriptedModel([])).stream(TRIAGE, "Go", session=store.session("s"))
        stream.close()
        response = stream.response
    else:
        response = asyncio.run(main())
    assert response is not None
    assert (response.stop_reason, store.info("s")) == ("cancelled", None)


def test_agents_inside_agents_and_filters(drive: Drive, store: SessionStore) -> None:
    """D44: a run inside a call waits, is found again, and goes on."""
    inner = Agent(name="Inner", functions=[refund])
    outer = Agent(name="Outer", functions=[inner.as_tool(), look], handoffs=[Handoff(SALES, history_filter=lambda messages: messages[-1:])])
    turns = [[call("look", {"item": 1}), call("inner", {"input": "Refund 5"})], call("refund", {"amount": 5})]
    paused = drive(outer, "Go", turns, session=store.session("s"))
    waiting = paused.pending[0].id
    done = drive(outer, [], ["Refunded.", call("transfer_to_sales"), "Sold."], approvals={waiting: True}, session=store.session("s"))
    assert (done.text, done.agent) == ("Sold.", SALES)
    assert kept(store)[1:] == done.messages


def test_agents_are_found_among_those_given_or_by_reading(drive: Drive, store: SessionStore) -> None:
    """M08: by name, never by import; an agent that nobody gave is an error that says where to give it."""
    hidden = Agent(name="Hidden")
    start = Agent(name="Start", functions=[tool(lambda: [hidden][0], name="go", description="Go.")])
    drive(start, "Go", [call("go"), "Here."], session=store.session("s"))
    stranger = Agent(name="Stranger")
    with pytest.raises(SessionError, match=r"stands with the agent 'Hidden', which cannot be found from 'Stranger'.*agents="):
        drive(stranger, "Hi", [], session=store.session("s"))
    assert drive(stranger, "Hi", ["Yes?"], session=store.session("s", agents=[hidden])).agent is hidden
    twin = Agent(name="Hidden")
    with pytest.raises(SessionError, match="two agents are called 'Hidden'"):
        drive(stranger, "Hi", [], session=store.session("s", agents=[hidden, twin]))


def test_a_session_belongs_to_its_user(drive: Drive, store: SessionStore) -> None:
    drive(TRIAGE, "Hi", ["Hello"], session=store.session("s", user="ann"))
    with pytest.raises(SessionError, match="belongs to another user than 'bob'"):
        drive(TRIAGE, "Hi", [], session=store.session("s", user="bob"))
    drive(TRIAGE, "Hi", ["Hello"], session=store.session("s"))
    assert store.info("s").user == "ann"  # type: ignore[union-attr]


def test_messages_that_are_wrong_are_refused_at_once(drive: Drive, store: SessionStore) -> None:
    with pytest.raises(HistoryError):
        drive(TRIAGE, [{"role": "nobody"}], [], session=store.session("s"))
    with pytest.raises(TypeError, match="session must be one that a store gives"):
        drive(TRIAGE, "Hi", [], session=store)
    with pytest.raises(TypeError, match="session must be one that a store gives"):
        drive(TRIAGE, "Hi", [], session="s")


def test_many_tools_at_once_under_asyncio_do_not_block_the_loop(store: SessionStore) -> None:
    """X06: saving happens in a worker thread."""
    import threading

    threads: set[str] = set()
    write = store.database.writing

    def noting() -> Any:
        threads.add(threading.current_thread().name)
        return write()

    store.database.writing = noting  # type: ignore[method-assign]

    async def main() -> None:
        client = AsyncSwarm(ScriptedModel([[call("look", {"item": 1}), call("look", {"item": 2})], "Done."]), parallel_tools=True)
        await client.run(TRIAGE, "Go", session=store.session("s"))

    asyncio.run(main())
    assert threads
    assert threading.main_thread().name not in threads


def test_a_result_that_ends_the_run_is_kept(drive: Drive, store: SessionStore) -> None:
    agent = Agent(functions=[tool(lambda: Result(value="over", stop=True), name="stop", description="Stop.")])
    assert drive(agent, "Go", [call("stop")], session=store.session("s")).output == "over"
    assert drive(agent, [], [], session=store.session("s")).output == "over"


def test_many_conversations_at_once(url: str) -> None:
    """X06: each in its own session, all in one store, side by side."""
    turns = [[call("look", {"item": 1}), call("look", {"item": 2})], "Done."]

    async def talk(store: SessionStore, number: int) -> str | None:
        client = AsyncSwarm(ScriptedModel(turns), parallel_tools=True)
        return (await client.run(TRIAGE, f"I am {number}", session=store.session(f"s{number}"))).text

    async def main(store: SessionStore) -> list[str | None]:
        return await asyncio.gather(*(talk(store, number) for number in range(40)))

    with SessionStore(url) as store:
        assert asyncio.run(main(store)) == ["Done."] * 40
        assert [store.messages(f"s{number}")[0]["content"] for number in range(40)] == [f"I am {number}" for number in range(40)]
        assert {info.status for info in store.find()} == {"idle"}
