"""A run in a session that dies at any of its steps, and the next one that goes on: nothing is repeated, nothing is left out.

The scenes, and how a process dies in them, are those of tests/test_state_kill.py; here it dies before and after each save too.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from swarm import Response
from swarm.ext.sessions import SessionStore
from tests.test_state_kill import SCENES, Killed, Process, World, outcome


class Mortal(SessionStore):
    """A store whose saves are steps of the world."""

    def __init__(self) -> None:
        super().__init__(":memory:")
        self.world = World()
        write = self.database.writing

        @contextmanager
        def writing() -> Iterator[Any]:
            self.world.step()
            with write() as connection:
                yield connection
            self.world.step()

        self.database.writing = writing  # type: ignore[method-assign]


def ran(process: Process, messages: Any, store: Mortal) -> Response:
    """A run of a process, in the session."""
    session = store.session("s", agents=process.agents)
    if process.is_async:
        return asyncio.run(process.swarm.run(process.agent, messages, {"start": 0} if messages else None, session=session))
    return process.swarm.run(process.agent, messages, {"start": 0} if messages else None, session=session)


@pytest.mark.parametrize(("is_async", "parallel"), [(False, False), (True, True)])
@pytest.mark.parametrize("scene", SCENES)
def test_a_run_that_dies_at_any_step_goes_on(scene: str, is_async: bool, parallel: bool) -> None:
    """M09, D80"""
    with Mortal() as store:
        wanted = outcome(ran(Process(store.world, scene, is_async, parallel), "go", store))
        for kill_at in range(1_000):
            store.world = World()
            store.delete("s")
            world = store.world = World(kill_at)
            try:
                ran(Process(world, scene, is_async, parallel), "go", store)
            except Killed:
                pass
            else:
                break
            finished = Counter(world.ended)
            world.live()
            messages: Any = "go" if store.info("s") is None else []
            known = answered(store)
            assert outcome(ran(Process(world, scene, is_async, parallel), messages, store)) == wanted, kill_at
            repeated = {key for key, times in Counter(world.begun).items() if times > 1}
            assert {key.split("/", 1)[1] for key in repeated if finished[key]} & known == set(), "what is known to have ended ran again"
            asked = world.steps
            assert outcome(ran(Process(world, scene, is_async, parallel), [], store)) == wanted
            assert world.steps - asked <= 2, "a run that has come to its end asks nothing; it saves that it is at its end"
        else:
            raise AssertionError("the run never came to its end")


def answered(store: Mortal) -> set[str]:
    """The calls, by path, whose answers the session holds."""
    from tests.test_state_kill import finished_in

    loaded = store.loaded("s")
    return set() if loaded is None else finished_in(loaded[1])
