"""Answers from a tape. A question is found by what it asks, so calls side by side may come in any order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Any

from ...assembly import Assembler
from ...effects import Reply
from .answers import error_of, reply_as_chunk, reply_of
from .difference import difference, nearest
from .lines import Line, TapeError, as_json, how_to_record, read_tape


class Player:
    """The lines of a tape, each given out once.

    Args:
        path: where the tape is. It is read when it is first needed, so a test that asks nothing needs none.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self._read: tuple[Line, list[Line]] | None = None
        self._used: set[int] = set()

    @property
    def _tape(self) -> tuple[Line, list[Line]]:
        if self._read is None:
            self._read = read_tape(self._path)
        return self._read

    @property
    def head(self) -> Line:
        """What the first line says; nothing if there is no tape."""
        return self._tape[0] if self._path.exists() else {}

    def unused(self, with_tools: bool) -> list[str]:
        """The lines that nobody asked for, as a person would call them; none if there is no tape.

        Args:
            with_tools: whether tool calls count.
        """
        lines = self._tape[1] if self._path.exists() else []
        left = [index for index, line in enumerate(lines) if index not in self._used and (with_tools or "tool" not in line)]
        return [f"line {index + 2}: {_name(lines[index])}" for index in left]

    def take(self, asked: Line, who: str) -> tuple[int, Line]:
        """The first line not yet used that answers a question, and its number.

        Args:
            asked: the question, as `asked_model` and `asked_call` write it.
            who: the agent that asks, for the error.

        Raises:
            TapeError: there is none; it shows what differs from the nearest.
        """
        with self._lock:
            lines = self._tape[1]
            for index, line in enumerate(lines):
                if index not in self._used and _question(line) == asked:
                    self._used.add(index)
                    return index, line
            raise TapeError(self._missing(asked, who))

    def _missing(self, asked: Line, who: str) -> str:
        lines = self._tape[1]
        what = f"the call {asked['tool']} ({asked['call']})" if "tool" in asked else "this request"
        start = f"{self._path} holds no answer to {what} of agent {who!r}"
        alike = [index for index, line in enumerate(lines) if ("tool" in line) == ("tool" in asked)]
        same = [index for index in alike if _question(lines[index]) == asked]
        if same:
            places = ", ".join(str(index + 2) for index in same)
            return (
                f"{start}: it was recorded {_times(len(same))} (line {places}) and is asked for once more. To keep this, {how_to_record()}."
            )
        unused = [index for index in alike if index not in self._used]
        among = unused or alike
        at = nearest(asked, [_question(lines[index]) for index in among])
        if at is None:
            return f"{start}: nothing of the kind was recorded. To keep this, {how_to_record()}."
        index = among[at]
        was = "not used yet" if unused else "used already"
        return (
            f"{start}.\nThe nearest is line {index + 2} ({was}); what was recorded there (-), and what is asked (+):\n"
            f"{difference(asked, _question(lines[index]))}\nIf the change is meant, {how_to_record()}."
        )

    def reply(self, line: Line, name: str) -> Reply:
        """A model's answer in one piece, whether it was recorded so or as a stream.

        Args:
            line: what `take` gave.
            name: the agent that asked.

        Raises:
            ModelError: the model failed when it was recorded.
            TapeError: the stream was cut off by its reader when it was recorded.
        """
        if "error" in line:
            raise error_of(line["error"])
        assembler = Assembler(name)
        for chunk in line.get("chunks", ()):  # one of which may speak of an error
            assembler.feed(chunk)
        self._refuse_cut(line)
        if "reply" in line:
            return reply_of(line["reply"])
        reply = assembler.reply()
        reply.told = False
        return reply

    def chunks(self, line: Line) -> Iterator[Line]:
        """A model's answer as a stream; the errors as for `reply`, after what came before them."""
        if "reply" in line:
            yield reply_as_chunk(line["reply"])
        for chunk in line.get("chunks", ()):
            yield as_json(chunk)
        if "error" in line:
            raise error_of(line["error"])
        self._refuse_cut(line)

    def _refuse_cut(self, line: Line) -> None:
        if "cut" in line:
            raise TapeError(
                f"{self._path}: the stream was cut off by its reader when it was recorded, and is now read on; {how_to_record()}"
            )


def _question(line: Line) -> Line:
    return {key: line[key] for key in ("within", "request", "tool", "call", "arguments") if key in line}


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _name(line: Line) -> str:
    if "tool" in line:
        return f"{line['tool']} ({line['call']})"
    messages: list[Any] = line["request"].get("messages") or [{}]
    content = messages[-1].get("content")
    shown = content if isinstance(content, str) else "..."
    return f"an answer after {messages[-1].get('role')}: {shown[:80]!r}"
