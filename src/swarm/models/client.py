"""Any client with `chat.completions.create`, as the drivers see a model.

Told by what it does, never by what it is: no import of its package, no isinstance. It is called through `create`, so that its owner's
wrappers and instrumentation see the call. Whether it is sync or async is told by what the first call returns: `iscoroutinefunction`
says no for the official async client.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Iterable, Iterator
from functools import lru_cache
from inspect import isasyncgenfunction, iscoroutinefunction, unwrap
from typing import Any, Protocol, cast, runtime_checkable

from ..effects import CallModel, Reply
from ..errors import ConfigError, ConnectionFailed, InvalidReply, ModelError, ModelTimeout, status_error
from ..messages import read_reply

Chunk = dict[str, Any]
_ERROR_FIELDS: dict[str, Any] = {"message": str, "code": str | int, "type": str, "status": str | int}


@runtime_checkable
class Model(Protocol):
    """What a driver needs of a model. Write these two methods to bring a provider of your own; they may be sync or async.

    `call.request` holds the keyword arguments of a Chat Completions request, `call.timeout` the seconds it may take or None.
    Failures are raised as `swarm.errors.ModelError` and its kinds. A class may have `acomplete` and `astream` beside them, which the
    async driver prefers, and `batches` and `abatches`: iterators of iterables of the chunks that came together, each read to its end
    before the next is asked for, whose dicts the model gives away. A sync model that never waits sets `blocking = False`, which spares
    the async driver a thread.
    """

    def complete(self, call: CallModel) -> Reply | Awaitable[Reply]:
        """One whole answer; `swarm.messages.read_reply` makes it from a Chat Completions answer."""
        ...

    def stream(self, call: CallModel) -> Iterator[Chunk] | AsyncIterator[Chunk] | Awaitable[AsyncIterator[Chunk]]:
        """The same in pieces: dicts in the form of `chat.completion.chunk`. Closing the iterator must stop the provider."""
        ...


def model_for(client: object) -> Any:
    """The client itself if it is a Model, else a view of it as one.

    Raises:
        ConfigError: it has neither `complete` and `stream` nor `chat.completions.create`.
    """
    if hasattr(type(client), "complete") and hasattr(type(client), "stream"):
        return client
    create = getattr(getattr(getattr(client, "chat", None), "completions", None), "create", None)
    if create is None:
        raise ConfigError(_no_client(client))
    return ForeignClient(client, create)


def client_of(model: Any) -> Any:
    """The client that a Model was made for by `model_for`."""
    return model.client if isinstance(model, ForeignClient) else model


def _no_client(client: Any) -> str:
    if isinstance(client, str):
        return f"{client!r} is no client; a model's name goes on Agent(model=...)"
    if isinstance(client, type):
        return f"a class is no client: give an instance, {client.__name__}(...)"
    return (
        f"{type(client).__name__} is no client: it has neither chat.completions.create (as OpenAI() has) "
        "nor the methods complete and stream (see swarm.Model)"
    )


def faster(model: Any, name: str, *plain: str) -> Any:
    """The faster variant of a model's plain methods, which a driver can do without.

    None if there is none, or if a subclass overrides a plain method of the class that has it: the override must not be passed by.
    """
    for kind in type(model).__mro__:
        if name in vars(kind):
            return getattr(model, name)
        if any(other in vars(kind) for other in plain):
            return None
    return None


def blocks(model: Any, fn: Any) -> bool:
    """Whether a call of a model's method may block, so that the async driver takes it off the loop.

    A model may say so by an attribute `blocking`; else it is told by whether the method is a coroutine or async generator function.
    """
    own = getattr(model, "blocking", None)
    return own if isinstance(own, bool) else _blocks(getattr(fn, "__func__", fn))


@lru_cache(maxsize=256)
def _blocks(function: Any) -> bool:
    return not (iscoroutinefunction(function) or isasyncgenfunction(function))


class ForeignClient:
    """A Chat Completions client of somebody else's.

    Attributes:
        client: the client itself.
        blocking: whether a call may block, so that the async driver takes it off the loop. A client that is async without looking so
            works all the same: what its call returns is awaited.
    """

    __slots__ = ("_create", "blocking", "client")

    def __init__(self, client: Any, create: Any) -> None:
        self.client = client
        self._create = create
        kind = cast("Any", type(client))
        self.blocking = not (iscoroutinefunction(unwrap(create)) or kind.__name__.startswith("Async"))

    def complete(self, call: CallModel) -> Reply | Awaitable[Reply]:
        """Ask for one answer."""
        answer = self._ask(call)
        return self._awaited(answer) if hasattr(answer, "__await__") else _reply(answer)

    def stream(self, call: CallModel) -> Any:
        """Ask for a stream of chunks."""
        answer = self._ask(call)
        return self._opened(answer) if hasattr(answer, "__await__") else _chunks(answer, awaited=False)

    def _ask(self, call: CallModel) -> Any:
        try:
            if call.timeout is None:
                return self._create(**call.request)
            own = call.request.get("timeout")
            limit = min(own, call.timeout) if isinstance(own, int | float) else call.timeout
            return self._create(**{**call.request, "timeout": limit})
        except Exception as error:
            raise explained(error) from error

    async def _awaited(self, answer: Awaitable[Any]) -> Reply:
        try:
            answer = await answer
        except Exception as error:
            raise explained(error) from error
        return _reply(answer)

    async def _opened(self, answer: Awaitable[Any]) -> Any:
        try:
            answer = await answer
        except Exception as error:
            raise explained(error) from error
        return _chunks(answer, awaited=True)


def _reply(answer: Any) -> Reply:
    if isinstance(answer, str):
        raise InvalidReply(
            f"the client answered with a text instead of a completion; does its base_url end in /v1? It begins {answer[:200]!r}"
        )
    plain = as_dict(answer)
    choices = getattr(answer, "choices", None)
    if plain.get("choices") is None and choices is not None and not isinstance(choices, list | tuple):
        raise InvalidReply(f"choices of the answer is a {type(choices).__name__}, not a list; a mock needs choices=[...]")
    return read_reply(plain)


def _chunks(answer: Any, awaited: bool) -> Any:
    """The stream as one of ours; an answer that came whole is a stream of one chunk.

    Some can be read in both ways (a mock, a wrapper for many providers): then as it was asked for.
    """
    whole: Any = answer
    if isinstance(whole, dict) or isinstance(getattr(answer, "choices", None), list):
        return Chunks([answer])
    is_sync = hasattr(answer, "__iter__") and not isinstance(whole, str)
    if hasattr(answer, "__aiter__") and (awaited or not is_sync):
        return AsyncChunks(answer)
    if is_sync:
        return Chunks(answer)
    raise explained(TypeError(f"a stream was asked for, and {type(answer).__name__} came, which cannot be iterated"))


class Chunks(Iterator[Chunk]):
    """A stream of somebody else's, chunk by chunk as dicts."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self._next = iter(source).__next__

    def __next__(self) -> Chunk:
        try:
            return as_dict(self._next())
        except (StopIteration, ModelError):
            raise
        except Exception as error:
            raise explained(error) from error

    def close(self) -> None:
        """Close the source, if it can be closed."""
        close = getattr(self._source, "close", None)
        if close is not None:
            close()


class AsyncChunks(AsyncIterator[Chunk]):
    """The same for an async stream."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self._next = source.__aiter__().__anext__

    async def __anext__(self) -> Chunk:
        try:
            return as_dict(await self._next())
        except (StopAsyncIteration, ModelError):
            raise
        except Exception as error:
            raise explained(error) from error

    async def aclose(self) -> None:
        """Close the source, if it can be closed."""
        close = getattr(self._source, "aclose", None) or getattr(self._source, "close", None)
        result = close() if close is not None else None
        if hasattr(result, "__await__"):
            await cast("Awaitable[Any]", result)


def explained(error: Exception) -> ModelError:
    """The exception of a client library as one of ours: its status, body and words are read from where such libraries keep them."""
    if isinstance(error, ModelError):
        return error
    text = str(error) or type(error).__name__
    status = getattr(error, "status_code", None)
    kinds = " ".join(kind.__name__ for kind in type(error).__mro__)
    if isinstance(status, int) and status >= 400:
        headers = getattr(getattr(error, "response", None), "headers", None)
        text = text.removeprefix(f"Error code: {status} - ")
        return status_error(
            status,
            text,
            body=getattr(error, "body", None),
            request_id=getattr(error, "request_id", None),
            retry_after=_seconds(headers),
            cause=error,
        )
    if isinstance(error, TimeoutError) or "Timeout" in kinds:
        return ModelTimeout(text, cause=error)
    if isinstance(error, ConnectionError) or "ConnectionError" in kinds or "ConnectError" in kinds:
        return ConnectionFailed(text, cause=error)
    return ModelError(f"{type(error).__name__}: {text}", cause=error)


def _seconds(headers: Any) -> float | None:
    from .failures import retry_after

    return retry_after(headers.get) if hasattr(headers, "get") else None


def as_dict(answer: Any) -> dict[str, Any]:
    """An answer or chunk of any client as a plain dict.

    pydantic objects are dumped without what was not sent. Anything else is read field by field with a look at each type, since a mock
    has an answer for every name.
    """
    if isinstance(answer, dict):
        return cast("dict[str, Any]", answer)
    if _is_model(answer):
        return _dumped(answer)
    plain: dict[str, Any] = {**_extras(answer), **_known(answer, {"id": str, "model": str})}
    usage = getattr(answer, "usage", None)
    if usage is not None and not isinstance(usage, dict):
        usage = _numbers(usage)
    plain["usage"] = usage
    choices = getattr(answer, "choices", None)
    plain["choices"] = [_choice(choice) for choice in cast("list[Any]", choices)] if isinstance(choices, list | tuple) else None
    return plain | _error(answer)


def _dumped(model: Any) -> dict[str, Any]:
    try:
        return model.model_dump(exclude_unset=True, warnings=False)
    except TypeError:  # no pydantic object, though it looks like one
        return model.model_dump()


def _is_model(value: Any) -> bool:
    kind = cast("Any", type(value))
    return hasattr(kind, "model_dump")  # asked of the class, since a mock has every attribute


def _error(source: Any) -> dict[str, Any]:
    error = getattr(source, "error", None)
    if error is None:
        return {}
    return {"error": error if isinstance(error, str | dict) else _known(error, _ERROR_FIELDS)}


def _choice(choice: Any) -> dict[str, Any]:
    if isinstance(choice, dict):
        return cast("dict[str, Any]", choice)
    plain = {**_extras(choice), **_known(choice, {"index": int, "finish_reason": str}), **_error(choice)}
    for part in ("message", "delta"):
        value = getattr(choice, part, None)
        if value is not None:
            plain[part] = _message(value)
    return plain


def _message(message: Any) -> dict[str, Any]:
    if isinstance(message, dict):
        return cast("dict[str, Any]", message)
    if _is_model(message):
        return _dumped(message)
    plain = {**_extras(message), **_known(message, {"role": str, "content": str | list, "refusal": str})}
    calls = getattr(message, "tool_calls", None)
    if isinstance(calls, list | tuple):
        plain["tool_calls"] = plain_calls(cast("list[Any]", calls))
    else:
        plain.pop("tool_calls", None)
    return plain


def plain_calls(calls: Iterable[Any]) -> list[dict[str, Any]]:
    """The tool calls of any client as dicts."""
    return [_call(call) for call in calls]


def _call(call: Any) -> dict[str, Any]:
    if isinstance(call, dict):
        return cast("dict[str, Any]", call)
    if _is_model(call):
        return _dumped(call)
    function = getattr(call, "function", None)
    plain = {**_extras(call), **_known(call, {"id": str, "index": int, "type": str})}
    if function is not None:
        plain["function"] = function if isinstance(function, dict) else _function(function)
    return plain


def _function(function: Any) -> dict[str, Any]:
    return {**_extras(function), **_known(function, {"name": str, "arguments": str | dict})}


def _known(source: Any, kinds: dict[str, Any]) -> dict[str, Any]:
    values = ((name, getattr(source, name, None)) for name in kinds)
    return {name: value for name, value in values if isinstance(value, kinds[name])}


def _extras(source: Any) -> dict[str, Any]:
    """Fields of the provider's own on a simple object: plain JSON only, so that a mock's inner life stays out."""
    fields = cast("dict[str, Any]", getattr(source, "__dict__", {}))
    return {name: value for name, value in fields.items() if not name.startswith("_") and _is_json(value)}


def _is_json(value: Any) -> bool:
    if type(value) is dict:
        return all(type(name) is str and _is_json(item) for name, item in cast("dict[Any, Any]", value).items())
    if type(value) is list:
        return all(map(_is_json, cast("list[Any]", value)))
    return value is None or type(value) in (str, int, float, bool)


def _numbers(usage: Any) -> dict[str, Any]:
    if _is_model(usage):
        return _dumped(usage)
    plain: dict[str, Any] = {**_extras(usage), **_known(usage, {"prompt_tokens": int, "completion_tokens": int, "total_tokens": int})}
    for part, name in (("prompt_tokens_details", "cached_tokens"), ("completion_tokens_details", "reasoning_tokens")):
        details = getattr(usage, part, None)
        if details is not None:
            plain[part] = details if isinstance(details, dict) else _known(details, {name: int})
    return plain
