"""Which messages of a history stand or fall together, for whoever leaves some of them out.

A step is a message with calls, the answers to them and what these show, or any other message by itself. A turn is what begins with a
message of the user. To cut between steps leaves a valid history; to cut between turns leaves one that begins as every provider wants it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from .effects import Message

_ANSWERS = ("tool", "function")
_QUESTION = {"role": "user", "content": "(The earlier part of this conversation is left out. What happened in it?)"}


def begins_step(messages: Sequence[Message], index: int) -> bool:
    """Whether a step begins at an index; not at an answer, nor at the user message in which the run shows what tools gave it to see."""
    message = messages[index]
    if message["role"] in _ANSWERS:
        return False
    if index and message["role"] == "user" and messages[index - 1]["role"] == "tool":
        return not (isinstance(message.get("content"), list) or "sender" in message)
    return True


def begins_turn(messages: Sequence[Message], index: int) -> bool:
    """Whether a turn begins at an index: a message of the user's own."""
    return messages[index]["role"] == "user" and "sender" not in messages[index] and begins_step(messages, index)


def steps(messages: Sequence[Message]) -> list[Sequence[Message]]:
    """The steps of a history, in order."""
    starts = [index for index in range(len(messages)) if index == 0 or begins_step(messages, index)]
    return [messages[start:end] for start, end in pairwise([*starts, len(messages)])]


def is_system(message: Message) -> bool:
    """Whether a message is one of the application's own, which nobody leaves out."""
    return message["role"] in ("system", "developer")


def in_short(summary: str) -> list[Message]:
    """The messages that stand for what is left out: a question and its answer, so that roles go on alternating.

    No system text, since it is made from what users and tools have said.
    """
    return [_QUESTION, {"role": "assistant", "content": summary}] if summary else []
