"""Cache: the same request is answered once; what is the same, what is kept, and what happens when the file is no file."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarm import Agent, AsyncSwarm, ScriptedModel, Swarm
from swarm.effects import CallModel, Flow, Reply
from swarm.errors import ConnectionFailed, ServerError, StreamBroken
from swarm.events import Delta, MessageDone, PolicyActed
from swarm.models.scripted import Turn, call
from swarm.policies import Cache, Fallback, file_storage, memory_storage
from swarm.policies.cache import _key
from swarm.policies.file_storage import File
from swarm.testing.conformance import PolicyConformance
from tests.clients import ForeignClient
from tests.look import is_valid
from tests.modes import MODES, Drive, streaming

ROOT = Path(__file__).parent.parent.parent


class TestCache(PolicyConformance):
    def make(self) -> Cache:
        return Cache()


@pytest.fixture(params=["memory", "file"])
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    made = Cache(tmp_path / "cache.db" if request.param == "file" else None)
    yield made
    made.close()


def acted(events: list[Any]) -> list[str]:
    return [event.what for event in events if isinstance(event, PolicyActed)]


def look_up(item: int) -> str:
    """Look an item up."""
    return f"item {item}"


AGENT = Agent(name="Helper", functions=[look_up])


def test_the_same_request_is_answered_once(drive: Drive, cache: Cache) -> None:
    """D9, D46: a hit is told, as one delta, takes no tokens and is no call of a model."""
    turns = [call("look_up", {"item": 1}), "It is there."]
    first = drive(AGENT, "hi", turns, swarm={"policies": [cache]})
    assert (first.usage.calls, first.usage.total_tokens) == (2, 30)
    events = drive.events(AGENT, "hi", [], swarm={"policies": [cache]})
    second = events[-1].response
    assert second.messages == first.messages
    assert (second.usage.calls, second.usage.total_tokens, second.usage.by_call) == (0, 0, [])
    assert acted(events) == ["answered from the cache"] * 2
    assert [event.delta.get("content") for event in events if isinstance(event, Delta)] == [None, "It is there."]
    assert [event.call for event in events if isinstance(event, MessageDone)] == [None, None]
    reasons = [event.reason for event in events if isinstance(event, PolicyActed)]
    assert reasons == ["gpt-4o answered the same request 0 s ago"] * 2


def test_tools_run_all_the_same(drive: Drive, cache: Cache) -> None:
    ran: list[int] = []

    def count(item: int) -> str:
        ran.append(item)
        return "counted"

    agent = Agent(functions=[count])
    drive(agent, "hi", [call("count", {"item": 1}), "done"], swarm={"policies": [cache]})
    drive(agent, "hi", [], swarm={"policies": [cache]})
    assert ran == [1, 1]


@pytest.mark.parametrize("mode", MODES)
def test_a_reply_is_the_same_in_every_mode(drive: Drive, mode: str, tmp_path: Path) -> None:
    """S16: streamed or not is no other request."""
    for at, kept in enumerate([Cache(), Cache(tmp_path / "cache.db")]):
        came = Drive(mode)(AGENT, "hi", [call("look_up", {"item": at}), "done"], swarm={"policies": [kept]})
        assert drive(AGENT, "hi", [], swarm={"policies": [kept]}).messages == came.messages
        kept.close()


def test_a_reply_that_was_given_belongs_to_its_reader(cache: Cache) -> None:
    """What one does to a message does not change what the next one gets."""
    client = Swarm(ScriptedModel([Turn("one", extra={"list": [1]})]), policies=[cache])
    for _ in range(3):
        (message,) = client.run(Agent(), "hi").messages
        assert (message["content"], message["list"]) == ("one", [1])
        message["list"].append(2)
        message["content"] = "changed"


def test_ids_of_calls_stay_unique_in_a_conversation(drive: Drive, cache: Cache) -> None:
    """D52: a reply from the cache has the ids it was given with; where the conversation has one already, it gets a number."""

    class Forgetful:
        """Shows the model the last message only, so that two turns ask the same."""

        def model(self, call: CallModel) -> Flow:
            last = [{"role": "user", "content": "again"}]
            return (yield call.replace(request={**call.request, "messages": last}))

    policies = [Forgetful(), cache]
    response = drive(AGENT, "hi", [call("look_up", {"item": 1}, id="a")], swarm={"policies": policies}, max_turns=5)
    ids = [made["id"] for message in response.messages for made in message.get("tool_calls") or ()]
    assert ids == ["a", "a_2", "a_3"]
    assert is_valid(response.messages)


# What is the same


def effect(request: dict[str, Any], client: Any = None) -> CallModel:
    return CallModel(AGENT, client or ScriptedModel([]), request)


REQUEST = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "temperature": 0.5, "tools": [{"type": "function"}]}


@given(
    name=st.sampled_from(["stream", "stream_options", "timeout", "user", "metadata", "store", "service_tier", "prompt_cache_key"]),
    value=st.one_of(st.none(), st.booleans(), st.text()),
)
def test_what_does_not_matter_makes_no_other_request(name: str, value: Any) -> None:
    assert _key(effect({**REQUEST, name: value})) == _key(effect(dict(reversed(REQUEST.items()))))


values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=8,
)


@given(one=values, other=values)
def test_everything_else_does(one: Any, other: Any) -> None:
    """Keys are equal exactly where the JSON is."""
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (_key(effect({**REQUEST, "x": one})) == _key(effect({**REQUEST, "x": other}))) == same
    assert _key(effect({**REQUEST, "x": one})) != _key(effect(REQUEST))


@pytest.mark.parametrize(
    "change",
    [
        {"model": "other"},
        {"temperature": 0.6},
        {"messages": [{"role": "user", "content": "hi "}]},
        {"tools": []},
        {"extra_headers": {"x": "1"}},
        {"seed": 1},
    ],
)
def test_another_request_is_asked(change: dict[str, Any]) -> None:
    assert _key(effect({**REQUEST, **change})) != _key(effect(REQUEST))


def test_a_request_that_is_no_json_is_passed_on(drive: Drive, cache: Cache) -> None:
    agent = Agent(model_settings={"response_format": Agent, "x": {1, 2}})
    for _ in range(2):
        assert drive(agent, "hi", ["done"], swarm={"policies": [cache]}).text == "done"


def test_each_place_has_its_own_answers() -> None:
    """The base URL tells, whatever the client is; of one that names none its class does."""
    here, there, none = (ForeignClient([], "dict") for _ in range(3))
    here.base_url, there.base_url = "https://here.test/v1", "https://there.test/v1"  # type: ignore[attr-defined]
    from swarm import ChatClient
    from swarm.models.client import model_for

    keys = [_key(effect(REQUEST, model_for(client))) for client in (here, there, none)]
    assert len({*keys, _key(effect(REQUEST))}) == 4
    assert _key(effect(REQUEST, ChatClient("https://here.test/v1", "key"))) == keys[0]
    assert _key(effect(REQUEST, model_for(ForeignClient([], "dict")))) == keys[2]


# What is kept


@pytest.mark.parametrize(
    "turn",
    [
        Turn("Once upon", finish_reason="length"),
        Turn("", finish_reason="content_filter"),
        Turn("Once", finish_reason="sensitive"),
        Turn(None, finish_reason="stop"),
        Turn("", extra={"refusal": "no"}),
    ],
    ids=["length", "filtered", "provider's own word", "empty", "refusal"],
)
def test_only_whole_answers_are_kept(drive: Drive, cache: Cache, turn: Turn) -> None:
    drive(Agent(), "hi", [turn], swarm={"policies": [cache]})
    assert drive(Agent(), "hi", ["whole"], swarm={"policies": [cache]}).text == "whole"


def test_a_failure_is_not_kept(drive: Drive, cache: Cache) -> None:
    with pytest.raises(ServerError):
        drive(Agent(), "hi", [ServerError("503: m")], swarm={"policies": [cache]})
    assert drive(Agent(), "hi", ["done"], swarm={"policies": [cache]}).text == "done"


@streaming
def test_a_stream_that_breaks_is_not_kept(drive: Drive, cache: Cache) -> None:
    """S15"""
    with pytest.raises(StreamBroken):
        drive(Agent(), "hi", [Turn(chunks=["Hel", ConnectionFailed("lost")])], swarm={"policies": [cache]})
    assert drive(Agent(), "hi", ["Hello"], swarm={"policies": [cache]}).text == "Hello"


def test_a_reply_of_another_model_is_not_kept_as_this_one_s(drive: Drive, cache: Cache) -> None:
    """A Fallback further in asked another, under another name or at another place."""
    for fallback in (Fallback(["second"]), Fallback(clients=[ScriptedModel(["from there"])])):
        turns = [ServerError("503: m"), "from there"]
        drive(Agent(), "hi", turns, swarm={"policies": [cache, fallback]})
    events = drive.events(Agent(), "hi", ["from here"], swarm={"policies": [cache]})
    assert (events[-1].response.text, acted(events)) == ("from here", [])


def test_inside_of_a_fallback_each_model_has_its_own(drive: Drive, cache: Cache) -> None:
    policies = [Fallback(["second"]), cache]
    drive(Agent(model="first"), "hi", [ServerError("503: m"), "from second"], swarm={"policies": policies})
    events = drive.events(Agent(model="first"), "hi", [ServerError("503: m")], swarm={"policies": policies})
    assert (events[-1].response.text, len(acted(events))) == ("from second", 2)


def test_what_a_policy_answers_itself_is_not_kept(drive: Drive, cache: Cache) -> None:
    class Answers:
        def model(self, call: CallModel) -> Flow:
            return Reply({"role": "assistant", "content": "made up"}, finish_reason="stop")
            yield

    drive(Agent(), "hi", [], swarm={"policies": [cache, Answers()]})
    assert drive(Agent(), "hi", ["asked"], swarm={"policies": [cache]}).text == "asked"


class Served(ScriptedModel):
    """A scripted model behind an address."""

    def __init__(self, turns: list[Any], base_url: str) -> None:
        super().__init__(turns)
        self.base_url = base_url


def test_private_fields_of_a_kept_reply_go_back_to_its_provider_only(drive: Drive, cache: Cache) -> None:
    """D26: as if it had been asked."""

    def run(here: list[Any], there: list[Any]) -> tuple[Served, Served]:
        models = Served(here, "https://here.test/v1"), Served(there, "https://there.test/v1")
        first, second = Agent(name="Here", client=models[0]), Agent(name="There", client=models[1])
        first.handoffs.append(second)
        second.handoffs.append(first)
        with suppress(ServerError):
            drive(first, "hi", [], swarm={"policies": [cache]})
        return models

    def marks(model: Served) -> list[Any]:
        return [message.get("mark") for message in model.requests[-1]["messages"] if message["role"] == "assistant"]

    run([Turn("", [call("transfer_to_there")], extra={"mark": "here"})], [ServerError("503: m")])
    here, there = run(["back"], [call("transfer_to_here")])
    assert (marks(there), marks(here)) == ([None], ["here", None])


# How long, how many


class Time:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Time:
    made = Time()
    for module in (memory_storage, file_storage):
        monkeypatch.setattr(module, "time", made)
    return made


@pytest.mark.parametrize("is_file", [False, True])
def test_a_reply_grows_old(now: Time, tmp_path: Path, is_file: bool) -> None:
    cache = Cache(tmp_path / "cache.db" if is_file else None, ttl=60)
    client = Swarm(ScriptedModel(["one", "two", "three"]), policies=[cache])
    said: list[str] = []
    for wait in (0, 59.9, 0.1, 59.9, 61):
        now.now += wait
        said.append(client.run(Agent(), "hi").text)
    assert said == ["one", "one", "two", "two", "three"]
    cache.close()


@pytest.mark.parametrize("is_file", [False, True])
def test_the_oldest_go_first(tmp_path: Path, is_file: bool) -> None:
    cache = Cache(tmp_path / "cache.db" if is_file else None, max_entries=3)
    client = Swarm(ScriptedModel([str(number) for number in range(10)]), policies=[cache])
    for text in "abcd":
        client.run(Agent(), text)
    assert [client.run(Agent(), text).text for text in "bcd"] == ["1", "2", "3"]
    assert client.run(Agent(), "a").text == "4"
    assert [client.run(Agent(), text).text for text in "cda"] == ["2", "3", "4"]
    if is_file:
        with sqlite3.connect(tmp_path / "cache.db") as file:
            assert file.execute("SELECT count(*) FROM replies").fetchone() == (3,)
        file.close()
    cache.close()


# Files


def test_a_file_is_for_its_owner_and_holds_no_request(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    cache = Cache(path)
    Swarm(ScriptedModel(["the answer"]), policies=[cache]).run(Agent(), "the question")
    cache.close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    held = path.read_bytes()
    assert (b"the answer" in held, b"the question" in held) == (True, False)
    assert Swarm(ScriptedModel([]), policies=[Cache(os.fspath(path))]).run(Agent(), "the question").text == "the answer"


def no_folder(path: Path) -> None:
    path.parent.rmdir()


def no_database(path: Path) -> None:
    path.write_bytes(b"this is no database, whatever its name says" * 100)


def another_table(path: Path) -> None:
    with sqlite3.connect(path) as file:
        file.execute("CREATE TABLE replies (something TEXT)")
    file.close()


def a_folder(path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize("damage", [no_folder, no_database, another_table, a_folder])
def test_a_file_that_is_none_breaks_no_run(
    drive: Drive, tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: Callable[[Path], None]
) -> None:
    """Told once; the runs go on without."""
    path = tmp_path / "folder" / "cache.db"
    path.parent.mkdir()
    damage(path)
    cache = Cache(path)
    with caplog.at_level(logging.WARNING, logger="swarm"):
        for text in ("one", "two"):
            assert drive(Agent(), "hi", [text], swarm={"policies": [cache]}).text == text
    (record,) = caplog.records
    assert "cannot be used, and the run goes on without it" in record.getMessage()
    cache.close()


def test_a_file_that_is_locked_is_tried_again_later(
    now: Time, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_storage, "BUSY", 0.01)
    path = tmp_path / "cache.db"
    cache = Cache(path)
    client = Swarm(ScriptedModel(["one", "two", "three", "four"]), policies=[cache])
    client.run(Agent(), "a")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    assert client.run(Agent(), "b").text == "two"
    other.execute("ROLLBACK")
    other.close()
    assert client.run(Agent(), "b").text == "three"  # it is left alone for a minute
    now.now += 61
    assert client.run(Agent(), "a").text == "one"
    assert client.run(Agent(), "b").text == "four"
    assert client.run(Agent(), "b").text == "four"
    assert len(caplog.records) == 1
    cache.close()


@pytest.mark.parametrize("text", ["", "no json", "[]", "{}", '{"message": 1, "finish_reason": "stop", "model": null, "id": null}'])
def test_a_row_that_holds_something_else_is_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "cache.db"
    cache = Cache(path)
    client = Swarm(ScriptedModel(["one", "two"]), policies=[cache])
    client.run(Agent(), "hi")
    with sqlite3.connect(path) as file:
        file.execute("UPDATE replies SET reply = ?, made = 'yesterday'", (text,))
    file.close()
    assert client.run(Agent(), "hi").text == "two"
    assert client.run(Agent(), "hi").text == "two"
    cache.close()


WORKER = """
import sys
from swarm import Agent, ScriptedModel, Swarm
from swarm.policies import Cache
path, name = sys.argv[1:]
cache = Cache(path, max_entries=500)
for number in range(40):
    for text in (f"shared {number}", f"{name} {number}"):
        client = Swarm(ScriptedModel([f"{name}: {text}"]), policies=[cache])
        said = client.run(Agent(), text).text
        assert said.endswith(text), said
        assert Swarm(ScriptedModel([]), policies=[cache]).run(Agent(), text).text.endswith(text)
cache.close()
"""


def test_processes_share_a_file(tmp_path: Path) -> None:
    """Four at once on a file that none of them finds there: nothing is lost, nothing is logged, each answer fits its question."""
    path = tmp_path / "cache.db"
    environment = {**os.environ, "PYTHONPATH": os.fspath(ROOT / "src")}
    program = [sys.executable, "-W", "error", "-c", WORKER, os.fspath(path)]
    running = [
        subprocess.Popen([*program, name], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for name in "abcd"
    ]
    came = [process.communicate()[0] for process in running]
    assert ([process.returncode for process in running], came) == ([0] * 4, [""] * 4)
    with sqlite3.connect(path) as file:
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert file.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert file.execute("SELECT count(*) FROM replies").fetchone() == (200,)
    file.close()


def test_a_forked_process_opens_the_file_anew(tmp_path: Path) -> None:
    """https://www.sqlite.org/howtocorrupt.html"""
    program = f"""
import os
from swarm.policies.file_storage import File
store = File({os.fspath(tmp_path / "cache.db")!r}, None, 10)
store.put("a", "of the parent")
if (child := os.fork()) == 0:
    assert store.get("a")[1] == "of the parent"
    store.put("b", "of the child")
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert store.get("b")[1] == "of the child"
assert store.get("a")[1] == "of the parent"
store.close()
"""
    environment = {**os.environ, "PYTHONPATH": os.fspath(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_threads_and_event_loops_share_it(cache: Cache) -> None:
    model = ScriptedModel(["done"] * 100)
    failed: list[BaseException] = []

    def sync() -> None:
        try:
            for number in range(20):
                assert Swarm(model, policies=[cache]).run(Agent(), str(number)).text == "done"
        except BaseException as error:
            failed.append(error)

    async def side_by_side() -> None:
        await asyncio.gather(*(AsyncSwarm(model, policies=[cache]).run(Agent(), str(number)) for number in range(20)))

    threads = [threading.Thread(target=sync) for _ in range(3)]
    for thread in threads:
        thread.start()
    asyncio.run(side_by_side())
    for thread in threads:
        thread.join()
    assert failed == []
    before = len(model.requests)
    asyncio.run(side_by_side())
    assert len(model.requests) == before


def test_a_store_that_is_dropped_closes_its_file(tmp_path: Path) -> None:
    store = File(tmp_path / "cache.db", None, 10)
    store.put("a", "text")
    connection = store._connection[0]  # type: ignore[index]
    del store
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


@pytest.mark.parametrize(
    ("given", "said"),
    [({"ttl": 0}, "must be above 0 seconds"), ({"ttl": float("nan")}, "above 0"), ({"max_entries": 0}, "must be at least 1")],
)
def test_what_makes_no_sense_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Cache(**given)
