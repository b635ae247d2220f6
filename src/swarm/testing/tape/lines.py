"""The form of a tape on disk: JSON lines that a person can read in a review and that change only where the conversation does.

The first line says what the file is. Each other line is one answer of a model, with what was asked and by which agent, or one tool call. A
request that goes on from an earlier one is written as the difference, so a text that changes changes one line, not all that follow:

    {"tape": 1}
    {"agent": "Desk", "request": {"model": "gpt-4o", "messages": [...], "tools": [...]}, "reply": {...}}
    {"tool": "refund", "call": "call_1", "arguments": {"item": 7}, "text": "done"}
    {"like": 2, "more": [...the messages behind those of line 2...], "agent": "Desk", "reply": {...}}

There is nothing in it that differs from one recording of the same conversation to the next: no time, no random id.
"""

from __future__ import annotations

import json
import os
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeAlias, cast

from ...errors import SwarmError
from ...legal import is_dict, is_utf8
from .form import wrong_in

VERSION = 1
Line: TypeAlias = dict[str, Any]
# Parts of a request that belong to how it is sent, not to what is asked; headers and URLs may hold keys.
_NOT_KEPT = frozenset(("extra_headers", "extra_query", "stream", "stream_options", "timeout"))


class TapeError(SwarmError):
    """A tape that is missing, that cannot be read, or that does not hold what a run asks for."""


def kept(request: Line) -> Line:
    """A request as a tape keeps it: plain JSON, the same whether it was streamed or not."""
    return as_json({key: value for key, value in request.items() if key not in _NOT_KEPT})


def as_json(value: Any) -> Any:
    """A copy in plain JSON. What JSON cannot hold is named by its type: an address in memory would differ from run to run."""
    return json.loads(json.dumps(value, default=_type_name))


def _type_name(value: Any) -> str:
    kind: Any = value if isinstance(value, type) else type(value)
    return f"<{kind.__module__}.{kind.__qualname__}>"


def read_tape(path: Path) -> tuple[Line, list[Line]]:
    """The first line of a tape, and the others with their requests whole again.

    Raises:
        TapeError: there is no such file, or it is no tape; the error names the line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")  # some editors put a mark in front
    except FileNotFoundError:
        raise TapeError(f"there is no tape {path} yet; {how_to_record()}") from None
    except UnicodeDecodeError as error:
        raise TapeError(f"{path} is no text in UTF-8 ({error}); {how_to_record()}") from None
    lines = [_parsed(path, number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines or lines[0].get("tape") != VERSION:
        says = (
            f"its first line says {lines[0]['tape']!r}" if lines and "tape" in lines[0] else f'its first line is not {{"tape": {VERSION}}}'
        )
        found = says if lines else "it is empty"
        raise TapeError(f"{path} is no tape of version {VERSION}: {found}; {how_to_record()}")
    for number, line in enumerate(lines[1:], 2):
        try:
            if "tool" not in line:
                line["request"] = _whole(line, lines[: number - 1])
            if not ({"call", "arguments", "text"} <= line.keys() if "tool" in line else {"reply", "chunks", "error"} & line.keys()):
                raise KeyError
        except IndexError:
            raise TapeError(f'{path}, line {number}: "like" must be the number of an earlier answer\'s line; {how_to_record()}') from None
        except (KeyError, TypeError, AttributeError):
            raise TapeError(f"{path}, line {number}: it is no answer and no tool call; {how_to_record()}") from None
    for number, line in enumerate(lines, 1):
        if wrong := wrong_in(line, is_first=number == 1):
            raise TapeError(f"{path}, line {number}: {wrong}; {how_to_record()}")
    return lines[0], lines[1:]


def how_to_record() -> str:
    """The line that tells how a tape is made."""
    return "record it with SWARM_RECORD=1 in the environment, with pytest --swarm-record, or with Tape(..., record=True)"


def _parsed(path: Path, number: int, text: str) -> Line:
    try:
        line: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TapeError(f"{path}, line {number}: it is no JSON ({error}); {how_to_record()}") from None
    if not is_dict(line):
        raise TapeError(f"{path}, line {number}: it is no JSON object; {how_to_record()}")
    return line


def write_tape(path: Path, head: Line, lines: list[Line]) -> None:
    """Write a tape, whole or not at all.

    Args:
        path: where; folders that are missing are made.
        head: what the first line says besides the version.
        lines: the others, with whole requests.
    """
    written = [{"tape": VERSION, **head}, *(_short(line, lines[:index]) for index, line in enumerate(lines))]
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes("".join(f"{_text(line)}\n" for line in written).encode())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def _text(line: Line) -> str:
    text = json.dumps(line, ensure_ascii=False)
    # Half characters cannot be written as UTF-8, and some readers take U+2028 for the end of a line.
    return text if text.isascii() or (text.isprintable() and is_utf8(text)) else json.dumps(line)


def _short(line: Line, earlier: list[Line]) -> Line:
    """The line with its request as what is new since the last one that it goes on from."""
    if "tool" in line:
        return line
    request, told = line["request"], _told(line["request"])
    for number in range(len(earlier), 0, -1):
        old: Line | None = earlier[number - 1].get("request")
        if old is None or not _told(old) or told[: len(_told(old))] != _told(old):
            continue
        new = {key: value for key, value in request.items() if key != "messages" and (key not in old or old[key] != value)}
        gone = [key for key in old if key not in request]
        instructions = _instructions(request)
        short: Line = {"like": number + 1, "more": told[len(_told(old)) :]}
        short |= {"instructions": instructions} if instructions != _instructions(old) else {}
        short |= {"request": new} if new else {}
        short |= {"without": gone} if gone else {}
        return short | {key: value for key, value in line.items() if key != "request"}
    return line


def _whole(line: Line, earlier: list[Line]) -> Line:
    """The request of a line, whole; takes the parts that `_short` made out of the line."""
    number: Any = line.pop("like", None)
    if number is None:
        return line["request"]
    if number not in range(1, len(earlier) + 1) or "request" not in earlier[number - 1]:
        raise IndexError
    old: Line = earlier[cast("int", number) - 1]["request"]
    gone: list[str] = line.pop("without", [])
    new: Line = line.pop("request", {})
    instructions = line.pop("instructions", None)
    messages = [*(_instructions(old) if instructions is None else instructions), *_told(old), *line.pop("more")]
    return {key: value for key, value in old.items() if key not in gone} | new | {"messages": messages}


def _instructions(request: Line) -> list[Line]:
    """The messages that an agent begins with; a handoff changes them and leaves the rest."""
    return list(takewhile(lambda message: message.get("role") in ("system", "developer"), request.get("messages", ())))


def _told(request: Line) -> list[Line]:
    return request.get("messages", [])[len(_instructions(request)) :]
