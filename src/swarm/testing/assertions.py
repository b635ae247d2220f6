"""What tests of agents usually want to know of a run. Each failure tells what happened instead.

They raise AssertionError themselves, so they say the same under any test runner, and with `python -O`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic_core import to_jsonable_python

from ..legal import call_name, is_dict
from ..messages import text_of
from ..types import Agent, Response, ToolCall

_LONGEST = 300
_RAN = ("ok", "error", "timed_out", "unknown")


def assert_handoffs(response: Response, agents: Sequence[str | Agent], /) -> None:
    """Assert which agents were active in a run, in order.

    Args:
        response: the run's.
        agents: their names, or the agents, the one that began first; `["Triage"]` alone says that nobody took over.

    Raises:
        AssertionError: others were; it tells the whole run.
        TypeError: `agents` is a text or empty.
    """
    if isinstance(agents, str) or not agents:
        raise TypeError('assert_handoffs takes the agents in order, the first one too: ["Triage", "Refunds"]')
    wanted = [agent.name if isinstance(agent, Agent) else agent for agent in agents]
    handoffs = response.handoffs
    first = handoffs[0][0] if handoffs else response.agent.name if response.agent is not None else "nobody"
    found = [first, *(to for _, to in handoffs)]
    if found != wanted:
        raise _failure(f"expected the agents {' -> '.join(wanted)}, but they were {' -> '.join(found)}", response)


def assert_called(response: Response, name: str, count: int | None = None, /, **arguments: Any) -> list[ToolCall]:
    """Assert that a run called a function, whatever came of it; a call that was refused, skipped or not understood does not count.

    Args:
        response: the run's.
        name: the function.
        count: how many such calls there must be, or None for at least one.
        arguments: arguments that such a call must have, among others: `item_id=7`. A model is also equal to its JSON form.

    Returns:
        those calls, in order.

    Raises:
        AssertionError: there is none, or another number of them; it tells the whole run.
    """
    found = _calls(response, name, arguments)
    if len(found) == count or (count is None and found):
        return found
    wanted = "a call" if count is None else f"{count} calls"
    raise _failure(f"expected {wanted} of {_shown(name, arguments)}, but there were {len(found)}", response)


def assert_not_called(response: Response, name: str, /, **arguments: Any) -> None:
    """Assert that a run did not call a function, or not with these arguments.

    Args:
        response: the run's.
        name: the function.
        arguments: as for `assert_called`.

    Raises:
        AssertionError: it did; it tells the whole run.
    """
    found = _calls(response, name, arguments)
    if found:
        raise _failure(f"expected no call of {_shown(name, arguments)}, but there were {len(found)}", response)


def assert_stopped(response: Response, reason: str, /) -> None:
    """Assert why a run ended.

    Args:
        response: the run's.
        reason: its `stop_reason`, such as "complete", "approval" or "limit:model_calls".

    Raises:
        AssertionError: it ended for another reason; it tells the whole run.
    """
    if response.stop_reason != reason:
        raise _failure(f"expected the run to end with {reason!r}, but it ended with {response.stop_reason!r}", response)


def assert_valid_history(messages: Sequence[dict[str, Any]], /) -> None:
    """Assert that messages could be sent to any provider: each tool call is answered exactly once, in call order, directly after the
    message that made it, and no id is empty or used twice.

    Args:
        messages: in the form of Chat Completions, such as `response.messages`.

    Raises:
        AssertionError: they could not; it names the message.
    """
    waiting: list[str] = []
    used: set[str] = set()
    for index, message in enumerate(messages):
        where, role = f"message {index}", message.get("role")
        if role == "tool":
            id = message.get("tool_call_id")
            if not waiting:
                raise AssertionError(f"{where} answers the tool call {id!r}, but no call waits for an answer there")
            if id != waiting[0]:
                raise AssertionError(f"{where} answers the tool call {id!r}, but the next one to be answered is {waiting[0]!r}")
            waiting.pop(0)
            continue
        if waiting:
            raise AssertionError(f"{where} is of role {role!r}, but the tool calls {waiting} before it have no answer yet")
        for call in message.get("tool_calls") or ():
            id = call.get("id")
            if not isinstance(id, str) or not id or id in used:
                fault = "used before" if id in used else "no id"
                raise AssertionError(f"{where} calls {call_name(call)} with the id {id!r}, which is {fault}")
            used.add(id)
            waiting.append(id)
    if waiting:
        raise AssertionError(f"the messages end, but the tool calls {waiting} have no answer")


def _calls(response: Response, name: str, arguments: dict[str, Any]) -> list[ToolCall]:
    return [call for call in response.calls if call.name == name and _ran(call) and _has(call.arguments, arguments)]


def _ran(call: ToolCall) -> bool:
    """Whether the function was called; arguments that could not be read are still the model's text."""
    return call.outcome in _RAN and isinstance(call.arguments, dict)


def _has(given: dict[str, Any], wanted: dict[str, Any]) -> bool:
    return all(key in given and (given[key] == value or _plain(given[key]) == _plain(value)) for key, value in wanted.items())


def _plain(value: Any) -> Any:
    return to_jsonable_python(value, fallback=lambda other: other)


def _shown(name: str, arguments: dict[str, Any]) -> str:
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"


def _failure(text: str, response: Response) -> AssertionError:
    return AssertionError("\n".join([text, "what happened:", *(f"  {line}" for line in story(response))]))


def story(response: Response) -> list[str]:
    """A run in lines: who said what, what was called and what came of it, why it ended."""
    calls = {call.id: call for call in response.calls}
    lines: list[str] = []
    for message in response.messages:
        if message.get("role") == "assistant" and (text := text_of(message)):
            lines.append(f"{message.get('sender')}: {_short(text)}")
        for entry in message.get("tool_calls") or ():
            call = calls.get(entry["id"])
            lines.append(_told(call) if call is not None else f"{message.get('sender')} wants {call_name(entry)} (not run)")
    return [*lines, f"ended with {response.stop_reason!r}"]


def _told(call: ToolCall) -> str:
    shown = _shown(call.name, call.arguments) if is_dict(call.arguments) else f"{call.name}({call.arguments})"
    came = f"{call.outcome}: {call.error}" if call.error else call.outcome
    return _short(f"{call.agent} called {shown} ({came})") + (f", {call.handoff_to} took over" if call.handoff_to else "")


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
