"""How a function becomes callable by a model: `@tool`, Tool, what a result says, and what a callback of the user's asks for.

A plain function is a tool already; `tool_of` wraps it when an agent needs it. `@tool` is for those who want to say more.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
import math
import re
import sys
import types
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, cast, overload
from weakref import WeakKeyDictionary, WeakValueDictionary

from pydantic import BaseModel
from pydantic_core import to_json

from .arguments import Arguments, arguments_of, read_object
from .errors import AgentError, SchemaWarning
from .legal import is_utf8
from .schema import Json, NotStrict, read_docstring, strictly
from .signature import EMPTY, Function, doc_of, mentions, name_of, names_in
from .types import AS_NAME, NO_FUNCTION, Agent, Handoff

if TYPE_CHECKING:
    from .effects import Flow
    from .run import Run

_LEGAL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ABOUT_OFFER = ("context_variables", "messages", "agent", "run")
_ABOUT_CALL = ("context_variables", "messages", "arguments", "agent", "run")


class ToolOptions(TypedDict, total=False):
    """The keyword arguments of `tool`."""

    name: str | None
    description: str | Callable[..., Any] | None
    approval: bool | Callable[..., Any]
    timeout: float | None
    retries: int
    enabled: bool | Callable[..., Any]
    exclusive: bool
    strict: bool | None
    inline: bool
    examples: Sequence[str]
    effect: Literal["repeatable", "once"]
    max_chars: int | None


_OPTIONS = tuple(ToolOptions.__annotations__)


class Tool:
    """A function as a model sees it: a name, a description, a schema, and rules for its calls.

    Made by `tool`, which says what the arguments mean, or for a plain function by `tool_of`. Calling it calls the function.

    Raises:
        AgentError: as `tool` does.

    Attributes, to be read only, since what is made from them is kept; `tool(this_one, ...)` makes another with other options:
        name: the name on the wire.
        fn: the function.
        is_async: whether it is known to be a coroutine function.
        approval, timeout, retries, enabled, exclusive, strict, inline, examples, effect, max_chars: as given to `tool`.
        parameters: the JSON Schema that is sent as it is, for a function of **kwargs whose signature does not say it; the function then
            gets the model's object unchecked. None: as the signature says.
        context_parameter: whether it has a parameter `context_variables`.
        run_parameter: the name of the parameter annotated `RunInfo`, or None.
        handoff: the Handoff it was made for, or None.
        nested: performs a call as a flow inside the run instead of calling `fn`, or None.
        changing: whether its description, or whether it is offered, is not fixed once and for all.
        loose: whether arguments it does not have are ignored: a handoff, or a function that takes nothing and returns an agent.
    """

    __slots__ = (
        "__weakref__",
        "_arguments",
        "_description",
        "_docs",
        "_wire",
        "approval",
        "changing",
        "context_parameter",
        "effect",
        "enabled",
        "examples",
        "exclusive",
        "fn",
        "handoff",
        "inline",
        "is_async",
        "loose",
        "max_chars",
        "name",
        "nested",
        "parameters",
        "retries",
        "run_parameter",
        "strict",
        "timeout",
    )

    def __init__(
        self,
        fn: Function,
        *,
        name: str | None = None,
        description: str | Callable[..., Any] | None = None,
        approval: bool | Callable[..., Any] = False,
        timeout: float | None = None,
        retries: int = 0,
        enabled: bool | Callable[..., Any] = True,
        exclusive: bool = False,
        strict: bool | None = None,
        inline: bool = False,
        examples: Sequence[str] = (),
        effect: Literal["repeatable", "once"] = "repeatable",
        max_chars: int | None = None,
        parameters: Json | None = None,
        handoff: Handoff | None = None,
    ) -> None:
        if isinstance(fn, Tool):
            fn, parameters = fn.fn, fn.parameters if parameters is None else parameters
        self.fn: Function = fn
        self.name = _checked_name(fn, name)
        self._description = description
        self.approval = approval
        self.timeout = timeout
        self.retries = retries
        self.enabled = enabled
        self.exclusive = exclusive
        self.strict = strict
        self.inline = inline
        self.examples = tuple(examples)
        self.effect: Literal["repeatable", "once"] = effect
        self.max_chars = max_chars
        self.parameters = parameters
        self.handoff = handoff
        self.nested: Callable[[Run, str, Json], Flow] | None = None
        self.changing = callable(description) or callable(enabled) or not enabled
        self.is_async = _is_async(fn)
        self._check_options()
        self._read(fn)

    def _check_options(self) -> None:
        if inspect.isgeneratorfunction(self.fn) or inspect.isasyncgenfunction(self.fn):
            raise AgentError(f"{self.name} yields its result piece by piece, but a model gets one text: return the whole, such as a list")
        timeout: Any = self.timeout
        if timeout is not None and not (isinstance(timeout, int | float) and 0 < timeout < math.inf):
            raise AgentError(f"{self.name}: timeout={timeout!r} must be a number of seconds above 0, or None for no limit")
        retries: Any = self.retries
        if not isinstance(retries, int) or retries < 0:
            raise AgentError(f"{self.name}: retries={retries!r} must be a whole number, 0 or more")
        size: Any = self.max_chars
        if size is not None and (not isinstance(size, int) or size < 1):
            raise AgentError(f"{self.name}: max_chars={size!r} must be a whole number of characters above 0, or None for no limit")
        if self.effect not in ("repeatable", "once"):
            raise AgentError(f'{self.name}: effect={self.effect!r} must be "repeatable" or "once"')
        for callback, known in ((self.approval, _ABOUT_CALL), (self.enabled, _ABOUT_OFFER), (self._description, _ABOUT_OFFER)):
            if callable(callback):
                callback_parameters(callback, known)

    def _read(self, fn: Function) -> None:
        self._arguments: Arguments = arguments_of(fn)
        self._docs: tuple[str, dict[str, str]] | None = None
        self._wire: Json | None = None
        signature = self._arguments.signature
        self.context_parameter = signature.context
        self.run_parameter = signature.run
        takes_nothing = not signature.parameters and signature.rest is None
        self.loose = self.handoff is not None or (takes_nothing and mentions(signature.returns, "Agent", "Result"))

    @property
    def description(self) -> str | Callable[..., Any]:
        """What the model is told: as given to `tool`, or the docstring without what it says about parameters."""
        return self._docstring()[0] if self._description is None else self._description

    @property
    def wire(self) -> Json:
        """The entry of the request's `tools`, made once; never change it. A description that depends on the moment is not in it.

        Warns (SchemaWarning) of parameter types that JSON Schema cannot say, and of a schema that cannot be strict.
        """
        wire = self._wire
        if wire is None:
            wire = self._wire = self._made_wire()
        return wire

    def _made_wire(self) -> Json:
        text, descriptions = self._docstring()
        text = self._description if isinstance(self._description, str) else text
        parameters = self._arguments.schema(self.name).parameters(descriptions) if self.parameters is None else self.parameters
        function: Json = {"name": self.name, **({"description": text} if text else {}), "parameters": parameters}
        if self.strict:
            try:
                function |= {"parameters": self.strict_parameters(), "strict": True}
            except NotStrict as why:
                warnings.warn(f"{self.name}: sent without strict=True, since {why}. Name its keys, or leave strict out.", SchemaWarning, 3)
        elif self.strict is False:
            function["strict"] = False
        return {"type": "function", "function": function}

    def strict_parameters(self) -> Json:
        """The parameters' schema in the form that strict mode takes; what had a default may be null, and then has its default.

        Raises:
            NotStrict: it has none.
        """
        if self.parameters is not None:
            return strictly(self.parameters)
        if self._arguments.signature.rest is not None:
            raise NotStrict("it takes **kwargs")
        return strictly(self._arguments.schema(self.name).parameters(self._docstring()[1]))

    def _docstring(self) -> tuple[str, dict[str, str]]:
        if self._docs is None:
            self._docs = read_docstring(doc_of(self.fn), names_in(self.fn, self._arguments.signature))
        return self._docs

    def arguments(self, raw: str | Json | None) -> Json:
        """Keyword arguments for the function, of the annotated types, without the context variables and the run.

        Args:
            raw: the arguments as a model sent them: JSON text, a parsed object, or nothing.

        Raises:
            ToolArgumentsError: its text tells the model what to correct.
        """
        if self.parameters is not None:
            return read_object(raw, self.name)
        return self._arguments.values(raw, self.name, self.loose)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return self.fn(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Tool:
        """A decorated method, bound to its object like any function in a class; a tool that runs or becomes an agent needs no object."""
        if instance is None or _agent_tool(self) is not None:
            return self
        bound = copy.copy(self)
        bound.fn = types.MethodType(self.fn, instance)
        bound._read(bound.fn)
        return bound

    def changed(self, **options: Unpack[ToolOptions]) -> Tool:
        """Another tool of the same function, with these options in the place of its own."""
        known: Any = {name: getattr(self, name) for name in _OPTIONS} | {"description": self._description}
        made = Tool(self, **(known | options))
        return made if _agent_tool(self) is None else _do_as(self, made)

    @property
    def __name__(self) -> str:
        return self.name

    @property
    def __wrapped__(self) -> Function:
        return self.fn

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"


def _checked_name(fn: Any, name: str | None) -> str:
    if isinstance(fn, (staticmethod, classmethod)):
        kind = type(cast("Any", fn)).__name__
        raise AgentError(f"@tool stands above @{kind}; put @{kind} above @tool")
    if isinstance(fn, Agent | Handoff):
        raise AgentError(f"{fn!r} {NO_FUNCTION}")
    if not callable(fn):
        raise AgentError(f"{fn!r} is not callable; give a function, or an object with __call__")
    if name is None:
        name = name_of(fn)
    if not _LEGAL_NAME.fullmatch(name):
        plain = re.sub(r"[^a-zA-Z0-9_-]+", "_", name).strip("_")[:64]
        way = 'tool(function, name="lookup")' if name == "<lambda>" else f'@tool(name="{plain or "lookup"}")'
        raise AgentError(f"{name!r} cannot be the name of a tool: models allow letters, digits, _ and -, at most 64. Give it one: {way}")
    return name


def _is_async(fn: Any) -> bool:
    while isinstance(fn, functools.partial):
        fn = cast("functools.partial[Any]", fn).func
    if isinstance(fn, Tool):
        return fn.is_async
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(type(fn).__call__)


@overload
def tool(fn: Function, /, **options: Unpack[ToolOptions]) -> Tool: ...
@overload
def tool(fn: None = None, /, **options: Unpack[ToolOptions]) -> Callable[[Function], Tool]: ...
def tool(fn: Function | None = None, /, **options: Unpack[ToolOptions]) -> Tool | Callable[[Function], Tool]:
    """Say more about a function that a model may call: `@tool`, `@tool(...)`, or `tool(function, ...)` for one more view of it.

    Args:
        fn: the function; or a Tool, whose options hold where no others are given, so that two agents may have it under different names.
        name: the name on the wire; letters, digits, "_" and "-", at most 64. By default the function's own.
        description: what the model is told; by default the docstring. A function is asked before every reply.
        approval: whether a person must agree to each call; or a function that decides, of `arguments`, `context_variables`, ...
        timeout: seconds a call may take.
        retries: how often a call that raised is tried again: at once, or with the waits of a `swarm.policies.Retry`.
        enabled: whether the tool is offered; or a function that decides before every reply.
        exclusive: whether it never runs beside other calls.
        strict: True: the model's arguments must follow the schema exactly. None: not sent.
        inline: run it where the loop runs, not in a worker thread; for functions that never wait. With a `timeout` it goes to a worker
            all the same, since only that can be left behind.
        examples: things a user might say that call for it; they help routers, and are not sent.
        effect: "once": never run twice for one call.
        max_chars: how much of a result the model gets: of a longer one the head and the tail, and a mark that says how much is missing.

    Raises:
        AgentError: a name no provider takes, a signature no model could call, an option out of range.
    """

    def wrap(function: Function) -> Tool:
        return function.changed(**options) if isinstance(function, Tool) else Tool(function, **options)

    return wrap if fn is None else wrap(fn)


def _agent_tool(fn: Any) -> Tool | None:
    """The function if it is a Tool that runs an agent or hands over to one."""
    return fn if isinstance(fn, Tool) and (fn.nested is not None or fn.handoff is not None) else None


def _do_as(known: Tool, made: Tool) -> Tool:
    if made.timeout is not None or made.retries:
        raise AgentError(f"{made.name}: timeout and retries do not apply to an agent; leave them out, or set Limits for the run")
    made.nested, made.handoff, made.loose = known.nested, known.handoff, known.loose
    return made


# By identity: a tool keeps its function alive, so an id is that of the same function as long as the tool lives.
_tools: WeakValueDictionary[Any, Tool] = WeakValueDictionary()
_lasting: list[Tool] = []  # tools of functions that their modules keep anyway, so that agents made for one request find them ready


def tool_of(fn: Any) -> Tool:
    """The Tool for a function: a Tool itself, or the one that was made for this function before if it is still in use.

    Raises:
        AgentError: no callable, a name no provider takes, a signature no model could call.
    """
    if isinstance(fn, Tool):
        return fn
    key: Any = id(fn)
    if isinstance(fn, types.MethodType):  # a new object at each access
        if isinstance(fn.__func__, Tool):
            return fn.__func__.__get__(fn.__self__)
        key = (id(fn.__func__), id(fn.__self__))
    found = _tools.get(key)
    if found is None:
        found = _tools[key] = Tool(fn)
        if getattr(sys.modules.get(getattr(fn, "__module__", None) or ""), found.name, None) is fn:
            _lasting.append(found)
    return found


def result_text(value: Any) -> str:
    """What the model is told of a function's value: text as it is, JSON in readable UTF-8 for dict, list, pydantic models and
    dataclasses, bytes as the text they hold, else how many there are, `str()` for the rest (`None` is "None").

    Raises:
        Exception: whatever the value's own `__str__` raises.
    """
    if isinstance(value, str):
        return value if type(value) is str and value.isascii() else _whole(str.__str__(value))
    if isinstance(value, (dict, list, BaseModel)) or (dataclasses.is_dataclass(value) and not isinstance(value, type)):
        for mode in ("utf8", "base64"):  # the other for bytes that are no text
            with suppress(ValueError):  # text or keys that JSON cannot hold, a value that holds itself
                return to_json(value, fallback=str, bytes_mode=mode, inf_nan_mode="strings", context=AS_NAME).decode()
        return _whole(str(cast("Any", value)))
    if isinstance(value, (bytes, bytearray)):
        with suppress(UnicodeDecodeError):
            return value.decode()
        return f"({len(value):,} bytes that are no text)"
    return _whole(str(value))


def _whole(text: str) -> str:
    """The text with "?" for halves of surrogate pairs (as of file names that are no UTF-8), which no request could carry."""
    return text if text.isascii() or is_utf8(text) else text.encode("utf-8", "replace").decode()


_asked: WeakKeyDictionary[Any, dict[Any, tuple[str, ...] | None]] = WeakKeyDictionary()


def callback_parameters(fn: Function, allowed: tuple[str, ...], single_positional: bool = False) -> tuple[str, ...] | None:
    """Which of the things on offer a callback asks for by the names of its parameters; read once for each function.

    Args:
        fn: the callback.
        allowed: the names on offer.
        single_positional: whether a callback with one positional parameter of another name gets the context variables by position.

    Returns:
        the names to pass as keywords, or None if it is to be called with the context variables as its only argument.

    Raises:
        AgentError: it asks for something else, or has no signature.
    """
    method = isinstance(fn, types.MethodType)
    key = fn.__func__ if isinstance(fn, types.MethodType) else fn
    if not isinstance(key, types.FunctionType):
        return _read_callback(fn, allowed, single_positional)
    known = _asked.setdefault(key, {})
    question = (method, allowed, single_positional)
    if question not in known:
        known[question] = _read_callback(fn, allowed, single_positional)
    return known[question]


def _read_callback(fn: Function, allowed: tuple[str, ...], single_positional: bool) -> tuple[str, ...] | None:
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (ValueError, TypeError) as error:
        raise AgentError(f"The parameters of {name_of(fn)} cannot be read: {error}. Wrap it in a function or a lambda.") from None
    bound: dict[str, Any] = getattr(fn, "keywords", {}) if type(fn) is functools.partial else {}
    parameters = [parameter for parameter in parameters if parameter.name not in bound]
    if single_positional:
        only = parameters[0] if len(parameters) == 1 else None
        if only is not None and (
            only.kind is only.VAR_POSITIONAL or (only.name == "context_variables" and only.kind is not only.KEYWORD_ONLY)
        ):
            return None  # by position, since a wrapper may take *args only, whatever its signature says
        positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        first = positional if len(positional) == 1 else [p for p in positional if p.default is EMPTY]
        if len(first) == 1 and first[0] is positional[0] and (first[0].name not in allowed or first[0].kind is first[0].POSITIONAL_ONLY):
            return None
    names: list[str] = []
    for parameter in parameters:
        by_name = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        if by_name and parameter.name in allowed:
            names.append(parameter.name)
        elif parameter.kind is parameter.VAR_KEYWORD:
            names += [name for name in allowed if name not in names]
        elif parameter.kind is not parameter.VAR_POSITIONAL and parameter.default is EMPTY:
            raise AgentError(
                f"{name_of(fn)} asks for {parameter.name!r}, but a function given here may ask by name for {', '.join(allowed)}, "
                "and for nothing else without a default"
            )
    return tuple(names)
