"""What goes wrong with a database: each is a clear error, loses nothing that was acknowledged, and is over when its cause is."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from swarm import Agent, Swarm
from swarm.ext.sessions import SessionStore, StoreError
from swarm.ext.sessions.database import VERSION_TABLE
from swarm.ext.sessions.tables import MESSAGES, SESSIONS
from swarm.models.scripted import ScriptedModel, call
from tests.modes import Drive
from tests.postgres import folder, started

AGENT = Agent(name="Clerk")


def say(store: SessionStore, id: str, text: str, answer: str = "Fine.") -> None:
    Swarm(ScriptedModel([answer])).run(AGENT, text, session=store.session(id))


def contents(store: SessionStore, id: str) -> list[str]:
    return [message["content"] for message in store.messages(id)]


def test_a_full_disk(drive: Drive, tmp_path: Path) -> None:
    """D84: the step that did not fit is not kept, what was kept before it is; with room again the run goes on."""
    with SessionStore(tmp_path / "s.db") as store:
        say(store, "s", "Hi")

        def limited(connection: Any, pages: int) -> None:
            connection.execute(f"PRAGMA max_page_count={pages}")

        def fill(context_variables: dict[str, Any]) -> str:
            context_variables["much"] = "x" * 4_000_000
            return "filled"

        agent = Agent(name="Clerk", functions=[fill])
        listen = lambda connection, record: limited(connection, 200)  # noqa: E731
        sa.event.listen(store.database.engine, "connect", listen)
        store.close()
        with pytest.raises(StoreError, match="is full: this step was not kept, all before it is; make room") as failed:
            drive(agent, "Fill it", [call("fill"), "Not said."], session=store.session("s"))
        assert failed.value.response is not None
        assert contents(store, "s")[:3] == ["Hi", "Fine.", "Fill it"]
        sa.event.remove(store.database.engine, "connect", listen)
        store.close()
        response = drive(agent, [], ["Filled at last."], session=store.session("s"))
        assert response.text == "Filled at last."
        assert contents(store, "s")[-2:] == ["filled", "Filled at last."]


def test_a_damaged_file_and_its_backup(drive: Drive, tmp_path: Path) -> None:
    """D84"""
    path, backup = tmp_path / "s.db", tmp_path / "backup.db"
    with SessionStore(path) as store:
        say(store, "s", "Hi")
        store.close()
        shutil.copy(path, backup)
        path.write_bytes(b"This is no database at all. " * 500)
        with pytest.raises(StoreError, match=r"is damaged: put a backup in its place"):
            drive(AGENT, "And?", ["Not said."], session=store.session("s"))
        assert drive.requests == []
        shutil.copy(backup, path)
        assert drive(AGENT, "And?", ["So."], session=store.session("s")).text == "So."
        assert contents(store, "s") == ["Hi", "Fine.", "And?", "So."]


def test_damaged_pages(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with SessionStore(path) as store:
        for number in range(30):
            say(store, f"s{number}", "x" * 2_000)
    raw = bytearray(path.read_bytes())
    raw[4096:] = b"\xff" * len(raw[4096:])
    path.write_bytes(raw)
    with SessionStore(path) as store, pytest.raises(StoreError, match="is damaged"):
        store.messages("s3")


def test_one_damaged_session_leaves_the_others_alone(store: SessionStore) -> None:
    say(store, "a", "of a")
    say(store, "b", "of b")
    say(store, "c", "of c")
    with store.database.writing() as connection:
        connection.execute(sa.update(MESSAGES).where(MESSAGES.c.session_id == "a", MESSAGES.c.position == 1).values(body="{"))
        connection.execute(sa.delete(MESSAGES).where(MESSAGES.c.session_id == "b", MESSAGES.c.position == 0))
        connection.execute(sa.update(SESSIONS).where(SESSIONS.c.id == "c").values(state="[]"))
    with pytest.raises(StoreError, match="message 1 of the session 'a' is damaged"):
        say(store, "a", "Hi")
    with pytest.raises(StoreError, match="the session 'b' is damaged: it should have 2 messages"):
        say(store, "b", "Hi")
    with pytest.raises(StoreError, match="the state of the session 'c' is damaged"):
        say(store, "c", "Hi")
    say(store, "d", "of d")
    assert contents(store, "d") == ["of d", "Fine."]
    assert store.delete("a")
    say(store, "a", "Anew")


def test_a_store_of_a_newer_release(url: str, drive: Drive) -> None:
    """D84"""
    with SessionStore(url) as store:
        say(store, "s", "Hi")
        with store.database.writing() as connection:
            connection.execute(sa.text(f"UPDATE {VERSION_TABLE} SET version_num = '0999'"))
    with SessionStore(url) as store:
        with pytest.raises(StoreError, match=r"was made by a newer release: it has form 0999, this release knows .* install that release"):
            drive(AGENT, "Hi", [], session=store.session("s"))
        with store.database.engine.connect() as connection:
            assert connection.execute(sa.select(sa.func.count()).select_from(MESSAGES)).scalar() == 2
        with store.database.engine.begin() as connection:
            connection.execute(sa.text(f"UPDATE {VERSION_TABLE} SET version_num = '0001'"))
        assert contents(store, "s") == ["Hi", "Fine."]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with SessionStore(tmp_path / "no" / "s.db") as store, pytest.raises(StoreError, match="the folder must exist and be writable"):
        say(store, "s", "Hi")


def test_another_program_that_keeps_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("swarm.ext.sessions.database.BUSY_SECONDS", 0.5)
    with SessionStore(tmp_path / "s.db") as store, SessionStore(tmp_path / "s.db") as other:
        say(store, "s", "Hi")
        with other.database.writing(), pytest.raises(StoreError, match=r"was kept by another program for more than 0.5 s; try again"):
            say(store, "s", "And?")
        say(store, "s", "Now?")
        assert contents(store, "s") == ["Hi", "Fine.", "Now?", "Fine."]


class Falling:
    """A server that may be stopped and started again."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.start()

    def start(self) -> None:
        self.server = started(self.place)

    def stop(self) -> None:
        self.server.cleanup()


@pytest.fixture(scope="module")
def falling() -> Iterator[Falling]:
    with folder() as place:
        server = Falling(place)
        yield server
        server.stop()


def test_a_database_that_goes_away_and_comes_back(drive: Drive, falling: Falling) -> None:
    """D84: it falls while a function runs, and is there again for the next run, with all that was kept."""

    def fall(n: int) -> str:
        falling.stop()
        return "fallen"

    agent = Agent(name="Clerk", functions=[fall])
    with SessionStore(falling.server.get_uri(), lease=1000) as store:
        store.delete("s")
        say(store, "s", "Hi")
        with pytest.raises(StoreError, match="cannot be reached or used: this step was not kept, all before it is") as failed:
            drive(agent, "Fall", [call("fall", {"n": 1}), "Not said."], session=store.session("s"))
        assert failed.value.response is not None
        with pytest.raises(StoreError, match="cannot be reached"):
            store.find()
        falling.start()
        assert contents(store, "s") == ["Hi", "Fine.", "Fall", None]
        assert drive(agent, "Are you there?", ["I am."], session=store.session("s")).text == "I am."
        assert "not known" in contents(store, "s")[4]
