"""Checks on what goes into a run, what comes out of it, and what its tools are given and give back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import iscoroutinefunction, isgeneratorfunction
from typing import Any, Literal, get_args

from pydantic_core import to_json

from ..calls import Outcome, read
from ..effects import CallTool, Emit, Flow
from ..errors import GuardrailTripped, OutOfTime
from ..events import PolicyActed
from ..inside import inside
from ..run import Run
from .checking import Asking, Block
from .given import whole
from .speech import checked

Place = Literal["input", "output", "arguments", "result"]
_MESSAGES = {
    "input": "I cannot help with that.",
    "output": "I cannot say that.",
    "arguments": "The call was not made: its arguments are not allowed.",
    "result": "The result is withheld.",
}


class Guardrail:
    """Checks a text, and lets it pass, blocks it, or puts another in its place.

    A blocked input or output ends the run with the stop reason "guardrail:<name>" and the message as the last text of the assistant;
    everything done before stays in the Response.

    Args:
        check: a function, a coroutine function, or a generator function of effects (`swarm.effects`). It asks by parameter name for
            `text`, `tool`, `arguments`, `messages`, `context_variables`, `agent`, `run`, and returns None or True to let pass, False or a
            Block to block, or what to put in the place of what it looked at. `swarm.policies.checks` has some.
        on: where: "input" (the user's last message, once in a run), "output" (what the model answers to the user), "arguments" and
            "result" of each tool call, or several of these.
        name: what it is called in `stop_reason`; by default the name of the check.
        message: what is said in the place of what was blocked, where the check does not say it.
        on_block: "tell" ends the run where an input or output is blocked; about a call it tells the model, and the run goes on. "end" ends
            the run about a call too; "raise" raises GuardrailTripped, which carries the response.
        beside: whether an input is checked while the model is asked already. Nothing is shown and no tool is run before the check has
            passed; if it blocks, the call is given up. By default so if the check waits: a coroutine or generator function.
        window: characters of an output that are checked at a time, with those checked before, and then shown; by default the whole.

    Raises:
        AgentError: a check with a parameter that nobody fills.
        TypeError: a check that cannot be called.
        ValueError: another place, `on_block` or `window` than there is.
    """

    def __init__(
        self,
        check: Callable[..., Any],
        on: Place | Sequence[Place] = "output",
        *,
        name: str | None = None,
        message: str | None = None,
        on_block: Literal["tell", "end", "raise"] = "tell",
        beside: bool | None = None,
        window: int | None = None,
    ) -> None:
        self.on = (on,) if isinstance(on, str) else tuple(on)
        if not callable(check):
            raise TypeError(f"Guardrail(check={check!r}) must be a function that takes `text`")
        if not self.on or not set(self.on) <= set(get_args(Place)):
            raise ValueError(f"Guardrail(on={on!r}) must name one or more of {', '.join(get_args(Place))}")
        if on_block not in ("tell", "end", "raise"):
            raise ValueError(f"Guardrail(on_block={on_block!r}) must be 'tell', 'end' or 'raise'")
        if window is not None:
            whole("Guardrail(window=...)", window, ", a number of characters; None is for the whole text")
        self.name = name or getattr(check, "__name__", None) or type(check).__name__.lower()
        self.reason = f"guardrail:{self.name}"
        self.message, self.on_block, self.window, self.check = message, on_block, window, check
        called = check if hasattr(check, "__code__") else type(check).__call__
        waits = iscoroutinefunction(called) or isgeneratorfunction(called)
        self.beside = (waits if beside is None else beside) and not getattr(check, "everywhere", False)
        self.asking = Asking(check, self.name)
        if not {"arguments", "result"}.intersection(self.on):
            self.tool = None  # type: ignore[assignment]  # what is not looked at is not stood around

    model = checked

    def tool(self, call: CallTool) -> Flow:
        """Check what a tool is given, then what it gave back."""
        run, tool = inside(call.run), call.tool
        if "arguments" in self.on:
            text = to_json(call.arguments, fallback=str, inf_nan_mode="strings").decode()
            verdict = yield from self._verdict(call, "arguments", text, call.arguments)
            if isinstance(verdict, Outcome):
                return verdict
            if verdict is not None:
                call = call.replace(arguments=tool.arguments(verdict))
                yield self.acted(run, "rewrote the arguments of", tool.name)
        value = yield call
        if "result" not in self.on:
            return value
        outcome = value if isinstance(value, Outcome) else read(value, tool)
        if outcome.kind != "ok" or outcome.agent is not None:
            return value
        verdict = yield from self._verdict(call, "result", outcome.text)
        if verdict is None or isinstance(verdict, Outcome):
            return value if verdict is None else verdict
        outcome.value = verdict if outcome.value == outcome.text else outcome.value  # of Result(stop=True)
        outcome.text = verdict
        yield self.acted(run, "rewrote the result of", tool.name)
        return outcome

    def _verdict(self, call: CallTool, place: str, text: str, arguments: dict[str, Any] | None = None) -> Flow:
        """None, what is to stand there, or an Outcome. A check that fails is one as well: a Retry would run the tool again for an error."""
        try:
            verdict = yield from self.asking.verdict(inside(call.run), text, call.tool.name, arguments)
        except OutOfTime:
            raise
        except Exception as error:
            outcome = Outcome("refused", self.says(Block(), place))
            outcome.error = self.tripped(Block(reason=f"its check failed, {type(error).__name__}: {error}"), place)
            outcome.error.__cause__ = error.with_traceback(None)  # which leads to this frame
            return outcome
        return (yield from self._refused(call, verdict, place)) if isinstance(verdict, Block) else verdict

    def _refused(self, call: CallTool, block: Block, place: str) -> Flow:
        yield self.acted(inside(call.run), f"blocked the {place} of", call.tool.name, block.reason)
        outcome = Outcome("refused", self.says(block, place))
        if self.on_block == "end":
            outcome.stop, outcome.value = self.reason, outcome.text
        elif self.on_block == "raise":
            outcome.error = self.tripped(block, place)
        return outcome

    def says(self, block: Block, place: str) -> str:
        """What is said in the place of what was blocked."""
        return block.message or self.message or _MESSAGES[place]

    def tripped(self, block: Block, place: str) -> GuardrailTripped:
        """The error for `on_block="raise"`."""
        why = block.reason or self.says(block, place)
        return GuardrailTripped(f"the guardrail {self.name!r} blocked the {place}: {why} (what was done is on .response)", self.name)

    def acted(self, run: Run, what: str, of: str = "", why: str = "") -> Emit:
        """Tells of what was done."""
        return Emit(PolicyActed(run.agent.name, "Guardrail", f"{what} {of}".rstrip(), f"{self.name}: {why}" if why else self.name))
