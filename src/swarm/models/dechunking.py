"""The chunked form in which servers send bodies whose length they do not know yet, which all streams are.

Done here since the standard library's response hands out one HTTP chunk at a time, and so one event, at a dozen calls each; a stream that
comes quickly is read in a few pieces instead.
"""

from __future__ import annotations

import http.client
import re

_SIZE = re.compile(rb"[0-9a-fA-F]{1,16}")
_LONGEST_LINE = 65536


class Dechunker:
    """Takes a chunked body apart (https://www.rfc-editor.org/rfc/rfc9112#section-7.1). Extensions and trailers mean nothing here.

    Attributes:
        done: whether the body has ended.
        surplus: whether bytes came behind its end.
    """

    __slots__ = ("_behind", "_ending", "_held", "_left", "done", "surplus")

    def __init__(self) -> None:
        self._held = b""
        self._left = 0
        self._behind = False  # the data of a chunk, where a line must end
        self._ending = False  # behind the last chunk, among trailers
        self.done = False
        self.surplus = False

    def feed(self, raw: bytes) -> bytes:
        """What the next bytes of the connection hold of the body.

        Raises:
            HTTPException: it is not in that form.
        """
        text, at = self._held + raw if self._held else raw, 0
        out: list[bytes] = []
        while not self.done:
            if self._left:
                data = text[at : at + self._left]
                out.append(data)
                at += len(data)
                self._left -= len(data)
                if self._left:
                    break
                self._behind = True
            end = text.find(b"\n", at)
            if end < 0:
                break
            self._line(text[at:end].rstrip(b"\r"))
            at = end + 1
        self._held = text[at:]
        if len(self._held) > _LONGEST_LINE:
            raise http.client.LineTooLong("chunk size")
        self.surplus = self.done and at < len(text)
        return out[0] if len(out) == 1 else b"".join(out)

    def _line(self, line: bytes) -> None:
        if self._behind:
            if line:
                raise http.client.HTTPException(f"a chunk is longer than it says: {line[:40]!r}")
            self._behind = False
        elif self._ending:
            self.done = not line
        else:
            size = line.partition(b";")[0].strip()
            if not _SIZE.fullmatch(size):
                raise http.client.HTTPException(f"{size[:40]!r} is no size of a chunk")
            self._left = int(size, 16)
            self._ending = not self._left
