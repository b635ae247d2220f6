"""Worker threads for blocking functions.

Our own pool, for three reasons: asyncio's has only a few threads, its threads are waited for when the interpreter exits (a tool that
timed out would hold it), and an exception such as StopIteration raised into a future would hang whoever waits for it.
So workers are daemons, grow as needed, go away when idle, and hand back an outcome instead of raising.
"""

from __future__ import annotations

import contextvars
import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

IDLE_SECONDS = 10.0
"""A worker without work for so long ends."""


class Job:
    """A function that runs in a worker.

    Attributes:
        value, error: what it came to; one of them counts once `done` is set.
        context: the copy of the caller's context that it ran in.
        given_up: whether nobody waits for it any more.
    """

    __slots__ = ("_before", "_callback", "_lock", "_stop", "context", "done", "error", "fn", "given_up", "value")

    def __init__(self, fn: Callable[[], Any]) -> None:
        self.fn = fn
        self.context = contextvars.copy_context()
        self._before = self.context.copy()
        self.done = threading.Event()
        self.value: Any = None
        self.error: BaseException | None = None
        self.given_up = False
        self._lock = threading.Lock()
        self._callback: Callable[[], Any] | None = None
        self._stop: Callable[[], Any] | None = None

    def run(self) -> None:
        """Run the function in the copied context; called by the worker."""
        _here.job = self
        try:
            self.value = self.context.run(self.fn)
        except BaseException as error:
            self.error = error.with_traceback(None) if self.given_up else error  # the traceback leads back here: a reference cycle
        _here.job = None
        with self._lock:
            self.done.set()
            callback, self._callback = self._callback, None
        if callback is not None:
            callback()

    def give_up(self) -> None:
        """Stop what can be stopped, since nobody waits for it any more: an async function that it waits for, now or later."""
        with self._lock:
            self.given_up = True
            stop = self._stop
        if stop is not None:
            stop()

    def stopped_by(self, stop: Callable[[], Any] | None) -> None:
        """Have `stop` called when the job is given up; at once if it was already. None: there is nothing more to stop."""
        with self._lock:
            self._stop = stop
            if stop is None or not self.given_up:
                return
        stop()

    def when_done(self, callback: Callable[[], Any]) -> None:
        """Call `callback` in the worker when the function has come back, or now if it has."""
        with self._lock:
            if not self.done.is_set():
                self._callback = callback
                return
        callback()

    def result(self) -> Any:
        """The value, or the exception raised. A StopIteration comes as a RuntimeError, since a generator could not pass it on."""
        if self.error is not None:
            error, self.error = self.error, None
            try:
                raise sayable(error)
            finally:
                del error  # a frame that kept its exception would be a reference cycle
        adopt(self.context, self._before)
        return self.value


_here = threading.local()


def current_job() -> Job | None:
    """The job that this thread runs, or None outside a worker."""
    return getattr(_here, "job", None)


def sayable(error: BaseException) -> BaseException:
    """The exception, or a RuntimeError in the place of one that a generator would take for its own end."""
    if isinstance(error, StopIteration | StopAsyncIteration):
        return RuntimeError(f"the function raised {type(error).__name__}")
    return error


def adopt(context: contextvars.Context, before: contextvars.Context) -> None:
    """Set in the current context what a function changed in a copy of it; what others changed here meanwhile stays.

    Args:
        context: the copy that the function ran in.
        before: the copy as it was before.
    """
    for variable, value in context.items():
        if before.get(variable, _MISSING) is not value:
            variable.set(value)


_MISSING = object()


class Pool:
    """Daemon threads that take jobs."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._jobs: deque[Job] = deque()
        self._idle = 0
        self._process = os.getpid()

    def submit(self, job: Job) -> None:
        """Start a job at once, in an idle worker or a new one."""
        if os.getpid() != self._process:  # threads do not survive a fork
            self.__init__()
        with self._condition:
            self._jobs.append(job)
            if self._idle >= len(self._jobs):
                self._condition.notify()
                return
        threading.Thread(target=self._work, name="swarm-worker", daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._condition:
                self._idle += 1
                found = self._condition.wait_for(lambda: self._jobs, IDLE_SECONDS)
                self._idle -= 1
                if not found:
                    return
                job = self._jobs.popleft()
            job.run()
            del job


POOL = Pool()
