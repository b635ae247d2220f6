"""What a tool's result is to a model beyond plain text: images and files to look at, and how much of a long text it gets.

A tool message holds text only, with most providers. So what there is to see goes into one user message behind the whole batch, as content
parts in the form of the API reference (https://platform.openai.com/docs/api-reference/chat/create), whichever tools it came from.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any, cast

from .effects import Message
from .legal import is_dict
from .messages import text_of
from .tools import result_text

SEEN = frozenset(("image_url", "input_audio", "file"))
"""The types of content parts in the API reference that are no text."""
# Long enough that no word, id or hash is meant; in text of one script there is hardly any that mixes cases and digits so.
_ENCODED = re.compile(r"(?a)(?<![\w+/-])(?:data:[\w.+;=/-]+,)?(?:[\w+/-]{200,}+=*|(?:[\w+/-]{60,}+\r?\n){3,}+(?:[\w+/-]++=*(?!\S))?)")
_MIXED = tuple(map(re.compile, ("[a-z]", "[A-Z]", "[0-9]")))


class File:
    """A file for the model to read: a tool may return it, by itself, in a list, or in `Result(parts=[...])`.

    Args:
        data: its bytes.
        mime: its media type, such as "application/pdf".
        name: its name, as the model is told.

    Raises:
        TypeError: `data` is no bytes.

    Attributes:
        part: the content part of a message.
    """

    __slots__ = ("part",)

    def __init__(self, data: bytes, mime: str, name: str = "file") -> None:
        self.part: Message = {"type": "file", "file": {"filename": name, "file_data": _data_url(data, mime)}}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({placeholder(self.part)})"


class Image(File):
    """An image for the model to see, like a File.

    Args:
        data: its bytes.
        url: where it is, instead of `data`; the provider fetches it.
        mime: the media type of `data`.

    Raises:
        TypeError: `data` is no bytes.
        ValueError: neither `data` nor `url`, or both.
    """

    __slots__ = ()

    def __init__(self, data: bytes | None = None, *, url: str | None = None, mime: str = "image/png") -> None:
        if (data is None) == (url is None):
            raise ValueError("an Image needs one of the two: Image(data=b'...', mime='image/png') or Image(url='https://...')")
        self.part = {"type": "image_url", "image_url": {"url": _data_url(data, mime) if data is not None else url}}


def _data_url(data: Any, mime: str) -> str:
    if not isinstance(data, (bytes, bytearray)):
        raise TypeError(f"data must be bytes, not {type(data).__name__}: open the file in mode 'rb'")
    return f"data:{mime};base64,{b64encode(data).decode()}"


def told(value: Any, more: Sequence[Any] = ()) -> tuple[str, list[Message]]:
    """The text of a function's value, and the content parts of what there is to see.

    Args:
        value: what the function returned, or the value of its Result.
        more: the parts of its Result: each an Image, a File, or a content part as a dict.

    Raises:
        TypeError: a part that is something else.
    """
    items: list[Any] = [value]
    if isinstance(value, list) and any(isinstance(item, File) for item in cast("list[Any]", value)):
        items = cast("list[Any]", value)
    parts = [_part(item) for item in (*(item for item in items if isinstance(item, File)), *more)]
    text = "\n".join(result_text(item) for item in items if not isinstance(item, File))
    return text or " ".join(f"{placeholder(part)} (see below)" for part in parts), parts


def _part(item: Any) -> Message:
    part: Any = item.part if isinstance(item, File) else item
    if not is_dict(part) or not isinstance(part.get("type"), str):
        raise TypeError(f"Result(parts=...) holds {item!r}; give an Image, a File, or a content part such as {{'type': 'text', ...}}")
    return part


def placeholder(part: Message) -> str:
    """A content part in a few words: `[image/png, 68 bytes]`, `[report.pdf, application/pdf, 1,234 bytes]`, `[wav, 9 bytes]`, `[https://...]`."""
    inner: Any = part.get(part.get("type", ""))
    found: Message = inner if is_dict(inner) else {}
    url = str(found.get("url") or found.get("file_data") or part.get("type"))
    if part.get("type") == "input_audio" and isinstance(found.get("data"), str):
        url = f"data:{found.get('format') or 'audio'};base64,{found['data']}"
    if url.startswith("data:"):
        mime, _, data = url[5:].partition(";base64,")
        url = f"{mime}, {len(data) * 3 // 4 - data.count('=', -2):,} bytes"
    return f"[{', '.join(filter(None, (found.get('filename'), url)))}]"


def placeholders(message: Mapping[str, Any]) -> list[str]:
    """A placeholder for each content part of a message that is no text."""
    content: Any = message.get("content")
    parts = cast("list[Any]", content) if isinstance(content, list) else []
    return [placeholder(part) for part in parts if is_dict(part) and part.get("type") != "text"]


def in_words(message: Mapping[str, Any]) -> str:
    """The text of a message, and placeholders for what else it shows."""
    return " ".join(filter(None, (text_of(message), *placeholders(message))))


def for_provider(part: Message, unseen: frozenset[str]) -> Message:
    """A content part as a provider gets it that takes no part of the types `unseen`: words in its place, so that the model knows of it."""
    kind = part.get("type")
    if kind not in unseen:
        return part
    return {"type": "text", "text": f"{placeholder(part)} (not shown to you: this provider takes no {kind})"}


def shortened(text: str, limit: int) -> str:
    """At most so many characters of a text, from its head and its tail, with a mark between that says how much is missing.

    Half of what is encoded is worth nothing and says nothing, so base64 and data URLs go first, each as a whole and with a mark.
    """
    if len(text) > limit:
        text = _ENCODED.sub(_left_out, text)
    if len(text) <= limit:
        return text
    mark = f"\n[... {len(text) - limit:,} of {len(text):,} characters left out ...]\n"
    return f"{text[: (limit + 1) // 2]}{mark}{text[len(text) - limit // 2 :]}"


def _left_out(found: re.Match[str]) -> str:
    encoded = found[0].startswith("data:") or all(kind.search(found[0]) for kind in _MIXED)
    return f"[{len(found[0]):,} characters of base64 left out]" if encoded else found[0]
