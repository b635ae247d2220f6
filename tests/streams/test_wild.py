"""Streams in the shapes that providers really send: each comes out as the message it is, in every way it can come in.

S01, S02, S03, S07, S09, S12, S18, P08, P11, K18, K19.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from swarm import Agent, AsyncSwarm, Response, Swarm
from swarm import errors as errors_module
from swarm.assembly import Assembler
from swarm.effects import CallModel
from swarm.errors import ModelError, StreamBroken
from swarm.events import Delta, Done, Event
from swarm.history import unique_ids
from swarm.messages import assistant_message, text_of
from swarm.models.chat import ChatClient
from swarm.models.chunks import ChunkReader
from swarm.models.client import model_for
from tests.loopback import Answer, Loopback, Request
from tests.reading import chunks_of
from tests.streams.wild import SHAPES, Fixture, Player, as_plain, fixtures

ALL = fixtures()
IN_PROCESS = [name for name, fixture in ALL.items() if not fixture.is_raw]
SERVICES = {"openai", "azure", "groq", "mistral", "gemini", "anthropic", "deepseek", "dashscope", "xai", "openrouter"}
SERVERS = {"ollama", "llamacpp", "vllm", "sglang", "litellm", "framing"}
MODES = ("sync", "async")


def test_every_provider_has_its_shapes_and_each_names_its_source() -> None:
    assert len(ALL) >= 60
    assert {fixture.head["provider"] for fixture in ALL.values()} >= SERVICES | SERVERS
    for name, fixture in ALL.items():
        assert name.startswith(f"{fixture.head['provider']}-")
        assert fixture.head["source"].startswith("https://")
        assert set(fixture.expect) in ({"message", "finish_reason", "usage"}, {"error", "words", "status", "partial"}), name


# One whole run


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", IN_PROCESS)
def test_through_a_client_in_this_process(name: str, shape: str, mode: str) -> None:
    check_run(ALL[name], Player(ALL[name], shape, mode == "async"), mode)


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    """Streams the fixture that the request's model names, whole or each byte as a chunk of HTTP's: "<name>/whole", "<name>/bytes"."""

    def answer(request: Request) -> Answer:
        name, _, size = request.json["model"].partition("/")
        body, headers = ALL[name].body(), {"Content-Type": "text/event-stream", "Connection": "close"}
        if size == "whole":
            return Answer(body, headers=headers, framing="close")
        return Answer(*(body[at : at + 1] for at in range(len(body))), headers=headers, framing="chunked")

    with Loopback(answer) as running:
        yield running


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", ["whole", "bytes"])
@pytest.mark.parametrize("name", ALL)
def test_through_http(server: Loopback, name: str, size: str, mode: str) -> None:
    with ChatClient(server.url, "sk-test-0123456789") as client:
        check_run(ALL[name], client, mode, f"{name}/{size}")


def check_run(fixture: Fixture, client: Any, mode: str, model: str = "m") -> None:
    """Runs an agent on a fixture: its message is the expected one and its deltas add up to it, or it fails as expected."""
    expect = fixture.expect
    events: list[Event] = []
    if "error" in expect:
        with pytest.raises(getattr(errors_module, expect["error"]), match=expect["words"]) as caught:
            run(client, mode, model, events)
        assert caught.value.status == expect["status"]
        assert getattr(caught.value, "partial", None) == expect["partial"]
        assert joined(events)["content"] == text_of(expect["partial"] or {})
        return
    response = run(client, mode, model, events)
    (message,) = response.messages
    wanted = unique_ids(assistant_message(expect["message"], "A"), set(), 1)
    assert message == wanted
    usage: dict[str, int] = expect["usage"] or {}
    assert response.usage.input_tokens == usage.get("prompt_tokens", 0)
    assert response.usage.output_tokens == usage.get("completion_tokens", 0)
    check_deltas(events, message)


def run(client: Any, mode: str, model: str, events: list[Event]) -> Response:
    """Streams one turn without executing its calls. The events are kept, also those before a failure."""
    asyncio.run(arun(client, model, events)) if mode == "async" else srun(client, model, events)
    done = events[-1]
    assert isinstance(done, Done)
    return done.response


def srun(client: Any, model: str, events: list[Event]) -> None:
    for event in Swarm(client).stream(Agent(name="A", model=model), "hi", execute_tools=False):
        events.append(event)  # one by one, since what came before a failure counts


async def arun(client: Any, model: str, events: list[Event]) -> None:
    async for event in AsyncSwarm(client).stream(Agent(name="A", model=model), "hi", execute_tools=False):
        events.append(event)


def joined(events: list[Event]) -> dict[str, Any]:
    """What a plain client makes of the deltas: texts joined, calls added up by index."""
    total: dict[str, Any] = {"content": "", "calls": {}}
    for event in events:
        if isinstance(event, Delta):
            total["content"] += event.delta.get("content") or ""
            for entry in event.delta.get("tool_calls") or ():
                call = total["calls"].setdefault(entry["index"], {"id": "", "name": "", "arguments": ""})
                call["id"] += entry.get("id") or ""
                function: dict[str, str] = entry.get("function") or {}
                call["name"] += function.get("name", "")
                call["arguments"] += function.get("arguments", "")
    return total


def check_deltas(events: list[Event], message: dict[str, Any]) -> None:
    """The deltas are in the plain form, and joined they are the message; ids that nobody sent are made up at the end."""
    deltas = [event.delta for event in events if isinstance(event, Delta)]
    assert [at for at, delta in enumerate(deltas) if "role" in delta] == [0][: len(deltas)]
    total = joined(events)
    assert total["content"] == text_of(message)
    calls = [call for _, call in sorted(total["calls"].items())]
    assert len(calls) == len(message["tool_calls"] or ())
    for call, whole in zip(calls, message["tool_calls"] or (), strict=True):
        assert call["id"] in ("", whole["id"])
        if "function" in whole:
            assert call["name"] == whole["function"]["name"]
            # No arguments may come as none, and an empty object before others is only known for what it is when they come.
            assert call["arguments"] in (arguments := whole["function"]["arguments"], f"{{}}{arguments}", "" if arguments == "{}" else None)


# The assembled reply, with all that a provider says of it


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", IN_PROCESS)
def test_the_reply_of_a_client_in_this_process(name: str, shape: str) -> None:
    fixture = ALL[name]
    call = CallModel(Agent(name="A"), None, {"stream": True})
    check_reply(fixture, lambda: model_for(Player(fixture, shape, False)).stream(call))


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7, 64])
@pytest.mark.parametrize("name", ALL)
def test_the_reply_out_of_bytes_cut_anywhere(name: str, size: int) -> None:
    """Each size makes other cuts: in names of fields, in line ends, in characters, in escapes."""
    body = ALL[name].body()
    endpoint: Any = ChatClient("http://127.0.0.1:9/v1", "sk-test-0123456789")._endpoint  # pyright: ignore[reportPrivateUsage]

    step = size or max(1, len(body))
    pieces = [body[at : at + step] for at in range(0, len(body), step)]
    check_reply(ALL[name], lambda: chunks_of(ChunkReader(endpoint, lambda _: None), pieces))


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
@pytest.mark.parametrize("name", IN_PROCESS)
def test_chunks_that_come_together_are_those_that_come_one_by_one(name: str, size: int) -> None:
    """S18, D27: the same deltas up to the same failure, and the same reply or partial text."""
    chunks = [chunk for chunk in ALL[name].lines if isinstance(chunk, dict)]
    batches = [chunks[at : at + size] for at in range(0, len(chunks), size)]

    def one_by_one(assembler: Assembler) -> Any:
        return (delta for chunk in chunks if (delta := assembler.feed(chunk)) is not None)

    def together(assembler: Assembler) -> Any:
        for batch in batches:
            for news in assembler.feed_all(map(as_plain, batch)):
                yield from news if isinstance(news, list) else [news]

    assert outcome(together) == outcome(one_by_one)


def outcome(read: Callable[[Assembler], Any]) -> tuple[list[Any], str, Any]:
    """The deltas, what is raised behind them, and what it all came to."""
    assembler, deltas = Assembler("A"), list[Any]()
    try:
        for delta in read(assembler):
            deltas.append(delta)
        reply = assembler.reply()
    except ModelError as error:
        return deltas, repr(error), assembler.partial()
    return deltas, "", [getattr(reply, name) for name in reply.__slots__]


def check_reply(fixture: Fixture, chunks: Callable[[], Any]) -> None:
    expect, assembler = fixture.expect, Assembler("A")
    if "error" in expect:
        with pytest.raises(ModelError) as caught:
            for chunk in chunks():
                assembler.feed(chunk)
            assembler.reply()
        assert re.search(expect["words"], str(caught.value))
        assert assembler.partial() == expect["partial"]
        assert assembler.started is (expect["error"] == StreamBroken.__name__)
        return
    for chunk in chunks():
        assembler.feed(chunk)
    reply = assembler.reply()
    assert (reply.message, reply.finish_reason, reply.usage) == (expect["message"], expect["finish_reason"], expect["usage"])
