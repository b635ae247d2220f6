"""Retry, Cache, RateLimit and Fallback in any order: each order does what docs/policies.md says of it, and nothing else differs.

What that is stands here once more, as plain functions around each other, and every order is compared with it.
"""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarm import Agent, Response, ScriptedModel, load_state, tool
from swarm.errors import ServerError
from swarm.models.scripted import call
from swarm.policies import Cache, Fallback, RateLimit, Retry
from tests.look import is_valid
from tests.modes import MODES, Drive

KINDS = ("Retry", "Cache", "RateLimit", "Fallback")


class Failed(Exception):
    pass


class Expected:
    """What an order should do. `fails`: how often each model will fail before it answers with its name."""

    def __init__(self, order: tuple[str, ...], fails: dict[str, int]) -> None:
        self.order = order
        self.fails = dict(fails)
        self.asked: list[str] = []
        self.counted: list[str] = []
        self.kept: set[str] = set()

    def run(self) -> tuple[str, bool]:
        """The answer, and whether a model was asked for it."""
        return self.ask("first", 0)

    def ask(self, who: str, layer: int) -> tuple[str, bool]:
        match self.order[layer] if layer < len(self.order) else None:
            case "Retry":
                try:
                    return self.ask(who, layer + 1)
                except Failed:
                    return self.ask(who, layer + 1)
            case "Fallback":
                try:
                    return self.ask(who, layer + 1)
                except Failed:
                    return self.ask("second", layer + 1)
            case "Cache":
                if who in self.kept:
                    return who, False
                answer, is_new = self.ask(who, layer + 1)
                if answer == who and is_new:
                    self.kept.add(who)
                return answer, is_new
            case "RateLimit":
                self.counted.append(who)
                answer, is_new = self.ask(who, layer + 1)
                if not is_new:
                    self.counted.remove(who)
                return answer, is_new
            case _:
                self.asked.append(who)
                if self.fails[who]:
                    self.fails[who] -= 1
                    raise Failed
                return who, True


class Counting(ScriptedModel):
    """Fails so many times, then answers with its name for ever; notes that it was asked."""

    def __init__(self, name: str, fails: int, asked: list[str]) -> None:
        super().__init__([*[ServerError("503: m")] * fails, *[name] * 20])
        self.base_url = f"https://{name}.test/v1"
        self._name = name
        self._asked = asked

    def complete(self, call: Any) -> Any:
        self._asked.append(self._name)
        return super().complete(call)

    def stream(self, call: Any) -> Any:
        self._asked.append(self._name)
        return super().stream(call)


def made(order: tuple[str, ...], second: Any, **retry: Any) -> list[Any]:
    policies = {
        "Retry": Retry(2, random=lambda: 0.0, **retry),
        "Cache": Cache(),
        "RateLimit": RateLimit(1000, 1_000_000),
        "Fallback": Fallback(clients=[second]),
    }
    return [policies[name] for name in order]


def counted(policies: list[Any]) -> list[str]:
    limit = next((policy for policy in policies if isinstance(policy, RateLimit)), None)
    if limit is None:
        return []
    return sorted(str(place)[8:].removesuffix(".test/v1") for place, (window, _) in limit._windows.items() for _ in window._begun)


@given(
    order=st.permutations(KINDS).flatmap(lambda names: st.integers(0, 4).map(lambda few: tuple(names[:few]))),
    fails=st.tuples(st.integers(0, 5), st.integers(0, 5)),
    modes=st.lists(st.sampled_from(MODES), min_size=3, max_size=3),
)
def test_every_order_does_what_it_should(order: tuple[str, ...], fails: tuple[int, int], modes: list[str]) -> None:
    """D9, D10, X07: three runs that share their policies, each in a mode of its own."""
    expected, asked = Expected(order, {"first": fails[0], "second": fails[1]}), list[str]()
    first, second = Counting("first", fails[0], asked), Counting("second", fails[1], asked)
    policies = made(order, second)
    for mode in modes:
        try:
            answer, is_new = expected.run()
        except Failed:
            with pytest.raises(ServerError) as caught:
                Drive(mode)(Agent(), "hi", first, swarm={"policies": policies})
            assert caught.value.response is not None
            assert caught.value.response.usage.calls == 0
        else:
            response = Drive(mode)(Agent(), "hi", first, swarm={"policies": policies})
            assert (response.text, response.usage.calls, response.stop_reason) == (answer, int(is_new), "complete")
            assert [message["role"] for message in response.messages] == ["assistant"]
        assert asked == expected.asked
        assert counted(policies) == (sorted(expected.counted) if "RateLimit" in order else [])


@pytest.mark.parametrize("order", list(permutations(KINDS)), ids="-".join)
def test_a_call_that_waits_for_a_person_runs_once_in_any_order(order: tuple[str, ...]) -> None:
    """D1, D42, X07: a pause is neither kept nor tried again; once it is approved, what may run once runs once, and the other twice."""
    ran: list[str] = []

    @tool(approval=True, effect="once")
    def pay() -> str:
        """Pay."""
        ran.append("pay")
        raise ConnectionError("lost")

    @tool(approval=True)
    def look_up() -> str:
        """Look it up."""
        ran.append("look_up")
        if ran.count("look_up") == 1:
            raise ConnectionError("lost")
        return "found"

    agent, drive = Agent(name="Desk", functions=[pay, look_up]), Drive("sync")
    policies = made(order, ScriptedModel([]), tools=True)
    both = [call("pay", id="a"), call("look_up", id="b")]
    for _ in range(2):  # the second time the first reply comes from the cache
        ran.clear()
        paused = drive(agent, "hi", [both], swarm={"policies": policies})
        assert (paused.stop_reason, ran) == ("approval", [])
        state = load_state(json.dumps(paused.state()), agents=[agent])
        response: Response = drive.resume(state, ["done"], swarm={"policies": policies}, approvals={"a": True, "b": True})
        assert ran == ["pay", "look_up", "look_up"]
        assert (response.text, is_valid(response.messages)) == ("done", True)
        assert [made.outcome for made in response.calls] == ["error", "ok"]
