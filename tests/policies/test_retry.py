"""Retry: what is tried again, how often, after which wait, and what never is."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarm import Agent, ChatClient, Limits, RunInfo, Swarm, tool
from swarm.effects import Now, Sleep
from swarm.errors import (
    AuthenticationError,
    ConnectionFailed,
    ContextLengthExceeded,
    InvalidReply,
    LimitExceeded,
    ModelTimeout,
    QuotaExceeded,
    RateLimitError,
    RequestError,
    ServerError,
    StreamBroken,
    TransientError,
    status_error,
)
from swarm.events import Nested, PolicyActed, ToolDone
from swarm.models.scripted import ScriptedModel, Turn, call
from swarm.policies import Retry
from swarm.testing.conformance import PolicyConformance
from tests.loopback import Loopback, completion, json_answer, sse, text_chunks
from tests.modes import Drive, streaming
from tests.policies.virtual import Clock


class TestRetry(PolicyConformance):
    def make(self) -> Retry:
        return Retry(seconds=0, tools=True, random=lambda: 0.0)


def transient(kind: type[TransientError] = RateLimitError, after: float | None = None) -> TransientError:
    error = kind("429: slow down")
    error.retry_after = after
    return error


def acted(events: list[Any]) -> list[PolicyActed]:
    return [event for event in events if isinstance(event, PolicyActed)]


@pytest.mark.parametrize("kind", [RateLimitError, ServerError, ConnectionFailed, ModelTimeout])
def test_what_failed_for_the_moment_is_asked_again(drive: Drive, clock: Clock, kind: type[TransientError]) -> None:
    """X07, D9: each try is told; the answer is there once, and only it is counted."""
    turns = [transient(kind), transient(kind), "done"]
    events = drive.events(Agent(name="Helper"), "hi", turns, swarm={"policies": [Retry(random=lambda: 1.0)]})
    response = events[-1].response
    assert (response.text, response.usage.calls, len(drive.requests)) == ("done", 1, 3)
    assert clock.waits == [1.0, 2.0]
    assert [(event.agent, event.policy, event.what) for event in acted(events)] == [
        ("Helper", "Retry", "tries the model again in 1.0 s (2 of 5)"),
        ("Helper", "Retry", "tries the model again in 2.0 s (3 of 5)"),
    ]
    assert acted(events)[0].reason == f"{kind.__name__}: 429: slow down"


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_the_statuses_that_are_tried_again(status: int, clock: Clock) -> None:
    """X07"""
    model = ScriptedModel([status_error(status, "not now"), "done"])
    assert Swarm(model, policies=[Retry()]).run(Agent(), "hi").text == "done"


@pytest.mark.parametrize(
    "error",
    [
        RequestError("400: no"),
        AuthenticationError("401: who?"),
        ContextLengthExceeded("400: too long"),
        QuotaExceeded("429: nothing left"),
        InvalidReply("no choices"),
        status_error(429, "m", body={"error": {"code": "insufficient_quota"}}),
        ValueError("a bug"),
    ],
)
def test_what_another_try_would_not_mend_is_raised_at_once(drive: Drive, clock: Clock, error: Exception) -> None:
    """X07"""
    with pytest.raises(type(error)) as caught:
        drive(Agent(), "hi", [error], swarm={"policies": [Retry()]})
    assert (len(drive.requests), clock.waits, getattr(caught.value, "__notes__", [])) == (1, [], [])


def test_tries_are_bounded(drive: Drive, clock: Clock) -> None:
    """X07"""
    seen: list[Any] = []
    turns = [transient() for _ in range(4)]
    with pytest.raises(RateLimitError) as caught:
        drive(Agent(), "hi", turns, swarm={"policies": [Retry(3, random=lambda: 0.5)], "on_event": seen.append})
    assert (len(drive.requests), clock.waits) == (3, [0.5, 1.0])
    assert caught.value.__notes__ == ["Retry gave up: 3 tries"]
    assert acted(seen)[-1].what == "gave up the model, 3 tries"
    assert caught.value.response is not None


def test_one_try_is_none_again_and_nothing_is_told(drive: Drive, clock: Clock) -> None:
    seen: list[Any] = []
    with pytest.raises(RateLimitError) as caught:
        drive(Agent(), "hi", [transient()], swarm={"policies": [Retry(1)], "on_event": seen.append})
    assert (acted(seen), clock.waits, getattr(caught.value, "__notes__", [])) == ([], [], [])


def test_a_wait_is_no_shorter_than_the_provider_asks(drive: Drive, clock: Clock) -> None:
    """X07: the random part comes on top, so that those who were told the same do not come together."""
    drive(Agent(), "hi", [transient(after=7.0), transient(), "done"], swarm={"policies": [Retry(random=lambda: 0.25)]})
    assert clock.waits == [7.25, 0.5]


def test_seconds_are_counted_from_the_first_failure(drive: Drive, clock: Clock) -> None:
    """X07: a wait that would be too long is not begun, nor cut short."""
    turns = [transient(after=6.0), transient(after=4.5), "never"]
    with pytest.raises(RateLimitError) as caught:
        drive(Agent(), "hi", turns, swarm={"policies": [Retry(seconds=10, random=lambda: 0.0)]})
    assert clock.waits == [6.0]
    assert caught.value.__notes__ == ["Retry gave up: the next try may begin in 4.5 s, later than 10 s after the first failure"]


def test_no_wait_lasts_past_the_end_of_the_run(drive: Drive, clock: Clock) -> None:
    """X07, D6: it is given up at once, and says so."""
    retry = Retry(random=lambda: 0.0)
    turns = [transient(after=6.0), transient(after=4.5), "never"]
    with pytest.raises(RateLimitError) as caught:
        drive(Agent(), "hi", turns, swarm={"policies": [retry]}, limits=Limits(seconds=10))
    assert clock.waits == [6.0]
    assert caught.value.__notes__ == ["Retry gave up: the next try may begin in 4.5 s, and the run ends in 4.0 s"]
    assert drive(Agent(), "hi", [transient(after=6.0), "done"], swarm={"policies": [retry]}, limits=Limits(seconds=10)).text == "done"


def test_a_hard_time_limit_is_seen_too(drive: Drive) -> None:
    """D6, D51: with the clock of the machine, so that nothing is waited for."""
    with pytest.raises(RateLimitError, match="slow down") as caught:
        drive(Agent(), "hi", [transient(after=55.0), "never"], swarm={"policies": [Retry()]}, timeout=30)
    assert "and the run ends in" in caught.value.__notes__[0]


@given(numbers=st.lists(st.floats(0, 1), min_size=12, max_size=12))
def test_a_wait_is_a_part_of_twice_the_one_before(numbers: list[float]) -> None:
    """X07: and never more than half a minute, however often it failed."""
    given_out, waits = iter(numbers), list[float]()
    effect: Any = type("Effect", (), {"agent": Agent(), "run": None, "kind": "model"})()
    flow, answer = Retry(13, 10_000, random=lambda: next(given_out)).model(effect), None
    flow.send(None)
    while len(waits) < 12:
        asked = flow.throw(transient()) if answer is None else flow.send(answer)
        while asked is not effect:
            if isinstance(asked, Sleep):
                waits.append(asked.seconds)
            asked = flow.send(0.0 if isinstance(asked, Now) else None)
    assert waits == [pytest.approx(part * min(30, 2**at)) for at, part in enumerate(numbers)]


def test_a_seeded_source_makes_runs_repeatable(drive: Drive, clock: Clock) -> None:
    waits: list[list[float]] = []
    for _ in range(2):
        clock.waits.clear()
        drive(Agent(), "hi", [transient(), transient(), "done"], swarm={"policies": [Retry(random=random.Random(7).random)]})
        waits.append(list(clock.waits))
    assert waits[0] == waits[1] != [1.0, 2.0]


@streaming
def test_text_that_was_shown_is_not_shown_twice(drive: Drive, clock: Clock) -> None:
    """S15, D12, X07: before the first delta a stream is tried again, after it never."""
    turns = [Turn(chunks=[transient(ConnectionFailed)]), "Hello"]
    assert drive(Agent(), "hi", turns, swarm={"policies": [Retry()]}).text == "Hello"
    waited = len(clock.waits)
    with pytest.raises(StreamBroken):
        drive(Agent(), "hi", [Turn(chunks=["Hel", transient(ConnectionFailed)]), "Hello"], swarm={"policies": [Retry()]})
    assert (len(drive.requests), len(clock.waits)) == (1, waited)


def test_it_is_seen_in_the_trace(drive: Drive, clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    """D32, K16"""
    drive(Agent(name="Helper"), "hi", [transient(), "done"], swarm={"policies": [Retry(random=lambda: 1.0)]}, debug=True)
    assert "Retry for Helper: tries the model again in 1.0 s (2 of 5) (RateLimitError: 429: slow down)" in capsys.readouterr().out


def test_inside_a_call_it_is_told_as_what_happens_there(drive: Drive, clock: Clock) -> None:
    """D45: also where nobody but the policy tells it."""
    outer = Agent(name="Outer", functions=[Agent(name="Inner").as_tool(name="inner")])
    turns = [call("inner", {"input": "x"}, id="c1"), transient(), "inside", "outside"]
    events = drive.events(outer, "hi", turns, swarm={"policies": [Retry()]})
    assert acted(events) == []
    told = [(event.call_id, event.event.policy) for event in events if isinstance(event, Nested) and isinstance(event.event, PolicyActed)]
    assert told == [("c1", "Retry")]


@pytest.mark.parametrize("client", ["ours", "official"])
def test_the_headers_of_a_real_answer_are_heeded(drive: Drive, clock: Clock, client: str) -> None:
    """X07, P12: milliseconds, seconds and a date, over HTTP; of our client and of the official one."""
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=40), usegmt=True)
    body = {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}
    asked = [{"retry-after-ms": "1500", "Retry-After": "2"}, {"Retry-After": "7"}, {"Retry-After": date}]
    good = sse(*text_chunks("Hello")) if drive.streams else json_answer(completion())
    with Loopback(*(json_answer(body, status, headers) for status, headers in zip((429, 503, 429), asked, strict=True)), good) as server:
        made: Any = ChatClient(server.url, "key") if client == "ours" else openai.OpenAI(base_url=server.url, api_key="key", max_retries=0)
        with made:
            response = drive(Agent(), "hi", made, swarm={"policies": [Retry(random=lambda: 0.0)]})
    assert response.text == "Hello"
    assert clock.waits[:2] == [1.5, 7.0]
    assert 30 < clock.waits[2] <= 40


# Tools


class Flaky:
    """Fails so many times, then works."""

    def __init__(self, times: int, error: Exception | None = None) -> None:
        self.times = times
        self.error = error or ConnectionError("reset")
        self.begun = 0

    def look_up(self) -> str:
        self.begun += 1
        if self.begun <= self.times:
            raise self.error
        return "found"


def outcome(events: list[Any]) -> tuple[str, str]:
    done = next(event for event in events if isinstance(event, ToolDone))
    return done.call.outcome, done.message["content"]


TWO_TURNS = [call("look_up"), "done"]


@pytest.mark.parametrize("tools", [True, ["look_up"], ("other", "look_up")])
def test_a_tool_that_was_named_is_tried_again(drive: Drive, clock: Clock, tools: Any) -> None:
    """X07, D41"""
    flaky = Flaky(2)
    events = drive.events(
        Agent(name="A", functions=[flaky.look_up]), "hi", TWO_TURNS, swarm={"policies": [Retry(tools=tools, random=lambda: 1.0)]}
    )
    assert (outcome(events), flaky.begun, clock.waits) == (("ok", "found"), 3, [1.0, 2.0])
    assert acted(events)[0].what == "tries look_up again in 1.0 s (2 of 5)"


@pytest.mark.parametrize("tools", [False, [], ["other"]])
def test_any_other_tool_is_not(drive: Drive, clock: Clock, tools: Any) -> None:
    flaky = Flaky(1)
    events = drive.events(Agent(functions=[flaky.look_up]), "hi", TWO_TURNS, swarm={"policies": [Retry(tools=tools)]})
    assert (outcome(events), flaky.begun, acted(events)) == (("error", "Error: ConnectionError: reset"), 1, [])


def test_a_tool_that_may_run_once_runs_once(drive: Drive, clock: Clock) -> None:
    """X07: whatever is asked for."""
    flaky = Flaky(1)
    pay = tool(flaky.look_up, effect="once", retries=3)
    events = drive.events(Agent(functions=[pay]), "hi", TWO_TURNS, swarm={"policies": [Retry(tools=True)]})
    assert (outcome(events)[0], flaky.begun, clock.waits) == ("error", 1, [])


def test_a_tool_says_itself_how_often(drive: Drive, clock: Clock) -> None:
    """Without a Retry at once, with one after a wait; never both, which would multiply."""
    for policies, waits in (([], []), ([Retry(random=lambda: 1.0)], [1.0]), ([Retry(9, tools=True, random=lambda: 1.0)], [1.0])):
        clock.waits.clear()
        flaky = Flaky(5)
        events = drive.events(Agent(functions=[tool(flaky.look_up, retries=1)]), "hi", TWO_TURNS, swarm={"policies": policies})
        assert (outcome(events)[0], flaky.begun, clock.waits) == ("error", 2, waits)


def test_a_decision_is_not_tried_again(drive: Drive, clock: Clock) -> None:
    """An error of ours that is no failure of the moment, such as a limit inside a call."""
    flaky = Flaky(1, LimitExceeded("no more"))
    drive(Agent(functions=[flaky.look_up]), "hi", TWO_TURNS, swarm={"policies": [Retry(tools=True)]})
    assert (flaky.begun, clock.waits) == (1, [])


def test_an_agent_that_is_a_tool_is_not_run_again(drive: Drive, clock: Clock) -> None:
    """Its own calls were tried again inside; to repeat it would repeat what its tools did."""
    outer = Agent(name="Outer", functions=[Agent(name="Inner").as_tool(name="inner")])
    turns = [call("inner", {"input": "x"}), RequestError("400: no"), "done"]
    drive(outer, "hi", turns, swarm={"policies": [Retry(tools=True)]})
    assert (len(drive.requests), clock.waits) == (3, [])


def test_every_try_gets_its_arguments_fresh_and_the_same_key(drive: Drive, clock: Clock) -> None:
    """D18: a tool may take its list apart; the key is that of the call."""
    seen: list[Any] = []

    def look_up(items: list[int], run: RunInfo) -> str:
        seen.append((list(items), run.idempotency_key))
        items.clear()
        if len(seen) == 1:
            raise ConnectionError("reset")
        return "found"

    drive(Agent(functions=[look_up]), "hi", [call("look_up", {"items": [1, 2]}), "done"], swarm={"policies": [Retry(tools=True)]})
    assert seen[0] == seen[1] == ([1, 2], seen[0][1])


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"tries": 0}, ValueError, r"tries=0\) must be at least 1"),
        ({"seconds": -1}, ValueError, r"seconds=-1\) must not be negative"),
        ({"seconds": float("nan")}, ValueError, "must not be negative"),
        ({"tools": "look_up"}, TypeError, r"must be a list of names, .*tools=\['look_up'\]"),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        Retry(**given)
