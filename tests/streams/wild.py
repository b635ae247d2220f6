"""The fixtures of tests/data/streams, and the clients that play them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from openai.types.chat import ChatCompletionChunk

FOLDER = Path(__file__).parent.parent / "data" / "streams"


class Fixture:
    """One streamed answer, and what is to come of it.

    Attributes:
        name: of the file.
        head: its first line.
        lines: the pieces: a dict is a chunk, a string is sent as it is.
    """

    def __init__(self, path: Path) -> None:
        self.name = path.stem
        self.head, *self.lines = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())

    @property
    def expect(self) -> dict[str, Any]:
        """What the whole answer is, or how it fails."""
        return self.head["expect"]

    @property
    def is_raw(self) -> bool:
        """Whether it can only be said in bytes."""
        return any(isinstance(line, str) for line in self.lines)

    def body(self) -> bytes:
        """What a server sends."""
        pieces = [line if isinstance(line, str) else f"data: {json.dumps(line)}\n\n" for line in self.lines]
        return ("".join(pieces) + ("data: [DONE]\n\n" if self.head.get("done", True) else "")).encode()


@cache
def fixtures() -> dict[str, Fixture]:
    """All of them by name."""
    return {path.stem: Fixture(path) for path in sorted(FOLDER.glob("*.jsonl"))}


def as_plain(chunk: dict[str, Any]) -> Any:
    """A chunk as a dict of its own."""
    return json.loads(json.dumps(chunk))


def as_official(chunk: dict[str, Any]) -> Any:
    """A chunk as the official client makes it: without validation, unknown fields kept."""
    return ChatCompletionChunk.construct(None, **as_plain(chunk))


def as_simple(chunk: dict[str, Any]) -> Any:
    """A chunk as a simple object: what the API reference names are attributes, a provider's own fields are plain JSON."""
    fields = as_plain(chunk)
    fields["choices"] = [_simple_choice(choice) for choice in fields["choices"]] if fields.get("choices") is not None else None
    if isinstance(fields.get("usage"), dict):
        fields["usage"] = SimpleNamespace(**fields["usage"])
    return SimpleNamespace(**fields)


def _simple_choice(choice: dict[str, Any]) -> Any:
    delta = choice.get("delta")
    if delta is not None:
        calls = delta.get("tool_calls")
        if calls is not None:
            delta["tool_calls"] = [_simple_call(call) for call in calls]
        choice["delta"] = SimpleNamespace(**delta)
    return SimpleNamespace(**choice)


def _simple_call(call: dict[str, Any]) -> Any:
    return SimpleNamespace(**{**call, "function": SimpleNamespace(**call["function"])} if "function" in call else call)


SHAPES = {"plain": as_plain, "official": as_official, "simple": as_simple}


class Player:
    """A client with nothing but `chat.completions.create`, which streams a fixture.

    Args:
        fixture: what it answers.
        shape: one of SHAPES, what its chunks are made of.
        is_async: whether it is to be awaited.
    """

    def __init__(self, fixture: Fixture, shape: str, is_async: bool) -> None:
        self._chunks = [SHAPES[shape](line) for line in fixture.lines]
        self.chat = SimpleNamespace(completions=SimpleNamespace(create=self._acreate if is_async else self._create))

    def _create(self, **request: Any) -> Iterator[Any]:
        assert request["stream"] is True
        return iter(self._chunks)

    async def _acreate(self, **request: Any) -> AsyncIterator[Any]:
        async def stream() -> AsyncIterator[Any]:
            for chunk in self._create(**request):
                yield chunk

        return stream()
