"""What was asked of one call of `run`, settled before the run begins."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from .effects import Flow, Message
from .limits import NO_LIMITS, Limits
from .nesting import Hooks

if TYPE_CHECKING:
    from .models.profiles import Profile
    from .prices import Price
    from .run import Run


class Session(Protocol):
    """A conversation that outlives its runs: what `run(session=)` takes. `swarm.ext.sessions` has stores of them."""

    def keep(self, run: Run, messages: list[Message], context: dict[str, Any], approvals: dict[str, Any] | None) -> Flow:
        """The whole run as a flow that loads what is kept before the first step, and keeps each step.

        Args:
            run: the run, not begun; it is made to go on from what is kept.
            messages: the new messages, none to go on with a run that did not end.
            context: put over the context variables that are kept.
            approvals: decisions for the calls that are open, or None.
        """
        ...


class Options:
    """What was asked of one call of `run`; shared with nested runs. Attributes are those of `Swarm` and its `run`, and: `watched`, whether
    anybody reads events; `partials`, whether they are also told of partial values of typed answers; `logs`, whether debug logging is on;
    `session`, which makes the flow of a run that is kept in a session; `default_model`, in the place of the model of agents that were not
    given one; `innermost`, which performs an effect behind the last policy; `overrides`, the steps that a subclass of Swarm does its own
    way.
    """

    __slots__ = (
        "client",
        "default_client",
        "default_model",
        "execute_tools",
        "hooks",
        "innermost",
        "limits",
        "logs",
        "max_turns",
        "model_override",
        "overrides",
        "parallel_tools",
        "partials",
        "prices",
        "profile",
        "raise_errors",
        "redact",
        "session",
        "stream",
        "timeout",
        "watched",
    )

    def __init__(
        self,
        *,
        client: Any,
        default_client: Callable[[], Any],
        default_model: str | None,
        hooks: Hooks,
        innermost: Callable[[Run, Any], Flow],
        logs: bool,
        overrides: dict[str, Any],
        parallel_tools: bool | int,
        prices: dict[str, Price],
        profile: Profile | str | None,
        raise_errors: bool,
        redact: Callable[[Any], Any] | None,
        execute_tools: bool = True,
        limits: Limits | None = None,
        max_turns: float = float("inf"),
        model_override: str | None = None,
        partials: bool = False,
        session: Callable[[Run], Flow] | None = None,
        stream: bool = False,
        timeout: float | None = None,
        watched: bool = False,
    ) -> None:
        self.client = client
        self.default_client = default_client
        self.default_model = default_model
        self.hooks = hooks
        self.innermost = innermost
        self.logs = logs
        self.overrides = overrides
        self.parallel_tools = parallel_tools
        self.prices = prices
        self.profile = profile
        self.raise_errors = raise_errors
        self.redact = redact
        self.execute_tools = execute_tools
        self.limits = limits or NO_LIMITS
        self.max_turns = max_turns
        self.model_override = model_override
        self.partials = partials
        self.session = session
        self.stream = stream
        self.timeout = timeout
        self.watched = watched
