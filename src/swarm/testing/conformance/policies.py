"""What a run relies on in a policy, as tests that the author of one can run against theirs."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ...calls import Outcome
from ...core import Swarm
from ...effects import EFFECTS, KINDS, Call, Emit, Flow, HandOff
from ...errors import Cancelled, ConnectionFailed
from ...events import Done
from ...models.scripted import ScriptedModel, call
from ...nesting import RETURNS, hooks_of
from ...types import Agent, Response
from ..assertions import assert_valid_history
from .hooks import answering, by_hand, captured
from .rules import require
from .runs import MODES, run_in

_MOST_TRIES = 1000
_PAUSES = ("approval", "tool_calls")


def look_up(item: int, context_variables: dict[str, Any]) -> str:
    """Look an item up."""
    context_variables["seen"] = [*context_variables.get("seen", []), item]
    return f"item {item}"


class PolicyConformance:
    """Rules for a policy. Make a class of it in a test file and say how yours is made:

        class TestMine(PolicyConformance):
            def make(self):
                return MyPolicy(...)

    Each `test_` method is one rule; pytest runs them, and so does unittest if the class is a TestCase too. The runs are those of `agent`
    on `text` with a scripted model that says `turns`; replace them if your policy acts only on something else.
    """

    text = "Look up items 1 and 2, then hand over."

    def make(self) -> Any:
        """A new policy that acts, or does nothing, on the runs of this suite."""
        raise NotImplementedError(f"{type(self).__name__} needs a method make(self) that returns the policy under test")

    def agent(self) -> Agent:
        """The agent that begins: it may call `look_up` and hand over."""
        return Agent(name="First", functions=[look_up], handoffs=[Agent(name="Second", functions=[look_up])])

    def turns(self) -> list[Any]:
        """What the model says."""
        return [
            [call("look_up", {"item": 1}), call("look_up", {"item": 2})],
            call("transfer_to_second"),
            call("look_up", {"item": 3}),
            "Done.",
        ]

    def ran(self, mode: str, policy: Any) -> Response:
        """A run with a policy, in one mode."""
        return run_in(mode, ScriptedModel(self.turns()), self.agent(), self.text, [policy])

    def test_its_hooks_are_generator_functions(self) -> None:
        """A policy has at least one of the hooks run, model, approval, tool, handoff, event, each a generator function of one effect."""
        try:
            hooks_of([self.make()])
        except TypeError as error:
            raise AssertionError(f"A Swarm takes it among its policies.\nFound: {error}") from None

    def test_every_mode_comes_to_the_same(self) -> None:
        """One policy serves every driver: sync and async, streamed and not."""
        came = {mode: _told(self.ran(mode, self.make())) for mode in MODES}
        require(
            all(told == came["run"] for told in came.values()),
            "A run with this policy comes to the same in every mode.",
            _differences(came),
        )

    def test_the_history_stays_valid(self) -> None:
        """Whatever a policy refuses, repeats or answers itself, each call is answered once."""
        response = self.ran("run", self.make())
        if response.stop_reason not in _PAUSES:
            assert_valid_history(response.messages)

    def test_runs_share_nothing(self) -> None:
        """What belongs to one run is kept with `effect.run.state(self)`, so a second run with the same policy is like the first."""
        policy = self.make()
        came = {name: _told(self.ran("run", policy)) for name in ("the first run", "the second run")}
        require(
            came["the first run"] == came["the second run"],
            "A second run with the same policy comes to the same as the first.",
            _differences(came),
        )

    def test_runs_may_overlap(self) -> None:
        """Two runs that go on by turns come to what each comes to alone."""
        alone, policy = _told(self.ran("stream", self.make())), self.make()
        streams = [Swarm(ScriptedModel(self.turns()), policies=[policy]).stream(self.agent(), self.text) for _ in range(2)]
        waiting = list(streams)
        while waiting:
            waiting = [stream for stream in waiting if next(stream, None) is not None]
        for stream in streams:
            came = {"alone": alone, "beside another": _told(stream.response or Response())}
            require(came["alone"] == came["beside another"], "Runs that overlap share nothing.", _differences(came))

    def test_the_end_of_a_run_is_told(self) -> None:
        """An event hook passes on every event that it does not mean to hide; the last one, Done, must not be hidden."""
        events = list(Swarm(ScriptedModel(self.turns()), policies=[self.make()]).stream(self.agent(), self.text))
        require(events and isinstance(events[-1], Done), "The last event of a stream is Done.", repr(events[-1:]))

    def test_a_stream_can_be_closed(self) -> None:
        """A run that its reader closes after the first event ends as cancelled."""
        stream = Swarm(ScriptedModel(self.turns()), policies=[self.make()]).stream(self.agent(), self.text)
        next(stream)
        stream.close()
        reason = stream.response.stop_reason if stream.response is not None else None
        require(reason == "cancelled", "A run that is closed ends as cancelled.", repr(reason))

    def test_effects_are_left_as_they_are(self) -> None:
        """A policy that wants another request or other arguments passes on `effect.replace(...)`."""
        for kind, hook, effect, answer in self._hooks("model", "tool"):
            before = copy.deepcopy(effect.request if kind == "model" else effect.arguments)
            by_hand(hook(effect), answering(kind, answer))
            after = effect.request if kind == "model" else effect.arguments
            require(after == before, "A hook does not change what is in an effect.", f"{kind}: {before!r} became {after!r}")

    def test_a_hook_yields_effects_and_returns_their_kind(self) -> None:
        """A hook yields objects of `swarm.effects`. A model hook returns a Reply, an approval hook True, an Approve, a
        Refuse or None, a handoff hook an Agent or a Refuse, a run hook a Response."""
        for kind, hook, effect, answer in self._hooks(*KINDS):
            came = by_hand(hook(effect), answering(kind, answer))
            for asked in came.asked:
                require(isinstance(asked, EFFECTS), "A hook yields effects only.", f"{kind} yielded {asked!r}")
            if came.error is None and kind in RETURNS:
                require(
                    isinstance(came.value, RETURNS[kind][1]),
                    "A hook returns what its effect comes to: `return (yield effect)`.",
                    f"{kind} returned {came.value!r}",
                )

    def test_a_hook_gives_up_in_the_end(self) -> None:
        """What fails every time is not tried for ever."""
        for kind, hook, effect, _ in self._hooks("model", "approval", "tool", "handoff", "run"):
            came = by_hand(hook(effect), answering(kind, ConnectionFailed("not there")), most=_MOST_TRIES)
            require(not came.went_on, "A hook gives up what fails again and again.", f"{kind} asked {len(came.asked)} times")
            if came.error is None and kind in RETURNS:
                require(
                    isinstance(came.value, RETURNS[kind][1]),
                    "A hook that answers for what failed returns its kind.",
                    f"{kind} returned {came.value!r}",
                )

    def test_what_ends_a_run_is_passed_on(self) -> None:
        """Cancelled, KeyboardInterrupt and SystemExit are never swallowed: only an Exception may be caught."""
        for kind, hook, effect, _ in self._hooks(*KINDS):
            for end in (Cancelled(), KeyboardInterrupt(), SystemExit()):
                came = by_hand(hook(effect), lambda _, end=end: end, most=3)
                if not came.asked:
                    continue
                require(
                    came.error is end or came.went_on,
                    "A hook passes on what ends a run; it catches Exception, never BaseException.",
                    f"the {kind} hook met {end!r} by {came.told()}",
                )
                more = [item for item in came.asked[1:] if not isinstance(item, Call | Emit)]
                require(
                    not more,
                    "A hook asks for nothing more when its run ends, except Call to tidy up.",
                    f"the {kind} hook met {end!r} by asking for {more!r}",
                )

    def test_a_hook_can_be_closed(self) -> None:
        """A hook never yields in a `finally`: a generator that is closed must end."""
        for kind, hook, effect, _ in self._hooks(*KINDS):
            flow = hook(effect)
            next(flow, None)
            try:
                flow.close()
            except RuntimeError as error:
                raise AssertionError(f"A hook does not yield in a `finally`, nor when it is closed.\nFound: {kind}: {error}") from None

    def test_a_paused_call_is_left_alone(self) -> None:
        """An outcome that waits for a person is neither stored, nor repeated, nor replaced."""
        paused = Outcome("paused", "")
        for kind, hook, effect, _ in self._hooks("tool"):
            came = by_hand(hook(effect), answering(kind, paused))
            asked = [item for item in came.asked if getattr(item, "kind", None) == kind]
            if asked:
                require(
                    came.value is paused and len(asked) == 1,
                    "A tool hook passes on an outcome that is paused, and does not ask again.",
                    f"asked {len(asked)} times, {came.told()}",
                )

    def _hooks(self, *kinds: str) -> list[tuple[str, Callable[[Any], Flow], Any, Any]]:
        """Each hook of a new policy with an effect of a real run and what it came to."""
        effects = captured(ScriptedModel(self.turns()), self.agent(), self.text)
        found: list[tuple[str, Callable[[Any], Flow], Any, Any]] = []
        for kind in kinds:
            hook = getattr(self.make(), kind, None)
            if hook is not None and kind in effects:
                effect, answer = effects[kind]
                found.append((kind, hook, effect, effect.target if isinstance(effect, HandOff) else answer))
        return found


def _told(response: Response) -> dict[str, Any]:
    """What two runs are compared by."""
    return {
        "stop_reason": response.stop_reason,
        "agent": response.agent.name if response.agent is not None else None,
        "messages": [{key: value for key, value in message.items() if value is not None} for message in response.messages],
        "context_variables": response.context_variables,
    }


def _differences(came: dict[str, dict[str, Any]]) -> str:
    first, *_ = came
    lines: list[str] = []
    for name, told in came.items():
        lines += [f"{key} in {name}: {value!r}" for key, value in told.items() if name == first or value != came[first][key]]
    return "\n  ".join(["", *lines])
