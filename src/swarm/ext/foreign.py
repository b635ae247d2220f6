"""Tools of other libraries as ours: what is the same for all of them.

Such a tool has a schema of its own and checks its arguments itself, so it is a Tool whose schema is sent as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import iscoroutinefunction
from typing import Any

from ..errors import ToolArgumentsError
from ..parts import File, Image
from ..run import RunInfo
from ..tools import Tool


class Given:
    """What a call brings.

    Attributes:
        arguments: what the model sent, unchecked.
        context_variables: the run's.
        run: the run; its `call_id` is the call's.
    """

    __slots__ = ("arguments", "context_variables", "run")

    def __init__(self, arguments: dict[str, Any], context_variables: dict[str, Any], run: RunInfo) -> None:
        self.arguments = arguments
        self.context_variables = context_variables
        self.run = run


def foreign_tool(perform: Callable[[Given], Any], name: str, description: str, parameters: dict[str, Any], **options: Any) -> Tool:
    """The Tool.

    Args:
        perform: makes a call, sync or async.
        name: its name on the wire.
        description: what the model is told.
        parameters: the JSON Schema of its arguments.
        options: as for `swarm.tools.Tool`.

    Raises:
        AgentError: a name that no provider takes, an option out of range.
    """

    def call(*, context_variables: Any, swarm_run: RunInfo, **arguments: Any) -> Any:
        return perform(Given(arguments, context_variables, swarm_run))

    async def call_async(*, context_variables: Any, swarm_run: RunInfo, **arguments: Any) -> Any:
        return await perform(Given(arguments, context_variables, swarm_run))

    asked = perform.func if isinstance(perform, partial) else perform
    fn = call_async if iscoroutinefunction(asked) else call
    fn.__name__, fn.__doc__ = name, description  # for `tool(this_one, ...)`, which reads them anew
    return Tool(fn, name=name, description=description, parameters=parameters, **options)


def seen(data: bytes, mime: str, name: str = "file") -> File:
    """Bytes for the model to see."""
    return Image(data, mime=mime) if mime.startswith("image/") else File(data, mime, name)


def unfit(errors: list[dict[str, Any]]) -> ToolArgumentsError:
    """What of the arguments does not fit, for the model: without their values, and without what else pydantic says of them.

    Args:
        errors: as `errors()` of a ValidationError gives them.
    """
    return ToolArgumentsError("; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in errors))
