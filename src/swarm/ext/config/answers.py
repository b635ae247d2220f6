"""A JSON Schema as the type of an answer, for `output_type` in a configuration."""

from __future__ import annotations

from typing import Annotated, Any, cast

from pydantic import AfterValidator, WithJsonSchema

from ...errors import AgentError, ConfigError


def type_of_schema(schema: dict[str, Any]) -> Any:
    """A type whose values follow a schema. They are plain JSON.

    Args:
        schema: it refers to nothing outside of itself.

    Raises:
        AgentError: it is no schema, or refers to something else.
        ConfigError: the extra is not installed.
    """
    try:
        import jsonschema_rs
    except ImportError as error:
        raise ConfigError("an output_type that is a JSON Schema needs an extra: pip install 'openswarm[schema]'") from error
    check_references(schema)
    try:
        validator: Any = jsonschema_rs.validator_for(cast("Any", schema), pattern_options=jsonschema_rs.RegexOptions())
    except ValueError as error:
        raise AgentError(f"it is no JSON Schema: {str(error).partition(chr(10))[0]}") from None

    def check(value: Any) -> Any:
        found = next(iter(validator.iter_errors(value)), None)
        if found is not None:
            where = "/".join(map(str, found.instance_path))
            raise ValueError(f"{where}: {found.message}" if where else found.message)
        return value

    return Annotated[Any, AfterValidator(check), WithJsonSchema(schema)]


def check_references(schema: Any) -> None:
    """Refuse a schema that would have something fetched.

    Raises:
        AgentError: a `$ref` to something outside of it.
    """
    waiting = [schema]
    while waiting:
        part: Any = waiting.pop()
        if isinstance(part, dict):
            entries = cast("dict[str, Any]", part)
            for name in ("$ref", "$dynamicRef", "$schema"):
                target = entries.get(name)
                is_ours = name == "$schema" and str(target).startswith(("https://json-schema.org/", "http://json-schema.org/"))
                if isinstance(target, str) and not target.startswith("#") and not is_ours:
                    raise AgentError(f"its {name} {target!r} leads outside of it, and nothing is fetched; put that part under $defs")
            waiting += entries.values()
        elif isinstance(part, list):
            waiting += cast("list[Any]", part)
