"""An MCP server for the tests: `python server.py [FOLDER]` speaks on its standard input and output, with `--http PORT` over HTTP.

It counts what it does in FOLDER, one file a thing, so that a test sees what ran even after it killed the process.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Image
from mcp.server.mcpserver.exceptions import ToolError

FOLDER = Path(sys.argv[1])
if (FOLDER / "refuse").exists():
    sys.exit("this server does not start again")
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010804000000b51c0c020000000b4944415478da6364f80f00010501012718e3660000000049454e44ae426082"
)
server = MCPServer("tests", instructions="For tests.", log_level="CRITICAL")
READS = types.ToolAnnotations(read_only_hint=True)
ADDS = types.ToolAnnotations(destructive_hint=False)


def note(what: str) -> None:
    with (FOLDER / what).open("a", encoding="utf-8") as file:
        file.write(f"{os.getpid()}\n")


@server.tool(annotations=READS)
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool(annotations=ADDS)
async def slow(seconds: float, ctx: Context[Any]) -> str:
    """Wait."""
    note("slow-began")
    await ctx.report_progress(1, 2, "half way")
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        note("slow-cancelled")
        raise
    note("slow-ended")
    return "awake"


@server.tool()
def die() -> str:
    """End this process in the middle of the call."""
    note("died")
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"


@server.tool(annotations=READS)
def die_once() -> str:
    """The same, but only at the first call."""
    if not (FOLDER / "died-once").exists():
        note("died-once")
        os.kill(os.getpid(), signal.SIGKILL)
    return "alive"


@server.tool()
def fail(how: str = "") -> str:
    """Fail."""
    if how:
        raise ToolError(f"out of {how}")
    raise ValueError("a secret")


@server.tool(annotations=READS)
def pid() -> str:
    """Which process this is."""
    return str(os.getpid())


@server.tool(annotations=READS)
def variables() -> str:
    """What is in the environment."""
    return " ".join(sorted(os.environ))


@server.tool(annotations=READS, structured_output=False)
def picture() -> list[Any]:
    """A picture and a word."""
    return ["a pixel", Image(data=PIXEL, format="png")]


@server.tool(annotations=READS)
def big(characters: int) -> str:
    """A long text."""
    return "ä" * characters


@server.tool(annotations=READS)
async def talk(ctx: Context[Any]) -> str:
    """Write to the log and to standard error."""
    print("words on standard error", file=sys.stderr, flush=True)
    print("words on standard output", flush=True)
    await ctx.info("words in the log")
    return "said"


@server.tool()
async def learn(name: str, ctx: Context[Any]) -> str:
    """Offer one more tool."""

    def learnt() -> str:
        return name

    server.add_tool(learnt, name=name, description="Learnt.")
    await ctx.notify_tools_changed()
    return "learnt"


@server.tool()
async def forget(name: str, ctx: Context[Any]) -> str:
    """Offer it no more."""
    server.remove_tool(name)
    await ctx.notify_tools_changed()
    return "forgotten"


@server.resource("notes://today", description="What is on today", mime_type="text/plain")
def today() -> str:
    return "Nothing."


@server.resource("notes://picture", mime_type="image/png")
def drawn() -> bytes:
    return PIXEL


@server.resource("notes://{day}/plan", description="The plan of a day")
def plan(day: str) -> str:
    return f"Rest on {day}."


@server.prompt(description="Greets somebody")
def greet(name: str) -> str:
    return f"Say hello to {name}."


if __name__ == "__main__":
    if "--http" in sys.argv:
        server.run("streamable-http", port=int(sys.argv[sys.argv.index("--http") + 1]))
    else:
        server.run("stdio")
