"""Chunked bodies: any body, cut anywhere, in any chunks; and what is none."""

from __future__ import annotations

import http.client

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarm.models.dechunking import Dechunker


def chunked(pieces: list[bytes], extension: bytes = b"", trailers: bytes = b"") -> bytes:
    body = b"".join(b"%x%s\r\n%s\r\n" % (len(piece), extension, piece) for piece in pieces if piece)
    return body + b"0\r\n" + trailers + b"\r\n"


@given(
    st.lists(st.binary(max_size=40), max_size=8),
    st.lists(st.integers(1, 30), max_size=30),
    st.sampled_from([b"", b";a=b", b" ; name"]),
    st.sampled_from([b"", b"X-Sum: 1\r\n", b"A: b\r\nC: d\r\n"]),
)
def test_any_body_comes_out_whole_however_it_is_cut(pieces: list[bytes], cuts: list[int], extension: bytes, trailers: bytes) -> None:
    wire, dechunker, got, at = chunked(pieces, extension, trailers), Dechunker(), b"", 0
    for size in [*cuts, len(wire)]:
        assert not dechunker.done or at == len(wire)
        got += dechunker.feed(wire[at : at + size])
        at = min(at + size, len(wire))
    assert got == b"".join(pieces)
    assert dechunker.done and not dechunker.surplus


def test_bytes_behind_the_end_are_seen() -> None:
    dechunker = Dechunker()
    assert dechunker.feed(chunked([b"hi"]) + b"HTTP/1.1 200 OK") == b"hi"
    assert dechunker.done and dechunker.surplus


NOT_CHUNKED = (b"hello", b"-1", b"+2", b"0x2", b"2_0", b"", b"11111111111111111", b"2\r\nhiho")


@pytest.mark.parametrize("wire", [*(line + b"\r\n" for line in NOT_CHUNKED), b"f" * 70_000])
def test_what_is_no_chunked_body_is_refused(wire: bytes) -> None:
    with pytest.raises(http.client.HTTPException):
        Dechunker().feed(wire)
