"""`swarm sessions`: look after the conversations that a store keeps."""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from ..ext.sessions import SessionInfo, SessionStore
from ..repl.visible import visible
from .failure import Failure, reporting

Store: TypeAlias = Annotated[
    str,
    typer.Option("--store", metavar="URL", envvar="SWARM_SESSIONS", help="The store: an SQLite file, or postgresql://..."),
]
Id: TypeAlias = Annotated[str, typer.Argument(metavar="ID", help="The id of a session.")]
Ids: TypeAlias = Annotated[list[str], typer.Argument(metavar="ID...", help="Ids of sessions.")]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON, one line a session.")]


def open_store(url: str, may_be_new: bool = False) -> SessionStore:
    """The store that options and environment name, with the keys of the environment.

    Args:
        url: `--store`.
        may_be_new: whether a file that is not there is made.

    Raises:
        Failure: there is no such file.
        ConfigError: another kind of database, no key, or an extra that is missing.
    """
    if "://" not in url and not may_be_new and not Path(url).exists():
        raise Failure(f"there is no session store {url!r}; say where it is with --store, or in SWARM_SESSIONS", 2)
    return SessionStore(url, keys=keys_at_hand())


def keys_at_hand() -> list[str]:
    """The keys of encrypted stores in SWARM_SESSION_KEYS, the newest first, with commas between."""
    return [key.strip() for key in os.environ.get("SWARM_SESSION_KEYS", "").split(",") if key.strip()]


def list_sessions(
    store: Store = "sessions.db",
    text: Annotated[str | None, typer.Option("--text", metavar="TEXT", help="Only those in which this was said.")] = None,
    user: Annotated[str | None, typer.Option("--user", metavar="NAME", help="Only those of a user.")] = None,
    tag: Annotated[str | None, typer.Option("--tag", metavar="TAG", help="Only those with a tag.")] = None,
    since: Annotated[datetime | None, typer.Option("--since", help="Only those saved since then, in UTC.")] = None,
    until: Annotated[datetime | None, typer.Option("--until", help="Only those saved before then, in UTC.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, metavar="N", help="How many at most.")] = 100,
    as_json: Json = False,
) -> None:
    """List sessions, the one last saved first.

    \b
    Examples:
      swarm sessions list
      swarm sessions list --store postgresql://localhost/shop --user ann --text refund
      swarm sessions list --since 2027-01-31 --json
    """
    with reporting(), open_store(store) as opened:
        found = opened.find(text=text, user=user, tag=tag, since=_utc(since), until=_utc(until), limit=limit)
        for info in found:
            print(json.dumps(info.as_dict(), ensure_ascii=False) if as_json else _line(info))
        if not found and not as_json:
            print("no sessions", file=sys.stderr)


def show(id: Id, store: Store = "sessions.db") -> None:
    """Show what was said in a session.

    \b
    Examples:
      swarm sessions show user-42
      swarm sessions show user-42 --store postgresql://localhost/shop
    """
    with reporting(), open_store(store) as opened:
        info = opened.info(id)
        if info is None:
            raise Failure(f"there is no session {id!r}; `swarm sessions list` tells which there are")
        print(_line(info))
        for message in opened.messages(id):
            for line in _told(message):
                print(visible(line))


def export(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID...]", help="Ids of sessions; all if none is given.")] = None,
    store: Store = "sessions.db",
) -> None:
    """Print sessions as JSON lines, one a session, with their messages.

    \b
    Examples:
      swarm sessions export > sessions.jsonl
      swarm sessions export user-42 user-43
    """
    with reporting(), open_store(store) as opened:
        missing = dict.fromkeys(ids or ())
        for line in opened.export(ids or None):
            missing.pop(line["session"], None)
            print(json.dumps(line, ensure_ascii=False))
        if missing:
            raise Failure(f"there is no session {', '.join(map(repr, missing))}; the others are exported")


def delete(ids: Ids, store: Store = "sessions.db") -> None:
    """Delete sessions with all that was said in them.

    \b
    Examples:
      swarm sessions delete user-42
      swarm sessions delete user-42 user-43 --store postgresql://localhost/shop
    """
    with reporting(), open_store(store) as opened:
        missing = [id for id in ids if not opened.delete(id)]
        if missing:
            raise Failure(f"there is no session {', '.join(map(repr, missing))}; the others are deleted")


def about() -> None:
    """Look after the conversations that a store keeps.

    \b
    Examples:
      swarm sessions list --user ann
      swarm sessions show user-42
      swarm sessions export > sessions.jsonl
      swarm sessions delete user-42

    The store is `sessions.db`, unless --store or SWARM_SESSIONS says otherwise. The keys of an encrypted one stand in SWARM_SESSION_KEYS.
    """


def sessions_app() -> typer.Typer:
    """The commands of `swarm sessions`."""
    app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
    app.callback()(about)
    app.command("list")(list_sessions)
    for command in (show, export, delete):
        app.command()(command)
    return app


def _utc(moment: datetime | None) -> datetime | None:
    return None if moment is None else moment.replace(tzinfo=UTC)


def _line(info: SessionInfo) -> str:
    about = [f"{info.updated:%Y-%m-%d %H:%M:%S}", visible(info.id), info.status, visible(info.agent), f"{info.messages} messages"]
    about += [f"user {visible(info.user)}"] if info.user is not None else []
    about += [f"tags {visible(', '.join(info.tags))}"] if info.tags else []
    return "  ".join(about)


def _told(message: dict[str, Any]) -> list[str]:
    who = message.get("sender") or message.get("tool_name") or message["role"]
    content: Any = message.get("content")
    lines = [f"{who}: {content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)}"] if content else []
    for call in message.get("tool_calls") or ():
        function: dict[str, Any] = call.get("function") or {}
        lines.append(f"{who}: {function.get('name')}({function.get('arguments')})")
    return lines
