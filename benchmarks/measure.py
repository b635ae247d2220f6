"""How the benchmarks measure: CPU time, contestants interleaved, medians.

CPU time of this process leaves out waiting and other processes. Taking turns lets a busy machine slow all contestants alike, and a median
forgets the rounds it disturbed. Only ratios within one run mean anything.
"""

from __future__ import annotations

import gc
import resource
import time
from collections.abc import Callable, Mapping
from statistics import median

Clock = Callable[[], float]


def of_children() -> float:
    """CPU seconds of the child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def cpu_seconds(work: Callable[[], object], repeats: int, clock: Clock) -> float:
    """CPU seconds of one `work()`, averaged over `repeats`."""
    gc.collect()
    begin = clock()
    for _ in range(repeats):
        work()
    return (clock() - begin) / repeats


def interleaved(
    contestants: Mapping[str, Callable[[], object]], rounds: int, repeats: int, clock: Clock = time.process_time
) -> dict[str, float]:
    """The median CPU seconds of each contestant. In each round everybody has a turn, and another one begins."""
    names = list(contestants)
    samples: dict[str, list[float]] = {name: [] for name in names}
    for name in names:
        contestants[name]()
    for number in range(rounds):
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            samples[name].append(cpu_seconds(contestants[name], repeats, clock))
    return {name: median(values) for name, values in samples.items()}


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A Markdown table; every column but the first is flush right."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]

    def line(cells: tuple[str, ...]) -> str:
        padded = [cells[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
        return f"| {' | '.join(padded)} |"

    rule = "|" + "|".join(["-" * (widths[0] + 2)] + ["-" * (width + 1) + ":" for width in widths[1:]]) + "|"
    return "\n".join([line(head), rule, *map(line, rows)])
