"""Other words in the place of the user's, in what is sent: in messages that are theirs, and where these were put into a longer one.

A short text is found in many others, "no" in "nothing", so a message of the user's is taken as a whole; only others are searched.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from typing import TYPE_CHECKING, Any, cast

from ..effects import Message
from ..messages import text_of

if TYPE_CHECKING:
    from ..run import Run, RunInfo

OTHERS = "other words"
"""Where a guardrail keeps in the state of a run what stands in the place of which text."""


def said(guard: Any, run: Run, info: RunInfo) -> list[str]:
    """What the user said, as the guardrails further out left it; the last message at the end."""
    texts = [text_of(message) for message in run.history if message["role"] == "user" and "sender" not in message]
    for policy in _policies(run):
        if policy is guard:
            break
        others: dict[str, str] = info.state(policy).get(OTHERS, {})
        texts = [others.get(text, text) for text in texts]
    return texts


def check_anew(guard: Any, run: Run, info: RunInfo) -> None:
    """Let the guardrails further in look at the other words too, where they have been asked about the user's already."""
    policies = _policies(run)
    for policy in policies[policies.index(guard) + 1 :]:
        info.state(policy).pop(OTHERS, None)


def _policies(run: Run) -> list[Any]:
    return [policy for policy, _ in run.options.hooks["model"]]


def reworded(message: Message, others: Mapping[str, str], known: Set[str]) -> Message:
    """A message of a request with other words.

    Args:
        message: from the user, or in the user's name.
        others: by the text of a message what stands in its place.
        known: the texts of all messages of the user's; those that are not in `others` stay as they are.
    """
    content: object = message.get("content")
    if isinstance(content, str):
        return {**message, "content": _found(content, others, known)}
    parts = cast("list[Message]", content) if isinstance(content, list) else []
    written = [at for at, part in enumerate(parts) if isinstance(part.get("text"), str)]
    for place, first in enumerate(written):  # parts in front may be somebody else's, such as the instructions
        text = "".join(parts[at]["text"] for at in written[place:])
        if text in others:
            rest = written[place + 1 :]
            sent = [{**part, "text": others[text]} if at == first else part for at, part in enumerate(parts) if at not in rest]
            return {**message, "content": sent}
        if text in known:
            return message
    sent = [{**part, "text": _found(part["text"], others, known)} if at in written else part for at, part in enumerate(parts)]
    return {**message, "content": sent}


def _found(content: str, others: Mapping[str, str], known: Set[str]) -> str:
    """A text with other words where it is one of the user's, ends in one behind something else, or holds one as words of its own."""
    for start in (0, *(gap.end() for gap in re.finditer("\n\n", content))):
        text = content[start:]
        if text in others:
            return content[:start] + others[text]
        if text in known:
            return content
    longest_first = "|".join(re.escape(text) for text in sorted(others, key=len, reverse=True))
    return re.sub(rf"(?<!\w)(?:{longest_first})(?!\w)", lambda match: others[match[0]], content)
