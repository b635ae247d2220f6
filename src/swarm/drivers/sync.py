"""The sync driver: answers effects by calling. No event loop is made unless an async function is met.

One generator drives a flow and hands out events as it goes; a run that nobody watches is the same generator without an event.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Generator, Iterator
from functools import partial
from time import monotonic, perf_counter
from typing import Any

from ..assembly import Assembler
from ..effects import Call, CallModel, Emit, Flow, Now, Reply, Sleep, Together
from ..errors import Cancelled, ModelError, RunTimeout, ToolTimeout
from ..events import Delta, Done, Event, nested
from ..models.client import model_for
from ..run import Signal
from .common import CLOSING_SECONDS, broken, out_of_time, timed_out
from .threads import POOL, Job, sayable

Events = Generator[Event, None, Any]


class SyncDriver:
    """Drives one run.

    Args:
        signal: how the holder of the run asks it to end.
        timeout: seconds for the whole run, or None.
    """

    def __init__(self, signal: Signal, timeout: float | None = None) -> None:
        self._signal = signal
        self._timeout = timeout
        self._deadline: float | None = None
        self._closing: float | None = None

    def drive(self, flow: Flow) -> Events:
        """Drive a flow to its end: yields events, returns what the flow returns."""
        answer: Any = None
        failure: BaseException | None = None
        if self._timeout is not None and self._deadline is None:
            self._deadline = monotonic() + self._timeout
        try:
            while True:
                if isinstance(failure, Cancelled) and self._closing is None:
                    self._closing = monotonic() + CLOSING_SECONDS
                try:
                    effect = flow.send(answer) if failure is None else flow.throw(failure)
                except StopIteration as stop:
                    return stop.value
                answer = failure = None
                is_end = type(effect) is Emit and type(effect.event) is Done
                if self._signal.cancelled and self._closing is None and not is_end:
                    failure = Cancelled()
                    continue
                try:
                    if self._closing is not None and not is_end:
                        answer = self._while_closing(effect, self._closing)
                    elif type(effect) is Call:
                        answer = self._call(effect)
                    elif type(effect) is CallModel:
                        answer = (yield from self._stream(effect)) if effect.stream else self._complete(effect)
                    elif type(effect) is Emit:
                        yield effect.event
                    elif type(effect) is Together:
                        answer = yield from self._together(effect)
                    else:
                        answer = self._clock(effect)
                except GeneratorExit:
                    flow.close()
                    raise
                except BaseException as error:
                    failure = error
        finally:
            failure = None  # a frame that kept its exception would be a reference cycle

    def _while_closing(self, effect: Any, until: float) -> Any:
        if type(effect) is Emit:
            return None
        if type(effect) is Call and monotonic() < until:
            return self._call(effect)
        raise Cancelled

    def _clock(self, effect: Any) -> float | None:
        if type(effect) is Now:
            return monotonic()
        if type(effect) is Sleep:
            until = monotonic() + effect.seconds
            if self._deadline is not None and until > self._deadline:
                self._signal.wait(max(0.0, self._deadline - monotonic()))
                raise out_of_time(self._timeout)
            self._signal.wait(effect.seconds)
            return None
        raise TypeError(f"{effect!r} is no effect that a driver can answer")

    def _call(self, effect: Call) -> Any:
        started = perf_counter()
        try:
            if effect.timeout is None and self._deadline is None:
                fn, context = effect.fn, effect.context
                value = fn(*effect.args, **effect.kwargs) if context is None else context.run(fn, *effect.args, **effect.kwargs)
                return value if type(value) is str else settled(value)
            limit, whole_run = self._limit(effect.timeout)
            return self._within(
                lambda: _called(effect), limit, lambda: out_of_time(self._timeout) if whole_run else timed_out(effect.timeout)
            )
        except (StopIteration, StopAsyncIteration) as error:
            raise sayable(error) from None
        finally:
            effect.seconds = perf_counter() - started

    def _complete(self, effect: CallModel) -> Reply:
        started = perf_counter()
        model = model_for(effect.client)
        try:
            if self._deadline is None and effect.context is None:
                reply = model.complete(effect)
                return reply if type(reply) is Reply else settled(reply)
            effect.timeout = limit = self._limit(effect.timeout)[0]
            return self._within(lambda: settled(_in_context(effect, model.complete)), limit, lambda: out_of_time(self._timeout))
        finally:
            effect.seconds = perf_counter() - started

    def _stream(self, effect: CallModel) -> Generator[Event, None, Reply]:
        started = perf_counter()
        effect.timeout, _ = self._limit(effect.timeout)
        assembler = Assembler(effect.agent.name)
        chunks = self._opened(effect)
        try:
            for chunk in chunks:
                delta = assembler.feed(chunk)
                if delta is not None:
                    event = Delta(effect.agent.name, delta)
                    yield nested(effect.path, event) if effect.path else event
                if self._signal.cancelled:
                    raise Cancelled
        except Cancelled as cut:
            cut.partial = assembler.partial()
            raise
        except ModelError as error:
            raise broken(error, assembler) from error
        finally:
            _close(chunks)
            effect.seconds = perf_counter() - started
        return assembler.reply()

    def _opened(self, effect: CallModel) -> Iterator[Any]:
        stream = model_for(effect.client).stream
        if self._deadline is None:
            return opened(_in_context(effect, stream))
        limit, _ = self._limit(None)
        return _Timed(self, self._within(lambda: opened(_in_context(effect, stream)), limit, lambda: out_of_time(self._timeout)))

    def within_deadline(self, job: Job) -> Any:
        """Run a job in a worker for as long as the run has left; what comes later is thrown away.

        Raises:
            RunTimeout: the run's time is over.
        """
        limit, _ = self._limit(None)
        POOL.submit(job)
        if not job.done.wait(limit):
            raise out_of_time(self._timeout)
        return job.result()

    def _limit(self, own: float | None) -> tuple[float | None, bool]:
        """Seconds that something may take, and whether it is the run's limit that says so."""
        if self._deadline is None:
            return own, False
        left = self._deadline - monotonic()
        if left <= 0:
            raise out_of_time(self._timeout)
        return (own, False) if own is not None and own < left else (left, True)

    def _within(
        self,
        fn: Callable[[], Any],
        seconds: float | None,
        error: Callable[[], RunTimeout | ToolTimeout],
    ) -> Any:
        """Run a function in a worker, for so many seconds at most; what comes later is thrown away."""
        job = Job(fn)
        POOL.submit(job)
        if not job.done.wait(seconds):
            raise error()
        return job.result()

    def _together(self, effect: Together) -> Generator[Event, None, list[Any]]:
        """One worker per flow drives it; their events reach the consumer through a queue."""
        news: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
        waiting = list(enumerate(effect.flows))[::-1]
        running: dict[int, Job] = {}
        results: dict[int, Any] = {}
        try:
            while waiting or running:
                while waiting and (effect.limit is None or len(running) < effect.limit):
                    number, flow = waiting.pop()
                    job = running[number] = Job(lambda flow=flow, number=number: self._side_by_side(flow, number, news))
                    job.when_done(lambda number=number: news.put((number, None)))
                    POOL.submit(job)
                number, event = news.get()
                if event is not None:
                    yield event
                else:
                    results[number] = running.pop(number).result()
        except BaseException:
            self._signal.cancelled = True  # the others stop at their next effect; nobody waits for them
            for _, flow in waiting:
                flow.close()
            raise
        return [results[number] for number in range(len(effect.flows))]

    def _side_by_side(self, flow: Flow, number: int, news: queue.SimpleQueue[tuple[int, Any]]) -> Any:
        driver = SyncDriver(self._signal, self._timeout)
        driver._deadline = self._deadline
        return finish(driver.drive(flow), lambda event: news.put((number, event)))


def finish(events: Events, observe: Callable[[Event], Any] | None = None) -> Any:
    """Drive to the end; returns what the flow returns.

    Args:
        events: from `SyncDriver.drive`.
        observe: called with each event.
    """
    while True:
        try:
            event = next(events)
        except StopIteration as stop:
            return stop.value
        if observe is not None:
            observe(event)


class _Timed(Iterator[Any]):
    """Reads an iterator step by step in a worker, for as long as the run has left. It is never closed while a step is running."""

    def __init__(self, driver: SyncDriver, chunks: Iterator[Any]) -> None:
        self._driver = driver
        self._chunks = chunks
        self._step: Job | None = None

    def __next__(self) -> Any:
        self._step = Job(lambda: next(self._chunks, None))
        chunk = self._driver.within_deadline(self._step)
        if chunk is None:
            raise StopIteration
        return chunk

    def close(self) -> None:
        if self._step is None:
            _close(self._chunks)
        else:
            self._step.when_done(lambda: _close(self._chunks))


def _close(chunks: Any) -> None:
    close = getattr(chunks, "close", None)
    if close is not None:
        close()


def _in_context(effect: CallModel, fn: Callable[[CallModel], Any]) -> Any:
    return fn(effect) if effect.context is None else effect.context.run(fn, effect)


def _called(effect: Call) -> Any:
    run = effect.fn if effect.context is None else partial(effect.context.run, effect.fn)
    return settled(run(*effect.args, **effect.kwargs))


def settled(value: Any) -> Any:
    """The value, or what it comes to if it is awaitable."""
    return _wait_for(value) if hasattr(value, "__await__") else value


def opened(chunks: Any) -> Iterator[Any]:
    """What a model's `stream` returned, sync or async, to be read from sync code."""
    chunks = settled(chunks)
    if hasattr(chunks, "__anext__") or hasattr(chunks, "__aiter__"):
        from .background import SyncIterator

        return SyncIterator(chunks.__aiter__())
    return iter(chunks)


def _wait_for(awaitable: Any) -> Any:
    from .background import wait_for

    return wait_for(awaitable)
