"""Events as observers may see them, where `Swarm(redact=...)` says what nobody should.

Only texts and numbers are hidden, so a copy has the shape of the event it was made of. What the form of the API says (roles, ids, names of
tools) is left as it is, or nobody could tell which call an event is about. Images, files and sound become a placeholder. Pieces of a reply
are left out: a secret that is cut in two is found in neither half.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, cast

from pydantic_core import to_jsonable_python

from .events import Delta, Done, Event, MessageAdded, MessageDone, Nested, PartialOutput, Paused, PolicyActed, ToolDone, ToolStarted
from .legal import is_dict
from .parts import SEEN, placeholder
from .types import Pending, Response, ToolCall

Redact: TypeAlias = Callable[[Any], Any]
Told = TypeVar("Told", bound=Event)

_FORM = frozenset(("id", "name", "role", "sender", "tool_call_id", "tool_name", "type"))
"""Keys of messages that say what something is, never what somebody said."""


def for_observers(event: Event, redact: Redact) -> Event | None:
    """A copy of an event without what `redact` hides, or None for a piece of a reply.

    Args:
        event: as it is told.
        redact: takes a text and gives the text that may be seen. A value in arguments is asked about by itself, and again as JSON with
            its name, `{"password": "..."}`, so that a pattern may go by the name; so is JSON inside texts.
    """
    match event:
        case Nested():
            inner = for_observers(event.event, redact)
            return Nested(event.call_id, inner) if inner is not None else None
        case Delta() | PartialOutput():
            return None
        case MessageDone() | MessageAdded():
            return _with(event, message=_said(event.message, redact))
        case ToolStarted():
            return _with(event, arguments=_data(event.arguments, redact))
        case ToolDone():
            return _with(event, call=_call(event.call, redact), message=_said(event.message, redact))
        case Paused():
            return _with(event, pending=[_pending(call, redact) for call in event.pending])
        case PolicyActed():
            what, reason = _data(event.what, redact), _data(event.reason, redact)
            return _with(event, what=what, reason=reason, detail=_data(event.detail, redact))
        case Done():
            return _with(event, response=_response(event.response, redact))
        case _:
            return event


def _with(event: Told, **changes: Any) -> Told:
    other = object.__new__(type(event))
    for name in ("agent", *type(event).__slots__):
        setattr(other, name, changes[name] if name in changes else getattr(event, name))
    return other


def _response(response: Response, redact: Redact) -> Response:
    """Without the context variables, which are where secrets are kept."""
    shown = Response(
        messages=[_said(message, redact) for message in response.messages],
        agent=response.agent,
        usage=response.usage,
        stop_reason=response.stop_reason,
        calls=[_call(call, redact) for call in response.calls],
        pending=[_pending(call, redact) for call in response.pending],
        output=_data(response.output, redact),
    )
    shown._scope = response._scope  # type: ignore[reportPrivateUsage]  # what used and remaining are read from
    return shown


def _call(call: ToolCall, redact: Redact) -> ToolCall:
    return ToolCall(**{**call.as_dict(), "arguments": _data(call.arguments, redact), "error": _data(call.error, redact)})


def _pending(call: Pending, redact: Redact) -> Pending:
    return Pending(call.id, call.name, _data(call.arguments, redact), call.agent)


def _said(value: Any, redact: Redact) -> Any:
    """A message, or a part of one."""
    if is_dict(value):
        if value.get("type") in SEEN:  # nobody can tell by its data what an image shows
            return {"type": "text", "text": redact(placeholder(value))}
        parts = value.items()
        return {key: part if key in _FORM and isinstance(part, str) else _said(part, redact) for key, part in parts}
    if isinstance(value, list):
        return [_said(part, redact) for part in cast("list[Any]", value)]
    return _text(value, redact) if isinstance(value, str) else value


def _text(text: str, redact: Redact) -> Any:
    """A text; JSON in it, such as a call's arguments or a result, is looked into first."""
    if text[:1] in ("{", "["):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            pass
        else:
            hidden = _hidden(value, redact)
            text = text if hidden == value else json.dumps(hidden, ensure_ascii=False)
    return redact(text)


def _data(value: Any, redact: Redact) -> Any:
    """A value of the user's, as plain JSON."""
    return _hidden(to_jsonable_python(value, fallback=str), redact)


def _hidden(value: Any, redact: Redact) -> Any:
    if isinstance(value, dict):
        return {key: _named(key, item, redact) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_hidden(item, redact) for item in cast("list[Any]", value)]
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value, redact)
    text = json.dumps(value)
    shown = redact(text)
    return value if shown == text else shown


def _named(name: str, value: Any, redact: Redact) -> Any:
    hidden = _hidden(value, redact)
    if hidden != value or isinstance(value, dict | list):
        return hidden
    text = json.dumps({name: value}, ensure_ascii=False)
    shown = redact(text)
    if shown == text:
        return value
    try:
        return json.loads(shown)[name]
    except (ValueError, KeyError, TypeError):  # what was put in its place is no JSON any more
        return shown
