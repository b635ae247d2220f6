"""Tape as a policy: tools are recorded and replayed, with what they returned, who took over and what became of the variables."""

from __future__ import annotations

import functools
import json
import threading
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from swarm import Agent, File, Handoff, Image, Response, Result, Swarm, tool
from swarm.effects import CallModel, Reply
from swarm.errors import ToolError
from swarm.models.scripted import ScriptedModel, Turn, call
from swarm.testing import Tape, TapeError, assert_handoffs
from swarm.testing.tape.agents import find_agent
from swarm.tools import tool_of
from tests.modes import MODES, Drive


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "one.jsonl"


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def tools_of(path: Path) -> list[dict[str, Any]]:
    return [line for line in lines_of(path) if "tool" in line]


class Both:
    """Records a run, then replays it, each time as model and policy.

    Attributes:
        ran: how often a tool has run.
    """

    def __init__(self, drive: Drive, path: Path) -> None:
        self.drive = drive
        self.path = path
        self.ran = 0

    def __call__(self, agent: Agent, turns: Any, swarm: dict[str, Any] | None = None, **options: Any) -> tuple[Response, Response]:
        tapes = [Tape(self.path, ScriptedModel(turns), record=True), Tape(self.path)]
        given = [{**(swarm or {}), "policies": [tape]} for tape in tapes]
        recorded = self.drive(agent, "go", tapes[0], swarm=given[0], **options)
        before = self.ran
        with tapes[1]:
            replayed = self.drive(agent, "go", tapes[1], swarm=given[1], **options)
        assert self.ran == before, "a tool ran when the tape was replayed"
        assert replayed.messages == recorded.messages
        assert replayed.context_variables == recorded.context_variables
        assert replayed.agent is recorded.agent
        assert replayed.stop_reason == recorded.stop_reason
        assert replayed.handoffs == recorded.handoffs
        assert [(item.outcome, item.error) for item in replayed.calls] == [(item.outcome, item.error) for item in recorded.calls]
        return recorded, replayed


@pytest.fixture
def both(drive: Drive, path: Path) -> Both:
    return Both(drive, path)


other = Agent(name="Other")


def test_d53_a_call_is_replayed_with_its_result_and_the_variables_after_it(both: Both) -> None:
    def count(by: int, context_variables: dict[str, Any]) -> Result:
        """Count."""
        both.ran += 1
        context_variables["seen"].append(by)
        context_variables.pop("old", None)
        return Result(value={"by": by}, context_variables={"last": by})

    turns = [[call("count", {"by": 1}), call("count", {"by": 2})], call("count", {"by": 3}), "done"]
    recorded, _ = both(Agent(functions=[count]), turns, context_variables={"seen": [], "old": 1, "live": object})
    assert recorded.context_variables == {"seen": [1, 2, 3], "last": 3, "live": object}
    assert both.ran == 3
    assert tools_of(both.path)[0] == {
        "tool": "count",
        "call": "call_1",
        "arguments": {"by": 1},
        "text": '{"by":1}',
        "variables": {"last": 1},
        "context": {"seen": [1]},
        "removed": ["old"],
    }


def test_what_a_tool_lets_the_model_see_is_replayed(both: Both) -> None:
    def look(at: str) -> list[Any]:
        """Take a picture."""
        both.ran += 1
        return [f"a picture of {at}", Image(b"abc")]

    def fetch() -> Result:
        """Fetch the papers and hand over."""
        both.ran += 1
        return Result(value="the papers", agent=other, parts=[File(b"xyz", "application/pdf")])

    recorded, _ = both(Agent(functions=[look, fetch]), [[call("look", {"at": "the sea"}), call("fetch")], "seen"])
    assert both.ran == 2
    assert [part["type"] for part in recorded.messages[3]["content"]] == ["text", "image_url", "text", "file"]
    assert tools_of(both.path)[0]["parts"] == [{"type": "image_url", "image_url": {"url": "data:image/png;base64,YWJj"}}]


def test_a_secret_in_what_a_tool_lets_the_model_see_is_hidden(path: Path) -> None:
    def look() -> Result:
        """Look."""
        return Result(value="seen", parts=[{"type": "text", "text": "the key is sk-1234567890"}])

    agent = Agent(functions=[look])
    tape = Tape(path, ScriptedModel([call("look"), "done"]), record=True)
    Swarm(tape, policies=[tape]).run(agent, "go")
    assert "sk-1234567890" not in path.read_text(encoding="utf-8")
    with Tape(path) as again:
        assert Swarm(again, policies=[again]).run(agent, "go").messages[2]["content"][1]["text"] == "the key is [redacted]"


def test_a_handoff_is_replayed_by_name(both: Both) -> None:
    def to_other() -> Agent:
        """Hand over."""
        both.ran += 1
        return other

    def with_more() -> Result:
        """Hand back with more to say."""
        both.ran += 1
        return Result(value="Here you are.", agent=first, context_variables={"by": "other"})

    first = Agent(name="First", functions=[to_other])
    second = Agent(name="Second", functions=[with_more], handoffs=[Handoff(first, message="over")])
    recorded, replayed = both(first, [call("to_other"), "done"])
    assert_handoffs(replayed, ["First", "Other"])
    recorded, replayed = both(second, [call("with_more"), call("to_other"), "done"])
    assert recorded.messages[1]["content"] == "Here you are."
    recorded, replayed = both(second, [call("transfer_to_first"), "done"])
    assert replayed.messages[1]["content"] == "over"
    assert tools_of(both.path)[0]["next"] == "First"


def test_a_result_that_ends_the_run_is_replayed(both: Both) -> None:
    def finish() -> Result:
        """Finish."""
        both.ran += 1
        return Result(value={"total": 5}, stop=True)

    _, replayed = both(Agent(functions=[finish]), [call("finish")])
    assert (replayed.stop_reason, replayed.output) == ("stopped", {"total": 5})


def test_a_failure_is_replayed_as_the_model_was_told(both: Both) -> None:
    """T09, D41"""

    def fail(context_variables: dict[str, Any]) -> str:
        """Fail."""
        both.ran += 1
        context_variables["tried"] = True
        raise KeyError("no such order")

    def explain() -> str:
        """Explain."""
        raise ToolError("ask for the number first")

    def silent() -> str:
        """Fail without words."""
        raise ValueError

    @tool(timeout=0.001)
    def slow() -> str:
        """Take long."""
        time.sleep(0.2)
        return "late"

    turns = [[call("fail"), call("explain"), call("silent"), call("slow")], "done"]
    _, replayed = both(Agent(functions=[fail, explain, silent, slow]), turns)
    assert [message["content"] for message in replayed.messages[1:5]] == [
        "Error: KeyError: 'no such order'",
        "Error: ask for the number first",
        "Error: ValueError",
        "Error: timed out after 0.001 s",
    ]
    assert [item.outcome for item in replayed.calls] == ["error", "error", "error", "timed_out"]
    assert replayed.context_variables == {"tried": True}


def test_d53_calls_side_by_side_replay_in_any_order(both: Both) -> None:
    """The variables end as they did, whoever comes first."""

    turn = {word: threading.Event() for word in "abcd"}

    def note(word: str, after: str, context_variables: dict[str, Any]) -> str:
        """Note a word after another one."""
        both.ran += 1
        if after:
            turn[after].wait(5)
        context_variables["last"] = word
        turn[word].set()
        return word

    calls = [call("note", {"word": word, "after": after}) for word, after in ("db", "cd", "ac", "b ")]
    calls[3] = call("note", {"word": "b", "after": ""})
    recorded, _ = both(Agent(functions=[note]), [calls, "done"], swarm={"parallel_tools": True})
    assert recorded.context_variables == {"last": "a"}


def test_an_agent_used_as_a_tool_is_replayed_call_by_call(both: Both) -> None:
    """D45: its model and tool calls are on the tape, by the call they are inside."""

    def inner_tool(word: str) -> str:
        """Say a word."""
        both.ran += 1
        return word

    expert = Agent(name="Expert", functions=[inner_tool])
    outer = Agent(functions=[expert.as_tool()])

    class Model(ScriptedModel):
        """Answers by what is asked, since two experts ask at once."""

        def __init__(self) -> None:
            super().__init__([])

        def complete(self, call: CallModel) -> Reply:
            return ScriptedModel([self.turn(call)]).complete(call)

        def stream(self, call: CallModel) -> Any:
            return ScriptedModel([self.turn(call)]).stream(call)

        def turn(self, call: CallModel) -> Turn:
            return script.get(call.request["messages"][-1]["content"], script["done"])

    script = {
        "go": Turn(calls=[call("expert", {"input": "one"}, id="x"), call("expert", {"input": "two"}, id="y")]),
        "one": Turn(calls=[call("inner_tool", {"word": "first"})]),
        "two": Turn(calls=[call("inner_tool", {"word": "second"})]),
        "first": Turn("said first"),
        "second": Turn("said second"),
        "done": Turn("done"),
    }
    tapes = [Tape(both.path, Model(), record=True), Tape(both.path)]
    responses = [
        both.drive(outer, "go", tape, swarm={"policies": [tape], "parallel_tools": parallel})
        for tape, parallel in zip(tapes, (False, True), strict=True)
    ]
    tapes[1].assert_done()
    assert both.ran == 2
    assert responses[0].messages == responses[1].messages
    assert [message["content"] for message in responses[1].messages[1:3]] == ["said first", "said second"]
    within = [line.get("within") for line in lines_of(both.path) if "reply" in line or "chunks" in line]
    assert within == [None, "call_1", "call_1", "call_2", "call_2", None]
    assert [line["call"] for line in tools_of(both.path)] == ["call_1/call_3", "call_2/call_4"]


@pytest.mark.parametrize("other_mode", MODES)
def test_tools_replay_in_every_other_mode(drive: Drive, other_mode: str, path: Path) -> None:
    def say(word: str) -> str:
        """Say a word."""
        said.append(word)
        return word

    said: list[str] = []
    agent = Agent(functions=[say])
    tape = Tape(path, ScriptedModel([call("say", {"word": "a"}), "done"]), record=True)
    recorded = drive(agent, "go", tape, swarm={"policies": [tape]})
    with Tape(path) as again:
        replayed = Drive(other_mode)(agent, "go", again, swarm={"policies": [again]})
    assert said == ["a"]
    assert replayed.messages == recorded.messages


def test_without_the_policy_tools_run(drive: Drive, path: Path) -> None:
    def say(word: str) -> str:
        """Say a word."""
        said.append(word)
        return word

    said: list[str] = []
    agent = Agent(functions=[say])
    tape = Tape(path, ScriptedModel([call("say", {"word": "a"}), "done"]), record=True)
    drive(agent, "go", tape, swarm={"policies": [tape]})
    with Tape(path) as again:
        drive(agent, "go", again)
    assert said == ["a", "a"]


def test_a_call_that_may_not_run_is_not_recorded(drive: Drive, path: Path) -> None:
    """X09: what waits for a person waits in the replay too."""

    @tool(approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    agent = Agent(functions=[pay])
    tape = Tape(path, ScriptedModel([call("pay"), "done"]), record=True)
    paused = drive(agent, "go", tape, swarm={"policies": [tape]})
    assert paused.stop_reason == "approval"
    drive.resume(paused.state(), tape, swarm={"policies": [tape]}, approvals={"call_1": True})
    with Tape(path) as again:
        paused = drive(agent, "go", again, swarm={"policies": [again]})
        response = drive.resume(paused.state(), again, swarm={"policies": [again]}, approvals={"call_1": True})
    assert response.text == "done"
    assert [message["content"] for message in response.messages if message["role"] == "tool"] == ["paid"]


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (lambda variables: variables.__setitem__("connection", object()), "set the context variable 'connection' to a object"),
        (lambda _: Result(value="x", context_variables={"pair": (1, 2)}), "returned a Result with variables of a dict"),
        (lambda _: Result(value=object(), stop=True), "returned a Result with value of a object"),
    ],
)
def test_what_a_tape_cannot_hold_fails_the_recording(drive: Drive, path: Path, made: Callable[[Any], Any], why: str) -> None:
    def make(context_variables: dict[str, Any]) -> Any:
        """Make something."""
        return made(context_variables)

    tape = Tape(path, ScriptedModel([call("make"), "done"]), record=True)
    with pytest.raises(TapeError, match=why):
        drive(Agent(functions=[make]), "go", tape, swarm={"policies": [tape]})


def test_a_live_object_that_only_changed_inside_is_left_alone(both: Both) -> None:
    class Database(list[int]):
        pass

    def insert(context_variables: dict[str, Any]) -> str:
        """Insert."""
        context_variables["database"].append(1)
        return "inserted"

    both(Agent(functions=[insert]), [call("insert"), "done"], context_variables={"database": Database(), "pair": (1, 2)})


# Whom a function hands over to

module = types.ModuleType("module")
module.far = Agent(name="Far")  # type: ignore[attr-defined]
AGENTS = {"boxed": Agent(name="Boxed")}


def by_global() -> Agent:
    return other


def by_module() -> Agent:
    return module.far


def by_box() -> Agent:
    return AGENTS["boxed"]


def by_nested_function() -> Any:
    return next(inner() for inner in [lambda: other])


def by_default(agent: Any = other) -> Any:
    return agent


class Desk:
    def __init__(self) -> None:
        self.clerk = Agent(name="Clerk")
        self.more = [Agent(name="Listed")]

    def by_method(self) -> Agent:
        return self.clerk


def by_closure() -> Callable[[], Agent]:
    hidden = Agent(name="Hidden")

    @functools.wraps(by_global)
    def inner() -> Agent:
        return hidden

    return inner


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (by_global, "Other"),
        (by_module, "Far"),
        (by_box, "Boxed"),
        (by_nested_function, "Other"),
        (by_default, "Other"),
        (Desk().by_method, "Clerk"),
        (Desk().by_method, "Listed"),
        (by_closure(), "Hidden"),
        (functools.partial(by_default, agent=AGENTS["boxed"]), "Boxed"),
        (tool(by_module), "Far"),
    ],
)
def test_the_agent_is_found_where_a_function_names_it(function: Any, name: str) -> None:
    assert find_agent(name, tool_of(function), Agent()).name == name


def test_the_agent_is_found_among_those_the_caller_can_reach() -> None:
    def nameless() -> Any:
        return None

    far = Agent(name="Far")
    near = Agent(name="Near", handoffs=[Handoff(far)])
    assert find_agent("Far", tool_of(nameless), Agent(handoffs=[near])) is far


def test_an_agent_that_cannot_be_found_or_told_apart_is_an_error(drive: Drive, path: Path) -> None:
    def hidden() -> Any:
        """Hand over to an agent that is made on the spot."""
        return Agent(name="Made")

    tape = Tape(path, ScriptedModel([call("hidden"), "done"]), record=True)
    drive(Agent(functions=[hidden]), "go", tape, swarm={"policies": [tape]})
    again = Tape(path)
    with pytest.raises(TapeError, match=r"hidden handed over to 'Made', and no agent of that name can be found"):
        drive(Agent(functions=[hidden]), "go", again, swarm={"policies": [again]})
    twins = [Agent(name="Twin"), Agent(name="Twin")]

    def either() -> Any:
        return twins[0]

    with pytest.raises(TapeError, match="several agents are called so"):
        find_agent("Twin", tool_of(either), Agent())


def test_nothing_is_called_to_find_an_agent() -> None:
    def trap() -> Any:
        raise AssertionError("called")

    def asks() -> Any:
        return trap()

    with pytest.raises(TapeError):
        find_agent("Nobody", tool_of(asks), Agent(functions=[trap]))


# Two runs on one tape


def test_a_conversation_of_several_runs_is_one_tape(path: Path) -> None:
    def say(word: str) -> str:
        """Say a word."""
        return word

    agent = Agent(functions=[say])
    turns = [call("say", {"word": "a"}), "one", call("say", {"word": "a"}), "two"]
    texts: list[list[str]] = []
    for tape in (Tape(path, ScriptedModel(turns), record=True), Tape(path)):
        swarm = Swarm(tape, policies=[tape])
        first = swarm.run(agent, "go")
        history = [{"role": "user", "content": "go"}, *first.messages, {"role": "user", "content": "again"}]
        texts.append([first.text, swarm.run(agent, history).text])
        tape.assert_done()
    assert texts == [["one", "two"]] * 2
