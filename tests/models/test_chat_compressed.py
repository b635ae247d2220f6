"""Answers that come compressed although they were asked for as they are."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from swarm.errors import InvalidReply, RateLimitError
from swarm.models.chat import ChatClient
from tests.loopback import Answer, Step, completion, event, sse, text_chunks
from tests.models.conftest import Ask

KEY = "sk-test-0123456789"
WORDS = "Hello, 😀 " * 50


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


def in_members(data: bytes) -> bytes:
    return gzip.compress(data[:40]) + gzip.compress(data[40:])


def as_it_is(data: bytes) -> bytes:
    return data


WAYS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "gzip in members": ("GZIP", in_members),
    "x-gzip": ("x-gzip", gzip.compress),
    "deflate": ("deflate", zlib.compress),
    "deflate without header": ("deflate", raw_deflate),
    "gzip that is not": ("gzip", as_it_is),
    "identity": ("identity", as_it_is),
}


def packed(way: str, data: bytes, kind: str, size: int | None = None, **options: Any) -> Answer:
    """An answer in pieces of some size; none: at once."""
    name, pack = WAYS[way]
    raw = pack(data)
    pieces: list[Step] = [raw[at : at + (size or len(raw))] for at in range(0, len(raw), size or len(raw))]
    return Answer(*pieces, headers={"Content-Type": kind, "Content-Encoding": name}, **options)


@pytest.mark.parametrize("size", [None, 1, 7])
@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
@pytest.mark.parametrize("way", WAYS)
def test_a_compressed_answer_is_read(ask: Ask, serve: Any, way: str, framing: str, size: int | None) -> None:
    server = serve(packed(way, json.dumps(completion(WORDS)).encode(), "application/json", size, framing=framing))
    client = ChatClient(server.url, KEY)
    assert [ask.complete(client).message["content"] for _ in range(2)] == [WORDS] * 2
    assert server.requests[0].headers["accept-encoding"] == "identity"
    assert server.connections == (2 if framing == "close" else 1)


@pytest.mark.parametrize("size", [None, 1, 7])
@pytest.mark.parametrize("way", WAYS)
def test_a_compressed_stream_is_read(ask: Ask, serve: Any, way: str, size: int | None) -> None:
    raw = b"".join(map(event, text_chunks("a", WORDS))) + event("[DONE]")
    server = serve(packed(way, raw, "text/event-stream", size))
    client = ChatClient(server.url, KEY)
    assert ask.stream(client) == ask.stream(client) == text_chunks("a", WORDS)
    assert server.connections == 1


def test_each_part_of_a_compressed_stream_is_handed_out_when_it_comes(ask: Ask, serve: Any) -> None:
    packer = zlib.compressobj(wbits=31)
    pieces = [packer.compress(event(piece)) + packer.flush(zlib.Z_SYNC_FLUSH) for piece in text_chunks("a", "b")]
    steps: list[Step] = [step for piece in pieces for step in (piece, 0.01)]
    seen: list[Any] = []
    server = serve(Answer(*steps, headers={"Content-Type": "text/event-stream", "Content-Encoding": "gzip"}))
    ask.stream(ChatClient(server.url, KEY), seen.append)
    assert seen == text_chunks("a", "b")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_a_compressed_error_is_read(ask: Ask, serve: Any, way: str, stream: bool) -> None:
    server = serve(packed(way, b'{"error": {"message": "slow down"}}', "application/json", status=429))
    with pytest.raises(RateLimitError, match="429: slow down"):
        (ask.stream if stream else ask.complete)(ChatClient(server.url, KEY))


@pytest.mark.parametrize("stream", [False, True])
def test_deflate_that_is_not_is_read(ask: Ask, serve: Any, stream: bool) -> None:
    server = serve(
        Answer(json.dumps(completion(WORDS)).encode(), headers={"Content-Type": "application/json", "Content-Encoding": "deflate"})
    )
    answer: Any = (ask.stream if stream else ask.complete)(ChatClient(server.url, KEY))
    assert (answer[0]["choices"][0]["delta"] if stream else answer.message)["content"] == WORDS


@pytest.mark.parametrize("way", ["gzip", "deflate"])
def test_an_empty_error_is_not_unpacked(ask: Ask, serve: Any, way: str) -> None:
    server = serve(Answer(status=429, headers={"Content-Encoding": way}))
    with pytest.raises(RateLimitError, match="429: empty answer"):
        ask.complete(ChatClient(server.url, KEY))


@pytest.mark.parametrize("stream", [False, True])
def test_a_damaged_answer_is_an_error_and_costs_no_connection(ask: Ask, serve: Any, stream: bool) -> None:
    packer = zlib.compressobj(wbits=31)
    start = packer.compress(b": ok\n\n") + packer.flush(zlib.Z_SYNC_FLUSH)
    bad = Answer(start, 0.05, b"\xff" * 50, headers={"Content-Type": "text/event-stream", "Content-Encoding": "gzip"})
    server = serve(bad, packed("gzip", json.dumps(completion()).encode(), "application/json"))
    client = ChatClient(server.url, KEY, max_connections=1)
    with pytest.raises(InvalidReply, match=r"is damaged|is no JSON .*Content-Encoding: gzip, which was not asked for"):
        (ask.stream if stream else ask.complete)(client)
    assert ask.complete(client).message["content"] == "Hello"


def test_an_unknown_compression_is_named(ask: Ask, serve: Any) -> None:
    server = serve(
        Answer(b"\x01\x02", headers={"Content-Encoding": "br"}), sse(b"\x01\x02", headers={"Content-Encoding": "br"}, done=False)
    )
    client = ChatClient(server.url, KEY)
    for way in (ask.complete, ask.stream):
        with pytest.raises(InvalidReply, match="it came with Content-Encoding: br, which was not asked for"):
            way(client)
