"""Tape: a model that was recorded once and is replayed for ever, so that a test of real conversations needs no network, key or chance."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import aclosing, closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from pydantic import TypeAdapter

from ...approvals import ApprovalError
from ...effects import Call, CallModel, CallTool, Flow, Reply, StartRun
from ...errors import ModelError, OutOfTime
from ...inside import inside
from ...legal import is_dict
from ...models.profiles import Profile
from ...types import Response
from ..asking import aask, aread, ask, read
from .lines import Line, TapeError
from .player import Player
from .recorder import Recorder, StreamNote, asked_model
from .redaction import Redaction
from .toolcalls import Variables, asked_call, change, value_of, written_failure, written_value


class Tape:
    """A Model that gives the answers on a tape, or records them.

    `Swarm(Tape("tests/tapes/refund.jsonl"))` replays the models and runs the tools. `Swarm(tape, policies=[tape])` replays the tools too:
    they are not run; their results, handoffs and changes of the context variables come from the tape. A tape recorded in one mode (sync,
    async, streamed or not) replays in the others. An answer is found by its request, so calls side by side may come in any order.

    As a context manager it fails at the end if recorded answers were not asked for, naming them.

    Args:
        path: the file, JSON lines; made when it is recorded.
        client: who is asked when it is recorded: whatever a Swarm takes; a class or function is called for it, and only then; None for
            the client that `Swarm()` would make. It is not needed to replay.
        redact: what else must not stand in the file: names of fields, wherever they stand in JSON, and compiled patterns. Keys and what
            looks like one are always hidden, and headers are never written.
        record: whether to record, over what is there; by default if the environment variable SWARM_RECORD is set, as
            `pytest --swarm-record` does.

    Raises:
        TypeError: `redact` holds something else.
        TapeError: not here but in the run: the tape is missing, or does not hold what is asked; then it shows what differs from the nearest
            recorded request. Once that has happened, whatever is asked raises it again.
    """

    blocking = False

    def __init__(
        self, path: str | os.PathLike[str], client: Any = None, *, redact: Sequence[str | re.Pattern[str]] = (), record: bool | None = None
    ) -> None:
        self.path = Path(path)
        self._redaction = Redaction(redact)
        self._player = Player(self.path)
        self._recorder = Recorder(self.path, client, self._redaction) if (_is_wanted() if record is None else record) else None
        self._failure: TapeError | None = None
        self._is_policy = False

    def __repr__(self) -> str:
        return f"Tape({str(self.path)!r}{', record=True' if self.is_recording else ''})"

    def __copy__(self) -> Tape:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Tape:
        """The tape itself: a copy of an agent reads on where the other one was."""
        return self

    @property
    def is_recording(self) -> bool:
        """Whether the client is asked and the tape is written."""
        return self._recorder is not None

    @property
    def base_url(self) -> str | None:
        """Where the recorded answers came from, as far as requests are written for that provider in another way."""
        return self._head.get("base_url")

    @property
    def profile(self) -> Profile | str | None:
        """How the recorded client wanted its messages, if it said so."""
        profile: Any = self._head.get("profile")
        if is_dict(profile):
            return TypeAdapter(Profile).validate_python(profile)
        return profile

    @property
    def _head(self) -> Line:
        return self._player.head if self._recorder is None else self._recorder.head()

    # A Model

    def complete(self, call: CallModel) -> Reply:
        """The next answer to this request, in one piece."""
        recorder = self._recorder
        if recorder is None:
            return self._reply(call)
        try:
            reply = ask(recorder.sent(call))
        except ModelError as error:
            recorder.add_failure(call, error)
            raise
        return recorder.add_reply(call, reply)

    async def acomplete(self, call: CallModel) -> Reply:
        """`complete` for asyncio."""
        recorder = self._recorder
        if recorder is None:
            return self._reply(call)
        try:
            reply = await aask(recorder.sent(call))
        except ModelError as error:
            recorder.add_failure(call, error)
            raise
        return recorder.add_reply(call, reply)

    def stream(self, call: CallModel) -> Generator[Line, None, None]:
        """The next answer to this request, in chunks."""
        recorder = self._recorder
        if recorder is None:
            yield from self._chunks(call)
            return
        with StreamNote(recorder, call) as note, closing(read(recorder.sent(call))) as chunks:
            for chunk in chunks:
                yield note.take(chunk)

    async def astream(self, call: CallModel) -> AsyncGenerator[Line, None]:
        """`stream` for asyncio."""
        recorder = self._recorder
        if recorder is None:
            for chunk in self._chunks(call):
                yield chunk
            return
        with StreamNote(recorder, call) as note:
            async with aclosing(aread(recorder.sent(call))) as chunks:
                async for chunk in chunks:
                    yield note.take(chunk)

    def _reply(self, call: CallModel) -> Reply:
        line = self._found(asked_model(call, self._redaction), call.agent.name)[1]
        with self._remembered():
            return self._player.reply(line, call.agent.name)

    def _chunks(self, call: CallModel) -> Generator[Line, None, None]:
        line = self._found(asked_model(call, self._redaction), call.agent.name)[1]
        with self._remembered():
            yield from self._player.chunks(line)

    # A policy

    def tool(self, call: CallTool) -> Flow:
        """Records a tool call, or gives its result without running it. An agent used as a tool runs: its own calls are on the tape."""
        if call.tool.nested is not None:
            return (yield call)
        recorder, asked_for = self._recorder, asked_call(call, self._redaction)
        # Policies have no business with the variables; a tape stands in for tools, which have.
        variables = inside(call.run).context
        if recorder is None:
            number, line = self._found(asked_for, call.agent.name)
            change(variables, line, number, call.run.state(self))
            with self._remembered():
                return value_of(line, call)
        before = Variables(variables)
        try:
            value = yield call
        except (OutOfTime, ApprovalError):
            raise
        except Exception as error:
            yield from self._note(recorder, asked_for, before, written_failure(error, self._redaction))
            raise
        with self._remembered():
            written = written_value(call, value, self._redaction)
        yield from self._note(recorder, asked_for, before, written)
        return value

    def _note(self, recorder: Recorder, asked_for: Line, before: Variables, came: Line) -> Flow:
        with self._remembered():
            yield Call(recorder.add, (lambda: {**asked_for, **came, **before.changes(asked_for["tool"], self._redaction)},))

    def run(self, start: StartRun) -> Flow:
        """Fails the run if a call was missing: what a tool raises is told to the model, which would hide it."""
        self._is_policy = True
        response: Response = yield start
        self._raise_again()
        return response

    # What was missing

    @property
    def unused(self) -> list[str]:
        """The lines that nobody has asked for yet, as a person would call them; tool calls count where they are replayed."""
        return [] if self.is_recording else self._player.unused(with_tools=self._is_policy)

    def assert_done(self) -> None:
        """Fail if answers are left over, or if one was missing and something caught the error.

        Raises:
            AssertionError: names what is left over.
            TapeError: as it was raised before.
        """
        self._raise_again()
        if unused := self.unused:
            left = ("1 line", "was") if len(unused) == 1 else (f"{len(unused)} lines", "were")
            raise AssertionError("\n  ".join([f"{left[0]} of {self.path} {left[1]} not asked for:", *unused]))

    def __enter__(self) -> Tape:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self.assert_done()

    def _found(self, asked_for: Line, who: str) -> tuple[int, Line]:
        self._raise_again()
        with self._remembered():
            return self._player.take(asked_for, who)

    @contextmanager
    def _remembered(self) -> Generator[None, None, None]:
        """Keeps the first error of this tape, since whoever catches it would hide it."""
        try:
            yield
        except TapeError as error:
            self._failure = self._failure or TapeError(*error.args)
            raise

    def _raise_again(self) -> None:
        if self._failure is not None:
            raise TapeError(*self._failure.args)


def _is_wanted() -> bool:
    return os.environ.get("SWARM_RECORD", "").lower() not in ("", "0", "false", "no")
