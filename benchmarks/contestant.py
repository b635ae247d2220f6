"""What a contestant is: a module with these names, loaded by a worker in the contestant's own environment.

Ours and the raw clients are in `contestants/`, the peers in `peers/`, each beside the versions it was measured with (`peers/<name>.txt`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from benchmarks.scenarios import Dialect


class Contestant(Protocol):
    """
    Attributes:
        DISTRIBUTION: what it is called in a list of requirements; its version is shown.
        IMPORT: the statements with which a program begins that uses it.
        IS_ASYNC: whether a conversation returns an awaitable.
        DIALECT: what its model has to say where libraries differ.
        CANNOT: for a scenario's name, why it is out of reach.
    """

    DISTRIBUTION: str
    IMPORT: str
    IS_ASYNC: bool
    DIALECT: Dialect
    CANNOT: dict[str, str]

    def conversation(self, scenario: str, base: str) -> Callable[[], Any]:
        """Prepare what lasts: clients, models, agents that can be used again. In a running event loop if IS_ASYNC.

        Args:
            scenario: a name of SCENARIOS, or "inprocess".
            base: the base URL for this scenario.

        Returns:
            a function that has one conversation and returns its final text, or an awaitable of it.
        """
        ...

    def agent(self, base: str) -> Callable[[], object]:
        """A function that makes one agent with instructions and one tool, over a model that is there already."""
        ...
