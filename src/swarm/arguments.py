"""A model's JSON arguments as the Python values that a function asks for.

Nearly all calls are right, so the validator reads the text in one pass. Only when that fails is the text looked at step by step:
for what models get nearly right (an object as text, a number for a name, null for "not given"), and for an answer that tells
the model what to correct.
"""

from __future__ import annotations

import functools
import re
import types
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast
from weakref import WeakKeyDictionary

from pydantic_core import SchemaValidator, ValidationError, from_json, to_json

from .errors import ToolArgumentsError
from .legal import json_text
from .schema import Json, Schema
from .signature import EMPTY, Signature


class Arguments:
    """The arguments of one function.

    The schema is built at first use, so that making an agent stays cheap; a type that cannot be said in JSON Schema is therefore
    warned about then. What is wrong with a signature is found at once.

    Attributes:
        signature: what the function takes.
    """

    __slots__ = ("_must_clean", "_schema", "_unhinted", "signature")

    def __init__(self, fn: Callable[..., Any]) -> None:
        """Reads a signature.

        Raises:
            AgentError: a signature that no model could call.
        """
        self.signature = Signature(fn)
        self._schema: Schema | None = None
        self._unhinted = [p.name for p in self.signature.parameters.values() if p.annotation is EMPTY and not p.required]
        self._must_clean = bool(self._unhinted) or self.signature.rest is not None

    def schema(self, name: str) -> Schema:
        """The schema and validator.

        Args:
            name: the function's name, for a SchemaWarning at the first time.
        """
        if self._schema is None:
            self._schema = Schema(self.signature, name)
            self.signature.scopes = []  # only needed for that
        return self._schema

    def values(self, raw: Any, name: str, loose: bool = False) -> Json:
        """Keyword arguments for the function, of the annotated types.

        Args:
            raw: the arguments as a model sent them: JSON text, a parsed object, or nothing.
            name: what the model calls the function, for the error's text.
            loose: whether to leave out arguments that the function does not have, instead of refusing them.

        Raises:
            ToolArgumentsError: its text tells the model what to correct.
        """
        schema = self._schema or self.schema(name)
        if type(raw) is not str or "NaN" in raw or "Infinity" in raw:  # which the validator takes, but JSON has not
            return self._repaired(schema, raw, name, loose)
        try:
            values = schema.validator.validate_json(raw, strict=True)
        except Exception:  # a validator of the user's own may raise anything; the slow way finds out what to say
            return self._repaired(schema, raw, name, loose)
        return self._cleaned(values) if self._must_clean else values

    def _cleaned(self, values: Json) -> Json:
        if self.signature.rest is not None:
            for hidden in self.signature.hidden:
                values.pop(hidden, None)
        for name in self._unhinted:  # where a type is given, the validator refuses a null that means "not given"
            if name in values and values[name] is None:
                del values[name]
        return values

    def _repaired(self, schema: Schema, raw: Any, name: str, loose: bool) -> Json:
        data = read_object(raw, name)
        known = self.signature.parameters
        for key in list(data):
            if key in self.signature.hidden or (loose and key not in known):
                del data[key]
        values, errors = fitted(schema.validator, data, {parameter.name for parameter in known.values() if not parameter.required})
        if values is not None:
            return self._cleaned(values)
        accepted = ", ".join(f"{parameter.name} (required)" if parameter.required else parameter.name for parameter in known.values())
        accepts = f"It accepts: {accepted}." if accepted else "It takes no arguments."
        raise ToolArgumentsError(f"Wrong arguments for {name}: {complaint(data, errors)}. {accepts} Correct them and call it again.")


_NUMBER_WANTED = ("int_type", "float_type")


def fitted(validator: SchemaValidator, data: Json, optional: set[str]) -> tuple[Json | None, list[Json]]:
    """The values of an object of which the validator takes all, or what models get nearly right; else None, and what is wrong.

    Args:
        validator: reads the object.
        data: the object; what is reread is changed in place.
        optional: names whose null means "not given".
    """
    errors: list[Json] = []
    for _ in range(5):  # text in text in text: deep enough, and an end
        text = to_json(data)
        for strict in (True, None):  # first to find true and false sent for numbers, which lax reading would take for 1 and 0
            values, errors = _read(validator, text, strict)
            if values is not None:
                return values, []
            if strict and (flags := [error for error in errors if isinstance(error["input"], bool) and error["type"] in _NUMBER_WANTED]):
                errors = flags
                break
        if not _repair(data, errors, optional):
            break
    return None, errors


def _read(validator: SchemaValidator, text: bytes, strict: bool | None) -> tuple[Json | None, list[Json]]:
    """The values, or None and what is wrong."""
    try:
        return validator.validate_json(text, strict=strict), []
    except ValidationError as error:
        return None, cast("list[Json]", error.errors(include_url=False, include_context=False))
    except Exception as error:  # a validator of the user's own that raises something else
        return None, [{"type": "raised", "loc": (), "msg": f"could not be converted, {type(error).__name__}: {error}", "input": None}]


_known: WeakKeyDictionary[Any, dict[bool, Arguments]] = WeakKeyDictionary()


def arguments_of(fn: Callable[..., Any]) -> Arguments:
    """The arguments of a function; read once for a function, a partial, or the function of a bound method, as long as it lives.

    Raises:
        AgentError: a signature that no model could call.
    """
    method = isinstance(fn, types.MethodType)
    key = fn.__func__ if isinstance(fn, types.MethodType) else fn
    if not isinstance(key, (types.FunctionType, functools.partial)):
        return Arguments(fn)
    both = _known.setdefault(key, {})
    found = both.get(method)
    if found is None:
        found = both[method] = Arguments(fn)
    return found


def read_object(raw: Any, name: str) -> Json:
    """The JSON object in what a model sent as arguments; nothing at all, and null, are an empty one.

    Args:
        raw: JSON text, a parsed object, or nothing. An object that was put into a JSON string is unpacked.
        name: what the model calls the function, for the error's text.

    Raises:
        ToolArgumentsError: no JSON, or no object.
    """
    data: Any = raw
    try:
        if isinstance(data, dict):
            data = to_json(data, fallback=str).decode()  # a copy, and only what JSON can hold
        if isinstance(data, str):
            data = _parsed(data) if data.strip() else None
    except (ValueError, TypeError) as error:
        raise ToolArgumentsError(f"The arguments of {name} are not valid JSON: {error}. Send one complete JSON object.") from None
    if isinstance(data, str):
        with suppress(ValueError):
            data = _parsed(data) if data.strip() else None
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise ToolArgumentsError(f"The arguments of {name} must be a JSON object like {{}}, got {_shown(data)}.")
    return cast("Json", data)


def _parsed(text: str) -> Any:
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError as error:
        odd = "NaN" in text or "Infinity" in text
        raise ValueError(f"{error} (JSON has no NaN and no Infinity)" if odd else str(error)) from None


_UNCHANGED = object()


def _repair(data: Json, errors: list[Json], optional: set[str]) -> bool:
    """Rereads wrong values of `data` in the way their errors suggest; returns whether any changed."""
    changed = False
    for error in errors:
        parent, path = _find(data, error["loc"])
        if not path or parent[path[-1]] != error["input"]:
            continue
        if error["input"] is None and isinstance(parent, dict) and (len(path) > 1 or path[0] in optional):
            del parent[path[-1]]  # null for "not given"
            changed = True
        elif (other := _reread(error["input"], error["type"])) is not _UNCHANGED:
            parent[path[-1]] = other
            changed = True
    return changed


def _reread(value: Any, error: str) -> Any:
    member = error in ("enum", "literal_error")
    if isinstance(value, str) and (member or error.endswith("_type")):
        try:
            other = _parsed(value)
        except ValueError:
            return _UNCHANGED
        return cast("Any", other) if isinstance(other, (bool, int, float) if member else (dict, list)) else _UNCHANGED
    if isinstance(value, (int, float)) and not isinstance(value, bool) and (member or error == "string_type"):
        return str(value)
    return _UNCHANGED


def _find(data: Any, steps: tuple[int | str, ...]) -> tuple[Any, list[int | str]]:
    """Where an error's location leads: the container and the path. Names of union members, which are no keys, are left out."""
    parent: Any = None
    path: list[int | str] = []
    for step in steps:
        if (isinstance(data, dict) and step in data) or (
            isinstance(data, list) and isinstance(step, int) and step < len(cast("list[Any]", data))
        ):
            parent, data = cast("Any", data), cast("Any", data)[step]
            path.append(step)
    return parent, path


def complaint(data: Any, errors: list[Json]) -> str:
    """What is wrong, in the words a model needs.

    Args:
        data: what was read.
        errors: as of `fitted`, their locations within `data`.
    """
    missing: list[str] = []
    unknown: list[str] = []
    wrong: dict[tuple[str, str], list[str]] = {}
    for error in errors:
        _, path = _find(data, error["loc"])
        if error["type"] == "missing":
            missing.append(_dotted([*path, error["loc"][-1]]))
        elif error["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
            unknown.append(_dotted(path))
        elif error["type"] == "raised":
            return error["msg"]
        else:
            wrong.setdefault((_dotted(path), _shown(error["input"])), []).append(_reason(error))
    parts = [f"missing: {', '.join(dict.fromkeys(missing))}"] if missing else []
    parts += [f"unknown: {', '.join(unknown)}"] if unknown else []
    for (where, value), reasons in wrong.items():
        goes_on = reasons[0].startswith("should ")
        parts.append(f"{where}{'' if goes_on else ':'} {' or '.join(dict.fromkeys(reasons))}, got {value}")
    return "; ".join(parts)


def _reason(error: Json) -> str:
    """What an error says, to stand behind the name of the argument."""
    text: str = error["msg"]
    if error["type"] in ("value_error", "assertion_error"):  # the words of the user's own validator
        return text.removeprefix("Value error, ").removeprefix("Assertion failed, ")
    text = text.removeprefix("Input ") if text.startswith("Input should ") else text
    return f"{text[:1].lower()}{text[1:]}" if text[1:2].islower() else text


def _dotted(path: list[int | str]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{_key(step)}" for step in path).removeprefix(".")


def _key(name: str) -> str:
    """A name as it is, or in quotation marks where it could be misread."""
    return name if re.fullmatch(r"[\w-]{1,64}", name) else _shown(name)


def _shown(value: Any) -> str:
    try:
        text = to_json(value, fallback=str).decode()
    except ValueError:  # half characters, a list that holds itself
        text = json_text(value)
    return text if len(text) <= 100 else f"{text[:100]}…"
