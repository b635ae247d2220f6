"""What both drivers say and decide alike: time limits, broken streams, and what is thrown away."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from functools import partial
from time import monotonic
from typing import Any

from ..assembly import Assembler
from ..effects import CallModel, Flow, Together
from ..errors import Cancelled, InvalidReply, ModelError, ModelTimeout, OutOfTime, RunTimeout, StreamBroken, ToolTimeout
from ..run import Signal

logger = logging.getLogger("swarm")

CLOSING_SECONDS = 5.0
"""How long a run that is being closed may still call functions to tidy up."""

MOST_REFUSALS = 1000
"""How often a flow is told that its run is over before it is closed without more ado."""


class Limit:
    """How long something may still take.

    Args:
        until: the monotonic time at which it should be done.
        error: makes the exception for what is not.
    """

    __slots__ = ("error", "until")

    def __init__(self, until: float, error: Callable[[], Exception]) -> None:
        self.until = until
        self.error = error

    @property
    def is_over(self) -> bool:
        """Whether the time has run out."""
        return monotonic() >= self.until

    def left(self) -> float:
        """Seconds that are left; more than none, else the error is raised."""
        left = self.until - monotonic()
        if left <= 0:
            raise self.error()
        return left


class RunTime:
    """The time that a whole run may take. The flows side by side in it share one.

    Args:
        signal: the run's; it says `cancelled` once the time is over, so that a function that still runs can see it.
        seconds: how long, or None.

    Attributes:
        until: the monotonic time at which it is over, once the run has begun.
        over: whether the run was ended by it.
    """

    __slots__ = ("_seconds", "_signal", "over", "until")

    def __init__(self, signal: Signal, seconds: float | None) -> None:
        self._signal = signal
        self._seconds = seconds
        self.until: float | None = None
        self.over = False

    def begin(self) -> None:
        """Count from now, unless that was said before."""
        if self._seconds is not None and self.until is None:
            self.until = monotonic() + self._seconds

    def limit(self, own: float | None, error: Callable[[float], Exception]) -> Limit | None:
        """The limit of something within the run: its own or the run's, whichever comes first; None if there is neither.

        Args:
            own: the seconds that it may take, or None.
            error: makes the exception for its own limit.
        """
        if own is None:
            return None if self.until is None else Limit(self.until, self._end)
        until = monotonic() + own
        return Limit(until, partial(error, own)) if self.until is None or until < self.until else Limit(self.until, self._end)

    def _end(self) -> OutOfTime:
        self.over = True
        self._signal.cancel()
        return OutOfTime(f"the run took longer than its {self._seconds:g} s; what was done is on .response")


def outside(error: OutOfTime) -> RunTimeout:
    """The error of a run whose time is over, as whoever called it sees it."""
    shown = RunTimeout(*error.args)
    shown.response = error.response
    return shown


class Patience:
    """Counts how often a flow was told that its run is over. A policy that catches everything and asks again would never end it."""

    __slots__ = ("_refusals",)

    def __init__(self) -> None:
        self._refusals = 0

    def told(self, flow: Flow, failure: BaseException) -> BaseException:
        """What is to be thrown into a flow, as it is. If the flow was told too often, it is closed, and what it did not heed is raised."""
        self._refusals += isinstance(failure, Cancelled | OutOfTime)
        if self._refusals <= MOST_REFUSALS:
            return failure
        logger.warning("a run was told %d times to end and went on, so it is closed; a policy must pass on what ends a run", MOST_REFUSALS)
        try:
            flow.close()
        except (Exception, Cancelled):
            logger.debug("a run could not be closed", exc_info=True)
        try:
            raise failure
        finally:
            del failure  # a frame that kept its exception would be a reference cycle


def timed_out(seconds: float) -> ToolTimeout:
    """A tool's time limit, as the model is told."""
    return ToolTimeout(f"timed out after {seconds:g} s")


def no_answer(seconds: float) -> ModelTimeout:
    """The time limit of a model call, which a policy may have set."""
    return ModelTimeout(f"no answer within {seconds:g} s")


def broken(error: ModelError, assembler: Assembler) -> ModelError:
    """The error for a stream that failed: once a delta was handed on, a second try would repeat what was shown."""
    if not assembler.started or isinstance(error, StreamBroken):
        return error
    failure = StreamBroken(
        f"the stream broke off: {error}", status=error.status, body=error.body, request_id=error.request_id, cause=error.cause or error
    )
    failure.partial = assembler.partial()
    return failure


def at_once(effect: Together) -> int:
    """How many flows may run at a time; at least one, or none would ever end."""
    return max(1, effect.limit or len(effect.flows))


def iterator_of(chunks: Any, call: CallModel) -> Any:
    """The iterator, sync or async, of what a model's `stream` returned for a call.

    Raises:
        InvalidReply: it cannot be iterated.
    """
    try:
        return chunks.__aiter__() if hasattr(chunks, "__aiter__") else iter(chunks)
    except TypeError as error:
        raise InvalidReply(f"{type(call.client).__name__} answered with {chunks!r}; stream() must return an iterator of chunks") from error


def drop(value: Any) -> None:
    """Throw away what a function returned; a coroutine is closed, since Python warns of one that was never awaited."""
    if isinstance(value, Coroutine):
        value.close()


def close_stream(chunks: Any) -> None:
    """Close a provider's stream, if it can be closed. What that raises is only logged: the run has got from it all it wanted."""
    close = getattr(chunks, "close", None)
    if close is not None:
        try:
            drop(close())
        except Exception:
            not_closed()


def not_closed() -> None:
    """Log the exception at hand, which the closing of a provider's stream raised."""
    logger.debug("a provider's stream could not be closed", exc_info=True)
