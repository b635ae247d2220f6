"""Calls as models really make them, and results as functions really give them."""

from __future__ import annotations

import asyncio
import functools
import json
import logging
import threading
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from swarm import Agent, AsyncSwarm, RunInfo, Swarm, tool
from swarm.errors import ToolArgumentsError, ToolError, ToolNotFound
from swarm.events import Done, ToolDone
from swarm.models.scripted import ScriptedModel, call
from tests.clients import SHAPES, chunk, completion
from tests.look import is_valid, tool_texts
from tests.modes import Drive

HI = [{"role": "user", "content": "hi"}]


def fine() -> str:
    return "fine"


class RawArguments:
    """A client whose one call has arguments of any kind, not only text."""

    def __init__(self, name: str, arguments: Any, shape: str) -> None:
        entry = {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}
        message = {"role": "assistant", "content": None, "tool_calls": [entry]}
        delta = {**message, "tool_calls": [{**entry, "index": 0}]}
        done = {"role": "assistant", "content": "ok"}
        self._whole = [SHAPES[shape](completion(message, "tool_calls")), SHAPES[shape](completion(done))]
        self._chunks = [[SHAPES[shape](chunk(delta, "tool_calls"))], [SHAPES[shape](chunk(done, "stop"))]]
        self.requests: list[dict[str, Any]] = []
        self.chat = self.completions = self

    def create(self, **request: Any) -> Any:
        self.requests.append(request)
        return (self._chunks if request.get("stream") else self._whole).pop(0)


@pytest.mark.parametrize("broken", ['{"a": 1', '{"a": 1}}', "{'a': 1}", "a=1", '{"a": }'])
def test_broken_json(drive: Drive, broken: str) -> None:
    """T01, K11"""

    def take(a: int) -> str:
        return f"a={a}"

    response = drive(Agent(functions=[take]), HI, [[call("take", broken), call("take", {"a": 2})], "ok"])
    texts = tool_texts(response)
    assert texts[0].startswith("Error: ")
    assert "JSON" in texts[0]
    assert texts[1] == "a=2"
    assert response.text == "ok"
    sent = drive.requests[1]["messages"][2]["tool_calls"][0]["function"]["arguments"]
    assert sent == broken, "the model sees what it wrote"


@pytest.mark.parametrize("shape", ["namespace", "dict"])
@pytest.mark.parametrize("arguments", ["", "   ", None, "null", {}, "{}"])
def test_no_arguments_in_every_spelling(drive: Drive, arguments: Any, shape: str) -> None:
    """T02, T03, T04, K12"""
    client = RawArguments("fine", arguments, shape)
    response = drive(Agent(functions=[fine]), HI, client)
    assert tool_texts(response) == ["fine"]
    assert isinstance(client.requests[1]["messages"][2]["tool_calls"][0]["function"]["arguments"], str)


@pytest.mark.parametrize("shape", ["namespace", "dict"])
def test_arguments_that_are_an_object_already(drive: Drive, shape: str) -> None:
    """T06"""

    def take(a: int, city: str) -> str:
        return f"{a} {city}"

    client: Any = RawArguments("take", {"a": 1, "city": "Zürich 'x'"}, "dict")
    if shape == "namespace":
        client = RawArguments("take", '{"a": 1, "city": "Zürich \'x\'"}', "namespace")
        for holder in (client._whole[0].choices[0].message, client._chunks[0][0].choices[0].delta):
            holder.tool_calls[0].function.arguments = {"a": 1, "city": "Zürich 'x'"}
    response = drive(Agent(functions=[take]), HI, client)
    assert tool_texts(response) == ["1 Zürich 'x'"]
    sent = client.requests[1]["messages"][2]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(sent) == {"a": 1, "city": "Zürich 'x'"}


def test_invented_argument_names(drive: Drive) -> None:
    """T08"""

    def close(reason: str, note: str = "") -> str:
        return "closed"

    response = drive(Agent(functions=[close]), HI, [call("close", {"reason": "x", "id": 7}), call("close", {"reason": "x"}), "ok"])
    first, second = tool_texts(response)
    assert first.startswith("Error: ")
    assert all(word in first for word in ("id", "reason", "note"))
    assert second == "closed"


def test_an_exception_is_told_and_the_model_tries_again(drive: Drive) -> None:
    """T09"""

    def weather(city: str) -> str:
        if city != "Graz":
            raise ValueError("bad city")
        return "warm"

    response = drive(Agent(functions=[weather]), HI, [call("weather", {"city": "Gratz"}), call("weather", {"city": "Graz"}), "ok"])
    first, second = tool_texts(response)
    assert "bad city" in first
    assert second == "warm"
    assert drive.requests[1]["messages"][-1]["content"] == first


def fail() -> str:
    raise ValueError("password=hunter2")


def test_errors_may_be_raised_instead(drive: Drive) -> None:
    """T09, D23, D41: after the whole batch, with the response so far."""
    turns = [call("fine"), [call("fail"), call("fine")], "never"]
    with pytest.raises(ValueError, match="hunter2") as caught:
        drive(Agent(functions=[fine, fail]), HI, turns, swarm={"tool_errors": "raise"})
    response = caught.value.response  # type: ignore[attr-defined]
    assert [message["role"] for message in response.messages] == ["assistant", "tool", "assistant", "tool", "tool"]
    assert is_valid(response.messages)
    assert [made.outcome for made in response.calls] == ["ok", "error", "ok"]
    assert "in fail" in "".join(__import__("traceback").format_exception(caught.value)), "the user's own line is in the traceback"


@pytest.mark.parametrize(
    ("made", "kind"),
    [(call("nothing"), ToolNotFound), (call("fine", {"x": 1}), ToolArgumentsError), (call("fine", "{"), ToolArgumentsError)],
)
def test_wrong_calls_may_be_raised_too(drive: Drive, made: Any, kind: type[ToolError]) -> None:
    """T09, D23"""
    with pytest.raises(kind) as caught:
        drive(Agent(functions=[fine]), HI, [made, "never"], swarm={"tool_errors": "raise"})
    assert caught.value.response is not None


def test_another_value_of_tool_errors_is_refused() -> None:
    """D23"""
    for kind in (Swarm, AsyncSwarm):
        with pytest.raises(ValueError, match="tool_errors"):
            kind(ScriptedModel([]), tool_errors="ignore")


def test_error_texts_can_be_redacted(drive: Drive, caplog: pytest.LogCaptureFixture) -> None:
    """T10"""
    got: list[Any] = []

    def redact(value: Any) -> str:
        got.append(value)
        return f"{type(value).__name__} in a tool"

    with caplog.at_level(logging.INFO, logger="swarm"):
        response = drive(Agent(functions=[fail]), HI, [call("fail"), "ok"], swarm={"redact": redact})
    assert tool_texts(response) == ["Error: ValueError in a tool"]
    assert isinstance(got[0], ValueError)
    assert "hunter2" not in json.dumps(drive.requests[1]["messages"])
    assert "hunter2" not in caplog.text
    assert response.calls[0].error == "ValueError in a tool"


def test_no_text_holds_a_traceback(drive: Drive, caplog: pytest.LogCaptureFixture) -> None:
    """T10"""

    def deep() -> str:
        try:
            fail()
        except ValueError as error:
            raise RuntimeError("outer") from error
        return "never"

    with caplog.at_level(logging.INFO, logger="swarm"):
        response = drive(Agent(functions=[deep]), HI, [call("deep"), "ok"])
    assert tool_texts(response) == ["Error: RuntimeError: outer"]
    assert caplog.text == ""


def test_failures_are_marked_for_machines(drive: Drive) -> None:
    """T11"""
    turns = [[call("fail"), call("fine"), call("nothing"), call("fine", {"x": 1})], "all good"]
    events = drive.events(Agent(name="A", functions=[fail, fine]), HI, turns)
    response = next(event.response for event in events if isinstance(event, Done))
    assert [(made.name, made.outcome, made.error is None, made.agent) for made in response.calls] == [
        ("fail", "error", False, "A"),
        ("fine", "ok", True, "A"),
        ("nothing", "error", False, "A"),
        ("fine", "error", False, "A"),
    ]
    assert [event.call.outcome for event in events if isinstance(event, ToolDone)] == ["error", "ok", "error", "error"]
    assert response.stop_reason == "complete"


def test_an_unknown_tool_lists_those_there_are(drive: Drive) -> None:
    """T12"""

    def generic_command() -> str:
        return "done"

    agent = Agent(functions=[generic_command, fine])
    response = drive(agent, HI, [call("generic_comand")] * 3 + ["never"], max_turns=5)
    assert set(tool_texts(response)) == {
        "Error: Tool generic_comand not found. Did you mean generic_command? Available tools: generic_command, fine."
    }
    assert response.stop_reason == "max_turns"
    assert len(drive.requests) == 3


def test_an_unknown_tool_of_an_agent_without_any(drive: Drive) -> None:
    """T12, H14"""
    response = drive(Agent(), HI, [call("search"), "ok"])
    assert tool_texts(response)[0].startswith("Error: Tool search not found. Available tools: none")


def test_nothing_is_some_text(drive: Drive) -> None:
    """T16"""

    def nothing() -> None:
        return None

    response = drive(Agent(functions=[nothing]), HI, [call("nothing"), "ok"])
    assert tool_texts(response) == ["None"]
    assert drive.requests[1]["messages"][-1]["content"] == "None"


class City(BaseModel):
    city: str
    tags: list[str] = []


@dataclass
class Place:
    city: str
    tags: list[str]


@pytest.mark.parametrize("value", [{"city": "東京", "tags": ["é"]}, City(city="東京", tags=["é"]), Place("東京", ["é"])])
def test_the_same_data_is_the_same_readable_text(drive: Drive, value: Any) -> None:
    """T17, T18"""

    def give() -> Any:
        return value

    response = drive(Agent(functions=[give]), HI, [call("give"), "ok"])
    assert tool_texts(response) == ['{"city":"東京","tags":["é"]}']


def test_json_with_odd_things_inside(drive: Drive) -> None:
    """T17"""

    class Odd:
        def __str__(self) -> str:
            return "odd"

    def give() -> Any:
        return {"ok": True, "odd": Odd(), "n": [1, 2]}

    assert json.loads(tool_texts(drive(Agent(functions=[give]), HI, [call("give"), "ok"]))[0]) == {"ok": True, "odd": "odd", "n": [1, 2]}


# Async functions


async def later(text: str = "x") -> str:
    await asyncio.sleep(0)
    return text


class Later:
    async def method(self, text: str = "x") -> str:
        return await later(text)

    async def __call__(self, text: str = "x") -> str:
        return await later(text)


def gives_a_coroutine(text: str = "x") -> Any:
    return later(text)


@functools.wraps(later)
def wrapped(*args: Any, **kwargs: Any) -> Any:
    return later(*args, **kwargs)


@pytest.mark.parametrize(
    "function",
    [
        later,
        functools.partial(later, text="x"),
        Later().method,
        Later(),
        gives_a_coroutine,
        wrapped,
        tool(later, name="other"),
        tool(later, timeout=5),
        tool(later, inline=True),
    ],
)
def test_async_functions_are_awaited(drive: Drive, function: Any) -> None:
    """T19"""
    agent = Agent(functions=[function])
    drive(agent, HI, ["ok"])
    name = drive.requests[0]["tools"][0]["function"]["name"]
    response = drive(agent, HI, [[call(name), call(name)], "ok"])
    assert tool_texts(response) == ["x", "x"]


def test_an_async_function_may_hand_off_and_fail(drive: Drive) -> None:
    """T19"""
    b = Agent(name="B")

    async def to_b() -> Agent:
        return b

    async def fail_later() -> str:
        raise ValueError("late")

    response = drive(Agent(functions=[to_b, fail_later]), HI, [[call("fail_later"), call("to_b")], "ok"])
    assert response.agent is b
    assert tool_texts(response)[0] == "Error: ValueError: late"


def test_a_sync_run_works_inside_a_running_loop() -> None:
    """T19, X01"""

    async def main() -> list[str]:
        return tool_texts(Swarm(ScriptedModel([call("later"), "ok"])).run(Agent(functions=[later]), HI))

    assert asyncio.run(main()) == ["x"]


# Blocking functions under asyncio


@pytest.mark.parametrize("stream", [False, True])
def test_a_blocking_function_does_not_stop_the_loop(stream: bool) -> None:
    """T20: each blocking call waits for a task of the same event loop."""
    beat = threading.Event()

    def block() -> str:
        return "free" if beat.wait(20) else "blocked"

    async def heart() -> None:
        await asyncio.sleep(0.01)
        beat.set()

    async def main() -> list[str]:
        swarm = AsyncSwarm(ScriptedModel([call("block"), "ok"]))
        task = asyncio.create_task(heart())
        if stream:
            items = [item async for item in swarm.run(Agent(functions=[block]), HI, stream=True)]
            response = items[-1]["response"]
        else:
            response = await swarm.run(Agent(functions=[block]), HI)
        await task
        return tool_texts(response)

    assert asyncio.run(main()) == ["free"]


@pytest.mark.parametrize("parallel", [True, 2, 5])
def test_calls_run_side_by_side_if_asked(drive: Drive, parallel: Any) -> None:
    """T20, X08: two calls wait for each other, so one after the other would fail."""
    together = threading.Barrier(2)

    def meet(name: str) -> str:
        together.wait(20)
        return name

    response = drive(
        Agent(functions=[meet]), HI, [[call("meet", {"name": "a"}), call("meet", {"name": "b"})], "ok"], swarm={"parallel_tools": parallel}
    )
    assert tool_texts(response) == ["a", "b"]


def test_async_calls_run_side_by_side_if_asked(drive: Drive) -> None:
    """T20, X08"""
    seen: dict[str, asyncio.Event] = {}

    async def meet(name: str, other: str) -> str:
        seen.setdefault(name, asyncio.Event()).set()
        while other not in seen:
            await asyncio.sleep(0)
        return name

    calls = [call("meet", {"name": "a", "other": "b"}), call("meet", {"name": "b", "other": "a"})]
    response = drive(Agent(functions=[meet]), HI, [calls, "ok"], swarm={"parallel_tools": True})
    assert tool_texts(response) == ["a", "b"]


def test_by_default_calls_run_one_after_the_other(drive: Drive) -> None:
    """X08"""
    running = 0
    most = 0

    def count() -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        running -= 1
        return "ok"

    drive(Agent(functions=[count]), HI, [[call("count")] * 5, "ok"])
    assert most == 1


USER: ContextVar[str] = ContextVar("USER", default="nobody")


def who() -> str:
    return USER.get()


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("function", [who, tool(who, timeout=5), tool(who, inline=True)])
def test_context_of_the_caller_is_seen_inside(drive: Drive, function: Any, parallel: bool) -> None:
    """T20, D15"""
    token = USER.set("Ann")
    try:
        response = drive(Agent(functions=[function]), HI, [[call("who"), call("who")], "ok"], swarm={"parallel_tools": parallel})
    finally:
        USER.reset(token)
    assert tool_texts(response) == ["Ann", "Ann"]


# Typed arguments


def typed(n: int = 0, b: bool = False, d: dict | None = None, f: float = 0.0, s: str = "", items: list[int] | None = None) -> str:  # type: ignore[type-arg]
    return repr((n, b, d, f, s, items))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"n": "42"}, (42, False, None, 0.0, "", None)),
        ({"n": 42.0}, (42, False, None, 0.0, "", None)),
        ({"b": "true"}, (0, True, None, 0.0, "", None)),
        ({"b": "false"}, (0, False, None, 0.0, "", None)),
        ({"d": '{"k":1}'}, (0, False, {"k": 1}, 0.0, "", None)),
        ({"f": "1.5"}, (0, False, None, 1.5, "", None)),
        ({"f": 2}, (0, False, None, 2.0, "", None)),
        ({"s": 5}, (0, False, None, 0.0, "5", None)),
        ({"items": "[1, 2]"}, (0, False, None, 0.0, "", [1, 2])),
        ({"items": ["1", 2]}, (0, False, None, 0.0, "", [1, 2])),
    ],
)
def test_what_models_nearly_get_right(drive: Drive, arguments: Any, expected: Any) -> None:
    """T21"""
    assert tool_texts(drive(Agent(functions=[typed]), HI, [call("typed", arguments), "ok"])) == [repr(expected)]


@pytest.mark.parametrize(
    "arguments", [{"n": "3.14"}, {"n": "abc"}, {"n": 3.14}, {"b": "maybe"}, {"d": "text"}, {"items": "1, 2"}, {"f": "x"}]
)
def test_what_does_not_fit_exactly_is_told(drive: Drive, arguments: Any) -> None:
    """T21"""
    text = tool_texts(drive(Agent(functions=[typed]), HI, [call("typed", arguments), "ok"]))[0]
    assert text.startswith("Error: ")
    assert next(iter(arguments)) in text


class Add(BaseModel):
    x: int
    y: int = 1


@dataclass
class Sub:
    x: int


def calculate(one: Add, many: list[Add], maybe: Add | None = None, sub: Sub | None = None) -> str:
    assert isinstance(one, Add)
    assert all(isinstance(item, Add) for item in many)
    return f"{one.x + one.y} {[item.x for item in many]} {maybe and maybe.y} {sub and sub.x}"


def test_models_and_dataclasses_arrive_as_such(drive: Drive) -> None:
    """T22"""
    good = {"one": {"x": 1}, "many": [{"x": 2}, {"x": "3", "y": 4}], "maybe": {"x": 1, "y": 5}, "sub": {"x": 6}}
    turns = [
        [call("calculate", good), call("calculate", {"one": {"y": 1}, "many": []}), call("calculate", {"one": {"x": 1}, "many": []})],
        "ok",
    ]
    first, second, third = tool_texts(drive(Agent(functions=[calculate]), HI, turns))
    assert first == "2 [2, 3] 5 6"
    assert second.startswith("Error: ")
    assert "one.x" in second
    assert third == "2 [] None None"


class Color(Enum):
    RED = 1
    BLUE = "blue"


def paint(color: Color, size: Literal["s", "m"] = "s") -> str:
    return f"{color is Color.RED} {color is Color.BLUE} {size}"


def test_enum_members_arrive_as_such(drive: Drive) -> None:
    """T23"""
    turns = [[call("paint", {"color": 1}), call("paint", {"color": "blue", "size": "m"}), call("paint", {"color": "green"})], "ok"]
    texts = tool_texts(drive(Agent(functions=[paint]), HI, turns))
    assert texts[:2] == ["True False s", "False True m"]
    assert texts[2].startswith("Error: ")
    properties = drive.requests[0]["tools"][0]["function"]["parameters"]["properties"]
    assert properties["color"]["enum"] == [1, "blue"]
    assert properties["size"]["enum"] == ["s", "m"]


def test_content_that_is_none(drive: Drive) -> None:
    """T24"""
    response = drive(Agent(functions=[fine]), HI, [call("fine")], max_turns=1)
    assert response.messages[0]["content"] is None
    assert response.text == ""
    history = [*HI, *response.messages, {"role": "assistant", "content": None}, *HI]
    assert drive(Agent(functions=[fine]), history, ["ok"]).text == "ok"


def test_what_a_run_tells_a_function(drive: Drive) -> None:
    """D18, L10"""

    def look(run: RunInfo) -> str:
        return f"{run.agent.name} turn {run.turn} call {run.call_id} {run.used['tool_calls']} {run.cancelled}"

    response = drive(Agent(name="A", functions=[fine, look]), HI, [call("fine"), call("look", id="c9"), "ok"])
    assert tool_texts(response)[1] == "A turn 2 call c9 2 False"
    assert drive.requests[0]["tools"][1]["function"]["parameters"]["properties"] == {}
