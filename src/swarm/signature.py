"""What Python says a function takes: parameters, resolved hints, names and docstrings of every kind of callable.

Apart from `schema.py`, since reading a callable (partials, bound methods, wrappers, hints that are still text) has nothing to do
with saying it in JSON. It is read when a tool is made, because a signature no model could call must fail there.
"""

from __future__ import annotations

import functools
import inspect
import re
import types
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Annotated, Any, ForwardRef, Literal, TypeAlias, Unpack, cast, get_args, get_origin, get_type_hints

from pydantic.fields import FieldInfo

from .errors import AgentError

Function: TypeAlias = Callable[..., Any]
Scope: TypeAlias = tuple[dict[str, Any], dict[str, Any]]
"""Global and local names in which a hint that is text can be looked up."""

CONTEXT = "context_variables"
EMPTY = inspect.Parameter.empty


def name_of(fn: Any) -> str:
    """What a function is called: its own name, that of the function in a partial, or the class of a callable object."""
    fn = _unbound(fn, "__name__")
    name = getattr(fn, "__name__", None)
    return name if isinstance(name, str) else type(fn).__name__


def doc_of(fn: Any) -> str:
    """The docstring without its indentation, or "".

    A callable object has its own if it was given one (as wrappers are), else that of its `__call__`, else that of its class.
    """
    fn = _unbound(fn, "__doc__")
    text: Any = fn.__doc__
    if not isinstance(fn, (types.FunctionType, types.MethodType, types.BuiltinFunctionType, type)) and not _has_own(fn, "__doc__"):
        call = type(fn).__call__
        text = (call.__doc__ if isinstance(call, types.FunctionType) else None) or type(fn).__doc__
    return inspect.cleandoc(text) if isinstance(text, str) else ""


def _unbound(fn: Any, attribute: str) -> Any:
    """What is in a partial, unless the partial was given the attribute itself."""
    while isinstance(fn, functools.partial) and not _has_own(fn, attribute):
        fn = cast("functools.partial[Any]", fn).func
    return cast("Any", fn)


def _has_own(fn: Any, attribute: str) -> bool:
    return attribute in getattr(fn, "__dict__", ())


def names_in(fn: Any, signature: Signature) -> tuple[str, ...]:
    """All names that a docstring may explain.

    Args:
        fn: the function.
        signature: what it takes.

    Returns:
        those that a model may fill, those that it cannot (the context variables, the run, what is bound), and `**name` where the
        function takes any other name.
    """
    names = [*signature.parameters, *signature.hidden]
    for function in _functions_in(fn):
        code = function.__code__
        count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & inspect.CO_VARARGS)
        names += code.co_varnames[:count]
        if code.co_flags & inspect.CO_VARKEYWORDS:
            names.append(code.co_varnames[count] if signature.rest is None else f"**{code.co_varnames[count]}")
    return tuple(dict.fromkeys(names))


def mentions(annotation: Any, *names: str) -> bool:
    """Whether an annotation names a class of this library: the class, a subclass, part of a union, or text not yet resolved."""
    if isinstance(annotation, ForwardRef):
        annotation = annotation.__forward_arg__
    if isinstance(annotation, str):
        return any(word in names for word in re.findall(r"\w+", annotation))
    if isinstance(annotation, type):
        return any(base.__name__ in names and base.__module__.startswith("swarm.") for base in annotation.__mro__)
    origin = get_origin(annotation)
    arguments = () if origin is Literal else get_args(annotation)
    return any(mentions(argument, *names) for argument in (arguments[:1] if origin is Annotated else arguments))


class Parameter:
    """One parameter that a model may fill.

    Attributes:
        name: its name, in Python and on the wire.
        annotation: its type, text if that could not be resolved, `inspect.Parameter.empty` without a hint.
        required: whether the function cannot be called without it.
        description: what the annotation says about it, or None.
    """

    __slots__ = ("annotation", "description", "name", "required")

    def __init__(self, name: str, annotation: Any, required: bool) -> None:
        self.name = name
        self.annotation = annotation
        self.required = required
        self.description: str | None = None
        if get_origin(annotation) is Annotated:
            kind, *notes = get_args(annotation)
            for note in notes:
                if isinstance(note, str):
                    self.description = note
                elif isinstance(note, FieldInfo):
                    self.description = note.description or self.description
                    self.required = self.required and note.is_required()
            kept = [note for note in notes if not isinstance(note, str)]
            self.annotation = Annotated[(kind, *kept)] if kept else kind


class Signature:
    """All that a function takes and what it says it returns.

    Attributes:
        parameters: what a model may fill, by name.
        hidden: names that a model cannot set: the context variables, the run, what a partial has bound.
        context: whether there is a parameter `context_variables`.
        run: the name of the parameter annotated `RunInfo`, or None.
        rest: the annotation of `**kwargs`, or None if there is none and names not listed cannot be passed.
        returns: the return annotation.
        scopes: where hints that are still text may be looked up later.
    """

    __slots__ = ("context", "hidden", "parameters", "rest", "returns", "run", "scopes")

    def __init__(self, fn: Function) -> None:
        """Reads a callable.

        Raises:
            AgentError: it has no signature, or a parameter that cannot be passed by name.
        """
        self.parameters: dict[str, Parameter] = {}
        self.hidden = {CONTEXT}
        self.context = False
        self.run: str | None = None
        self.rest: Any = None
        found, returns = _parameters(fn)
        scopes = list(_scopes(fn)) if any(not isinstance(hint, type) for hint in (returns, *(p.annotation for p in found))) else []
        self.returns = resolved(returns, scopes)
        bound: dict[str, Any] = getattr(fn, "keywords", {}) if type(fn) is functools.partial else {}
        for parameter in found:
            if parameter.name in bound:
                self.hidden.add(parameter.name)
            else:
                self._add(parameter, resolved(parameter.annotation, scopes), fn)
        # Only classes are kept for later: other locals could hold the function itself, which then would never be freed.
        self.scopes = [(names, {key: value for key, value in local.items() if isinstance(value, type)}) for names, local in scopes]

    def _add(self, parameter: inspect.Parameter, annotation: Any, fn: Function) -> None:
        name, default = parameter.name, parameter.default
        if parameter.kind is parameter.VAR_POSITIONAL:
            return
        if parameter.kind is parameter.VAR_KEYWORD:
            self._add_rest(annotation)
        elif parameter.kind is parameter.POSITIONAL_ONLY:
            if default is EMPTY:
                raise AgentError(
                    f"{name_of(fn)}: the parameter {name!r} is positional-only, but a model passes arguments by name. "
                    "Remove the '/' from the signature, or give the parameter a default."
                )
        elif name == CONTEXT:
            self.context = True
        elif mentions(annotation, "RunInfo"):
            self.run = name
            self.hidden.add(name)
        elif isinstance(default, FieldInfo):
            self.parameters[name] = Parameter(name, Annotated[Any if annotation is EMPTY else annotation, default], True)
        else:
            self.parameters[name] = Parameter(name, annotation, default is EMPTY)

    def _add_rest(self, annotation: Any) -> None:
        if get_origin(annotation) is Unpack:  # `**kwargs: Unpack[SomeTypedDict]` is a list of named parameters (PEP 692)
            for name, (hint, required) in keys_of(get_args(annotation)[0]).items():
                self.parameters[name] = Parameter(name, hint, required)
        else:
            self.rest = annotation


def keys_of(kind: Any) -> dict[str, tuple[Any, bool]]:
    """The keys of a TypedDict: type, and whether the key is required."""
    keys: dict[str, tuple[Any, bool]] = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        marker = getattr(get_origin(hint), "_name", None)
        required = name in kind.__required_keys__ if marker not in ("Required", "NotRequired") else marker == "Required"
        keys[name] = (get_args(hint)[0] if marker in ("Required", "NotRequired") else hint, required)
    return keys


def _parameters(fn: Function) -> tuple[list[inspect.Parameter], Any]:
    """What can be passed to `fn` itself and, where it hands `**kwargs` on, to the function that it wraps."""
    try:
        inner = own = inspect.signature(fn)
        with suppress(ValueError):  # a Tool or a staticmethod has a signature only through what it wraps
            own = inspect.signature(fn, follow_wrapped=False)
    except (ValueError, TypeError) as error:
        raise AgentError(
            f"Failed to get the signature of {name_of(fn)}: {error}. Wrap it in a function with named parameters: `def name(...): ...`"
        ) from None
    kinds = {parameter.kind for parameter in own.parameters.values()}
    if inspect.Parameter.VAR_KEYWORD in kinds:
        _check_dispatch(fn)
        extra = [p for p in own.parameters.values() if p.name not in inner.parameters and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
        return [*extra, *inner.parameters.values()], inner.return_annotation
    lost = [p.name for p in inner.parameters.values() if p.name not in own.parameters and p.default is EMPTY]
    if lost and inspect.Parameter.VAR_POSITIONAL in kinds:
        raise AgentError(
            f"{name_of(fn)}: its decorator takes *args but no **kwargs, and a model passes arguments by name, so {lost[0]!r} cannot be "
            "passed. Let the wrapper take **kwargs too."
        )
    return list(own.parameters.values()), inner.return_annotation


def _check_dispatch(fn: Function) -> None:
    for function in _functions_in(fn):
        if function.__globals__ is functools.__dict__ and function.__code__.co_qualname.startswith("singledispatch"):
            raise AgentError(
                f"{name_of(fn)}: functools.singledispatch chooses by the first argument's place, but a model passes arguments by name. "
                "Wrap it in a function with named parameters: `def name(value: int | str): return dispatched(value)`"
            )


def _functions_in(fn: Any) -> Iterator[types.FunctionType]:
    """The Python functions behind a callable, outermost first: through partials, methods, callable objects and wrappers."""
    for _ in range(100):  # an object may claim to wrap itself
        if isinstance(fn, functools.partial):
            fn = cast("functools.partial[Any]", fn).func
        elif isinstance(fn, types.MethodType):
            fn = fn.__func__
        else:
            if isinstance(fn, types.FunctionType):
                yield fn
            wrapped = getattr(fn, "__wrapped__", None)
            if wrapped is not None:
                fn = wrapped
            elif isinstance(fn, type):
                fn = fn.__init__
            elif isinstance(type(fn).__call__, types.FunctionType):
                fn = type(fn).__call__
            else:
                return


def _scopes(fn: Function) -> Iterator[Scope]:
    for function in reversed(list(_functions_in(fn))):
        local = _enclosing(function) if "<locals>" in function.__qualname__ else {}
        with suppress(ValueError):  # a name of the enclosing function that has no value yet
            local.update(inspect.getclosurevars(function).nonlocals if function.__closure__ else {})
        local.update({kind.__name__: kind for kind in getattr(function, "__type_params__", ())})
        yield function.__globals__, local


def _enclosing(function: types.FunctionType) -> dict[str, Any]:
    """The locals of the functions around `function` that are still running, so that `def f(x: "LocalClass")` resolves there."""
    names: dict[str, Any] = {}
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_globals is function.__globals__ and function.__qualname__.startswith(f"{frame.f_code.co_qualname}.<locals>."):
            names = {**frame.f_locals, **names}
        frame = frame.f_back
    return names


def resolved(annotation: Any, scopes: list[Scope]) -> Any:
    """An annotation with text turned into types, or as it was if a name in it is not known (imported for type checkers only, say)."""
    if isinstance(annotation, type):
        return annotation
    holder = types.SimpleNamespace(__annotations__={"hint": annotation})
    for names, local in scopes:
        with suppress(Exception):  # any text may stand there, so anything may come of evaluating it
            return get_type_hints(holder, names, local, include_extras=True)["hint"]
    return annotation
