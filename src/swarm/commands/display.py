"""What a conversation looks like: lines for a person, or JSON for a program. Both read the same events.

Texts of models and tools are printed as they are: never as markup, and with control characters made visible.
"""

from __future__ import annotations

from typing import Any, Protocol, TextIO

from rich.console import Console

from ..events import (
    Delta,
    Done,
    Event,
    HandedOff,
    LimitHit,
    MessageAdded,
    MessageDone,
    Nested,
    PolicyActed,
    ToolDone,
    ToolStarted,
)
from ..parts import placeholders
from ..repl.visible import call_text, json_line, visible
from ..types import Response, ToolCall

_EXPLAINED = ("complete", "stopped", "approval", "max_turns", "loop", "error")


class Display(Protocol):
    """Where a conversation is shown."""

    def event(self, event: Event) -> None:
        """Show what happens in a run."""
        ...

    def ended(self, response: Response | None) -> None:
        """A reply is over, or was stopped or failed; `response` is what came of it."""
        ...

    def user(self, text: str) -> None:
        """Show what the person said, where nobody typed it."""
        ...

    def note(self, text: str) -> None:
        """Show something that is not part of the conversation."""
        ...

    def error(self, text: str) -> None:
        """Show what went wrong."""
        ...


class Lines:
    """The conversation as text: in colour on a terminal, plain elsewhere and where NO_COLOR is set."""

    def __init__(self) -> None:
        self._console = Console(highlight=False)
        self._errors = Console(stderr=True, highlight=False)
        self._speaker: str | None = None
        self._said = False
        self._shown: set[str] = set()

    def event(self, event: Event) -> None:
        """Show an event, if it has a line."""
        self._event(event, "")

    def _event(self, event: Event, margin: str) -> None:
        match event:
            case Nested():
                self._event(event.event, margin + "    ")
            case Delta():
                self._say(event.agent, event.text, margin)
            case MessageDone():
                self._message(event, margin)
            case ToolStarted():
                self._call(event.id, event.name, event.arguments, margin)
            case ToolDone():
                self._result(event.call, str(event.message["content"]), margin)
            case MessageAdded() if shown := placeholders(event.message):
                self._line(f"{margin}  <- {' '.join(shown)}", "dim")
            case HandedOff():
                self._line(f"{margin}  => {event.agent} hands over to {event.to}", "green")
            case LimitHit():
                self._line(f"{margin}  ! stopped, {event.limit}: {event.reason}", "yellow")
            case PolicyActed() if event.policy != "Approval":  # what a person has just said
                self._line(f"{margin}  * {event.policy} {event.what} {event.reason}".rstrip(), "dim")
            case _:
                pass

    def _say(self, speaker: str, text: str, margin: str) -> None:
        if not text:
            return
        if self._speaker != margin + speaker:
            self._break()
            self._write(f"{margin}{speaker}: ", "bold blue")
            self._speaker = margin + speaker
        self._said = True
        self._write(text)

    def _message(self, event: MessageDone, margin: str) -> None:
        message = event.message
        if shown := placeholders(message):
            self._say(event.agent, f" {' '.join(shown)}" if self._said else " ".join(shown), margin)
        if not self._said and not message.get("tool_calls"):
            refusal = message.get("refusal")
            self._say(event.agent, f"(refused) {refusal}" if refusal else "(no text)", margin)
        self._break()
        self._said = False

    def _call(self, id: str, name: str, arguments: Any, margin: str) -> None:
        self._shown.add(id)
        self._line(f"{margin}  -> {call_text(name, arguments)}", "magenta")

    def _result(self, call: ToolCall, text: str, margin: str) -> None:
        if call.id not in self._shown:
            self._call(call.id, call.name, call.arguments, margin)
        self._shown.discard(call.id)
        ok = call.outcome == "ok"
        label = "" if ok else f"{call.outcome}: "
        lines = f"{label}{text if ok else text.removeprefix('Error: ')}" or "(empty)"
        self._line(f"{margin}  <- " + lines.replace("\n", f"\n{margin}     "), "dim" if ok else "red")

    def ended(self, response: Response | None) -> None:
        """Say why the reply is not complete, unless an event has said so."""
        self._begin_anew()
        reason = response.stop_reason if response is not None else "cancelled"
        if reason not in _EXPLAINED and not reason.startswith("limit:"):
            self._line("  ! stopped" if reason == "cancelled" else f"  ! stopped, {reason}", "yellow")

    def user(self, text: str) -> None:
        """A line as if it had been typed."""
        self._write("User: ", "dim")
        self._write(f"{text}\n")

    def note(self, text: str) -> None:
        """A line of its own."""
        self._line(text, "dim")

    def error(self, text: str) -> None:
        """A line on standard error."""
        self._begin_anew()
        self._errors.out(f"Error: {visible(text)}", style="red", highlight=False)

    def _begin_anew(self) -> None:
        self._break()
        self._said = False
        self._shown.clear()

    def _break(self) -> None:
        if self._speaker is not None:
            self._write("\n")
            self._speaker = None

    def _line(self, text: str, style: str) -> None:
        self._break()
        self._write(text, style)
        self._write("\n")

    def _write(self, text: str, style: str | None = None) -> None:
        if style is not None and self._console.is_terminal:
            self._console.out(visible(text), style=style, end="", highlight=False)
        else:  # the console would turn tabs into spaces
            self._console.file.write(visible(text))
            self._console.file.flush()


class Json:
    """Every event as one line of JSON. What is not an event goes to standard error.

    Args:
        out: where the lines go.
    """

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._notes = Console(stderr=True, highlight=False)
        self._done: Response | None = None

    def event(self, event: Event) -> None:
        """Write an event; the last of a run has its response in short."""
        if isinstance(event, Done):
            self._done = event.response
        self._write(event.as_dict())

    def ended(self, response: Response | None) -> None:
        """Write how the run ended, if no event has said so: one that was stopped, or failed."""
        if response is not None and response is not self._done:
            self.event(Done(response.agent.name if response.agent is not None else "", response))

    def _write(self, event: dict[str, Any]) -> None:
        print(json_line(event), file=self._out, flush=True)

    def user(self, text: str) -> None:
        """Not an event."""

    def note(self, text: str) -> None:
        """A line on standard error."""
        self._notes.out(visible(text), highlight=False)

    def error(self, text: str) -> None:
        """A line on standard error."""
        self.note(f"Error: {text}")
