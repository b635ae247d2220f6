"""Server-sent events as model servers write them: bytes in, the data of each event out.

The format is the HTML standard's (https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream), with two
differences: an event at the very end that lacks its blank line is handed out, since servers forget it; and what servers write instead of
going on is kept, in whatever way it is told. Bytes are never decoded here: a chunk is decoded once, by the JSON reader, so a character
cut in two by the network costs nothing.
"""

from __future__ import annotations

_BOM = b"\xef\xbb\xbf"
_FIELD = b"data: "
_NEXT = b"\n\n" + _FIELD


class EventParser:
    """Cuts a stream of bytes into events. Comments, the fields id and retry, and events of any name but "error" mean nothing here.

    Attributes:
        error: what the server said of an error, as an event named "error", a field "error:" or a bare line of JSON; else None. What
            comes behind it in the same piece is left out.
    """

    __slots__ = ("_begun", "_data", "_failed", "_rest", "error")

    def __init__(self) -> None:
        self._rest = b""
        self._data: bytes | None = None
        self._begun = False
        self._failed = False
        self.error: bytes | None = None

    def feed(self, piece: bytes) -> list[bytes]:
        """The data of every event that is complete with this piece.

        Args:
            piece: the next bytes, cut anywhere, also inside a character or a line ending.
        """
        text = self._rest + piece if self._rest else piece
        if not self._begun:
            if _BOM.startswith(text):
                self._rest = text
                return []
            self._begun = True
            text = text.removeprefix(_BOM)
        held = b""
        if b"\r" in text:
            text, held = _plain_line_ends(text)
        elif self._data is None and not self._failed and text.startswith(_FIELD) and (events := self._usual(text)) is not None:
            return events
        lines = text.split(b"\n")
        self._rest = lines.pop() + held
        return self._events(lines)

    def _usual(self, text: bytes) -> list[bytes] | None:
        """The events of a text that is nothing but events of one line of data each, as nearly all are, or None if it is not."""
        whole, _, rest = text.rpartition(b"\n\n")
        events = whole.removeprefix(_FIELD).split(_NEXT)
        if not whole or text.count(b"\n") != 2 * len(events) or b"" in events:
            return None
        self._rest = rest
        return events

    def end(self) -> list[bytes]:
        """The data of an event that was not closed by a blank line, if there is one."""
        lines, self._rest = [self._rest.removesuffix(b"\r"), b""], b""
        return self._events(lines)

    def _events(self, lines: list[bytes]) -> list[bytes]:
        events: list[bytes] = []
        data = self._data
        for line in lines:
            if not line:
                if data and self._failed:
                    self.error = data
                    break
                if data and data.strip(b"\n"):  # several empty lines of data say as little as one
                    events.append(data)
                data = None
                self._failed = False
            elif line[:5] == b"data:":
                value = line[6:] if line[5:6] == b" " else line[5:]
                data = value if data is None else data + b"\n" + value
            elif line[:6] == b"event:":
                self._failed = line[6:].strip() == b"error"
            elif line[:6] == b"error:" or line[:8] == b'{"error"':
                self.error = line.removeprefix(b"error:").strip()
                break
        self._data = data
        return events


def _plain_line_ends(text: bytes) -> tuple[bytes, bytes]:
    """The text with "\\n" for each "\\r\\n" and "\\r", and a last "\\r" apart: the next byte decides what it is."""
    held = b"\r" if text.endswith(b"\r") else b""
    return text.removesuffix(b"\r").replace(b"\r\n", b"\n").replace(b"\r", b"\n"), held
