"""What is asked of the database about sessions, in SQLAlchemy's words; nothing here knows of runs or keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from .records import SessionInfo, folded, info_of
from .tables import MESSAGES, SESSIONS, TAGS

_INFO = [column for column in SESSIONS.c if column.name != "state"]
_OWNED = ((MESSAGES, MESSAGES.c.session_id), (TAGS, TAGS.c.session_id), (SESSIONS, SESSIONS.c.id))


def session(connection: sa.Connection, id: str, now: float, lock: bool = False) -> Any:
    """The row of a session, or None if there is none, or it has expired; `lock` keeps others from changing it in this transaction."""
    wanted = sa.select(SESSIONS).where(SESSIONS.c.id == id, _lasts(now))
    return connection.execute(wanted.with_for_update() if lock else wanted).one_or_none()


def bodies(connection: sa.Connection, id: str) -> list[Any]:
    """Position and body of each message of a session, in order."""
    wanted = sa.select(MESSAGES.c.position, MESSAGES.c.body).where(MESSAGES.c.session_id == id).order_by(MESSAGES.c.position)
    return list(connection.execute(wanted))


def add_session(connection: sa.Connection, values: dict[str, Any], now: float) -> bool:
    """Put a new session there, in the place of one that has expired. Returns False if there is one."""
    expired = connection.execute(sa.select(SESSIONS.c.id).where(SESSIONS.c.id == values["id"], ~_lasts(now))).one_or_none()
    if expired is not None:
        remove(connection, [values["id"]])
    try:
        with connection.begin_nested():
            connection.execute(sa.insert(SESSIONS).values(values))
    except IntegrityError:
        return False
    return True


def change_session(connection: sa.Connection, id: str, version: int, created: float, values: dict[str, Any]) -> bool:
    """Change a session that still has that version. Returns False if it has another, or is not there."""
    same = (SESSIONS.c.id == id, SESSIONS.c.version == version, SESSIONS.c.created == created)
    return connection.execute(sa.update(SESSIONS).where(*same).values(values)).rowcount == 1


def replace_messages(connection: sa.Connection, id: str, first: int, is_end: bool, rows: list[dict[str, Any]]) -> None:
    """Put messages behind the first ones of a session; `is_end`: nothing stood there."""
    if not is_end:
        connection.execute(sa.delete(MESSAGES).where(MESSAGES.c.session_id == id, MESSAGES.c.position >= first))
    if rows:
        connection.execute(sa.insert(MESSAGES), rows)


def add_tags(connection: sa.Connection, id: str, tags: Iterable[str]) -> None:
    """Put tags on a session that it may have already."""
    there = set(connection.execute(sa.select(TAGS.c.tag).where(TAGS.c.session_id == id)).scalars())
    if new := [{"session_id": id, "tag": tag} for tag in dict.fromkeys(tags) if tag not in there]:
        connection.execute(sa.insert(TAGS), new)


def infos(
    connection: sa.Connection,
    now: float,
    *,
    ids: Sequence[str] | None = None,
    text: str | None = None,
    user: str | None = None,
    tag: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: int | None = None,
) -> list[SessionInfo]:
    """The sessions for which all that is given holds, the one last saved first."""
    wanted: sa.Select[Any] = sa.select(*_INFO).where(_lasts(now))
    if ids is not None:
        wanted = wanted.where(SESSIONS.c.id.in_(ids))
    if user is not None:
        wanted = wanted.where(SESSIONS.c.user_id == user)
    if tag is not None:
        wanted = wanted.where(SESSIONS.c.id.in_(sa.select(TAGS.c.session_id).where(TAGS.c.tag == tag)))
    if text is not None:
        found = MESSAGES.c.text.contains(folded(text), autoescape=True)
        wanted = wanted.where(SESSIONS.c.id.in_(sa.select(MESSAGES.c.session_id).where(found)))
    if since is not None:
        wanted = wanted.where(SESSIONS.c.updated >= since.timestamp())
    if until is not None:
        wanted = wanted.where(SESSIONS.c.updated < until.timestamp())
    rows = list(connection.execute(wanted.order_by(SESSIONS.c.updated.desc(), SESSIONS.c.id).limit(limit)))
    tags: dict[str, list[str]] = {row.id: [] for row in rows}
    for one in connection.execute(sa.select(TAGS).where(TAGS.c.session_id.in_(tags)).order_by(TAGS.c.tag)):
        tags[one.session_id].append(one.tag)
    return [info_of(row, tuple(tags[row.id])) for row in rows]


def ids(connection: sa.Connection, now: float) -> list[str]:
    """The ids of all sessions, the one last saved first."""
    return list(connection.execute(sa.select(SESSIONS.c.id).where(_lasts(now)).order_by(SESSIONS.c.updated.desc())).scalars())


def expired(connection: sa.Connection, now: float) -> list[str]:
    """The ids of sessions that have expired."""
    return list(connection.execute(sa.select(SESSIONS.c.id).where(~_lasts(now))).scalars())


def remove(connection: sa.Connection, ids: Sequence[str]) -> int:
    """Delete sessions with all that is theirs. Returns how many there were."""
    count = 0
    for table, column in _OWNED:
        count = connection.execute(sa.delete(table).where(column.in_(ids))).rowcount
    return count


def reseal(connection: sa.Connection, id: str, state: str, messages: list[dict[str, Any]]) -> None:
    """Put other texts in the places of those that are kept."""
    connection.execute(sa.update(SESSIONS).where(SESSIONS.c.id == id).values(state=state))
    if messages:
        place = (MESSAGES.c.session_id == sa.bindparam("of"), MESSAGES.c.position == sa.bindparam("at"))
        connection.execute(sa.update(MESSAGES).where(*place).values(body=sa.bindparam("body"), text=sa.bindparam("text")), messages)


def _lasts(now: float) -> sa.ColumnElement[bool]:
    return sa.or_(SESSIONS.c.expires.is_(None), SESSIONS.c.expires > now)
