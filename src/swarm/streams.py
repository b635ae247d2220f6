"""What a caller holds while a run goes on: an iterator of its events that can be closed or cancelled at any point."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from inspect import GEN_RUNNING, getgeneratorstate
from threading import RLock
from types import TracebackType
from typing import Generic, TypeVar

from .errors import Cancelled
from .events import Delta, Done, Event
from .run import Run, logger
from .state import State, dump
from .texts import Texts
from .types import Response

Item = TypeVar("Item")


class Stream(Iterator[Item], Generic[Item]):
    """A run, read as it happens. Nothing is asked of a model before the first item is read.

    Closing it, or leaving its `with` block, ends the run where it is: the provider's stream is closed once, nothing more is called,
    nothing is raised. `response` is what the run came to, the partial one (`stop_reason == "cancelled"`) after a close.

    Args:
        events: the driver's generator of events; returns the response.
        run: the run itself.
        item_of: the item for an event, or None for an event that this stream leaves out.
        items_of: the items for texts, which `events` may give in the place of Deltas.
    """

    def __init__(
        self,
        events: Generator[Event, None, Response],
        run: Run,
        item_of: Callable[[Event], Item | None],
        items_of: Callable[[Texts], Iterator[Item]],
    ) -> None:
        self._events = events
        self._run = run
        self._signal = run.signal
        self._item_of = item_of
        self._items_of = items_of
        self._items: Iterator[Item] = iter(())
        self._begun = False
        self._lock = RLock()
        self.response: Response | None = None

    def __iter__(self) -> Stream[Item]:
        return self

    def __next__(self) -> Item:
        with self._lock:
            if not self._signal.cancelled:  # else the driver takes back those that are left
                for item in self._items:
                    return item
            self._begun = True
            while True:
                try:
                    event = next(self._events)
                except StopIteration as stop:
                    self.response = stop.value or self.response
                    raise StopIteration from None
                except Cancelled:  # a policy did not let it pass
                    raise StopIteration from None
                except BaseException as error:
                    self.response = response_of(error) or self.response
                    raise
                kind = type(event)
                if kind is Texts:
                    self._items = self._items_of(event)  # type: ignore[arg-type]  # pyright does not narrow on `kind`, which is faster
                    return next(self._items)
                item = self._item_of(event) if kind is Delta else self._told(event)
                if item is not None:
                    return item

    def _told(self, event: Event) -> Item | None:
        if type(event) is Done:
            self.response = event.response
        return self._item_of(event)

    def close(self) -> None:
        """End the run here. May be called twice, and from another thread while an item is being read: then at the run's next step.

        Nothing is raised; what goes wrong is logged at debug level, and `response` is what was done until then.
        """
        self._signal.cancel()
        if not self._lock.acquire(blocking=False):
            return  # an item is being read in another thread, which the signal reaches
        try:
            if getgeneratorstate(self._events) != GEN_RUNNING:  # else one of the run's own functions closes it, which the signal ends
                self._end()
        finally:
            self._lock.release()

    def _end(self) -> None:
        try:
            self._told(self._events.throw(Cancelled()) if self._begun else next(self._events))
            self._events.close()
        except StopIteration as stop:
            self.response = stop.value or self.response
        except Cancelled:
            pass  # it was over already
        except BaseException as error:
            self.response = response_of(error) or self.response
            if not isinstance(error, Exception):
                raise
            logger.debug("closing a stream failed", exc_info=True)

    def cancel(self, after_turn: bool = False) -> None:
        """Ask the run to end: at once, or when its turn is complete. Reading on gives what is left. Safe from any thread."""
        self._signal.after_turn = True
        if not after_turn:
            self._signal.cancel()

    def state(self) -> State:
        """The run as it is now, as plain JSON, to be called between two items: `resume` goes on from here, if this process does not.

        What is done is not done again. A function that had begun and was not known to have come back is called again, with the same
        `RunInfo.idempotency_key`, or reported as unknown if it is a `@tool(effect="once")`.

        Raises:
            StateError: a context variable that JSON cannot hold, with its path; two agents of one name.
        """
        return dump(self._run)

    def __enter__(self) -> Stream[Item]:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def response_of(error: BaseException) -> Response | None:
    """The response that an exception carries, in either of the places where `errors.attach` puts it."""
    for name in ("swarm_response", "response"):
        response = getattr(error, name, None)
        if isinstance(response, Response):
            return response
    return None
