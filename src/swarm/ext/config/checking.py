"""A document held against its form: each thing that does not fit is told with its line, in words for whoever writes the file."""

from __future__ import annotations

import re
from typing import Any, cast

from pydantic import ValidationError

from .document import Document
from .fields import form_at, keys_of, type_names
from .form import ConfigurationForm
from .problems import ConfigFileError, KeyPath, nearest, value_at

_WANTED = {
    "bool_type": "true or false, without quotes",
    "dict_type": "a table",
    "float_type": "a number",
    "int_from_float": "a whole number",
    "int_type": "a whole number",
    "list_type": "a list",
    "model_attributes_type": "a table",
    "model_type": "a table",
    "string_type": "a text in quotes",
    "invalid-json-value": "what JSON can hold; write a date in quotes",
}
_SUBJECT = re.compile(r"^(Input|String|List|Dictionary|Value) should")
_NO_KEY = "a key never stands in a file: api_key_env names the environment variable that holds it"
_MEANT = {"tools": "functions", "system": "instructions"}
_KINDS: dict[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number with a point",
    str: "a text",
    list: "a list",
    dict: "a table",
    type(None): "nothing",
}


def checked(document: Document) -> ConfigurationForm:
    """The document as the form says.

    Raises:
        ConfigFileError: something in it does not fit.
        ConfigError: it holds CEL, and the extra is not installed.
    """
    try:
        return ConfigurationForm.model_validate(document.data)
    except ValidationError as error:
        found: dict[KeyPath, list[tuple[str, str]]] = {}
        for item in error.errors(include_url=False):
            path = _path(document.data, item["loc"], missing=item["type"] in ("missing", "extra_forbidden"))
            found.setdefault(path, []).append((item["type"], _text(document, path, item)))
        raise ConfigFileError(document.problem(path, _said(texts)) for path, texts in found.items()) from None


def _said(found: list[tuple[str, str]]) -> str:
    """What is said of a value. One that may be of several types was held against each; what it is most like says most."""
    telling = [text for kind, text in found if kind not in _WANTED]
    if telling:
        return "; ".join(dict.fromkeys(telling))
    wanted = dict.fromkeys(_WANTED[kind] for kind, _ in found)
    return f"must be {' or '.join(wanted)}, not {found[0][1].rpartition(', not ')[2]}"


def _path(data: Any, location: tuple[str | int, ...], missing: bool) -> KeyPath:
    """Where in the data an error is: pydantic also names which of several forms it has tried, which is no key."""
    path: KeyPath = ()
    for number, part in enumerate(location):
        if _has(data, part):
            data, path = value_at(data, (part,)), (*path, part)
        elif missing and number == len(location) - 1:
            path = (*path, part)
    return path


def _text(document: Document, path: KeyPath, item: Any) -> str:
    kind, key = item["type"], str(path[-1]) if path else ""
    if kind == "extra_forbidden":
        parent = form_at(ConfigurationForm, document.data, path[:-1])
        known = keys_of(parent, value_at(document.data, path[:-1]))
        return f"there is no such key{_advice(key, known)}"
    if kind == "missing":
        return "is missing"
    if kind in _WANTED:
        return f"must be {_WANTED[kind]}, not {_kind(item['input'])}"
    if kind == "literal_error":
        return f"must be {item['ctx']['expected']}, not {_shown(item['input'])}"
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        names = ", ".join(type_names(form_at(ConfigurationForm, document.data, path)))
        return f"{'is missing its type' if kind.endswith('found') else 'there is no such type'}; the types are: {names}"
    if kind == "string_pattern_mismatch":
        is_key = key == "api_key_env"
        return "must be the name of an environment variable, never the key itself" if is_key else "must be a dotted path: module.function"
    return _SUBJECT.sub("must", str(item["msg"]).removeprefix("Value error, ").partition("\n")[0])


def _advice(key: str, known: list[str]) -> str:
    if key == "api_key":
        return f"; {_NO_KEY}"
    meant = _MEANT.get(key)
    return f"; these are called {meant} here" if meant in known else nearest(key, known, "keys")


def _has(data: Any, part: str | int) -> bool:
    if isinstance(data, dict):
        return part in data
    return isinstance(data, list) and isinstance(part, int) and part < len(cast("list[Any]", data))


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, str | int | float | bool) and len(repr(value)) < 60 else _kind(value)


def _kind(value: Any) -> str:
    return next((text for kind, text in _KINDS.items() if isinstance(value, kind)), "a date or time")
