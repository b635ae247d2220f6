"""A graph as nodes and links, ready to be drawn, and three drawings in plain text: for the terminal, for Mermaid and for Graphviz.

Nodes have ids of their own, so that agents of one name stay apart and no name has to be a legal id.
"""

from __future__ import annotations

import unicodedata

from ..types import Agent
from .graph import Edge, Graph, Kind


class Node:
    """An agent, or the unknown target of a dynamic handoff.

    Attributes:
        id: unique, letters and digits.
        label: the agent's name; "?" for an unknown target.
        start: whether a conversation may begin there.
        unknown: whether only a run knows which agent it is.
        tools: names of the tools to show with it.
    """

    def __init__(self, id: str, label: str, start: bool = False, unknown: bool = False, tools: tuple[str, ...] = ()) -> None:
        self.id = id
        self.label = label
        self.start = start
        self.unknown = unknown
        self.tools = tools


class Link:
    """All ways of one kind from one node to another.

    Attributes:
        source, target: ids of nodes.
        kind: "hands over" or "asks".
        tools: names of the tools.
        conditional: whether each of them is offered at times only.
    """

    def __init__(self, source: str, target: str, edge: Edge) -> None:
        self.source = source
        self.target = target
        self.kind: Kind = edge.kind
        self.tools = [edge.tool]
        self.conditional = edge.conditional

    @property
    def label(self) -> str:
        """The tools, and that they are offered at times only."""
        return ", ".join(self.tools) + (" (conditional)" if self.conditional else "")


class Drawing:
    """The nodes and links of a graph.

    Args:
        graph: what was read.
        tools: whether to show the tools that are no handoffs.
    """

    def __init__(self, graph: Graph, tools: bool = False) -> None:
        ids = {agent: f"a{number}" for number, agent in enumerate(graph.agents)}
        self.nodes = [
            Node(ids[agent], plain(graph.label(agent)), agent in graph.starts, tools=_own_tools(graph, agent) if tools else ())
            for agent in graph.agents
        ]
        links: dict[tuple[str, str, Kind], Link] = {}
        for edge in graph.edges:
            source = ids[edge.source]
            target = ids[edge.target] if edge.target is not None else self._unknown()
            link = links.get((source, target, edge.kind))
            if link is None:
                links[source, target, edge.kind] = Link(source, target, edge)
            else:
                link.tools.append(edge.tool)
                link.conditional = link.conditional and edge.conditional
        self.links = list(links.values())

    @property
    def unknown(self) -> set[str]:
        """The ids of the nodes that stand for an agent that only a run knows."""
        return {node.id for node in self.nodes if node.unknown}

    def _unknown(self) -> str:
        self.nodes.append(Node(f"u{len(self.nodes)}", "?", unknown=True))
        return self.nodes[-1].id


def _own_tools(graph: Graph, agent: Agent) -> tuple[str, ...]:
    member = graph.members[agent]
    ways = {edge.tool for edge in member.edges}
    return tuple(plain(tool.name) for tool in member.tools if tool.name not in ways)


def plain(text: str) -> str:
    """A text on one line, without characters that do something instead of being seen."""
    return "".join(letter if letter.isprintable() else "�" for letter in " ".join(text.split()))


def width(text: str) -> int:
    """How many columns a text takes on a terminal; the wide characters of UAX #11 take two, those that stand over others none."""
    return sum(0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def as_text(drawing: Drawing) -> str:
    """For a terminal: each agent once, and under it the ways from it. `->` hands over, `<>` asks and gets an answer, `*` is a tool."""
    labels = {node.id: node.label for node in drawing.nodes}
    column, unknown = max((width(labels[link.target]) for link in drawing.links), default=0), drawing.unknown
    lines: list[str] = []
    for node in drawing.nodes:
        if node.unknown:
            continue
        lines.append(f"{node.label} (start)" if node.start else node.label)
        for link in (link for link in drawing.links if link.source == node.id):
            target = labels[link.target]
            sign = "->" if link.kind == "hands over" else "<>"
            note = " (only a run knows to whom)" if link.target in unknown else ""
            lines.append(f"  {sign} {target}{' ' * (column - width(target))}  {link.label}{note}")
        lines += [f"   * {tool}" for tool in node.tools]
    return "\n".join(lines) + "\n"


def as_mermaid(drawing: Drawing) -> str:
    """A Mermaid flowchart (https://mermaid.js.org/syntax/flowchart.html): quoted labels, special characters as entity codes."""
    lines, unknown = ["flowchart LR"], drawing.unknown
    for node in drawing.nodes:
        label = "<br/>".join(_entities(part) for part in (node.label, *node.tools))
        begin, end = ('(["', '"])') if node.start else ('(("', '"))') if node.unknown else ('["', '"]')
        lines.append(f"    {node.id}{begin}{label}{end}")
    for link in drawing.links:
        arrow = "-.->" if link.kind == "asks" or link.target in unknown else "-->"
        lines.append(f'    {link.source} {arrow}|"{_entities(link.label)}"| {link.target}')
    return "\n".join(lines) + "\n"


def as_dot(drawing: Drawing) -> str:
    """A Graphviz digraph (https://graphviz.org/doc/info/lang.html): quoted labels, in which `"` and backslashes are escaped."""
    unknown = drawing.unknown
    lines = ["digraph swarm {", "    rankdir=LR;", '    node [shape=box, style=rounded, fontname="sans-serif"];']
    for node in drawing.nodes:
        label = "\\n".join(_quotable(part) for part in (node.label, *node.tools))
        more = ", penwidth=2" if node.start else ", shape=circle, style=dashed" if node.unknown else ""
        lines.append(f'    {node.id} [label="{label}"{more}];')
    for link in drawing.links:
        more = ", style=dashed" if link.kind == "asks" or link.target in unknown else ""
        lines.append(f'    {link.source} -> {link.target} [label="{_quotable(link.label)}"{more}];')
    return "\n".join([*lines, "}"]) + "\n"


def _entities(text: str) -> str:
    """Everything but letters, digits and what Mermaid has no use for, as `#34;`; a leading number would be a Markdown list."""
    return "".join(letter if letter.isalnum() or letter in " ,_" or ord(letter) > 127 else f"#{ord(letter)};" for letter in text)


def _quotable(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
