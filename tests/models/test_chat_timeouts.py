"""X06: every wait has a limit, and the error says which one ran out. The limits here are short; how long things took is never measured."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from typing import Any

import pytest

from swarm.errors import ModelTimeout
from swarm.models.chat import ChatClient, Timeout
from tests.loopback import HANG, WAIT, Answer, completion, json_answer, sse, text_chunks
from tests.models.conftest import Ask, call

KEY = "sk-test-0123456789"
SHORT = 0.15
LONG = 30.0


def test_there_are_default_limits() -> None:
    assert repr(Timeout()) == "Timeout(connect=10.0, read=300.0, total=600.0)"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "answer", [HANG, Answer(b'{"id":', WAIT), sse(b": ok\n\n", WAIT)], ids=["no answer", "half a body", "half a stream"]
)
def test_a_silent_server_runs_into_the_read_limit(ask: Ask, serve: Any, answer: Answer, stream: bool) -> None:
    server = serve(answer)
    client = ChatClient(server.url, KEY, timeout=Timeout(read=SHORT))
    with pytest.raises(ModelTimeout, match=r"sent nothing for 0\.15 s \(the read limit\); .*ChatClient\(timeout=") as caught:
        (ask.stream if stream else ask.complete)(client)
    assert server.url in str(caught.value)
    assert isinstance(caught.value, TimeoutError)
    assert caught.value.retry_after is None
    server.wait_until(lambda: server.open_connections == 0)


DRIPS = [b": keep-alive\n\n", 0.02] * 400


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("answer", [HANG, Answer(*[b" ", 0.02] * 400), sse(*DRIPS)], ids=["no answer", "dripping body", "dripping stream"])
def test_a_slow_server_runs_into_the_limit_of_the_whole_call(ask: Ask, serve: Any, answer: Answer, stream: bool) -> None:
    server = serve(answer)
    client = ChatClient(server.url, KEY, timeout=Timeout(read=LONG, total=SHORT))
    with pytest.raises(ModelTimeout, match=r"was not done within 0\.15 s \(the limit for the whole call\)"):
        (ask.stream if stream else ask.complete)(client)
    server.wait_until(lambda: server.open_connections == 0)


@pytest.mark.parametrize("stream", [False, True])
def test_a_number_is_the_limit_of_the_whole_call(ask: Ask, serve: Any, stream: bool) -> None:
    client = ChatClient(serve(HANG).url, KEY, timeout=SHORT)
    with pytest.raises(ModelTimeout, match=r"the limit for the whole call|the read limit"):
        (ask.stream if stream else ask.complete)(client)


@pytest.mark.parametrize("stream", [False, True])
def test_the_time_left_for_a_call_tightens_the_limit(ask: Ask, serve: Any, stream: bool) -> None:
    """X06: the option reaches the transport."""
    server = serve(HANG)
    client = ChatClient(server.url, KEY)
    with pytest.raises(ModelTimeout, match=r"within 0\.15 s \(the limit for the whole call\)"):
        (ask.stream if stream else ask.complete)(client, timeout=SHORT)
    assert "timeout" not in server.requests[0].json


def test_the_time_left_for_a_call_never_widens_the_limit(ask: Ask, serve: Any) -> None:
    client = ChatClient(serve(HANG).url, KEY, timeout=Timeout(total=SHORT))
    with pytest.raises(ModelTimeout, match=r"within 0\.15 s"):
        ask.complete(client, timeout=LONG)


@pytest.mark.parametrize("left", [0.0, -1.0])
def test_no_time_left_means_nothing_is_sent(ask: Ask, serve: Any, left: float) -> None:
    server = serve(json_answer(completion()))
    with pytest.raises(ModelTimeout):
        ask.complete(ChatClient(server.url, KEY), timeout=left)
    assert server.connections == 0


def test_a_tls_handshake_that_hangs_runs_into_the_connect_limit(ask: Ask) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"https://127.0.0.1:{silent.getsockname()[1]}/v1"
        with pytest.raises(ModelTimeout, match=rf"no connection to {url} within 0\.15 s \(the connect limit\)"):
            ask.complete(ChatClient(url, KEY, timeout=Timeout(connect=SHORT)))


def test_the_caller_s_own_time_counts_in_a_stream(ask: Ask, serve: Any) -> None:
    pause = threading.Event()
    server = serve(sse(*text_chunks("a", "b"), pause))
    client = ChatClient(server.url, KEY, timeout=Timeout(total=SHORT))
    with pytest.raises(ModelTimeout, match="the limit for the whole call"):
        ask.stream(client, lambda _: pause.wait(SHORT))


def test_the_wait_for_a_free_connection_counts(serve: Any) -> None:
    server = serve(sse(*text_chunks("a"), WAIT, done=False))
    client = ChatClient(server.url, KEY, timeout=Timeout(total=SHORT), max_connections=1)
    source = client.stream(call())
    next(source)
    with pytest.raises(ModelTimeout, match="the limit for the whole call"):
        client.complete(call())
    assert len(server.requests) == 1
    source.close()


def test_the_wait_for_a_free_connection_counts_in_asyncio(serve: Any) -> None:
    server = serve(sse(*text_chunks("a"), WAIT, done=False))
    client = ChatClient(server.url, KEY, max_connections=1)

    async def wait() -> None:
        source = client.astream(call())
        await anext(source)
        with pytest.raises(ModelTimeout, match="the limit for the whole call"):
            await client.acomplete(call(timeout=SHORT))
        await source.aclose()

    asyncio.run(wait())
    assert len(server.requests) == 1


def test_a_reader_that_takes_its_time_is_no_silence(ask: Ask, serve: Any) -> None:
    """Once so much has come that nothing more is read from the connection, it is not the server who is silent."""
    words = ["x" * 1000] * 2000
    client = ChatClient(serve(sse(*text_chunks(*words))).url, KEY, timeout=Timeout(read=SHORT))

    async def read_slowly() -> list[Any]:
        chunks: list[Any] = []
        async for chunk in client.astream(call()):
            chunks.append(chunk)
            if len(chunks) == 1:
                await asyncio.sleep(3 * SHORT)
        return chunks

    if ask.mode == "async":
        assert asyncio.run(read_slowly()) == text_chunks(*words)
    else:
        assert ask.stream(client, lambda chunk: time.sleep(3 * SHORT) if chunk["choices"][0]["delta"].get("role") else None) == text_chunks(
            *words
        )
