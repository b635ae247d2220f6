"""Types that only pydantic can explain, as TypeAdapters, and the nearest thing that can be said for those that it cannot.

Pydantic's validators are made for Python's objects too; what is made of them here takes from JSON what the JSON Schema promises.

Apart from `schema`, since it loads most of pydantic: a program whose functions take plain types never does.
"""

from __future__ import annotations

import enum
import types
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any, TypeAlias, Union, cast, get_args, get_origin, is_typeddict

from pydantic import GetPydanticSchema, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, WithJsonSchema
from pydantic_core import PydanticCustomError, core_schema, from_json, to_json

from .errors import SchemaWarning
from .signature import Scope, keys_of, resolved

Json: TypeAlias = dict[str, Any]

_ANYTHING = Annotated[Any, WithJsonSchema({"type": "string"})]


class _Schema(GenerateJsonSchema):
    ignored_warning_kinds = {"non-serializable-default"}  # noqa: RUF012  # defaults are not shown


def adapter_for(annotation: Any, scopes: list[Scope], where: str) -> Any:
    """A TypeAdapter for the annotation, or for the nearest that can be said, with a warning."""
    adapter, lost = nearest_adapter(annotation, scopes)
    if lost:
        what = lost[0] if isinstance(lost[0], str) else getattr(lost[0], "__name__", repr(lost[0]))
        warnings.warn(
            f"{where} has the type {what}, which cannot be said in JSON Schema. It is sent as a string, and the function gets "
            "what the model sends. Use a type that pydantic can read from JSON, or no hint.",
            SchemaWarning,
            stacklevel=2,
        )
    return adapter


def nearest_adapter(annotation: Any, scopes: list[Scope]) -> tuple[Any, list[Any]]:
    """A TypeAdapter for the annotation, or for the nearest that can be said; and the parts of it that cannot."""
    if isinstance(annotation, str):
        annotation = resolved(annotation, scopes)
    local = {key: value for _, names in scopes for key, value in names.items()}
    adapter = _try_adapter(annotation, local)
    if adapter is not None:
        return adapter, []
    nearest, lost = _nearest(annotation, local)
    return _try_adapter(nearest, local), lost


def _try_adapter(annotation: Any, local: dict[str, Any]) -> Any:
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(annotation)
        adapter.rebuild(_types_namespace=local)
        adapter.json_schema(schema_generator=_Schema)
        adapter.core_schema = for_json(adapter.core_schema)
    except Exception:  # whatever the hooks of a foreign type may raise
        return None
    return adapter


def _nearest(annotation: Any, local: dict[str, Any]) -> tuple[Any, list[Any]]:
    """The annotation with each part that cannot be said replaced by "anything, called a string"; and those parts."""
    if _try_adapter(annotation, local) is not None:
        return annotation, []
    if is_typeddict(annotation):  # before Python 3.12 pydantic refuses those of `typing`
        found = {key: (*_nearest(hint, local), required) for key, (hint, required) in keys_of(annotation).items()}
        keys = {key: (nearest, required) for key, (nearest, _, required) in found.items()}
        hook = GetPydanticSchema(lambda _, handler: _typed_dict(keys, handler))
        return Annotated[dict[str, Any], hook], [part for _, lost, _ in found.values() for part in lost]
    origin, parts = get_origin(annotation), get_args(annotation)
    inner = [_nearest(part, local) for part in (parts[:1] if origin is Annotated else parts)]
    nearest = tuple(part for part, _ in inner)
    with suppress(TypeError):  # parts that are no types, as those of a Callable
        if origin is Annotated:
            annotated = Annotated[(nearest[0], *parts[1:])]
        else:
            annotated = Union[nearest] if origin in (Union, types.UnionType) else origin[nearest]  # noqa: UP007  # made of a tuple
        if _try_adapter(annotated, local) is not None:
            return annotated, [part for _, lost in inner for part in lost]
    return _ANYTHING, [annotation]


def _typed_dict(keys: dict[str, tuple[Any, bool]], handler: Any) -> Any:
    return core_schema.typed_dict_schema(
        {key: core_schema.typed_dict_field(handler.generate_schema(hint), required=required) for key, (hint, required) in keys.items()}
    )


def schemas_of(adapters: dict[str, Any]) -> tuple[dict[str, Json], Json]:
    """The JSON Schema of each adapter by its key, and the definitions that they share."""
    inputs = [(key, "validation", adapter) for key, adapter in adapters.items()]
    found, whole = TypeAdapter.json_schemas(cast("Any", inputs), schema_generator=_Schema)
    return {key: node for (key, _), node in cast("dict[tuple[str, str], Json]", found).items()}, whole.get("$defs", {})


# Validators for JSON

# Where a core schema holds values, which may look like schemas.
_HOLDS_VALUES = frozenset({"default", "metadata", "serialization"})


def for_json(core: Any) -> Any:
    """A core schema that takes what its JSON Schema promises: members of enumerations by their values, and numbers that JSON has."""
    if isinstance(core, (list, tuple)):
        return type(cast("Any", core))(for_json(part) for part in cast("list[Any]", core))
    if not isinstance(core, dict):
        return core
    node = cast("dict[Any, Any]", core)
    kind = node.get("type")
    if kind == "literal":
        return _literal(node)
    if kind == "enum":
        return _enumeration(node)
    kept = _HOLDS_VALUES if isinstance(kind, str) else ()  # where there is no kind, the keys are names of fields or tags
    made = {_json_of(key) if isinstance(key, enum.Enum) else key: part if key in kept else for_json(part) for key, part in node.items()}
    return {**made, "allow_inf_nan": False} if kind in ("float", "decimal") else made


def _literal(node: Any) -> Any:
    values: list[Any] = node["expected"]
    return node if all(type(value) is str for value in values) else _by_value(node, [(_json_of(value), value) for value in values])


def _enumeration(node: Any) -> Any:
    kind, members = node["cls"], node["members"]
    if node.get("sub_type") or all(type(member.value) is str for member in members):
        return node  # read by value as it is
    pairs = [(_json_of(member), member) for member in members]
    names: Any = kind.__members__ if all(type(member.value) is int for member in members) else {}  # numbers as of auto() mean nothing
    return _by_value(node, pairs, names, kind)


def _by_value(
    node: Any, pairs: list[tuple[Any, Any]], names: Any = types.MappingProxyType({}), otherwise: Callable[[Any], Any] | None = None
) -> Any:
    """A choice made by the JSON form of the values, which are what the JSON Schema lists; a number may be text, as keys always are."""
    known = {to_json(form): value for form, value in reversed(pairs)}
    for text, value in [*((str(form), value) for form, value in pairs if type(form) is int), *names.items()]:
        known.setdefault(to_json(text), value)
    *most, last = dict.fromkeys(repr(form) for form, _ in pairs)
    expected = f"{', '.join(most)} or {last}" if most else last

    def choose(sent: Any) -> Any:
        with suppress(KeyError):
            return known[to_json(int(sent) if isinstance(sent, float) and sent.is_integer() else sent, fallback=str)]
        if otherwise is not None and not isinstance(sent, bool):
            with suppress(Exception):  # `_missing_` is the user's own
                return otherwise(sent)
        raise PydanticCustomError("literal_error", "Input should be {expected}", {"expected": expected})

    return core_schema.no_info_before_validator_function(choose, node)


def _json_of(value: Any) -> Any:
    return from_json(to_json(value.value if isinstance(value, enum.Enum) else value, fallback=str))
