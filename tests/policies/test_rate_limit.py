"""RateLimit: no minute with more than allowed, in the order they came, for everybody who shares it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarm import Agent, AsyncSwarm, Limits, ScriptedModel, Swarm
from swarm.effects import CallModel, Flow, Reply
from swarm.errors import Cancelled, ConnectionFailed, RateLimitError, ServerError
from swarm.events import PolicyActed
from swarm.models.scripted import Turn, call
from swarm.policies import Fallback, RateLimit, Retry, sliding_window
from swarm.testing.conformance import PolicyConformance
from tests.modes import Drive
from tests.policies.virtual import Clock, Simulation


class TestRateLimit(PolicyConformance):
    def make(self) -> RateLimit:
        return RateLimit(1000, 1_000_000)


def again() -> str:
    """Do it once more."""
    return "done"


AGENT = Agent(name="Helper", functions=[again])


def turns(count: int, usage: tuple[int, int] | None = (10, 5)) -> list[Any]:
    return [*[Turn(calls=[call("again")], usage=usage)] * (count - 1), Turn("done", usage=usage)]


def acted(events: list[Any]) -> list[tuple[str, str]]:
    return [(event.what, event.reason) for event in events if isinstance(event, PolicyActed)]


def refused(after: float | None, status: int | None = 429) -> RateLimitError:
    error = RateLimitError("429: slow down", status=status)
    error.retry_after = after
    return error


def test_requests_wait_for_their_minute(drive: Drive, clock: Clock) -> None:
    """D9: told once, and not by asking over and over whether it may."""
    events = drive.events(AGENT, "hi", turns(5), swarm={"policies": [RateLimit(2)]})
    assert events[-1].response.text == "done"
    assert sum(clock.waits) == 120
    assert len(clock.waits) == 2 * 8
    assert acted(events) == [("waits 60.0 s for its turn", "2 requests a minute")] * 2


def test_within_the_limit_nothing_waits_and_nothing_is_told(drive: Drive, clock: Clock) -> None:
    events = drive.events(AGENT, "hi", turns(5), swarm={"policies": [RateLimit(5, 1000)]})
    assert (clock.waits, acted(events)) == ([], [])


def test_tokens_are_corrected_by_what_the_answer_took(drive: Drive, clock: Clock) -> None:
    """The first is estimated at a few tokens and takes 90; the second is estimated by that, and has to wait."""
    events = drive.events(AGENT, "hi", turns(2, (60, 30)), swarm={"policies": [RateLimit(tokens_per_minute=100)]})
    assert acted(events) == [("waits 60.0 s for its turn", "100 tokens a minute")]


def test_a_provider_that_counts_nothing_is_estimated(drive: Drive, clock: Clock) -> None:
    events = drive.events(AGENT, "x" * 400, turns(2, None), swarm={"policies": [RateLimit(tokens_per_minute=150)]})
    assert acted(events) == [("waits 60.0 s for its turn", "150 tokens a minute")]


def test_a_call_that_is_larger_than_the_limit_has_a_minute_to_itself(drive: Drive, clock: Clock) -> None:
    drive(AGENT, "x" * 4000, turns(3, (1000, 10)), swarm={"policies": [RateLimit(tokens_per_minute=100)]})
    assert sum(clock.waits) == 120


@pytest.mark.parametrize("kind", [RateLimitError, ServerError])
def test_what_a_provider_asks_for_holds_for_everybody(drive: Drive, clock: Clock, kind: type[Any]) -> None:
    """X07: another run, with another client object for the same place."""
    limit, place = RateLimit(100), "https://here.test/v1"
    error = kind("slow down", status=429)
    error.retry_after = 20.0

    def client(script: list[Any]) -> Any:
        model = ScriptedModel(script)
        model.base_url = place  # type: ignore[attr-defined]
        return model

    with pytest.raises(kind):
        drive(AGENT, "hi", client([error]), swarm={"policies": [limit]})
    events = drive.events(AGENT, "hi", client(["done"]), swarm={"policies": [limit]})
    assert acted(events) == [("waits 20.0 s for its turn", "the provider asked to wait")]
    drive(AGENT, "hi", ["elsewhere"], swarm={"policies": [limit]})
    assert sum(clock.waits) == 20


@pytest.mark.parametrize("error", [refused(None), ConnectionFailed("lost"), refused(20.0, None)])
def test_other_failures_hold_up_nobody(drive: Drive, clock: Clock, error: Exception) -> None:
    """A refusal without a status is one of our own, of another limit."""
    limit, model = RateLimit(100), ScriptedModel([error, "done"])
    with pytest.raises(type(error)):
        drive(AGENT, "hi", model, swarm={"policies": [limit]})
    drive(AGENT, "hi", model, swarm={"policies": [limit]})
    assert clock.waits == []


def test_it_may_refuse_instead(drive: Drive, clock: Clock) -> None:
    """The error says when, and a refused call takes no place."""
    limit, model = RateLimit(1, wait=False), ScriptedModel(turns(1) * 3)
    drive(AGENT, "hi", model, swarm={"policies": [limit]})
    clock.now += 20
    for _ in range(3):
        with pytest.raises(
            RateLimitError, match=r"not sent to ScriptedModel yet: 1 requests a minute; .* in 40.0 s; wait so long"
        ) as caught:
            drive(AGENT, "hi", model, swarm={"policies": [limit]})
        assert (caught.value.retry_after, caught.value.status) == (40.0, None)
    clock.now += 40
    assert drive(AGENT, "hi", model, swarm={"policies": [limit]}).text == "done"
    assert (len(model.requests), clock.waits) == (2, [])


def test_a_refusal_may_be_waited_for_or_asked_elsewhere(drive: Drive, clock: Clock) -> None:
    """X07: it is a failure of the moment, with the time that it lasts."""
    drive(AGENT, "hi", turns(2), swarm={"policies": [Retry(seconds=100, random=lambda: 0.0), RateLimit(1, wait=False)]})
    assert clock.waits == [60.0]
    clock.waits.clear()
    other = ScriptedModel(["from there"])
    response = drive(AGENT, "hi", turns(2)[:1], swarm={"policies": [Fallback(clients=[other]), RateLimit(1, wait=False)]})
    assert (response.text, clock.waits) == ("from there", [])


def test_no_wait_lasts_past_the_end_of_the_run(drive: Drive, clock: Clock) -> None:
    """D6: it is refused at once, and takes no place."""
    limit, model = RateLimit(1), ScriptedModel(turns(1) * 2)
    drive(AGENT, "hi", model, swarm={"policies": [limit]})
    clock.now += 10
    with pytest.raises(RateLimitError, match=r"may begin in 50.0 s, and the run ends in 30.0 s"):
        drive(AGENT, "hi", model, swarm={"policies": [limit]}, limits=Limits(seconds=30))
    assert clock.waits == []
    drive(AGENT, "hi", model, swarm={"policies": [limit]}, limits=Limits(seconds=55))
    assert sum(clock.waits) == 50


class Answers:
    """A policy that answers itself, as a cache does."""

    def model(self, call: CallModel) -> Flow:
        return Reply({"role": "assistant", "content": "known"}, finish_reason="stop")
        yield


def test_an_answer_without_a_request_takes_no_place(drive: Drive, clock: Clock) -> None:
    limit = RateLimit(1, 10)
    for _ in range(5):
        drive(AGENT, "hi", [], swarm={"policies": [limit, Answers()]})
    assert clock.waits == []


def test_each_client_has_a_line_of_its_own(drive: Drive, clock: Clock) -> None:
    limit = RateLimit(1)
    for _ in range(3):
        drive(AGENT, "hi", ["done"], swarm={"policies": [limit]})
    assert clock.waits == []
    assert len(limit._windows) == 3
    clock.now += 61
    drive(AGENT, "hi", ["done"], swarm={"policies": [limit]})
    assert len(limit._windows) == 1


# Many at once, in virtual time


CLIENT = SimpleNamespace(complete=None, stream=None)


def effect(text: str = "") -> CallModel:
    return CallModel(AGENT, CLIENT, {"model": "m", "messages": [{"role": "user", "content": text}]})


def answered(inputs: int = 10, outputs: int = 5) -> Reply:
    reply = Reply({"role": "assistant", "content": "done"})
    reply.call = SimpleNamespace(input_tokens=inputs, output_tokens=outputs)  # type: ignore[assignment]
    return reply


class Line:
    """Calls that come in at times, and when each began."""

    def __init__(self, limit: RateLimit) -> None:
        self.limit = limit
        self.simulation = Simulation()
        self.began: dict[int, float] = {}
        self.came: dict[int, Any] = {}
        self.flows: dict[int, Flow] = {}

    def call(self, number: int, at: float, takes: float = 1.0, answer: Callable[[], Any] = answered, text: str = "") -> None:
        def asked(_: Any) -> tuple[float, Any]:
            self.began[number] = self.simulation.now
            return takes, answer()

        def begin() -> None:
            flow = self.flows[number] = self.limit.model(effect(text))
            self.simulation.start(flow, asked, lambda value: self.came.__setitem__(number, value))

        self.simulation.at(at, begin)


def busiest(times: list[float]) -> int:
    """The most that began in any 60 seconds; a hair less, for the rounding of floats."""
    return max(sum(start <= other < start + 59.999 for other in times) for start in times)


arrivals = st.lists(st.floats(0, 200), min_size=1, max_size=40)


@given(times=arrivals, allowed=st.integers(1, 6), takes=st.floats(0.01, 50))
def test_no_minute_has_more_requests_than_allowed(times: list[float], allowed: int, takes: float) -> None:
    """In the order they came, and no later than they must."""
    line = Line(RateLimit(allowed))
    for number, at in enumerate(sorted(times)):
        line.call(number, at, takes)
    line.simulation.run()
    began = [line.began[number] for number in range(len(times))]
    assert began == sorted(began)
    assert busiest(began) <= allowed
    earliest: list[float] = []
    for number, at in enumerate(sorted(times)):
        earliest.append(max(at, earliest[number - allowed] + 60) if number >= allowed else at)
    assert began == pytest.approx(earliest)
    waited = sum(start - at for start, at in zip(began, sorted(times), strict=True))
    assert line.simulation.sleeps <= waited / 15 + 8 * len(times), "four looks a minute, and a few more at the end of each wait"


@given(times=arrivals, sizes=st.lists(st.integers(1, 100), min_size=40, max_size=40))
def test_no_minute_has_more_tokens_than_allowed(times: list[float], sizes: list[int]) -> None:
    """Where the estimate is right; one that is larger than the limit is alone."""
    line = Line(RateLimit(tokens_per_minute=60))
    for number, at in enumerate(sorted(times)):
        line.call(number, at, 0.5, lambda number=number: answered(4 + sizes[number], 0), "x" * 4 * sizes[number])
    line.simulation.run()
    began = [line.began[number] for number in range(len(times))]
    assert began == sorted(began)
    for start in began:
        within = [4 + sizes[number] for number, at in enumerate(began) if start <= at < start + 59.999]
        assert sum(within) <= 60 or len(within) == 1


@given(times=arrivals, outputs=st.lists(st.integers(0, 60), min_size=40, max_size=40))
def test_wrong_estimates_hold_up_nobody_for_ever(times: list[float], outputs: list[int]) -> None:
    line = Line(RateLimit(requests_per_minute=5, tokens_per_minute=100))
    for number, at in enumerate(sorted(times)):
        line.call(number, at, 3, lambda number=number: answered(5, outputs[number]))
    line.simulation.run()
    began = [line.began[number] for number in range(len(times))]
    assert began == sorted(began)
    assert busiest(began) <= 5
    assert line.simulation.now <= 210 + 64 * len(times)


@given(leaves=st.sets(st.integers(1, 9)), at=st.floats(0.1, 100))
def test_who_leaves_the_line_makes_room(leaves: set[int], at: float) -> None:
    """Whatever ends a wait: a cancelled run, a closed stream, the time of a run."""
    line, left = Line(RateLimit(1)), set[int]()
    for number in range(10):
        line.call(number, 0.0)

    def leave() -> None:
        for number in leaves - line.began.keys():
            with pytest.raises(Cancelled):
                line.flows[number].throw(Cancelled())
            left.add(number)

    line.simulation.at(at, leave)
    line.simulation.run()
    began = sorted(line.began.values())
    assert busiest(began) == 1
    assert len(began) == 10 - len(left)
    assert began[-1] <= 60 * (len(began) - 1) + 15 * len(left)


def test_a_pause_puts_back_who_waits_already() -> None:
    """X07: in their order, and still no more in a minute than allowed."""
    line = Line(RateLimit(2))
    line.call(0, 0.0, 5.0, lambda: refused(70.0))
    for number in range(1, 6):
        line.call(number, 1.0)
    line.simulation.run()
    assert [round(line.began[number]) for number in range(6)] == [0, 1, 75, 75, 135, 135]


def test_who_sleeps_too_long_loses_its_place_and_holds_up_nobody() -> None:
    """A thread that the machine forgot for minutes."""
    line = Line(RateLimit(1))
    line.call(0, 0.0)
    flow = line.limit.model(effect())
    line.simulation.at(0.5, lambda: [flow.send(None), flow.send(line.simulation.now), flow.send(None)][0] and None)
    line.call(1, 200.0)
    line.simulation.run()
    assert line.began == {0: 0.0, 1: 200.0}
    flow.send(None)
    assert flow.send(210.0).seconds == 15.0


# Threads and event loops


def test_threads_and_event_loops_share_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """With real waits, in a minute of a tenth of a second."""
    monkeypatch.setattr(sliding_window, "MINUTE", 0.1)
    limit, started, guard = RateLimit(4), list[float](), threading.Lock()
    begin = sliding_window.SlidingWindow._begin

    def noted(self: Any, ticket: Any, now: float) -> None:
        begin(self, ticket, now)
        with guard:
            started.append(ticket.start)

    monkeypatch.setattr(sliding_window.SlidingWindow, "_begin", noted)
    model = ScriptedModel(["done"] * 24)

    def sync() -> None:
        for _ in range(3):
            Swarm(model, policies=[limit]).run(AGENT, "hi")

    async def side_by_side() -> None:
        await asyncio.gather(*(AsyncSwarm(model, policies=[limit]).run(AGENT, "hi") for _ in range(6)))

    threads = [threading.Thread(target=sync) for _ in range(4)]
    threads += [threading.Thread(target=lambda: asyncio.run(side_by_side())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(model.requests) == len(started) == 24
    started.sort()
    assert all(later - earlier >= 0.0999 for earlier, later in zip(started, started[4:], strict=False))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "needs requests_per_minute=, tokens_per_minute= or both"),
        ({"requests_per_minute": 0}, "must be at least 1"),
        ({"tokens_per_minute": -1}, "at least 1"),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        RateLimit(**given)
