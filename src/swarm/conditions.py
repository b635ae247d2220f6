"""Conditions for `Handoff(when=...)` and `@tool(enabled=...)` that are more than a function of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .meaning import Embed, Known, last_words_of_user
from .run import logger
from .types import Agent

if TYPE_CHECKING:
    from .policies.expressions import Expression

THRESHOLD = 0.4
"""Similarity from which a text is near an example. Measured with the sentence model on 97 messages to six triage agents, six to eight
examples for each of 20 ways (tests/data/offline/route_examples.json): at 0.3, 0.4, 0.5, 0.6 a condition holds for .99, .90, .75, .44 of
the messages that it should hold for, and .64, .87, .94, .97 of those it holds for are right. Another model needs a measure of its own."""


def similar_to(examples: Sequence[str], *, threshold: float = THRESHOLD, embed: Embed | None = None) -> SimilarTo:
    """A condition that holds while the user's last message is near one of the examples in meaning:

        Handoff(refunds, when=similar_to(["I want my money back", "this is broken, take it back"]))

    Short, whole sentences as users write them are better examples than single words. They are embedded when the condition is first asked,
    and not again.

    Args:
        examples: what users say who mean this; five or more make it reliable.
        threshold: cosine from -1 to 1, from which a message is near: higher is stricter; see THRESHOLD for what was measured.
        embed: a function, sync or async, of texts that returns as many vectors. By default the sentence model of the extra `offline`
            (all-MiniLM-L6-v2: English; loaded at the first message, then some 10 ms for each new one).

    Raises:
        ValueError: no example, an empty one, or a threshold out of range.
        TypeError: a single text instead of a list, or an `embed` that is no function.
        ConfigError: without `embed`, if the extra is not installed.
    """
    if not -1 <= threshold <= 1:
        raise ValueError(f"similar_to(threshold={threshold!r}) must be a cosine, from -1 to 1")
    return SimilarTo(Known(examples, embed), threshold)


class SimilarTo:
    """What `similar_to` makes."""

    def __init__(self, known: Known, threshold: float) -> None:
        self._known = known
        self._threshold = threshold

    def __call__(self, messages: Sequence[Any]) -> Any:
        """Whether the user's last message is near; to be awaited if the embedder is async."""
        text = last_words_of_user(messages)
        if not text:
            return False
        likeness = self._known.likeness(text)
        return self._later(likeness) if hasattr(likeness, "__await__") else self._is_near(likeness)

    async def _later(self, likeness: Any) -> bool:
        return self._is_near(await likeness)

    def _is_near(self, likeness: list[float]) -> bool:
        return max(likeness) >= self._threshold

    def __repr__(self) -> str:
        return f"similar_to({list(self._known.texts)!r}, threshold={self._threshold!r})"


def cel(expression: str) -> Cel:
    """A condition in the Common Expression Language (https://cel.dev), for handoffs that stand in a configuration:

        Handoff(refunds, when=cel("context_variables.role == 'agent' && has(context_variables.order)"))

    What cannot be told, such as for a variable that is missing, does not hold, and is logged as a warning; `has(...)` asks first.

    Args:
        expression: of `context_variables`, `messages` and `agent` (the agent's name); at most 1,000 characters.

    Raises:
        AgentError: the expression is wrong or too long.
        ConfigError: the extra `cel` is not installed.
    """
    from .policies.expressions import Expression

    return Cel(Expression(expression, ("context_variables", "messages", "agent")))


class Cel:
    """What `cel` makes."""

    def __init__(self, expression: Expression) -> None:
        self._expression = expression

    def __call__(self, context_variables: dict[str, Any], messages: Sequence[Any], agent: Agent) -> bool:
        """Whether it holds."""
        values = {"context_variables": context_variables, "messages": messages, "agent": agent.name}
        try:
            return self._expression.holds({name: values[name] for name in self._expression.names})
        except Exception as error:
            logger.warning("a condition could not be told, so it does not hold: %r: %s", self, type(error).__name__)
            return False

    def __repr__(self) -> str:
        return f"cel({self._expression.source!r})"
