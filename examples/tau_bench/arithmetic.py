"""The sums that a model should not do in its head. Parsed, never evaluated as a program, since a model's text is anybody's text."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

from swarm.errors import ToolError

_TWO: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda one, other: one / other,
}
_ONE: dict[type[ast.unaryop], Callable[[float], float]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}


def calculate(expression: str) -> str:
    """Calculate the result of a mathematical expression.

    Args:
        expression: The mathematical expression to calculate, such as '2 + 2'. The expression can contain numbers, operators
            (+, -, *, /), parentheses, and spaces.
    """
    if set(expression) - set("0123456789+-*/(). "):
        raise ToolError("invalid characters in expression")
    try:
        return str(round(float(_value(ast.parse(expression.strip(), mode="eval").body)), 2))
    except (ArithmeticError, MemoryError, RecursionError, SyntaxError, ValueError) as error:
        raise ToolError(f"the expression cannot be calculated: {error}") from None


def _value(node: ast.expr) -> float:
    if isinstance(node, ast.BinOp) and type(node.op) in _TWO:
        return _TWO[type(node.op)](_value(node.left), _value(node.right))
    if isinstance(node, ast.UnaryOp) and type(node.op) in _ONE:
        return _ONE[type(node.op)](_value(node.operand))
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    raise ValueError("there may be numbers, + - * / and parentheses")
