"""Local files in messages: a picture, a sound, a text or a document becomes a content part, in the form of the API reference
(https://platform.openai.com/docs/api-reference/chat/create).

Reading files is kept out of the core, whose modules do no I/O.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from mimetypes import guess_type
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from .effects import Message
from .legal import is_part
from .parts import File, Image

__all__ = ["Audio", "attachment", "user_message"]

# What models see and hear: https://platform.openai.com/docs/guides/images-vision, https://platform.openai.com/docs/guides/audio
_PICTURES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp"}
_WRITTEN = ("application/json", "application/xml", "image/svg+xml")


class Audio(File):
    """A sound for the model to hear, like a File.

    Args:
        data: its bytes.
        format: how they are encoded.

    Raises:
        TypeError: `data` is no bytes.
    """

    __slots__ = ()

    def __init__(self, data: bytes, format: Literal["wav", "mp3"] = "wav") -> None:
        self.part = {"type": "input_audio", "input_audio": {"data": b64encode(data).decode(), "format": format}}


def attachment(path: str | PathLike[str]) -> Message:
    """A local file as a content part: what it is, its name says.

    Pictures (png, jpeg, gif, webp) become an `image_url` that holds their data, sounds (wav, mp3) `input_audio`. What is written in UTF-8
    becomes a text with its name above it, which every model can read. Everything else, a PDF for example, is a `file`.

    Args:
        path: the file.

    Raises:
        OSError: it cannot be read.
        ValueError: it is empty.
    """
    file = Path(path)
    data, suffix = file.read_bytes(), file.suffix.lower()
    if not data:
        raise ValueError(f"{file} is empty, so there is nothing to attach")
    if suffix in _PICTURES:
        return Image(data, mime=_PICTURES[suffix]).part
    if suffix == ".wav" or suffix == ".mp3":
        return Audio(data, "wav" if suffix == ".wav" else "mp3").part
    mime = guess_type(file.name)[0]
    if mime is None or mime.startswith("text/") or mime in _WRITTEN:
        text = _text(data)
        if text is not None:
            # Some servers put the texts of a message together with nothing between them.
            return {"type": "text", "text": f"\n{file.name}:\n{text}"}
    return File(data, mime or "application/octet-stream", file.name).part


def user_message(*content: str | File | Mapping[str, Any]) -> Message:
    """A message of the user's with texts, pictures, sounds and files: `user_message("What is this?", attachment("a.png"))`.

    Args:
        content: in order: texts; an Image, an Audio or a File; content parts as dicts. One text alone is sent as plain text.

    Raises:
        ValueError: there is nothing.
        TypeError: something is none of these.
    """
    if not content:
        raise ValueError("a message needs a text, an Image, an Audio, a File or a content part")
    if len(content) == 1 and isinstance(content[0], str):
        return {"role": "user", "content": content[0]}
    return {"role": "user", "content": [_part(item) for item in content]}


def _part(item: Any) -> Message:
    part: Any = {"type": "text", "text": item} if isinstance(item, str) else item.part if isinstance(item, File) else item
    if not is_part(part):
        raise TypeError(f"a message cannot hold {item!r}; give it a text, an Image, an Audio, a File or a content part as a dict")
    return part


def _text(data: bytes) -> str | None:
    try:
        text = data.decode("utf-8-sig")  # spreadsheets and editors of Windows put a mark before it
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
