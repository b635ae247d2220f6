"""What the page shows of each conversation: plain texts and numbers, made here so that the page's script only puts them in place."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from ..parts import placeholder
from . import figures
from .summary import cost_of, in_file, tokens_of

if TYPE_CHECKING:
    from .records import CaseResult, Score

View = dict[str, Any]
_SAID = 200
"""So many characters of what the user said stand in the list."""


def views(results: Sequence[CaseResult]) -> list[View]:
    """What the page shows of each result: those that failed first, then as their cases stand in the files."""
    return [_view(result) for result in sorted(results, key=lambda result: (result.passed, in_file(result)))]


def for_script(shown: Sequence[View]) -> str:
    """The JSON for a `<script>` block: no "<" is left in it, so nothing that a model or a tool said can end the block
    (https://html.spec.whatwg.org/multipage/scripting.html#restrictions-for-contents-of-script-elements)."""
    lines = (json.dumps(view, ensure_ascii=False, allow_nan=False, separators=(",", ":")) for view in shown)
    return "[" + ",\n".join(lines).replace("<", "\\u003c") + "]"


def _view(result: CaseResult) -> View:
    error = result.error
    return {
        "case": result.case,
        "repetition": result.repetition,
        "passed": result.passed,
        "place": result.place,
        "tags": result.tags,
        "agent": result.agent,
        "path": " → ".join([result.agent, *(target for _, target in result.handoffs)]),
        "final": result.final_agent,
        "calls": ", ".join(f"{call['name']} {call['outcome']}" for call in result.calls),
        "stop": result.stop_reason,
        "seconds": result.seconds,
        "tokens": tokens_of(result),
        "cost": cost_of(result),
        "usage": _usage(result),
        "error": f"{error['type']}: {error['message']}" if error else "",
        "said": _said(result),
        "scores": [_score(name, score) for name, score in result.scores.items()],
        "messages": _messages(result),
        "state": text_for(result.state, indent=1) if result.state else "",
    }


def _usage(result: CaseResult) -> str:
    usage = result.usage
    taken = [figures.seconds(result.seconds), figures.counted(usage["model_calls"], "model call")]
    for kind in ("input", "output", "cached", "reasoning"):
        taken += [f"{usage[f'{kind}_tokens']:,} {kind} tokens"] if usage[f"{kind}_tokens"] else []
    taken.append(f"cost {_cost(cost_of(result))}")
    for name, apart in result.usage_apart.items():
        taken.append(f"apart from that the {name}: {apart['input_tokens'] + apart['output_tokens']:,} tokens, cost {_cost(apart['cost'])}")
    return ", ".join(taken)


def _cost(cost: float | None) -> str:
    return figures.UNKNOWN if cost is None else figures.money(cost)


def _said(result: CaseResult) -> str:
    given = [message for message in result.messages[: result.input] if message.get("role") == "user"]
    users = given[-1:] or [message for message in result.messages if message.get("role") == "user"]
    text = " ".join(_content(users[0])[0].split()) if users else ""
    return text if len(text) <= _SAID else text[: _SAID - 1] + "…"


def _score(name: str, score: Score) -> View:
    return {
        "name": name,
        "passed": score.passed,
        "value": f"{score.value:.3g}",
        "expected": text_for(score.expected),
        "actual": text_for(score.actual),
        "reason": score.reason,
    }


def text_for(value: Any, indent: int | None = None) -> str:
    """A value of a score or of the context as text: a string as it is, nothing for None, JSON for the rest."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False, default=str, indent=indent)


def _messages(result: CaseResult) -> list[View]:
    shown: list[View] = []
    speaker: str | None = None
    for number, message in enumerate(result.messages):
        role = str(message.get("role", ""))
        sender = message.get("sender")
        text, parts = _content(message)
        view = {
            "role": role if role in ("user", "assistant", "tool") else "system",
            "who": _who(role, message),
            "given": number < result.input,
            "text": text,
            "shown": parts,
            "calls": [_call(call) for call in message.get("tool_calls") or ()],
            "handoff": "",
        }
        if role == "assistant" and isinstance(sender, str):
            view["handoff"] = f"{speaker} → {sender}" if speaker not in (None, sender) else ""
            speaker = sender
        shown.append(view)
    return shown


def _who(role: str, message: View) -> str:
    if role == "tool":
        return f"result of {message.get('tool_name') or message.get('name') or 'a call'}"
    return str(message.get("sender") or message.get("name") or role)


def _content(message: View) -> tuple[str, list[str]]:
    """The text of a message, and what stands for its images and files."""
    content = message.get("content")
    if not isinstance(content, list):
        return str(content or message.get("refusal") or ""), []
    parts = [cast("View", part) for part in cast("list[Any]", content) if isinstance(part, dict)]
    texts = [part for part in parts if isinstance(part.get("text"), str)]
    return "\n".join(part["text"] for part in texts), [placeholder(part) for part in parts if part not in texts]


def _call(call: View) -> View:
    function: View = call.get("function") or {}
    return {"name": str(function.get("name") or ""), "arguments": _arguments(function.get("arguments"))}


def _arguments(text: Any) -> str:
    try:
        read = json.loads(text)
    except (TypeError, ValueError):  # what a model sent as arguments need not be JSON
        return str(text or "")
    if not isinstance(read, dict):
        return text_for(read)
    pairs = cast("dict[str, Any]", read)
    return ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in pairs.items())
