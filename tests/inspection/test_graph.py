"""Who can hand over to whom, read from functions of every kind. Nothing is ever called."""

from __future__ import annotations

import functools
import linecache
import sys
import textwrap
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from swarm import Agent, Handoff, Result, tool
from swarm.inspection import Graph, read_graph
from swarm.inspection.instructions import Instructions
from swarm.inspection.values import HOLE

sales = Agent(name="Sales")
refunds = Agent(name="Refunds")
BY_NAME = {"sales": sales, "refunds": refunds}
LISTED = [sales, refunds]
HOLDER = types.SimpleNamespace(agent=sales)


class Called(Exception):
    """Raised by what must not be called."""


def boom(*_: Any, **__: Any) -> Any:
    raise Called


def to_global() -> Agent:
    return sales


def to_later() -> Agent:
    return made_later


def to_named() -> Agent:
    return BY_NAME["refunds"]


def to_any(kind: str) -> Agent:
    return BY_NAME[kind]


def to_any_or_sales(kind: str) -> Agent:
    return BY_NAME.get(kind, sales)


def to_one_of(urgent: bool) -> Agent | str:
    if urgent:
        return sales
    return refunds if kind_of_day() else "stay"


def kind_of_day() -> bool:
    return boom()


def in_result() -> Result:
    return Result(value="over to sales", agent=sales)


def in_result_later() -> Result:
    result = Result(value=boom())
    result.agent = refunds
    return result


def by_local() -> Agent:
    target = sales
    boom(target)
    return target


def by_unpacking() -> Agent:
    _, second = sales, refunds
    return second


def by_loop(name: str) -> Agent:
    for key, agent in BY_NAME.items():
        if key == name:
            return agent
    return sales


def by_next(name: str) -> Agent:
    return next(agent for agent in LISTED if agent.name == name)


def by_display(name: str) -> Agent:
    return {"a": sales, "b": refunds}[name]


def by_comprehension(name: str) -> Agent:
    return {agent.name: agent for agent in LISTED}[name]


def by_growing(name: str) -> Agent:
    found: dict[str, Agent] = {}
    for agent in LISTED:
        found[agent.name] = agent
    return found.get(name) or found[name]


def by_collecting(name: str) -> Agent:
    found = [sales]
    if name:
        found.append(refunds)
    return found[-1]


def helped() -> Result:
    return adopted(sales)


def adopted(agent: Agent) -> Result:
    return Result(value=f"now {agent.name}", agent=agent)


def by_attribute() -> Agent:
    return HOLDER.agent


def by_default(agent: Agent = refunds) -> Agent:
    return agent


def by_import() -> Agent:
    from swarm_of_this_test import hidden  # type: ignore[import-not-found]

    return hidden


async def later() -> Agent:
    return await picked()


async def picked() -> Agent:
    return sales


def again(depth: int) -> Agent:
    return again(depth - 1) if depth else sales


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        value = function(*args, **kwargs)
        boom(value)
        return value

    return wrapper


def unnamed(function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper() -> Any:
        return function()

    return wrapper


@logged
def wrapped() -> Agent:
    return sales


@unnamed
def wrapped_without_saying_so() -> Agent:
    return sales


@functools.lru_cache
def cached() -> Agent:
    return sales


class Desk:
    """Holds an agent, and would fail if it were looked at too closely."""

    shared = refunds

    def __init__(self) -> None:
        self.own = sales

    @property
    def computed(self) -> Agent:
        raise Called

    def to_own(self) -> Agent:
        return self.own

    def to_shared(self) -> Agent:
        return self.shared

    def to_computed(self) -> Agent:
        return self.computed

    def through(self) -> Agent:
        return self.to_own()

    @classmethod
    def of_class(cls) -> Agent:
        return cls.shared

    @staticmethod
    def of_none() -> Agent:
        return sales


class Slotted:
    __slots__ = ("agent",)

    def __init__(self) -> None:
        self.agent = sales

    def to_slot(self) -> Agent:
        return self.agent


class Caller:
    def __call__(self) -> Agent:
        return sales


def enclosed() -> Any:
    agent = refunds

    def to_enclosed() -> Agent:
        return agent

    return to_enclosed


made_later = Agent(name="Later")
two_lambdas = [tool(lambda: sales, name="one"), tool(lambda: refunds, name="two")]

KINDS: dict[str, tuple[Any, list[str | None]]] = {
    "a global": (to_global, ["Sales"]),
    "a global that was set later": (to_later, ["Later"]),
    "an item by its key": (to_named, ["Refunds"]),
    "an item by any key": (to_any, ["Sales", "Refunds"]),
    "an item, or another": (to_any_or_sales, ["Sales", "Refunds"]),
    "one of several": (to_one_of, ["Sales", "Refunds"]),
    "in a Result": (in_result, ["Sales"]),
    "put into a Result": (in_result_later, ["Refunds"]),
    "a local variable": (by_local, ["Sales"]),
    "unpacked": (by_unpacking, ["Refunds"]),
    "from a loop": (by_loop, ["Sales", "Refunds"]),
    "the next one that fits": (by_next, ["Sales", "Refunds"]),
    "of a dict written out": (by_display, ["Sales", "Refunds"]),
    "of a comprehension": (by_comprehension, ["Sales", "Refunds"]),
    "of a dict that is filled": (by_growing, ["Sales", "Refunds"]),
    "of a list that grows": (by_collecting, ["Sales", "Refunds"]),
    "through a helper": (helped, ["Sales"]),
    "an attribute": (by_attribute, ["Sales"]),
    "a default": (by_default, ["Refunds"]),
    "async": (later, ["Sales"]),
    "recursive": (again, ["Sales"]),
    "wrapped": (wrapped, ["Sales"]),
    "wrapped without functools.wraps": (tool(wrapped_without_saying_so, name="hidden"), ["Sales"]),
    "wrapped in C": (cached, ["Sales"]),
    "a bound method": (Desk().to_own, ["Sales"]),
    "a class attribute": (Desk().to_shared, ["Refunds"]),
    "a method of a method": (Desk().through, ["Sales"]),
    "a classmethod": (Desk.of_class, ["Refunds"]),
    "a staticmethod": (Desk.of_none, ["Sales"]),
    "a slot": (Slotted().to_slot, ["Sales"]),
    "a callable object": (tool(Caller(), name="caller"), ["Sales"]),
    "a closure": (enclosed(), ["Refunds"]),
    "a partial": (tool(functools.partial(adopted, sales), name="part"), ["Sales"]),
    "a partial by name": (tool(functools.partial(adopted, agent=refunds), name="part"), ["Refunds"]),
    "the first lambda of a line": (two_lambdas[0], ["Sales"]),
    "the second lambda of a line": (two_lambdas[1], ["Refunds"]),
    "a tool": (tool(to_global, name="other"), ["Sales"]),
    "a property, which is code": (Desk().to_computed, [None]),
}


def targets(function: Any) -> list[str | None]:
    graph = read_graph(Agent(name="First", functions=[function]))
    return [edge.target.name if edge.target else None for edge in graph.members[graph.starts[0]].edges]


@pytest.mark.parametrize("kind", KINDS)
def test_a_function_is_read(kind: str) -> None:
    """D36"""
    function, expected = KINDS[kind]
    assert targets(function) == expected


def says_an_agent() -> Agent:
    return boom()


def says_it_as_text() -> Agent:
    return nowhere.pick()  # type: ignore[name-defined]  # noqa: F821


def makes_one() -> Any:
    return Agent(name="New")


def copies_one() -> Any:
    return sales.copy(name="Copy")


def from_the_context(context_variables: dict[str, Any]) -> Result:
    return Result(agent=context_variables["next"])


class Trap:
    """Whatever is looked up in it is code."""

    def __getattr__(self, name: str) -> Any:
        raise Called

    def __getitem__(self, key: str) -> Any:
        raise Called

    def __iter__(self) -> Any:
        raise Called


trap = Trap()


def from_a_trap(kind: str) -> Agent:
    if kind == "item":
        return trap[kind]
    return next(agent for agent in trap) if kind else trap.agent


@pytest.mark.parametrize("function", [says_an_agent, says_it_as_text, makes_one, copies_one, from_the_context, from_a_trap])
def test_what_only_a_run_knows_is_dynamic(function: Any) -> None:
    """D36"""
    assert targets(function) == [None]


def looks_up(item: str) -> str:
    boom(sales)
    return f"{item} of {sales.name}"


def unknown_value(item: str) -> Any:
    return boom(item)


def only_a_value() -> Result:
    return Result(value=boom())


@pytest.mark.parametrize("function", [looks_up, unknown_value, only_a_value])
def test_a_tool_that_hands_over_to_nobody(function: Any) -> None:
    """An agent that is mentioned, and not returned, is no handoff."""
    graph = read_graph(Agent(functions=[function]))
    assert graph.edges == []
    assert graph.members[graph.starts[0]].work == [function.__name__]


def test_a_module_that_a_handoff_function_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As triage.py does where refunds.py imports it."""
    (tmp_path / "swarm_of_this_test.py").write_text("from swarm import Agent\nhidden = Agent(name='Hidden')\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert targets(by_import) == ["Hidden"]
    del sys.modules["swarm_of_this_test"]


def test_a_module_that_is_not_there() -> None:
    assert targets(by_import) == [None]


def from_text(code: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"Agent": Agent, "Result": Result, "sales": sales, "listed": LISTED, "__name__": "nowhere"}
    exec(textwrap.dedent(code), namespace)
    return namespace


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("def f(): return sales", ["Sales"]),
        ("def f(): return Result(agent=sales)", ["Sales"]),
        ("def f(kind: str): return listed[int(kind)]", ["Sales", "Refunds"]),
        ("def f() -> 'Agent': return later", [None]),
        ("def f() -> str: return sales.name", []),
        ("def f(): return 1", []),
        ("def outer(agent):\n  def f(): return agent\n  return f\nf = outer(sales)", ["Sales"]),
    ],
)
def test_without_source_the_agents_that_the_code_names_count(code: str, expected: list[str | None]) -> None:
    """A snippet, a notebook, a REPL."""
    assert targets(from_text(code)["f"]) == expected


def test_handoffs_and_agents_as_tools() -> None:
    inner = Agent(name="Inner")
    asked = Agent(name="Asked")
    shown = Agent(name="Shown")
    first = Agent(
        name="First",
        functions=[inner.as_tool(), tool(inner.as_tool("again"), approval=True)],
        handoffs=[sales, Handoff(asked, returns=True), Handoff(shown, name="show", when=lambda: boom())],
    )
    edges = [(edge.target.name if edge.target else None, edge.tool, edge.kind, edge.conditional) for edge in read_graph(first).edges]
    assert edges == [
        ("Inner", "inner", "asks", False),
        ("Inner", "again", "asks", False),
        ("Sales", "transfer_to_sales", "hands over", False),
        ("Asked", "transfer_to_asked", "asks", False),
        ("Shown", "show", "hands over", True),
    ]


def test_circles_and_agents_of_one_name() -> None:
    """D19"""
    first, second = Agent(name="Same"), Agent(name="Same")
    first.handoffs.append(second)
    second.handoffs.append(first)
    graph = read_graph(first)
    assert [graph.label(agent) for agent in graph.agents] == ["Same", "Same (2)"]
    assert graph.after([second]) == {first, second}


def test_lists_that_were_broken_later_are_read_as_far_as_possible() -> None:
    agent = Agent(name="Broken", functions=[to_global])
    agent.functions.append(42)  # type: ignore[arg-type]
    agent.handoffs.append("nobody")
    member = read_graph(agent).members[agent]
    assert [edge.tool for edge in member.edges] == ["to_global"]
    assert member.broken is not None and "nobody" in member.broken


def test_only_agents_are_read() -> None:
    with pytest.raises(TypeError, match="takes agents, not 'triage'"):
        read_graph("triage")  # type: ignore[arg-type]


def test_functions_that_call_each_other_without_end_are_read_in_bounds() -> None:
    """Each of these calls all others."""
    code = "\n".join(f"def f{n}(x: str): return {' or '.join(f'f{m}(x)' for m in range(8))}" for n in range(8))
    path = Path(__file__).with_name("no_such_file.py")
    namespace: dict[str, Any] = {"__name__": "nowhere"}
    linecache.cache[str(path)] = (len(code), None, code.splitlines(keepends=True), str(path))
    exec(compile(code, str(path), "exec"), namespace)
    assert targets(namespace["f0"]) == []


def by_appending(context_variables: dict[str, Any]) -> str:
    lines = ["1. Ask."]
    if context_variables["vip"]:
        lines.append("4. Call help_them.")
    return "; ".join(lines)


def by_extending(context_variables: dict[str, Any]) -> str:
    lines = ["1. Ask."]
    lines.extend(["4. Call help_them."])
    return "\n".join(lines)


def test_instructions_are_read_like_functions() -> None:
    """Text with holes where only a run knows."""
    policy = "1. Ask.\n2. Call help_them."

    def instructions(context_variables: dict[str, Any]) -> str:
        return f"Be kind to {context_variables['name']}.\n{policy}".strip()

    def several(context_variables: dict[str, Any]) -> str:
        if context_variables["vip"]:
            return "Be very kind. " + policy
        return "\n".join(["Be kind.", boom()])

    graph: Graph = read_graph()
    said = Instructions(Agent(instructions=instructions), graph.reader)
    assert (said.texts, said.dynamic) == ([f"Be kind to {HOLE}.\n{policy}"], "partly read")
    said = Instructions(Agent(instructions=several), graph.reader)
    assert (said.texts, said.dynamic) == ([f"Be very kind. {policy}", f"Be kind.\n{HOLE}"], "partly read")
    said = Instructions(Agent(instructions=lambda: boom()), graph.reader)
    assert (said.texts, said.dynamic) == ([], "not read")
    for grown in (by_appending, by_extending):
        said = Instructions(Agent(instructions=grown), graph.reader)
        assert (said.texts, said.dynamic) == ([f"1. Ask.\n{HOLE}\n4. Call help_them."], "partly read")
    said = Instructions(Agent(instructions=lambda: "Fixed."), graph.reader)
    assert (said.texts, said.dynamic) == (["Fixed."], None)
