"""The conformance suites pass for what is right, and each of their rules fails for something that breaks it."""

from __future__ import annotations

import functools
import itertools
import unittest
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from swarm import Agent, ChatClient, OfflineModel, Refuse, Response, Swarm
from swarm.calls import Outcome
from swarm.effects import Call, CallModel, CallTool, Emit, Flow, HandOff, Now, Reply, Sleep, StartRun
from swarm.errors import Cancelled, ServerError, SwarmError, TransientError
from swarm.events import Done, PolicyActed
from swarm.models.scripted import ScriptedModel, Turn, call
from swarm.testing import Tape
from swarm.testing.conformance import FailureConformance, ModelConformance, PolicyConformance, ToolCallConformance
from tests.clients import ForeignClient, chunk, served
from tests.loopback import Loopback

MANY = ["Hello there."] * 9
CALLS = [call("get_weather", {"city": "Paris"}), "It is sunny."]

# What is right: models


class TestScriptedModel(ModelConformance):
    def make(self) -> Any:
        return ScriptedModel(MANY)


class TestScriptedCalls(ToolCallConformance):
    def make(self) -> Any:
        return ScriptedModel(CALLS)


class TestScriptedFailure(FailureConformance):
    def make(self) -> Any:
        return ScriptedModel([Turn(error=ServerError("503: busy", status=503))])


@functools.cache
def offline() -> OfflineModel:
    """One for all, since it keeps nothing between requests and reads its vectors once."""
    return OfflineModel()


class TestOfflineModel(ModelConformance):
    def make(self) -> Any:
        return offline()


class TestOfflineCalls(ToolCallConformance):
    def make(self) -> Any:
        return offline()


class Served:
    """Clients of a server on loopback, which stops with the test."""

    servers: list[Loopback]

    @pytest.fixture(autouse=True)
    def stop_servers(self) -> Iterator[None]:
        self.servers = []
        yield
        for server in self.servers:
            server.__exit__(None, None, None)

    def client(self, turns: Any) -> ChatClient:
        self.servers.append(Loopback(served(turns)).__enter__())
        return ChatClient(self.servers[-1].url)


class TestChatClient(Served, ModelConformance):
    def make(self) -> Any:
        return self.client(MANY)


class TestChatClientCalls(Served, ToolCallConformance):
    def make(self) -> Any:
        return self.client(CALLS)


class TestChatClientFailure(FailureConformance):
    def make(self) -> Any:
        return ChatClient("http://127.0.0.1:9/v1")


class TestForeignClient(ModelConformance):
    def make(self) -> Any:
        return ForeignClient(MANY, "openai")


class TestForeignAsyncClient(ModelConformance):
    def make(self) -> Any:
        return ForeignClient(MANY, "namespace", is_async=True)


class TestForeignCalls(ToolCallConformance):
    def make(self) -> Any:
        return ForeignClient(CALLS, "openai", is_async=True)


class TestForeignFailure(FailureConformance):
    def make(self) -> Any:
        return ForeignClient([Turn(error=ConnectionError("refused"))])


class OnTape:
    """Tapes that record, each in a file of its own."""

    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path) -> None:
        self.paths = (tmp_path / f"{number}.jsonl" for number in itertools.count())

    def recorder(self, turns: Any) -> Tape:
        return Tape(next(self.paths), ScriptedModel(turns), record=True)


class TestRecordingTape(OnTape, ModelConformance):
    def make(self) -> Any:
        return self.recorder(MANY)


class TestTape(OnTape, ModelConformance):
    def make(self) -> Any:
        """A tape on which the one request was recorded many times, and that of a run."""
        tape = self.recorder(MANY)
        for _ in range(8):
            self.asked("sync", tape)
        Swarm(tape).run(self.agent, self.text)
        return Tape(tape.path)


class TestTapeCalls(OnTape, ToolCallConformance):
    def make(self) -> Any:
        tape = self.recorder([*CALLS, *CALLS])
        Swarm(tape).run(self.agent, self.text)
        self.asked("sync", tape)
        return Tape(tape.path)


class TestTapeFailure(OnTape, FailureConformance):
    def make(self) -> Any:
        return self.recorder([Turn(error=ServerError("503: busy", status=503))])


class TestModelOfChance(ModelConformance):
    """One that never answers alike."""

    is_deterministic = False
    numbers = itertools.count()

    def make(self) -> Any:
        return ScriptedModel([f"Hello {next(self.numbers)}." for _ in MANY])


class TestCallsOfChance(ToolCallConformance):
    is_deterministic = False
    numbers = itertools.count()

    def make(self) -> Any:
        return ScriptedModel([call("get_weather", {"city": f"{next(self.numbers)}"}), "It is sunny."])


# What is right: policies


class Watching:
    """Every hook, passing everything on and telling of it."""

    def _pass(self, effect: Any) -> Flow:
        yield Now()
        return (yield effect)

    def run(self, effect: StartRun) -> Flow:
        return (yield from self._pass(effect))

    def model(self, effect: CallModel) -> Flow:
        effect.run.state(self).setdefault("calls", 0)  # type: ignore[union-attr]
        yield Emit(PolicyActed(effect.agent.name, "Watching", "saw", "a call"))
        return (yield from self._pass(effect))

    def tool(self, effect: CallTool) -> Flow:
        try:
            return (yield from self._pass(effect))
        except Cancelled:
            yield Call(print, ("tidied up",))
            raise

    def handoff(self, effect: HandOff) -> Flow:
        return (yield from self._pass(effect))

    def event(self, effect: Emit) -> Flow:
        return (yield effect)


class Retry:
    def model(self, effect: CallModel) -> Flow:
        for _ in range(3):
            try:
                return (yield effect)
            except TransientError:
                yield Sleep(0)
        return (yield effect)


class Colder:
    def model(self, effect: CallModel) -> Flow:
        return (yield effect.replace(request={**effect.request, "temperature": 0}))


class NoSecond:
    def handoff(self, effect: HandOff) -> Flow:
        return Refuse("stay here")
        yield


class Once:
    """Answers a repeated call from memory of the run."""

    def tool(self, effect: CallTool) -> Flow:
        memory = effect.run.state(self)
        key = str(effect.arguments)
        if key not in memory:
            value = yield effect
            if isinstance(value, Outcome):
                return value
            memory[key] = value
        return memory[key]


class TestWatching(PolicyConformance):
    def make(self) -> Any:
        return Watching()


class TestRetry(PolicyConformance):
    def make(self) -> Any:
        return Retry()


class TestColder(PolicyConformance):
    def make(self) -> Any:
        return Colder()


class TestNoSecond(PolicyConformance):
    def make(self) -> Any:
        return NoSecond()


class TestOnce(PolicyConformance):
    def make(self) -> Any:
        return Once()


class TestTapeAsPolicy(OnTape, PolicyConformance):
    def make(self) -> Any:
        return self.recorder([])


# What is wrong: models


class Model:
    """A model that is right, with a text; what is wrong about it is added below."""

    blocking = False
    reply: Any = None

    def __init__(self, **wrong: Any) -> None:
        self.message = {"role": "assistant", "content": "Hello"}
        self.reason: Any = "stop"
        self.usage: Any = None
        self.pieces: list[Any] = [chunk({"content": "Hel"}), chunk({"content": "lo"}), chunk({}, "stop")]
        self.__dict__.update(wrong)

    def complete(self, call: CallModel) -> Any:
        return Reply(self.message, self.usage, self.reason)

    def stream(self, call: CallModel) -> Any:
        yield from self.pieces


class NoReply(Model):
    def complete(self, call: CallModel) -> Any:
        return "Hello"


class ChangesRequest(Model):
    def complete(self, call: CallModel) -> Any:
        call.request["messages"].append({})
        return super().complete(call)


class ChangesRequestInStream(Model):
    def stream(self, call: CallModel) -> Any:
        call.request["messages"][0]["name"] = "x"
        yield from self.pieces


class OneChunkForAll(Model):
    def stream(self, call: CallModel) -> Any:
        mine: dict[str, Any] = {}
        for piece in self.pieces:
            mine.clear()
            mine.update(piece)
            yield mine


class CannotBeClosed(Model):
    def stream(self, call: CallModel) -> Any:
        class Chunks:
            pieces = iter(self.pieces)

            def __iter__(self) -> Any:
                return self

            def __next__(self) -> Any:
                return next(self.pieces)

            async def aclose(self) -> None:
                raise OSError("already gone")

        return Chunks()


class OnceOnly(Model):
    open = False

    def complete(self, call: CallModel) -> Any:
        return Reply({"role": "assistant", "content": "" if self.open else "Hello"}, None, "stop")

    def stream(self, call: CallModel) -> Any:
        self.open = True
        yield from self.pieces
        self.open = False


class OneAtATime(Model):
    calls = 0

    def complete(self, call: CallModel) -> Any:
        self.calls += 1
        return Reply({"role": "assistant", "content": "Hello" if self.calls == 1 else ""}, None, "stop")


class KnowsHowItIsAsked(Model):
    async def acomplete(self, call: CallModel) -> Any:
        return Reply({"role": "assistant", "content": "Ahoy"}, None, "stop")


class NotInRuns(Model):
    """Says something else when a run asks, which has instructions."""

    def complete(self, call: CallModel) -> Any:
        if call.request["messages"][0]["role"] == "system":
            return Reply({"role": "assistant", "content": "Hell"}, None, "length")
        return super().complete(call)


class OtherInRuns(Model):
    def complete(self, call: CallModel) -> Any:
        is_run = call.request["messages"][0]["role"] == "system"
        return Reply({"role": "assistant", "content": "Ahoy" if is_run else "Hello"}, None, "stop")


MODEL_FAULTS: dict[str, list[tuple[Any, str]]] = {
    "test_it_is_a_model_or_a_client": [(object, "takes it as its client"), (lambda: "gpt-4o", "no client")],
    "test_complete_gives_a_whole_reply": [
        (NoReply, "returns a swarm.effects.Reply"),
        (lambda: Model(message="Hello"), "is a dict"),
        (lambda: Model(message={"role": "assistant", "content": "a", "x": object()}), "plain JSON"),
        (lambda: Model(message={"role": "user", "content": "a"}), 'role "assistant"'),
        (lambda: Model(message={"role": "assistant", "content": 7}), "a text, a list of parts or null"),
        (lambda: Model(message={"role": "assistant", "content": None}), "answered with a text"),
        (lambda: Model(message={"role": "assistant", "content": "a", "tool_calls": {}}), "tool_calls is a list"),
        (lambda: Model(reason=7), "finish_reason is a text or None"),
        (lambda: Model(usage=[1]), "usage is a dict"),
        (lambda: Model(usage={"prompt_tokens": "7"}), "whole number of tokens"),
        (lambda: Model(usage={"completion_tokens": -7}), "whole number of tokens"),
    ],
    "test_stream_gives_chunks": [
        (lambda: Model(pieces=[]), "gives the answer in chunks"),
        (lambda: Model(pieces=["Hello"]), "Each chunk is a dict"),
        (lambda: Model(pieces=[{"choices": [], "x": object()}]), "Chunks are plain JSON"),
        (lambda: Model(pieces=[{"text": "Hello"}]), "has a list of choices"),
        (lambda: Model(pieces=[chunk({}, "stop")]), "answered with a text"),
        (lambda: Model(pieces=[chunk({"content": "Hello"})]), "has a finish_reason"),
        (lambda: Model(pieces=[chunk({"content": "a"}, "stop", usage={"prompt_tokens": 1.5})]), "whole number of tokens"),
    ],
    "test_a_stream_says_what_a_whole_reply_says": [
        (lambda: Model(pieces=[chunk({"content": "Hell"}, "stop")]), "answered alike"),
        (lambda: Model(pieces=[chunk({"content": "Hello"}, "length")]), "answered alike"),
        (KnowsHowItIsAsked, "answered alike"),
    ],
    "test_a_request_is_left_as_it_is": [(ChangesRequest, "does not change the request"), (ChangesRequestInStream, "does not change")],
    "test_a_chunk_is_left_as_it_was": [(OneChunkForAll, "is not changed after it was handed out")],
    "test_a_stream_can_be_closed_early": [(CannotBeClosed, "can be closed after its first chunk"), (OnceOnly, "asked again")],
    "test_calls_may_overlap": [(OneAtATime, "may overlap")],
    "test_a_run_works_in_every_mode": [
        (NotInRuns, "is complete"),
        (OtherInRuns, "the same text in every mode"),
        (lambda: Model(message={"role": "assistant", "content": ""}), "has the text of the answer"),
    ],
}


def made(*arguments: Any, id: Any = "a", name: str = "get_weather", kind: str = "function") -> dict[str, Any]:
    """A message with a call for each of the arguments."""
    calls = [{"id": id, "type": kind, "function": {"name": name, "arguments": text}} for text in arguments]
    return {"role": "assistant", "content": None, "tool_calls": calls}


CITY = '{"city": "Paris"}'


def as_stream(message: dict[str, Any]) -> list[Any]:
    calls = [{"index": index, **entry} for index, entry in enumerate(message["tool_calls"])]
    return [chunk({"role": "assistant", "tool_calls": calls}, "tool_calls")]


CALL_FAULTS: dict[str, list[tuple[Any, str]]] = {
    "test_a_whole_reply_has_whole_calls": [
        (Model, "answered with one"),
        (lambda: Model(message=made(CITY, id="")), "Each call has an id"),
        (lambda: Model(message=made(CITY, id=7)), "Each call has an id"),
        (lambda: Model(message=made(CITY, CITY)), "the same id"),
        (lambda: Model(message=made(CITY, kind="custom")), 'has the type "function"'),
        (lambda: Model(message=made(CITY, name="fly")), "names a function that was offered"),
        (lambda: Model(message=made({"city": "Paris"})), "are JSON text"),
        (lambda: Model(message=made("{city")), "text of a JSON object"),
        (lambda: Model(message=made('["Paris"]')), "text of a JSON object"),
    ],
    "test_a_streamed_reply_has_whole_calls": [
        (Model, "answered with one"),
        (lambda: Model(pieces=as_stream(made('{"city": '))), "text of a JSON object"),
        (lambda: Model(pieces=as_stream(made(CITY, id=""))), "Each call has an id"),
    ],
    "test_a_stream_makes_the_same_calls": [
        (lambda: Model(message=made(CITY), pieces=as_stream(made('{"city": "Rome"}'))), "answered with the same calls"),
    ],
    "test_a_run_calls_the_function": [
        (Model, "expected a call of get_weather"),
        (lambda: ScriptedModel([call("get_weather", {"city": "Paris"}), ""]), "ends with the text"),
    ],
}


class Fails(Model):
    error: Any = None

    def complete(self, call: CallModel) -> Any:
        raise self.error

    def stream(self, call: CallModel) -> Any:
        raise self.error
        yield


FAILURE_FAULTS: dict[str, list[tuple[Any, str]]] = {
    "test_complete_raises_a_model_error": [
        (Model, "cannot answer raises"),
        (lambda: Fails(error=OSError("gone")), "raises a swarm.errors.ModelError"),
        (lambda: Fails(error=ServerError("")), "says what went wrong"),
    ],
    "test_stream_raises_a_model_error": [
        (Model, "cannot answer raises"),
        (lambda: Fails(error=OSError("gone")), "raises a swarm.errors.ModelError"),
    ],
    "test_a_run_raises_it_with_what_was_done": [
        (Model, "cannot answer raises"),
        (lambda: Fails(error=Forgets("503: busy")), "carries the response so far"),
    ],
}


class Forgets(ServerError):
    """Does not let itself be told the response."""

    response = property(lambda self: None, lambda self, value: None)  # type: ignore[assignment]


# What is wrong: policies

Hook = Generator[Any, Any, Any]


class NoGenerator:
    def model(self, effect: CallModel) -> Any:
        return Reply({"role": "assistant", "content": "x"})


class KnowsTheMode:
    def model(self, effect: CallModel) -> Hook:
        reply = yield effect
        if effect.stream:
            return Reply({**reply.message, "content": "streamed"}, None, reply.finish_reason)
        return reply


class SecondTimeOtherwise:
    """Keeps on the instance what belongs to a run."""

    def __init__(self) -> None:
        self.calls = 0

    def model(self, effect: CallModel) -> Hook:
        self.calls += 1
        reply = yield effect
        return reply if self.calls <= 4 else Reply({"role": "assistant", "content": "enough"}, None, "stop")


class CountsPerRunButNotTwo:
    """Forgets at the end of a run, so only runs that overlap meet."""

    def __init__(self) -> None:
        self.calls = 0

    def run(self, effect: StartRun) -> Hook:
        response = yield effect
        self.calls = 0
        return response

    def model(self, effect: CallModel) -> Hook:
        self.calls += 1
        reply = yield effect
        return reply if self.calls <= 4 else Reply({"role": "assistant", "content": "enough"}, None, "stop")


class HidesEvents:
    def event(self, effect: Emit) -> Hook:
        if not isinstance(effect.event, Done):
            return (yield effect)
        return None


class BreaksHistory:
    def run(self, effect: StartRun) -> Hook:
        response = yield effect
        response.messages[:] = [message for message in response.messages if message["role"] != "tool"]
        return response


class SwallowsTheEnd:
    def run(self, effect: StartRun) -> Hook:
        try:
            return (yield effect)
        except BaseException:
            return Response(stop_reason="fine")


class ChangesTheRequest:
    def model(self, effect: CallModel) -> Hook:
        effect.request["temperature"] = 0
        return (yield effect)


class ChangesTheArguments:
    def tool(self, effect: CallTool) -> Hook:
        effect.arguments["item"] = 7
        return (yield effect)


class YieldsNoEffect:
    def model(self, effect: CallModel) -> Hook:
        reply = yield effect
        yield "done"
        return reply


class ForgetsToReturn:
    def model(self, effect: CallModel) -> Hook:
        yield effect


class ReturnsText:
    def handoff(self, effect: HandOff) -> Hook:
        yield effect
        return "Second"


class NeverGivesUp:
    def model(self, effect: CallModel) -> Hook:
        while True:
            try:
                return (yield effect)
            except Exception:
                yield Sleep(0)


class AnswersNothing:
    def model(self, effect: CallModel) -> Hook:
        try:
            return (yield effect)
        except Exception:
            return None


class CatchesAll:
    def tool(self, effect: CallTool) -> Hook:
        try:
            return (yield effect)
        except BaseException:
            return "all is well"


class AsksOnAtTheEnd:
    def model(self, effect: CallModel) -> Hook:
        try:
            return (yield effect)
        finally:
            yield Sleep(0)


class StoresPaused:
    def tool(self, effect: CallTool) -> Hook:
        value = yield effect
        return value if isinstance(value, str) else "stored"


class RepeatsPaused:
    def tool(self, effect: CallTool) -> Hook:
        value = yield effect
        return value if isinstance(value, str) else (yield effect)


POLICY_FAULTS: dict[str, list[tuple[Any, str]]] = {
    "test_its_hooks_are_generator_functions": [
        (NoGenerator, "must be a generator function"),
        (object, "is no policy"),
        (lambda: Retry, "class"),
    ],
    "test_every_mode_comes_to_the_same": [(KnowsTheMode, "the same in every mode")],
    "test_the_history_stays_valid": [(BreaksHistory, "have no answer")],
    "test_runs_share_nothing": [(SecondTimeOtherwise, "comes to the same as the first")],
    "test_runs_may_overlap": [(CountsPerRunButNotTwo, "share nothing")],
    "test_the_end_of_a_run_is_told": [(HidesEvents, "is Done")],
    "test_a_stream_can_be_closed": [(SwallowsTheEnd, "ends as cancelled")],
    "test_effects_are_left_as_they_are": [(ChangesTheRequest, "does not change"), (ChangesTheArguments, "does not change")],
    "test_a_hook_yields_effects_and_returns_their_kind": [
        (YieldsNoEffect, "yields effects only"),
        (ForgetsToReturn, "returns what its effect comes to"),
        (ReturnsText, "returns what its effect comes to"),
    ],
    "test_a_hook_gives_up_in_the_end": [(NeverGivesUp, "gives up"), (AnswersNothing, "returns its kind")],
    "test_what_ends_a_run_is_passed_on": [
        (CatchesAll, "never BaseException"),
        (SwallowsTheEnd, "never BaseException"),
        (AsksOnAtTheEnd, "asks for nothing more"),
    ],
    "test_a_hook_can_be_closed": [(AsksOnAtTheEnd, "does not yield in a `finally`")],
    "test_a_paused_call_is_left_alone": [(StoresPaused, "is paused"), (RepeatsPaused, "asked 2 times")],
}

SUITES: dict[Any, dict[str, list[tuple[Any, str]]]] = {
    ModelConformance: MODEL_FAULTS,
    ToolCallConformance: CALL_FAULTS,
    FailureConformance: FAILURE_FAULTS,
    PolicyConformance: POLICY_FAULTS,
}


@pytest.mark.parametrize(
    ("suite", "rule", "make", "text"),
    [(suite, rule, make, text) for suite, faults in SUITES.items() for rule, faulty in faults.items() for make, text in faulty],
)
def test_each_rule_fails_for_what_breaks_it(suite: Any, rule: str, make: Any, text: str) -> None:
    tested = type("Tested", (suite,), {"make": lambda self: make()})()
    with pytest.raises(AssertionError) as caught:
        getattr(tested, rule)()
    assert text in str(caught.value)


class Answers:
    """Answers with anything."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def complete(self, call: CallModel) -> Any:
        return self.answer

    def stream(self, call: CallModel) -> Any:
        return iter([self.answer])


@pytest.mark.parametrize("answer", [{"role": "assistant", "content": "hi"}, "hi", None, {"choices": "hi"}, Reply({"content": 7})], ids=repr)
@pytest.mark.parametrize("suite", [ModelConformance, ToolCallConformance])
def test_no_rule_trips_over_what_is_no_answer(suite: Any, answer: Any) -> None:
    """It says what is wrong, itself or by the error that a run would raise."""
    tested = type("Tested", (suite,), {"make": lambda self: Answers(answer)})()
    for rule in SUITES[suite]:
        with suppress(AssertionError, SwarmError):
            getattr(tested, rule)()


@pytest.mark.parametrize("suite", SUITES)
def test_no_rule_is_without_something_that_breaks_it(suite: Any) -> None:
    rules = {name for name in dir(suite) if name.startswith("test_")}
    assert rules == SUITES[suite].keys()
    assert all(getattr(suite, name).__doc__ for name in rules)


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_says_what_it_needs(suite: Any) -> None:
    with pytest.raises(NotImplementedError, match=r"needs a method make\(self\)"):
        suite().make()


def test_suites_need_no_pytest() -> None:
    """They run under any runner; unittest for one."""

    class Mine(ModelConformance, unittest.TestCase):
        def make(self) -> Any:
            return ScriptedModel(MANY)

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Mine).run(result)
    assert result.wasSuccessful()
    assert result.testsRun == len(MODEL_FAULTS)


def test_an_agent_may_be_replaced() -> None:
    class Mine(PolicyConformance):
        text = "go"

        def make(self) -> Any:
            return Watching()

        def agent(self) -> Agent:
            return Agent(name="Alone")

        def turns(self) -> list[Any]:
            return ["done"]

    for rule in POLICY_FAULTS:
        getattr(Mine(), rule)()
