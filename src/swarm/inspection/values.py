"""What an expression in a function may come to, found out by reading: the part of Python in which people hand over and write instructions.

Nothing of the user's is called: attributes are looked up without `__getattr__` and properties, items only in plain dicts, lists and
tuples. Functions are read into, with what they would be given; modules that they import are imported. Whatever else is met comes to
UNKNOWN.
"""

from __future__ import annotations

import ast
import builtins
import dis
import functools
import importlib
import inspect
import re
import textwrap
import types
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, TypeAlias, cast

from ..signature import mentions
from ..tools import Tool
from ..types import Agent, Result
from .source import FunctionNode, Sources, own_nodes, returned

Values: TypeAlias = list[Any]
"""All that an expression may come to, as far as it can be read."""

HOLE = "\ufffc"
"""Stands in a text for a part that only a run knows (OBJECT REPLACEMENT CHARACTER)."""

_ADDS = frozenset(("add", "append", "appendleft", "extend", "insert", "setdefault", "update"))
_STEPS = 5_000  # what one reading may look at, since functions may call each other in very many ways


class _Mark:
    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


UNKNOWN = _Mark("UNKNOWN")
"""A value that cannot be read."""


class Grown(tuple[Any, ...]):
    """A list or dict to which its function adds: what it may hold, in no known order."""


NEW_AGENT = _Mark("NEW_AGENT")
"""An agent that is made when the function runs."""


class Frame:
    """One function while it is read.

    Args:
        function: the function.
        node: its definition.
        arguments: what its parameters may be, by name.
    """

    def __init__(self, function: types.FunctionType, node: FunctionNode, arguments: dict[str, Values]) -> None:
        self.function = function
        self.bound = arguments
        self.following: set[str] = set()
        code = function.__code__
        self.local = {*code.co_varnames, *code.co_cellvars}
        self.assigned: dict[str, list[Callable[[Reader], Values]]] = {}
        self.added: dict[str, list[ast.expr]] = {}
        for part in own_nodes(node):
            self._note(part)

    def _note(self, part: ast.AST) -> None:
        match part:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._bind(target, lambda reader, value=value: reader.read(value, self))
                for target in targets:
                    if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
                        self.added.setdefault(target.value.id, []).append(value)
            case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value):
                self._bind(target, lambda reader, value=value: reader.read(value, self))
            case ast.For(target=target, iter=source) | ast.AsyncFor(target=target, iter=source):
                self._bind(target, lambda reader, source=source: elements(reader.read(source, self)))
            case ast.ImportFrom(names=names):
                for name in names:
                    self._assign(name.asname or name.name, lambda reader, part=part, name=name: [_imported(part, name.name, self)])
            case ast.Import(names=names):
                for name in names:
                    whole = name.name if name.asname else name.name.partition(".")[0]
                    self._assign(name.asname or whole, lambda reader, whole=whole: [_module(whole)])
            case ast.With(items=items) | ast.AsyncWith(items=items):
                for item in items:
                    if item.optional_vars is not None:
                        self._bind(item.optional_vars, lambda reader: [UNKNOWN])
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=how), args=args, keywords=keywords) if how in _ADDS:
                self.added.setdefault(name, []).extend([*args[-1:], *(keyword.value for keyword in keywords)])
            case ast.AugAssign(target=ast.Name() as target):
                self._bind(target, lambda reader: [UNKNOWN])
            case _:
                pass

    def _assign(self, name: str, values: Callable[[Reader], Values]) -> None:
        self.assigned.setdefault(name, []).append(values)

    def _bind(self, target: ast.expr, values: Callable[[Reader], Values]) -> None:
        match target:
            case ast.Name(id=name):
                self._assign(name, values)
            case ast.Attribute(value=ast.Name(id=name), attr="agent"):  # result.agent = refunds
                self._assign(name, values)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for index, part in enumerate(parts):
                    self._bind(part, lambda reader, index=index: _place(values(reader), index))
            case _:
                pass


class Reader:
    """Reads functions. One reader parses each file once.

    Attributes:
        sources: where definitions are found.
    """

    def __init__(self) -> None:
        self.sources = Sources()
        self._left = _STEPS
        self._inside_of: list[types.FunctionType] = []

    def result_of(self, function: Any) -> Values:
        """All that a function may return if a model calls it.

        Args:
            function: a function, method, partial, wrapper, callable object or Tool.
        """
        self._left, self._inside_of = _STEPS, []
        try:
            return self._call(function, [], {})
        except RecursionError:  # code that a program wrote
            return [UNKNOWN]

    def _call(self, target: Any, positional: Sequence[Values], keywords: dict[str, Values]) -> Values:
        """What a call may come to."""
        if isinstance(target, Tool):
            return self._call(target.fn, positional, keywords)
        if isinstance(target, functools.partial):
            partial = cast("functools.partial[Any]", target)
            return self._call(partial.func, [*([value] for value in partial.args), *positional], {**_known(partial.keywords), **keywords})
        if isinstance(target, types.MethodType):
            return self._call(target.__func__, [[target.__self__], *positional], keywords)
        if isinstance(target, (staticmethod, classmethod)):
            return self._call(cast("Any", target).__func__, positional, keywords)
        if isinstance(target, types.FunctionType):
            return self._enter(target, positional, keywords)
        if isinstance(target, type):
            return _made(cast("type[Any]", target), positional, keywords)
        wrapped = inspect.getattr_static(target, "__wrapped__", None)
        if wrapped is not None:
            return self._call(wrapped, positional, keywords)
        call = type(target).__call__ if callable(target) else None
        if isinstance(call, types.FunctionType):
            return self._enter(call, [[target], *positional], keywords)
        return [UNKNOWN]

    def _enter(self, function: types.FunctionType, positional: Sequence[Values], keywords: dict[str, Values]) -> Values:
        if function in _TEXT_FUNCTIONS and positional:
            return [_TEXT_FUNCTIONS[function](value) if isinstance(value, str) else UNKNOWN for value in positional[0]]
        if function in self._inside_of:  # a call of itself comes to nothing new
            return []
        node = self.sources.node_of(function)
        if node is None:
            return agents_named(function) or [UNKNOWN]
        frame = Frame(function, node, _arguments(function, positional, keywords))
        self._inside_of.append(function)
        try:
            found = [value for expression in returned(node) for value in self.read(expression, frame)]
            wrapped = vars(function).get("__wrapped__")
            if wrapped is not None and not any(isinstance(value, Agent) for value in found):  # a wrapper too clever to be read
                found += self._call(wrapped, positional, keywords)
            return found
        finally:
            self._inside_of.pop()

    def read(self, node: ast.expr, frame: Frame) -> Values:
        """All that an expression may come to."""
        self._left -= 1
        if self._left < 0:
            return [UNKNOWN]
        match node:
            case ast.Constant(value=value):
                return [value]
            case ast.Name(id=name):
                return self._name(name, frame)
            case ast.Attribute(value=value, attr=name):
                return [_attribute(thing, name) for thing in self.read(value, frame)]
            case ast.Subscript(value=value, slice=key):
                return [item for thing in self.read(value, frame) for item in _items(thing, self.read(key, frame))]
            case ast.Call():
                return self._call_of(node, frame)
            case ast.IfExp(body=first, orelse=second):
                return [*self.read(first, frame), *self.read(second, frame)]
            case ast.BoolOp(values=parts):
                return [value for part in parts for value in self.read(part, frame)]
            case ast.Await(value=value) | ast.NamedExpr(value=value) | ast.Starred(value=value):
                return self.read(value, frame)
            case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
                return [tuple(value for part in parts for value in self.read(part, frame))]
            case ast.Dict(keys=keys, values=parts):
                return [self._display(keys, parts, frame)]
            case ast.GeneratorExp() | ast.ListComp() | ast.SetComp() | ast.DictComp():
                return self._comprehension(node, frame)
            case ast.JoinedStr(values=parts):
                return ["".join(_text(self.read(_inner(part), frame)) for part in parts)]
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._sum(self.read(left, frame), self.read(right, frame))
            case _:
                return [UNKNOWN]

    def _name(self, name: str, frame: Frame) -> Values:
        found = list(frame.bound.get(name, ()))
        if name in frame.local or name in frame.bound:
            if name not in frame.following:  # x = f(x)
                frame.following.add(name)
                found += [value for values in frame.assigned.get(name, ()) for value in values(self)]
                if name in frame.added and name in frame.local:
                    found = [self._grown(value, frame.added[name], frame) for value in found]
                frame.following.discard(name)
            return found or [UNKNOWN]
        function = frame.function
        if name in function.__code__.co_freevars:
            return [_in_closure(function, name)]
        return [function.__globals__.get(name, getattr(builtins, name, UNKNOWN))]

    def _grown(self, value: Any, added: Sequence[ast.expr], frame: Frame) -> Any:
        """A list or dict with what its function adds to it, perhaps; texts stand behind a hole, since what they follow is not known."""
        if type(value) not in (dict, list, tuple):
            return value
        new = [item for part in added for thing in self.read(part, frame) for item in _held(thing)]
        return Grown((*_held(value), *([] if all(isinstance(item, Agent) for item in new) else [UNKNOWN]), *new))

    def _call_of(self, node: ast.Call, frame: Frame) -> Values:
        positional = [self.read(part, frame) for part in node.args if not isinstance(part, ast.Starred)]
        keywords = {part.arg: self.read(part.value, frame) for part in node.keywords if part.arg is not None}
        if isinstance(node.func, ast.Attribute):
            found = [self._method(thing, node.func.attr, positional, keywords) for thing in self.read(node.func.value, frame)]
            return [value for values in found for value in values]
        return [value for target in self.read(node.func, frame) for value in self._inside(target, positional, keywords)]

    def _inside(self, target: Any, positional: Sequence[Values], keywords: dict[str, Values]) -> Values:
        if target is next and positional:
            return [value for values in (elements(positional[0]), *positional[1:]) for value in values]
        if target in (list, tuple, sorted, reversed, iter, set) and positional:
            return [tuple(elements(positional[0]))]
        return self._call(target, positional, keywords)

    def _method(self, thing: Any, name: str, positional: Sequence[Values], keywords: dict[str, Values]) -> Values:
        if isinstance(thing, dict):
            return _of_dict(cast("dict[Any, Any]", thing), name, positional)
        if isinstance(thing, Grown) and name in ("get", "pop", "popleft", "setdefault"):
            return [*thing, *(value for values in positional[1:] for value in values)]
        if isinstance(thing, Grown) and name == "values":
            return [thing]
        if isinstance(thing, str):
            return [_of_text(thing, name, positional)]
        if isinstance(thing, Agent) and name in ("copy", "model_copy"):
            return [NEW_AGENT]
        return self._inside(_attribute(thing, name), positional, keywords)

    def _display(self, keys: Sequence[ast.expr | None], parts: Sequence[ast.expr], frame: Frame) -> Any:
        """A dict written out; one with a key that cannot be read is the values that it may hold."""
        values = [self.read(part, frame) for part in parts]
        names = [self.read(key, frame) if key is not None else [UNKNOWN] for key in keys]
        if all(len(name) == 1 and isinstance(name[0], str | int) for name in names) and all(len(value) == 1 for value in values):
            return {name[0]: value[0] for name, value in zip(names, values, strict=True)}
        return tuple(value for group in values for value in group)

    def _comprehension(self, node: ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp, frame: Frame) -> Values:
        before = dict(frame.bound)
        for part in node.generators:
            _bind(part.target, elements(self.read(part.iter, frame)), frame.bound)
        made = tuple(self.read(node.value if isinstance(node, ast.DictComp) else node.elt, frame))
        frame.bound = before
        return [made]

    @staticmethod
    def _sum(left: Values, right: Values) -> Values:
        if not any(isinstance(value, str) for value in (*left, *right)):
            return [UNKNOWN]
        return [_text(left) + _text(right)]


def agents_named(function: types.FunctionType) -> list[Agent]:
    """The agents among the globals and the closure that a function's code loads, also in a dict or list: all that can be said without
    its source. None if it says that it returns something else."""
    hint = inspect.signature(function).return_annotation
    if hint not in (inspect.Signature.empty, Any, "Any", object) and not mentions(hint, "Agent", "Result"):
        return []
    found: dict[Agent, None] = {}
    for step in dis.get_instructions(function):
        value: Any = None
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            value = function.__globals__.get(step.argval)
        elif step.opname == "LOAD_DEREF" and step.argval in function.__code__.co_freevars:
            value = _in_closure(function, step.argval)
        held = _items(value, []) if type(value) in (dict, list, tuple) else [value]
        found |= dict.fromkeys(item for item in held if isinstance(item, Agent))
    return list(found)


def _in_closure(function: types.FunctionType, name: str) -> Any:
    with suppress(ValueError):  # not set yet
        return (function.__closure__ or ())[function.__code__.co_freevars.index(name)].cell_contents
    return UNKNOWN


def elements(values: Iterable[Any]) -> Values:
    """What a loop over these may come to."""
    found: Values = []
    for value in values:
        if type(value) in (list, tuple, set, frozenset, dict, Grown):
            found += list(value)
        else:
            found.append(UNKNOWN)
    return found


def _held(thing: Any) -> Values:
    """What a list or dict holds; of anything else, the thing itself."""
    if type(thing) is dict:
        return list(cast("dict[Any, Any]", thing).values())
    return elements([thing]) if type(thing) in (list, tuple, Grown) else [thing]


_TEXT_FUNCTIONS: dict[Any, Callable[[str], str]] = {textwrap.dedent: textwrap.dedent, inspect.cleandoc: inspect.cleandoc}


def _arguments(function: types.FunctionType, positional: Sequence[Values], keywords: dict[str, Values]) -> dict[str, Values]:
    """What the parameters may be: as given, by default, or not known."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    arguments: dict[str, Values] = dict(zip(names, positional, strict=False))
    defaults = function.__defaults__ or ()
    standard = {**dict(zip(names[len(names) - len(defaults) :], defaults, strict=True)), **(function.__kwdefaults__ or {})}
    for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        if name in keywords:
            arguments[name] = keywords[name]
        elif name not in arguments:
            arguments[name] = [standard[name]] if name in standard else [UNKNOWN]
    return arguments


def _known(values: dict[str, Any]) -> dict[str, Values]:
    return {name: [value] for name, value in values.items()}


def _made(kind: type[Any], positional: Sequence[Values], keywords: dict[str, Values]) -> Values:
    """What calling a class comes to; a Result counts as the agent in it."""
    if issubclass(kind, Result):
        return keywords.get("agent", [None])
    if issubclass(kind, Agent):
        return [NEW_AGENT]
    if kind is str and positional:
        return [value if isinstance(value, str) else UNKNOWN for value in positional[0]]
    return [UNKNOWN]


def _attribute(thing: Any, name: str) -> Any:
    if thing is UNKNOWN or thing is NEW_AGENT:
        return UNKNOWN
    if isinstance(thing, types.ModuleType):
        return vars(thing).get(name, UNKNOWN)
    found = inspect.getattr_static(thing, name, UNKNOWN)
    if isinstance(found, types.MemberDescriptorType) and not isinstance(thing, type):
        with suppress(AttributeError):  # a slot that is not set
            return found.__get__(thing)
        return UNKNOWN
    if isinstance(found, types.FunctionType) and inspect.getattr_static(cast("Any", type(thing)), name, None) is found:
        return types.MethodType(found, thing)
    if isinstance(found, classmethod):
        return types.MethodType(cast("Any", found).__func__, thing if isinstance(thing, type) else type(thing))
    if isinstance(found, staticmethod):
        return cast("Any", found).__func__
    return UNKNOWN if isinstance(found, property | functools.cached_property) else found


def _items(thing: Any, keys: Values) -> Values:
    """What `thing[key]` may come to: the item, or any of them where the key is not known."""
    if type(thing) is Grown:
        return list(thing)
    if type(thing) not in (dict, list, tuple):
        return [UNKNOWN]
    if len(keys) == 1 and isinstance(keys[0], str | int):
        with suppress(LookupError, TypeError):
            return [thing[keys[0]]]
    return list(cast("dict[Any, Any]", thing).values()) if isinstance(thing, dict) else list(thing)


def _of_dict(thing: dict[Any, Any], name: str, positional: Sequence[Values]) -> Values:
    if name in ("get", "pop", "setdefault") and positional:
        return [*_items(thing, positional[0]), *(value for values in positional[1:] for value in values)]
    if name == "values":
        return [tuple(thing.values())]
    if name == "items":
        return [tuple(thing.items())]
    return [UNKNOWN]


def _of_text(text: str, name: str, positional: Sequence[Values]) -> Any:
    if name in ("strip", "lstrip", "rstrip") and not positional:
        return getattr(text, name)()
    if name in ("format", "format_map"):
        return re.sub(r"\{[^{}]*\}", HOLE, text)
    if name == "join" and len(positional) == 1:
        is_grown = any(type(value) is Grown for value in positional[0])  # whole lines may be missing
        return ("\n" if is_grown else text).join(_text([part]) for part in elements(positional[0]))
    return UNKNOWN


def _text(values: Values) -> str:
    """A piece of text, or a hole where it is not known which."""
    return str(values[0]) if len(values) == 1 and isinstance(values[0], str | int) else HOLE


def _inner(part: ast.expr) -> ast.expr:
    return part.value if isinstance(part, ast.FormattedValue) else part


def _place(values: Values, index: int) -> Values:
    """The item at one place of each tuple among the values."""
    return [value[index] if type(value) in (tuple, list) and len(value) > index else UNKNOWN for value in values]


def _bind(target: ast.expr, values: Values, bound: dict[str, Values]) -> None:
    if isinstance(target, ast.Name):
        bound[target.id] = values
    elif isinstance(target, ast.Tuple | ast.List):
        for index, part in enumerate(target.elts):
            _bind(part, _place(values, index), bound)


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except Exception:  # whatever a module may do when it is loaded
        return UNKNOWN


def _imported(statement: ast.AST, name: str, frame: Frame) -> Any:
    """What `from module import name` inside a function gives. The module is imported, as the function would do."""
    assert isinstance(statement, ast.ImportFrom)
    package = str(frame.function.__globals__.get("__package__") or "")
    place = "." * statement.level + (statement.module or "")
    try:
        module = importlib.import_module(place, package)
        found = vars(module).get(name, UNKNOWN)
    except Exception:
        return UNKNOWN
    return _module(f"{module.__name__}.{name}") if found is UNKNOWN else found
