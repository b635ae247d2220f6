"""Tape as a model: recorded in any mode from any client, replayed in any other without one."""

from __future__ import annotations

import asyncio
import copy
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from swarm import Agent, AsyncSwarm, ChatClient, Swarm
from swarm.effects import CallModel, Reply
from swarm.errors import ConfigError, ModelError, RateLimitError, RequestError, StreamBroken
from swarm.events import Delta
from swarm.models.client import Model
from swarm.models.profiles import Profile
from swarm.models.scripted import ScriptedModel, Turn, call
from swarm.testing import Tape, TapeError
from tests.clients import ForeignClient, chunk, served
from tests.loopback import Loopback
from tests.modes import MODES, Drive


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def to_helper() -> Agent:
    """Hand over to the helper."""
    return helper


helper = Agent(name="Helper", instructions="Help.", model_settings={"temperature": 0})
adder = Agent(name="Adder", instructions="Add.", functions=[add, to_helper])
TURNS = [call("add", {"a": 2, "b": 3}), [call("add", {"a": 1, "b": 1}), call("to_helper")], "It is ünïcode 5."]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tapes" / "one.jsonl"


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def tools_sent(path: Path) -> list[str]:
    return [line["tool"] for line in lines_of(path) if "tool" in line]


@pytest.mark.parametrize("other", MODES)
def test_a_tape_of_one_mode_replays_in_every_other(drive: Drive, other: str, path: Path) -> None:
    recorded = drive(adder, "2 + 3?", Tape(path, ScriptedModel(TURNS), record=True))
    with Tape(path) as tape:
        replayed = Drive(other)(adder, "2 + 3?", tape)
    assert replayed.messages == recorded.messages
    assert replayed.agent is helper
    assert replayed.usage.total_tokens == recorded.usage.total_tokens == 45
    assert recorded.text == "It is ünïcode 5."


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("shape", ["openai", "dict"])
def test_a_foreign_client_is_recorded(drive: Drive, shape: str, is_async: bool, path: Path) -> None:
    client = ForeignClient(TURNS, shape, is_async)
    recorded = drive(adder, "2 + 3?", Tape(path, client, record=True))
    replayed = drive(adder, "2 + 3?", Tape(path))
    assert replayed.messages == recorded.messages
    assert len(client.requests) == 3
    assert client.open_streams == 0


def test_our_client_is_recorded_over_http(drive: Drive, path: Path) -> None:
    with Loopback(served(TURNS)) as server:
        recorded = drive(adder, "2 + 3?", Tape(path, ChatClient(server.url, "sk-secret-key-1234567890"), record=True))
        server.wait_until(lambda: server.open_connections == 0)
    replayed = drive(adder, "2 + 3?", Tape(path))
    assert replayed.messages == recorded.messages
    assert "secret" not in path.read_text(encoding="utf-8")


def test_a_client_with_methods_of_its_own_for_asyncio_is_recorded(drive: Drive, path: Path) -> None:
    class Both(ScriptedModel):
        async def acomplete(self, call: CallModel) -> Reply:
            return self.complete(call)

        async def astream(self, call: CallModel) -> Any:
            for piece in self.stream(call):
                yield piece

    with Both(TURNS) as client:
        recorded = drive(adder, "2 + 3?", Tape(path, client, record=True))
    assert drive(adder, "2 + 3?", Tape(path)).messages == recorded.messages
    assert client.open_streams == 0


def test_a_client_that_changes_inherited_methods_is_asked_through_its_own(drive: Drive, path: Path) -> None:
    class Parent(ScriptedModel):
        async def acomplete(self, call: CallModel) -> Reply:
            raise AssertionError("a subclass has another complete")

        async def astream(self, call: CallModel) -> Any:
            raise AssertionError("a subclass has another stream")
            yield

    class Child(Parent):
        complete = ScriptedModel.complete
        stream = ScriptedModel.stream

    recorded = drive(adder, "2 + 3?", Tape(path, Child(TURNS), record=True))
    assert drive(adder, "2 + 3?", Tape(path)).messages == recorded.messages


def test_a_stream_is_replayed_in_the_chunks_it_came_in(path: Path) -> None:
    list(Swarm(Tape(path, ScriptedModel(["one two three"]), record=True)).stream(Agent(), "go"))

    def pieces(swarm: Swarm) -> list[str]:
        return [event.delta["content"] for event in swarm.stream(Agent(), "go") if isinstance(event, Delta) and "content" in event.delta]

    assert pieces(Swarm(Tape(path))) == ["one ", "two ", "three"]
    assert Swarm(Tape(path)).run(Agent(), "go").text == "one two three"


def test_a_blocking_client_is_asked_in_a_worker(path: Path) -> None:
    """X01: a loop that records is not stalled."""
    threads: set[int] = set()

    class Blocking:
        def complete(self, call: CallModel) -> Reply:
            threads.add(threading.get_ident())
            return Reply({"role": "assistant", "content": "done"}, finish_reason="stop")

        def stream(self, call: CallModel) -> Iterator[dict[str, Any]]:
            threads.add(threading.get_ident())
            yield chunk({"content": "done"}, "stop")

    for mode in ("async", "async-stream"):
        Drive(mode)(Agent(), "go", Tape(path, Blocking(), record=True))
    assert len(threads) >= 1
    assert threading.get_ident() not in threads


# What is asked of the client


def test_the_run_gets_numbered_ids_and_the_provider_its_own(drive: Drive, path: Path) -> None:
    turns = [[call("add", {"a": 1, "b": 1}, id="toolu_x9f__state"), call("add", {"a": 2, "b": 2}, id="toolu_y3")], "done"]
    model = ScriptedModel(turns)
    response = drive(adder, "go", Tape(path, model, record=True))
    assert [entry["id"] for entry in response.messages[0]["tool_calls"]] == ["call_1", "call_2"]
    assert [message["tool_call_id"] for message in response.messages if message["role"] == "tool"] == ["call_1", "call_2"]
    sent = model.requests[1]["messages"]
    assert [entry["id"] for entry in sent[2]["tool_calls"]] == ["toolu_x9f__state", "toolu_y3"]
    assert [message["tool_call_id"] for message in sent[3:]] == ["toolu_x9f__state", "toolu_y3"]
    assert "toolu" not in path.read_text(encoding="utf-8")
    assert drive(adder, "go", Tape(path)).messages == response.messages


def test_one_id_for_two_calls_stays_two_calls(drive: Drive, path: Path) -> None:
    """D52: some servers use the function's name as id."""
    turns = [call("add", {"a": 1, "b": 1}, id="add"), [call("add", {"a": 2, "b": 2}, id="add"), call("to_helper", id="add")], "done"]
    recorded = drive(adder, "go", Tape(path, ScriptedModel(turns), record=True))
    replayed = drive(adder, "go", Tape(path))
    assert replayed.messages == recorded.messages
    ids = [entry["id"] for message in replayed.messages for entry in message.get("tool_calls") or ()]
    assert len(set(ids)) == 3


def test_requests_are_written_for_the_recorded_provider(drive: Drive, path: Path) -> None:
    """The provider's form is known when the tape is replayed, without the client."""

    class Mistral(ScriptedModel):
        base_url = "https://api.mistral.ai/v1"

    model = Mistral([call("add", {"a": 1, "b": 1}), "done"])
    drive(adder, "go", Tape(path, model, record=True))
    sent_id = model.requests[1]["messages"][2]["tool_calls"][0]["id"]
    assert len(sent_id) == 9
    assert lines_of(path)[0] == {"tape": 1, "base_url": "https://api.mistral.ai/v1"}
    with Tape(path) as tape:
        drive(adder, "go", tape)


def test_the_profile_of_a_client_is_kept(path: Path) -> None:
    class Own(ScriptedModel):
        profile = Profile(instruction_role="developer", keep=frozenset(("b", "a")))

    Swarm(Tape(path, Own(["done"]), record=True)).run(Agent(), "go")
    assert lines_of(path)[0] == {"tape": 1, "profile": {"instruction_role": "developer", "keep": ["a", "b"]}}
    assert Tape(path).profile == Own.profile
    with Tape(path) as tape:
        Swarm(tape).run(Agent(), "go")


def test_a_profile_is_kept_by_its_name(path: Path) -> None:
    class Own(ScriptedModel):
        profile = "groq"

    Swarm(Tape(path, Own(["done"]), record=True)).run(Agent(), "go")
    assert Tape(path).profile == "groq"


def test_a_server_that_makes_no_difference_is_not_named(path: Path) -> None:
    with Loopback(served(["done"])) as server:
        Swarm(Tape(path, ChatClient(server.url), record=True)).run(Agent(), "go")
    assert lines_of(path)[0] == {"tape": 1}


def test_the_client_is_made_only_to_record(path: Path) -> None:
    made: list[ScriptedModel] = []

    def client() -> ScriptedModel:
        made.append(ScriptedModel(["done", "again"]))
        return made[-1]

    tape = Tape(path, client, record=True)
    Swarm(tape).run(Agent(), "go")
    Swarm(tape).run(Agent(), "go on")
    Swarm(Tape(path, client)).run(Agent(), "go")
    assert len(made) == 1

    class Once(ScriptedModel):
        def __init__(self) -> None:
            super().__init__(["from the class"])

    assert Swarm(Tape(path, Once, record=True)).run(Agent(), "go").text == "from the class"


def test_without_a_client_the_usual_one_is_recorded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "SWARM_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        Swarm(Tape(path, record=True)).run(Agent(), "go")


def test_the_usual_client_is_asked_for_the_usual_model(drive: Drive, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """D29: SWARM_MODEL names the model of that server; the tape does not depend on it."""
    with Loopback(served(["one", "two", "three"])) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("SWARM_MODEL", "llama")
        tape = Tape(path, record=True)
        drive(Agent(), "go", tape)
        drive(Agent(model="mine"), "go", tape)
        drive(Agent(), "go", tape, model_override="other")
        assert [request.json["model"] for request in server.requests] == ["llama", "mine", "other"]
    monkeypatch.delenv("SWARM_MODEL")
    assert drive(Agent(), "go", Tape(path)).text == "one"


@pytest.mark.parametrize(("value", "records"), [("1", True), ("yes", True), ("", False), ("0", False), ("False", False)])
def test_the_environment_asks_for_recording(value: str, records: bool, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWARM_RECORD", value)
    assert Tape(path).is_recording is records
    assert Tape(path, record=not records).is_recording is not records


def test_a_tape_is_a_model_that_copies_share(path: Path) -> None:
    tape = Tape(path)
    assert isinstance(tape, Model)
    assert copy.deepcopy(tape) is copy.copy(tape) is tape
    assert repr(tape) == f"Tape({str(path)!r})"


def test_an_agents_own_client_may_be_a_tape(path: Path) -> None:
    mine = Agent(client=Tape(path, ScriptedModel(["mine"]), record=True))
    assert Swarm(ScriptedModel([])).run(mine, "go").text == "mine"
    assert Swarm(ScriptedModel([])).run(mine.copy(client=Tape(path)), "go").text == "mine"


# Failures


def test_a_failure_is_replayed(drive: Drive, path: Path) -> None:
    error = RateLimitError("429: slow down", status=429, body={"error": {"message": "slow down"}})
    error.retry_after = 2.5
    for client in (Tape(path, ScriptedModel([Turn(error=error)]), record=True), Tape(path)):
        with pytest.raises(RateLimitError, match="slow down") as caught:
            drive(Agent(), "go", client)
        assert (caught.value.status, caught.value.retry_after, caught.value.body) == (429, 2.5, {"error": {"message": "slow down"}})


def test_a_failure_of_another_kind_is_a_model_error(path: Path) -> None:
    class Odd(ModelError):
        pass

    with pytest.raises(Odd):
        Swarm(Tape(path, ScriptedModel([Turn(error=Odd("odd"))]), record=True)).run(Agent(), "go")
    with pytest.raises(ModelError, match="odd") as caught:
        Swarm(Tape(path)).run(Agent(), "go")
    assert type(caught.value) is ModelError


def test_a_stream_that_broke_breaks_again(drive: Drive, path: Path) -> None:
    """D12"""
    turn = Turn(chunks=["so far", RequestError("400: too long", status=400)])
    other = Drive("async-stream" if drive.mode.startswith("async") else "sync-stream")
    for client in (Tape(path, ScriptedModel([turn]), record=True), Tape(path)):
        with pytest.raises(StreamBroken, match="too long") as caught:
            other(Agent(), "go", client)
        assert caught.value.partial == {"role": "assistant", "content": "so far"}
    with pytest.raises(ModelError, match="too long"):
        drive(Agent(), "go", Tape(path))


def test_an_error_in_a_chunk_is_replayed(drive: Drive, path: Path) -> None:
    turn = Turn(chunks=[chunk({"content": ""}), {"error": {"message": "no more", "code": 429}}])
    stream = Drive("sync-stream")
    for runner, client in ((stream, Tape(path, ScriptedModel([turn]), record=True)), (drive, Tape(path))):
        with pytest.raises(RateLimitError, match="no more"):
            runner(Agent(), "go", client)


def test_a_stream_that_its_reader_cut_off_is_cut_off_again(path: Path) -> None:
    for client in (Tape(path, ScriptedModel(["one two three"]), record=True), Tape(path)):
        stream = Swarm(client).stream(Agent(), "go")
        for event in stream:
            if isinstance(event, Delta) and event.delta.get("content"):
                break
        stream.close()
        assert stream.response is not None
        assert stream.response.text == "one "
    assert lines_of(path)[1]["cut"] is True
    for mode in MODES:
        with pytest.raises(TapeError, match="cut off by its reader"):
            Drive(mode)(Agent(), "go", Tape(path))


def test_a_task_that_is_cancelled_leaves_what_came(path: Path) -> None:
    """X06"""

    async def main() -> None:
        reached = asyncio.Event()

        class Slow:
            async def complete(self, call: CallModel) -> Reply:
                raise NotImplementedError

            async def stream(self, call: CallModel) -> Any:
                yield chunk({"role": "assistant", "content": "so far"})
                reached.set()
                await asyncio.Event().wait()

        async def read() -> None:
            async for _ in AsyncSwarm(Tape(path, Slow(), record=True)).stream(Agent(), "go"):
                pass

        task = asyncio.create_task(read())
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert lines_of(path)[1]["cut"] is True


def test_a_blocking_stream_is_closed_when_its_thread_is_done(path: Path) -> None:
    """D49: a generator cannot be closed while another thread runs it."""
    began, go_on, closed = threading.Event(), threading.Event(), threading.Event()

    class Blocking:
        def complete(self, call: CallModel) -> Reply:
            raise NotImplementedError

        def stream(self, call: CallModel) -> Iterator[dict[str, Any]]:
            try:
                yield chunk({"content": "so far"})
                began.set()
                go_on.wait(5)
                yield chunk({"content": "too late"})
            finally:
                closed.set()

    async def read() -> None:
        async for _ in AsyncSwarm(Tape(path, Blocking(), record=True)).stream(Agent(), "go"):
            pass

    async def main() -> None:
        task = asyncio.create_task(read())
        await asyncio.to_thread(began.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not closed.is_set()
        go_on.set()
        assert await asyncio.to_thread(closed.wait, 5)

    asyncio.run(main())
    assert lines_of(path)[1]["chunks"] == [{"choices": [{"index": 0, "delta": {"content": "so far"}}], "model": "gpt-4o"}]


def test_a_client_that_is_broken_is_not_recorded(drive: Drive, path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        drive(Agent(), "go", Tape(path, ScriptedModel([Turn(error=ZeroDivisionError())]), record=True))
    assert not path.exists()


def test_a_client_that_answers_with_no_reply_is_refused_as_ever(path: Path) -> None:
    class Wrong:
        def complete(self, call: CallModel) -> Any:
            return "a text"

        def stream(self, call: CallModel) -> Any:
            return 7

    for mode in MODES:
        with pytest.raises(ModelError, match="must return"):
            Drive(mode)(Agent(), "go", Tape(path, Wrong(), record=True))
