"""A request on its way out: the bytes of its body, and the options of the call that stand among its arguments, as with the official client.

What cannot be sent is named with its place, since the JSON writer only knows its type. The places are looked for when the writer has
refused, never before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any, cast

from pydantic_core import PydanticSerializationError, to_json

from ..encoded import encode
from ..errors import ConfigError, HistoryError, SwarmError
from ..legal import is_dict
from .endpoint import Endpoint
from .failures import no_answer_in_time
from .halves import whole
from .timeouts import Timeout

# What nearly all requests consist of, and what needs no look.
_USUAL = frozenset(("messages", "model", "stream", "stream_options", "tools"))
_OPTIONS = ("extra_body", "extra_headers", "extra_query", "timeout")
# The API refuses an empty list of tools, and a choice where there are none.
_OF_TOOLS = ("parallel_tool_calls", "tool_choice", "tools")
_LEFT_OUT = ("NotGiven", "Omit")
_DEEPEST = 12  # a longer place helps nobody


def outgoing(
    endpoint: Endpoint, usual: Timeout, request: dict[str, Any], left: float | None, stream: bool
) -> tuple[Endpoint, bytes, Timeout]:
    """What a transport needs for one call.

    Args:
        endpoint: whom the client calls.
        usual: the client's time limits.
        request: the arguments of `chat.completions.create`; not changed.
        left: seconds that the call may take at most, or None.
        stream: whether chunks are asked for.

    Returns:
        the endpoint for this call, the body, the time limits.

    Raises:
        ConfigError: an argument that cannot be sent.
        HistoryError: a message that cannot be sent.
        ModelTimeout: no time is left.
    """
    plain = (request.keys() <= _USUAL or _is_plain(request)) and request.get("tools", True)
    if not plain:
        endpoint, usual, request = _settled(endpoint, usual, request)
    limits = _tightened(endpoint, usual, left)
    if stream and not request.get("stream"):
        request = {**request, "stream": True}
    elif not stream and ("stream" in request or "stream_options" in request):
        request = {key: value for key, value in request.items() if key not in ("stream", "stream_options")}
    try:
        body = encode(request)
    except PydanticSerializationError:
        body = _with_halves_replaced(request)
    if not plain:
        for name, value in request.items():
            if name not in ("messages", "tools"):
                _check_numbers(name, value)
    return endpoint, body, limits


def _is_plain(request: dict[str, Any]) -> bool:
    """Whether everything is a field of the body that can be sent as it is; asked of each request, so that most need no more."""
    for name, value in request.items():
        if name not in _USUAL and (name in _OPTIONS or not (isinstance(value, str | int) or (type(value) is float and isfinite(value)))):
            return False
    return True


def _settled(endpoint: Endpoint, usual: Timeout, request: dict[str, Any]) -> tuple[Endpoint, Timeout, dict[str, Any]]:
    """The endpoint and limits with the call's options, and the arguments without them and without those that say nothing."""
    body = {name: value for name, value in request.items() if value is not None and name not in _OPTIONS}
    if not body.get("tools", True):
        body = {name: value for name, value in body.items() if name not in _OF_TOOLS}
    if request.get("timeout") is not None:
        usual = _own_limit(request["timeout"], usual)
    headers, query = _mapping(request, "extra_headers"), _mapping(request, "extra_query")
    if headers or query:
        endpoint = endpoint.for_call(headers, query)
    return endpoint, usual, {**body, **_mapping(request, "extra_body")}


def _mapping(request: dict[str, Any], name: str) -> Mapping[str, Any]:
    value: Any = request.get(name) or {}
    if not isinstance(value, Mapping):
        raise ConfigError(f"{name} must be a dict, not {type(value).__name__}")
    return cast("Mapping[str, Any]", value)


def _own_limit(value: Any, usual: Timeout) -> Timeout:
    if isinstance(value, Timeout):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise ConfigError(f"timeout must be a number of seconds above 0 or a swarm.models.chat.Timeout, not {value!r}")
    return Timeout(usual.connect, value, value)


def _tightened(endpoint: Endpoint, usual: Timeout, left: float | None) -> Timeout:
    if left is None or (usual.total is not None and left >= usual.total):
        return usual
    if left <= 0:
        raise no_answer_in_time(endpoint, "total", left)
    return Timeout(usual.connect, usual.read, left)


def _with_halves_replaced(request: dict[str, Any]) -> bytes:
    try:
        return to_json(whole(request))
    except (PydanticSerializationError, RecursionError):
        raise _refusal(request) from None


def _refusal(request: dict[str, Any]) -> SwarmError:
    """The error for a request that JSON cannot hold; it names the innermost value that is to blame."""
    value: Any = request
    steps: list[str | int] = []
    seen: set[int] = set()
    while id(value) not in seen and len(steps) < _DEEPEST:  # a list may hold itself
        seen.add(id(value))
        found = next(((step, part) for step, part in _parts(value) if _problem(part)), None)
        if found is None:
            break
        steps.append(found[0])
        value = found[1]
    name, index = steps[0] if steps else "", steps[1] if len(steps) > 1 else None
    place = "".join([str(name), *(f"[{step!r}]" for step in steps[1:])])
    if name != "messages":
        return ConfigError(f"{place} cannot be sent as JSON: {_problem(value)}; {_way_out(str(name), value)}")
    text = f"{place} of the request (its instructions are message 0) cannot be sent as JSON: {_problem(value)}"
    return HistoryError(f"{text}; {_way_out('', value)}", index if isinstance(index, int) else None)


def _parts(value: Any) -> Iterator[tuple[Any, Any]]:
    if is_dict(value):
        yield from value.items()
    elif isinstance(value, list | tuple):
        yield from enumerate(cast("list[Any]", value))


def _problem(value: Any) -> str:
    """Why a value cannot be sent, or ""."""
    if isinstance(value, type):
        return f"it is the class {value.__name__}"
    try:
        to_json(whole(value))
    except PydanticSerializationError as error:
        return str(error).removeprefix("Error serializing to JSON: ")
    except RecursionError:
        return "it holds itself, or is nested too deep"
    return ""


def _way_out(name: str, value: Any) -> str:
    kind: Any = value if isinstance(value, type) else type(value)
    if kind.__name__ in _LEFT_OUT:
        return "leave it out"
    if isinstance(value, type) and name == "response_format":
        schema = f"{{'name': {kind.__name__!r}, 'schema': {kind.__name__}.model_json_schema()}}"
        return f"pass {{'type': 'json_schema', 'json_schema': {schema}}}"
    return "give it text, numbers, true or false, None, lists and dicts only"


def _check_numbers(place: str, value: Any) -> None:
    if isinstance(value, float) and not isfinite(value):
        raise ConfigError(f"{place} is {value}, which JSON cannot hold; give it a number or leave it out")
    for step, part in _parts(value):
        _check_numbers(f"{place}[{step!r}]", part)
