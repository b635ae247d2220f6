"""The graph as text, Mermaid, DOT and SVG: readable, valid whatever the names are, and with nothing on top of anything else."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarm import Agent, Handoff, Result
from swarm.inspection import read_graph
from swarm.inspection.drawing import Drawing, as_dot, as_mermaid, as_text
from swarm.inspection.layout import Layout, Point
from swarm.inspection.svg import as_svg, bends, path

NAMES = [
    'He said "hi"',
    "[x] {y} (z) | ; --> a",
    "<b>&amp;</b> #35; `code`",
    "back\\slash \\n \\",
    "客服代理",
    "end",
    "- 1. list",
    "two\nlines\tand \x1b[31m",
    "🙂",
    "Same",
    "Same",
    "אבג",
    "long " * 30,
]
SHOWN = [*NAMES[:7], "two lines and �[31m", *NAMES[8:10], "Same (2)", NAMES[11], NAMES[12].strip()]


def route(context_variables: dict[str, Any]) -> Result:
    """Hand over to whoever is next."""
    return Result(agent=context_variables["next"])


def work() -> str:
    """Work."""
    return "done"


def small() -> Drawing:
    expert = Agent(name="Expert")
    sales = Agent(name="Sales", functions=[work])
    triage = Agent(name="Triage", functions=[route, work, expert.as_tool()], handoffs=[Handoff(sales, when=lambda: True)])
    sales.handoffs = [triage, Handoff(triage, name="give_up")]
    return Drawing(read_graph(triage), tools=True)


def of_names() -> Drawing:
    first, *others = [Agent(name=name) for name in NAMES]
    first.handoffs = [Handoff(other, name=f"to_{number}") for number, other in enumerate(others)]
    return Drawing(read_graph(first))


def test_as_text() -> None:
    assert as_text(small()) == (
        "Triage (start)\n"
        "  -> ?       route (only a run knows to whom)\n"
        "  <> Expert  expert\n"
        "  -> Sales   transfer_to_sales (conditional)\n"
        "   * work\n"
        "Expert\n"
        "Sales\n"
        "  -> Triage  transfer_to_triage, give_up\n"
        "   * work\n"
    )


def test_an_agent_that_is_called_like_the_mark_for_nobody_knows_whom() -> None:
    text = as_text(Drawing(read_graph(Agent(name="Triage", functions=[route], handoffs=[Agent(name="?")]))))
    assert text.splitlines()[:3] == ["Triage (start)", "  -> ?  route (only a run knows to whom)", "  -> ?  transfer_to_agent"]


def test_as_text_with_names_of_any_kind() -> None:
    lines = as_text(of_names()).splitlines()
    assert len(lines) == 2 * len(NAMES) - 1
    assert [line for line in lines if not line.startswith("  ")] == [f"{SHOWN[0]} (start)", *SHOWN[1:]]
    assert all(line.isprintable() for line in lines)


def test_as_mermaid() -> None:
    assert as_mermaid(small()) == (
        'flowchart LR\n    a0(["Triage<br/>work"])\n    a1["Expert"]\n    a2["Sales<br/>work"]\n    u3(("?"))\n'.replace("?", "#63;")
        + '    a0 -.->|"route"| u3\n'
        '    a0 -.->|"expert"| a1\n'
        '    a0 -->|"transfer_to_sales #40;conditional#41;"| a2\n'
        '    a2 -->|"transfer_to_triage, give_up"| a0\n'
    )


def test_as_mermaid_with_names_of_any_kind() -> None:
    """Every label stands in quotation marks, and holds no character that means something."""
    _, *lines = as_mermaid(of_names()).splitlines()
    labels: list[str] = []
    for line in lines:
        node = re.fullmatch(r' {4}a\d+(?:\(\["|\[")([^"<>\[\]{}()|`\\]*)(?:"\]\)|"\])', line)
        assert node or re.fullmatch(r' {4}a\d+ -->\|"[\w ,]+"\| a\d+', line), line
        if node:
            labels.append(re.sub(r"#(\d+);", lambda code: chr(int(code[1])), node[1]))
    assert labels == SHOWN


def test_as_dot() -> None:
    text = as_dot(small())
    assert text.startswith("digraph swarm {\n") and text.endswith("}\n")
    assert '    a0 [label="Triage\\nwork", penwidth=2];\n' in text
    assert '    u3 [label="?", shape=circle, style=dashed];\n' in text
    assert '    a0 -> a1 [label="expert", style=dashed];\n' in text
    assert '    a2 -> a0 [label="transfer_to_triage, give_up"];\n' in text


def test_as_dot_with_names_of_any_kind() -> None:
    labels: list[str] = []
    for line in as_dot(of_names()).splitlines()[3:-1]:
        statement = re.fullmatch(r' {4}(a\d+)( -> a\d+)? \[label="((?:[^"\\]|\\["\\])*)"(?:, penwidth=2)?\];', line)
        assert statement, line
        if not statement[2]:
            labels.append(re.sub(r"\\(.)", r"\1", statement[3]))
    assert labels == SHOWN


def parts(image: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return list(image.iter(f"{{http://www.w3.org/2000/svg}}{name}"))


def test_as_svg_with_names_of_any_kind() -> None:
    image = ElementTree.fromstring(as_svg(of_names()))
    assert [title.text for group in parts(image, "g") for title in parts(group, "title")] == SHOWN
    assert len([line for line in parts(image, "path") if "line" in line.get("class", "")]) == len(NAMES) - 1
    assert max(len(text.text or "") for text in parts(image, "text")) <= 40


def test_as_svg_draws_ways_there_and_back_as_one_line() -> None:
    lines = [line for line in parts(ElementTree.fromstring(as_svg(small())), "path") if "line" in line.get("class", "")]
    told = {(title.text, line.get("class"), "marker-start" in line.keys()) for line in lines for title in line}  # noqa: SIM118  # no dict
    assert told == {
        ("route", "line asks", False),
        ("expert", "line asks", False),
        ("transfer_to_sales (conditional) / transfer_to_triage, give_up", "line", True),
    }


def test_texts_fit_into_their_boxes() -> None:
    """At 13 pixels, a character of a common font is at most 13 pixels wide, and 7 on average."""
    for group in parts(ElementTree.fromstring(as_svg(of_names())), "g"):
        (box,), (text,) = parts(group, "rect"), parts(group, "text")
        assert float(box.get("width", 0)) >= 7 * len(text.text or "") + 10


# Geometry


def along(route: list[Point]) -> Iterator[Point]:
    """Points on the line that `path` draws."""
    for number, (start, end) in enumerate(itertools.pairwise(route)):
        first, second = bends(start, end) if number % 2 == 0 else (start, end)
        for step in range(1, 20):
            t = step / 20
            weights = ((1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t * t, t**3)
            yield tuple(sum(w * p[axis] for w, p in zip(weights, (start, first, second, end), strict=True)) for axis in (0, 1))  # type: ignore[misc]


def check_geometry(layout: Layout, lines: list[tuple[int, int]]) -> None:
    for number, box in enumerate(layout.boxes):
        assert box.x >= 0 and box.x + box.width <= layout.width and box.y >= 0 and box.y + box.height <= layout.height
        for other in layout.boxes[number + 1 :]:
            apart = (
                box.x + box.width < other.x
                or other.x + other.width < box.x
                or box.y + box.height < other.y
                or other.y + other.height < box.y
            )
            assert apart, "boxes overlap"
    for (source, target), route_ in zip(lines, layout.routes, strict=True):
        for end, number in ((route_[0], source), (route_[-1], target)):
            box = layout.boxes[number]
            assert end[0] in (box.x, box.x + box.width) and box.y < end[1] < box.y + box.height
        for x, y in along(route_):
            assert 0 <= x <= layout.width and 0 <= y <= layout.height
            for box in layout.boxes:
                assert not (box.x + 0.01 < x < box.x + box.width - 0.01 and box.y < y < box.y + box.height), "a line crosses a box"
    ends = [end for route_ in layout.routes for end in (route_[0], route_[-1])]
    assert len(set(ends)) == len(ends), "two lines touch a box at one place"


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[tuple[float, float]], list[tuple[int, int]], list[int]]:
    count = draw(st.integers(1, 24))
    sizes = draw(st.lists(st.tuples(st.floats(40, 320), st.floats(34, 120)), min_size=count, max_size=count))
    ends = st.integers(0, count - 1)
    lines = draw(st.lists(st.tuples(ends, ends), max_size=50))
    starts = sorted(draw(st.sets(ends, min_size=1, max_size=3)))
    return sizes, lines, starts


@given(graphs())
def test_nothing_lies_on_anything_else(graph: tuple[list[tuple[float, float]], list[tuple[int, int]], list[int]]) -> None:
    sizes, lines, starts = graph
    check_geometry(Layout(sizes, lines, starts), lines)


@pytest.mark.parametrize("shape", ["star", "circle", "chain", "everybody to everybody"])
def test_twenty_agents_are_readable(shape: str) -> None:
    """On a page that is neither endless nor crowded."""
    count = 20
    lines = {
        "star": [(0, number) for number in range(1, count)],
        "circle": [(number, (number + 1) % count) for number in range(count)],
        "chain": [(number, number + 1) for number in range(count - 1)],
        "everybody to everybody": [(a, b) for a in range(count) for b in range(count) if a < b],
    }[shape]
    layout = Layout([(160.0, 34.0)] * count, lines, [0])
    check_geometry(layout, lines)
    assert layout.width < count * 300 and layout.height < count * 300


def test_the_picture_of_a_graph_is_always_the_same() -> None:
    assert as_svg(of_names()) == as_svg(of_names())


def test_a_path_bends_between_columns_and_is_straight_in_them() -> None:
    assert path([(0.0, 0.0), (10.0, 20.0)]) == "M0 0C5 0 5 20 10 20"
    assert path([(0.0, 0.0), (10.0, 20.0), (30.0, 20.0), (40.0, 0.0)]) == "M0 0C5 0 5 20 10 20L30 20C35 20 35 0 40 0"
