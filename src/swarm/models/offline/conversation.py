"""What a conversation says: turns of a user's text, the calls made for it and the last thing said, read from the messages alone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from .functions import Function, as_dict, as_list

_TRANSFERRED = re.compile(r"^\s*transferr?ed to (.+?)[.!]?(?:\s|$)", re.I)
_AGENT_WORDS = re.compile(r"\b(?:agent|assistant|desk|the)\b")


class Done:
    """A call that has been answered, or not.

    Attributes:
        name: of the function.
        result: the text of its tool message, "" until there is one.
    """

    __slots__ = ("id", "name", "result")

    def __init__(self, id: Any, name: str) -> None:
        self.id = id
        self.name = name
        self.result = ""

    @property
    def failed(self) -> bool:
        return self.result.startswith("Error")

    @property
    def handed_to(self) -> str | None:
        """The agent that the tool message names as the new one, or None."""
        match = _TRANSFERRED.match(self.result)
        if match:
            return self.result[match.start(1) :].split(".")[0].strip()
        try:
            said: Any = json.loads(self.result) if self.result.startswith("{") else None
        except ValueError:
            return None
        name: Any = as_dict(said).get("assistant")
        return name if isinstance(name, str) else None


class Turn:
    """One text of the user's, and what followed it.

    Attributes:
        text: what the user said.
        done: the calls that followed, in order.
        said: the last text of the assistant's after it, or "".
    """

    __slots__ = ("done", "said", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.done: list[Done] = []
        self.said = ""


def read_turns(messages: Iterable[Any]) -> list[Turn]:
    """The turns of a conversation. Texts the user sent in a row, before any answer, are one turn; what tools show begins none."""
    turns: list[Turn] = []
    previous = ""
    for message in messages:
        entry = as_dict(message)
        role = str(entry.get("role"))
        if role == "user":
            if previous == "tool" and turns and _is_shown(entry.get("content"), turns[-1]):
                continue
            text = text_of(entry.get("content"))
            if previous == "user":
                turns[-1].text = f"{turns[-1].text}\n{text}".strip()
            else:
                turns.append(Turn(text))
        elif turns and role == "assistant":
            turns[-1].said = text_of(entry.get("content")) or turns[-1].said
            turns[-1].done += [Done(call.get("id"), name) for call, name in _calls(entry)]
        elif turns and role == "tool":
            waiting = (call for turn in reversed(turns) for call in turn.done if call.id == entry.get("tool_call_id"))
            if call := next(waiting, None):
                call.result = text_of(entry.get("content")).strip()
        previous = role
    return turns


def text_of(content: Any) -> str:
    """The text of a message's content; of a list of parts the texts among them, since the rest cannot be read here."""
    if isinstance(content, str):
        return content.strip()
    parts = (as_dict(part).get("text") for part in as_list(content))
    return " ".join(part for part in parts if isinstance(part, str)).strip()


def _is_shown(content: Any, turn: Turn) -> bool:
    """Whether a user's message holds what calls gave to see, which nobody has said."""
    parts = as_list(content)
    first = as_dict(parts[0]).get("text") if parts else None
    return any(first == f"From {call.name} ({call.id}):" for call in turn.done)


def _calls(message: dict[str, Any]) -> Iterable[tuple[dict[str, Any], str]]:
    for call in map(as_dict, as_list(message.get("tool_calls"))):
        yield call, str(as_dict(call.get("function")).get("name") or "")


def is_handoff(call: Done, functions: Sequence[Function]) -> bool:
    """Whether the agent changed with this call: its result says so, or the function is no longer on offer."""
    if call.failed:
        return False
    return call.handed_to is not None or bool(functions and all(function.name != call.name for function in functions))


def active_agent(turns: Sequence[Turn]) -> str:
    """The name of the agent that speaks now, as far as the tool messages tell, else ""."""
    names = (call.handed_to for turn in reversed(turns) for call in reversed(turn.done))
    return next((name for name in names if name), "")


def leads_back(function: Function, turns: Sequence[Turn]) -> bool:
    """Whether a handoff would return to an agent that has already seen the last utterance.

    Where nothing names the agent that had it first, a function is taken to lead back if it leads "elsewhere", or if the agent behind it
    offers the function by which the conversation came here.
    """
    if function.role == "elsewhere":
        return True
    seen, ways = {_plain_name(active_agent(turns[:-1]))}, set[str]()
    for call in turns[-1].done:
        ways.add(call.name)
        seen.add(_plain_name(call.handed_to or ""))
    if function.name in ways or function.hint.leads_to & ways:
        return True
    target = set(_plain_name(function.phrase).split())
    return function.handoff and any(name and target <= set(name.split()) for name in seen)


def _plain_name(name: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", _AGENT_WORDS.sub(" ", name.lower())))
