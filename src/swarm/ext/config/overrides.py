"""Environment variables in the place of values of a file: `SWARM_LIMITS__MODEL_CALLS=5` is `limits.model_calls`.

Two underscores stand between keys, so that SWARM_OFFLINE and SWARM_MODEL, which are no part of a file, mean what they always mean.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

from pydantic import JsonValue, TypeAdapter, ValidationError

from .document import Document
from .fields import form_at, keys_of
from .form import ConfigurationForm
from .problems import ConfigFileError, KeyPath, Problem, dotted, nearest, value_at

PREFIX = "SWARM_"
_FREE = (("model_settings",), ("context_variables",))  # tables whose keys are free, so that an override may bring a new one


def put_overrides(document: Document, environ: Mapping[str, str]) -> None:
    """Put the values of the environment into a document.

    Args:
        document: the file.
        environ: names and values; those without two underscores are none of ours.

    Raises:
        ConfigFileError: a variable that names nothing, or whose value does not fit.
    """
    problems: list[Problem] = []
    for variable in sorted(environ):
        if variable.startswith(PREFIX) and "__" in variable:
            why = _put(document, variable, environ[variable])
            if why:
                problems.append(Problem(variable, None, "", why))
    if problems:
        raise ConfigFileError(problems)


def _put(document: Document, variable: str, text: str) -> str | None:
    """Put one value in; what is wrong, or None."""
    path: KeyPath = ()
    for part in variable.removeprefix(PREFIX).split("__"):
        found = _named(document, path, part)
        if isinstance(found, list):
            where = f"of {dotted(path)} in {document.source}" if path else f"of {document.source}"
            return f"names nothing: {part.lower()!r} is no key {where}{nearest(part.lower(), found, 'keys')}"
        path = (*path, found)
    for number in range(1, len(path)):
        if not isinstance(value_at(document.data, path[:number]), dict | list | None):
            return f"cannot be put into {dotted(path[:number])}, which is no table in {document.source}"
    form = form_at(ConfigurationForm, document.data, path)
    for value in _readings(form, text):
        with suppress(ValidationError):
            TypeAdapter(form).validate_python(value, strict=True)
            document.put(path, value, variable)
            return None
    return f"does not fit {dotted(path)}: a text is written as it is; numbers, true, false, lists and tables as in JSON"


def _readings(form: Any, text: str) -> list[Any]:
    """What a text may stand for, in the order in which to try."""
    values: list[Any] = [text]
    with suppress(ValueError, RecursionError):
        values.append(json.loads(text))
    return values[::-1] if form is JsonValue else values


def _named(document: Document, path: KeyPath, part: str) -> str | int | list[str]:
    """The key that a part of a variable's name means; all that it could have meant if it means none."""
    inside = value_at(document.data, path)
    if isinstance(inside, list):
        count = len(cast("list[Any]", inside))
        return int(part) if part.isdecimal() and int(part) < count else [str(number) for number in range(count)]
    written = cast("dict[str, Any]", inside) if isinstance(inside, dict) else {}
    known = [*written, *keys_of(form_at(ConfigurationForm, document.data, path), inside)]
    found = [key for key in known if _plain(key) == _plain(part)]
    if found:
        return found[0]
    return part.lower() if path[-1:] in _FREE else sorted(set(known))


def _plain(key: str) -> str:
    return re.sub(r"\W", "_", key).lower()
