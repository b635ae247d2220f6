"""Retry: asks once more for what failed only for the moment.

The waits follow "Exponential Backoff And Jitter" (aws.amazon.com/builders-library/timeouts-retries-and-backoff-with-jitter) in its form
"full jitter": of many callers that failed together no two come back together. Only what a provider may answer differently next time is
asked again; that is what `swarm.errors.TransientError` means. After the first delta of a stream the drivers raise StreamBroken, which is
none, so that no text is shown twice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import count
from random import random as chance
from typing import Any

from ..effects import CallModel, CallTool, Emit, Flow, Now, Sleep
from ..errors import SwarmError, ToolTimeout, TransientError
from ..events import PolicyActed
from .given import a_time, names, whole

FIRST = 1.0
"""Seconds before the second try at most; twice as many before each further one."""

LONGEST = 30.0
"""Seconds of a wait at most, unless the provider asks for more."""


class Retry:
    """Tries again what failed for the moment: model calls with a `TransientError`, and tools that may run again.

    A wait is a random part of 1 s, 2 s, 4 s, ..., at most 30 s, after what the provider asked for (`Retry-After`). A wait that would last
    longer than `seconds` allows, or past the end of the run, is not begun: the error is raised at once, with a note that says so.

    Args:
        tries: how often a model is asked at most, the first time included.
        seconds: how long after the first failure another try may begin.
        tools: names of tools that are tried as often, whatever they raise; True for all. Never one with `effect="once"`, nor an agent.
            A tool with `retries=` is tried as often as that says, with waits between.
        random: gives a number from 0 to 1, for the part of each wait; a seeded `random.Random(7).random` makes runs repeatable.

    Raises:
        ValueError: fewer than 1 try, or negative seconds.
        TypeError: something that is no number, or `tools` that are no list of names.
    """

    def __init__(
        self,
        tries: int = 5,
        seconds: float = 60.0,
        *,
        tools: bool | Collection[str] = False,
        random: Callable[[], float] = chance,
    ) -> None:
        whole("Retry(tries=...)", tries, ", which is no retry")
        a_time("Retry(seconds=...)", seconds)
        if not seconds >= 0:  # NaN is neither
            raise ValueError(f"Retry(seconds={seconds!r}) must not be negative")
        if isinstance(tools, str):
            raise TypeError(f"Retry(tools={tools!r}) must be a list of names, or True for all tools: tools=[{tools!r}]")
        self.tries = tries
        self.seconds = seconds
        self._every_tool = tools is True
        self._tools = frozenset(() if isinstance(tools, bool) else names("Retry(tools=...)", tools, "tools"))
        self._random = random

    def model(self, call: CallModel) -> Flow:
        """Ask a model until it answers."""
        began = None
        for tried in count(1):
            try:
                return (yield call)
            except TransientError as error:
                began = yield from self._again(call, "the model", error, tried, self.tries, began)
                if began is None:
                    raise

    def tool(self, call: CallTool) -> Flow:
        """Run a tool until it returns."""
        tool = call.tool
        tries = tool.retries + 1 if tool.retries or not (self._every_tool or tool.name in self._tools) else self.tries
        if tries == 1 or tool.effect == "once" or tool.nested is not None:
            return (yield call)
        single, began = call.replace(tries=1), None
        for tried in count(1):
            try:
                return (yield single)
            except Exception as error:
                # An error of ours is a decision, such as a limit's; these two are failures of the moment.
                if isinstance(error, SwarmError) and not isinstance(error, TransientError | ToolTimeout):
                    raise
                began = yield from self._again(call, tool.name, error, tried, tries, began)
                if began is None:
                    raise

    def _again(self, call: CallModel | CallTool, what: str, error: Exception, tried: int, tries: int, began: Any) -> Flow:
        """Wait for the next try, if there is one. Returns the time of the first failure, or None to give up."""
        now: float = yield Now()
        began = now if began is None else began
        asked = error.retry_after if isinstance(error, TransientError) else None
        wait = (asked or 0.0) + self._random() * min(LONGEST, FIRST * 2 ** min(tried - 1, 30))
        reason = f"{type(error).__name__}: {error}"
        why = self._refusal(call, now, wait, began) if tried < tries else f"{tried} tries"
        if why is not None:
            if tries > 1:
                error.add_note(f"Retry gave up: {why}")
                yield Emit(PolicyActed(call.agent.name, "Retry", f"gave up {what}, {why}", reason))
            return None
        yield Emit(PolicyActed(call.agent.name, "Retry", f"tries {what} again in {wait:.1f} s ({tried + 1} of {tries})", reason))
        yield Sleep(wait)
        return began

    def _refusal(self, call: CallModel | CallTool, now: float, wait: float, began: float) -> str | None:
        """Why a wait is too long, or None."""
        if now + wait - began > self.seconds:
            return f"the next try may begin in {wait:.1f} s, later than {self.seconds:g} s after the first failure"
        end = call.run.deadline if call.run is not None else None
        if end is not None and now + wait >= end:
            return f"the next try may begin in {wait:.1f} s, and the run ends in {max(0.0, end - now):.1f} s"
        return None
