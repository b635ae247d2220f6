"""What is read of every kind of callable. Hints here are text, as in modules of users who postpone annotations."""

from __future__ import annotations

import functools
import gc
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict, Unpack, cast

import pytest
from pydantic import Field

from swarm.arguments import arguments_of
from swarm.errors import AgentError
from swarm.run import RunInfo
from swarm.signature import EMPTY, Signature, doc_of, mentions, name_of, names_in
from swarm.types import Agent, Result

if TYPE_CHECKING:
    from nowhere import Missing  # type: ignore[import-not-found]


class Desk:
    """A desk."""

    def book(self, city: str, nights: int = 1) -> str:
        """Book a room."""
        return f"{city} {nights}"

    @classmethod
    def open(cls, city: str) -> str:
        return city

    @staticmethod
    def close(city: str) -> str:
        return city

    def __call__(self, seat: int) -> str:
        return str(seat)


def lookup(city: str, unit: str) -> str:
    """Look up."""
    return city + unit


def passing_on(fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return wrapper


def names(fn: Any) -> list[str]:
    return list(Signature(fn).parameters)


def test_the_parameters_of_a_function() -> None:
    """K20"""
    parameters = Signature(lookup).parameters
    assert [(p.name, p.annotation, p.required) for p in parameters.values()] == [("city", str, True), ("unit", str, True)]


def test_args_and_kwargs_are_no_parameters() -> None:
    """J03"""

    def f(x: int, *args: Any, **kwargs: Any) -> None: ...
    def g(args: int) -> None: ...

    assert names(f) == ["x"]
    assert Signature(f).rest is Any
    assert names(g) == ["args"]
    assert Signature(g).rest is None


def test_named_rest() -> None:
    """`**kwargs: Unpack[...]` says which names there are."""

    class Options(TypedDict, total=False):
        unit: str

    def f(city: str, **options: Unpack[Options]) -> None: ...

    signature = Signature(f)
    assert [(p.name, p.annotation, p.required) for p in signature.parameters.values()] == [("city", str, True), ("unit", str, False)]
    assert signature.rest is None


@pytest.mark.parametrize(
    ("fn", "name", "expected"),
    [
        (lookup, "lookup", ["city", "unit"]),
        (Desk().book, "book", ["city", "nights"]),
        (Desk.open, "open", ["city"]),
        (Desk.close, "close", ["city"]),
        (Desk(), "Desk", ["seat"]),
        (functools.partial(lookup, unit="C"), "lookup", ["city"]),
        (functools.partial(lookup, "Rome"), "lookup", ["unit"]),
        (functools.partial(functools.partial(Desk().book, nights=2)), "book", ["city"]),
        (functools.partial(Desk()), "Desk", ["seat"]),
        (passing_on(lookup), "lookup", ["city", "unit"]),
        (passing_on(Desk().book), "book", ["city", "nights"]),
        (functools.partial(passing_on(lookup), unit="C"), "lookup", ["city"]),
    ],
)
def test_every_kind_of_callable(fn: Any, name: str, expected: list[str]) -> None:
    """J08, J09, K10"""
    assert name_of(fn) == name
    assert names(fn) == expected
    assert all(parameter.annotation in (str, int) for parameter in Signature(fn).parameters.values())


def test_what_a_partial_bound_is_out_of_reach() -> None:
    """J08"""
    assert Signature(functools.partial(lookup, unit="C")).hidden == {"context_variables", "unit"}


def test_context_variables_wherever_they_stand() -> None:
    """K10, K06"""

    def first(context_variables: dict[str, Any], city: str) -> None: ...
    def last(city: str, context_variables: dict[str, Any] | None = None) -> None: ...
    def keyword(city: str, *, context_variables: Any) -> None: ...
    def none(city: str) -> None:
        context_variables = city
        del context_variables

    class Method:
        def method(self, context_variables: Any, city: str) -> None: ...

    for fn in (first, last, keyword, Method().method, passing_on(first), functools.partial(last)):
        assert Signature(fn).context
        assert names(fn) == ["city"]
    assert not Signature(none).context
    assert not Signature(functools.partial(last, context_variables={})).context


def test_a_wrapper_may_ask_for_more_than_what_it_wraps() -> None:
    """K10"""

    @functools.wraps(lookup)
    def wrapper(context_variables: dict[str, Any], *args: Any, **kwargs: Any) -> str:
        return lookup(*args, **kwargs)

    assert Signature(wrapper).context
    assert names(wrapper) == ["city", "unit"]


def test_a_wrapper_may_ask_for_less_than_what_it_wraps() -> None:
    @functools.wraps(lookup)
    def wrapper(city: str) -> str:
        return lookup(city, "C")

    assert names(wrapper) == ["city"]


def test_a_wrapper_that_loses_names_fails_with_advice() -> None:
    @functools.wraps(lookup)
    def wrapper(*args: Any) -> str:
        return lookup(*args)

    with pytest.raises(AgentError, match=r"lookup: .*'city' cannot be passed. Let the wrapper take \*\*kwargs"):
        Signature(wrapper)


def test_positional_only_parameters() -> None:
    """D22: without a default nobody could pass it; with one it is left alone."""

    def bad(city: str, /) -> None: ...
    def good(city: str = "Rome", /, unit: str = "C") -> None: ...

    with pytest.raises(AgentError, match=r"bad: the parameter 'city' is positional-only.*Remove the '/'"):
        Signature(bad)
    assert names(good) == ["unit"]


@pytest.mark.parametrize(("fn", "said"), [(dict.update, "update"), (42, "int")])
def test_no_signature_is_an_error_that_names_the_function(fn: Any, said: str) -> None:
    """K22, D22"""
    with pytest.raises(ValueError, match=said):
        Signature(fn)


def test_the_run_is_found_by_its_annotation() -> None:
    """D18"""

    def by_class(city: str, info: RunInfo) -> None: ...
    def by_text(city: str, info: Optional[RunInfo] = None) -> None: ...  # type: ignore[name-defined]  # noqa: F821
    def by_union(info: RunInfo | None, city: str) -> None: ...

    for fn in (by_class, by_text, by_union):
        signature = Signature(fn)
        assert signature.run == "info"
        assert list(signature.parameters) == ["city"]
        assert "info" in signature.hidden


def test_another_class_of_that_name_is_another_class() -> None:
    class RunInfo:
        pass

    def f(info: RunInfo) -> None: ...

    assert Signature(f).run is None
    assert names(f) == ["info"]


def test_hints_resolve_where_the_function_was_written() -> None:
    """J02: classes of a function that is still running, of an enclosing method, and of a closure."""

    class Local:
        pass

    def f(a: Local, b: list[Local], c: Literal["x"]) -> None: ...

    parameters = Signature(passing_on(f)).parameters
    assert parameters["a"].annotation is Local
    assert parameters["b"].annotation == list[Local]
    assert parameters["c"].annotation == Literal["x"]


def test_hints_resolve_after_the_enclosing_function_has_returned() -> None:
    def make() -> Callable[..., Any]:
        class Local:
            pass

        def f(a: Local) -> Any:
            return Local

        return f

    fn = make()
    assert Signature(fn).parameters["a"].annotation is fn(None)


def test_what_cannot_be_resolved_stays_and_drops_nothing() -> None:
    """J02"""

    def f(a: Missing, b: int, c: 'not a type !!'="") -> None: ...  # type: ignore[syntax]  # fmt: skip  # noqa: F722

    parameters = Signature(f).parameters
    assert list(parameters) == ["a", "b", "c"]
    assert parameters["a"].annotation == "Missing"
    assert parameters["b"].annotation is int


def test_descriptions_and_defaults_in_annotations() -> None:
    """J10"""

    def f(
        a: Annotated[str, "the city"],
        b: Annotated[int, Field(description="how many", gt=0)],
        c: str = Field(description="unit"),
        d: str = Field("C", description="unit"),
        e: Annotated[int, Field(default=3)] = EMPTY,  # type: ignore[assignment]
    ) -> None: ...

    parameters = Signature(f).parameters
    assert {p.name: (p.description, p.required) for p in parameters.values()} == {
        "a": ("the city", True),
        "b": ("how many", True),
        "c": ("unit", True),
        "d": ("unit", False),
        "e": (None, False),
    }
    assert parameters["a"].annotation is str


def test_docstrings_without_their_indentation() -> None:
    """K21"""

    def f() -> None:
        """One.

        Two.
            Three.
        """

    class Silent:
        """The class speaks."""

        def __call__(self) -> None: ...

    assert doc_of(f) == "One.\n\nTwo.\n    Three."
    assert doc_of(functools.partial(f)) == doc_of(f)
    assert doc_of(Desk().book) == "Book a room."
    assert doc_of(Silent()) == "The class speaks."
    assert doc_of(names) == ""


def test_an_object_speaks_for_itself_before_its_type_does() -> None:
    """K21: what functools.update_wrapper sets is the object's own, and None is a word too."""

    @functools.cache
    def said(city: str) -> str:
        """Look up."""
        return city

    @functools.lru_cache(maxsize=3)
    def silent(city: str) -> str:
        return city

    class Wrapper:
        """A wrapper."""

        def __init__(self, fn: Callable[..., Any]) -> None:
            functools.update_wrapper(self, fn)

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            """Pass on."""

    class Method:
        @functools.cache  # noqa: B019
        def book(self, city: str) -> str:
            """Book a room."""
            return city

    assert doc_of(said) == "Look up."
    assert doc_of(silent) == ""
    assert doc_of(Wrapper(lookup)) == "Look up."
    assert doc_of(Method().book) == "Book a room."
    partial = functools.partial(lookup, unit="C")
    partial.__doc__, partial.__name__ = "In Celsius.", "celsius"  # type: ignore[attr-defined]
    assert (doc_of(partial), name_of(partial)) == ("In Celsius.", "celsius")
    assert (doc_of(functools.partial(partial)), name_of(functools.partial(partial))) == ("In Celsius.", "celsius")


def test_what_is_chosen_by_place_fails_with_advice() -> None:
    """D22: singledispatch looks at the first positional argument."""

    class Desk:
        @functools.singledispatchmethod
        def book(self, value: Any) -> str:
            return str(value)

    @functools.singledispatch
    def show(value: Any) -> str:
        return str(value)

    for fn in (Desk().book, show, passing_on(show)):
        with pytest.raises(AgentError, match=r"functools\.singledispatch chooses by the first argument's place.*def name"):
            Signature(fn)


def test_all_names_that_a_docstring_may_explain() -> None:
    """J10"""

    def f(city: str, context_variables: Any, info: RunInfo, unit: str = "C", *more: str, **filters: str) -> None: ...
    def named(city: str, *more: str, **options: Unpack[Options]) -> None: ...

    class Options(TypedDict, total=False):
        stars: int

    known = {"city", "context_variables", "info", "unit", "more", "**filters"}
    for fn in (f, functools.partial(f, "Rome"), functools.partial(f, unit="C")):
        assert set(names_in(fn, Signature(fn))) == known
    assert set(names_in(passing_on(f), Signature(passing_on(f)))) == known | {"args", "**kwargs"}
    assert set(names_in(named, Signature(named))) == {"city", "context_variables", "more", "stars", "options"}
    assert "seat" in names_in(Desk(), Signature(Desk()))


def test_mentions() -> None:
    """H11"""

    class Mine(Agent):
        pass

    yes = [Agent, Mine, Agent | None, Annotated[Result, "x"], "Agent", "swarm.Agent | None", Callable[[], "Agent"]]
    no = [str, "AgentName", Literal["Agent"], Annotated[str, "Agent"], None, EMPTY]
    assert all(mentions(annotation, "Agent", "Result") for annotation in yes)
    assert not any(mentions(annotation, "Agent", "Result") for annotation in no)


def test_a_function_is_read_once() -> None:
    desk = Desk()
    assert arguments_of(lookup) is arguments_of(lookup)
    assert arguments_of(desk.book) is arguments_of(Desk().book)
    assert arguments_of(desk.book) is not arguments_of(cast("Any", Desk.book))


def test_what_was_read_keeps_no_function_alive() -> None:
    class Local:
        pass

    def make() -> weakref.ref[Any]:
        def f(a: Local, b: dict[str, Local], again: Any = None) -> Any:
            return f

        arguments_of(f)
        partial = functools.partial(f, again=1)
        arguments_of(partial)
        return weakref.ref(f)

    ref = make()
    gc.collect()
    assert ref() is None
