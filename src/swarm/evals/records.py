"""Results of an eval as JSON lines: a header, then one line for each conversation as it ends.

A line is written and flushed when its conversation is over, so a process that is killed loses only what was still going on; a half-written
last line is part of that. The order of the lines is the order of finishing. A result with an `error` is no answer of the agents: it is
tried again when the run is resumed, and of two lines for one conversation the later one counts.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from pydantic_core import to_jsonable_python

from .problems import EvalError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

VERSION = 1
_BEGINS = b'{"kind": "eval"'
Line = dict[str, Any]
Record = TypeVar("Record", "Header", "CaseResult", "Score")


@dataclass(slots=True)
class Score:
    """What one scorer says of one conversation.

    Attributes:
        passed: whether it is as it should be.
        value: from 0 to 1; 1 or 0 where there is nothing between.
        expected: what the case asks for, as JSON.
        actual: what there was, as JSON.
        reason: why, for a person; may be empty.
    """

    passed: bool
    value: float
    expected: Any = None
    actual: Any = None
    reason: str = ""


@dataclass(slots=True, kw_only=True)
class Header:
    """The first line: what was measured.

    Attributes:
        id: of this run of the eval, made up when it began.
        target: whose agents, `module:agent` on the command line.
        files: the files of the cases, in order.
        cases: how many there are.
        digest: a hash of the cases, by which a run is resumed only with the same.
        repeat: how often each is played.
        seed: the seed, or None.
        model: the model that was asked for.
        swarm: the version of this library.
        started: when it began, as ISO 8601 in UTC.
        scorers: names of the scorers that were used.
        models_apart: the models that only measure, as they were asked for, by who they are: "judge", "user".
    """

    id: str
    target: str
    files: list[str]
    cases: int
    digest: str
    repeat: int
    seed: int | None
    model: str
    swarm: str
    started: str
    scorers: list[str]
    models_apart: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(slots=True, kw_only=True)
class CaseResult:
    """One finished conversation. Everything in it is JSON.

    Attributes:
        case: id of the case.
        repetition: 0 for the first time it is played.
        place: `file:line` of the case, or "".
        tags: of the case.
        agent: name of the agent that began.
        passed: whether every score passed and nothing failed.
        scores: by name of the scorer, those that applied.
        messages: the whole conversation, with `sender`; what was given comes first.
        input: how many of the messages were given.
        final_agent: name of the agent that was active at the end.
        calls: each with `name`, `arguments`, `agent` and `outcome`: as of `ToolCall`, "pending" for one that waits for an approval, or
            "not run" where functions are not run.
        handoffs: who handed over to whom, as pairs of names.
        stop_reason: as of the Response, "max_messages" if a simulated user was cut off, or "error".
        state: what the scorer of the state compares: the context variables, or what a function made of them; None if only the first
            reply was asked for.
        usage: `input_tokens`, `output_tokens`, `cached_tokens`, `reasoning_tokens`, `model_calls`, and `cost` in US dollars or None.
        usage_apart: the same of models that only measure, by who they are: "judge", "user".
        seconds: how long the conversation took.
        error: None, or what failed as `type` and `message`; that is no answer of the agents, yet counts as not passed.
        started: when it began, as ISO 8601 in UTC.
    """

    case: str
    repetition: int
    place: str
    tags: list[str]
    agent: str
    passed: bool
    scores: dict[str, Score]
    messages: list[Line]
    input: int
    final_agent: str
    calls: list[Line]
    handoffs: list[list[str]]
    stop_reason: str
    state: Any
    usage: Line
    seconds: float
    error: dict[str, str] | None
    started: str
    usage_apart: dict[str, Line] = field(default_factory=dict[str, Line])

    @property
    def key(self) -> tuple[str, int]:
        """The case's id and the repetition: there is one result for each."""
        return self.case, self.repetition


@dataclass(slots=True)
class Results:
    """What a run of an eval came to.

    Attributes:
        header: what was measured.
        results: the conversations, in the order in which they ended.
    """

    header: Header
    results: list[CaseResult] = field(default_factory=list["CaseResult"])

    @property
    def passed(self) -> int:
        """How many of the conversations passed."""
        return sum(result.passed for result in self.results)

    @property
    def accuracy(self) -> float:
        """The share of them that passed, 0 if there are none."""
        return self.passed / len(self.results) if self.results else 0.0


def read_results(path: str | os.PathLike[str]) -> Results:
    """Read a file of results; one of a run that is not over is read as far as it goes.

    Args:
        path: the file.

    Raises:
        EvalError: it is no such file, with the line that is wrong.
        OSError: it cannot be read.
    """
    return _read(Path(path))[0]


def _read(path: Path) -> tuple[Results, int]:
    """The results in a file, and how many bytes of it are whole lines."""
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1  # what is behind it was being written when the process was killed
    header: Header | None = None
    found: dict[tuple[str, int], CaseResult] = {}
    for number, text in enumerate(data[:whole].split(b"\n")[:-1], 1):
        try:
            line = json.loads(text)
            if header is None:
                header = _header(line)
            else:
                result = _result(line)
                found.pop(result.key, None)
                found[result.key] = result
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise EvalError(f"{path}:{number}: no line of eval results ({type(error).__name__}: {error}); mend or remove it") from None
    if header is None:
        raise EvalError(f"{path}:1: no eval results, since it has no header; name a file that `swarm eval --out` wrote")
    return Results(header, list(found.values())), whole


def _header(line: Line) -> Header:
    if line["kind"] != "eval" or line["version"] != VERSION:
        raise ValueError(f'the first line must have "kind": "eval" and "version": {VERSION}')
    return _made(Header, line)


def _result(line: Line) -> CaseResult:
    if line["kind"] != "result":
        raise ValueError('"kind" must be "result"')
    return _made(CaseResult, line | {"scores": {name: _made(Score, score) for name, score in line["scores"].items()}})


def _made(kind: type[Record], line: Line) -> Record:
    """A record from its line; fields that are not ours are left out, so that others may add some."""
    names = {entry.name for entry in fields(kind)}
    return kind(**{name: value for name, value in line.items() if name in names})


def as_json(value: Any) -> Any:
    """A value as plain JSON; what JSON cannot hold is named by its type, and a value that holds itself is too. Bytes are text if all are
    UTF-8, else Base64."""
    for mode in ("utf8", "base64"):
        with suppress(ValueError):
            return to_jsonable_python(value, fallback=_type_name, inf_nan_mode="null", bytes_mode=mode)
    return _type_name(value)


def _type_name(value: Any) -> str:
    kind: Any = value if isinstance(value, type) else type(value)
    return f"<{kind.__module__}.{kind.__qualname__}>"


class Writer:
    """Writes results to a file as they come. A context manager.

    Args:
        path: the file.
        header: its first line.
        resume: go on with a file that is there, if it is of the same run.

    Raises:
        EvalError: there is such a file already and `resume` is false; or it holds something else than results of this run; or another
            process writes it; or it cannot be opened.
        OSError: it cannot be written to, such as on a full disk.

    Attributes:
        before: the results that the file held already, without those that failed, which are to be tried again.
        header: the header in the file.
    """

    def __init__(self, path: str | os.PathLike[str], header: Header, resume: bool = False) -> None:
        self._path, self.header = Path(path), header
        self.before: list[CaseResult] = []
        # A lone surrogate, which UTF-8 cannot hold, is written as a backslash escape, which is the escape of JSON too.
        try:
            self._file = self._path.open("a", encoding="utf-8", errors="backslashreplace", newline="\n")
        except OSError as error:
            raise EvalError(f"{self._path} cannot be written: {error.strerror}; name a file in a folder that is there") from None
        try:
            self._lock()
            is_there = self._path.stat().st_size > 0
            if is_there and not resume:
                raise EvalError(f"{self._path} is there already: resume it (--resume), or name another file")
            whole = self._look_at(header) if is_there else 0
            if is_there:
                self._file.truncate(whole)
            if not whole:
                self._put({"kind": "eval", "version": VERSION, **_dict(header)})
        except BaseException:
            with suppress(OSError):
                self._file.close()
            raise

    def _lock(self) -> None:
        """Keep others out for as long as the file is open; the system lets go of it however the process ends."""
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise EvalError(f"another process writes {self._path}: wait for its end, or name another file") from None
        except OSError:  # a file system without locks
            return

    def _look_at(self, header: Header) -> int:
        begins = self._path.read_bytes()
        if b"\n" not in begins and begins[: len(_BEGINS)] == _BEGINS[: len(begins)]:  # killed while it wrote the header
            return 0
        there, whole = _read(self._path)
        for name in ("target", "model", "digest", "repeat", "seed", "scorers", "models_apart"):
            old, new = getattr(there.header, name), getattr(header, name)
            if old != new:
                what = "the cases are not the same" if name == "digest" else f"{name} is {old!r} there and {new!r} now"
                raise EvalError(f"{self._path} cannot be resumed, {what}: start again as it was started, or name another file")
        self.header = there.header
        self.before = [result for result in there.results if result.error is None]
        return whole

    def write(self, result: CaseResult) -> None:
        """Add a result, so that it is in the file when this returns."""
        self._put({"kind": "result", **_dict(result)})

    def _put(self, line: Line) -> None:
        try:
            self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
            self._file.flush()
        except OSError as error:  # which does not say where
            raise OSError(error.errno, error.strerror, str(self._path)) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._file.close()


def _dict(record: Header | CaseResult) -> Line:
    line = _plain(record)
    if isinstance(record, CaseResult):
        line["scores"] = {name: _plain(score) for name, score in record.scores.items()}
    return line


def _plain(record: Header | CaseResult | Score) -> Line:
    return {entry.name: as_json(getattr(record, entry.name)) for entry in fields(record)}
