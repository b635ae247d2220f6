"""Why an agent took over, why a run ended: the chain of causes behind an event, from a record of events alone.

Nothing of a run needs it. It reads the events of `stream()` and `on_event` as well as the JSON that `Event.as_dict()` made of them, so
that a file of one event a line is enough. What the causes are called stands in `events`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias, cast

from .events import Event

__all__ = ["explain"]

Json: TypeAlias = dict[str, Any]
Path: TypeAlias = tuple[str, ...]

_LONG = 80


def explain(events: Iterable[Event | Json], about: Event | Json | None = None) -> str:
    """The chain of causes behind an event, one line a cause, from the event back to what the caller gave.

    What policies did on the way stands below the turn or call that they stood around. Of several runs in one record the latest before
    the event counts.

    Args:
        events: what a run told, in order: events, or their JSON.
        about: which of them to explain; by default the last: for a whole run why it ended.

    Raises:
        ValueError: no events, or `about` is not one of them.
    """
    record, last = _Record(), None
    for event in events:
        path, told = _unwrapped(event)
        record.add(path, told)
        last = path, told
        if event is about or (about is not None and isinstance(event, dict) and event == about):
            break
    else:
        if about is not None:
            raise ValueError("the event to explain is not among the events given")
    if last is None:
        raise ValueError("there are no events, so there is nothing to explain")
    return "\n".join([_headline(last[1]), *record.behind(*last)])


def _unwrapped(event: Event | Json) -> tuple[Path, Json]:
    """The event itself, and the ids of the calls that its run is nested in."""
    told, path = event.as_dict() if isinstance(event, Event) else event, list[str]()
    while told["event"] == "Nested":
        path.append(told["call_id"])
        told = told["inner"]
    return tuple(path), told


class _Record:
    """What is known by name: turns, calls, limits, and what policies did about them."""

    def __init__(self) -> None:
        self._known: dict[tuple[Path, str], Json] = {}
        self._acts: dict[tuple[Path, str], list[Json]] = {}
        self._turn: dict[Path, Json] = {}

    def add(self, path: Path, told: Json) -> None:
        """Take note of an event."""
        match told["event"]:
            case "TurnStarted":
                self._turn[path] = self._known[path, f"turn:{told['turn']}"] = {**told, "did": "was asked"}
                self._acts.pop((path, f"turn:{told['turn']}"), None)  # of an earlier run
            case "MessageDone":
                message = cast("Json", told["message"])
                calls: list[Json] = message.get("tool_calls") or []
                named = [call["function"]["name"] for call in calls]
                did = f"called {', '.join(named)}" if named else f"answered {_short(message.get('content'))}"
                self._turn.get(path, {}).update(did=did, calls=[f"call:{call['id']}" for call in calls])
                for call in calls:
                    about = {"name": call["function"]["name"], "agent": told["agent"], "cause": told["cause"]}
                    self._known[path, f"call:{call['id']}"] = about
                    self._acts.pop((path, f"call:{call['id']}"), None)
            case "ToolStarted":
                self._known[path, f"call:{told['id']}"] = dict(told)
            case "ToolDone":
                call = cast("Json", told["call"])
                about = self._known.setdefault(
                    (path, f"call:{call['id']}"), {"name": call["name"], "agent": told["agent"], "cause": "input"}
                )
                about["came"] = call["outcome"] if call["outcome"] == "ok" else f"{call['outcome']}: {_short(told['message']['content'])}"
            case "LimitHit":
                self._known[path, f"limit:{told['limit']}"] = told
            case "PolicyActed":
                self._acts.setdefault((path, told["cause"]), []).append(told)
                self._known[path, f"policy:{told['policy']}"] = told
            case _:
                pass

    def behind(self, path: Path, told: Json) -> Iterator[str]:
        """The lines of what an event came from, the nearest first."""
        cause: str | None = told.get("cause") or (
            f"turn:{self._turn[path]['turn']}" if told["event"] in ("Delta", "PartialOutput") and path in self._turn else None
        )
        seen: set[tuple[Path, str]] = set()
        while cause is not None and (path, cause) not in seen:
            seen.add((path, cause))
            if cause == "input" and path:  # the run began inside a call
                path, cause = path[:-1], f"call:{path[-1]}"
            about = self._known.get((path, cause))
            yield f"  because {_line(cause, about)}"
            if not cause.startswith("policy:"):
                yield from self._done_about(path, cause, *(call for call in (about or {}).get("calls", ()) if (path, call) not in seen))
            cause = about["cause"] if about is not None else None

    def _done_about(self, path: Path, *causes: str) -> Iterator[str]:
        """What policies did about a call, or about a turn and those of its calls that have no line of their own."""
        for cause in causes:
            for act in self._acts.get((path, cause), ()):
                yield f"    {_act(act)}"


def _headline(told: Json) -> str:
    agent = told["agent"]
    match told["event"]:
        case "Done":
            return f"{agent} stopped: {told['stop_reason']}"
        case "HandedOff":
            return f"{agent} handed over to {told['to']}"
        case "Paused":
            return f"{agent} waits for a decision about {', '.join(call['id'] for call in told['pending'])}"
        case "TurnStarted":
            return f"{agent} was asked, turn {told['turn']}"
        case "ToolStarted":
            return f"{agent} called {told['name']}, {told['id']}"
        case kind:
            return f"{kind} of {agent}"


def _line(cause: str, about: Json | None) -> str:
    kind, _, name = cause.partition(":")
    match kind, about:
        case "input", _:
            return "of what the caller gave"
        case "cancel", _:
            return "whoever held the run ended it"
        case _, None:
            return f"of {cause}, which is not in this record"
        case "turn", _:
            return f"in turn {name} {about['agent']} {about['did']}"
        case "call", _:
            return f"of the call {name} of {about['name']}{', which came to ' if 'came' in about else ''}{about.get('came', '')}"
        case "limit", _:
            return f"the limit on {name} was hit: {about['reason']}"
        case _:
            return f"the policy {_act(about)}"


def _act(told: Json) -> str:
    return f"{told['policy']} {told['what']}{': ' if told['reason'] else ''}{told['reason']}"


def _short(content: Any) -> str:
    text = content if isinstance(content, str) else "" if content is None else str(content)
    return repr(text if len(text) <= _LONG else f"{text[:_LONG]}...")
