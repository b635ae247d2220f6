"""Looking after sessions: listing, search, export, deletion, expiry, the form of the tables."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from swarm import Agent, Swarm
from swarm.errors import ConfigError
from swarm.ext.sessions import SessionStore
from swarm.ext.sessions.database import VERSION_TABLE, VERSIONS
from swarm.ext.sessions.tables import METADATA
from swarm.models.scripted import ScriptedModel, call

AGENT = Agent(name="Clerk", functions=[])
SRC = Path(__file__).parents[3] / "src"


def say(store: SessionStore, id: str, text: str, answer: str = "Fine.", **about: Any) -> None:
    Swarm(ScriptedModel([answer])).run(AGENT, text, session=store.session(id, **about))


def found(store: SessionStore, **wanted: Any) -> list[str]:
    return [info.id for info in store.find(**wanted)]


def test_sessions_are_listed_the_last_one_first(store: SessionStore, clock: Any) -> None:
    for name in ("a", "b", "c"):
        say(store, name, "Hi")
        clock.now += 10
    say(store, "a", "Hi again")
    assert found(store) == ["a", "c", "b"]
    assert found(store, limit=2) == ["a", "c"]
    info = store.info("a")
    assert info is not None
    assert (info.agent, info.status, info.messages, info.user, info.tags) == ("Clerk", "idle", 4, None, ())
    assert info.updated - info.created == timedelta(seconds=30)
    assert json.loads(json.dumps(info.as_dict()))["created"] == "2027-01-15T08:00:00.000+00:00"


def test_sessions_are_found_by_text_user_tag_and_time(store: SessionStore, clock: Any) -> None:
    """D82"""
    began = datetime.fromtimestamp(clock.now, UTC)
    say(store, "a", "Where is my GEPÄCK?", user="ann", tags=["bags", "urgent"])
    clock.now += 100
    say(store, "b", "100% of_it", "It's \\ gone", user="bob", tags=["bags"])
    assert found(store, text="gepäck") == ["a"]
    assert found(store, text="100%") == found(store, text="of_it") == found(store, text="\\ GONE") == ["b"]
    assert found(store, text="0_") == found(store, text="%Hi") == []
    assert found(store, user="ann") == found(store, tag="urgent") == found(store, user="ann", tag="bags") == ["a"]
    assert found(store, tag="bags") == ["b", "a"]
    later = began + timedelta(seconds=50)
    assert (found(store, since=later), found(store, until=later)) == (["b"], ["a"])
    assert found(store, user="ann", text="100%") == []
    with pytest.raises(ValueError, match="no time zone"):
        store.find(since=datetime(2026, 1, 1))
    say(store, "a", "More", tags=["urgent", "new"])
    assert store.info("a").tags == ("bags", "new", "urgent")  # type: ignore[union-attr]


def test_calls_and_content_parts_are_found(store: SessionStore) -> None:
    def look_up(title: str) -> str:
        """Look up."""
        return "nothing"

    parts = [{"role": "user", "content": [{"type": "text", "text": "A Picture"}]}]
    turns = [call("look_up", {"title": "Moby Dick"}), "No."]
    Swarm(ScriptedModel(turns)).run(Agent(functions=[look_up]), parts, session=store.session("s"))
    assert found(store, text="a picture") == found(store, text="moby") == found(store, text="LOOK_UP") == ["s"]


def test_strange_texts_come_back_as_they_were(store: SessionStore) -> None:
    """Half a character, a NUL, and what looks like a mark of ours."""
    texts = ["a\0b", "\ud83d", "sealed:1234:xyz", "'); DROP TABLE swarm_sessions; --", "𝔘\u2028"]
    for text in texts:
        say(store, "s\u00e9 'x", text)
    assert [message["content"] for message in store.messages("s\u00e9 'x")][::2] == texts


@pytest.mark.parametrize("id", ["", "x" * 256, "a\0b", "\ud83d", 7, None])
def test_an_id_must_be_a_text(store: SessionStore, id: Any) -> None:
    with pytest.raises(ValueError, match="a session's tag must be"):
        store.session("s", tags=[id])
    with pytest.raises(ValueError, match="a session's id must be"):
        store.session(id)
    if id is not None:
        with pytest.raises(ValueError, match="a session's user must be a text of 1 to 255 characters"):
            store.session("s", user=id)


def test_a_list_is_no_text_and_a_time_no_text(store: SessionStore) -> None:
    wrong: Any = "2026-01-01"
    with pytest.raises(TypeError, match=r"tags=\['2026-01-01'\]"):
        store.session("s", tags=wrong)
    with pytest.raises(TypeError, match=r"ids=\['2026-01-01'\]"):
        store.export(wrong)
    with pytest.raises(TypeError, match="'2026-01-01' must be a datetime"):
        store.find(since=wrong)


def test_an_export_is_json_lines(store: SessionStore, clock: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("swarm.ext.sessions.store._AT_ONCE", 3)
    for number in range(8):
        clock.now += 1
        say(store, f"s{number}", f"text {number}", user="ann", tags=["t"])
    lines = [json.loads(json.dumps(line)) for line in store.export()]
    assert [line["session"] for line in lines] == [f"s{number}" for number in reversed(range(8))]
    one = next(iter(store.export(["nobody", "s7"])))
    assert list(one) == [
        *("session", "user", "tags", "agent", "status", "created", "updated", "expires"),
        *("context_variables", "messages"),
    ]
    assert one["messages"][0] == {"role": "user", "content": "text 7"}
    assert (one["user"], one["tags"], one["agent"], one["status"]) == ("ann", ["t"], "Clerk", "idle")


def test_what_is_deleted_is_gone(store: SessionStore) -> None:
    say(store, "a", "Hi", tags=["t"])
    say(store, "b", "Hi")
    assert store.delete("a")
    assert not store.delete("a")
    assert not store.session("a").delete()
    assert (store.info("a"), store.messages("a"), found(store), found(store, tag="t")) == (None, [], ["b"], [])
    say(store, "a", "Anew")
    assert [message["content"] for message in store.messages("a")] == ["Anew", "Fine."]
    assert store.info("a").tags == ()  # type: ignore[union-attr]


def test_nothing_of_a_deleted_session_stays_in_the_file(tmp_path: Path) -> None:
    """D82: neither in the database nor in its log."""
    secret = "the pass phrase is xyzzy"
    with SessionStore(tmp_path / "s.db") as store:
        for number in range(20):
            say(store, "a", f"{secret} {number} " + "x" * 3_000)
            say(store, "b", "kept")
        assert any(secret.encode() in path.read_bytes() for path in tmp_path.iterdir())
        store.delete("a")
        assert not any(b"xyzzy" in path.read_bytes() for path in tmp_path.iterdir())
        assert len(store.messages("b")) == 40


def test_sessions_expire(url: str, clock: Any) -> None:
    """D82"""
    with SessionStore(url, expire_after=100, clock=clock) as store:
        say(store, "a", "Hi")
        clock.now += 60
        say(store, "b", "Hi")
        say(store, "a", "Still here")
        clock.now += 99
        assert (found(store), store.purge()) == (["a", "b"], 0)
        clock.now += 1
        assert (found(store), store.info("a"), store.messages("a"), list(store.export())) == ([], None, [], [])
        say(store, "a", "Who are you?")
        assert [message["content"] for message in store.messages("a")] == ["Who are you?", "Fine."]
        assert (store.purge(), store.purge(), found(store)) == (1, 0, ["a"])
    with pytest.raises(ValueError, match="expire_after=0 must be above zero"):
        SessionStore(url, expire_after=0)
    with pytest.raises(ValueError, match="lease=-1"):
        SessionStore(url, lease=-1)


def test_the_migrations_make_the_tables_that_are_used(url: str) -> None:
    with SessionStore(url) as store:
        assert store.find() == []
        with store.database.engine.connect() as connection:
            context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
            assert compare_metadata(context, METADATA) == []
            assert context.get_current_revision() == VERSIONS[-1]
    import swarm.ext.sessions as sessions

    script = ScriptDirectory(str(Path(sessions.__file__).with_name("migrations")))
    assert tuple(revision.revision for revision in reversed(list(script.walk_revisions()))) == VERSIONS


def test_several_processes_may_open_a_new_store_at_once(url: str) -> None:
    code = (
        "import sys; from swarm import *; from swarm.ext.sessions import SessionStore\n"
        "store = SessionStore(sys.argv[1]); Swarm(ScriptedModel(['Fine.'])).run(Agent(), 'Hi', session=store.session(sys.argv[2]))"
    )
    children = [
        subprocess.Popen([sys.executable, "-c", code, url, f"s{number}"], cwd=SRC, stderr=subprocess.PIPE, text=True) for number in range(2)
    ]
    assert [child.communicate()[1] for child in children] == [""] * 2
    with SessionStore(url) as store:
        assert sorted(found(store)) == ["s0", "s1"]


def test_a_store_in_memory(clock: Any) -> None:
    with SessionStore(":memory:") as store, SessionStore("sqlite://") as other:
        say(store, "a", "Hi")
        assert (found(store), found(other)) == (["a"], [])


def test_a_closed_store_opens_what_is_there_by_then(tmp_path: Path) -> None:
    """Such as a new file, where the old one was moved away."""
    store = SessionStore(tmp_path / "s.db")
    say(store, "a", "Hi")
    store.close()
    (tmp_path / "s.db").unlink()
    say(store, "b", "Hi")
    assert found(store) == ["b"]
    store.close()


def test_other_databases_are_refused() -> None:
    with pytest.raises(ConfigError, match="in SQLite or PostgreSQL, not in mysql"):
        SessionStore("mysql://user:secret@host/db")
    with pytest.raises(ConfigError, match="no URL of a database"):
        SessionStore("://nothing")
    with pytest.raises(ConfigError, match="it was given an empty text"):
        SessionStore("")


@pytest.mark.parametrize(
    ("missing", "extra", "url"),
    [("sqlalchemy", "sessions", "s.db"), ("psycopg", "sessions,postgres", "postgresql://user:secret@host/db")],
)
def test_a_missing_extra_is_named(missing: str, extra: str, url: str) -> None:
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from swarm.errors import ConfigError; from swarm.ext.sessions import SessionStore\n"
        f"try: SessionStore({url!r})\nexcept ConfigError as error: print(error)"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=SRC, capture_output=True, text=True, check=True)
    assert f'pip install "openswarm[{extra}]"' in run.stdout


def test_importing_it_loads_no_database() -> None:
    code = "import sys, swarm.ext.sessions; print(sorted({'sqlalchemy', 'alembic', 'psycopg', 'cryptography'} & sys.modules.keys()))"
    run = subprocess.run([sys.executable, "-c", code], cwd=SRC, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_a_process_that_forked_opens_connections_of_its_own(url: str) -> None:
    code = (
        "import os, sys; from swarm import *; from swarm.ext.sessions import SessionStore\n"
        "store = SessionStore(sys.argv[1])\n"
        "def say(name): Swarm(ScriptedModel(['Fine.'])).run(Agent(), 'Hi', session=store.session(name))\n"
        "say('parent')\n"
        "if not (pid := os.fork()): say('child'); os._exit(0)\n"
        "assert os.waitpid(pid, 0)[1] == 0; say('parent'); print(len(store.messages('parent')), len(store.messages('child')))"
    )
    run = subprocess.run([sys.executable, "-c", code, url], cwd=SRC, capture_output=True, text=True)
    assert (run.stdout, run.stderr) == ("4 2\n", "")


def test_saving_a_step_does_not_touch_what_was_said_before(store: SessionStore) -> None:
    """However long the conversation, a step writes its own messages and one row."""
    store.find()
    written: list[int] = []

    def count(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
        if statement.startswith(
            ("INSERT INTO swarm_session_messages", "UPDATE swarm_session_messages", "DELETE FROM swarm_session_messages")
        ):
            written.append(len(parameters) if isinstance(parameters, list) else 1)

    sa.event.listen(store.database.engine, "before_cursor_execute", count)
    history = [{"role": ("user", "assistant")[number % 2], "content": f"text {number}"} for number in range(500)]
    Swarm(ScriptedModel(["Fine."])).run(AGENT, [*history, {"role": "user", "content": "Hi"}], session=store.session("s"))
    assert sum(written) >= 2
    written.clear()
    say(store, "s", "And?")
    assert len(written) == 2
    assert len(store.messages("s")) == 504


def test_a_store_that_nobody_closed_lets_go_of_its_connections(tmp_path: Path) -> None:
    """Python 3.13 warns of a connection to SQLite that is left to the garbage collector, psycopg always does."""
    store = SessionStore(str(tmp_path / "left.db"))
    assert store.find() == []
    engine = store.database.engine
    assert engine.pool.checkedin() == 1  # type: ignore[attr-defined]
    del store
    gc.collect()
    assert engine.pool.checkedin() == 0  # type: ignore[attr-defined]
