"""Tests for agents without a network, a key or chance: scripted models, tapes, assertions, conformance suites.

The pytest plugin is `pytest_openswarm`; the suites are in `swarm.testing.conformance`.
"""

from ..models.scripted import ScriptedModel, Turn, call
from .assertions import assert_called, assert_handoffs, assert_not_called, assert_stopped, assert_valid_history
from .tape import Tape, TapeError

__all__ = [
    "ScriptedModel",
    "Tape",
    "TapeError",
    "Turn",
    "assert_called",
    "assert_handoffs",
    "assert_not_called",
    "assert_stopped",
    "assert_valid_history",
    "call",
]
