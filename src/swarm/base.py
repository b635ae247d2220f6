"""What Swarm and AsyncSwarm share: the options, and how a run is prepared from them."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, cast

from . import approvals as deciding
from . import calls, loop
from .context import copied
from .debug import trace
from .effects import CallModel, CallTool, Decide, Emit, Flow, HandOff
from .events import Event, Nested, nested
from .history import checked as checked_history
from .limits import Limits
from .limits import checked as checked_limits
from .lowlevel import LowLevel, overridden
from .models.client import model_for
from .models.default import default_client
from .models.profiles import Profile, checked
from .nesting import hooks_of
from .options import Options, Session
from .overrides import OverriddenModel
from .prefix import watching_prefix
from .prices import Price
from .prices import checked as checked_prices
from .request import ask_model
from .run import Run, logger
from .state import State, revive
from .types import Agent

logger.addHandler(logging.NullHandler())

Observer = Callable[[Event], Any]
Messages = str | list[dict[str, Any]]
Approvals = dict[str, Any]
INFINITE = float("inf")
_KINDS = (("max_turns", int | float, "a number"), ("timeout", int | float, "a number"), ("model_override", str, "the name of a model"))


class Base:
    """Runs agents. Nothing of a run is kept between calls, so one object may serve any number of threads or tasks.

    Args:
        client: who is asked: any object with `chat.completions.create`, sync or async, or a `Model`. None: our own client, set up by
            OPENAI_API_KEY and OPENAI_BASE_URL, or the offline model if SWARM_OFFLINE=1; it is made when it is first needed.
        policies: objects whose hooks stand around what a run does; the first is outermost.
        profile: how the provider behind `client` wants its messages, a `swarm.models.profiles.Profile` or the name of one; by default told
            by base URL and model name. An agent with a client or profile of its own goes by that.
        limits: what each run may use; `run(limits=)` tightens them.
        parallel_tools: whether the calls of one reply run side by side; a number is how many at once.
        tool_errors: "report" tells the model what went wrong; "raise" raises it, after the whole batch has run, with the response so
            far as `.response` (as `.swarm_response` if the exception has a `.response` of its own).
        on_event: a function, or several, called with every event of every run, sync or async; what they raise is logged and goes no
            further.
        redact: called with an exception before its text goes to the model, and with each text before `debug` prints it, the log takes it
            (at debug level; nothing of a run is logged at others), or an observer gets it; returns a text. Observers then get neither
            the pieces of a reply (`Delta`, `PartialOutput`) nor the context variables.
        prices: what models cost that are private, local or behind a gateway, by the name that a request or an answer gives them; they go
            before the tables of the extra `prices`.

    Raises:
        TypeError: a policy without hooks, an observer or `redact` that cannot be called, another argument of a wrong type.
        ValueError: another value of `tool_errors`, `parallel_tools` below 1.
        ConfigError: a client that is a text or a class, a profile that there is not.
    """

    def __init__(
        self,
        client: Any = None,
        *,
        policies: Sequence[Any] = (),
        profile: Profile | str | None = None,
        limits: Limits | None = None,
        parallel_tools: bool | int = False,
        tool_errors: Literal["report", "raise"] = "report",
        on_event: Observer | Sequence[Observer] = (),
        redact: Callable[[Any], Any] | None = None,
        prices: Mapping[str, Price] | None = None,
    ) -> None:
        if tool_errors not in ("report", "raise"):
            raise ValueError(f"tool_errors={tool_errors!r} must be 'report' or 'raise'")
        if redact is not None and not callable(redact):
            raise TypeError(f"redact must be a function, not {redact!r}")
        self.client = client
        self._hooks = hooks_of(policies)
        self._profile = checked(profile)
        self._limits = checked_limits(limits)
        self._parallel_tools = _checked_parallel(parallel_tools)
        self._raise_errors = tool_errors == "raise"
        self._observers = _observers(on_event)
        self._redact = redact
        self._prices = checked_prices(prices)
        self._overrides: dict[str, Any] = overridden(self) if isinstance(self, LowLevel) else {}
        if "get_chat_completion" in self._overrides:
            self._overrides["model"] = OverriddenModel(self._overrides["get_chat_completion"])

    @property
    def client(self) -> Any:
        """The client given, or the default one, made now if need be.

        Raises:
            ConfigError: none was given and the environment names none.
        """
        if self._client is None:
            self._client = default_client()
        return self._client

    @client.setter
    def client(self, client: Any) -> None:
        if isinstance(client, str | type):
            model_for(client)  # says what is wrong with it, before the first run
        self._client = client
        self._is_default = client is None

    def _for_observers(self, event: Event) -> Event | None:
        """The event as observers get it, or None if they do not."""
        if self._redact is None:
            return event
        from .redaction import for_observers

        try:
            return for_observers(event, self._redact)
        except Exception as error:  # not its text, which may hold what was to be hidden
            logger.error("redact failed with %s, so no observer is told of %s", type(error).__name__, type(event).__name__)
            return None

    def _reader(self, debug: bool, item_of: Callable[[Event], Any]) -> Callable[[Event], Any]:
        """The function through which a stream reads events: prints the trace, then gives the item."""

        def read(event: Event) -> Any:
            if debug:
                trace(event, self._redact)
            return item_of(event)

        return read if debug else item_of

    def __repr__(self) -> str:
        return f"{type(self).__name__}(client={type(self._client).__name__ if self._client is not None else None})"

    def _run(
        self,
        item_of: Callable[[Event], Any] | None,
        agent: Agent,
        messages: Messages,
        context_variables: dict[str, Any] | None,
        model_override: str | None,
        debug: bool,
        max_turns: float,
        execute_tools: bool,
        limits: Limits | None,
        approvals: Approvals | None,
        session: Session | None,
        timeout: float | None,
    ) -> Any:
        """A run: its stream of what `item_of` makes of its events, or without `item_of` what it comes to."""
        run = self._begin(
            agent,
            messages,
            context_variables,
            approvals,
            model_override=model_override,
            stream=item_of is not None,
            max_turns=max_turns,
            execute_tools=execute_tools,
            limits=limits,
            session=session,
            timeout=timeout,
            debug=debug,
            watched=debug or item_of is not None,
            partials=item_of is itself,
        )
        self._need_client(run)
        return self._finish(run, debug) if item_of is None else self._stream(run, debug, item_of)

    def _resume(
        self,
        item_of: Callable[[Event], Any] | None,
        state: State,
        approvals: Approvals | None,
        context_variables: dict[str, Any] | None,
        model_override: str | None,
        debug: bool,
        max_turns: float,
        limits: Limits | None,
        timeout: float | None,
    ) -> Any:
        """A saved run that goes on: the stream of its events, or without `item_of` what it comes to."""
        if not isinstance(state, State):  # type: ignore[redundant-expr]  # callers without a type checker
            raise TypeError(f"resume takes a State, not {type(state).__name__}: load_state(data, agents=[...]) makes one")
        _check_dicts(approvals, context_variables)
        streams = item_of is not None
        options = self._options(
            model_override=model_override,
            stream=streams,
            max_turns=max_turns,
            limits=limits,
            timeout=timeout,
            debug=debug,
            watched=debug or streams,
            partials=item_of is itself,
        )
        run = revive(state, options, approvals or {}, context_variables or {})
        self._need_client(run)
        return self._finish(run, debug) if item_of is None else self._stream(run, debug, item_of)

    def _begin(self, agent: Agent, messages: Any, context: dict[str, Any] | None, approvals: Approvals | None = None, **given: Any) -> Run:
        if not isinstance(agent, Agent):  # type: ignore[redundant-expr]  # callers without a type checker
            raise TypeError(_no_agent(agent, messages))
        _check_dicts(approvals, context)
        start = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
        variables: dict[str, Any] = copied(context) if context is not None else {}
        if (session := given.get("session")) is not None:
            checked_history(start, allow_open_tail=True)  # says what is wrong with them, before the first step
            given["session"] = partial(_keep_of(session), messages=list(start), context=variables, approvals=approvals)
        options = self._options(**given)
        paused_is_fine = approvals is not None or not options.execute_tools or options.max_turns == 0 or options.session is not None
        run = Run(agent, checked_history(start, allow_open_tail=paused_is_fine), variables, options)
        run.approvals = approvals
        return run

    def _options(self, *, debug: bool = False, **given: Any) -> Options:
        max_turns, timeout = given.get("max_turns"), given.get("timeout")
        limits = checked_limits(given.get("limits"))
        for name, kind, what in _KINDS:
            if given.get(name) is not None and not isinstance(given[name], kind):
                raise TypeError(f"{name} must be {what}, not {given[name]!r}")
        given["limits"] = self._limits.tighter(limits) if limits is not None and self._limits is not None else limits or self._limits
        if max_turns is None:
            given["max_turns"] = INFINITE
        elif not max_turns >= 0:  # NaN is neither
            raise ValueError(f"max_turns={max_turns!r} must not be negative; 0 asks no model, leave it out for no limit")
        if timeout is not None and not timeout > 0:
            raise ValueError(f"timeout={timeout!r} must be above zero seconds; leave it out for no limit")
        if self._observers:
            given["watched"] = True
        return Options(
            client=self._client,
            default_client=lambda: self.client,
            default_model=os.environ.get("SWARM_MODEL") if self._is_default else None,
            hooks=watching_prefix(self._hooks) if debug else self._hooks,
            innermost=innermost,
            overrides=self._overrides,
            logs=logger.isEnabledFor(logging.DEBUG),
            parallel_tools=self._parallel_tools,
            prices=self._prices,
            profile=self._profile,
            raise_errors=self._raise_errors,
            redact=self._redact,
            **given,
        )

    def _need_client(self, run: Run) -> None:
        """Make the default client now if the run begins with it, so that a missing one is told where `run` is called."""
        if run.agent.client is None and "model" not in self._overrides:
            run.options.client = self.client

    def _flow(self, run: Run) -> Flow:
        """The whole run, kept in its session if it has one."""
        return loop.conversation(run) if run.options.session is None else run.options.session(run)

    def _stream(self, run: Run, debug: bool, item_of: Callable[[Event], Any]) -> Any:
        raise NotImplementedError

    def _finish(self, run: Run, debug: bool) -> Any:
        raise NotImplementedError


def itself(event: Event) -> Event:
    """The item of a stream of events."""
    return event


def _keep_of(session: Any) -> Any:
    if isinstance(session, type) or not callable(getattr(session, "keep", None)):
        raise TypeError(f"session must be one that a store gives, such as SessionStore(...).session('user-42'), not {session!r}")
    return session.keep


def _checked_parallel(wanted: Any) -> bool | int:
    if not isinstance(wanted, int):
        raise TypeError(f"parallel_tools must be True, False or how many calls may run at once, not {wanted!r}")
    if wanted < 1 and wanted is not False:
        raise ValueError(f"parallel_tools={wanted!r} must be at least 1; False runs one call after another, True all at once")
    return wanted


def _observers(on_event: Any) -> tuple[Observer, ...]:
    observers: list[Any] = [on_event]
    if not callable(on_event) and isinstance(on_event, Iterable):
        observers = list(cast("Iterable[Any]", on_event))
    for observer in observers:
        if not callable(observer):
            raise TypeError(f"on_event must be a function or a list of functions that take an event, not {observer!r}")
    return tuple(observers)


def _no_agent(agent: Any, messages: Any) -> str:
    if isinstance(agent, type):
        return f"agent must be an Agent, not a class: give an instance, {agent.__name__}(...)"
    if isinstance(messages, Agent):
        return "the agent comes first: run(agent, messages)"
    return f"agent must be an Agent, not {type(agent).__name__}"


def _check_dicts(approvals: Any, context: Any) -> None:
    if approvals is not None and not isinstance(approvals, dict):
        raise TypeError(f"approvals must be a dict {{call id: decision}}, not {approvals!r}")
    if context is not None and not isinstance(context, dict):
        raise TypeError(f"context_variables must be a dict, not {context!r}")


def innermost(run: Run, effect: Any) -> Flow:
    """What performs an effect behind the last policy."""
    if isinstance(effect, CallModel):
        return ask_model(run, effect)
    if isinstance(effect, CallTool):
        return calls.perform(run, effect)
    if isinstance(effect, Decide):
        return deciding.decision(run, effect)
    return loop.turns(run) if effect.kind == "run" else _settled(run, effect)


def _settled(run: Run, effect: HandOff | Emit) -> Flow:
    """A handoff that every policy lets pass, or an event, which is told if anybody watches."""
    if isinstance(effect, HandOff):
        return effect.target
    if run.options.watched:
        # A policy's own event may stand in a run that is nested; what the run tells is nested already.
        yield Emit(nested(run.path, effect.event)) if run.path and not isinstance(effect.event, Nested) else effect
    return None
