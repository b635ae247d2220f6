"""`swarm graph`: a picture of who can hand over to whom."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from ..inspection import read_graph
from ..inspection.drawing import Drawing, as_dot, as_mermaid, as_text
from ..inspection.svg import as_svg
from .failure import reporting
from .starts import Debug, Targets, load_starts


class Format(Enum):
    """How the graph is drawn."""

    TEXT = "text"
    MERMAID = "mermaid"
    DOT = "dot"
    SVG = "svg"


_DRAWN = {Format.TEXT: as_text, Format.MERMAID: as_mermaid, Format.DOT: as_dot, Format.SVG: as_svg}
_SUFFIXES = {".svg": Format.SVG, ".dot": Format.DOT, ".gv": Format.DOT, ".mmd": Format.MERMAID, ".mermaid": Format.MERMAID}


def graph(
    targets: Targets,
    format: Annotated[
        Format | None, typer.Option("--format", help="How to draw it; by default what the name of the file says, else text.")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Where to write it.")] = None,
    tools: Annotated[bool, typer.Option("--tools", help="Show each agent's other tools too.")] = False,
    debug: Debug = False,
) -> None:
    """Draw who can hand over to whom. The module is imported, and handoffs are read from its agents and their functions;
    none of these is called.

    \b
    Examples:
      swarm graph shop:triage
      swarm graph shop:triage --tools
      swarm graph shop:triage -o shop.svg
      swarm graph shop:triage --format mermaid >> README.md
      swarm graph shop:triage --format dot | dot -Tpng -o shop.png

    "->" hands over, "<>" asks another agent and gets an answer, "?" is an agent that only a run knows.
    """
    with reporting(debug):
        starts, _ = load_starts(targets)
        chosen = format or _SUFFIXES.get(output.suffix.lower() if output else "", Format.TEXT)
        drawn = _DRAWN[chosen](Drawing(read_graph(*starts), tools))
        if output is None:
            print(drawn, end="")
        else:
            output.write_text(drawn, encoding="utf-8")
