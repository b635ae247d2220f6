"""What MCP servers send, as what the rest of the library knows: texts, content parts, messages."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Sequence
from typing import Any

import mcp_types as types

from ...effects import Message
from ...errors import ToolError
from ...parts import File
from ...tools import result_text
from ...types import Result
from ..foreign import seen

# What a request may carry as audio: platform.openai.com/docs/api-reference/chat/create, `input_audio`.
_AUDIO = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/wave": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


def outcome(result: types.CallToolResult) -> str | Result:
    """The value of a call.

    Raises:
        ToolError: the tool says that it failed; with its words.
    """
    value = told(result.content)
    if not result.content and result.structured_content is not None:
        value = Result(value=result_text(result.structured_content))
    if result.is_error:
        raise ToolError(str(value.value) or "the tool failed, and does not say why")
    return value if value.parts else value.value


def told(blocks: Sequence[types.ContentBlock]) -> Result:
    """Texts, one a line, and parts to see."""
    texts: list[str] = []
    parts: list[Any] = []
    for block in blocks:
        found = _block(block)
        if isinstance(found, str):
            texts.append(found)
        else:
            parts.append(found)
    return Result(value="\n".join(texts), parts=parts)


def contents(resource: types.ReadResourceResult) -> Result:
    """The same of a resource that was read."""
    return told([types.EmbeddedResource(resource=item) for item in resource.contents])


def messages(prompt: types.GetPromptResult) -> list[Message]:
    """A prompt as messages of a conversation; what there is to see stands in the user's, since an assistant's hold text only."""
    return [_message(item) for item in prompt.messages]


def _message(item: types.PromptMessage) -> Message:
    found = _block(item.content)
    if isinstance(found, str):
        return {"role": item.role, "content": found}
    part = found.part if isinstance(found, File) else found
    return {"role": "user", "content": [part]}


def _block(block: types.ContentBlock) -> str | File | Message:
    if isinstance(block, types.TextContent):
        return block.text
    if isinstance(block, types.ImageContent):
        return _seen(block.data, block.mime_type, "image")
    if isinstance(block, types.AudioContent):
        kind = _AUDIO.get(block.mime_type.partition(";")[0].lower())
        if kind is None:
            return f"[audio of type {block.mime_type}, which cannot be passed on]"
        return {"type": "input_audio", "input_audio": {"data": block.data, "format": kind}}
    if isinstance(block, types.ResourceLink):
        return f"[resource {block.title or block.name}: {block.uri}{f' ({block.description})' if block.description else ''}]"
    resource = block.resource
    if isinstance(resource, types.TextResourceContents):
        return resource.text
    return _seen(resource.blob, resource.mime_type or "application/octet-stream", resource.uri.rstrip("/").rpartition("/")[2] or "file")


def _seen(data: str, mime: str, name: str) -> File | str:
    try:
        raw = b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return f"[{name} of type {mime}, which is no valid base64]"
    return seen(raw, mime, name)
