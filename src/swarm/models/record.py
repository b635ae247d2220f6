"""What a server sent, readable in both ways people are used to: `completion.choices[0].message.content` and `completion["choices"]`.

It is the dict itself with attributes on top, so unknown fields of a provider stay, it goes through `json.dumps` as it is, and making one
costs no validation.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Any, TypeAlias, cast

from pydantic_core import to_json

# Fields that a server may leave out and a reader may ask for all the same: https://platform.openai.com/docs/api-reference/chat/object
_MESSAGE_FIELDS = ("annotations", "audio", "content", "function_call", "name", "refusal", "role", "tool_calls")
_OPTIONAL = frozenset((*_MESSAGE_FIELDS, "finish_reason", "id", "logprobs", "model", "service_tier", "system_fingerprint", "usage"))
Json: TypeAlias = dict[str, Any]


class Record(Json):
    """A JSON object with its fields as attributes. A field of Chat Completions that is absent reads as None."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            if name in _OPTIONAL:
                return None
            raise AttributeError(f"no field {name!r}; there are {', '.join(self)}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def model_dump(self, *, mode: str = "python", exclude_unset: bool = False, exclude_none: bool = False) -> Json:
        """Plain dicts and lists.

        Args:
            mode: accepted for code written for pydantic models; every value is JSON already.
            exclude_unset: accepted likewise; what was not sent is not there.
            exclude_none: leave out fields whose value is null.
        """
        return _plain(self, exclude_none)

    def model_dump_json(self, *, exclude_unset: bool = False, exclude_none: bool = False) -> str:
        """The same as JSON text."""
        return to_json(_plain(self, exclude_none)).decode()

    def json(self) -> str:
        """`model_dump_json()` under the older name that code for streams uses."""
        return self.model_dump_json()

    @classmethod
    def of(cls, value: Json) -> Record:
        """A Record of a JSON object, those inside it likewise. Nothing is shared with `value`."""
        return _record(value)


class Chunks(Iterator[Record]):
    """The chunks of a streamed answer. Reading it to the end, `close()` or leaving a `with` block frees the connection.

    Args:
        source: an iterator of chunk dicts; closed if it can be.
    """

    def __init__(self, source: Any) -> None:
        self._source = source

    def __next__(self) -> Record:
        return Record.of(next(self._source))

    def close(self) -> None:
        """Stop the answer and close its connection."""
        close = getattr(self._source, "close", None)
        if close is not None:
            close()

    def __enter__(self) -> Chunks:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()


def _record(value: Any) -> Any:
    if isinstance(value, dict):
        return Record((key, _record(item)) for key, item in cast("Json", value).items())
    if isinstance(value, list):
        return [_record(item) for item in cast("list[Any]", value)]
    return value


def _plain(value: Any, exclude_none: bool) -> Any:
    if isinstance(value, dict):
        fields = cast("Json", value).items()
        return {key: _plain(item, exclude_none) for key, item in fields if not (exclude_none and item is None)}
    if isinstance(value, list):
        return [_plain(item, exclude_none) for item in cast("list[Any]", value)]
    return value
