"""The run behind what policies are told of it: our own policies may look further than others."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..run import Run, RunInfo


def inside(info: RunInfo) -> Run:
    """The run that a RunInfo tells of."""
    return info._run  # type: ignore[reportPrivateUsage]  # kept from tools, which get a RunInfo too
