"""The async driver: answers effects by awaiting, on asyncio. A blocking tool runs in a worker thread, so it never stalls the loop.

Nothing but try/finally is open over a `yield`: a task group or a timeout there would cancel whoever reads the stream. Time limits stand
around single awaits, and an async generator inside is always closed by `aclosing`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from functools import partial
from time import monotonic, perf_counter
from typing import Any

from ..assembly import Assembler
from ..effects import Call, CallModel, Emit, Flow, Now, Reply, Sleep, Together
from ..errors import Cancelled, ModelError
from ..events import Delta, Done, Event, nested
from ..models.client import blocks, model_for
from ..run import Signal
from .common import CLOSING_SECONDS, broken, out_of_time, timed_out
from .threads import POOL, Job, sayable


class AsyncDriver:
    """Drives one run.

    Args:
        signal: how the holder of the run asks it to end.
        timeout: seconds for the whole run, or None.

    Attributes:
        signal: as given.
        result: what the flow returned, once it has.
    """

    def __init__(self, signal: Signal, timeout: float | None = None) -> None:
        self.signal = signal
        self._timeout = timeout
        self._deadline: float | None = None
        self._closing: float | None = None
        self.result: Any = None

    async def drive(self, flow: Flow) -> AsyncGenerator[Event, None]:
        """Drive a flow to its end: yields events; what the flow returns is `result`."""
        answer: Any = None
        failure: BaseException | None = None
        if self._timeout is not None and self._deadline is None:
            self._deadline = monotonic() + self._timeout
        try:
            while True:
                failure = self._cancelled(failure)
                try:
                    effect = flow.send(answer) if failure is None else flow.throw(failure)
                except StopIteration as stop:
                    self.result = stop.value
                    return
                answer = failure = None
                is_end = type(effect) is Emit and type(effect.event) is Done
                if self.signal.cancelled and self._closing is None and not is_end:
                    failure = Cancelled()
                    continue
                try:
                    if self._closing is not None and not is_end:
                        answer = await self._while_closing(effect, self._closing)
                    elif type(effect) is Call:
                        answer = await self._call(effect)
                    elif type(effect) is CallModel and not effect.stream:
                        answer = await self._complete(effect)
                    elif type(effect) is Emit:
                        yield effect.event
                    elif type(effect) is CallModel or type(effect) is Together:
                        inner = _Stream(self, effect) if isinstance(effect, CallModel) else _Side(self, effect)
                        try:
                            while (event := await inner.next()) is not None:
                                yield event
                            answer = inner.result()
                        except BaseException as error:
                            explained = inner.explain(error)
                            if explained is error:
                                raise
                            raise explained from error
                        finally:
                            await inner.close()
                    else:
                        answer = await self._clock(effect)
                except GeneratorExit:
                    flow.close()
                    raise
                except BaseException as error:
                    failure = error
        finally:
            failure = None  # a frame that kept its exception would be a reference cycle

    def _cancelled(self, failure: BaseException | None) -> BaseException | None:
        """Turn a cancellation that the holder of the run asked for into Cancelled; leave one of anybody else alone."""
        if self.signal.cancelled and self._closing is None and isinstance(failure, asyncio.CancelledError):
            task = asyncio.current_task()
            if task is not None and task.uncancel() > 0:
                return failure
            failure = _cut(failure)
        if isinstance(failure, Cancelled) and self._closing is None:
            self._closing = monotonic() + CLOSING_SECONDS
        return failure

    async def _while_closing(self, effect: Any, until: float) -> Any:
        if type(effect) is Emit:
            return None
        if type(effect) is Call and monotonic() < until:
            return await self._call(effect)
        raise Cancelled

    async def _clock(self, effect: Any) -> float | None:
        if type(effect) is Now:
            return monotonic()
        if type(effect) is Sleep:
            await self.within(asyncio.sleep(effect.seconds), None)
            return None
        raise TypeError(f"{effect!r} is no effect that a driver can answer")

    async def _call(self, effect: Call) -> Any:
        started = perf_counter()
        try:
            if effect.worker or effect.timeout is not None:
                value = await self.within(_in_worker(effect), effect.timeout)
            else:
                fn = effect.fn if effect.context is None else partial(effect.context.run, effect.fn)
                value = fn(*effect.args, **effect.kwargs)
            if type(value) is str or not hasattr(value, "__await__"):
                return value
            if effect.context is None and effect.timeout is None and self._deadline is None:
                return await value
            return await self.within(_with_context(value, effect.context), effect.timeout)
        except (StopIteration, StopAsyncIteration) as error:
            raise sayable(error) from None
        finally:
            effect.seconds = perf_counter() - started

    async def _complete(self, effect: CallModel) -> Reply:
        started = perf_counter()
        effect.timeout = self.left(effect.timeout)
        model = model_for(effect.client)
        own = getattr(model, "acomplete", None)
        try:
            reply = await self.opened(effect, own or model.complete, own is None and blocks(model, model.complete))
            if type(reply) is Reply:
                return reply
            if effect.context is None and self._deadline is None:
                return await reply
            return await self.within(_with_context(reply, effect.context), None)
        finally:
            effect.seconds = perf_counter() - started

    async def opened(self, effect: CallModel, fn: Callable[[CallModel], Any], blocking: bool) -> Any:
        """Call a model's method, in a worker if it may block."""
        run = fn if effect.context is None else partial(effect.context.run, fn)
        return await self.within(hop(lambda: run(effect)), None) if blocking else run(effect)

    def left(self, own: float | None) -> float | None:
        """Seconds that something may take: its own limit, or what the run has left."""
        if self._deadline is None:
            return own
        left = self._deadline - monotonic()
        if left <= 0:
            raise out_of_time(self._timeout)
        return left if own is None else min(own, left)

    async def within(self, awaitable: Awaitable[Any], own: float | None) -> Any:
        """Await something, for as long as its own limit and the run's allow."""
        if own is None and self._deadline is None:
            return await awaitable
        try:
            limit = self.left(own)
        except BaseException:
            _drop(awaitable)
            raise
        scope = asyncio.timeout(limit)
        try:
            async with scope:
                return await awaitable
        except TimeoutError:
            if not scope.expired():
                raise
            whole_run = self._deadline is not None and monotonic() >= self._deadline
            raise (out_of_time(self._timeout) if whole_run else timed_out(own)) from None

    def alike(self) -> AsyncDriver:
        """A driver for a flow beside this one, with the same signal and deadline."""
        other = AsyncDriver(self.signal, self._timeout)
        other._deadline = self._deadline
        return other


class _Stream:
    """One streamed reply: reads chunks, hands out Delta events, closes the provider's stream once."""

    def __init__(self, driver: AsyncDriver, effect: CallModel) -> None:
        self._driver = driver
        self._effect = effect
        self._assembler = Assembler(effect.agent.name)
        self._started = perf_counter()
        self._chunks: Any = None
        self._running: Job | None = None
        self._step: Callable[[], Awaitable[Any]] | None = None
        self._blocking = False

    async def next(self) -> Event | None:
        if self._chunks is None:
            await self._open()
        while True:
            if self._step is not None:
                try:
                    chunk = await self._step()
                except StopAsyncIteration:
                    return None
            elif (chunk := await self._driver.within(self._chunk(), None)) is None:
                return None
            if self._driver.signal.cancelled:
                raise Cancelled
            delta = self._assembler.feed(chunk)
            if delta is not None:
                event = Delta(self._effect.agent.name, delta)
                return nested(self._effect.path, event) if self._effect.path else event

    async def _open(self) -> None:
        effect = self._effect
        effect.timeout = self._driver.left(effect.timeout)
        model = model_for(effect.client)
        own = getattr(model, "astream", None)
        self._blocking = own is None and blocks(model, model.stream)
        chunks = await self._driver.opened(effect, own or model.stream, self._blocking)
        if hasattr(chunks, "__await__"):
            chunks = await self._driver.within(chunks, None)
        self._chunks = chunks.__aiter__() if hasattr(chunks, "__aiter__") else iter(chunks)
        if hasattr(self._chunks, "__anext__") and self._driver.left(None) is None:
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
        value = await finished(self._running)
        self._running = None
        return value

    def result(self) -> Reply:
        return self._assembler.reply()

    def explain(self, error: BaseException) -> BaseException:
        """The error as the loop should see it, with what had arrived."""
        if isinstance(error, Cancelled | asyncio.CancelledError):
            error.partial = self._assembler.partial()  # type: ignore[union-attr]  # a CancelledError takes it too
        return broken(error, self._assembler) if isinstance(error, ModelError) else error

    async def close(self) -> None:
        self._effect.seconds = perf_counter() - self._started
        chunks, self._chunks = self._chunks, None
        close = getattr(chunks, "aclose", None) or getattr(chunks, "close", None)
        if close is None:
            return
        if self._running is not None:  # a generator that runs in another thread cannot be closed now
            self._running.when_done(close)
            return
        result = close()
        if hasattr(result, "__await__"):
            await result


class _Side:
    """Flows side by side: one task each; their events come through a queue."""

    def __init__(self, driver: AsyncDriver, effect: Together) -> None:
        self._driver = driver
        self._news: asyncio.Queue[Event | None] = asyncio.Queue()
        self._results: dict[int, Any] = {}
        self._slots = asyncio.Semaphore(effect.limit or max(1, len(effect.flows)))
        self._flows = effect.flows
        self._tasks = [asyncio.create_task(self._drive(number, flow)) for number, flow in enumerate(effect.flows)]
        self._open = len(self._tasks)

    async def _drive(self, number: int, flow: Flow) -> None:
        driver = self._driver.alike()
        try:
            async with self._slots, aclosing(driver.drive(flow)) as events:
                async for event in events:
                    self._news.put_nowait(event)
            self._results[number] = driver.result
        finally:
            self._news.put_nowait(None)

    async def next(self) -> Event | None:
        while self._open:
            event = await self._news.get()
            if event is not None:
                return event
            self._open -= 1
            for task in self._tasks:
                if task.done():
                    task.result()  # raises what the flow raised, a cancellation too
        return None

    def result(self) -> list[Any]:
        return [self._results[number] for number in range(len(self._tasks))]

    def explain(self, error: BaseException) -> BaseException:
        return error

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for flow in self._flows:
            flow.close()


def _cut(error: BaseException) -> Cancelled:
    cut = Cancelled()
    cut.partial = getattr(error, "partial", None)
    return cut


def _drop(awaitable: Any) -> None:
    with suppress(Exception):
        awaitable.close()


async def _with_context(awaitable: Awaitable[Any], context: Any) -> Any:
    if context is None:
        return await awaitable
    return await asyncio.create_task(_await(awaitable), context=context)


async def _await(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


async def _in_worker(effect: Call) -> Any:
    run = effect.fn if effect.context is None else partial(effect.context.run, effect.fn)
    return await hop(lambda: run(*effect.args, **effect.kwargs))


async def hop(fn: Callable[[], Any]) -> Any:
    """Run a blocking function in a worker thread."""
    return await finished(Job(fn))


async def finished(job: Job) -> Any:
    """Start a job and wait for it without blocking the loop."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[None] = loop.create_future()

    def wake() -> None:
        with suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits any more
            loop.call_soon_threadsafe(lambda: future.done() or future.set_result(None))

    job.when_done(wake)
    POOL.submit(job)
    await future
    return job.result()
