"""Contents encrypted with a key: what can be read without it, how keys change, what a change of the database shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from swarm import Agent, Swarm
from swarm.errors import ConfigError
from swarm.ext.sessions import SessionError, SessionStore, StoreError, new_key
from swarm.ext.sessions.tables import MESSAGES, SESSIONS
from swarm.models.scripted import ScriptedModel
from tests.modes import Drive

AGENT = Agent(name="Clerk")


def say(store: SessionStore, id: str, text: str, **about: Any) -> None:
    Swarm(ScriptedModel(["It is noted."])).run(AGENT, text, {"number": "4711"}, session=store.session(id, **about))


def contents(store: SessionStore, id: str) -> list[str]:
    return [message["content"] for message in store.messages(id)]


def test_nothing_that_was_said_can_be_read_without_the_key(drive: Drive, tmp_path: Path) -> None:
    key = new_key()
    with SessionStore(tmp_path / "s.db", keys=[key]) as store:
        context = {"number": "4711"}
        drive(AGENT, "My card is XYZZY", ["It is noted."], context_variables=context, session=store.session("s", user="ann", tags=["card"]))
        raw = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert not any(secret in raw for secret in (b"XYZZY", b"xyzzy", b"noted", b"4711"))
        assert all(open in raw for open in (b"ann", b"card", b"Clerk")), "as the guide says"
        assert [info.id for info in store.find(user="ann", tag="card")] == ["s"]
        with pytest.raises(SessionError, match="cannot be searched"):
            store.find(text="XYZZY")
        response = drive(AGENT, "And?", ["So."], session=store.session("s"))
        assert (contents(store, "s")[0], response.context_variables) == ("My card is XYZZY", {"number": "4711"})


def test_without_the_right_key_it_is_an_error_that_names_it(url: str) -> None:
    with SessionStore(url, keys=[new_key()]) as store:
        say(store, "s", "Hi")
    for keys in ([], [new_key()]):
        with SessionStore(url, keys=keys) as store:
            with pytest.raises(StoreError, match=r"the state of the session 's' is encrypted with the key '\w{8}', which was not given"):
                say(store, "s", "Hi")
            assert len(store.find()) == 1


def test_keys_are_changed(url: str) -> None:
    """D83"""
    old, new = new_key(), new_key()
    with SessionStore(url, keys=[old]) as store:
        say(store, "a", "with the old key")
    with SessionStore(url, keys=[new, old]) as store:
        say(store, "a", "with the new key")
        assert contents(store, "a")[::2] == ["with the old key", "with the new key"]
        assert store.reencrypt() == 1
    with SessionStore(url, keys=[new]) as store:
        assert contents(store, "a")[::2] == ["with the old key", "with the new key"]


def test_a_store_is_encrypted_later(url: str) -> None:
    key = new_key()
    with SessionStore(url) as store:
        say(store, "a", "in the open")
    with SessionStore(url, keys=[key]) as store:
        assert contents(store, "a")[0] == "in the open"
        store.reencrypt()
        with store.database.reading() as connection:
            rows = list(connection.execute(sa.select(MESSAGES.c.body, MESSAGES.c.text)))
        assert all(body.startswith("sealed:") and text is None for body, text in rows)
    with SessionStore(url) as store, pytest.raises(StoreError):
        store.messages("a")


@pytest.mark.parametrize("change", ["moved", "swapped", "bits"])
def test_a_text_that_was_changed_or_moved_is_noticed(url: str, change: str) -> None:
    """D83"""
    with SessionStore(url, keys=[new_key()]) as store:
        say(store, "a", "of a")
        say(store, "b", "of b")
        with store.database.writing() as connection:
            where = (MESSAGES.c.session_id == "b", MESSAGES.c.position == 0)
            body: Any = connection.execute(sa.select(MESSAGES.c.body).where(*where)).scalar_one()
            if change == "bits":
                body = body[:-6] + ("AAAAA=" if body[-6:] != "AAAAA=" else "BBBBB=")
            target = ("a", 0) if change == "moved" else ("b", 1 if change == "swapped" else 0)
            place = (MESSAGES.c.session_id == target[0], MESSAGES.c.position == target[1])
            connection.execute(sa.update(MESSAGES).where(*place).values(body=body))
        with pytest.raises(StoreError, match=f"message {target[1]} of the session '{target[0]}' cannot be decrypted"):
            store.messages(target[0])
        other = "a" if target[0] == "b" else "b"
        assert contents(store, other)[0] == f"of {other}"


def test_what_is_no_key_is_refused() -> None:
    for keys in (["secret"], [""], [new_key(), "x"]):
        with pytest.raises(ConfigError, match=r"make one with swarm.ext.sessions.new_key"):
            SessionStore(":memory:", keys=keys)
    with pytest.raises(ConfigError, match="keys must be a list"):
        SessionStore(":memory:", keys=new_key())
    assert len({new_key() for _ in range(9)}) == 9


def test_the_state_is_bound_to_its_session(url: str) -> None:
    with SessionStore(url, keys=[new_key()]) as store:
        say(store, "a", "Hi")
        say(store, "b", "Hi")
        with store.database.writing() as connection:
            state = connection.execute(sa.select(SESSIONS.c.state).where(SESSIONS.c.id == "b")).scalar_one()
            connection.execute(sa.update(SESSIONS).where(SESSIONS.c.id == "a").values(state=state))
        with pytest.raises(StoreError, match="the state of the session 'a' cannot be decrypted"):
            store.messages("a")
