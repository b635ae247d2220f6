"""A model that says what a test tells it to: for testing agents without a network, a key or chance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, TypeAlias, cast

from pydantic_core import to_json

from ..effects import CallModel, Reply
from ..errors import SwarmError
from ..messages import read_reply

Chunk: TypeAlias = dict[str, Any]


def call(name: str, /, arguments: dict[str, Any] | str | None = None, *, id: str | None = None) -> dict[str, Any]:
    """A tool call for a scripted turn.

    Args:
        name: the function.
        arguments: by name, or the JSON text as a model would write it, broken if the test wants that.
        id: the call's id; by default made from its place in the script.
    """
    text = arguments if isinstance(arguments, str) else to_json(arguments or {}).decode()
    return {"id": id, "type": "function", "function": {"name": name, "arguments": text}}


class Turn:
    """One scripted turn, said in full.

    Args:
        text: the content, or None.
        calls: tool calls, each from `call(...)`.
        finish_reason: by default "tool_calls" if there are calls, else "stop".
        usage: (input tokens, output tokens), or None for a provider that sends no count.
        chunks: the very chunks to stream: texts for content, dicts for deltas or whole chunks, an exception to break off with.
        error: raise this instead of answering.
        extra: further fields of the message, such as a provider's own.
    """

    __slots__ = ("calls", "chunks", "error", "extra", "finish_reason", "text", "usage")

    def __init__(
        self,
        text: str | None = None,
        calls: Sequence[dict[str, Any]] = (),
        *,
        finish_reason: str | None = None,
        usage: tuple[int, int] | None = (10, 5),
        chunks: Sequence[Any] | None = None,
        error: BaseException | None = None,
        extra: dict[str, Any] | None = None,
    ) -> None:
        self.text = text
        self.calls = calls
        self.finish_reason = finish_reason or ("tool_calls" if calls else "stop")
        self.usage = usage
        self.chunks = chunks
        self.error = error
        self.extra = extra or {}

    def __repr__(self) -> str:
        names = [entry["function"]["name"] for entry in self.calls]
        parts = [repr(self.error)] if self.error else ([repr(self.text)] if self.text is not None else []) + [f"{name}()" for name in names]
        return f"Turn({', '.join(parts)})"


class ScriptedModel:
    """A Model that answers with scripted turns, in order, and records what it was asked.

    As a context manager it fails at the end if turns are left over, naming them, or if one was missing and something caught the error.

    Args:
        turns: each a text, a `call(...)`, a list of calls, a Turn, or an exception to raise.

    Raises:
        TypeError: a turn that is none of these, or a text instead of a list.

    Attributes:
        requests: the keyword arguments of each request so far, with the messages as they were then.
        open_streams: streams that were begun and neither read to their end nor closed.
    """

    blocking = False

    def __init__(self, turns: Sequence[Any]) -> None:
        if isinstance(turns, str):
            raise TypeError(f"a script is a list of turns: [{turns!r}]")
        self._count = len(turns)
        # From the end, since pop() is safe where agents in threads ask side by side.
        self._left = [(number, _turn(turn)) for number, turn in enumerate(turns)][::-1]
        self.requests: list[dict[str, Any]] = []
        self.open_streams = 0

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._count} turns, {len(self._left)} left)"

    @property
    def unused(self) -> list[Turn]:
        """The turns that nobody has asked for."""
        return [turn for _, turn in reversed(self._left)]

    def complete(self, call: CallModel) -> Reply:
        """The next turn as one answer."""
        turn, number = self._take(call)
        if turn.chunks is not None:
            raise SwarmError(f"turn {number + 1} of the script is written in chunks, and no stream was asked for")
        return read_reply(_completion(turn, number, call.request.get("model")))

    def stream(self, call: CallModel) -> Iterator[Chunk]:
        """The next turn in chunks."""
        turn, number = self._take(call)
        return _Chunks(self, _written(turn) if turn.chunks is not None else _split(turn, number))

    def _take(self, call: CallModel) -> tuple[Turn, int]:
        self.requests.append({**call.request, "messages": list(call.request.get("messages", ()))})
        try:
            number, turn = self._left.pop()
        except IndexError:
            raise SwarmError(self._too_short(call.request)) from None
        if turn.error is not None:
            raise turn.error
        return turn, number

    def _too_short(self, request: dict[str, Any]) -> str:
        messages: list[dict[str, Any]] = request.get("messages") or [{}]
        last = messages[-1]
        return (
            f"the script has {self._count} turn{'' if self._count == 1 else 's'} and was asked for one more, after the message "
            f"{last.get('role')}: {last.get('content')!r}. Add a turn, or see .requests for why the run went on."
        )

    def assert_done(self) -> None:
        """Fail if turns are left over, or if one was missing.

        Raises:
            AssertionError: names the turns, or the request for which there was none.
        """
        if self.unused:
            raise AssertionError(f"{len(self.unused)} of {self._count} scripted turns were not used: {self.unused}")
        if len(self.requests) > self._count:
            raise AssertionError(self._too_short(self.requests[self._count]))

    def __enter__(self) -> ScriptedModel:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self.assert_done()


class _Chunks(Iterator[Chunk]):
    def __init__(self, model: ScriptedModel, chunks: Iterator[Chunk]) -> None:
        self._model: ScriptedModel | None = model
        self._chunks = chunks
        model.open_streams += 1

    def __next__(self) -> Chunk:
        try:
            return next(self._chunks)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._model is not None:
            self._model.open_streams -= 1
            self._model = None


def _turn(turn: Any) -> Turn:
    if isinstance(turn, Turn):
        return turn
    if isinstance(turn, str):
        return Turn(turn)
    if isinstance(turn, BaseException):
        return Turn(error=turn)
    if isinstance(turn, dict):
        return Turn(calls=[cast("dict[str, Any]", turn)])
    if isinstance(turn, list):
        return Turn(calls=cast("list[dict[str, Any]]", turn))
    raise TypeError(f"a turn of a script is a text, a call(...), a list of calls, a Turn or an exception, not {turn!r}")


def _calls(turn: Turn, number: int) -> list[dict[str, Any]]:
    return [
        entry if entry.get("id") is not None else {**entry, "id": f"call_{number + 1}_{position + 1}"}
        for position, entry in enumerate(turn.calls)
    ]


def _usage(turn: Turn) -> dict[str, int] | None:
    if turn.usage is None:
        return None
    inputs, outputs = turn.usage
    return {"prompt_tokens": inputs, "completion_tokens": outputs, "total_tokens": inputs + outputs}


def _completion(turn: Turn, number: int, model: Any) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": turn.text, **turn.extra}
    if turn.calls:
        message["tool_calls"] = _calls(turn, number)
    choice = {"index": 0, "message": message, "finish_reason": turn.finish_reason}
    return {"id": f"scripted-{number + 1}", "object": "chat.completion", "model": model, "choices": [choice], "usage": _usage(turn)}


def _chunk(delta: dict[str, Any], finish_reason: str | None = None) -> Chunk:
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}


def _split(turn: Turn, number: int) -> Iterator[Chunk]:
    """A turn as a provider streams it: word by word, arguments in pieces, the usage at the end."""
    yield _chunk({"role": "assistant", "content": "" if turn.text is not None else None, **turn.extra})
    words = (turn.text or "").split(" ")
    for position, word in enumerate(words):
        if piece := word if position == len(words) - 1 else word + " ":
            yield _chunk({"content": piece})
    for index, entry in enumerate(_calls(turn, number)):
        text = entry["function"]["arguments"] or ""
        yield _chunk({"tool_calls": [{**entry, "index": index, "function": {**entry["function"], "arguments": ""}}]})
        for start in range(0, len(text), 8):
            yield _chunk({"tool_calls": [{"index": index, "function": {"arguments": text[start : start + 8]}}]})
    yield _chunk({}, turn.finish_reason)
    if turn.usage is not None:
        yield {"object": "chat.completion.chunk", "choices": [], "usage": _usage(turn)}


def _written(turn: Turn) -> Iterator[Chunk]:
    for piece in turn.chunks or ():
        if isinstance(piece, BaseException):
            raise piece
        if isinstance(piece, str):
            yield _chunk({"content": piece})
        else:
            known = cast("dict[str, Any]", piece)
            yield known if "choices" in known or "error" in known else _chunk(known)
