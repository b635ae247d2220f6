"""Types that only pydantic can explain, as TypeAdapters, and the nearest thing that can be said for those that it cannot.

Apart from `schema`, since it loads most of pydantic: a program whose functions take plain types never does.
"""

from __future__ import annotations

import types
import warnings
from contextlib import suppress
from typing import Annotated, Any, TypeAlias, Union, cast, get_args, get_origin, is_typeddict

from pydantic import GetPydanticSchema, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, WithJsonSchema
from pydantic_core import core_schema

from .errors import SchemaWarning
from .signature import Scope, keys_of, resolved

Json: TypeAlias = dict[str, Any]

_ANYTHING = Annotated[Any, WithJsonSchema({"type": "string"})]


class _Schema(GenerateJsonSchema):
    ignored_warning_kinds = {"non-serializable-default"}  # noqa: RUF012  # defaults are not shown


def adapter_for(annotation: Any, scopes: list[Scope], where: str) -> Any:
    """A TypeAdapter for the annotation, or for the nearest that can be said, with a warning."""
    if isinstance(annotation, str):
        annotation = resolved(annotation, scopes)
    local = {key: value for _, names in scopes for key, value in names.items()}
    adapter = _try_adapter(annotation, local)
    if adapter is None:
        nearest, lost = _nearest(annotation, local)
        adapter = _try_adapter(nearest, local)
        if lost:
            what = lost[0] if isinstance(lost[0], str) else getattr(lost[0], "__name__", repr(lost[0]))
            warnings.warn(
                f"{where} has the type {what}, which cannot be said in JSON Schema. It is sent as a string, and the function gets "
                "what the model sends. Use a type that pydantic can read from JSON, or no hint.",
                SchemaWarning,
                stacklevel=2,
            )
    return adapter


def _try_adapter(annotation: Any, local: dict[str, Any]) -> Any:
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(annotation)
        adapter.rebuild(_types_namespace=local)
        adapter.json_schema(schema_generator=_Schema)
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
