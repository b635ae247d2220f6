"""Which piece of a stream belongs to which tool call.

The API reference says that a call's first delta has its index, id and name, and that the others have the index and a piece of the
arguments (https://platform.openai.com/docs/api-reference/chat-streaming). Compatible servers leave out or repeat any of these, and number
calls wrongly. Adding up the deltas by index, as clients commonly do, then glues names together or two calls into one. Here a piece is
matched with its call by everything it has; what fits two calls alike goes to the one being streamed, and a name that could only be guessed
at is an error.
"""

from __future__ import annotations

from typing import Any

from pydantic_core import from_json

from .effects import Message
from .errors import InvalidReply
from .legal import is_dict, json_text
from .merging import merged, own


class StreamedCalls:
    """The tool calls of one reply while they come in."""

    __slots__ = ("_all", "_by_index", "_shared")

    def __init__(self) -> None:
        self._all: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._shared: set[int] = set()  # numbers that more than one call has had

    def __bool__(self) -> bool:
        return bool(self._all)

    def finished(self) -> list[Message]:
        """The whole calls in the order of their numbers; what has neither name nor arguments is left out."""
        return [call.finished() for call in sorted(self._all, key=lambda call: call.slot) if call.is_call()]

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
                if call.is_renamed(piece.name) and not self._is_surely(piece, call):
                    raise InvalidReply(
                        f"the stream says the function name {piece.name!r} behind {call.name!r}, and neither an id nor a number of its own "
                        "tells whether that is another call",
                        body=entries,
                    )
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
        is_used = piece.index is None or piece.index in self._by_index
        if is_used and not piece.id and not piece.text.strip():
            call.is_echo = any(other.name == piece.name and other.is_complete() for other in self._all)
        self._all.append(call)
        if piece.index is not None:
            if is_used:
                self._shared.add(piece.index)
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
        if not piece.name or here.lacks_name(piece):
            return here
        # Only a first piece has a type; where none has an id, a missing number or an empty id may be a beginning too.
        opens = piece.has_type or (not here.opened_with_id and (piece.index is None or piece.has_id))
        if here in touched or ((opens or here.is_echo) and not here.size and here.is_other(piece.name)):
            return None
        begins_again = (opens and not here.opened_with_id) or piece.text.strip() or here.is_other(piece.name)
        return None if begins_again and here.is_complete() else here

    def _is_surely(self, piece: _Piece, call: _Call) -> bool:
        """Whether a piece with another name can only be of this call: by its id, or by a number that only this call has had."""
        if piece.id:
            return True
        is_numbered = call.opened_with_id and piece.index is not None and piece.index not in self._shared
        return is_numbered and all(other.name != piece.name for other in self._all)

    def _by_known_id(self, piece: _Piece, known: list[_Call]) -> _Call | None:
        """Some servers use the function's name as id: a second call is told by a name that comes when the arguments are whole."""
        call = next((call for call in known if call.index == piece.index), known[0])
        if not piece.name or call.lacks_name(piece) or not call.is_complete():
            return call
        is_new_index = piece.index is not None and piece.index not in self._by_index
        return None if is_new_index or (piece.text.strip() and not call.is_said_by(piece.text)) else call

    def _by_new_id(self, piece: _Piece, here: _Call | None) -> _Call | None:
        """A new id begins a call, unless it comes late, or changes from chunk to chunk (then no name comes with it)."""
        if here is None or (piece.name and (here.given_id or here.is_other(piece.name))):
            return None
        return None if here.is_complete() and (here.given_id or piece.text.strip()) else here


class _Piece:
    """One entry of a delta's tool_calls, read defensively.

    Attributes:
        index: the call's number, or None if the entry has none.
        id, name, text: what it says of each, or ""; `text` is a piece of the arguments.
        kind: the type of the tool, "function" unless it says another one.
        has_id, has_type: whether it has such a field, an empty id included.
        is_null: whether it says nothing of arguments.
        function: its `function`; extra: the fields that only its provider knows.
    """

    __slots__ = ("extra", "function", "has_id", "has_type", "id", "index", "is_null", "kind", "name", "text")

    def __init__(self, entry: dict[str, Any]) -> None:
        function, index, id, kind = entry.get("function"), entry.get("index"), entry.get("id"), entry.get("type")
        self.function: dict[str, Any] = function if is_dict(function) else {}
        if isinstance(index, str | float):
            index = int(digits) if len(digits := str(index).removesuffix(".0")) < 10 and digits.isdecimal() else None
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
    """A tool call while it comes in.

    Attributes:
        slot: its number in what is handed on, unlike that of any other call.
        index: the number in its first piece, or None; servers may use one for several calls.
        id: as it is handed on; given_id: as the server said it; opened_with_id: whether its first piece had one.
        name: as far as it has come; size: how many characters of its arguments have.
        is_echo: whether its first piece had nothing but the name of a call that is whole already, which some servers say once more.
    """

    __slots__ = (
        *("_end", "_extra", "_function", "_is_null", "_is_told", "_kind", "_pieces"),
        *("given_id", "id", "index", "is_echo", "name", "opened_with_id", "size", "slot"),
    )

    def __init__(self, piece: _Piece, slot: int, id: str) -> None:
        self.slot = slot
        self.id = id
        self.given_id = piece.id
        self.opened_with_id = piece.id != ""
        self.index = piece.index
        self.is_echo = False
        self.name = piece.name
        self.size = 0
        self._kind = piece.kind
        self._pieces: list[str] = []
        self._end = ""
        self._is_null = True
        self._is_told = False
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

    def lacks_name(self, piece: _Piece) -> bool:
        """Whether a piece brings the name that this call has been waiting for."""
        return not self.name and not (piece.text.strip() and self.is_complete())

    def is_other(self, name: str) -> bool:
        """Whether a name is another one, and not this one said again, or said further before there are arguments."""
        return self.name not in ("", name) and (self.size > 0 or self.is_echo or not name.startswith(self.name))

    def is_renamed(self, name: str) -> bool:
        """Whether a name would go on this one: names are put together only as long as there are no arguments."""
        return name != "" and self.name not in ("", name) and not self.size

    def is_call(self) -> bool:
        """Whether there is something to call; if not, nothing of it is handed on. An echo needs arguments or an id to be one."""
        return (self.name != "" and not (self.is_echo and not self.given_id)) or self.size > 0 or self.is_custom()

    def opening(self) -> Message | None:
        """The first delta of this call, with all that has come of it; None as long as there is nothing to call."""
        if not self.is_call():
            return None
        self._is_told = True
        named: Message = {"index": self.slot, "id": self.id} if self.id else {"index": self.slot}
        return {**named, "type": self._kind, **self._said(), **own(self._extra)}

    def add(self, piece: _Piece) -> Message | None:
        """Take a piece of this call. Returns what is new in the form of a delta, or None."""
        news: Message = {}
        if piece.id and not self.given_id:
            self.id = self.given_id = news["id"] = piece.id
        function = self._add_name(piece.name)
        # A call that is said once more as a whole is not said twice.
        if not self.is_said_by(piece.text):
            if piece.text.lstrip()[:1] == "{" and self.arguments().strip() == "{}":  # Bedrock's place for arguments that come later
                self._pieces.clear()
            self._add_arguments(piece)
            if piece.text:
                function["arguments"] = piece.text
        extra, inner = self._add_extra(piece)
        if not self._is_told:
            return self.opening()
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
        return {"function": {"name": self.name, "arguments": self.arguments() or no_arguments, **own(self._function)}}

    def _add_name(self, name: str) -> Message:
        """Take a name that comes once more: as it is, or a further piece, or with what was said of it before."""
        new = name if not self.name else name.removeprefix(self.name) if self.is_renamed(name) else ""
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
                kept[key] = merged(key, kept.get(key), value)
        return own(piece.extra), own(inner)
