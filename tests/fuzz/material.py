"""What the fuzz tests are made of: valid examples with damage done to their bytes, and garbage that is built like the real thing.

Pure noise is refused by the first `if` it meets. So damage is done to valid texts, with the pieces that readers stumble over, and garbage
is made of the field names that the readers look for, holding values of every wrong kind.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from swarm.errors import SwarmError

T = TypeVar("T")

FUZZ = settings(
    settings.default,
    max_examples=max(250, getattr(settings.default, "max_examples", 0)),
    derandomize=getattr(settings.default, "derandomize", True),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
"""A few hundred cases a test, the same in each run; as many as the nightly profile says at night."""

FIELDS = (
    *("id", "object", "model", "created", "choices", "usage", "error", "message", "delta", "index", "finish_reason", "role", "content"),
    *("tool_calls", "function_call", "function", "name", "arguments", "type", "refusal", "annotations", "audio", "reasoning_content"),
    *("reasoning", "text", "code", "status", "detail", "msg", "x_groq", "prompt_tokens", "completion_tokens", "prompt_tokens_details"),
    *("tool_call_id", "tool_name", "sender", "extra_content", "signature", "data", "custom", "input"),
)
TEXTS = (
    *("", " ", "a", "None", "null", "{}", "[]", "{", '{"a": 1}', '{"a": 1}}', "stop", "length", "tool_calls", "error", "assistant", "tool"),
    *("user", "system", "function", "text", "call_1", "look_up", "[DONE]", "0", "42", "-1", "1e999", "NaN", "é", "東京", "\U0001f41d"),
    *("\x00", "\ud83d", "\udc1d", "\ud83d\udc1d", "\ufffd", "﻿", "\u2028", "x" * 300, "\\u00", "data: x\n\n", "__class__", "9" * 5000),
)
NUMBERS = (0, 1, 2, -1, 3, 99, 2**31, 2**63, 2**64, -(2**63), 10**30, 10**400, 0.5, -0.0, 1e308, float("inf"), float("nan"))

leaves = st.none() | st.booleans() | st.sampled_from(NUMBERS) | st.sampled_from(TEXTS) | st.text(max_size=8) | st.integers(-3, 300)


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Lists, and dicts whose keys are those that readers look for."""
    return st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS) | st.sampled_from(TEXTS), inner, max_size=4)


garbage = st.recursive(leaves, containers, max_leaves=8)
"""Any JSON value and some that JSON cannot hold."""


def shaped(form: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Dicts of a form: each field as it should be, as garbage, or missing; a few fields more."""
    fields = {name: kind | garbage for name, kind in form.items()}
    return st.builds(
        lambda base, more: {**more, **base},
        st.fixed_dictionaries({}, optional=fields),
        st.dictionaries(st.sampled_from(FIELDS), garbage, max_size=1),
    )


names = st.sampled_from(("look_up", "pay", "transfer_to_b", "", "lo ok", "é", "x" * 80))
ids = st.sampled_from(("c1", "c2", "c3", "", "look_up", "call_1_0"))
pieces = st.sampled_from(("", "{", "}", '{"q":', '"x"}', '{"q": "x"}', "null", " ", "\\", "ü", "\ud83d"))
numbers = st.sampled_from((0, 1, 2, 0, 1, -1, 7))
functions = shaped({"name": names, "arguments": pieces})
calls = shaped({"index": numbers, "id": ids, "type": st.just("function"), "function": functions})
texts = st.sampled_from(("", "Hel", "lo", " ", "é", "\ud83d", "\udc1d"))
deltas = shaped({"role": st.just("assistant"), "content": texts, "tool_calls": st.lists(calls, max_size=3), "function_call": functions})
usage = shaped({"prompt_tokens": numbers, "completion_tokens": numbers, "prompt_tokens_details": st.just({"cached_tokens": 1})})
reasons = st.sampled_from((None, None, None, "stop", "tool_calls", "length", "content_filter", "error"))
chunks = shaped(
    {
        "id": ids,
        "model": st.just("m"),
        "choices": st.lists(shaped({"index": st.just(0), "delta": deltas, "finish_reason": reasons, "message": deltas}), max_size=2),
        "usage": usage,
    }
)
errors = shaped({"error": shaped({"message": texts, "code": numbers | texts, "type": texts}), "detail": texts, "message": texts})
completions = shaped(
    {
        "id": ids,
        "model": st.just("m"),
        "choices": st.lists(shaped({"index": st.just(0), "message": deltas, "finish_reason": reasons}), max_size=2),
        "usage": usage,
    }
)
messages = shaped(
    {
        "role": st.sampled_from(("user", "assistant", "assistant", "tool", "tool", "system", "developer", "function")),
        "content": texts | st.just([{"type": "text", "text": "a"}]),
        "tool_calls": st.lists(calls, min_size=1, max_size=3),
        "tool_call_id": ids,
        "name": names,
        "tool_name": names,
    }
)

INSERTS = (
    *(b"\xff", b"\x00", b"\xef\xbb\xbf", b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\", b"\\u", b"\\ud83d", b"\\udc1d", b"\n", b"\r"),
    *(b"\r\n", b"\n\n", b"data:", b"data: ", b"data: [DONE]\n\n", b"event: error\n", b"error:", b": x\n", b"null", b"NaN", b"-Infinity"),
    *(b"1e999", b"9" * 5000, b"[" * 300, b"[" * 3000, b'{"a":' * 300, b'{"error":', b"\xed\xa0\xbd", b"\xf0\x9f\x90", b" " * 100),
)


@st.composite
def damaged(draw: st.DrawFn, examples: tuple[bytes, ...]) -> bytes:
    """One of the examples, after up to six cuts, repetitions, swaps, insertions and changed bytes."""
    data = bytearray(draw(st.sampled_from(examples)))
    for _ in range(draw(st.integers(0, 6))):
        at, size = draw(st.integers(0, len(data))), draw(st.integers(0, 12))
        kind = draw(st.sampled_from(("cut", "repeat", "insert", "insert", "byte", "end", "move")))
        piece = bytes(data[at : at + size])
        if kind == "cut":
            del data[at : at + size]
        elif kind == "repeat":
            data[at:at] = piece * draw(st.integers(1, 4))
        elif kind == "insert":
            data[at:at] = draw(st.sampled_from(INSERTS))
        elif kind == "byte" and at < len(data):
            data[at] = draw(st.integers(0, 255))
        elif kind == "end":
            del data[at:]
        elif kind == "move":
            del data[at : at + size]
            to = draw(st.integers(0, len(data)))
            data[to:to] = piece
    return bytes(data)


@st.composite
def cut(draw: st.DrawFn, data: bytes) -> list[bytes]:
    """The bytes in pieces, cut anywhere."""
    at = sorted(draw(st.lists(st.integers(0, len(data)), max_size=6)))
    return [piece for start, end in zip([0, *at], [*at, len(data)], strict=True) if (piece := data[start:end])]


def deep(depth: int, leaf: Any = 0) -> Any:
    """Lists in dicts in lists, so many deep."""
    for number in range(depth):
        leaf = [leaf] if number % 2 else {"a": leaf}
    return leaf


def text_of_json(value: Any) -> bytes:
    """JSON as Python's own writer has it: half characters are escaped, and NaN is written."""
    return json.dumps(value).encode()


def outcome(run: Callable[[], T], kind: type[SwarmError]) -> T | SwarmError:
    """What a reader makes of foreign data: a value, or an error of that kind that says something readable. Anything else fails the test."""
    try:
        return run()
    except kind as error:
        said = str(error)
        assert said.strip()
        assert "Traceback" not in said
        assert "RecursionError" not in said
        return error


def places_in(value: Any) -> list[tuple[Any, Any]]:
    """Each place in a JSON value, at any depth: what holds it, and its key or index there."""
    places: list[tuple[Any, Any]] = []
    todo: list[Any] = [value]
    while todo:
        here = todo.pop()
        keys = list(here) if isinstance(here, dict) else range(len(here))
        places += [(here, key) for key in keys]
        todo += [here[key] for key in keys if isinstance(here[key], dict | list)]
    return places
