"""Where conversations come from: tapes, results of evals, sessions that were exported, and stores of sessions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...assembly import Assembler
from ...effects import Message
from ...errors import ModelError, SwarmError
from ...legal import is_dict
from ...testing.tape.lines import read_tape
from ...types import Agent
from .turns import Turn, Unknown, asked_again, turn_of


@dataclass(slots=True)
class Conversation:
    """What was said in one session, in one conversation of an eval, or on one tape.

    Attributes:
        key: which it is; the same whenever it is read.
        turns: what the agents did.
        left_out: why some of it is missing, one reason for each turn.
        passed: whether all scores of an eval passed; None if there were none.
    """

    key: str
    turns: list[Turn]
    left_out: list[str]
    passed: bool | None = None


def read_source(source: str | Path, agents: Sequence[Agent] = (), *, keys: Sequence[str] = ()) -> Iterator[Conversation]:
    """The conversations of a source, whose kind shows in its first line.

    Args:
        source: a tape, a file of `swarm eval --out` or of `swarm sessions export`, a file of sessions, or the URL of their database.
        agents: those that spoke. Only a tape holds what each was told and offered; everything else needs them.
        keys: the keys of an encrypted store.

    Raises:
        SwarmError: it is none of these, or damaged; the error says where.
        OSError: it cannot be read.
    """
    by_name = _by_name(agents)
    if "://" in str(source) or _is_sqlite(Path(source)):
        from ..sessions import SessionStore

        with SessionStore(str(source), keys=list(keys)) as store:
            yield from (_of_session(session, by_name) for session in store.export())
        return
    path = Path(source)
    first = _first_line(path)
    if "tape" in first:
        yield _of_tape(path)
    elif first.get("kind") == "eval":
        yield from _of_eval(path, by_name)
    elif "session" in first:
        yield from (_of_session(line, by_name) for line in _lines(path))
    else:
        raise SwarmError(f"{path} is no tape, no results of an eval and no sessions: its first line tells none of them")


def _by_name(agents: Sequence[Agent]) -> dict[str, Agent]:
    found: dict[str, Agent] = {}
    for agent in agents:
        if found.setdefault(agent.name, agent) is not agent:
            raise SwarmError(f"two agents are called {agent.name!r}; what one of them said cannot be told from what the other did")
    return found


def _is_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(15) == b"SQLite format 3"  # https://www.sqlite.org/fileformat.html#the_database_header


def _first_line(path: Path) -> dict[str, Any]:
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        try:
            line: Any = json.loads(file.readline())
        except (ValueError, RecursionError):
            return {}
    return line if is_dict(line) else {}


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8-sig") as file:
        for number, text in enumerate(file, 1):
            try:
                line: Any = json.loads(text)
            except (ValueError, RecursionError) as error:
                raise SwarmError(f"{path}:{number}: no JSON ({error})") from None
            if not is_dict(line) or "session" not in line or not isinstance(line.get("messages"), list):
                raise SwarmError(f"{path}:{number}: no session, since it has no 'session' or no list of 'messages'")
            yield line


def _of_tape(path: Path) -> Conversation:
    found = Conversation(path.name, [], [])
    for line in read_tape(path)[1]:
        if "tool" in line:
            continue
        reply = _reply(line)
        if isinstance(reply, str):
            found.left_out.append(reply)
        else:
            found.turns.append(turn_of(line.get("agent"), line["request"], reply))
    return found


def _reply(line: dict[str, Any]) -> Message | str:
    """What was answered, or why there is nothing."""
    if "error" in line:
        return "the model failed"
    if "chunks" not in line:
        return line["reply"]["message"]
    assembler = Assembler("")
    try:
        for chunk in line["chunks"]:
            assembler.feed(chunk)
        return assembler.reply().message
    except ModelError:
        return "the model failed"


def _of_eval(path: Path, agents: Mapping[str, Agent]) -> Iterator[Conversation]:
    from ...evals.records import read_results

    for result in read_results(path).results:
        key = f"{path.name}/{result.case}/{result.repetition}"
        if result.error is not None:
            yield Conversation(key, [], ["the conversation failed"], False)
            continue
        found = _again(key, result.messages, agents, None, result.input)
        found.passed = result.passed
        yield found


def _of_session(session: dict[str, Any], agents: Mapping[str, Agent]) -> Conversation:
    return _again(f"session/{session['session']}", session["messages"], agents, session.get("context_variables") or {}, 0)


def _again(key: str, messages: list[Message], agents: Mapping[str, Agent], context: dict[str, Any] | None, first: int) -> Conversation:
    made = list(asked_again(messages, agents, context, first))
    return Conversation(key, [turn for turn in made if isinstance(turn, Turn)], [str(why) for why in made if isinstance(why, Unknown)])
