"""What an agent sees of the history: ready-made functions for `Agent(history_filter=...)` and `Handoff(history_filter=...)`.

Each is a function of `messages` (some also of the `agent` that is to see them, or of the `run`) that returns messages. Calls and their
answers stay together, system texts stay, and only the request is changed: the run's own history stays whole. For a number of tokens
instead of a kind of message, see `swarm.policies.ContextWindow`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from .effects import Message
from .offers import OFFER_NAMES
from .run import RunInfo
from .steps import begins_turn, in_short, is_system, steps
from .tools import callback_parameters
from .types import Agent

__all__ = ["Projection", "compose", "last", "since_handoff", "summary", "without_tools"]

Projection: TypeAlias = Callable[..., Any]
"""A function of `messages`, and of `agent`, `run` or `context_variables` if it wants, that returns messages; it may be async."""


def last(turns: int) -> Projection:
    """The last turns. A turn is a message of the user with everything that follows until the next; what stands before the first is no turn.

    What is left begins with system texts, if there are any, and the user's message of the first of these turns.

    Args:
        turns: how many.

    Raises:
        ValueError: less than 1.
    """
    if turns < 1:
        raise ValueError(f"last(turns={turns!r}) must be at least 1: what the user said last has to be there")

    def project(messages: Sequence[Message]) -> list[Message]:
        at = _start_of(messages, turns)
        return [*filter(is_system, messages[:at]), *messages[at:]]

    return project


def without_tools(*, keep_own: bool = True) -> Projection:
    """Without tool calls and their answers; the text beside a call stays, unless nothing would follow it.

    It takes handoffs out too, which are calls. What is left never ends in a message that had calls.

    Args:
        keep_own: keep the calls of the agent that is to see them, told by `sender`. An agent with functions needs them: without the
            answer to its own call it would ask again for ever.
    """

    def project(messages: Sequence[Message], agent: Agent | None = None) -> list[Message]:
        own = agent.name if agent is not None and keep_own else None
        kept: list[Message] = []
        may_end = 0
        for step in steps(messages):
            first = step[0]
            has_calls = first["role"] == "assistant" and bool(first.get("tool_calls") or first.get("function_call"))
            if has_calls and (own is None or first.get("sender") != own):
                if first.get("content"):
                    kept.append({name: value for name, value in first.items() if name not in ("tool_calls", "function_call")})
            elif first["role"] not in ("tool", "function"):
                kept += step
                may_end = len(kept)
        return kept[:may_end]

    return project


def since_handoff() -> Projection:
    """Only what came after the last message of another agent, and the user's message that this agent was given to work on.

    What is left begins with system texts, if there are any, and a message of the user. An agent that nobody handed over to sees all, and
    so does one that was given nothing of a user's.
    """

    def project(messages: Sequence[Message], agent: Agent | None = None) -> list[Message]:
        done = at = 0
        asked = -1
        for step in steps(messages):
            sender = step[0].get("sender") if step[0]["role"] == "assistant" else None
            at += len(step)
            if agent is not None and sender is not None and sender != agent.name:
                done = at
        if done == 0:
            return list(messages)
        if done == len(messages) or not begins_turn(messages, done):
            asked = next((index for index in range(done - 1, -1, -1) if begins_turn(messages, index)), -1)
            done = 0 if asked < 0 else done
        return [*(message for index, message in enumerate(messages[:done]) if index == asked or is_system(message)), *messages[done:]]

    return project


def summary(write: Callable[[list[Message]], str | Awaitable[str]], turns: int = 1) -> Projection:
    """The last turns, and a summary of what was before, as a question and its answer. As `last` otherwise.

    Args:
        write: makes the summary: a function of the messages that are left out, sync or async. Asked once a run, and again when more is left
            out. `swarm.policies.Summary` asks a model, and its calls pass the policies and count in the run's usage; these do not.
        turns: how many turns stay.

    Raises:
        ValueError: less than one turn.
    """
    last(turns)
    key = object()

    def project(messages: Sequence[Message], run: RunInfo | None = None) -> Any:
        at = _start_of(messages, turns)
        fixed, gone, rest = [*filter(is_system, messages[:at])], [m for m in messages[:at] if not is_system(m)], messages[at:]
        kept = run.state(key) if run is not None else {}

        def with_text(text: str) -> list[Message]:
            kept.update(gone=gone, text=text)
            return [*fixed, *in_short(text), *rest]

        if not gone or kept.get("gone") == gone:
            return with_text(kept["text"] if gone else "")
        text: Any = write(gone)
        return _then(text, with_text) if hasattr(text, "__await__") else with_text(text)

    return project


def compose(*projections: Projection) -> Projection:
    """One projection after another, each on what the one before has left.

    Args:
        projections: those of this module, or functions of one's own.

    Raises:
        AgentError: a function with a parameter that nobody fills.
    """
    asked = [(projection, callback_parameters(projection, OFFER_NAMES) or ()) for projection in projections]

    def project(
        messages: Sequence[Message],
        agent: Agent | None = None,
        run: RunInfo | None = None,
        context_variables: dict[str, Any] | None = None,
    ) -> Any:
        about: dict[str, Any] = {"agent": agent, "run": run, "context_variables": context_variables}

        def after(number: int, seen: Any) -> Any:
            for at, (projection, names) in enumerate(asked[number:], number + 1):
                seen = projection(**{name: {**about, "messages": seen}[name] for name in names})
                if hasattr(seen, "__await__"):
                    return _then(seen, lambda seen, at=at: after(at, seen))
            return seen

        return after(0, list(messages))

    return project


def _start_of(messages: Sequence[Message], turns: int) -> int:
    """Where the last turns begin; 0 if there are no more."""
    starts = [index for index in range(len(messages)) if begins_turn(messages, index)]
    return starts[-turns] if len(starts) > turns else 0


async def _then(waited_for: Awaitable[Any], make: Callable[[Any], Any]) -> Any:
    made = make(await waited_for)
    return await made if hasattr(made, "__await__") else made
