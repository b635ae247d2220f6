"""The one exception of evals, in a file of its own since every other file here raises it."""

from __future__ import annotations

from ..errors import SwarmError


class EvalError(SwarmError):
    """Cases, results or settings of an eval that cannot be used; the text says where, and what to do."""
