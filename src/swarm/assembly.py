"""Makes one message out of the chunks of a stream, whatever their shape.

The API reference says that a tool call's first delta has its index, id and name, and that the others have the index and a piece of the
arguments (https://platform.openai.com/docs/api-reference/chat-streaming). Compatible servers leave out or repeat any of these, and
number calls wrongly. Adding up the deltas by index, as clients commonly do, then glues names together or two calls into one. Here a
piece is matched with the call it belongs to by everything it has, and what it brings that is new is handed on in the plain form.
"""

from __future__ import annotations

from typing import Any, cast

from pydantic_core import from_json

from .effects import Message, Reply
from .errors import InvalidReply
from .history import is_dict, json_text
from .messages import body_error, choice_error, first_choice, text_of

# String fields that come in pieces; any other string is whole each time it comes.
_IN_PIECES = ("content", "data", "input", "refusal", "summary", "text", "transcript")
# List items without a number that go on in the next delta.
_GO_ON = ("reasoning.summary", "reasoning.text", "text", "thinking")
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
        self._calls = _Calls()
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
        try:
            choice = chunk["choices"][0]
            delta = choice["delta"]
            text = delta["content"]
            if (
                type(text) is str
                and text
                and self.started
                and len(delta) == 1
                and not choice.get("index")
                and choice.get("finish_reason") is None
                and chunk.get("usage") is None
            ):
                self._text.append(text)
                return {"content": text}
        except (KeyError, IndexError, TypeError, AttributeError):
            pass
        try:
            return self._feed_any(chunk)
        except RecursionError:
            raise InvalidReply("a chunk of the stream is nested too deeply") from None

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
                self._usage = _own(usage)
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
                self._extra[key] = _merged(key, self._extra.get(key), value)
                if value:
                    shown[key] = _own(value)

    def _take_content(self, content: Any, shown: Message) -> None:
        self._came = True
        parts = (
            cast("list[Any]", content)
            if isinstance(content, list)
            else [content if is_dict(content) else {"type": "text", "text": content}]
        )
        text = text_of({"content": parts})
        if text:
            shown["content"] = text
        for part in parts:
            if is_dict(part) and part.get("type") == "text":
                self._text.append(text_of({"content": [part]}))
            else:
                text = "".join(self._text)
                if text:
                    self._parts.append({"type": "text", "text": text})
                self._text = []
                _add("content", self._parts, part)

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


class _Calls:
    """The tool calls of a reply while they come in."""

    __slots__ = ("_all", "_by_index")

    def __init__(self) -> None:
        self._all: list[_Call] = []
        self._by_index: dict[int, _Call] = {}

    def __bool__(self) -> bool:
        return bool(self._all)

    def finished(self) -> list[Message]:
        """The whole calls in the order of their numbers; what has neither name nor arguments is none."""
        return [call.finished() for call in sorted(self._all, key=lambda call: call.slot) if call.name or call.size or call.is_custom()]

    def take(self, entries: list[Any]) -> list[Message]:
        """Take the entries of one delta. Returns what is new, in the form of such entries."""
        touched: list[_Call] = []
        news: list[Message] = []
        for entry in entries:
            piece = _Piece(entry)
            call = self._continued(piece, touched) if self._all else None
            if call is None:
                call = self._begin(piece)
                new = call.opening()
            else:
                new = call.add(piece)
            touched.append(call)
            if piece.index is not None:
                self._by_index.setdefault(piece.index, call)
            if new is not None:
                news.append(new)
        return news

    def _begin(self, piece: _Piece) -> _Call:
        slots, ids = {call.slot for call in self._all}, {call.id for call in self._all}
        slot = piece.index if piece.index is not None and piece.index >= 0 else 0
        id, number = piece.id, 2
        while id and id in ids:
            id, number = f"{piece.id}_{number}", number + 1
        call = _Call(piece, max(slots) + 1 if slot in slots else slot, id)
        self._all.append(call)
        if piece.index is not None:
            self._by_index[piece.index] = call
        return call

    def _continued(self, piece: _Piece, touched: list[_Call]) -> _Call | None:
        """The call that a piece belongs to, or None if it begins one."""
        here = self._all[-1] if piece.index is None else self._by_index.get(piece.index)
        if piece.id:
            known = [call for call in reversed(self._all) if call.given_id == piece.id]
            return self._by_known_id(piece, known) if known else self._by_new_id(piece, here)
        if here is None:
            # A new index and nothing else: without a name it is no call, so it is the one being streamed, wrongly numbered.
            last = self._all[-1]
            return None if piece.name or last.is_complete() else last
        if not piece.name:
            return here
        # Only a first piece has a type; where no ids are given, a missing number or an empty id may be a beginning too.
        opens = piece.has_type or (not here.given_id and (piece.index is None or piece.has_id))
        if here in touched or (opens and not here.size and here.is_other(piece.name)):
            return None
        begins_again = (opens and not here.given_id) or piece.text.strip() or here.is_other(piece.name)
        return None if begins_again and here.is_complete() else here

    def _by_known_id(self, piece: _Piece, known: list[_Call]) -> _Call | None:
        """Some servers use the function's name as id: a second call is told by a name that comes when the arguments are whole."""
        same = [call for call in known if piece.index is None or call.index == piece.index]
        call = (same or known)[0]
        if not piece.name or not call.is_complete():
            return call
        return call if same and (not piece.text.strip() or call.is_said_by(piece.text)) else None

    def _by_new_id(self, piece: _Piece, here: _Call | None) -> _Call | None:
        """A new id begins a call, unless it comes late, or changes from chunk to chunk (then no name comes with it)."""
        if here is None or (piece.name and (here.given_id or here.is_other(piece.name))):
            return None
        return None if here.is_complete() and (here.given_id or piece.text.strip()) else here


class _Piece:
    """One entry of a delta's tool_calls, read defensively."""

    __slots__ = ("extra", "function", "has_id", "has_type", "id", "index", "is_null", "kind", "name", "text")

    def __init__(self, entry: dict[str, Any]) -> None:
        function, index, id, kind = entry.get("function"), entry.get("index"), entry.get("id"), entry.get("type")
        self.function: dict[str, Any] = function if is_dict(function) else {}
        self.index: int | None = index if type(index) is int else None
        self.id = "" if id is None else str(id)
        self.kind = kind if isinstance(kind, str) and kind else "function"
        self.has_type = bool(kind)
        self.has_id = "id" in entry
        name, arguments = self.function.get("name"), self.function.get("arguments")
        self.name = name if isinstance(name, str) else ""
        self.is_null = arguments is None
        self.text: str = arguments if isinstance(arguments, str) else "" if arguments is None else json_text(arguments)
        self.extra = {key: value for key, value in entry.items() if value is not None and key not in ("id", "index", "type", "function")}


class _Call:
    """A tool call while it comes in."""

    __slots__ = ("_end", "_extra", "_function", "_is_null", "_kind", "_pieces", "given_id", "id", "index", "name", "size", "slot")

    def __init__(self, piece: _Piece, slot: int, id: str) -> None:
        self.slot = slot
        self.id = id
        self.given_id = piece.id
        self.index = piece.index
        self.name = piece.name
        self.size = 0
        self._kind = piece.kind
        self._pieces: list[str] = []
        self._end = ""
        self._is_null = True
        self._extra: dict[str, Any] = {}
        self._function: dict[str, Any] = {}
        self._add_arguments(piece)
        self._add_extra(piece)

    def arguments(self) -> str:
        """The text of the arguments so far."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    def is_complete(self) -> bool:
        """Whether the arguments so far are a whole JSON object."""
        if self._end != "}":
            return False
        try:
            return isinstance(from_json(self.arguments()), dict)
        except ValueError:
            return False

    def is_said_by(self, text: str) -> bool:
        """Whether a text says these arguments once more, as a whole."""
        if self._end != "}" or not text.startswith("{"):
            return False
        try:
            return self.is_complete() and from_json(text) == from_json(self.arguments())
        except ValueError:
            return False

    def is_custom(self) -> bool:
        """Whether it calls another kind of tool than a function, which only its provider understands."""
        return not self.name and not self.size and is_dict(self._extra.get(self._kind))

    def is_other(self, name: str) -> bool:
        """Whether a name is another one, and not this one said again, or said further before there are arguments."""
        return self.name not in ("", name) and (self.size > 0 or not name.startswith(self.name))

    def opening(self) -> Message:
        """The first delta of this call."""
        named: Message = {"index": self.slot, "id": self.id} if self.id else {"index": self.slot}
        return {**named, "type": self._kind, **self._said(), **_own(self._extra)}

    def add(self, piece: _Piece) -> Message | None:
        """Take a piece of this call. Returns what is new in the form of a delta, or None."""
        news: Message = {}
        if piece.id and not self.given_id:
            self.id = self.given_id = news["id"] = piece.id
        function = self._add_name(piece.name)
        # A call that is said once more as a whole is not said twice.
        if not self.is_said_by(piece.text):
            self._add_arguments(piece)
            if piece.text:
                function["arguments"] = piece.text
        extra, inner = self._add_extra(piece)
        function.update(inner)
        if function:
            news["function"] = function
        news.update(extra)
        return {"index": self.slot, **news} if news else None

    def finished(self) -> Message:
        """The whole call."""
        return {"id": self.id, "type": self._kind, **self._said("{}" if self._is_null else ""), **self._extra}

    def _said(self, no_arguments: str = "") -> Message:
        if self.is_custom():
            return {}
        return {"function": {"name": self.name, "arguments": self.arguments() or no_arguments, **_own(self._function)}}

    def _add_name(self, name: str) -> Message:
        """Take a name that comes once more. Only a name that goes on before any arguments is put together."""
        new = name.removeprefix(self.name) if name.startswith(self.name) or not self.size else ""
        self.name += new
        return {"name": new} if new else {}

    def _add_arguments(self, piece: _Piece) -> None:
        self._is_null = self._is_null and piece.is_null
        self.size += len(piece.text)
        self._pieces.append(piece.text)
        self._end = piece.text.rstrip()[-1:] or self._end

    def _add_extra(self, piece: _Piece) -> tuple[dict[str, Any], dict[str, Any]]:
        inner = {key: value for key, value in piece.function.items() if value is not None and key not in ("name", "arguments")}
        for kept, new in ((self._extra, piece.extra), (self._function, inner)):
            for key, value in new.items():
                kept[key] = _merged(key, kept.get(key), value)
        return _own(piece.extra), _own(inner)


def _merged(key: str, old: Any, new: Any) -> Any:
    """Two values of one field put together, in containers of our own."""
    if isinstance(new, str) and isinstance(old, str):
        in_pieces = key in _IN_PIECES or (key.startswith(("reasoning", "thinking")) and "signature" not in key)
        return old + new if in_pieces else new
    if is_dict(new) and is_dict(old):
        return {**old, **{name: _merged(name, old.get(name), value) for name, value in new.items() if value is not None}}
    if isinstance(new, list) and isinstance(old, list):
        merged = list(cast("list[Any]", old))
        for item in cast("list[Any]", new):
            _add(key, merged, item)
        return merged
    return _own(new)


def _add(key: str, items: list[Any], item: Any) -> None:
    """Put an item of a list behind the others, or together with the one that it goes on."""
    at = _place(items, item)
    if at is None:
        items.append(_own(item))
        return
    old, thought = items[at], item.get("thinking")
    if str(item.get("type")).endswith("encrypted"):
        items[at] = {**old, **_own(item)}
    elif (
        thought is not None and item.get("signature") and thought == old.get("thinking")
    ):  # LiteLLM signs a thought by saying the whole once more
        items[at] = {**old, **_own(item), "thinking": thought}
    else:
        items[at] = _merged(key, old, item)


def _place(items: list[Any], item: Any) -> int | None:
    """Where in a list the object is that this one goes on, or None. Different ids are different things, whatever their number."""
    if not items or not is_dict(item):
        return None
    index, kind, id = item.get("index"), item.get("type"), item.get("id")
    if index is None:
        last = items[-1]
        goes_on = kind in _GO_ON and is_dict(last) and last.get("type") == kind and last.get("index") is None
        return len(items) - 1 if goes_on and not last.get("signature") else None  # a signature ends a thought
    for at, other in enumerate(items):
        if (
            is_dict(other)
            and (other.get("index"), other.get("type")) == (index, kind)
            and other.get("id") in (None, "", id or other.get("id"))
        ):
            return at
    return None


def _own(value: Any) -> Any:
    """A copy of JSON containers, since nothing is shared with the chunks that come in and the deltas that go out."""
    if is_dict(value):
        return {key: _own(inner) for key, inner in value.items()}
    return [_own(inner) for inner in cast("list[Any]", value)] if isinstance(value, list) else value
