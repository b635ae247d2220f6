"""How far an eval has come: a bar on a terminal, nothing elsewhere."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from ..evals import CaseResult


class Progress:
    """A bar with the number of conversations that are over and the share of them that passed. A context manager.

    Args:
        total: how many there will be.

    Attributes:
        total: as given.
        done: how many are over.
    """

    def __init__(self, total: int) -> None:
        self.total, self.done, self._passed, self._failed = total, 0, 0, 0
        console = Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
        self._bar = Bar(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._task = self._bar.add_task("Playing", total=total)

    def note(self, result: CaseResult) -> None:
        """Count a conversation that is over."""
        self.done += 1
        self._passed += result.passed
        self._failed += result.error is not None
        failed = f", {self._failed} failed" if self._failed else ""
        self._bar.update(self._task, completed=self.done, description=f"{self._passed / self.done:.1%} passed{failed}")

    def stop(self) -> None:
        """Take the bar away."""
        self._bar.stop()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.stop()
