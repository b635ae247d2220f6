"""The async driver: answers effects by awaiting, on asyncio. A blocking tool runs in a worker thread, so it never stalls the loop.

Nothing but try/finally is open over a `yield`: a task group or a timeout there would cancel whoever reads the stream. Time limits stand
around single awaits, and an async generator inside is always closed by `aclosing`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator
from contextlib import aclosing, suppress
from functools import partial
from time import monotonic, perf_counter
from typing import Any

from ..effects import Call, CallModel, Emit, Flow, Now, Reply, Sleep, Together
from ..errors import Cancelled, ModelError, OutOfTime
from ..events import Done, Event
from ..models.client import blocks, faster, model_for
from ..run import Signal
from .common import (
    CLOSING_SECONDS,
    Limit,
    Patience,
    RunTime,
    broken,
    close_stream,
    drop,
    iterator_of,
    no_answer,
    not_closed,
    outside,
    timed_out,
)
from .gating import Gating, Work
from .reading import Reading
from .side_async import Side
from .threads import POOL, Job, sayable


class AsyncDriver:
    """Drives one run.

    Args:
        signal: how the holder of the run asks it to end.
        timeout: seconds for the whole run, or None.

    Attributes:
        signal: as given.
        time: the run's time limit.
        interrupted: whether the holder cancelled the task that reads the run, besides giving the signal.
        result: what the flow returned, once it has.
    """

    def __init__(self, signal: Signal, timeout: float | None = None) -> None:
        self.signal = signal
        self.time = RunTime(signal, timeout)
        self.interrupted = False
        self._is_beside = False
        self._closing: float | None = None
        self._client: Any = None
        self._ask: Any = None
        self._blocking = False
        self.result: Any = None

    async def drive(self, flow: Flow, grouped: bool = False) -> AsyncGenerator[Event, None]:
        """Drive a flow to its end: yields events, texts that came together as Texts if `grouped`; what the flow returns is `result`."""
        answer: Any = None
        failure: BaseException | None = None
        patience = Patience()
        self.time.begin()
        try:
            while True:
                try:
                    effect = flow.send(answer) if failure is None else flow.throw(patience.told(flow, self._cancelled(failure)))
                except StopIteration as stop:
                    self.result = stop.value
                    return
                except OutOfTime as error:
                    if self._is_beside:
                        raise
                    raise outside(error) from None
                answer = failure = None
                is_end = type(effect) is Emit and type(effect.event) is Done
                if self.signal.cancelled and self.is_ending() and not is_end:
                    failure = Cancelled()
                    continue
                try:
                    if self._closing is not None and not is_end:
                        answer = await self._while_closing(effect, self._closing)
                    elif type(effect) is Call or (type(effect) is CallModel and not effect.stream):
                        started = perf_counter()
                        try:
                            answer = self._complete(effect) if isinstance(effect, CallModel) else self._call(effect)
                            if type(answer) is not str and type(answer) is not Reply and hasattr(answer, "__await__"):
                                answer = await answer
                        finally:
                            effect.seconds = perf_counter() - started
                    elif type(effect) is Emit:
                        yield effect.event
                    elif type(effect) is CallModel or type(effect) is Together:
                        inner = self._inner(effect, grouped)
                        try:
                            while await inner.more():
                                for event in inner.news():
                                    yield event
                            answer = inner.result()
                        except BaseException as error:
                            explained = inner.explain(error)
                            if explained is error:
                                raise
                            raise explained from error
                        finally:
                            explained = None  # as at the end
                            await inner.close()
                    else:
                        answer = await self._clock(effect)
                except GeneratorExit:
                    flow.close()
                    raise
                except BaseException as error:
                    failure = sayable(error)
        finally:
            failure = None  # a frame that kept its exception would be a reference cycle

    def is_ending(self) -> bool:
        """Whether the holder of a run that says `cancelled` wants it to end now; not so if it is closing, or only its time is over."""
        return self._closing is None and not self.time.over

    def look_for_an_end(self) -> None:
        """Raise Cancelled if the holder wants the run to end now; called before a wait too, since nobody wakes a silent provider."""
        if self.signal.cancelled and self.is_ending():
            raise Cancelled

    def _cancelled(self, failure: BaseException) -> BaseException:
        """Turn a cancellation that the holder of the run asked for into Cancelled; leave one of anybody else alone."""
        ours = self.interrupted or self._is_beside
        if ours and self.signal.cancelled and self.is_ending() and isinstance(failure, asyncio.CancelledError):
            task = asyncio.current_task()
            if task is not None and task.uncancel() > 0:
                return failure
            failure = _cut(failure)
        if isinstance(failure, Cancelled) and self._closing is None:
            self._closing = monotonic() + CLOSING_SECONDS
        return failure

    async def _while_closing(self, effect: Any, until: float) -> Any:
        if monotonic() < until:
            if type(effect) is Emit:
                return None
            if type(effect) is Call:
                value = self._call(effect)
                return await value if hasattr(value, "__await__") else value
        raise Cancelled

    async def _clock(self, effect: Any) -> float | None:
        if type(effect) is Now:
            return monotonic()
        if type(effect) is Sleep:
            await within(asyncio.sleep(effect.seconds), self.time.limit(None, timed_out))
            return None
        raise TypeError(f"{effect!r} is no effect that a driver can answer")

    def _call(self, effect: Call) -> Any:
        """What a function returned, or what is to be awaited for it."""
        if effect.worker or effect.timeout is not None or effect.context is not None or self.time.until is not None:
            return self._call_apart(effect)
        return effect.fn(*effect.args, **effect.kwargs)

    async def _call_apart(self, effect: Call) -> Any:
        """A call that leaves the loop, has a time limit, or runs in a context of its own."""
        limit = None if effect.lasting else self.time.limit(effect.timeout, timed_out)
        run = effect.fn if effect.context is None else partial(effect.context.run, effect.fn)
        if effect.worker or effect.timeout is not None:
            value = await hop(lambda: run(*effect.args, **effect.kwargs), limit, drop)
        else:
            if limit is not None:
                limit.left()
            value = run(*effect.args, **effect.kwargs)
        return await within(_with_context(value, effect.context), limit) if hasattr(value, "__await__") else value

    def _complete(self, effect: CallModel) -> Any:
        """A model's answer, or what is to be awaited for it."""
        if effect.client is not self._client:
            self._meet(effect.client)
        if self._blocking or effect.timeout is not None or effect.context is not None or self.time.until is not None:
            return self._complete_apart(effect)
        return self._ask(effect)

    def _meet(self, client: Any) -> None:
        """Find out how a client is asked. Kept, since nearly all calls of a run go to one."""
        model = model_for(client)
        own = faster(model, "acomplete", "complete")
        self._client, self._ask, self._blocking = client, own or model.complete, own is None and blocks(model, model.complete)

    async def _complete_apart(self, effect: CallModel) -> Reply:
        """A model call that leaves the loop, has a time limit, or runs in a context of its own."""
        limit = self.time.limit(effect.timeout, no_answer)
        call = effect if limit is None else effect.replace(timeout=limit.left())
        reply = await asked(call, self._ask, self._blocking, limit)
        return await within(_with_context(reply, effect.context), limit) if hasattr(reply, "__await__") else reply

    def _inner(self, effect: CallModel | Together, grouped: bool) -> _Stream | Side:
        """What answers an effect that tells events."""
        if isinstance(effect, Together):
            return Side(self, effect)
        return _Gated(self, effect, grouped) if effect.gates else _Stream(self, effect, grouped)

    def beside(self) -> AsyncDriver:
        """A driver for a flow beside this one, with the same signal and time limit."""
        other = AsyncDriver(self.signal)
        other.time = self.time
        other._is_beside = True
        return other


class _Stream:
    """One streamed reply: reads chunks, hands out Delta events, closes the provider's stream once."""

    def __init__(self, driver: AsyncDriver, effect: CallModel, grouped: bool) -> None:
        self._driver = driver
        self._effect = effect
        self._reading = Reading(effect, grouped, driver.signal, driver.look_for_an_end)
        self._chunks: Any = None
        self._limit: Limit | None = None
        self._running: Job | None = None
        self._step: Callable[[], Awaitable[Any]] | None = None
        self._blocking = False
        self._together = False
        self._came: Any = None

    async def more(self) -> bool:
        """Read on; whether anything came."""
        if self._driver.signal.cancelled:
            self._driver.look_for_an_end()
        if self._chunks is None:
            await self._open()
        if self._step is not None:
            try:
                self._came = await self._step()
            except StopAsyncIteration:
                return False
        else:
            self._came = await within(self._chunk(), self._limit)
        return self._came is not None

    def news(self) -> Iterable[Event]:
        """The events for what came."""
        if self._together:
            return self._reading.events(self._came)
        if self._reading.partials is not None:
            return self._reading.events_of(self._came)
        event = self._reading.event(self._came)
        return () if event is None else (event,)

    async def _open(self) -> None:
        limit = self._limit = self._driver.time.limit(self._effect.timeout, no_answer)
        call = self._effect if limit is None else self._effect.replace(timeout=limit.left())
        model = model_for(call.client)
        batches = faster(model, "abatches", "astream", "stream")
        own = batches or faster(model, "astream", "stream")
        self._together = batches is not None
        self._blocking = own is None and blocks(model, model.stream)
        chunks = await asked(call, own or model.stream, self._blocking, limit)
        if hasattr(chunks, "__await__"):
            chunks = await within(chunks, limit)
        self._chunks = iterator_of(chunks, call)
        if hasattr(self._chunks, "__anext__") and limit is None:
            self._step = self._chunks.__anext__  # no time limit, so a step needs nothing around it

    async def _chunk(self) -> Any:
        if hasattr(self._chunks, "__anext__"):
            try:
                return await self._chunks.__anext__()
            except StopAsyncIteration:
                return None
        if not self._blocking:
            return next(self._chunks, None)
        chunks = self._chunks
        self._running = Job(lambda: next(chunks, None))
        value = await in_worker(self._running)
        self._running = None
        return value

    def result(self) -> Reply:
        return self._reading.assembler.reply()

    def explain(self, error: BaseException) -> BaseException:
        """The error as the loop should see it, with what had arrived."""
        if isinstance(error, Cancelled | asyncio.CancelledError):
            error.partial = self._reading.partial()  # type: ignore[union-attr]  # a CancelledError takes it too
        return broken(error, self._reading.assembler) if isinstance(error, ModelError) else error

    async def close(self) -> None:
        self._reading.ended()
        chunks, self._chunks = self._chunks, None
        if self._running is not None:  # a generator that runs in another thread cannot be closed now
            self._running.give_up()
            self._running.when_done(lambda: close_stream(chunks))
            return
        close = getattr(chunks, "aclose", None) or getattr(chunks, "close", None)
        if close is None:
            return
        try:
            result = close()
            if hasattr(result, "__await__"):
                await result
        except Exception:
            not_closed()


class _Gated(_Stream):
    """One streamed reply whose text passes gates before it is shown."""

    def __init__(self, driver: AsyncDriver, effect: CallModel, grouped: bool) -> None:
        super().__init__(driver, effect, grouped)
        self._gating = Gating(effect)
        self._ready: list[Event] = []
        self._reply: Reply | None = None

    async def more(self) -> bool:
        """Read on, until there is something to show; whether there is."""
        self._ready.clear()
        while not (self._ready or self._gating.is_cut or self._reply is not None):
            if await super().more():
                for event in super().news():
                    await self._let_through(self._gating.take(event))
            else:
                self._reply = super().result()
                await self._let_through(self._gating.end())
        return bool(self._ready)

    def news(self) -> Iterator[Event]:
        """The events that may be shown now."""
        return iter(self._ready)

    async def _let_through(self, work: Work) -> None:
        answer: Any = None
        while True:
            try:
                item = work.send(answer)
            except StopIteration:
                return
            answer = None
            if isinstance(item, Event):
                self._ready.append(item)
                continue
            driver = self._driver.beside()
            async with aclosing(driver.drive(item)) as events:
                self._ready += [event async for event in events]
            answer = driver.result

    def result(self) -> Reply:
        return self._gating.reply(self._reply)

    def explain(self, error: BaseException) -> BaseException:
        explained = super().explain(error)
        if explained is not error:
            explained.__cause__ = error
        return self._gating.failure(explained)


def _cut(error: BaseException) -> Cancelled:
    cut = Cancelled()
    cut.partial = getattr(error, "partial", None)
    return cut


async def within(awaitable: Awaitable[Any], limit: Limit | None) -> Any:
    """Await something, for as long as its limit allows.

    Raises:
        Exception: the limit's error, if it took longer.
    """
    if limit is None:
        return await awaitable
    try:
        scope = asyncio.timeout(limit.left())
    except BaseException:
        drop(awaitable)
        raise
    try:
        async with scope:
            return await awaitable
    except TimeoutError:
        if not scope.expired() and not limit.is_over:
            raise
    finally:
        del scope  # it leads to the task, which keeps its exception, which leads back here
    raise limit.error()


async def _with_context(awaitable: Awaitable[Any], context: Any) -> Any:
    if context is None:
        return await awaitable
    try:
        return await asyncio.create_task(_await(awaitable), context=context)
    except asyncio.CancelledError:
        drop(awaitable)  # a task that is cancelled before it begins leaves it as it was
        raise


async def _await(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


async def asked(call: CallModel, fn: Callable[[CallModel], Any], blocking: bool, limit: Limit | None) -> Any:
    """Call a model's method, in a worker if it may block."""
    run = fn if call.context is None else partial(call.context.run, fn)
    return await hop(lambda: run(call), limit, close_stream) if blocking else run(call)


async def hop(fn: Callable[[], Any], limit: Limit | None, late: Callable[[Any], None]) -> Any:
    """Run a blocking function in a worker thread.

    Args:
        fn: the function.
        limit: how long it is waited for.
        late: gets what it returned when nobody waited any more.
    """
    job = Job(fn)
    try:
        return await within(in_worker(job), limit)
    except BaseException:
        job.give_up()
        job.when_done(lambda: late(job.value))
        raise


async def in_worker(job: Job) -> Any:
    """Run a job in a worker and wait for it without blocking the loop."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[None] = loop.create_future()

    def wake() -> None:
        with suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits any more
            loop.call_soon_threadsafe(lambda: future.done() or future.set_result(None))

    job.when_done(wake)
    POOL.submit(job)
    await future
    return job.result()
