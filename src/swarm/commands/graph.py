"""`swarm graph`: a picture of who can hand over to whom."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from ..inspection import read_graph
from ..inspection.drawing import Drawing, as_dot, as_mermaid, as_text
from ..inspection.svg import as_svg
from .failure import Failure, reporting
from .options import Allow
from .starts import Debug, Targets, load_starts


class Format(Enum):
    """How the graph is drawn."""

    TEXT = "text"
    MERMAID = "mermaid"
    DOT = "dot"
    SVG = "svg"


_DRAWN = {Format.TEXT: as_text, Format.MERMAID: as_mermaid, Format.DOT: as_dot, Format.SVG: as_svg}
_SUFFIXES = {
    "": Format.TEXT,
    ".dot": Format.DOT,
    ".gv": Format.DOT,
    ".mermaid": Format.MERMAID,
    ".mmd": Format.MERMAID,
    ".svg": Format.SVG,
    ".txt": Format.TEXT,
}


def graph(
    targets: Targets,
    format: Annotated[
        Format | None, typer.Option("--format", help="How to draw it; by default what the name of the file says, else text.")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Where to write it.")] = None,
    tools: Annotated[bool, typer.Option("--tools", help="Show each agent's other tools too.")] = False,
    allow: Allow = None,
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
      swarm graph shop.toml --allow shop.tools

    "->" hands over, "<>" asks another agent and gets an answer, "?" is an agent that only a run knows.
    """
    with reporting(debug):
        chosen = format or _format_of(output)
        starts, _ = load_starts(targets, allow)
        drawn = _DRAWN[chosen](Drawing(read_graph(*starts), tools))
        if output is None:
            print(drawn, end="")
        else:
            output.write_text(drawn, encoding="utf-8")


def _format_of(output: Path | None) -> Format:
    """What the name of a file says; text where nothing is said."""
    suffix = output.suffix.lower() if output is not None else ""
    if suffix not in _SUFFIXES:
        known = ", ".join(name for name in _SUFFIXES if name)
        raise Failure(f"{suffix} says no format that there is; end the file's name in {known}, or give --format", 2)
    return _SUFFIXES[suffix]
