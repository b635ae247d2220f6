"""The graph as an SVG image, drawn here: no other program, no network, no font that has to be there."""

from __future__ import annotations

from html import escape

from .drawing import Drawing, Link, Node, width
from .layout import Box, Layout, Point

_CHARACTER = 7.6  # average width of a character at 13 pixels, on the safe side
_LINE = 17.0
_LONGEST = 40
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1a1a1a}.tool{font-size:12px;fill:#555}"
    "rect.box{fill:#fff;stroke:#5b6b7b;stroke-width:1.2}rect.start{fill:#e8f1fb;stroke:#1f6feb;stroke-width:2}"
    "rect.unknown{stroke-dasharray:4 3}path.line{fill:none;stroke:#5b6b7b;stroke-width:1.3}path.asks{stroke-dasharray:5 4}"
    "path.line:hover{stroke:#d1242f;stroke-width:2.5}"
)


def as_svg(drawing: Drawing) -> str:
    """An SVG image (https://www.w3.org/TR/SVG11/). Ways there and back are one line with two heads; the names of the tools are shown
    when the pointer rests on a line. Dashed lines ask and get an answer, or lead to an agent that only a run knows."""
    places = {node.id: number for number, node in enumerate(drawing.nodes)}
    pairs = _pairs(drawing)
    lines = [(places[pair[0].source], places[pair[0].target]) for pair in pairs]
    layout = Layout([_size(node) for node in drawing.nodes], lines, [places[node.id] for node in drawing.nodes if node.start])
    unknown = drawing.unknown
    size = f"{layout.width:g} {layout.height:g}"
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" width="{layout.width:g}" height="{layout.height:g}" role="img">',
        f"<title>{escape(_sum(drawing))}</title>",
        f"<style>{_STYLE}</style>",
        '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto-start-reverse">'
        '<path d="M0 1 10 5 0 9z" fill="#5b6b7b"/></marker></defs>',
        '<rect width="100%" height="100%" fill="#fff"/>',
    ]
    out += [_line(pair, route, pair[0].target in unknown) for pair, route in zip(pairs, layout.routes, strict=True)]
    out += [_box(node, box) for node, box in zip(drawing.nodes, layout.boxes, strict=True)]
    return "\n".join([*out, "</svg>"]) + "\n"


def _pairs(drawing: Drawing) -> list[list[Link]]:
    """Each link, together with the one that leads back if there is one of its kind."""
    pairs: list[list[Link]] = []
    for link in drawing.links:
        back = [pair for pair in pairs if len(pair) == 1 and pair[0].kind == link.kind and _is_back(pair[0], link)]
        if back:
            back[0].append(link)
        else:
            pairs.append([link])
    return pairs


def _is_back(one: Link, other: Link) -> bool:
    return (one.source, one.target) == (other.target, other.source) and one.source != one.target


def _size(node: Node) -> tuple[float, float]:
    widest = max(width(_short(text)) for text in (node.label, *node.tools))
    return max(widest * _CHARACTER + 28, 44.0), 34.0 + _LINE * len(node.tools)


def _box(node: Node, box: Box) -> str:
    kind = "box start" if node.start else "box unknown" if node.unknown else "box"
    middle = box.x + box.width / 2
    top = box.y + (box.height - _LINE * len(node.tools)) / 2 + 4.5
    parts = [
        f"<g><title>{escape(node.label)}</title>",
        f'<rect class="{kind}" x="{box.x:g}" y="{box.y:g}" width="{box.width:g}" height="{box.height:g}" rx="7"/>',
        f'<text x="{middle:g}" y="{top:g}" text-anchor="middle">{escape(_short(node.label))}</text>',
    ]
    for number, tool in enumerate(node.tools, 1):
        parts.append(f'<text class="tool" x="{middle:g}" y="{top + _LINE * number:g}" text-anchor="middle">{escape(_short(tool))}</text>')
    return "".join([*parts, "</g>"])


def _line(pair: list[Link], route: list[Point], unknown: bool) -> str:
    kind = "line asks" if pair[0].kind == "asks" or unknown else "line"
    heads = ' marker-end="url(#head)"' + (' marker-start="url(#head)"' if len(pair) == 2 else "")
    told = " / ".join(link.label for link in pair)
    return f'<path class="{kind}" d="{path(route)}"{heads}><title>{escape(told)}</title></path>'


def path(route: list[Point]) -> str:
    """The `d` of a path along a route: a curve between columns, a straight piece through one, level where it touches a box."""
    (x, y), pieces = route[0], [f"M{route[0][0]:g} {route[0][1]:g}"]
    for number, (to_x, to_y) in enumerate(route[1:]):
        if number % 2:
            pieces.append(f"L{to_x:g} {to_y:g}")
        else:
            first, second = bends((x, y), (to_x, to_y))
            pieces.append(f"C{first[0]:g} {first[1]:g} {second[0]:g} {second[1]:g} {to_x:g} {to_y:g}")
        x, y = to_x, to_y
    return "".join(pieces)


def bends(start: Point, end: Point) -> tuple[Point, Point]:
    """The two control points of a cubic curve that stays in the space between two columns."""
    if start[0] == end[0]:  # in one column: out to the right, and back
        out = start[0] + min(90.0, 30.0 + abs(end[1] - start[1]) / 3)
        return (out, start[1]), (out, end[1])
    middle = (start[0] + end[0]) / 2
    return (middle, start[1]), (middle, end[1])


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _sum(drawing: Drawing) -> str:
    names = [node.label for node in drawing.nodes if not node.unknown]
    return f"{len(names)} agents: {', '.join(names)}" if len(names) != 1 else names[0]
