"""Streamed answers: chunks come when they come, and each way a stream can end leaves the connection in the right state."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from swarm.errors import ConnectionFailed, InvalidReply, ModelError
from swarm.models.chat import ChatClient
from tests.loopback import CUT, RESET, WAIT, Answer, chunk, completion, event, json_answer, sse, text_chunks, tool_call
from tests.models.conftest import Ask, call

KEY = "sk-test-0123456789"


def test_chunks_come_in_order_and_whole(ask: Ask, serve: Any) -> None:
    """S01: a chunk without choices is a chunk like any other; the assembler knows what to do with it."""
    usage = chunk({}) | {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}}
    pieces = [chunk({}) | {"choices": []}, *text_chunks("a", "b"), usage, {"choices": None}]
    assert ask.stream(ChatClient(serve(sse(*pieces)).url, KEY)) == pieces


def test_a_chunk_is_handed_out_before_the_next_one_is_sent(ask: Ask, serve: Any) -> None:
    first, second, third = text_chunks("a")
    gates = [threading.Event(), threading.Event()]
    waiting = iter(gates)
    server = serve(sse(first, gates[0], second, gates[1], third))
    # Each chunk opens the gate for the next; a transport that buffers would wait for ever.
    chunks = ask.stream(ChatClient(server.url, KEY), lambda _: next(waiting, gates[1]).set())
    assert chunks == [first, second, third]


def test_nothing_is_sent_before_the_first_chunk_is_asked_for(serve: Any) -> None:
    server = serve(sse(*text_chunks("a")))
    client = ChatClient(server.url, KEY)
    stream, astream = client.stream(call()), client.astream(call())
    assert server.connections == 0
    stream.close()
    asyncio.run(astream.aclose())
    assert server.connections == 0


ENDINGS: dict[str, Callable[[], Answer]] = {
    "finish_reason and [DONE]": lambda: sse(*text_chunks("a")),
    "finish_reason, then the end": lambda: sse(*text_chunks("a"), done=False),
    "[DONE] without finish_reason": lambda: sse(chunk({"content": "a"})),
    "a last event without blank line": lambda: sse(*text_chunks("a"), b"data: [DONE]", done=False),
    "usage after the finish_reason": lambda: sse(*text_chunks("a"), {"choices": [], "usage": {}}, done=False),
    "comments around it": lambda: sse(b": ok\n\n", *text_chunks("a"), b": ok\n\n", b"data: [DONE]\n\n", b": ok\n\n", done=False),
    "the end a little later": lambda: sse(*text_chunks("a"), 0.05),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_stream_that_ended_gives_its_connection_back(ask: Ask, serve: Any, ending: str) -> None:
    server = serve(ENDINGS[ending](), json_answer(completion()))
    client = ChatClient(server.url, KEY)
    assert {"content": "a"} in [choice["delta"] for piece in ask.stream(client) for choice in piece["choices"]]
    ask.complete(client)
    assert server.connections == 1


def test_a_server_that_goes_on_after_done_is_not_waited_for(ask: Ask, serve: Any) -> None:
    server = serve(sse(*text_chunks("a"), b"data: [DONE]\n\n", WAIT, done=False))
    assert ask.stream(ChatClient(server.url, KEY)) == text_chunks("a")
    server.wait_until(lambda: server.open_connections == 0)


def test_a_server_that_talks_on_after_done_is_not_listened_to(ask: Ask, serve: Any) -> None:
    server = serve(sse(*text_chunks("a"), b"data: [DONE]\n\n", 0.05, event(chunk({"content": "b"})), WAIT, done=False))
    assert ask.stream(ChatClient(server.url, KEY)) == text_chunks("a")
    server.wait_until(lambda: server.open_connections == 0)


@pytest.mark.parametrize(
    "ending",
    [(), (CUT,), (b'data: {"choices": [{"del', CUT), (b'data: {"choices": [{"del',), (0.05, RESET), (b": keep-alive\n\n",)],
    ids=["end", "cut", "cut in an event", "end in an event", "reset", "end after a comment"],
)
def test_a_stream_that_breaks_off_is_an_error_after_its_chunks(ask: Ask, serve: Any, ending: tuple[Any, ...]) -> None:
    first = chunk({"role": "assistant", "content": "a"})
    server = serve(sse(first, *ending, done=False))
    seen: list[Any] = []
    with pytest.raises(ConnectionFailed, match="broke"):
        ask.stream(ChatClient(server.url, KEY), seen.append)
    assert seen == [first]
    if RESET not in ending and CUT not in ending:
        return
    server.wait_until(lambda: server.open_connections == 0)


def test_a_stream_that_ends_in_an_event_behind_its_finish_reason_is_broken_too(ask: Ask, serve: Any) -> None:
    """S12: what was cut may have been the usage."""
    seen: list[Any] = []
    server = serve(sse(*text_chunks("a"), b'data: {"choices": [], "usa', done=False))
    with pytest.raises(ConnectionFailed, match="broke"):
        ask.stream(ChatClient(server.url, KEY), seen.append)
    assert seen == text_chunks("a")


@pytest.mark.parametrize("steps", [(), (b": keep-alive\n\n",), (b"\n",)])
def test_a_stream_without_any_event_is_a_failed_connection(ask: Ask, serve: Any, steps: tuple[bytes, ...]) -> None:
    with pytest.raises(ConnectionFailed, match=r"without finish_reason and \[DONE\]"):
        ask.stream(ChatClient(serve(sse(*steps, done=False)).url, KEY))


@pytest.mark.parametrize("kind", ["text/html", "text/event-stream"])
def test_an_answer_that_is_no_event_stream_is_quoted(ask: Ask, serve: Any, kind: str) -> None:
    server = serve(Answer(b"<html>Welcome</html>", headers={"Content-Type": kind}))
    with pytest.raises(InvalidReply, match="is no event stream: '<html>Welcome</html>'"):
        ask.stream(ChatClient(server.url, KEY))


@pytest.mark.parametrize("data", ["not json", "[1]", "null", '"text"', "12"])
def test_an_event_that_is_no_json_object_is_an_error_after_what_came_before(ask: Ask, serve: Any, data: str) -> None:
    first = chunk({"content": "a"})
    seen: list[Any] = []
    with pytest.raises(InvalidReply, match="is no JSON"):
        ask.stream(ChatClient(serve(Answer(event(first) + event(data))).url, KEY), seen.append)
    assert seen == [first]


def test_an_error_in_the_stream_is_handed_on(ask: Ask, serve: Any) -> None:
    """P08: the assembler raises it, with what had come before."""
    error = {"error": {"message": "overloaded", "code": 529}}
    pieces = [chunk({"content": "a"}), error]
    assert ask.stream(ChatClient(serve(sse(*pieces, done=False)).url, KEY)) == pieces


@pytest.mark.parametrize(
    ("raw", "error"),
    [
        ('error: {"code":500,"message":"slot exploded"}\n\n', {"code": 500, "message": "slot exploded"}),
        ('event: error\ndata: {"message":"boom"}\n\n', {"message": "boom"}),
        ('event: error\ndata: {"error":{"message":"boom"}}\n\n', {"message": "boom"}),
        ('event: error\ndata: {"type":"error","error":{"message":"boom"}}', {"message": "boom"}),
        ("event: error\ndata: out of memory\n\n", "out of memory"),
        ("error: 500\n\n", "500"),
        ("error:\n\n", "an error without words"),
        ('{"error": {"message": "boom"}}\n', {"message": "boom"}),
        ('data: {"object": "error", "message": "boom"}\n\n', {"object": "error", "message": "boom"}),
        ('data: {"detail": "boom"}\n\n', {"detail": "boom"}),
    ],
)
@pytest.mark.parametrize("more", [(), (b"data: [DONE]\n\n",), (event(chunk({"content": "b"})),), (CUT,)])
def test_an_error_told_in_any_way_is_handed_on(ask: Ask, serve: Any, raw: str, error: Any, more: tuple[Any, ...]) -> None:
    """P08: llama.cpp has a field "error", others an event of that name or a bare line."""
    first = chunk({"content": "a"})
    chunks = ask.stream(ChatClient(serve(sse(first, raw.encode() + b"\n\n", *more, done=False)).url, KEY))
    assert chunks[0] == first
    assert chunks[1]["error"] == error


def test_a_whole_answer_instead_of_a_stream_becomes_one_chunk(ask: Ask, serve: Any) -> None:
    calls = [tool_call("look", {"q": 1}, "call_1"), tool_call("look", {"q": 2}, "call_2")]
    body = completion("Hello", calls, system_fingerprint="fp_1")
    (piece,) = ask.stream(ChatClient(serve(json_answer(body)).url, KEY))
    delta = body["choices"][0]["message"] | {"tool_calls": [{"index": index, **one} for index, one in enumerate(calls)]}
    assert piece == body | {
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": "tool_calls"}],
    }


def test_a_closed_stream_closes_its_connection(ask: Ask, serve: Any) -> None:
    server = serve(sse(*text_chunks("a", "b"), WAIT, done=False), json_answer(completion()))
    client = ChatClient(server.url, KEY)
    assert len(ask.stream(client, take=2)) == 2
    server.wait_until(lambda: server.open_connections == 0)
    ask.complete(client)
    assert server.connections == 2


def test_closing_is_done_when_close_returns_and_may_be_repeated(serve: Any) -> None:
    """D13"""
    server = serve(sse(*text_chunks("a"), WAIT, done=False), json_answer(completion()))
    client = ChatClient(server.url, KEY, max_connections=1)
    source = client.stream(call())
    next(source)
    source.close()
    source.close()
    client.complete(call())  # the one slot is free, and only once: a second release would be an error
    server.wait_until(lambda: server.open_connections == 1)


def test_closing_an_async_stream_needs_no_event_loop_turn(serve: Any) -> None:
    """D13"""
    server = serve(sse(*text_chunks("a"), WAIT, done=False))

    async def read() -> None:
        source = ChatClient(server.url, KEY).astream(call())
        await anext(source)
        with pytest.raises(StopIteration):
            source.aclose().send(None)

    asyncio.run(read())
    server.wait_until(lambda: server.open_connections == 0)


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_stream_that_is_dropped_closes_its_connection(serve: Any, mode: str) -> None:
    server = serve(sse(*text_chunks("a"), WAIT, done=False))
    client = ChatClient(server.url, KEY)

    async def drop() -> None:
        source = client.astream(call())
        await anext(source)
        del source
        await asyncio.to_thread(server.wait_until, lambda: server.open_connections == 0)

    if mode == "async":
        asyncio.run(drop())
    else:
        source = client.stream(call())
        next(source)
        del source
    server.wait_until(lambda: server.open_connections == 0)


def test_an_error_of_the_reader_closes_the_connection(ask: Ask, serve: Any) -> None:
    def fail(_: Any) -> None:
        raise KeyboardInterrupt

    server = serve(sse(*text_chunks("a"), WAIT, done=False))
    client = ChatClient(server.url, KEY)
    with pytest.raises(KeyboardInterrupt):
        ask.stream(client, fail)
    ask.close(client)  # an event loop that was interrupted closes its sockets when it runs again
    server.wait_until(lambda: server.open_connections == 0)


def test_cancelling_closes_the_connection_and_goes_through_untouched(serve: Any) -> None:
    server = serve(sse(*text_chunks("a"), WAIT, done=False), Answer(WAIT), Answer(WAIT, head=False))
    client = ChatClient(server.url, KEY)

    async def read() -> None:
        async for _ in client.astream(call()):
            pass

    async def cancel(coroutine: Any, requests: int) -> None:
        task = asyncio.create_task(coroutine)
        await asyncio.to_thread(server.wait_until, lambda: len(server.requests) == requests)
        await asyncio.sleep(0.05)
        task.cancel("mine")
        with pytest.raises(asyncio.CancelledError, match="mine"):
            await task
        await asyncio.to_thread(server.wait_until, lambda: server.open_connections == 0)

    async def all_three() -> None:
        await cancel(read(), 1)
        await cancel(client.acomplete(call()), 2)
        await cancel(client.acomplete(call()), 3)

    asyncio.run(all_three())


def test_a_hundred_abandoned_streams_leave_no_connection_behind(ask: Ask, serve: Any) -> None:
    """X03"""
    server = serve(sse(*text_chunks("a"), WAIT, done=False))
    client = ChatClient(server.url, KEY, max_connections=2)
    for _ in range(100):
        ask.stream(client, take=1)
    server.wait_until(lambda: server.open_connections == 0)
    assert len(server.requests) == 100


def test_a_status_error_comes_with_the_first_chunk(ask: Ask, serve: Any) -> None:
    server = serve(json_answer({"error": {"message": "no"}}, 400), json_answer(completion()))
    client = ChatClient(server.url, KEY)
    with pytest.raises(ModelError, match="400: no"):
        ask.stream(client)
    ask.complete(client)
    assert server.connections == 1
