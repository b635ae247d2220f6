"""The conformance suite for stores of sessions passes for what is right, and each of its rules fails for something that breaks it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from swarm import Agent, State, load_state
from swarm.ext.sessions import BaseSession, SessionStore, Status
from swarm.inspection import read_graph
from swarm.testing.conformance import SessionConformance


class TestSQLite(SessionConformance):
    @pytest.fixture(autouse=True)
    def opened(self, tmp_path: Path) -> Any:
        self.stores: list[SessionStore] = []
        self.folder = tmp_path
        yield
        for store in self.stores:
            store.close()

    def make(self) -> SessionStore:
        self.stores.append(SessionStore(self.folder / f"{len(self.stores)}.db"))
        return self.stores[-1]


class Store:
    """A store in a dict, as somebody else might write one; what is wrong about it is added below."""

    hold: type[Hold]

    def __init__(self) -> None:
        self.saved: dict[str, tuple[int, str, Status]] = {}

    def session(self, id: str) -> Session:
        return Session(self, id)


class Session(BaseSession):
    def __init__(self, store: Store, id: str) -> None:
        self.store = store
        self.id = id

    def begin(self, agent: Agent) -> Any:
        return self.store.hold(self.store, self.id, agent)


class Hold:
    def __init__(self, store: Store, id: str, agent: Agent) -> None:
        self.store, self.id, self.last = store, id, -1
        self.version, text, self.status = store.saved.get(id, (0, "", "idle"))
        agents = read_graph(agent).agents
        self.state = load_state(text, agents) if text else None

    def save(self, number: int, state: State, first: int, status: Status) -> None:
        if number < self.last:
            return
        version, text, _ = self.store.saved.get(self.id, (0, "", "idle"))
        if version != self.version:
            raise RuntimeError("somebody else was faster")
        before = json.loads(text)["messages"][:first] if text else []
        self.store.saved[self.id] = (version + 1, json.dumps({**state, "messages": [*before, *state["messages"]]}), status)
        self.version, self.last = version + 1, number

    def release(self) -> None:
        pass


class AsyncHold(Hold):
    async def save(self, *step: Any) -> None:  # type: ignore[override]
        super().save(*step)


Store.hold = Hold


class TestDict(SessionConformance):
    def make(self) -> Store:
        return Store()


class TestAsync(SessionConformance):
    def make(self) -> Store:
        store = Store()
        store.hold = AsyncHold
        return store


class NotEmpty(Hold):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        if self.state is None:
            self.status = "running"


class Forgetful(Hold):
    def save(self, number: int, state: State, first: int, status: Status) -> None:
        super().save(number, State({**state, "context_variables": {}}, state.agents), first, status)


class OneForAll(Hold):
    def __init__(self, store: Store, id: str, agent: Agent) -> None:
        super().__init__(store, "s", agent)


class Appending(Hold):
    def save(self, number: int, state: State, first: int, status: Status) -> None:
        super().save(number, state, 1_000, status)


class AnyOrder(Hold):
    def save(self, number: int, state: State, first: int, status: Status) -> None:
        self.last = -1
        super().save(number, state, first, status)


class LastWins(Hold):
    def save(self, number: int, state: State, first: int, status: Status) -> None:
        self.version = self.store.saved.get(self.id, (0, "", "idle"))[0]
        super().save(number, state, first, status)


class Locked(Hold):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        if self.status == "running":
            raise RuntimeError("another run is at work")


class NoStatus(Hold):
    def save(self, number: int, state: State, first: int, status: Status) -> None:
        super().save(number, state, first, "idle")


RULES: dict[Callable[[SessionConformance], None], type[Hold]] = {
    SessionConformance.test_a_new_session_is_empty: NotEmpty,
    SessionConformance.test_a_conversation_goes_on_in_every_mode: Forgetful,
    SessionConformance.test_sessions_do_not_mix: OneForAll,
    SessionConformance.test_a_step_replaces_what_came_after_its_first_messages: Appending,
    SessionConformance.test_an_earlier_step_is_left_out: AnyOrder,
    SessionConformance.test_the_second_of_two_writers_is_refused: LastWins,
    SessionConformance.test_a_run_that_was_left_keeps_nobody_waiting: Locked,
    SessionConformance.test_a_run_that_waits_is_decided_later: NoStatus,
}


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_fails_for_what_breaks_it(rule: Callable[[SessionConformance], None]) -> None:
    class Suite(SessionConformance):
        def make(self) -> Store:
            store = Store()
            store.hold = RULES[rule]
            return store

    with pytest.raises((AssertionError, RuntimeError)):
        rule(Suite())


def test_every_rule_has_something_that_breaks_it() -> None:
    assert {rule.__name__ for rule in RULES} == {name for name in vars(SessionConformance) if name.startswith("test_")}


def test_a_suite_says_what_it_needs() -> None:
    with pytest.raises(NotImplementedError, match="make"):
        SessionConformance().make()
    with pytest.raises(NotImplementedError, match="begin"):
        BaseSession().begin(Agent())
