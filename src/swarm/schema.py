"""What a function takes, as JSON Schema, and the validator that goes with it.

Types that people give to parameters are pydantic's to explain; what is done here is to say them plainly (no titles, no defaults,
nothing referred to that can stand in its place, since many providers follow no references), to make them strict on demand, and to
find the nearest thing that can be said, with a warning, for a type that cannot.
"""

from __future__ import annotations

import functools
import re
import textwrap
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, Union, cast, get_args, get_origin

from pydantic_core import SchemaValidator, core_schema, to_json

from .signature import EMPTY, Scope, Signature

Json: TypeAlias = dict[str, Any]

# The types of nearly every parameter, without the cost of a TypeAdapter. `items` is there since the API refuses an array without.
_PLAIN: dict[Any, tuple[Json, Any]] = {
    str: ({"type": "string"}, core_schema.str_schema(coerce_numbers_to_str=True)),
    int: ({"type": "integer"}, core_schema.int_schema()),
    float: ({"type": "number"}, core_schema.float_schema(allow_inf_nan=False)),  # JSON has no others (RFC 8259, section 6)
    bool: ({"type": "boolean"}, core_schema.bool_schema()),
    list: ({"type": "array", "items": {}}, core_schema.list_schema()),
    dict: ({"type": "object"}, core_schema.dict_schema()),
    type(None): ({"type": "null"}, core_schema.none_schema()),
    Any: ({}, core_schema.any_schema()),
    EMPTY: ({"type": "string"}, core_schema.any_schema()),
}

# A model class has a validator of its own, which knows nothing of what adapters change. Older versions have no way around it.
_AFRESH: dict[str, Any] = {"_use_prebuilt": False} if "_use_prebuilt" in (SchemaValidator.__text_signature__ or "") else {}


class Schema:
    """The schema and the validator of one function's arguments.

    Attributes:
        validator: reads JSON text into keyword arguments.
        properties: the schema of each parameter by name, without its description.
        definitions: what recursive types refer to.
    """

    __slots__ = ("_signature", "definitions", "properties", "validator")

    def __init__(self, signature: Signature, name: str) -> None:
        """Builds both. Warns of types that cannot be said in JSON Schema.

        Args:
            signature: what the function takes.
            name: the function's name, for a SchemaWarning.
        """
        self._signature, scopes = signature, signature.scopes
        self.properties: dict[str, Json] = {}
        cores: dict[str, Any] = {}
        adapters: dict[str, Any] = {}
        for parameter in signature.parameters.values():
            plain = _plain(parameter.annotation)
            if plain:
                self.properties[parameter.name], cores[parameter.name] = plain
            else:
                self.properties[parameter.name] = {}  # keeps its place
                adapters[parameter.name] = _adapter(parameter.annotation, scopes, f"{name}: the parameter {parameter.name!r}")
        self.definitions = _described(adapters, self.properties) if adapters else {}
        shared: dict[str, Any] = {}
        cores |= {key: _hoisted(adapter.core_schema, shared) for key, adapter in adapters.items()}
        rest = None
        if signature.rest not in (None, EMPTY, Any):
            rest = _hoisted(_adapter(signature.rest, scopes, f"{name}: **kwargs").core_schema, shared)
        whole = core_schema.typed_dict_schema(
            {key: core_schema.typed_dict_field(cores[key], required=p.required) for key, p in signature.parameters.items()},
            extra_behavior="forbid" if signature.rest is None else "allow",
            extras_schema=rest,
        )
        self.validator = SchemaValidator(core_schema.definitions_schema(whole, list(shared.values())) if shared else whole, **_AFRESH)

    def parameters(self, descriptions: Mapping[str, str] | None = None) -> Json:
        """The JSON Schema of the arguments, a fresh dict each time.

        Args:
            descriptions: what the docstring says about parameters; the word of an annotation goes first.
        """
        properties: Json = {}
        for parameter in self._signature.parameters.values():
            properties[parameter.name] = node = dict(self.properties[parameter.name])
            text = parameter.description or (descriptions or {}).get(parameter.name)
            if text:
                node["description"] = text
        required = [parameter.name for parameter in self._signature.parameters.values() if parameter.required]
        schema: Json = {"type": "object", "properties": properties, "required": required}
        if self.definitions:
            schema["$defs"] = dict(self.definitions)
        return schema

    def words(self) -> dict[str, str]:
        """One JSON type word for each parameter, "string" where there is no single one."""
        return {name: _word(node, self.definitions) or "string" for name, node in self.properties.items()}


# Types to schemas


def _plain(annotation: Any) -> tuple[Json, Any] | None:
    """The schema and core schema of a plain type, an optional one or a list of one; None for all other types."""
    if isinstance(annotation, type) or annotation is Any:
        return _PLAIN.get(annotation)
    origin, parts = get_origin(annotation), get_args(annotation)
    inner = _plain(parts[0]) if parts else None
    if inner is None:
        return None
    if origin in (Union, types.UnionType) and len(parts) == 2 and parts[1] is types.NoneType:
        return {"anyOf": [inner[0], {"type": "null"}]}, core_schema.nullable_schema(inner[1])
    return ({"type": "array", "items": inner[0]}, core_schema.list_schema(inner[1])) if origin in (list, Iterable, Sequence) else None


def _adapter(annotation: Any, scopes: list[Scope], where: str) -> Any:
    from .adapters import adapter_for  # loads most of pydantic, which plain types do without

    return adapter_for(annotation, scopes, where)


def _hoisted(core: Any, shared: dict[str, Any]) -> Any:
    """A core schema without its definitions, which go to `shared`, since a validator may hold each only once."""
    if core["type"] != "definitions":
        return core
    shared.update({definition["ref"]: definition for definition in core["definitions"]})
    return core["schema"]


def _described(adapters: dict[str, Any], properties: dict[str, Json]) -> Json:
    """Sets the schema of each adapter in `properties`; returns the definitions that remain, those of recursive types."""
    from .adapters import schemas_of

    found, definitions = schemas_of(adapters)
    recursive = {name for name in definitions if name in _reached(definitions[name], definitions, set())}
    for key, node in found.items():
        properties[key] = _tidy(node, definitions, recursive)
    needed: set[str] = set()
    for node in properties.values():
        _reached(node, definitions, needed)
    return {name: _tidy(definitions[name], definitions, recursive) for name in definitions if name in needed & recursive}


# Where a schema stands in another one (json-schema.org/draft/2020-12: "Applicators", contentSchema, and the older names).
_HOLDS_ONE = frozenset(
    {"additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not", "propertyNames", "then"}
    | {"unevaluatedItems", "unevaluatedProperties"}
)
_HOLDS_MANY = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
_HOLDS_NAMED = frozenset({"dependentSchemas", "patternProperties", "properties"})
_SAYS_NOTHING = frozenset({"$schema", "default", "discriminator", "title"})


def _inner(node: Json, change: Callable[[Json], Json]) -> Json:
    """A copy of a schema with each schema directly in it changed."""
    made: Json = {}
    for key, value in node.items():
        if key in _HOLDS_NAMED and isinstance(value, dict):
            named = cast("Json", value).items()
            value = {name: change(cast("Json", part)) if isinstance(part, dict) else part for name, part in named}
        elif key in _HOLDS_MANY and isinstance(value, list):
            value = [change(cast("Json", part)) if isinstance(part, dict) else part for part in cast("list[Any]", value)]
        elif key in _HOLDS_ONE and isinstance(value, dict):
            value = change(cast("Json", value))
        made[key] = value
    return made


def _reached(node: Json, definitions: Json, seen: set[str]) -> set[str]:
    """The names of all definitions that a schema refers to, directly or through others; adds them to `seen`."""

    def reach(part: Json) -> Json:
        _reached(part, definitions, seen)
        return part

    name = _target(node)
    if name in definitions and name not in seen:
        seen.add(name)
        reach(definitions[name])
    _inner(node, reach)
    return seen


def _target(node: Json) -> str:
    """The name of the definition that a schema refers to, "" if to none."""
    target = node.get("$ref")
    return target.removeprefix("#/$defs/") if isinstance(target, str) else ""


def _tidy(node: Json, definitions: Json, recursive: set[str]) -> Json:
    """A schema with references put in place unless they are recursive, and without titles, defaults and what says nothing."""
    name = _target(node)
    others = {key: value for key, value in node.items() if key not in ("$ref", "$defs")}  # one by the user's hand leads nowhere here
    if name in definitions and name not in recursive:
        return _tidy({**definitions[name], **others}, definitions, recursive)
    tidy = _inner(
        {key: value for key, value in others.items() if key not in _SAYS_NOTHING and not (key == "additionalProperties" and value is True)},
        lambda part: _tidy(part, definitions, recursive),
    )
    if name in definitions:
        tidy["$ref"] = f"#/$defs/{name}"
    if "oneOf" in tidy:
        tidy["anyOf"] = tidy.pop("oneOf")  # few providers know oneOf; the validator tells the members apart
    if "prefixItems" in tidy:
        tidy.setdefault("items", {"anyOf": tidy["prefixItems"]})
    if "propertyNames" in tidy and not _names(tidy["propertyNames"]):
        del tidy["propertyNames"]
    return tidy


def _names(node: Json) -> bool:
    """Makes a schema for keys, which are always text, out of one for values; returns whether it then says anything."""
    if "const" in node:
        node["enum"] = [node.pop("const")]
    if "enum" in node:
        node |= {"type": "string", "enum": [key if isinstance(key, str) else to_json(key).decode() for key in node["enum"]]}
    return node.get("type") == "string" and len(node) > 1


def _word(node: Json, definitions: Json) -> str | None:
    node = definitions.get(_target(node), node)
    kind = node.get("type")
    if isinstance(kind, str):
        return kind
    words = [_word(option, definitions) for option in node.get("anyOf", ())]
    return next((word for word in words if word != "null"), None)


# Strict schemas


class NotStrict(ValueError):
    """A schema that cannot be made strict; the text says where and why."""


# What strict mode refuses, although the validator here still checks it (platform.openai.com/docs/guides/structured-outputs).
_NOT_IN_STRICT = frozenset(
    {"minLength", "maxLength", "uniqueItems", "minProperties", "maxProperties", "patternProperties", "propertyNames", "examples"}
    | {"contentEncoding", "contentMediaType", "contentSchema", "contains", "minContains", "maxContains", "readOnly", "writeOnly"}
    | {"dependentRequired", "dependentSchemas", "else", "if", "not", "then", "unevaluatedItems", "unevaluatedProperties"}
)
_STRICT_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})


def strictly(schema: Json, where: str = "") -> Json:
    """A copy that strict mode takes: every object closed, every key required, what had a default may be null.

    Args:
        schema: a JSON Schema as `Schema.parameters` makes it.
        where: the path so far, for the error's text.

    Raises:
        NotStrict: an object with free keys, or a value of any type.
    """
    if "$ref" in schema:
        return {"$ref": schema["$ref"]}
    strict = {key: value for key, value in schema.items() if key not in _NOT_IN_STRICT}
    if strict.get("format") not in _STRICT_FORMATS:
        strict.pop("format", None)
    if "$defs" in strict:
        strict["$defs"] = {name: strictly(node, name) for name, node in strict["$defs"].items()}
    if "anyOf" in strict:
        strict["anyOf"] = [strictly(option, where) for option in strict["anyOf"]]
    elif strict.get("type") == "object":
        if "properties" not in strict or isinstance(strict.get("additionalProperties"), dict):
            raise NotStrict(f"{where or 'it'} is an object with free keys")
        required = strict.get("required", ())
        strict["properties"] = {
            name: _or_null(strictly(node, f"{where}.{name}".lstrip(".")), name in required) for name, node in strict["properties"].items()
        }
        strict["required"] = list(strict["properties"])
        strict["additionalProperties"] = False
    elif strict.get("type") == "array":
        if "prefixItems" in strict:
            raise NotStrict(f"{where} is an array with a type for each place")
        strict["items"] = strictly(strict.get("items", {}), f"{where}[]")
    elif not strict.keys() & {"type", "enum", "const"}:
        raise NotStrict(f"{where} may be anything")
    return strict


def _or_null(node: Json, required: bool) -> Json:
    options = node.get("anyOf", [node])
    if required or any(option.get("type") == "null" for option in options):
        return node
    return {"anyOf": [*options, {"type": "null"}], **({"description": node["description"]} if "description" in node else {})}


# Docstrings


# A docstring with nothing before its parameters: inspect.cleandoc has taken the indentation of their list for that of the whole.
_OPENING = re.compile(r"(Args|Arguments|Parameters|Params):[ \t]*\n?(?=\S)")


@functools.lru_cache(maxsize=512)  # functions that are made anew for each request have the same docstrings
def read_docstring(text: str, names: tuple[str, ...]) -> tuple[str, dict[str, str]]:
    """The description and what is said about each parameter, from a docstring in Google, NumPy or reST style.

    Args:
        text: the docstring, without indentation.
        names: the function's parameters, hidden ones too, and `**name` for any other; what the docstring says of names that are
            taken so stays in the description. A docstring that explains no parameter is a description as a whole.

    Returns:
        the description, and a dict that is shared: never change it.
    """
    opening = _OPENING.match(text)
    if "\n" not in text and not opening and not text.startswith((":", "@")):
        return text, {}
    import docstring_parser
    from docstring_parser.google import DEFAULT_SECTIONS

    listed = f"\n{opening[1]}:\n{textwrap.indent(text[opening.end() :], '    ')}" if opening else text
    try:
        parsed = docstring_parser.parse(listed)
    except docstring_parser.ParseError:
        return text, {}
    found: dict[str, str] = {}
    others = [(parsed.description or "").strip()]
    for part in parsed.meta:
        if isinstance(part, docstring_parser.DocstringParam):
            said = part.description or ""
            found |= {name.replace("\\", "").strip().lstrip("*"): said for name in part.arg_name.split(",")}
        elif part.description:
            title = " ".join(part.args)
            others.append(f"{title[:1].upper()}{title[1:]}: {part.description}")
    if parsed.style is docstring_parser.DocstringStyle.GOOGLE:
        others.append(_after_sections(listed, {f"{cast('Any', section).title}:" for section in DEFAULT_SECTIONS}))
    rest = [name for name in names if name.startswith("**")]
    if not any(name in names or f"**{name}" in rest for name in found):
        return text, {}
    if rest:
        more = [f"{f'**{name}' if f'**{name}' in rest else name}: {said}" for name, said in found.items() if said and name not in names]
        others.insert(1, "\n".join(more))
    return "\n\n".join(filter(None, others)), {name: said for name, said in found.items() if said}


def _after_sections(text: str, titles: set[str]) -> str:
    """What stands after the first of the titled sections and in none of them, which the parser leaves out."""
    blocks = re.split(r"\n(?=\S)", text)
    titled = [block.partition("\n")[0].rstrip() in titles for block in blocks]
    first = titled.index(True) if True in titled else len(blocks)
    return "\n".join(block for block, is_section in zip(blocks[first:], titled[first:], strict=True) if not is_section).strip()
