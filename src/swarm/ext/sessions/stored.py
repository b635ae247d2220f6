"""One session in a store, and a run's hold of it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from threading import Lock
from typing import TYPE_CHECKING, Any

from ...state import State
from ...types import Agent
from . import holders
from .errors import SessionConflict, SessionError, StoreError
from .keeping import BaseSession, Status
from .records import kept_text, searched

if TYPE_CHECKING:
    from .store import SessionStore


class StoredSession(BaseSession):
    """One conversation in a store; made by `SessionStore.session`, for `run(session=)`. It may be used for any number of runs.

    Attributes:
        id: its id.
        user: whose it is, or None if nobody said.
        tags: the tags it is to have.
        store: where it is kept.
    """

    def __init__(self, store: SessionStore, id: str, agents: Iterable[Agent], user: str | None, tags: Iterable[str]) -> None:
        self.id = id
        self.user = user
        self.tags = tuple(tags)
        self.store = store
        self._agents = list(agents)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r})"

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Every message, [] if there is none."""
        return self.store.messages(self.id)

    def delete(self) -> bool:
        """Delete it, see `SessionStore.delete`."""
        return self.store.delete(self.id)

    def begin(self, agent: Agent) -> StoredHold:
        """A hold of it for one run.

        Raises:
            SessionConflict: another run is at work on it.
            SessionError: it belongs to another user, or stands with an agent that is not known.
            StoreError: it cannot be read.
        """
        store = self.store
        loaded = store.loaded(self.id)
        if loaded is None:
            return StoredHold(store, self, None, None)
        row, data = loaded
        if self.user is not None and row.user_id is not None and row.user_id != self.user:
            raise SessionError(f"the session {self.id!r} belongs to another user than {self.user!r}")
        left = (row.held_until or 0.0) - store.clock()
        if row.status == "running" and left > 0 and holders.may_live(row.holder):
            raise SessionConflict(
                f"another run is at work on the session {self.id!r}: wait until it is over. If it was cut off, the session is free "
                f"in {left:.0f} s at the latest (SessionStore(lease=...))"
            )
        return StoredHold(store, self, row, State(data, self._named(data, agent)))

    def _named(self, data: dict[str, Any], agent: Agent) -> dict[str, Agent]:
        """The agents that a saved run may name. Functions are read for further ones only if that is needed."""
        known = list(dict.fromkeys([agent, *self._agents]))
        wanted = _names_in(data)
        if not wanted <= {one.name for one in known}:
            from ...inspection import read_graph

            known = list(dict.fromkeys([*known, *read_graph(*known).agents]))
        by_name: dict[str, Agent] = {}
        for one in known:
            if by_name.setdefault(one.name, one) is not one and one.name in wanted:
                raise SessionError(f"two agents are called {one.name!r}, and the session {self.id!r} names one of them: rename one")
        if data["agent"] not in by_name:
            raise SessionError(
                f"the session {self.id!r} stands with the agent {data['agent']!r}, which cannot be found from {agent.name!r}: "
                f"give it in store.session({self.id!r}, agents=[...])"
            )
        return by_name


class StoredHold:
    """One run's hold of a session, see `keeping.Hold`.

    Args:
        store: where it is kept.
        session: what it is a hold of.
        row: the session as it was read, or None.
        state: the same as a State, or None.
    """

    def __init__(self, store: SessionStore, session: StoredSession, row: Any, state: State | None) -> None:
        self.state = state
        self.status: Status = row.status if row is not None else "idle"
        self._store = store
        self._session = session
        self._version: int = row.version if row is not None else 0
        self._created: float = row.created if row is not None else store.clock()
        self._count: int = row.messages if row is not None else 0
        self._name = holders.take()
        self._lock = Lock()
        self._last = -1
        self._written: Any = None

    def save(self, number: int, state: State, first: int, status: Status) -> None:
        """Keep a step.

        Raises:
            SessionConflict: somebody else has changed or deleted the session; nothing of this step is kept.
            StoreError: it cannot be written.
        """
        data = {name: value for name, value in state.items() if name != "messages"}
        with self._lock:
            if number < self._last:
                return
            text, messages = kept_text(data), state["messages"]
            if messages or first != self._count or self._written != (text, status):
                self._write(text, state["agent"], messages, first, status)
                self._version, self._count, self._written = self._version + 1, first + len(messages), (text, status)
            self._last = number

    def _write(self, text: str, agent: str, messages: list[dict[str, Any]], first: int, status: Status) -> None:
        from . import rows

        store, session = self._store, self._session
        now = store.clock()
        values: dict[str, Any] = {
            "status": status,
            "agent": agent,
            "version": self._version + 1,
            "messages": first + len(messages),
            "holder": self._name if status == "running" else None,
            "held_until": now + store.lease if status == "running" else None,
            "updated": now,
            "expires": None if store.expire_after is None else now + store.expire_after,
            "state": store.sealer.seal(text, state_place(session.id)),
        }
        if session.user is not None:
            values["user_id"] = session.user
        added = [self._row(at, message, now) for at, message in enumerate(messages, first)]
        with store.database.writing() as connection:
            if self._version == 0:
                is_mine = rows.add_session(connection, values | {"id": session.id, "created": self._created}, now)
            else:
                is_mine = rows.change_session(connection, session.id, self._version, self._created, values)
            if not is_mine:
                raise SessionConflict(
                    f"the session {session.id!r} was saved by another run, or deleted, since this one read it, so this step was not "
                    "kept; run again, from what is there now"
                )
            rows.replace_messages(connection, session.id, first, first == self._count, added)
            if session.tags and self._written is None:
                rows.add_tags(connection, session.id, session.tags)

    def _row(self, at: int, message: dict[str, Any], now: float) -> dict[str, Any]:
        id, sealer = self._session.id, self._store.sealer
        body = sealer.seal(kept_text(message), message_place(id, at))
        text = None if sealer.seals else searched(message)
        return {"session_id": id, "position": at, "created": now, "body": body, "text": text}

    def release(self) -> None:
        """The run is over, or was left: another may take the session at once."""
        holders.drop(self._name)


def state_place(id: str) -> str:
    """What the text of a session's state is bound to when it is sealed, and what errors call it."""
    return f"the state of the session {id!r}"


def message_place(id: str, position: int) -> str:
    """The same for a message."""
    return f"message {position} of the session {id!r}"


def read_json(text: str, place: str) -> dict[str, Any]:
    """What was kept at a place.

    Raises:
        StoreError: it is no JSON object.
    """
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise StoreError(f"{place} is damaged: it is not the JSON that was kept; put a backup in its place, or delete the session")
    return value  # type: ignore[reportUnknownVariableType]


def _names_in(data: dict[str, Any]) -> set[str]:
    names = {data["agent"], *data["spent_tool_choice"], *(held["agent"] for held in data["held"].values() if held["agent"])}
    if data["handoff"]:
        names.add(data["handoff"]["agent"])
    return names.union(*(_names_in(inner) for inner in data["nested"].values()))
