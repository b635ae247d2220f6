"""A store of sessions in SQLite or PostgreSQL. See docs/sessions.md."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ...errors import ConfigError
from ...legal import is_utf8
from ...types import Agent
from .errors import SessionError, StoreError
from .records import SessionInfo, searched
from .sealing import Sealer
from .stored import StoredSession, message_place, read_json, state_place

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from .database import Database

_LONGEST = 255
_AT_ONCE = 100


class SessionStore:
    """Keeps conversations: their messages, active agent and context variables, saved after every step of a run.

    One store serves any number of threads; several processes may use one database. Its methods block: under asyncio, call those that look
    after sessions with `asyncio.to_thread`. Runs take care of that by themselves.

    Args:
        url: the path of an SQLite file, made if it is not there; or `postgresql://user:password@host/database`. ":memory:" forgets all.
        keys: encrypt contents, with the first of these keys (`new_key()`); the others open what was encrypted with them.
        expire_after: seconds after its last step at which a session is gone, or None.
        lease: seconds for which a run that saves no step keeps others from its session. Of a run that is known to be dead, one in a
            process of this machine that has ended, nobody waits for it.
        clock: gives the time, in seconds since 1970.

    Raises:
        ConfigError: another kind of database, no key, or an extra that is missing.
    """

    def __init__(
        self,
        url: str | Path = "sessions.db",
        *,
        keys: Sequence[str] = (),
        expire_after: float | None = None,
        lease: float = 60.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        try:
            from .database import Database
        except ModuleNotFoundError as error:
            raise ConfigError(f'sessions need {error.name}, which is not installed: pip install "openswarm[sessions]"') from None
        for name, value in (("expire_after", expire_after), ("lease", lease)):
            if value is not None and not value > 0:
                raise ValueError(f"{name}={value!r} must be above zero seconds")
        self.sealer = Sealer(keys)
        self.database: Database = Database(url)
        self.expire_after = expire_after
        self.lease = lease
        self.clock = clock

    def session(self, id: str, *, agents: Iterable[Agent] = (), user: str | None = None, tags: Iterable[str] = ()) -> StoredSession:
        """A session, for `run(session=)`. Nothing is read or written before a run does.

        Args:
            id: its id: any text of up to 255 characters. Whoever knows it can go on with the session: take it from nobody, or say `user`.
            agents: agents that may be active in it. Those that can be found from the agent that a run begins with need not be given.
            user: whose it is. One that was saved for another user is refused.
            tags: tags that it is to have.

        Raises:
            ValueError: an id, user or tag that is empty, too long or no text, or that no database can hold.
            TypeError: `tags` is a single text.
        """
        tags = _listed("tags", tags)
        given = [("id", id), *(("tag", tag) for tag in tags), *([] if user is None else [("user", user)])]
        for name, value in given:
            if not _is_name(value):
                raise ValueError(f"a session's {name} must be a text of 1 to {_LONGEST} characters, not {value!r}")
        return StoredSession(self, id, agents, user, tags)

    def find(
        self,
        *,
        text: str | None = None,
        user: str | None = None,
        tag: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 100,
    ) -> list[SessionInfo]:
        """The sessions for which all that is given holds, the one last saved first.

        Args:
            text: stands in one of the messages, whatever its case.
            user, tag: whose it is; one of its tags.
            since, until: when it was last saved, `until` not included; with a time zone.
            limit: how many at most.

        Raises:
            SessionError: a text, in a store that is encrypted.
            TypeError: a time that is no datetime.
            ValueError: a time without a zone.
            StoreError: the store cannot be read.
        """
        from . import rows

        if text is not None and self.sealer.seals:
            raise SessionError("what is said in sessions is encrypted, so it cannot be searched; user, tag and time can")
        for moment in (since, until):
            if moment is not None and not isinstance(moment, datetime):  # type: ignore[redundant-expr]  # callers without a type checker
                raise TypeError(f"{moment!r} must be a datetime with a time zone")
            if moment is not None and moment.tzinfo is None:
                raise ValueError(f"{moment!r} has no time zone: datetime.now(timezone.utc) has one")
        with self.database.reading() as connection:
            return rows.infos(connection, self.clock(), text=text, user=user, tag=tag, since=since, until=until, limit=limit)

    def info(self, id: str) -> SessionInfo | None:
        """What is known of a session without its contents, or None if there is none."""
        from . import rows

        with self.database.reading() as connection:
            return next(iter(rows.infos(connection, self.clock(), ids=[id])), None)

    def messages(self, id: str) -> list[dict[str, Any]]:
        """Every message of a session; [] if there is none."""
        loaded = self.loaded(id)
        return [] if loaded is None else loaded[1]["messages"]

    def export(self, ids: Iterable[str] | None = None) -> Iterator[dict[str, Any]]:
        """Sessions as plain JSON, one after another, for a file of JSON lines: `session` (the id), `user`, `tags`, `agent`, `status`,
        `created`, `updated`, `expires`, `context_variables` and `messages`.

        Args:
            ids: of those that are wanted; None: all. One that does not exist is left out.

        Raises:
            TypeError: `ids` is a single text.
        """
        return self._exported(None if ids is None else _listed("ids", ids))

    def _exported(self, ids: tuple[str, ...] | None) -> Iterator[dict[str, Any]]:
        for info in self._every(ids):
            loaded = self.loaded(info.id)
            if loaded is not None:
                told = {name: value for name, value in info.as_dict().items() if name not in ("id", "messages")}
                data = loaded[1]
                yield {"session": info.id, **told, "context_variables": data["context_variables"], "messages": data["messages"]}

    def delete(self, id: str) -> bool:
        """Delete a session with all that was said in it. A run that is at work on it ends with a SessionConflict.

        In SQLite the contents are overwritten, in the file and its log. PostgreSQL keeps them in its files until it vacuums, and in what it
        archives; backups are yours to look after.

        Returns:
            whether there was one.
        """
        return self._remove(lambda connection: [id]) > 0

    def purge(self) -> int:
        """Delete the sessions that have expired, which nobody finds any more. Returns how many there were."""
        from . import rows

        return self._remove(lambda connection: rows.expired(connection, self.clock()))

    def reencrypt(self) -> int:
        """Encrypt everything with the first key, so that the others may be thrown away. Returns the number of sessions."""
        from . import rows

        count = 0
        for info in self._every(None):
            with self.database.writing() as connection:
                row = rows.session(connection, info.id, self.clock(), lock=True)
                if row is None:
                    continue
                state = self.sealer.opened(row.state, state_place(info.id))
                messages: list[dict[str, Any]] = []
                for position, body in rows.bodies(connection, info.id):
                    place = message_place(info.id, position)
                    plain = self.sealer.opened(body, place)
                    text = None if self.sealer.seals else searched(read_json(plain, place))
                    messages.append({"of": info.id, "at": position, "body": self.sealer.seal(plain, place), "text": text})
                rows.reseal(connection, info.id, self.sealer.seal(state, state_place(info.id)), messages)
                count += 1
        self.database.scrub()
        return count

    def close(self) -> None:
        """Close the connections. The store may be used again."""
        self.database.close()

    def __enter__(self) -> SessionStore:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def loaded(self, id: str) -> tuple[Any, dict[str, Any]] | None:
        """The row of a session, and its state with its messages; None if there is none. For sessions.

        Raises:
            StoreError: the store cannot be read, or what is kept there is damaged or encrypted with another key.
        """
        from . import rows

        with self.database.reading() as connection:
            row = rows.session(connection, id, self.clock())
            bodies = rows.bodies(connection, id) if row is not None else []
        if row is None:
            return None
        if [position for position, _ in bodies] != list(range(row.messages)):
            raise StoreError(
                f"the session {id!r} is damaged: it should have {row.messages} messages; put a backup in its place, or delete it"
            )
        place = state_place(id)
        data = read_json(self.sealer.opened(row.state, place), place)
        data["messages"] = [
            read_json(self.sealer.opened(body, message_place(id, position)), message_place(id, position)) for position, body in bodies
        ]
        return row, data

    def _every(self, ids: Iterable[str] | None) -> Iterator[SessionInfo]:
        from . import rows

        with self.database.reading() as connection:
            wanted = rows.ids(connection, self.clock()) if ids is None else list(ids)
        for first in range(0, len(wanted), _AT_ONCE):
            with self.database.reading() as connection:
                found = {info.id: info for info in rows.infos(connection, self.clock(), ids=wanted[first : first + _AT_ONCE])}
            yield from (found[id] for id in wanted[first : first + _AT_ONCE] if id in found)

    def _remove(self, wanted: Callable[[Connection], list[str]]) -> int:
        from . import rows

        count = 0
        with self.database.writing() as connection:
            ids = wanted(connection)
            for first in range(0, len(ids), _AT_ONCE):
                count += rows.remove(connection, ids[first : first + _AT_ONCE])
        if count:
            self.database.scrub()
        return count


def _listed(name: str, values: Iterable[str]) -> tuple[str, ...]:
    """A single text would be taken letter by letter."""
    if isinstance(values, str):
        raise TypeError(f"{name}={values!r} must be a list: {name}=[{values!r}]")
    return tuple(values)


def _is_name(value: Any) -> bool:
    """Whether both databases can hold it: PostgreSQL takes no NUL, and neither takes half a character."""
    return isinstance(value, str) and 0 < len(value) <= _LONGEST and "\0" not in value and is_utf8(value)
