"""Tape files that were edited by hand, merged by git or cut off: a replay, or an error of ours that says what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from swarm import Agent, Result, ScriptedModel, Swarm
from swarm.errors import SwarmError
from swarm.models.scripted import Turn, call
from swarm.testing import Tape
from tests.fuzz.material import FUZZ, damaged, garbage, outcome, places_in
from tests.look import is_valid

pytestmark = pytest.mark.check


def look_up(q: str, context_variables: dict[str, Any]) -> str:
    """Look up."""
    context_variables["seen"] = q
    return f"found {q}"


def fail() -> str:
    """Fail."""
    raise ValueError("no such order")


def to_other() -> Result:
    """Hand over."""
    return Result(value="over", agent=OTHER, context_variables={"x": 1})


OTHER = Agent(name="Other", functions=[look_up])
AGENT = Agent(name="A", functions=[look_up, fail, to_other])
TURNS = [[call("look_up", {"q": "bée"}), call("fail")], Turn("Over.", [call("to_other")]), "Done."]


def replayed(path: Path, stream: bool) -> Any:
    """Run the agents on a tape, models and tools; the end of what it gives."""
    tape = Tape(path)
    swarm = Swarm(tape, policies=[tape])
    response = list(swarm.run(AGENT, "hi", stream=True))[-1]["response"] if stream else swarm.run(AGENT, "hi")
    assert is_valid(response.messages)
    assert isinstance(tape.unused, list)
    return response


@pytest.fixture(scope="module")
def tapes(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """The bytes of two recordings of one run, whole and streamed."""
    found: list[bytes] = []
    for stream in (False, True):
        path = tmp_path_factory.mktemp("tapes") / "one.jsonl"
        tape = Tape(path, ScriptedModel(TURNS), record=True)
        swarm = Swarm(tape, policies=[tape])
        assert list(swarm.run(AGENT, "hi", stream=True)) if stream else swarm.run(AGENT, "hi")
        assert replayed(path, stream).text == "Done."
        found.append(path.read_bytes())
    return found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damaged") / "one.jsonl"


@settings(FUZZ, suppress_health_check=list(HealthCheck))
@given(data=st.data(), stream=st.booleans())
def test_tapes_that_were_damaged(tapes: list[bytes], place: Path, data: st.DataObject, stream: bool) -> None:
    place.write_bytes(data.draw(damaged(tuple(tapes)) | st.binary(max_size=30)))
    outcome(lambda: replayed(place, stream), SwarmError)


@settings(FUZZ, suppress_health_check=list(HealthCheck))
@given(data=st.data(), stream=st.booleans())
def test_tapes_whose_values_were_changed(tapes: list[bytes], place: Path, data: st.DataObject, stream: bool) -> None:
    """Each line is JSON still, with one or two of its values replaced or removed, at any depth."""
    lines = [json.loads(line) for line in data.draw(st.sampled_from(tapes)).splitlines()]
    for _ in range(data.draw(st.integers(1, 2))):
        places = places_in(data.draw(st.sampled_from(lines)))
        if not places:
            break
        parent, key = data.draw(st.sampled_from(places))
        if data.draw(st.booleans()):
            parent[key] = data.draw(garbage)
        else:
            del parent[key]
    place.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8", errors="surrogatepass")
    outcome(lambda: replayed(place, stream), SwarmError)
