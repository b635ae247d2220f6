"""The sync driver: answers effects by calling. No event loop is made unless an async function is met.

One generator drives a flow and hands out events as it goes; a run that nobody watches is the same generator without an event.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from functools import partial
from time import monotonic, perf_counter
from typing import Any

from ..effects import Call, CallModel, Emit, Flow, Now, Reply, Sleep, Together
from ..errors import Cancelled, ModelError, OutOfTime
from ..events import Done, Event
from ..models.client import faster, model_for
from ..run import Signal
from .common import CLOSING_SECONDS, Limit, Patience, RunTime, broken, close_stream, iterator_of, no_answer, outside, timed_out
from .gating import Gating, Work
from .reading import Reading
from .side_sync import Side
from .threads import POOL, Job, current_job, sayable

Events = Generator[Event, None, Any]


class SyncDriver:
    """Drives one run.

    Args:
        signal: how the holder of the run asks it to end.
        timeout: seconds for the whole run, or None.
    """

    def __init__(self, signal: Signal, timeout: float | None = None) -> None:
        self._signal = signal
        self._time = RunTime(signal, timeout)
        self._closing: float | None = None
        self._is_beside = False
        self._grouped = False
        self._client: Any = None
        self._ask: Any = None

    def drive(self, flow: Flow, grouped: bool = False) -> Events:
        """Drive a flow to its end: yields events, texts that came together as Texts if `grouped`; returns what the flow returns."""
        self._grouped = grouped
        answer: Any = None
        failure: BaseException | None = None
        patience = Patience()
        self._time.begin()
        try:
            while True:
                if failure is not None and self._closing is None and isinstance(failure, Cancelled):
                    self._closing = monotonic() + CLOSING_SECONDS
                try:
                    effect = flow.send(answer) if failure is None else flow.throw(patience.told(flow, failure))
                except StopIteration as stop:
                    return stop.value
                except OutOfTime as error:
                    if self._is_beside:
                        raise
                    raise outside(error) from None
                answer = failure = None
                is_end = type(effect) is Emit and type(effect.event) is Done
                if self._signal.cancelled and self._is_ending() and not is_end:
                    failure = Cancelled()
                    continue
                try:
                    if self._closing is not None and not is_end:
                        answer = self._while_closing(effect, self._closing)
                    elif type(effect) is Call:
                        answer = self._call(effect)
                    elif type(effect) is CallModel:
                        answer = (yield from self._streamed(effect)) if effect.stream else self._complete(effect)
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

    def _is_ending(self) -> bool:
        """Whether the holder of a run that says `cancelled` wants it to end now; not so if it is closing, or only its time is over."""
        return self._closing is None and not self._time.over

    def _look_for_an_end(self) -> None:
        """Raise Cancelled if the holder of the run wants it to end now."""
        if self._signal.cancelled and self._is_ending():
            raise Cancelled

    def _while_closing(self, effect: Any, until: float) -> Any:
        if monotonic() < until:
            if type(effect) is Emit:
                return None
            if type(effect) is Call:
                return self._call(effect)
        raise Cancelled

    def _clock(self, effect: Any) -> float | None:
        if type(effect) is Now:
            return monotonic()
        if type(effect) is Sleep:
            limit = self._time.limit(None, timed_out)
            left = effect.seconds if limit is None else limit.left()
            self._signal.wait(min(effect.seconds, left))
            if limit is not None and effect.seconds > left and not self._signal.cancelled:
                raise limit.error()
            return None
        raise TypeError(f"{effect!r} is no effect that a driver can answer")

    def _call(self, effect: Call) -> Any:
        started = perf_counter()
        stoppable = self._closing is None
        try:
            if effect.timeout is not None or (self._time.until is not None and not effect.lasting):
                return self._within_limit(effect)
            fn, context = effect.fn, effect.context
            value = fn(*effect.args, **effect.kwargs) if context is None else context.run(fn, *effect.args, **effect.kwargs)
            return value if type(value) is str else settled(value, stoppable)
        except (StopIteration, StopAsyncIteration) as error:
            raise sayable(error) from None
        finally:
            effect.seconds = perf_counter() - started

    def _within_limit(self, effect: Call) -> Any:
        limit = self._time.limit(effect.timeout, timed_out)
        assert limit is not None
        limit.left()
        return self.within(Job(lambda: _called(effect)), limit)

    def _complete(self, effect: CallModel) -> Reply:
        started = perf_counter()
        if effect.client is not self._client:  # kept, since nearly all calls of a run go to one
            self._client, self._ask = effect.client, model_for(effect.client).complete
        ask = self._ask
        try:
            if effect.timeout is not None or self._time.until is not None:
                limit = self._time.limit(effect.timeout, no_answer)
                assert limit is not None
                call = effect.replace(timeout=limit.left())
                return self.within(Job(lambda: settled(_in_context(call, ask))), limit)
            reply = _in_context(effect, ask)
            return reply if type(reply) is Reply else settled(reply)
        finally:
            effect.seconds = perf_counter() - started

    def _stream(self, effect: CallModel) -> Generator[Event, None, Reply]:
        reading = Reading(effect, self._grouped, self._signal, self._look_for_an_end)
        chunks: Iterator[Any] | None = None
        failure: ModelError | None = None
        try:
            chunks, together = self._opened(effect)
            for came in chunks:
                if together:
                    yield from reading.events(came)
                elif reading.partials is not None:
                    yield from reading.events_of(came)
                elif (event := reading.event(came)) is not None:
                    yield event
                if self._signal.cancelled:
                    self._look_for_an_end()
        except (Cancelled, KeyboardInterrupt) as cut:
            cut.partial = reading.partial()  # type: ignore[union-attr]  # a KeyboardInterrupt takes it too
            raise
        except ModelError as error:
            failure = broken(error, reading.assembler)
            if failure is error:
                raise
            raise failure from error
        finally:
            failure = None  # a frame that kept its exception would be a reference cycle
            close_stream(chunks)
            reading.ended()
        return reading.assembler.reply()

    def _streamed(self, effect: CallModel) -> Generator[Event, None, Reply]:
        return self._gated(effect) if effect.gates else self._stream(effect)

    def _gated(self, effect: CallModel) -> Generator[Event, None, Reply]:
        """A streamed reply whose text passes gates before it is shown."""
        gating, stream, reply = Gating(effect), self._stream(effect), None
        try:
            while not gating.is_cut:
                try:
                    event = next(stream)
                except StopIteration as end:
                    reply = end.value
                    yield from self._let_through(gating.end())
                    break
                yield from self._let_through(gating.take(event))
        except BaseException as error:
            failure = gating.failure(error)
            try:
                if failure is error:
                    raise
                raise failure from None
            finally:
                del failure  # a frame that kept its exception would be a reference cycle
        finally:
            stream.close()
        return gating.reply(reply)

    def _let_through(self, work: Work) -> Generator[Event, None, None]:
        answer: Any = None
        while True:
            try:
                item = work.send(answer)
            except StopIteration:
                return
            answer = None
            if isinstance(item, Event):
                yield item
            else:
                answer = yield from self._inside(item, self._signal)

    def _inside(self, flow: Flow, signal: Signal) -> Events:
        """Drive a flow that belongs to an effect of this one."""
        driver = SyncDriver(signal)
        driver._time = self._time
        driver._is_beside = True
        return driver.drive(flow)

    def _opened(self, effect: CallModel) -> tuple[Iterator[Any], bool]:
        """The stream, and whether it gives lists of the chunks that came together."""
        model = model_for(effect.client)
        batches = faster(model, "batches", "stream")
        return self._stream_of(effect, batches or model.stream), batches is not None

    def _stream_of(self, effect: CallModel, stream: Callable[[CallModel], Any]) -> Iterator[Any]:
        limit = self._time.limit(effect.timeout, no_answer)
        if limit is None:
            return opened(_in_context(effect, stream), effect)
        call = effect.replace(timeout=limit.left())
        job = Job(lambda: opened(_in_context(call, stream), call))
        try:
            return _Timed(self, self.within(job, limit), limit)
        except BaseException:
            job.when_done(lambda: close_stream(job.value))  # it may open yet
            raise

    def within(self, job: Job, limit: Limit) -> Any:
        """Run a job in a worker until its limit, which is not over yet; what comes later is thrown away.

        Raises:
            Exception: the limit's error, if it took longer.
        """
        seconds = min(max(0.0, limit.until - monotonic()), threading.TIMEOUT_MAX)
        outer = current_job() if self._closing is None else None
        POOL.submit(job)
        try:
            if outer is not None:
                outer.stopped_by(job.give_up)
            if job.done.wait(seconds):
                return job.result()
        except TimeoutError:
            if not limit.is_over:
                raise
        except BaseException:
            job.give_up()
            raise
        finally:
            if outer is not None:
                outer.stopped_by(None)
        job.give_up()
        raise limit.error()

    def _together(self, effect: Together) -> Generator[Event, None, list[Any]]:
        """One worker per flow drives it; their events reach the consumer through a queue."""
        if len(effect.flows) == 1:
            return [(yield from self._inside(effect.flows[0], self._signal))]
        side = Side(effect, self._signal, lambda flow, signal, tell: finish(self._inside(flow, signal), tell))
        outer = current_job()
        try:
            if outer is not None:
                outer.stopped_by(side.give_up)
            while side.goes_on():
                yield from side.news()
        except BaseException:
            self._signal.cancel()  # the others stop at their next effect; nobody waits for them
            side.give_up()
            raise
        finally:
            if outer is not None:
                outer.stopped_by(None)
        return side.results()


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
    """Reads an iterator step by step in a worker until its limit. It is never closed while a step is running."""

    def __init__(self, driver: SyncDriver, chunks: Iterator[Any], limit: Limit) -> None:
        self._driver = driver
        self._chunks = chunks
        self._limit = limit
        self._step: Job | None = None

    def __next__(self) -> Any:
        self._limit.left()
        chunks = self._chunks
        self._step = Job(lambda: next(chunks, None))
        chunk = self._driver.within(self._step, self._limit)
        if chunk is None:
            raise StopIteration
        return chunk

    def close(self) -> None:
        chunks = self._chunks
        if self._step is None:
            close_stream(chunks)
        else:
            self._step.when_done(lambda: close_stream(chunks))


def _in_context(effect: CallModel, fn: Callable[[CallModel], Any]) -> Any:
    return fn(effect) if effect.context is None else effect.context.run(fn, effect)


def _called(effect: Call) -> Any:
    run = effect.fn if effect.context is None else partial(effect.context.run, effect.fn)
    return settled(run(*effect.args, **effect.kwargs))


def settled(value: Any, stoppable: bool = True) -> Any:
    """The value, or what it comes to if it is awaitable.

    Args:
        value: what a function returned.
        stoppable: whether the wait ends when nobody waits for the job of this worker thread any more.
    """
    return _wait_for(value, stoppable) if hasattr(value, "__await__") else value


def opened(chunks: Any, call: CallModel) -> Iterator[Any]:
    """What a model's `stream` returned for a call, sync or async, to be read from sync code."""
    steps = iterator_of(settled(chunks), call)
    if not hasattr(steps, "__anext__"):
        return steps
    from .background import SyncIterator

    return SyncIterator(steps)


def _wait_for(awaitable: Any, stoppable: bool) -> Any:
    from .background import wait_for

    return wait_for(awaitable, stoppable)
