"""From a function to the piece of its file that defines it, as a syntax tree.

`inspect.getsource` will not do: it looks through wrappers, and for a lambda it gives the whole line.
"""

from __future__ import annotations

import ast
import linecache
import types
from collections.abc import Iterator
from typing import Any, TypeAlias, cast

FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

_APART = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


class Sources:
    """The files that functions were read from, each parsed once."""

    def __init__(self) -> None:
        self._files: dict[str, dict[int, list[FunctionNode]]] = {}

    def node_of(self, function: types.FunctionType) -> FunctionNode | None:
        """The definition of a function.

        Args:
            function: a Python function.

        Returns:
            None where there is no source (code from a string), or it is not certain to be this function's.
        """
        code = function.__code__
        found = [node for node in self._on_line(function, code.co_firstlineno) if _fits(node, code)]
        if len(found) > 1:  # lambdas on one line are told apart by column
            places = set(code.co_positions())
            found = [node for node in found if _place(node) in places]
        return found[0] if len(found) == 1 else None

    def _on_line(self, function: types.FunctionType, line: int) -> list[FunctionNode]:
        name = function.__code__.co_filename
        if name not in self._files:
            self._files[name] = _functions_of("".join(linecache.getlines(name, function.__globals__)))
        return self._files[name].get(line, [])


def _functions_of(text: str) -> dict[int, list[FunctionNode]]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):  # no Python, such as the page that a snippet stands on
        return {}
    found: dict[int, list[FunctionNode]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda):
            found.setdefault(node.lineno, []).append(node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            found.setdefault(first, []).append(node)
    return found


def _fits(node: FunctionNode, code: types.CodeType) -> bool:
    """Whether name and parameters are the same, since a file may have changed after it was loaded."""
    name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
    given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return name == code.co_name and [argument.arg for argument in given] == list(
        code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    )


def _place(node: FunctionNode) -> tuple[int | None, ...]:
    """Where the body of a lambda stands; the last instruction of its code has the same place."""
    body = node.body if isinstance(node, ast.Lambda) else node.body[-1]
    return body.lineno, body.end_lineno, body.col_offset, body.end_col_offset


def own_nodes(node: FunctionNode) -> Iterator[ast.AST]:
    """All nodes of a function's body as they are written, without those of functions and classes inside it."""
    waiting: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else list(node.body)
    while waiting:
        part = waiting.pop(0)
        yield part
        if not isinstance(part, _APART):
            waiting[:0] = ast.iter_child_nodes(part)


def returned(node: FunctionNode) -> list[ast.expr]:
    """The expressions that a function returns; `None` for one that returns nothing."""
    if isinstance(node, ast.Lambda):
        return [node.body]
    found = [part.value or ast.Constant(None) for part in own_nodes(node) if isinstance(part, ast.Return)]
    return found or [ast.Constant(None)]


def where(function: Any) -> str | None:
    """`file.py:12` for a function, also inside a partial, a method, a wrapper or a tool; None if it has no file."""
    for _ in range(20):
        code = getattr(function, "__code__", None)
        if isinstance(code, types.CodeType):
            return f"{code.co_filename}:{code.co_firstlineno}"
        inner: Any = None
        for attribute in ("fn", "func", "__func__", "__wrapped__"):
            inner = inner or cast("Any", getattr(function, attribute, None))
        if inner is None:
            return None
        function = inner
    return None
