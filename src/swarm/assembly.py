"""Makes one message out of the chunks of a stream, whatever their shape.

Every source of chunks comes through here: our client, anybody else's, a tape. What a chunk brings that is new is handed on as a delta in
the plain form of the API reference (https://platform.openai.com/docs/api-reference/chat-streaming), and the deltas joined are the message.
Which piece belongs to which tool call is settled in `streamed_calls`, how a provider's own fields are put together in `merging`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

from .effects import Message, Reply
from .errors import InvalidReply
from .legal import is_dict
from .merging import add, merged, own
from .messages import as_parts, body_error, choice_error, first_choice, text_of
from .streamed_calls import StreamedCalls

_LEGACY_INDEX = -1


class Assembler:
    """Takes the chunks of one streamed reply, gives deltas to hand on, and the whole reply at the end.

    Args:
        sender: name of the agent that speaks; the first delta carries it.

    Attributes:
        started: whether a delta has been given.
        finish_reason: why the model stopped, once that has been said.
    """

    __slots__ = ("_calls", "_came", "_extra", "_id", "_model", "_parts", "_sender", "_text", "_usage", "finish_reason", "started")

    def __init__(self, sender: str) -> None:
        self.started = False
        self.finish_reason: str | None = None
        self._sender = sender
        self._came = False
        self._text: list[str] = []
        self._parts: list[Any] = []
        self._extra: dict[str, Any] = {}
        self._calls = StreamedCalls()
        self._usage: dict[str, Any] | None = None
        self._id: str | None = None
        self._model: str | None = None

    def feed(self, chunk: dict[str, Any]) -> Message | None:
        """Take the next chunk.

        Returns:
            a new dict in the form of a Chat Completions delta, or None if there is nothing to show. The first has role and sender.

        Raises:
            ModelError: the chunk speaks of an error, or is no chunk at all.
        """
        if self.started and (delta := _text_alone(chunk)) is not None:
            self._text.append(delta["content"])
            return {"content": delta["content"]}
        try:
            return self._feed_any(chunk)
        except RecursionError:
            raise InvalidReply("a chunk of the stream is nested too deeply") from None

    def feed_all(self, chunks: Iterable[dict[str, Any]]) -> Iterator[Message | list[Message]]:
        """Take chunks that came together.

        Args:
            chunks: in their order, and given away: what is handed on may be part of them. None is taken before what came of those
                before it was asked for.

        Returns:
            what `feed` returns for each, but several texts in a row as one list, which is new.

        Raises:
            Exception: what `feed` raises, or `chunks` does, behind what came before.
        """
        texts: list[Message] = []
        failure: Exception | None = None
        try:
            for chunk in chunks:
                if self.started and (delta := _text_alone(chunk)) is not None:
                    texts.append(delta)
                    continue
                if texts:
                    yield self._kept(texts)
                    texts = []
                if (delta := self.feed(chunk)) is not None:
                    yield delta
        except Exception as error:
            failure = error
        if texts:
            yield self._kept(texts)
        if failure is not None:
            try:
                raise failure
            finally:
                del failure  # a frame that kept its exception would be a reference cycle

    def _kept(self, texts: list[Message]) -> Message | list[Message]:
        self._text += [delta["content"] for delta in texts]
        return texts if len(texts) > 1 else texts[0]

    def take_back(self, count: int) -> None:
        """Forget the last texts of the last list that `feed_all` gave, since nobody was shown them."""
        if count:
            del self._text[-count:]

    def reply(self) -> Reply:
        """The whole reply, at the end of the stream.

        Raises:
            InvalidReply: nothing came.
        """
        if not self._came and self.finish_reason is None:
            raise InvalidReply("the stream ended before any part of an answer came")
        calls = self._calls.finished()
        message: Message = {"role": "assistant", "content": self._content(bool(calls)), **self._extra}
        if calls:
            message["tool_calls"] = calls
        return Reply(message, self._usage, self.finish_reason, self._model, self._id, told=True)

    def partial(self) -> Message | None:
        """The text that has come so far as a message, without its unfinished calls; None if there is no text."""
        content = self._content(True)
        return {"role": "assistant", "content": content} if text_of({"content": content}) else None

    def _content(self, may_be_null: bool) -> Any:
        text = "".join(self._text)
        if self._parts:
            return [*self._parts, {"type": "text", "text": text}] if text else list(self._parts)
        return text or (None if may_be_null or self._extra.get("refusal") else "")

    def _feed_any(self, chunk: Any) -> Message | None:
        if not is_dict(chunk) or chunk.get("error") or chunk.get("object") == "error":
            raise body_error(chunk)
        choice = first_choice(chunk)
        self._note(chunk, choice or {})
        if choice is None:
            return None
        failure = choice_error(choice)
        if failure is not None:
            raise failure
        shown: Message = {}
        delta, message = choice.get("delta"), choice.get("message")
        if is_dict(delta):
            self._take(delta, shown)
        if is_dict(message) and not shown:
            self._take_whole(message, shown)
        if not shown:
            return None
        self._came = True
        if self.started:
            return shown
        self.started = True
        return {"role": "assistant", "sender": self._sender, **shown}

    def _note(self, chunk: dict[str, Any], choice: dict[str, Any]) -> None:
        """Keep what is said about the reply. Usage counts from the beginning each time it comes, so the last is right."""
        # Groq has it in x_groq, Moonshot in the choice.
        for place in (chunk, choice, chunk.get("x_groq")):
            usage = place.get("usage") if is_dict(place) else None
            if usage and is_dict(usage):
                self._usage = own(usage)
                break
        id, model, reason = chunk.get("id"), chunk.get("model"), choice.get("finish_reason")
        if self._id is None and isinstance(id, str) and id:
            self._id = id
        if self._model is None and isinstance(model, str) and model:
            self._model = model
        if isinstance(reason, str) and reason:
            self.finish_reason = reason

    def _take(self, delta: dict[str, Any], shown: Message) -> None:
        given: Any = delta.get("tool_calls") or []
        entries = cast("list[Any]", given) if isinstance(given, list) else [given]
        if not all(map(is_dict, entries)):
            raise InvalidReply("the tool_calls of a chunk are not objects", body=given)
        for key, value in delta.items():
            if value is None or key in ("role", "sender"):
                continue
            if key == "content":
                self._take_content(value, shown)
            elif key == "tool_calls":
                self._take_calls(entries, shown)
            elif key == "function_call":
                if not entries:
                    self._take_calls([{"index": _LEGACY_INDEX, "function": value}], shown)
            else:
                self._extra[key] = merged(key, self._extra.get(key), value)
                if value:
                    shown[key] = own(value)

    def _take_content(self, content: Any, shown: Message) -> None:
        self._came = True
        parts = as_parts(content)
        if text := text_of({"content": parts}):
            shown["content"] = text
        for part in parts:
            if is_dict(part) and part.get("type") == "text":
                self._text.append(text_of({"content": [part]}))
            else:
                if text := "".join(self._text):
                    self._parts.append({"type": "text", "text": text})
                self._text = []
                add("content", self._parts, part)

    def _take_whole(self, message: dict[str, Any], shown: Message) -> None:
        """A whole message instead of a delta: what has not been streamed before is taken from it."""
        rest = {key: value for key, value in message.items() if key not in self._extra and key != "content"}
        if self._calls:
            rest = {key: value for key, value in rest.items() if key not in ("tool_calls", "function_call")}
        text, streamed = text_of(message), text_of({"content": self._content(True)})
        if text.startswith(streamed):
            rest["content"] = text[len(streamed) :] or None
        self._take(rest, shown)

    def _take_calls(self, entries: list[Any], shown: Message) -> None:
        news = self._calls.take(entries)
        if news:
            shown["tool_calls"] = news


def _text_alone(chunk: Any) -> Message | None:
    """The delta of a chunk that says nothing but text, as nearly all do; None of any other, which is read with more care."""
    try:
        choice = chunk["choices"][0]
        delta = choice["delta"]
        text = delta["content"]
        if (
            type(text) is str
            and text
            and not choice.get("index")
            and choice.get("finish_reason") is None
            and ("usage" not in chunk or chunk["usage"] is None)
        ):
            if len(delta) == 1:
                return delta
            if all(value is None or name in ("content", "role") for name, value in delta.items()):  # some say the role each time
                return {"content": text}
    except (KeyError, IndexError, TypeError, AttributeError):
        pass
    return None
