"""What may stand at a path of a configuration: found by walking the forms, for advice about a key and for environment variables."""

from __future__ import annotations

from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

from pydantic import BaseModel, JsonValue

from .problems import KeyPath, value_at


def form_at(form: Any, data: Any, path: KeyPath) -> Any:
    """The type of the value at a path, or None where there is no such place.

    Args:
        form: the type of `data`.
        data: what was written so far; it tells which of several forms is meant.
        path: where to look.
    """
    for part in path:
        form = _inside(_meant(form, data), part)
        data = value_at(data, (part,))
        if form is None:
            return None
    return form


def keys_of(form: Any, data: Any) -> list[str]:
    """The keys that a table may have; none where they are free, or where no table may stand.

    Args:
        form: the type of the value.
        data: the value.
    """
    meant = _meant(form, data)
    return [field.alias or name for name, field in meant.model_fields.items()] if _is_form(meant) else []


def type_names(form: Any) -> list[str]:
    """The values that `type` may have, where there are several forms."""
    kinds = [member.model_fields["type"].annotation for member in _members(form) if _is_form(member) and "type" in member.model_fields]
    return [name for kind in kinds for name in get_args(kind)]


def _is_form(form: Any) -> bool:
    return isinstance(form, type) and issubclass(form, BaseModel)


def _inside(form: Any, part: str | int) -> Any:
    if _is_form(form):
        found = next((field for name, field in form.model_fields.items() if part in (name, field.alias)), None)
        # What annotates a field itself, such as which of several forms is meant, does not matter here.
        return None if found is None else found.annotation
    if form is JsonValue:
        return JsonValue
    kind, inner = get_origin(form), get_args(form)
    if kind is dict and isinstance(part, str):
        return inner[1]
    return inner[0] if kind is list and isinstance(part, int) else None


def _members(form: Any) -> list[Any]:
    """The types of a union, of any depth; of another type, itself."""
    if form is JsonValue:
        return [JsonValue]
    if get_origin(form) is Annotated:
        return _members(get_args(form)[0])
    if get_origin(form) in (Union, UnionType):
        return [member for one in get_args(form) for member in _members(one)]
    return [form]


def _meant(form: Any, data: Any) -> Any:
    """Of a union, the member that fits what was written best."""
    members = [member for member in _members(form) if member is not NoneType]
    if isinstance(data, list):
        return next((member for member in members if get_origin(member) is list), members[0])
    if not isinstance(data, dict):
        return next((member for member in members if not _is_form(member)), members[0]) if data is not None else members[-1]
    tables = [member for member in members if _is_form(member) or get_origin(member) is dict or member is JsonValue]
    return max(tables, key=lambda member: _likeness(member, cast("dict[str, Any]", data)), default=members[0])


def _likeness(form: Any, data: dict[str, Any]) -> tuple[bool, int]:
    if not _is_form(form):
        return False, 0
    kind = form.model_fields.get("type")
    is_named = kind is not None and get_origin(kind.annotation) is Literal and data.get("type") in get_args(kind.annotation)
    return is_named, len(data.keys() & form.model_fields.keys())
