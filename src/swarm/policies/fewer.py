"""Fewer tools at a time: those nearest to what the user wants, and those that must not go."""

from __future__ import annotations

import re
from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from ..effects import Call, Flow, Message
from ..meaning import Embed, Known, best_embed
from ..messages import text_of

if TYPE_CHECKING:
    from ..run import Run
    from ..tools import Tool

_HANDS_OVER = re.compile(r"transfer(?:_back)?_to_|hand_?(?:off|over)|escalate_to_|route$", re.IGNORECASE)
_MOST_KNOWN = 256  # lists of tools whose vectors are kept; more than agents have, unless descriptions change all the time
_USER_MESSAGES = 2  # since "yes, the blue one" alone is near nothing


def hands_over(name: str, tool: Tool | None) -> bool:
    """Whether calling a tool hands over, as far as its name and its annotations tell."""
    if tool is not None and tool.nested is not None:
        return False
    return (tool is not None and (tool.handoff is not None or tool.loose)) or _HANDS_OVER.match(name) is not None


class Fewer:
    """Chooses among tools.

    Args:
        count: how many are offered at most, those that must not go included.
        embed: turns texts into vectors; by default `best_embed()`.
    """

    def __init__(self, count: int, embed: Embed | None) -> None:
        self._count = count
        self._embed = embed
        self._known: dict[tuple[str, ...], Known] = {}
        self._lock = Lock()

    def chosen(self, run: Run, state: dict[Any, Any], request: Message, offers: list[Message]) -> Flow:
        """The offers that stay, in their order. Kept in `state`, so that a run has one list for each agent and wish of the user.

        Args:
            run: the run.
            state: what the policy keeps for the run.
            request: what was about to be sent.
            offers: its tools.
        """
        if len(offers) <= self._count:
            return offers
        used = {
            call["function"]["name"] for message in request["messages"] for call in message.get("tool_calls") or () if "function" in call
        }
        names = [offer["function"]["name"] for offer in offers]
        stay = {name for name in names if name in used or hands_over(name, run.offered.get(name))}
        wish = "\n".join([text_of(message) for message in request["messages"] if message.get("role") == "user"][-_USER_MESSAGES:]).strip()
        if wish:
            key = (run.agent, wish, tuple(names))
            near = state.get(key)
            if near is None:
                known = self._of(tuple(about(offer, run.offered.get(offer["function"]["name"])) for offer in offers))
                likeness: list[float] = yield Call(known.likeness, (wish,), worker=True)
                near = state[key] = [name for _, name in sorted(zip(likeness, names, strict=True), key=lambda pair: -pair[0])]
            stay.update([name for name in near if name not in stay][: max(0, self._count - len(stay))])
        return [offer for offer in offers if offer["function"]["name"] in stay] if wish else offers

    def _of(self, texts: tuple[str, ...]) -> Known:
        with self._lock:
            known = self._known.get(texts)
            if known is None:
                if len(self._known) >= _MOST_KNOWN:
                    self._known.clear()
                known = self._known[texts] = Known(texts, self._embed or best_embed())
            return known


def about(offer: Message, tool: Tool | None) -> str:
    """What a tool is compared by: its name in words, what it says of itself, and what users say who need it."""
    function = offer["function"]
    words = re.sub(r"[_-]+", " ", function["name"])
    examples: Sequence[str] = tool.examples if tool is not None else ()
    return ". ".join([words, *filter(None, [function.get("description")]), *examples])
