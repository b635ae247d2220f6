"""What both drivers say and decide alike."""

from __future__ import annotations

from ..assembly import Assembler
from ..errors import ModelError, RunTimeout, StreamBroken, ToolTimeout

CLOSING_SECONDS = 5.0
"""How long a run that is being closed may still call functions to tidy up."""


def out_of_time(seconds: float | None) -> RunTimeout:
    """The run's own time limit."""
    return RunTimeout(f"the run took longer than its {seconds:g} s; what was done is on .response")


def timed_out(seconds: float | None) -> ToolTimeout:
    """A tool's time limit, as the model is told."""
    return ToolTimeout(f"timed out after {seconds:g} s")


def broken(error: ModelError, assembler: Assembler) -> ModelError:
    """The error for a stream that failed: once a delta was handed on, a second try would repeat what was shown."""
    if not assembler.started or isinstance(error, StreamBroken):
        return error
    failure = StreamBroken(
        f"the stream broke off: {error}", status=error.status, body=error.body, request_id=error.request_id, cause=error.cause or error
    )
    failure.partial = assembler.partial()
    return failure
