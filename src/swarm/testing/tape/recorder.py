"""Writes a tape while a run talks to the real endpoint."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from inspect import isclass, isroutine
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, cast

from pydantic import TypeAdapter

from ...assembly import Assembler
from ...effects import CallModel, Reply
from ...errors import ModelError
from ...models.default import default_client
from ...models.profiles import Profile, choose
from ...run import base_url_of
from .answers import written_chunks, written_error, written_reply
from .ids import CallIds
from .lines import Line, as_json, kept, write_tape
from .redaction import Redaction


class Recorder:
    """Holds what was recorded, and writes it after each answer, so that a run that fails leaves what it had.

    Args:
        path: where the tape is.
        client: who is asked; None for the client that `Swarm()` would make; a class or function is called to make one.
        redaction: what is hidden in the file.

    Attributes:
        ids: the ids of the tool calls.
    """

    def __init__(self, path: Path, client: Any, redaction: Redaction) -> None:
        self._path = path
        self._given = client
        self._client: Any = None
        self._redaction = redaction
        self.ids = CallIds()
        self._lock = Lock()
        self._lines: list[Line] = []

    @property
    def client(self) -> Any:
        """The client, made when it is first needed."""
        if self._client is None:
            given = self._given
            if given is None:
                self._client = default_client()
            else:
                self._client = given() if isclass(given) or isroutine(given) else given
        return self._client

    def head(self) -> Line:
        """What the first line says: who was asked, as far as the form of a request depends on it."""
        base_url, profile = base_url_of(self.client), getattr(self.client, "profile", None)
        head: Line = {}
        if base_url is not None and choose(base_url, None).name != "default":
            head["base_url"] = base_url
        if isinstance(profile, Profile):
            fields: Line = TypeAdapter(Profile).dump_python(profile, exclude_defaults=True)
            head["profile"] = {key: _listed(value) for key, value in fields.items()}
        elif isinstance(profile, str):
            head["profile"] = profile
        return head

    def sent(self, call: CallModel) -> CallModel:
        """The call as the client gets it."""
        request = {**call.request, "messages": [self.ids.own(message) for message in call.request.get("messages", ())]}
        if self._given is None and "model" not in call.agent.model_fields_set and request.get("model") == call.agent.model:
            request["model"] = os.environ.get("SWARM_MODEL") or call.agent.model  # as `Swarm()` does
        return call.replace(client=self.client, request=request, context=None)

    def add(self, made: Callable[[], Line]) -> None:
        """Record one more line, and write the tape.

        Args:
            made: gives the line. Of calls side by side, the one that is recorded last has then seen what all of them did.
        """
        with self._lock:
            self._lines.append(made())
            write_tape(self._path, self.head(), self._lines)

    def add_answer(self, call: CallModel, answer: Line) -> None:
        """Record an answer of a model with what was asked."""
        self.add(lambda: {"agent": call.agent.name, **asked_model(call, self._redaction), **answer})

    def add_reply(self, call: CallModel, reply: Any) -> Any:
        """Record a whole reply. Returns it as the run gets it; what is no Reply is left for the run to refuse."""
        if not isinstance(reply, Reply):
            return reply
        message = self.ids.numbered(reply.message, {})
        numbered = Reply(message, reply.usage, reply.finish_reason, reply.model, reply.id, reply.told)
        written = written_reply(numbered)
        self.add_answer(call, {"reply": {**written, "message": self._redaction.said(written["message"])}})
        return numbered

    def add_failure(self, call: CallModel, error: ModelError) -> None:
        """Record that the model failed."""
        self.add_answer(call, {"error": self.hidden_error(error)})

    def hidden_error(self, error: ModelError) -> Line:
        """A failure as JSON, without secrets."""
        return {key: self._redaction.data(value) if key in ("body", "text") else value for key, value in written_error(error).items()}

    def hidden_stream(self, chunks: list[Line], name: str) -> Line:
        """The chunks of a stream without secrets. A secret may be cut in pieces, so where there is one the chunks are put together."""
        written = written_chunks(chunks)
        reply, error = _assembled(chunks, name)
        hidden = self._redaction.said(reply["message"])
        if hidden == reply["message"] and self._redaction.said(written) == written:
            return {"chunks": written}
        return {"reply": {**reply, "message": hidden}, **({"error": self.hidden_error(error)} if error is not None else {})}


def _listed(value: Any) -> Any:
    return sorted(cast("frozenset[str]", value)) if isinstance(value, frozenset) else value


def _assembled(chunks: list[Line], name: str) -> tuple[Line, ModelError | None]:
    """What the chunks say, and the error that one of them speaks of, or that there was nothing."""
    assembler = Assembler(name)
    try:
        for chunk in chunks:
            assembler.feed(chunk)
        return written_reply(assembler.reply()), None
    except ModelError as error:
        return {"message": assembler.partial() or {"role": "assistant", "content": None}}, error


def asked_model(call: CallModel, redaction: Redaction) -> Line:
    """What a model call is recognised by: its request, and the calls it is nested in."""
    within = {"within": "/".join(call.path)} if call.path else {}
    return {**within, "request": redaction.request(kept(call.request))}


class StreamNote:
    """Records the chunks of one stream while they pass, as a context manager around reading it.

    Args:
        recorder: where it goes.
        call: what was asked.
    """

    def __init__(self, recorder: Recorder, call: CallModel) -> None:
        self._recorder = recorder
        self._call = call
        self._chunks: list[Line] = []
        self._known: dict[str, str] = {}

    def take(self, chunk: Line) -> Line:
        """Note a chunk. Returns it as the run gets it."""
        numbered = self._recorder.ids.numbered_chunk(chunk, self._known)
        self._chunks.append(as_json(numbered))  # a copy, since nobody else keeps it as it is
        return numbered

    def __enter__(self) -> StreamNote:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None or (isinstance(error, GeneratorExit | asyncio.CancelledError) and self._chunks):
            self._write({} if error is None else {"cut": True})
        elif isinstance(error, ModelError):
            self._write({"error": self._recorder.hidden_error(error)})

    def _write(self, end: Line) -> None:
        self._recorder.add_answer(self._call, {**self._recorder.hidden_stream(self._chunks, self._call.agent.name), **end})
