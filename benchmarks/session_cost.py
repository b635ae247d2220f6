"""What it costs to keep a run in a session: the time of one saved step, after conversations of several lengths.

    python -m benchmarks.session_cost [URL ...]

Without a URL, an SQLite file in the folder for temporary files. A run of ten turns with a tool call each saves some thirty steps.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

from benchmarks.measure import table
from benchmarks.turn_cost import InstantModel, add, history
from swarm import Agent, Swarm
from swarm.ext.sessions import SessionStore

ROUNDS, TURNS = 5, 20
LENGTHS = (0, 200, 2_000)


def of_a_step(store: SessionStore, before: int) -> tuple[float, float]:
    """Seconds of one saved step, by the clock and of the processor, after so many messages."""
    agent = Agent(functions=[add])
    store.delete("cost")
    start = [*history(before), {"role": "user", "content": "Go."}]
    Swarm(InstantModel(1)).run(agent, start, session=store.session("cost"))
    first = version(store)
    clock, processor = perf_counter(), process_time()
    Swarm(InstantModel(TURNS)).run(agent, "Go.", session=store.session("cost"))
    clock, processor = perf_counter() - clock, process_time() - processor
    steps = version(store) - first
    return clock / steps, processor / steps


def version(store: SessionStore) -> int:
    """How many steps were saved."""
    loaded = store.loaded("cost")
    return 0 if loaded is None else loaded[0].version


def main() -> None:
    with TemporaryDirectory() as folder:
        rows: list[tuple[str, ...]] = []
        for url in sys.argv[1:] or [str(Path(folder) / "cost.db")]:
            with SessionStore(url) as store:
                for length in LENGTHS:
                    clock, processor = min(of_a_step(store, length) for _ in range(ROUNDS))
                    kind = "SQLite" if store.database.is_sqlite else "PostgreSQL"
                    rows.append((kind, f"{length:,}", f"{clock * 1000:.1f}", f"{processor * 1000:.1f}"))
        print(table(("store", "messages before", "ms a step", "of them CPU"), rows))


if __name__ == "__main__":
    main()
