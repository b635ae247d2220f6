"""The run behind what tools, callbacks and policies are told of it.

The one way to it: ours may look further than others, who get a RunInfo too and find nothing there that they could break.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .run import Run, RunInfo


def inside(info: RunInfo) -> Run:
    """The run that a RunInfo tells of."""
    return info._run  # type: ignore[reportPrivateUsage]  # in this one place
