"""The body of an answer that a server, or what stands before it, has compressed although it was asked not to."""

from __future__ import annotations

import zlib

from .endpoint import Endpoint
from .failures import Header, invalid

# Window sizes as zlib counts them: 16 more for a gzip header, negative for none at all.
_ZLIB = zlib.MAX_WBITS
_GZIP = 16 + zlib.MAX_WBITS


class Decoder:
    """Unpacks a body piece by piece: gzip or deflate (RFC 9110, section 8.4.1).

    Gateways are known that unpack a body and leave the header, so a body that never was compressed comes through as it is.

    Args:
        endpoint: who answers, for error texts.
        header: looks up a header of the answer.
    """

    __slots__ = ("_endpoint", "_head", "_header", "_inflate", "_is_gzip", "_plain")

    def __init__(self, endpoint: Endpoint, header: Header) -> None:
        self._endpoint = endpoint
        self._header = header
        self._is_gzip = "gzip" in (header("content-encoding") or "").lower()
        self._inflate = zlib.decompressobj(_GZIP)
        self._head: bytes | None = b""  # what came before the first text, in case that it is plain
        self._plain = False

    def feed(self, raw: bytes) -> bytes:
        """What the next bytes of the body unpack to, maybe nothing yet.

        Raises:
            InvalidReply: they are damaged.
        """
        if self._plain:
            return raw
        if self._head == b"" and not self._is_gzip:
            self._inflate = zlib.decompressobj(_ZLIB if raw[0] & 15 == zlib.DEFLATED else -_ZLIB)  # servers leave out the header
        text = b""
        try:
            text = self._inflate.decompress(raw)
            while self._is_gzip and self._inflate.unused_data:  # one member has ended, and another begins
                rest, self._inflate = self._inflate.unused_data, zlib.decompressobj(_GZIP)
                text += self._inflate.decompress(rest)
        except zlib.error as error:
            if text or self._head is None:
                raise invalid(self._endpoint, self._header, f"is damaged ({error})", b"") from None
            self._plain = True
            return self._head + raw
        if self._head is not None:
            self._head = None if text else self._head + raw
        return text


def decoder_for(endpoint: Endpoint, header: Header) -> Decoder | None:
    """A decoder for the answer with these headers, or None if it is not compressed in a way that is known here."""
    encoding = header("content-encoding")
    if encoding is None or encoding.strip().lower() not in ("gzip", "x-gzip", "deflate"):
        return None
    return Decoder(endpoint, header)
