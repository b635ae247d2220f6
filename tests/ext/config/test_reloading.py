"""A configuration that is read again while it is in use, with real files and the real watcher."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from swarm import ScriptedModel, Swarm
from swarm.errors import ConfigError
from swarm.ext.config import ConfigFileError, Configuration, Reloading
from swarm.models.scripted import call
from tests.ext.config.conftest import MODULES, Write

TEXT = """
functions_from = ["shop"]
[agents.a]
instructions = {{ file = "texts/a.md" }}
functions = ["shop.look_up"]
model = "{model}"
"""


class Watched:
    """A configuration that is watched, and what was told of its changes."""

    def __init__(self, write: Write) -> None:
        self.write = write
        self.told: Queue[Any] = Queue()
        write("texts/a.md", "One.")
        self.path = write("x.toml", TEXT.format(model="one"))
        self.reloading = Reloading(self.path, modules=MODULES, environ={}, on_change=self.told.put, on_error=self.told.put)

    def next(self) -> Any:
        """What is told next; the time limit is that of a test that hangs."""
        return self.told.get(timeout=30)


@pytest.fixture
def watched(write: Write) -> Iterator[Watched]:
    made = Watched(write)
    with made.reloading:
        yield made


def test_a_change_is_read(watched: Watched) -> None:
    """D77"""
    first = watched.reloading.config
    watched.write("x.toml", TEXT.format(model="two"))
    second = watched.next()
    assert isinstance(second, Configuration)
    assert watched.reloading.config is second is not first
    assert (first.agent.model, second.agent.model) == ("one", "two")


def test_a_file_that_is_put_in_the_place_of_another_is_read(watched: Watched) -> None:
    """D77: editors write a new file and give it the old name."""
    for model in ("two", "three"):
        new = watched.write("x.toml~", TEXT.format(model=model))
        os.replace(new, watched.path)
        assert watched.next().agent.model == model


def test_a_change_of_another_file_is_read(watched: Watched) -> None:
    """D77: in another folder too."""
    watched.write("texts/a.md", "Two.")
    assert watched.next().agent.instructions == "Two."
    watched.write("more/b.md", "Three.")
    watched.write("x.toml", TEXT.format(model="two").replace("texts/a.md", "more/b.md"))
    assert watched.next().agent.instructions == "Three."
    watched.write("more/b.md", "Four.")
    assert watched.next().agent.instructions == "Four."


def test_a_broken_file_leaves_the_last_good_one(watched: Watched, caplog: pytest.LogCaptureFixture) -> None:
    """D77: and says so, until it is whole again."""
    good = watched.reloading.config
    with caplog.at_level(logging.INFO, "swarm.config"):
        watched.write("x.toml", "[agents.a]\nmodle = 3\n")
        error = watched.next()
        assert isinstance(error, ConfigFileError)
        assert "x.toml:2: agents.a.modle: there is no such key; did you mean 'model'?" in str(error)
        assert watched.reloading.config is good
        assert watched.reloading.error is error
        os.remove(watched.path)
        assert "cannot be read" in str(watched.next())
        assert watched.reloading.config is good
        watched.write("x.toml", TEXT.format(model="two"))
        assert watched.next().agent.model == "two"
        assert watched.reloading.error is None
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR", "INFO"]
    assert "the last good version stays" in caplog.text


def test_the_first_half_of_a_file_is_not_taken(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of a file can be a whole configuration, without the rules that the other half holds."""
    monkeypatch.setattr("swarm.ext.config.reloading._STILL", 2.0)
    whole = TEXT.format(model="two") + '[[policies]]\ntype = "Permission"\ndeny = [{ tools = "look_up" }]\n'
    watched.write("x.toml", "")
    time.sleep(0.2)  # long enough for the watcher, which looks when it is told of a change
    watched.write("x.toml", TEXT.format(model="two"))
    time.sleep(0.2)
    watched.write("x.toml", whole)
    found = watched.next()
    assert isinstance(found, Configuration)
    assert len(found.policies) == 1


def test_a_file_that_is_named_before_it_is_there(watched: Watched) -> None:
    """D77: the version becomes good when it comes."""
    watched.write("x.toml", TEXT.format(model="two").replace("a.md", "late.md"))
    assert isinstance(watched.next(), ConfigFileError)
    watched.write("texts/late.md", "Late.")
    assert watched.next().agent.instructions == "Late."


def test_a_run_keeps_the_version_it_began_with(watched: Watched) -> None:
    """D77"""
    config = watched.reloading.config
    model = ScriptedModel([call("look_up", {"order": 1}), "Done."])
    seen = 0
    for event in Swarm(model, **config.options).stream(config.agent, "hi"):
        if type(event).__name__ == "ToolStarted":
            watched.write("x.toml", TEXT.format(model="two"))
            seen += watched.next().agent.model == "two"
        response = getattr(event, "response", None)
    assert seen == 1
    assert [request["model"] for request in model.requests] == ["one", "one"]
    assert response is not None and response.agent is config.agent


def test_what_is_the_same_is_not_read_again(watched: Watched) -> None:
    watched.path.touch()
    assert watched.reloading.reload() is False
    assert watched.told.empty()


def test_it_can_be_asked_to_look(write: Write) -> None:
    watched = Watched(write)
    watched.reloading.close()
    watched.write("x.toml", TEXT.format(model="two"))
    assert watched.reloading.config.agent.model == "one", "nobody watches any more"
    assert watched.reloading.reload() is True
    assert watched.reloading.config.agent.model == "two"


def test_closing_ends_the_thread(write: Write) -> None:
    """D77: as often as one likes, and from inside of a callback too."""
    before = threading.active_count()
    watched = Watched(write)
    assert threading.active_count() == before + 1
    watched.reloading.close()
    watched.reloading.close()
    assert threading.active_count() == before
    closing = Reloading(watched.path, modules=MODULES, environ={}, on_change=lambda config: closing.close())
    watched.write("x.toml", TEXT.format(model="three"))
    closing._thread.join(timeout=30)
    assert not closing._thread.is_alive()


def test_a_callback_that_fails_does_no_harm(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    watched = Watched(write)
    watched.reloading.close()

    def fail(config: Any) -> None:
        raise ValueError("no")

    with Reloading(watched.path, modules=MODULES, environ={}, on_change=fail) as reloading:
        watched.write("x.toml", TEXT.format(model="two"))
        assert reloading.reload() in (True, False)  # the thread may have been faster
    assert reloading.config.agent.model == "two"
    assert "what was to be told of a change" in caplog.text


def test_the_first_version_must_be_good(write: Write) -> None:
    threads = threading.active_count()
    with pytest.raises(ConfigFileError, match="agents: is missing"):
        Reloading(write("x.toml", ""), environ={})
    assert threading.active_count() == threads


def test_the_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    with pytest.raises(ConfigError, match=r"pip install 'openswarm\[config\]'"):
        Reloading(tmp_path / "x.toml")
