"""Functions as tools: names, wire entries, options, binding, results as text, and what callbacks ask for."""

from __future__ import annotations

import asyncio
import copy
import functools
import gc
import json
import types
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest
from pydantic import BaseModel

from swarm.errors import AgentError, SchemaWarning, ToolArgumentsError
from swarm.handoffs import transfer_tool
from swarm.models.scripted import call
from swarm.run import RunInfo
from swarm.tools import Tool, callback_parameters, result_text, tool, tool_of
from swarm.types import Agent, Handoff, Result
from swarm.util import function_to_json
from tests.modes import Drive

if TYPE_CHECKING:
    from nowhere import Missing  # type: ignore[import-not-found]


class Add(BaseModel):
    x: int
    note: str = "n"


def weather(city: str, unit: Literal["C", "F"] = "C") -> str:
    """Get the weather.

    Args:
        city: where
    """
    return f"{city} {unit}"


async def later(city: str) -> str:
    return city


class Desk:
    """A desk of the hotel."""

    def __init__(self, name: str = "desk") -> None:
        self.name = name

    def book(self, city: str) -> str:
        return f"{self.name} {city}"

    def __call__(self, seat: int) -> str:
        return f"{self.name} {seat}"

    @tool(name="cancel_booking", retries=2)
    def cancel(self, city: str) -> str:
        """Cancel."""
        return f"{self.name} cancels {city}"

    @staticmethod
    @tool
    def close(city: str) -> str:
        return city

    @classmethod
    @tool
    def open(cls, city: str) -> str:
        return f"{cls.__name__} {city}"


class Waiter:
    async def __call__(self, city: str) -> str:
        return city


# The wire


def test_the_wire_entry_is_complete_and_made_once() -> None:
    """K21, J10, J13, D22"""
    made = tool_of(weather)
    assert made.wire == {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "Get the weather.",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string", "description": "where"}, "unit": {"type": "string", "enum": ["C", "F"]}},
                "required": ["city"],
            },
        },
    }
    assert made.wire is made.wire
    json.dumps(made.wire)


def test_for_plain_hints_the_wire_is_the_plain_form() -> None:
    """D22, K20"""

    def f(a: str, b: int, c: float, d: bool, e: dict, f: None, g, h: str = "x") -> None:  # type: ignore[type-arg, no-untyped-def]
        """Do it."""

    assert tool_of(f).wire == function_to_json(f)


def test_without_a_docstring_there_is_no_description() -> None:
    """D22, J11"""

    def ping() -> str:
        return "pong"

    parameters: dict[str, Any] = {"type": "object", "properties": {}, "required": []}
    assert tool_of(ping).wire == {"type": "function", "function": {"name": "ping", "parameters": parameters}}
    assert tool_of(ping).description == ""


def test_context_and_run_are_not_in_the_wire() -> None:
    """K06, K10, D18"""

    def f(city: str, context_variables: dict[str, Any], info: RunInfo) -> None: ...

    made = tool_of(f)
    assert made.wire["function"]["parameters"] == {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    assert (made.context_parameter, made.run_parameter) == (True, "info")
    assert made.arguments({"city": "Rome", "info": 1, "context_variables": 2}) == {"city": "Rome"}
    assert (tool_of(weather).context_parameter, tool_of(weather).run_parameter) == (False, None)


def test_a_description_may_be_given() -> None:
    made = tool(weather, description="Ask about the sky.")
    assert made.wire["function"]["description"] == made.description == "Ask about the sky."
    assert made.wire["function"]["parameters"]["properties"]["city"]["description"] == "where"


def test_a_description_of_the_moment_is_not_in_the_wire() -> None:
    made = tool(weather, description=lambda context_variables: f"for {context_variables['user']}")
    assert callable(made.description)
    assert made.wire["function"]["description"] == "Get the weather."


def test_tools_that_depend_on_the_moment_say_so() -> None:
    """H21"""
    options: list[dict[str, Any]] = [{"description": lambda: ""}, {"enabled": lambda: True}, {"enabled": False}]
    assert all(tool(weather, **changing).changing for changing in options)
    assert not tool(weather, description="fixed", approval=lambda: True).changing


def test_strict() -> None:
    """J05, J07"""

    @tool(strict=True)
    def add(a: Add, b: int | None = None, c: str = "x") -> tuple[Any, ...]:
        return a, b, c

    function = add.wire["function"]
    assert function["strict"] is True
    assert function["parameters"]["required"] == ["a", "b", "c"]
    assert function["parameters"]["additionalProperties"] is False
    assert function["parameters"]["properties"]["a"]["additionalProperties"] is False
    assert add(**add.arguments('{"a": {"x": 1, "note": null}, "b": null, "c": null}')) == (Add(x=1), None, "x")
    assert "strict" not in tool_of(weather).wire["function"]
    assert tool(weather, strict=False).wire["function"]["strict"] is False


def test_a_schema_that_is_given_is_sent_as_it_is(drive: Drive) -> None:
    """J07: for a function that stands for another program's; it gets the model's object unchecked, whatever its keys are."""
    schema = {"type": "object", "properties": {"self": {"type": "integer"}, "context_variables": {"type": "integer"}}, "x-kept": True}

    def anything(**arguments: Any) -> dict[str, Any]:
        return arguments

    given = Tool(anything, name="remote", description="Elsewhere.", parameters=schema)
    assert given.wire["function"] == {"name": "remote", "description": "Elsewhere.", "parameters": schema}
    assert tool(given, name="other", strict=True).wire["function"]["parameters"]["required"] == ["self", "context_variables"]
    turns = [call("remote", '{"self": "no number", "context_variables": 1, "more": []}'), call("remote", "[]"), "Done"]
    kept, refused = (m["content"] for m in drive(Agent(functions=[given]), "Go on", turns).messages if m["role"] == "tool")
    assert json.loads(kept) == {"self": "no number", "context_variables": 1, "more": []}
    assert refused.startswith("Error: The arguments of remote must be a JSON object")


def test_what_cannot_be_strict_falls_back_alone() -> None:
    """J06"""

    @tool(strict=True)
    def search(filters: list[dict[str, Any]]) -> None: ...

    @tool(strict=True)
    def rest(**kwargs: str) -> None: ...

    with pytest.warns(SchemaWarning, match=r"search: sent without strict=True, since filters\[\] is an object with free keys"):
        assert "strict" not in search.wire["function"]
    with pytest.warns(SchemaWarning, match=r"rest: .*\*\*kwargs"):
        assert "additionalProperties" not in rest.wire["function"]["parameters"]
    assert tool(weather, strict=True).wire["function"]["strict"] is True


def test_an_unknown_type_warns_at_first_use_and_passes_what_comes() -> None:
    """J02, D22, K20"""

    def send(to: Missing, n: int) -> Any:
        return to, n

    made = tool_of(send)
    with pytest.warns(SchemaWarning, match="send: the parameter 'to' has the type Missing"):
        assert list(made.wire["function"]["parameters"]["properties"]) == ["to", "n"]
    assert made(**made.arguments({"to": {"id": 1}, "n": "2"})) == ({"id": 1}, 2)


# Names and what fails at construction


@pytest.mark.parametrize(
    ("fn", "name"),
    [
        (weather, "weather"),
        (functools.partial(weather, unit="F"), "weather"),
        (Desk().book, "book"),
        (Desk(), "Desk"),
        (Desk.open, "open"),
        (Desk.close, "close"),
        (Desk().cancel, "cancel_booking"),
        (functools.partial(Desk().cancel), "cancel_booking"),
    ],
)
def test_names(fn: Any, name: str) -> None:
    """J08, J09"""
    made = tool_of(fn)
    assert made.name == made.__name__ == made.wire["function"]["name"] == name


def test_an_illegal_name_fails_with_advice() -> None:
    """D21, J09, U07"""

    def suche_straße(ort: str) -> None: ...

    with pytest.raises(AgentError, match=r'@tool\(name="suche_stra_e"\)'):
        tool_of(suche_straße)
    with pytest.raises(AgentError, match=r"'<lambda>' cannot be the name of a tool.*tool\(function, name="):
        tool_of(lambda x: x)
    with pytest.raises(AgentError, match="at most 64"):
        tool(weather, name="x" * 65)
    assert tool(suche_straße, name="suche").name == "suche"
    assert tool(lambda x: x, name="echo").wire["function"]["name"] == "echo"


@pytest.mark.parametrize("fn", [42, None, "weather", dict.update])
def test_what_is_no_function_fails(fn: Any) -> None:
    """D22, U07"""
    with pytest.raises(AgentError):
        tool_of(fn)


def test_positional_only_fails_at_construction() -> None:
    """D22"""

    def f(a: int, /) -> None: ...

    with pytest.raises(AgentError, match="positional-only"):
        tool_of(f)


def test_decorators_in_the_wrong_order_fail_with_advice() -> None:
    with pytest.raises(AgentError, match="put @staticmethod above @tool"):

        class Wrong:
            @tool  # type: ignore[arg-type]
            @staticmethod
            def f() -> None: ...


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"timeout": 0}, "timeout=0 must be a number of seconds above 0"),
        ({"timeout": -1.5}, "timeout"),
        ({"timeout": "3"}, "timeout='3' must be a number of seconds above 0"),
        ({"timeout": float("nan")}, "timeout=nan must be"),
        ({"timeout": float("inf")}, "timeout=inf must be .* or None for no limit"),
        ({"retries": -1}, "retries=-1 must be a whole number, 0 or more"),
        ({"retries": "2"}, "retries='2' must be a whole number"),
        ({"retries": 1.5}, "retries=1.5"),
        ({"effect": "twice"}, 'effect=\'twice\' must be "repeatable" or "once"'),
        ({"approval": lambda amount: True}, "asks for 'amount'"),
        ({"enabled": lambda arguments: True}, "asks for 'arguments'"),
        ({"description": lambda arguments: ""}, "asks for 'arguments'"),
    ],
)
def test_options_out_of_range_fail(options: dict[str, Any], said: str) -> None:
    """D18, X05"""
    with pytest.raises(AgentError, match=said):
        tool(weather, **options)


# Tools and functions


def test_the_options_are_kept() -> None:
    @tool(
        approval=lambda arguments: arguments["x"] > 1,
        timeout=2.5,
        retries=1,
        enabled=lambda context_variables, agent: True,
        exclusive=True,
        inline=True,
        examples=["add one"],
        effect="once",
    )
    def f(x: int) -> int:
        return x

    assert isinstance(f, Tool)
    assert (f.timeout, f.retries, f.exclusive, f.inline, f.examples, f.effect) == (2.5, 1, True, True, ("add one",), "once")
    assert callable(f.approval)
    assert callable(f.enabled)
    made = tool_of(weather)
    assert (made.timeout, made.retries, made.exclusive, made.inline, made.examples, made.effect) == (
        None,
        0,
        False,
        False,
        (),
        "repeatable",
    )
    assert (made.approval, made.enabled, made.handoff, made.nested, made.strict) == (False, True, None, None, None)


def test_a_decorated_function_still_works_as_a_function() -> None:
    @tool
    def double(x: int) -> int:
        return 2 * x

    assert double(4) == double(x=4) == 8
    assert tool(lambda self: self, name="echo")(self=1) == 1
    assert double.__name__ == "double"
    assert repr(double) == "Tool('double')"


def test_a_decorated_method_is_bound_to_its_object() -> None:
    a, b = Desk("a"), Desk("b")
    assert isinstance(Desk.cancel, Tool)
    assert (a.cancel("Rome"), b.cancel("Oslo")) == ("a cancels Rome", "b cancels Oslo")
    assert list(a.cancel.wire["function"]["parameters"]["properties"]) == ["city"]
    assert a.cancel.retries == 2
    assert tool_of(a.cancel)(**tool_of(a.cancel).arguments({"city": "Rome"})) == "a cancels Rome"


def test_another_view_of_an_agent_is_still_that_agent(drive: Drive) -> None:
    """D24: approval, name and description are new, what a call does is not."""
    inner = Agent(name="Inner", description="Knows numbers.")
    asked = tool(inner.as_tool(), name="numbers", approval=True)
    assert (asked.name, asked.description, asked.approval) == ("numbers", "Knows numbers.", True)
    assert tool(inner.as_tool(), description="Counts.").description == "Counts."
    outer = Agent(name="Outer", functions=[asked])
    paused = drive(outer, "how many?", [call("numbers", {"input": "count"})])
    assert [(item.name, item.arguments) for item in paused.pending] == [("numbers", {"input": "count"})]
    done = drive.resume(paused.state(), ["seven", "It is seven."], approvals={paused.pending[0].id: True})
    assert [m["content"] for m in done.messages] == [None, "seven", "It is seven."]


def test_another_view_of_a_handoff_is_still_that_handoff(drive: Drive) -> None:
    other = Agent(name="Other")
    made = transfer_tool(Handoff(other, message="over to you"), {})
    renamed = tool(made, name="pass_on")
    assert renamed.handoff is made.handoff
    assert renamed.description == "Hand over to Other."
    response = drive(Agent(functions=[renamed]), "go", [call("pass_on", {"made": "up"}), "done"])
    assert response.agent is other
    assert response.messages[1]["content"] == "over to you"


def test_what_an_agent_cannot_do_as_a_tool_is_refused() -> None:
    for options in ({"timeout": 3}, {"retries": 1}):
        with pytest.raises(AgentError, match="inner: timeout and retries do not apply to an agent"):
            tool(Agent(name="Inner").as_tool(), **options)  # type: ignore[arg-type]


def test_an_agent_as_a_tool_may_stand_in_a_class_and_be_copied(drive: Drive) -> None:
    class Office:
        ask = Agent(name="Inner").as_tool()

    for made in (Office.ask, Office().ask, copy.copy(Office.ask), tool_of(Office().ask)):
        response = drive(Agent(functions=[made]), "go", [call("inner", {"input": "x"}), "inside", "done"])
        assert response.messages[1]["content"] == "inside"


@pytest.mark.parametrize("wrong", [Agent(name="B"), Handoff(Agent(name="B"))])
def test_an_agent_is_no_function(wrong: Any) -> None:
    """U07"""
    said = r"\('B'\)|\(name='B'\)) is no function: give handoffs=\[\.\.\.\] to hand over to it, or agent\.as_tool\(\)"
    for make in (tool, tool_of, lambda wrong: Agent(functions=[wrong]), lambda wrong: Agent(tools=[weather, wrong])):
        with pytest.raises(AgentError, match=f"({said}"):
            make(wrong)  # type: ignore[operator]


def test_decorated_static_and_class_methods() -> None:
    assert tool_of(Desk().close)("x") == "x"
    opened = tool_of(Desk.open)
    assert opened(**opened.arguments({"city": "Rome"})) == "Desk Rome"
    by_hand = tool_of(types.MethodType(Desk.cancel, Desk("a")))  # what a classmethod gives since Python 3.13
    assert (by_hand.name, by_hand.retries) == ("cancel_booking", 2)
    assert by_hand(**by_hand.arguments({"city": "Rome"})) == "a cancels Rome"


def test_a_function_is_converted_once() -> None:
    desk = Desk()
    kept = [tool_of(weather), tool_of(desk.book)]
    assert tool_of(weather) is kept[0]
    assert tool_of(desk.book) is kept[1]
    assert tool_of(Desk().book) is not kept[1]
    assert tool_of(kept[0]) is kept[0]


def test_functions_of_a_module_stay_ready() -> None:
    ref = weakref.ref(tool_of(weather))
    gc.collect()
    assert ref() is tool_of(weather)


def test_two_views_of_one_function_are_apart() -> None:
    """C11"""
    plain = tool_of(weather)
    renamed = tool(weather, name="sky", description="Look up.")
    third = tool(renamed, name="third")
    assert (plain.name, renamed.name, third.name) == ("weather", "sky", "third")
    assert plain.wire["function"]["description"] == "Get the weather."
    assert renamed.wire["function"]["description"] == "Look up."
    assert third.fn is weather
    assert tool_of(weather) is plain


def test_callables_that_are_equal_are_different_tools() -> None:
    @dataclass
    class Counter:
        start: int

        def __call__(self, step: int) -> int:
            return self.start + step

    a, b = Counter(1), Counter(1)  # equal, and not hashable
    kept = tool_of(a), tool_of(b)
    assert kept[0] is not kept[1]
    assert kept[0].fn is a


def test_tools_keep_nothing_alive() -> None:
    def make() -> list[weakref.ref[Any]]:
        class Shop:
            def sell(self, item: str) -> str:
                return item

        def f(item: Shop | None = None, context_variables: Any = None) -> Any:
            return f

        shop = Shop()
        with pytest.warns(SchemaWarning):
            made = [tool_of(f), tool_of(shop.sell), tool_of(functools.partial(f))]
            for each in made:
                each.arguments("{}") if each.name == "f" else each.wire
        return [weakref.ref(f), weakref.ref(shop), weakref.ref(made[0])]

    refs = make()
    gc.collect()
    assert [ref() for ref in refs] == [None, None, None]


@pytest.mark.parametrize(
    ("fn", "expected"),
    [
        (weather, False),
        (later, True),
        (functools.partial(later, city="x"), True),
        (Waiter(), True),
        (Waiter().__call__, True),
        (tool(later), True),
        (functools.partial(tool(later), city="x"), True),
        (Desk(), False),
    ],
)
def test_coroutine_functions_are_known(fn: Any, expected: bool) -> None:
    """T19"""
    assert tool_of(fn).is_async is expected


def test_an_async_tool_is_awaited_by_its_caller() -> None:
    """T19"""
    made = tool_of(functools.partial(later))
    assert asyncio.run(made(**made.arguments('{"city": "x"}'))) == "x"


# Arguments


def test_arguments_arrive_as_the_annotated_types() -> None:
    """T21, T22, J08"""

    def f(n: int, b: bool, d: dict[str, Any], a: list[Add], unit: str) -> Any:
        return n, b, d, a, unit

    bound = tool_of(functools.partial(f, unit="C"))
    got = bound.arguments('{"n": "42", "b": "false", "d": "{\\"k\\": 1}", "a": [{"x": "1"}]}')
    assert bound(**got) == (42, False, {"k": 1}, [Add(x=1)], "C")
    with pytest.raises(ToolArgumentsError, match=r"^Wrong arguments for f: n should be a valid integer"):
        bound.arguments('{"n": "3.14", "b": true, "d": {}, "a": []}')


def test_errors_name_the_tool_as_the_model_knows_it() -> None:
    """T08"""
    with pytest.raises(ToolArgumentsError, match=r"Wrong arguments for sky: unknown: id\. It accepts: city \(required\), unit\."):
        tool(weather, name="sky").arguments({"city": "Rome", "id": 7})


def test_wrapped_functions_get_their_arguments() -> None:
    """K10"""

    @functools.wraps(weather)
    def wrapper(*args: Any, **kwargs: Any) -> str:
        return weather(*args, **kwargs).upper()

    made = tool_of(wrapper)
    assert made(**made.arguments({"city": "Rome", "unit": "F"})) == "ROME F"


def test_handoff_functions_ignore_what_a_model_makes_up() -> None:
    """H11"""
    target = Agent(name="B")

    def to_b() -> Agent:
        return target

    def to_b_with_result(context_variables: dict[str, Any]) -> Result | None: ...

    def plain() -> str:
        return ""

    def chooses(reason: str) -> Agent:
        return target

    def transfer():  # type: ignore[no-untyped-def]
        return target

    generated = Tool(transfer, handoff=Handoff(target))
    for made in (tool_of(to_b), tool_of(to_b_with_result), generated):
        assert made.loose
        assert made.arguments('{"message": "hi", "context_variables": {}}') == {}
    for fn in (plain, chooses, weather):
        assert not tool_of(fn).loose
    with pytest.raises(ToolArgumentsError, match="plain: unknown: message"):
        tool_of(plain).arguments({"message": "hi"})
    with pytest.raises(ToolArgumentsError, match="not valid JSON"):
        generated.arguments('{"message": ')


# Results


class Mood(StrEnum):
    CALM = "calm"


@dataclass
class Place:
    city: str
    mood: Mood = Mood.CALM


class City(BaseModel):
    city: str


class Odd:
    def __str__(self) -> str:
        return "odd"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        ("", ""),
        (Mood.CALM, "calm"),
        (None, "None"),
        (42, "42"),
        (1.5, "1.5"),
        (True, "True"),
        ((1, 2), "(1, 2)"),
        (Odd(), "odd"),
        ({"ok": True, "n": [1, 2]}, '{"ok":true,"n":[1,2]}'),
        ([{"a": None}], '[{"a":null}]'),
        ([], "[]"),
        ({"city": "東京"}, '{"city":"東京"}'),
        (City(city="東京"), '{"city":"東京"}'),
        (Place("東京"), '{"city":"東京","mood":"calm"}'),
        ([City(city="a"), Place("b"), Odd()], '[{"city":"a"},{"city":"b","mood":"calm"},"odd"]'),
        ({1: "a", "b": {2}}, '{"1":"a","b":[2]}'),
        ({"bytes": b"\xff"}, '{"bytes":"_w=="}'),
        ({"bytes": "東京".encode()}, '{"bytes":"東京"}'),
        ("東京".encode(), "東京"),
        (bytearray(b"abc"), "abc"),
        (b"\xff" * 5_000, "(5,000 bytes that are no text)"),
        (City, str(City)),
        (Place, str(Place)),
    ],
)
def test_results_as_text(value: Any, text: str) -> None:
    """T16, T17, T18, K09"""
    assert result_text(value) == text
    assert type(result_text(value)) is str


def test_a_result_that_holds_itself() -> None:
    loop: list[Any] = [1]
    loop.append(loop)
    assert result_text(loop) == "[1, [...]]"


def test_a_value_without_text_raises_its_own_error() -> None:
    """K11"""

    class Bad:
        def __str__(self) -> str:
            raise RuntimeError("no text")

    with pytest.raises(RuntimeError, match="no text"):
        result_text(Bad())


# Callbacks

ALLOWED = ("context_variables", "messages", "arguments", "agent", "run")


class Asker:
    def method(self, run: Any) -> None: ...
    def __call__(self, messages: Any) -> None: ...


@pytest.mark.parametrize(
    ("fn", "names"),
    [
        (lambda: "", ()),
        (lambda context_variables: "", ("context_variables",)),
        (lambda run, messages, *, agent: "", ("run", "messages", "agent")),
        (lambda arguments, other=1: "", ("arguments",)),
        (lambda **kwargs: "", ALLOWED),
        (lambda agent, **kwargs: "", ("agent", "context_variables", "messages", "arguments", "run")),
        (lambda *args: "", ()),
        (Asker().method, ("run",)),
        (Asker(), ("messages",)),
        (functools.partial(lambda run, extra: "", extra=1), ("run",)),
    ],
)
def test_callbacks_get_what_they_ask_for_by_name(fn: Callable[..., Any], names: tuple[str, ...]) -> None:
    """D18"""
    assert callback_parameters(fn, ALLOWED) == names
    assert callback_parameters(fn, ALLOWED) == names


@pytest.mark.parametrize("fn", [lambda amount: "", lambda context_variables, amount: "", lambda run, /: "", dict.update])
def test_callbacks_that_ask_for_something_else_fail(fn: Callable[..., Any]) -> None:
    """D18"""
    with pytest.raises(AgentError):
        callback_parameters(fn, ALLOWED)


def test_what_is_on_offer_is_part_of_the_question() -> None:
    def decide(arguments: Any) -> bool:
        return True

    assert callback_parameters(decide, ALLOWED) == ("arguments",)
    with pytest.raises(AgentError, match=r"decide asks for 'arguments', but .* may ask by name for run"):
        callback_parameters(decide, ("run",))


def positional_only(context_variables: Any, /) -> str:
    return ""


@pytest.mark.parametrize(
    ("fn", "expected"),
    [
        (lambda ctx: "", None),
        (lambda ctx=None: "", None),
        (lambda ctx, prefix="x": "", None),
        (positional_only, None),
        (lambda context_variables: "", None),
        (lambda *args: "", None),
        (lambda run: "", ("run",)),
        (lambda: "", ()),
        (lambda *, agent: "", ("agent",)),
        (lambda context_variables, run: "", ("context_variables", "run")),
    ],
)
def test_instructions_may_name_their_one_parameter_as_they_like(fn: Callable[..., Any], expected: tuple[str, ...] | None) -> None:
    """D18, K04"""
    assert callback_parameters(fn, ALLOWED, single_positional=True) == expected


def test_instructions_with_two_unknown_parameters_fail() -> None:
    """D18"""
    with pytest.raises(AgentError, match="asks for 'a'"):
        callback_parameters(lambda a, b: "", ALLOWED, single_positional=True)


def test_annotated_parameters_in_the_wire() -> None:
    """J10"""

    def f(city: Annotated[str, "city name"]) -> None:
        """Find.

        :param city: not this
        """

    assert tool_of(f).wire["function"]["parameters"]["properties"] == {"city": {"type": "string", "description": "city name"}}
    assert tool_of(f).wire["function"]["description"] == "Find."


def test_a_generator_is_refused_with_advice() -> None:
    """T19"""

    def pieces() -> Any:
        yield "a"

    async def async_pieces() -> Any:
        yield "a"

    for function in (pieces, async_pieces):
        with pytest.raises(AgentError, match="return the whole"):
            tool_of(function)


def test_numbers_that_json_has_not_are_told_as_text() -> None:
    """What the model reads is JSON."""
    assert json.loads(result_text({"n": float("nan"), "x": [float("inf"), -float("inf")]})) == {"n": "NaN", "x": ["Infinity", "-Infinity"]}


def test_an_agent_inside_a_value_is_its_name(drive: Drive) -> None:
    """A model never reads the instructions of another agent."""
    spy = Agent(name="Spy", instructions="The password is swordfish.")

    def nobody() -> list[Agent]:
        return [spy]

    def deep() -> dict[str, Any]:
        return {"chosen": {"agent": spy}}

    def inside() -> Result:
        return Result(value=spy)

    agent = Agent(functions=[nobody, deep, inside])
    response = drive(agent, "go", [[call("nobody"), call("deep"), call("inside")], "done"])
    texts = [message["content"] for message in response.messages if message["role"] == "tool"]
    named = {"assistant": "Spy"}
    assert [json.loads(text) for text in texts] == [[named], {"chosen": {"agent": named}}, named]
    assert spy.model_dump()["instructions"] == "The password is swordfish."


def test_a_tool_made_of_a_tool_keeps_what_is_not_said_anew() -> None:
    """A function that needs a person's consent needs it under another name too."""

    @tool(approval=True, timeout=5, effect="once", examples=["pay it"], description="Pay.")
    def pay(amount: int) -> str:
        return f"{amount} paid"

    again = tool(pay, name="pay_now", timeout=9)
    assert (again.name, again.timeout) == ("pay_now", 9)
    assert (again.approval, again.effect, again.examples, again.description) == (True, "once", ("pay it",), "Pay.")
    assert tool(pay).name == "pay"
    assert tool(again, approval=False).approval is False
    assert (pay.name, pay.timeout) == ("pay", 5)
