"""What docstrings say of a function and of its parameters."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from swarm.run import RunInfo
from swarm.schema import read_docstring
from swarm.tools import tool_of

GOOGLE = """Get the weather.

Now, or later: never before.

Args:
    city (str): The city,
        in English.
    unit: C or F.
    *rest: ignored

Returns:
    A text.

Raises:
    ValueError: no such city.
"""
NUMPY = """Get the weather.

Now, or later: never before.

Parameters
----------
city : str
    The city,
    in English.
unit : str, optional
    C or F.

Returns
-------
str
    A text.
"""
REST = """Get the weather.

Now, or later: never before.

:param city: The city,
    in English.
:param str unit: C or F.
:returns: A text.
"""


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, REST])
def test_docstrings_of_three_styles(text: str) -> None:
    """J10"""
    description, parameters = read_docstring(text.strip(), ("city", "unit"))
    assert description.startswith("Get the weather.\n\nNow, or later: never before.\n\nReturns")
    assert "A text." in description
    assert "C or F" not in description
    assert (parameters["city"], parameters["unit"]) == ("The city,\nin English.", "C or F.")


@pytest.mark.parametrize(
    ("text", "description", "said"),
    [
        (":param city: The city.", "", {"city": "The city."}),
        ("@param city: The city.", "", {"city": "The city."}),
        ("Args: city: The city.", "", {"city": "The city."}),
        ("Args:\ncity: The city,\n  in English.\nunit: C.", "", {"city": "The city,\nin English.", "unit": "C."}),
        ("Args:\n    city: The city.\n\nReturns:\n    A text.", "Returns: A text.", {"city": "The city."}),
        ("Parameters\n----------\ncity : str\n    The city.", "", {"city": "The city."}),
    ],
)
def test_a_docstring_that_begins_with_its_parameters(text: str, description: str, said: dict[str, str]) -> None:
    """J10"""
    assert read_docstring(text, ("city", "unit")) == (description, said)


def test_what_stands_after_the_parameters_is_kept() -> None:
    text = "Get it.\n\nArgs:\n    city: The city.\n\nNote:\n    Slow:\n    very.\n\nReturns:\n    A text.\n\nUse it once.\n"
    description, _ = read_docstring(text, ("city",))
    assert description == "Get it.\n\nReturns: A text.\n\nNote:\n    Slow:\n    very.\n\nUse it once."


@pytest.mark.parametrize(
    "text",
    [
        "Find.\n\nArgs:\n    q: The query.\n    **filters: Colour, size.\n    depth: How far.",
        "Find.\n\nArgs:\n    q: The query.\n    filters: Colour, size.\n    depth: How far.",
        "Find.\n\n:param q: The query.\n:param \\**filters: Colour, size.\n:param depth: How far.",
    ],
)
def test_what_is_said_of_any_other_name_stays(text: str) -> None:
    """J04, J10"""
    assert read_docstring(text, ("q", "**filters")) == (
        "Find.\n\n**filters: Colour, size.\ndepth: How far.",
        {"q": "The query.", "filters": "Colour, size.", "depth": "How far."},
    )
    assert read_docstring(text, ("q",))[0] == "Find."


def test_what_a_function_raises_is_kept() -> None:
    assert "Raises ValueError: no such city." in read_docstring(GOOGLE, ("city",))[0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "One line: with a colon.",
        ":city",
        "@city",
        "Args: none",
        "Args:\nno list",
        "Two lines:\n\ncity: not a parameter section\n",
        "Args:\n    other: nobody's\n",
        ":param: \n:broken",
    ],
)
def test_a_docstring_that_explains_no_parameter_is_left_alone(text: str) -> None:
    """K21"""
    assert read_docstring(text, ("city",)) == (text, {})


def everything(city: str, context_variables: dict[str, Any], info: RunInfo, unit: str = "C", **more: str) -> None:
    """Get the weather.

    Args:
        city: The city.
        context_variables: The context.
        info: The run.
        unit: C or F.
        **more: Wind, rain.
    """


def only_hidden(context_variables: dict[str, Any], info: RunInfo) -> None:
    """Get the weather.

    Args:
        context_variables: The context.
        info: The run.
    """


@pytest.mark.parametrize(
    ("fn", "description", "said"),
    [
        (everything, "Get the weather.\n\n**more: Wind, rain.", {"city": "The city.", "unit": "C or F."}),
        (functools.partial(everything, "Rome"), "Get the weather.\n\n**more: Wind, rain.", {"unit": "C or F."}),
        (functools.partial(everything, "Rome", unit="F"), "Get the weather.\n\n**more: Wind, rain.", {}),
        (only_hidden, "Get the weather.", {}),
    ],
)
def test_what_a_model_cannot_set_is_not_explained_to_it(fn: Callable[..., Any], description: str, said: dict[str, str]) -> None:
    """J10, J04, J08, K10"""
    wire = tool_of(fn).wire["function"]
    assert wire["description"] == description
    assert {name: node["description"] for name, node in wire["parameters"]["properties"].items()} == said
