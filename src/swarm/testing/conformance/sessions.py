"""What a run relies on in a store of sessions, as tests that the author of one can run against theirs."""

from __future__ import annotations

from typing import Any

from ...core import AsyncSwarm, Swarm
from ...events import Delta
from ...models.scripted import ScriptedModel, call
from ...state import State
from ...types import Agent, Response
from ..assertions import assert_valid_history
from .policies import look_up
from .rules import require, run_async


def refund(amount: int) -> str:
    """Refund an amount."""
    return f"{amount} refunded"


class SessionConformance:
    """Rules for a store of sessions. Make a class of it in a test file and say how yours is made:

        class TestMine(SessionConformance):
            def make(self):
                return MyStore(...)

    Each `test_` method is one rule; pytest runs them, and so does unittest if the class is a TestCase too.
    """

    def make(self) -> Any:
        """A new store in which nothing is. Its `session(id)` gives a `swarm.ext.sessions.BaseSession`, or what has the same `keep`."""
        raise NotImplementedError(f"{type(self).__name__} needs a method make(self) that returns the store under test")

    def agent(self) -> Agent:
        """The agent that begins: it may call `look_up` and hand over."""
        return Agent(name="First", functions=[look_up], handoffs=[Agent(name="Second", functions=[look_up])])

    def begun(self, store: Any, id: str = "s") -> Any:
        """A hold of a session."""
        return _settled(store.session(id).begin(self.agent()))

    def kept(self, store: Any, id: str = "s") -> list[dict[str, Any]]:
        """The messages that a session holds."""
        hold = self.begun(store, id)
        try:
            return [] if hold.state is None else hold.state["messages"]
        finally:
            hold.release()

    def test_a_new_session_is_empty(self) -> None:
        """A session that nobody has saved has no state, and waits for nothing."""
        hold = self.begun(self.make())
        require(hold.state is None and hold.status == "idle", "A new session has no state and is idle.", f"{hold.state!r}, {hold.status!r}")

    def test_a_conversation_goes_on_in_every_mode(self) -> None:
        """Messages, active agent and context variables come back, whatever the driver."""
        for mode in _MODES:
            store, agent = self.make(), self.agent()
            turns = [call("look_up", {"item": 1}), call("transfer_to_second"), "Hello from Second."]
            first = _ran(mode, ScriptedModel(turns), agent, "Hello", store.session("s"), context_variables={"name": "Ann"})
            model = ScriptedModel(["I am still here."])
            second = _ran(mode, model, agent, "And now?", store.session("s"))
            rule = "A run goes on from the messages, the agent and the context variables of the last one."
            sent = [message for message in model.requests[0]["messages"] if message["role"] == "user"]
            require(len(sent) == 2 and second.agent is agent.handoffs[0], rule, f"{sent!r}, {second.agent!r} in the mode {mode!r}")
            require(second.context_variables == {"name": "Ann", "seen": [1]}, rule, f"{second.context_variables!r} in the mode {mode!r}")
            whole = [_user("Hello"), *first.messages, _user("And now?"), *second.messages]
            require(self.kept(store) == whole, "A session holds every message, as it was.", f"{self.kept(store)!r}")

    def test_sessions_do_not_mix(self) -> None:
        """What is saved under one id is not found under another."""
        store = self.make()
        for id in ("a", "b"):
            Swarm(ScriptedModel([f"of {id}"])).run(self.agent(), id, session=store.session(id))
        found = [message["content"] for message in self.kept(store, "a")]
        require(found == ["a", "of a"], "A session holds what was said in it, and nothing else.", repr(found))

    def test_a_step_replaces_what_came_after_its_first_messages(self) -> None:
        """`first` messages stay, those that are given follow, and nothing else."""
        store = self.make()
        hold = self.begun(store)
        _save(hold, 0, self.state("a", "b", "c"), 0)
        _save(hold, 1, self.state("d"), 1)
        hold.release()
        found = [message["content"] for message in self.kept(store)]
        require(found == ["a", "d"], "After save(first=1) the first message is followed by those of that step.", repr(found))

    def test_an_earlier_step_is_left_out(self) -> None:
        """A step that comes late, from another thread, does not undo a later one."""
        store = self.make()
        hold = self.begun(store)
        _save(hold, 1, self.state("a", "b"), 0)
        _save(hold, 0, self.state("a"), 0)
        hold.release()
        found = [message["content"] for message in self.kept(store)]
        require(found == ["a", "b"], "A step with a lower number than the last one is left out.", repr(found))

    def test_the_second_of_two_writers_is_refused(self) -> None:
        """It gets an error at its first step at the latest, and nothing of it is kept."""
        for there in (False, True):
            store = self.make()
            if there:
                Swarm(ScriptedModel(["Fine."])).run(self.agent(), "Before", session=store.session("s"))
            one, other = self.begun(store), self.begun(store)
            _save(one, 0, self.state("one"), 0)
            refused = _is_refused(lambda other=other: _save(other, 0, self.state("other"), 0))
            require(refused, "Of two runs that began with the same session, the second to save gets an error.", "it was saved")
            _save(one, 1, self.state("more"), 1, "idle")
            found = [message["content"] for message in self.kept(store)]
            require(found == ["one", "more"], "What the first run saves is kept, and nothing of the second.", repr(found))

    def test_a_run_that_was_left_keeps_nobody_waiting(self) -> None:
        """After `release` another run may begin, in this process at once."""
        store = self.make()
        stream = Swarm(ScriptedModel(["One two three."])).stream(self.agent(), "Go", session=store.session("s"))
        shown = next(event for event in stream if isinstance(event, Delta))
        del shown, stream
        response = Swarm(ScriptedModel(["Here I am."])).run(self.agent(), "Hello?", session=store.session("s"))
        require(response.text == "Here I am.", "A session whose run was left goes on.", repr(response.text))
        assert_valid_history(self.kept(store))

    def test_a_run_that_waits_is_decided_later(self) -> None:
        """The calls that wait for a person are there for whoever opens the session next."""
        from ...tools import tool

        store, agent = self.make(), Agent(name="Clerk", functions=[tool(refund, approval=True)])
        paused = Swarm(ScriptedModel([call("refund", {"amount": 5})])).run(agent, "My money!", session=store.session("s"))
        hold = _settled(store.session("s").begin(agent))
        hold.release()
        require(hold.status == "waiting", "The status that a run was saved with comes back.", repr(hold.status))
        approvals = {waiting.id: True for waiting in paused.pending}
        done = Swarm(ScriptedModel(["Done."])).run(agent, [], session=store.session("s"), approvals=approvals)
        answers = [message["content"] for message in done.messages if message["role"] == "tool"]
        require(answers == ["5 refunded"], "A run that waited goes on with its decisions.", repr(answers))

    def state(self, *texts: str) -> State:
        """A state that holds these messages."""
        state = Swarm(ScriptedModel(["Fine."])).run(self.agent(), "Hello").state()
        return State({**state, "messages": [_user(text) for text in texts]}, state.agents)


_MODES = ("run", "stream", "async run", "async stream")


def _ran(mode: str, model: Any, agent: Agent, text: str, session: Any, **options: Any) -> Response:
    client: Any = AsyncSwarm(model) if mode.startswith("async") else Swarm(model)
    came = client.run(agent, text, stream=mode.endswith("stream"), session=session, **options)
    if mode == "run":
        return came
    if mode == "stream":
        return _last(list(came))

    async def work() -> Response:
        return await came if mode == "async run" else _last([item async for item in came])

    return run_async(work())


def _last(items: list[Any]) -> Response:
    return items[-1]["response"]


def _save(hold: Any, number: int, state: State, first: int, status: str = "running") -> None:
    _settled(hold.save(number, state, first, status))


def _settled(value: Any) -> Any:
    async def wait() -> Any:
        return await value

    return run_async(wait()) if hasattr(value, "__await__") else value


def _is_refused(work: Any) -> bool:
    try:
        work()
    except Exception:
        return True
    return False


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}
