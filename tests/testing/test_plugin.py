"""The pytest plugin, in test suites of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import swarm.models.offline
import swarm.models.transport_async
import swarm.models.transport_sync
import swarm.testing  # noqa: F401  # all of them, since an inner run forgets what it was the first to import
from swarm import ChatClient
from swarm.testing.live import forbid_live_calls, is_here

pytest_plugins = ["pytester"]

HEAD = """
import pytest
from swarm import Agent, AsyncSwarm, ChatClient, Swarm
from swarm.errors import ConnectionFailed
from swarm.testing import ScriptedModel, Turn, call
"""


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "SWARM_OFFLINE", "SWARM_RECORD"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    """A folder for a suite, in which no live calls are forbidden yet."""
    pytester.makeini("[pytest]\naddopts = -p no:cacheprovider\n")
    return pytester


def forbid(suite: pytest.Pytester) -> None:
    suite.makeini("[pytest]\naddopts = -p no:cacheprovider\nswarm_live_calls = forbid\n")


def test_starting_pytest_imports_nothing_of_swarm() -> None:
    code = "import sys, pytest_openswarm; print(*sorted(name for name in sys.modules if name.split('.')[0] in ('swarm', 'pydantic')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


# Scripted models


def test_turns_that_are_left_over_fail_the_test(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        HEAD
        + """
def test_used(scripted_model):
    assert Swarm(scripted_model(["Hello"])).run(Agent(), "hi").text == "Hello"

def test_left_over(scripted_model):
    model, other = scripted_model(["Hello", "never"]), scripted_model([])
    assert Swarm(model).run(Agent(), "hi").text == "Hello"

def test_fails_for_its_own_reason(scripted_model):
    scripted_model(["never"])
    assert False, "my own reason"
"""
    )
    result = suite.runpytest()
    result.assert_outcomes(passed=2, failed=1, errors=1)
    result.stdout.fnmatch_lines(["*ERROR at teardown of test_left_over*", "*1 of 2 scripted turns were not used: [[]Turn('never')[]]*"])
    result.stdout.fnmatch_lines(["*my own reason*"])
    result.stdout.no_fnmatch_line("*ERROR at teardown of test_fails*")


# Tapes

TAPES = (
    HEAD
    + """
from swarm.testing import assert_called

@pytest.fixture
def tape_client():
    return lambda: ScriptedModel([call("add", {"a": 1, "pin": 4711}), "done"])

@pytest.fixture
def tape_redact():
    return ["pin"]

def add(a: int, pin: int) -> int:
    "Add."
    return a

def check(tape):
    response = Swarm(tape, policies=[tape]).run(Agent(functions=[add]), "go")
    assert_called(response, "add", 1, a=1)

def test_plain(tape):
    check(tape)

class TestGroup:
    @pytest.mark.parametrize("word", ["a", "b c/d", "é"])
    def test_inside(self, tape, word):
        check(tape)

def test_asks_nothing(tape):
    pass
"""
)


def test_a_tape_is_named_after_its_test_and_recorded_on_demand(suite: pytest.Pytester) -> None:
    suite.makepyfile(test_tapes=TAPES)
    result = suite.runpytest()
    result.assert_outcomes(passed=1, failed=4)
    result.stdout.fnmatch_lines(["*TapeError: there is no tape *tapes?test_tapes?test_plain.jsonl yet; record it with*--swarm-record*"])
    suite.runpytest("--swarm-record").assert_outcomes(passed=5)
    folder = suite.path / "tapes" / "test_tapes"
    assert sorted(path.name for path in folder.iterdir()) == [
        "TestGroup.test_inside[_xe9]-c137a8bb.jsonl",
        "TestGroup.test_inside[a].jsonl",
        "TestGroup.test_inside[b_c_d]-9efd701b.jsonl",
        "test_plain.jsonl",
    ]
    assert "4711" not in (folder / "test_plain.jsonl").read_text()
    suite.runpytest().assert_outcomes(passed=5)
    assert "SWARM_RECORD" not in os.environ


def test_an_environment_that_asked_before_still_does(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWARM_RECORD", "yes")
    suite.makepyfile(test_tapes=TAPES)
    suite.runpytest("--swarm-record").assert_outcomes(passed=5)
    assert os.environ["SWARM_RECORD"] == "yes"


def test_answers_that_are_left_over_fail_the_test(suite: pytest.Pytester) -> None:
    suite.makepyfile(test_tapes=TAPES)
    suite.runpytest("--swarm-record").assert_outcomes(passed=5)
    suite.makepyfile(test_tapes=TAPES.replace("    check(tape)\n\nclass", "    pass\n\nclass"))
    result = suite.runpytest("-k", "plain")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*2 lines of *test_plain.jsonl were not asked for:*", "*line 2: an answer after user: 'go'*"])


# No live calls

LIVE = (
    HEAD
    + """
import asyncio, socket

def nowhere(*_, **__):
    raise socket.gaierror(-2, "no such name")

@pytest.fixture(autouse=True)
def no_names(monkeypatch):
    monkeypatch.setattr(socket, "getaddrinfo", nowhere)

real = ChatClient("https://models.example/v1", "a-key")

def test_sync():
    Swarm(real).run(Agent(), "hi")

def test_stream():
    list(Swarm(real).stream(Agent(), "hi"))

def test_async():
    asyncio.run(AsyncSwarm(real).run(Agent(), "hi"))

def test_async_stream():
    async def main():
        return [event async for event in AsyncSwarm(real).stream(Agent(), "hi")]
    asyncio.run(main())

def test_default(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    Swarm().run(Agent(), "hi")

def test_create():
    real.chat.completions.create(model="m", messages=[])

def test_inside_of_an_agent_used_as_a_tool():
    inner = Agent(name="inner", client=real)
    Swarm(ScriptedModel([call("inner", {"input": "x"}), "done"])).run(Agent(functions=[inner.as_tool()]), "hi")

def test_caught():
    with pytest.raises(Exception):
        Swarm(real).run(Agent(), "hi")
"""
)


def test_a_live_call_fails_and_names_the_test(suite: pytest.Pytester) -> None:
    forbid(suite)
    suite.makepyfile(test_live=LIVE)
    result = suite.runpytest()
    result.assert_outcomes(failed=8)
    for name in ("test_sync", "test_stream", "test_async", "test_async_stream", "test_create", "test_inside_*", "test_caught"):
        result.stdout.fnmatch_lines([f"in test_live.py::{name}: a call to the real model at https://models.example/v1, which this test*"])
    result.stdout.fnmatch_lines(["in test_live.py::test_default: a call to the real model at https://api.openai.com/v1, which *"])


@pytest.mark.swarm_live  # what the inner suite allows, this one must not forbid
def test_the_switch_on_the_command_line_does_the_same(suite: pytest.Pytester) -> None:
    suite.makepyfile(test_live=LIVE)
    result = suite.runpytest("--swarm-no-live", "-k", "sync")
    result.stdout.fnmatch_lines(["*which this test run forbids*"])
    result = suite.runpytest("-k", "sync")
    result.stdout.no_fnmatch_line("*which this test run forbids*")
    result.stdout.fnmatch_lines(["*ConnectionFailed*"])


@pytest.mark.swarm_live  # what the inner suite allows, this one must not forbid
def test_what_stays_on_this_machine_is_allowed(suite: pytest.Pytester) -> None:
    forbid(suite)
    suite.makepyfile(
        HEAD
        + """
from swarm import OfflineModel
from swarm.testing import Tape

def test_scripted():
    assert Swarm(ScriptedModel(["Hello"])).run(Agent(), "hi").text == "Hello"

def test_offline():
    assert Swarm(OfflineModel()).run(Agent(), "hi").text

@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_loopback(host):
    with pytest.raises(ConnectionFailed):
        Swarm(ChatClient(f"http://{host}:9/v1")).run(Agent(), "hi")

def test_recorded(tmp_path):
    Swarm(Tape(tmp_path / "t.jsonl", ScriptedModel(["Hello"]), record=True)).run(Agent(), "hi")
    assert Swarm(Tape(tmp_path / "t.jsonl")).run(Agent(), "hi").text == "Hello"

def test_proxy(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with pytest.raises(ConnectionFailed):
        Swarm(ChatClient("http://models.example/v1")).run(Agent(), "hi")

def test_remote_proxy(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.example:9")
    with pytest.raises(pytest.fail.Exception, match="test_remote_proxy"):
        Swarm(ChatClient("http://models.example/v1")).run(Agent(), "hi")

@pytest.mark.swarm_live
def test_marked(monkeypatch):
    import socket
    def nowhere(*_, **__):
        raise socket.gaierror(-2, "no such name")
    monkeypatch.setattr(socket, "getaddrinfo", nowhere)
    with pytest.raises(ConnectionFailed):
        Swarm(ChatClient("http://models.example/v1")).run(Agent(), "hi")

def test_not_marked_after_a_marked_one():
    with pytest.raises(pytest.fail.Exception):
        Swarm(ChatClient("http://models.example/v1")).run(Agent(), "hi")
"""
    )
    suite.runpytest("--strict-markers").assert_outcomes(passed=10)


def test_a_call_while_tests_are_collected_is_forbidden_too(suite: pytest.Pytester) -> None:
    forbid(suite)
    suite.makepyfile(HEAD + "Swarm(ChatClient('http://models.example/v1')).run(Agent(), 'hi')\n")
    suite.runpytest().stdout.fnmatch_lines(["*outside of any test: a call to the real model at http://models.example/v1*"])


@pytest.mark.swarm_live  # what the inner suite allows, this one must not forbid
def test_recording_allows_live_calls(suite: pytest.Pytester) -> None:
    forbid(suite)
    suite.makepyfile(test_live=LIVE)
    result = suite.runpytest("--swarm-record", "-k", "sync")
    result.stdout.no_fnmatch_line("*which this test run forbids*")


def test_settings_that_make_no_sense_are_refused(suite: pytest.Pytester) -> None:
    suite.makepyfile("def test_nothing(): pass")
    result = suite.runpytest("--swarm-record", "--swarm-no-live")
    result.stderr.fnmatch_lines(["*--swarm-record asks real models, which --swarm-no-live forbids*"])
    suite.makeini("[pytest]\nswarm_live_calls = never\n")
    suite.runpytest().stderr.fnmatch_lines(['*swarm_live_calls must be "allow" or "forbid", not \'never\'*'])


# The guard itself


@pytest.mark.parametrize("host", ["localhost", "models.localhost", "127.0.0.1", "127.9.9.9", "::1"])
def test_this_machine(host: str) -> None:
    assert is_here(host)


@pytest.mark.parametrize("host", ["api.openai.com", "localhost.example", "10.0.0.1", "::2", "192.168.0.1"])
def test_another_machine(host: str) -> None:
    assert not is_here(host)


def test_what_was_forbidden_can_be_allowed_again() -> None:
    before = (ChatClient._sync, ChatClient._async)  # type: ignore[reportPrivateUsage]
    allow = forbid_live_calls(lambda url: None)
    assert ChatClient._sync is not before[0]  # type: ignore[reportPrivateUsage]
    allow()
    assert (ChatClient._sync, ChatClient._async) == before  # type: ignore[reportPrivateUsage]


def test_this_suite_forbids_live_calls(pytestconfig: pytest.Config) -> None:
    assert pytestconfig.getini("swarm_live_calls") == "forbid"
    with pytest.raises(pytest.fail.Exception, match=r"in .*test_plugin.py::test_this_suite_forbids_live_calls: a call to the real model"):
        ChatClient("https://models.example/v1", "a-key").chat.completions.create(model="m", messages=[])


def test_the_plugin_is_in_the_package() -> None:
    from importlib.metadata import entry_points

    (point,) = [point for point in entry_points(group="pytest11") if point.name == "pytest_openswarm"]
    assert Path(str(sys.modules[point.value].__file__)).name == "pytest_openswarm.py"
