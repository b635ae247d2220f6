"""Chunks that come together: whoever reads a stream sees one event after another, and may end it between any two of them."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from swarm import Agent, AsyncSwarm, Response, Swarm
from swarm.effects import CallModel, Reply
from swarm.errors import ConnectionFailed, InvalidReply, StreamBroken
from swarm.events import Delta, Done, Event, Nested
from swarm.models.scripted import ScriptedModel, call
from swarm.texts import Texts
from tests.modes import Drive, names, streaming

LONG = 5.0
MODES = pytest.mark.parametrize("mode", ["sync", "async"])
FORMS = pytest.mark.parametrize("form", ["run", "stream"])
WORDS = ["one ", "two ", "three ", "four ", "five "]


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


def said(*words: str) -> list[dict[str, Any]]:
    return [chunk({"content": word}) for word in words]


class Together:
    """A model whose chunks come together, as those of our client do. An exception among them is raised in its place.

    Attributes:
        asked: how many batches were asked for; closed: how often a stream was closed.
    """

    def __init__(self, *batches: list[Any]) -> None:
        self._batches = batches
        self.asked = self.closed = 0

    def complete(self, call: CallModel) -> Reply:
        raise AssertionError("not asked for")

    def stream(self, call: CallModel) -> Any:
        raise AssertionError("the slower way")

    astream = stream

    def batches(self, call: CallModel) -> Iterator[Iterator[dict[str, Any]]]:
        try:
            for batch in self._batches:
                self.asked += 1
                yield _each(batch)
        finally:
            self.closed += 1

    async def abatches(self, call: CallModel) -> AsyncIterator[Iterator[dict[str, Any]]]:
        for batch in self.batches(call):
            yield batch


class OneByOne(ScriptedModel):
    """The same chunks, each by itself."""

    def __init__(self, *batches: list[Any]) -> None:
        super().__init__([])
        self._chunks = [chunk for batch in batches for chunk in batch]

    def stream(self, call: CallModel) -> Any:
        return _each(self._chunks)


def _each(batch: list[Any]) -> Iterator[dict[str, Any]]:
    for chunk in batch:
        if isinstance(chunk, BaseException):
            raise chunk
        yield chunk


class Held:
    """A stream in either mode, read step by step from sync code."""

    def __init__(
        self, mode: str, form: str, agent: Agent, client: Any, runner: asyncio.Runner, *, swarm: Any = None, **options: Any
    ) -> None:
        self._runner = runner if mode == "async" else None
        swarmed: Any = (AsyncSwarm if self._runner else Swarm)(client, **(swarm or {}))
        self.stream = swarmed.stream(agent, "go", **options) if form == "stream" else swarmed.run(agent, "go", stream=True, **options)

    def next(self) -> Any:
        """The next item, or None at the end."""
        return next(self.stream, None) if self._runner is None else self._runner.run(_next(self.stream))

    def rest(self) -> list[Any]:
        return list(iter(self.next, None))

    def close(self) -> None:
        return self.stream.close() if self._runner is None else self._runner.run(self.stream.aclose())


async def _next(stream: Any) -> Any:
    return await anext(stream, None)


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


def text_of(item: Any) -> str:
    return item.text if isinstance(item, Delta) else item.get("content") or "" if isinstance(item, dict) else ""


def is_last(item: Any) -> bool:
    return isinstance(item, Done) or (isinstance(item, dict) and "response" in item)


@MODES
@FORMS
@pytest.mark.parametrize("sizes", [[5], [1, 4], [2, 3], [1, 1, 1, 1, 1]])
def test_the_items_are_those_of_chunks_that_come_one_by_one(mode: str, form: str, sizes: list[int], runner: asyncio.Runner) -> None:
    """K18, K19, S18"""
    batches, words = [], list(WORDS)
    for size in sizes:
        batches.append(said(*words[:size]))
        del words[:size]
    batches[-1].append(chunk({}, "stop", usage={"prompt_tokens": 1}))
    seen, expected = ([*map(plain, Held(mode, form, Agent(), kind(*batches), runner).rest())] for kind in (Together, OneByOne))
    assert seen == expected
    assert len(seen) == len(WORDS) + (4 if form == "stream" else 3)


def plain(item: Any) -> Any:
    if isinstance(item, Event):
        return item.as_dict() | {"usage": None, "call": None}  # with the time that it took
    return item["response"].messages if "response" in item else dict(item)


@MODES
@FORMS
@pytest.mark.parametrize("way", ["close", "cancel"])
@pytest.mark.parametrize("read", range(1, 6))
def test_what_was_read_is_what_is_kept(mode: str, form: str, way: str, read: int, runner: asyncio.Runner) -> None:
    """D13, X03, S18: what had come and was not read is no part of the text, and nobody sees it later."""
    model = Together(said("one ", "two ", "three "), said("four ", "five "))
    held = Held(mode, form, Agent(), model, runner)
    shown = [text for item in iter(held.next, None) if (text := text_of(item))] if read > 5 else []
    while len(shown) < read:
        if text := text_of(held.next()):
            shown.append(text)
    if way == "close":
        held.close()
        assert held.rest() == []
    else:
        held.stream.cancel()
        left = held.rest()
        assert len(left) == 1
        assert is_last(left[0])
    assert shown == WORDS[:read]
    assert held.stream.response.text == "".join(shown)
    assert held.stream.response.stop_reason == "cancelled"
    assert (model.closed, model.asked) == (1, 1 if read <= 3 else 2)


@MODES
@FORMS
def test_a_stream_that_is_dropped_in_the_middle_is_closed(mode: str, form: str, runner: asyncio.Runner) -> None:
    """D13"""
    model = Together(said(*WORDS))
    held = Held(mode, form, Agent(), model, runner)
    while not text_of(held.next()):
        pass
    del held
    gc.collect()
    runner.run(asyncio.sleep(0))
    assert model.closed == 1


@MODES
@FORMS
@pytest.mark.parametrize("failure", [ConnectionFailed("gone"), {"error": {"message": "gone"}}])
@pytest.mark.parametrize("before", [[], ["one "], ["one ", "two ", "three "]])
def test_a_failure_comes_behind_what_came_before_it(mode: str, form: str, failure: Any, before: list[str], runner: asyncio.Runner) -> None:
    """D12, S15: and breaks the stream once anything was shown."""
    model = Together([*said(*before), failure, *said("never")])
    held = Held(mode, form, Agent(), model, runner)
    shown: list[str] = []
    with pytest.raises(StreamBroken if before else Exception, match="gone") as raised:
        while True:
            shown.append(text_of(held.next()))
    assert "".join(shown) == "".join(before)
    partial = raised.value.partial if isinstance(raised.value, StreamBroken) else None
    assert partial == ({"role": "assistant", "content": "".join(before)} if before else None)
    assert model.closed == 1


@MODES
@FORMS
def test_a_failure_that_nobody_reads_up_to(mode: str, form: str, runner: asyncio.Runner) -> None:
    """D13: closing raises nothing."""
    held = Held(mode, form, Agent(), Together([*said("one ", "two "), InvalidReply("gone")]), runner)
    while not text_of(held.next()):
        pass
    held.close()
    assert held.stream.response.text == "one "


@MODES
@FORMS
def test_the_state_between_any_two_items(mode: str, form: str, runner: asyncio.Runner) -> None:
    """D4: the same as if the chunks had come one by one."""
    chunks = [*said(*WORDS), chunk({}, "stop")]
    both = [Held(mode, form, Agent(), kind(chunks), runner) for kind in (Together, OneByOne)]
    for _ in range(len(WORDS) + (4 if form == "stream" else 3)):
        states = []
        for held in both:
            assert held.next() is not None
            states.append({key: value for key, value in held.stream.state().items() if key not in ("id", "usage")})
        assert states[0] == states[1]
    assert [held.next() for held in both] == [None, None]


@MODES
@FORMS
def test_an_item_is_the_readers_own(mode: str, form: str, runner: asyncio.Runner) -> None:
    """K19: what he does to it changes nothing."""
    held = Held(mode, form, Agent(), Together([*said(*WORDS), chunk({}, "stop")]), runner)
    for item in held.rest():
        delta = item.delta if isinstance(item, Delta) else item
        if isinstance(delta, dict) and "response" not in delta:
            delta.clear()
    assert held.stream.response.text == "".join(WORDS)


@MODES
@pytest.mark.parametrize("kind", [Together, OneByOne])
def test_the_time_to_the_first_delta_is_noted(mode: str, kind: Callable[..., Any], runner: asyncio.Runner) -> None:
    """D8: if there is one."""
    held = Held(mode, "stream", Agent(), kind([*said(*WORDS), chunk({}, "stop")]), runner)
    while not text_of(held.next()):
        pass
    held.rest()
    first, whole = (getattr(held.stream.response.usage.by_call[0], name) for name in ("time_to_first_delta", "seconds"))
    assert 0 < first < whole
    held = Held(mode, "stream", Agent(), kind([chunk({}, "stop")]), runner)
    held.rest()
    assert held.stream.response.usage.by_call[0].time_to_first_delta is None


@MODES
def test_observers_hear_of_each_text_just_before_it_is_read(mode: str, runner: asyncio.Runner) -> None:
    """D47"""
    seen: list[Event] = []
    held = Held(mode, "stream", Agent(), Together([*said(*WORDS), chunk({}, "stop")]), runner, swarm={"on_event": seen.append})
    for item in iter(held.next, None):
        assert item is seen[-1]
    assert [event.text for event in seen if isinstance(event, Delta)] == WORDS
    assert not any(isinstance(event, Texts) for event in seen)


@MODES
def test_an_observed_stream_is_ended_in_the_middle(mode: str, runner: asyncio.Runner) -> None:
    """D13, D47"""
    seen: list[Event] = []
    held = Held(mode, "run", Agent(), Together(said(*WORDS)), runner, swarm={"on_event": seen.append})
    while text_of(held.next()) != "two ":
        pass
    held.close()
    assert [event.text for event in seen if isinstance(event, Delta)] == ["one ", "two "]
    assert held.stream.response.text == "one two "


@MODES
def test_debug_prints_each_text(mode: str, runner: asyncio.Runner, capsys: pytest.CaptureFixture[str]) -> None:
    """K16"""
    printed: list[str] = []
    for kind in (Together, OneByOne):
        Held(mode, "run", Agent(), kind([*said(*WORDS), chunk({}, "stop")]), runner, debug=True).rest()
        printed.append(capsys.readouterr().out)
    assert printed[0].count("\n") == printed[1].count("\n") > 0


def outer_and_inner(model: Any) -> Agent:
    inner = Agent(name="Inner", client=model)
    return Agent(name="Outer", functions=[inner.as_tool()])


@streaming
@pytest.mark.parametrize("parallel", [False, True])
def test_texts_of_a_run_inside_a_call_are_nested_one_by_one(drive: Drive, parallel: bool) -> None:
    """D45"""
    agent = outer_and_inner(Together([*said(*WORDS), chunk({}, "stop")]))
    script = [[call("inner", {"input": "a"}), call("inner", {"input": "b"})], "done"]
    events = drive.events(agent, "go", script, swarm={"parallel_tools": parallel})
    told: dict[str, list[str]] = {}
    for event in events:
        if isinstance(event, Nested) and isinstance(event.event, Delta):
            told.setdefault(event.call_id, []).append(event.event.text)
    assert list(told.values()) == [WORDS, WORDS]
    assert "Texts" not in names(events)


@streaming
def test_the_dict_form_leaves_out_what_is_inside_a_call(drive: Drive) -> None:
    """D45, K18"""
    agent = outer_and_inner(Together([*said(*WORDS), chunk({}, "stop")]))
    response = drive(agent, "go", [call("inner", {"input": "a"}), "done"])
    assert [message["content"] for message in response.messages] == [None, "".join(WORDS), "done"]


@MODES
@pytest.mark.parametrize("kind", [Together, OneByOne])
def test_a_run_with_a_time_limit(mode: str, kind: Callable[..., Any], runner: asyncio.Runner) -> None:
    """D6"""
    held = Held(mode, "run", Agent(), kind([*said(*WORDS), chunk({}, "stop")]), runner, timeout=LONG)
    assert "".join(map(text_of, held.rest())) == "".join(WORDS)
    assert held.stream.response.stop_reason == "complete"


@MODES
def test_calls_and_fields_between_texts_keep_their_order(mode: str, runner: asyncio.Runner) -> None:
    """S01: and a server that says the role each time, or null for what it has not, is read alike."""
    entry = {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    chunks = [
        chunk({"role": "assistant", "content": "a"}),
        chunk({"role": "assistant", "content": "b"}),
        chunk({"content": "c", "refusal": None, "tool_calls": None}),
        chunk({"reasoning_content": "hm"}),
        chunk({"content": "d"}),
        chunk({"content": "e"}),
        chunk({"tool_calls": [entry]}),
        chunk({}, "tool_calls"),
    ]
    held = Held(mode, "stream", Agent(), Together(chunks), runner, execute_tools=False)
    deltas = [event.delta for event in held.rest() if isinstance(event, Delta)]
    assert [delta.get("content") for delta in deltas] == ["a", "b", "c", None, "d", "e", None]
    assert [delta for delta in deltas[1:] if "role" in delta or None in delta.values()] == []
    assert (deltas[3]["reasoning_content"], deltas[6]["tool_calls"][0]["function"]["name"]) == ("hm", "f")
    response: Response = held.stream.response
    assert (response.text, response.messages[0]["reasoning_content"]) == ("abcde", "hm")


def test_a_cancelled_reader_leaves_what_it_had_read() -> None:
    """D49, D16"""

    async def main() -> Any:
        stream = AsyncSwarm(Together(said(*WORDS))).run(Agent(), "go", stream=True)
        shown: list[str] = []

        async def read() -> None:
            async with stream:
                async for item in stream:
                    shown.append(text_of(item))
                    if item.get("content") == "two ":
                        await asyncio.Event().wait()

        reader = asyncio.create_task(read())
        await asyncio.sleep(0.01)
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        return shown, stream.response

    shown, response = asyncio.run(main())
    assert "".join(shown) == response.text == "one two "


def test_another_task_closes_a_stream_between_two_texts() -> None:
    """D49"""

    async def main() -> Any:
        model = Together(said(*WORDS))
        stream = AsyncSwarm(model).stream(Agent(), "go")
        shown: list[Event] = []

        async def read() -> None:
            async for event in stream:
                shown.append(event)
                if isinstance(event, Delta):
                    await asyncio.sleep(0.01)

        reader = asyncio.create_task(read())
        while not any(isinstance(event, Delta) for event in shown):
            await asyncio.sleep(0)
        await stream.aclose()
        await reader
        return shown, stream.response, model.closed

    shown, response, closed = asyncio.run(main())
    assert "".join(map(text_of, shown)) == response.text == "one "
    assert closed == 1


def test_ctrl_c_between_two_texts() -> None:
    """D16, D13"""
    stream = Swarm(Together(said(*WORDS))).stream(Agent(), "go")
    with pytest.raises(KeyboardInterrupt), stream:
        for event in stream:
            if text_of(event) == "two ":
                raise KeyboardInterrupt
    assert stream.response is not None
    assert stream.response.text == "one two "


def test_ctrl_c_while_texts_that_came_together_are_read() -> None:
    """D16, D13: none of those had been shown."""
    stream = Swarm(Together(said("one ", "two "), [*said("three "), KeyboardInterrupt()])).stream(Agent(), "go")
    shown: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        shown.extend(map(text_of, stream))
    assert stream.response is not None
    assert stream.response.text == "".join(shown) == "one two "
