"""Writes examples to files: checked, each once, without what should not be in them, and kept apart for a test."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from ...errors import SwarmError
from ...legal import is_utf8
from ...types import Agent
from .examples import examples_of
from .form import fault_of, problems_of
from .sources import Conversation, read_source


class TrainingError(SwarmError):
    """What was asked of an export cannot be done. Says what, and what to do."""


@dataclass(slots=True)
class Export:
    """What an export came to.

    Attributes:
        files: how many examples each file got.
        learned: how many answers are learned from.
        conversations: how many were read.
        left_out: why something is missing, and how often.
    """

    files: dict[str, int] = field(default_factory=dict[str, int])
    learned: int = 0
    conversations: int = 0
    left_out: Counter[str] = field(default_factory=Counter[str])

    @property
    def examples(self) -> int:
        """How many there are in all."""
        return sum(self.files.values())


def export(
    sources: Iterable[str | Path],
    path: str | Path,
    *,
    agents: Sequence[Agent] = (),
    learn: Collection[str] | None = None,
    passed: bool = False,
    redact: Callable[[str], str] | Iterable[str] = (),
    split: float | None = None,
    seed: int = 0,
    keys: Sequence[str] = (),
) -> Export:
    """Write conversations as fine-tuning data in the chat format, JSON lines.

    What would not be valid is left out and counted. A line that is there already is not written again.

    Args:
        sources: tapes, results of evals, sessions; see `read_source`.
        path: the file, which is replaced when everything has been read.
        agents: those that spoke; needed for everything but tapes.
        learn: names of the agents whose answers are learned from; None: all.
        passed: of evals only conversations that passed.
        redact: what is to be hidden in texts, arguments and results: regular expressions, or a function of a text.
        split: the share of conversations for `path`, above 0 and below 1; the others go to a file beside it, `train.jsonl` and
            `train.test.jsonl`. None: everything in one file.
        seed: of the split; a conversation falls on the same side whenever the seed is the same.
        keys: the keys of encrypted stores.

    Raises:
        TrainingError: a split that is none, an expression that is none, names of agents that no agent has, or a source to write to.
        SwarmError: a source that cannot be used.
        OSError: a file that cannot be read or written.
    """
    if split is not None and not 0 < split < 1:
        raise TrainingError(f"split={split!r} must be a share between 0 and 1, such as 0.9")
    unknown = sorted(set(learn or ()) - {agent.name for agent in agents}) if agents else []
    if unknown:
        raise TrainingError(f"no agent is called {', '.join(map(repr, unknown))}; there are {', '.join(agent.name for agent in agents)}")
    hide, done, seen, sources = _hiding(redact), Export(), set[str](), list(sources)
    main = Path(path)
    places = [main] if split is None else [main, main.with_name(f"{main.stem}.test{main.suffix}")]
    for place in places:
        if any(_is_file_of(source, place) for source in sources):
            raise TrainingError(f"{place} is one of the sources, which the export would replace; write to another file")
    beside = [place.with_name(f".{place.name}.{os.getpid()}") for place in places]
    try:
        with ExitStack() as files:
            opened: list[IO[str]] = [files.enter_context(file.open("w", encoding="utf-8", newline="\n")) for file in beside]
            done.files = {str(place): 0 for place in places}
            for conversation in _read(sources, agents, keys, passed, done):
                side = 0 if split is None or _share(seed, conversation.key) < split else 1
                for text in _lines(conversation, learn, hide, seen, done):
                    opened[side].write(text + "\n")
                    done.files[str(places[side])] += 1
        for file, place in zip(beside, places, strict=True):
            os.replace(file, place)
    finally:
        for file in beside:
            file.unlink(missing_ok=True)
    return done


def _is_file_of(source: str | Path, place: Path) -> bool:
    file = Path(str(source).removeprefix("sqlite:///"))
    return place.exists() and file.exists() and place.samefile(file)


def _read(
    sources: Iterable[str | Path], agents: Sequence[Agent], keys: Sequence[str], passed: bool, done: Export
) -> Iterator[Conversation]:
    for source in sources:
        for conversation in read_source(source, agents, keys=keys):
            done.conversations += 1
            if passed and conversation.passed is False:
                done.left_out["the conversation did not pass"] += 1
                continue
            done.left_out.update(conversation.left_out)
            yield conversation


def _lines(
    conversation: Conversation, learn: Collection[str] | None, hide: Callable[[str], str] | None, seen: set[str], done: Export
) -> Iterator[str]:
    turns = [turn for turn in conversation.turns if learn is None or turn.agent in learn]
    done.left_out.update(f"not learned from, {fault}" for turn in turns if (fault := fault_of(turn.reply, turn.tools)))
    examples = examples_of(conversation.turns, learn)
    for example in examples:
        line = example.as_line()
        line["messages"] = [_hidden(message, hide) for message in line["messages"]] if hide is not None else line["messages"]
        problems = problems_of(line)
        if problems:
            done.left_out[f"no valid example, {re.sub(r'^messages.[0-9]+.: ', '', problems[0])}"] += 1
            continue
        text = json.dumps(line, ensure_ascii=False)
        text = text if text.isascii() or is_utf8(text) else json.dumps(line)
        if text in seen:
            done.left_out["the same as another example"] += 1
            continue
        seen.add(text)
        done.learned += len(example.learned)
        yield text


def _share(seed: int, key: str) -> float:
    """A number from 0 to 1 for a conversation, always the same."""
    digest = hashlib.sha256(f"{seed}/{key}".encode(errors="backslashreplace")).digest()
    return int.from_bytes(digest[:7]) / 2**56


def _hiding(redact: Callable[[str], str] | Iterable[str]) -> Callable[[str], str] | None:
    if callable(redact):
        return redact
    patterns: list[re.Pattern[str]] = []
    for text in redact:
        try:
            patterns.append(re.compile(text))
        except re.error as error:
            raise TrainingError(f"{text!r} is no regular expression: {error}") from None

    def hide(text: str) -> str:
        for pattern in patterns:
            text = pattern.sub("[redacted]", text)
        return text

    return hide if patterns else None


def _hidden(value: Any, hide: Callable[[str], str], name: str = "") -> Any:
    """A message with its texts hidden. Names and ids stay; the arguments of a call are looked at as the JSON they are."""
    if isinstance(value, dict):
        return {key: _hidden(item, hide, key) for key, item in value.items()}  # type: ignore[misc]
    if isinstance(value, list):
        return [_hidden(item, hide, name) for item in value]  # type: ignore[misc]
    if not isinstance(value, str) or name in ("role", "id", "type", "name", "tool_call_id", "url"):
        return value
    if name == "arguments":
        try:
            return json.dumps(_hidden_data(json.loads(value), hide), ensure_ascii=False)
        except (ValueError, RecursionError):
            return hide(value)
    return hide(value)


def _hidden_data(value: Any, hide: Callable[[str], str]) -> Any:
    """Arguments with all that they say hidden, whatever the parameters are called; a number that has to be hidden becomes a text."""
    if isinstance(value, dict):
        return {hide(key): _hidden_data(item, hide) for key, item in value.items()}  # type: ignore[misc]
    if isinstance(value, list):
        return [_hidden_data(item, hide) for item in value]  # type: ignore[misc]
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        text = json.dumps(value)
        return value if hide(text) == text else hide(text)
    return value
