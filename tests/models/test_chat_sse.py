"""The parser of server-sent events: any cut of the bytes, every form the standard allows, and what servers get wrong."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarm.models.sse import EventParser

LINES = st.sampled_from(
    [
        "data: {}",
        'data: {"a": "ü€😀"}',
        "data:x",
        "data:  two spaces",
        "data:",
        "data",
        ": keep-alive",
        "event: message",
        "id: 7",
        "retry: 10",
        "",
        "",
        "data: [DONE]",
    ]
)
ENDINGS = st.sampled_from(["\n", "\r\n", "\r"])


def events(*pieces: bytes) -> list[bytes]:
    parser = EventParser()
    found = [event for piece in pieces for event in parser.feed(piece)]
    return found + parser.end()


def by_the_standard(text: str) -> list[bytes]:
    """The standard's algorithm on the whole text; but an event at the end need not be closed, and `data` without a colon says nothing."""
    found: list[str] = []
    data: list[str] = []
    for line in [*text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n"), ""]:
        name, _, value = line.partition(":")
        if line == "":
            if "".join(data):
                found.append("\n".join(data))
            data = []
        elif name == "data" and ":" in line:
            data.append(value.removeprefix(" "))
    return [event.encode() for event in found]


@given(
    st.booleans(),
    st.lists(st.tuples(LINES, ENDINGS), max_size=12),
    st.lists(st.integers(0, 200), max_size=8),
)
def test_any_cut_of_the_bytes_gives_the_same_events(bom: bool, lines: list[tuple[str, str]], cuts: list[int]) -> None:
    text = ("\ufeff" if bom else "") + "".join(line + ending for line, ending in lines)
    raw = text.encode()
    places = sorted({0, len(raw), *(cut for cut in cuts if cut < len(raw))})
    pieces = [raw[start:end] for start, end in pairwise(places)]
    assert events(*pieces) == by_the_standard(text)
    assert events(*(raw[at : at + 1] for at in range(len(raw)))) == by_the_standard(text)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
        (b"data:a\n\n", [b"a"]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
        (b"data: a\r\rdata: b\r\r", [b"a", b"b"]),
        (b"data: a\ndata: b\n\n", [b"a\nb"]),
        (b": keep-alive\n\n: keep-alive\n\ndata: a\n\n", [b"a"]),
        (b"event: chunk\nid: 1\nretry: 5\ndata: a\n\n", [b"a"]),
        (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
        (b"data: [DONE]", [b"[DONE]"]),
        (b"data: a\n", [b"a"]),
        (b"data:\n\ndata: a\n\n", [b"a"]),
        (b"", []),
    ],
)
def test_each_form_of_an_event(raw: bytes, expected: list[bytes]) -> None:
    assert events(raw) == expected


@pytest.mark.parametrize(
    ("raw", "error"),
    [
        (b'error: {"code":500}\n\n', b'{"code":500}'),
        (b"error:boom", b"boom"),
        (b"event: error\ndata: boom\n\n", b"boom"),
        (b"event:error\r\ndata: a\r\ndata: b\r\n\r\n", b"a\nb"),
        (b"data: boom\nevent: error\nid: 1\n\n", b"boom"),
        (b"event: error\ndata: boom", b"boom"),
        (b'{"error": "boom"}\n', b'{"error": "boom"}'),
        (b"event: error\n\ndata: a\n\n", None),
        (b"event: error_free\ndata: a\n\n", None),
        (b"event: error\nevent: message\ndata: a\n\n", None),
        (b": error\n\nerrors: 5\n\n", None),
    ],
)
def test_what_a_server_says_instead_of_going_on_is_kept(raw: bytes, error: bytes | None) -> None:
    for pieces in ([raw], [raw[at : at + 1] for at in range(len(raw))]):
        parser = EventParser()
        found = parser.feed(b"data: first\n\n") + [event for piece in pieces for event in parser.feed(piece)] + parser.end()
        assert parser.error == error
        assert found[:1] == [b"first"]
        assert (found[1:] == []) is (error is not None or b"data" not in raw)


def test_an_event_is_handed_out_with_its_last_byte() -> None:
    parser = EventParser()
    assert parser.feed(b"data: a\n") == []
    assert parser.feed(b"\n") == [b"a"]
    assert parser.feed(b"data: b\r\n\r") == []
    assert parser.feed(b"\n") == [b"b"]
    assert parser.end() == []


@given(st.lists(st.sampled_from(["{}", '{"a": "ü€😀"}', "[DONE]", " x", ":"]), max_size=6), st.lists(st.integers(0, 120), max_size=6))
def test_events_of_one_line_each_come_with_their_last_byte(said: list[str], cuts: list[int]) -> None:
    """S01: as nearly all streams are, in pieces that end anywhere."""
    parser, raw = EventParser(), "".join(f"data: {value}\n\n" for value in said).encode()
    places = sorted({0, len(raw), *(cut for cut in cuts if cut < len(raw))})
    found: list[bytes] = []
    for start, end in pairwise(places):
        found += parser.feed(raw[start:end])
        assert len(found) == raw[:end].count(b"\n\n")
    assert found == [value.encode() for value in said]
    assert parser.end() == []


@pytest.mark.parametrize(
    ("pieces", "expected", "error"),
    [
        ([b"data: a\n\ndata: b\n", b"data: c\n\n"], [b"a", b"b\nc"], None),
        ([b"data: a\n\nevent: error\n", b"data: b\n\n"], [b"a"], b"b"),
        ([b"data: a\n\n", b'{"error": 1}\n'], [b"a"], b'{"error": 1}'),
        ([b'data: a\n\n{"error"', b": 1}\ndata: b\n\n"], [b"a"], b'{"error": 1}'),
        ([b"data: a\n\ndata: \n\ndata: b\n\n"], [b"a", b"b"], None),
        ([b"data: a\n\ndata: b\r", b"\n\r\n"], [b"a", b"b"], None),
        ([b"data: a\n\n\n\ndata: b\n\n"], [b"a", b"b"], None),
        ([b"data: a\n\ndata:b\n\n"], [b"a", b"b"], None),
        ([b"data: a\n\nid: 1\ndata: b\n\n"], [b"a", b"b"], None),
        ([b"data: a\n\nda", b"ta: b"], [b"a", b"b"], None),
    ],
)
def test_what_is_unusual_among_usual_events(pieces: list[bytes], expected: list[bytes], error: bytes | None) -> None:
    """S01"""
    parser = EventParser()
    found = [event for piece in pieces for event in parser.feed(piece)]
    if parser.error is None:
        found += parser.end()
    assert (found, parser.error) == (expected, error)
