"""Router: hands over before the first model call, where the user's message is clearly for one agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..effects import Call, Emit, Flow, HandOff, StartRun
from ..events import HandedOff, PolicyActed
from ..inside import inside
from ..limits import passed
from ..meaning import Embed, Known, last_words_of_user
from ..offers import ask, table_of
from ..types import Agent
from .checking import carried

if TYPE_CHECKING:
    from ..run import Run
    from ..tools import Tool

THRESHOLD = 0.5
"""Similarity to the nearest example from which a message may be clear."""
MARGIN = 0.1
"""How much farther the nearest example of every other agent must be. Measured with the sentence model on 97 messages to six triage agents,
of which 29 were for none of the agents: with 0.5 and 0.1 it was sure of 48, all of them right; with 0.4 and 0.1 of 56, one wrong; with 0.3
and 0 of 69, four wrong (python -m benchmarks.router_eval)."""


class Router:
    """Spares a triage agent the model call where it is plain who should answer. Where it is not, the triage agent is asked as ever.

    Acts once in a run, before the first model call, if the run begins with `start` and its messages end in one of the user's. The history
    stays as it is; the next message has the other agent as its sender, and `Response.agent` says who it is. Events: PolicyActed with what
    was compared, then HandedOff with an empty `call_id`. The `handoff` hooks of other policies, `Limits(handoffs=)`, and of a `Handoff`
    from `start` to that agent `when` and `history_filter` hold as for any handoff.

    Args:
        start: the agent that decides otherwise.
        routes: for each agent what users say who need it; five examples or more each.
        threshold: cosine from -1 to 1, see THRESHOLD.
        margin: difference of cosines from 0 to 2, see MARGIN.
        embed: as for `swarm.similar_to`.

    Raises:
        ValueError: no routes, an agent without examples, `start` among the routes, a number out of range.
        TypeError: a key that is no Agent, a single text instead of a list of examples, an `embed` that is no function.
        ConfigError: without `embed`, if the extra `offline` is not installed.
    """

    def __init__(
        self,
        start: Agent,
        routes: Mapping[Agent, Sequence[str]],
        *,
        threshold: float = THRESHOLD,
        margin: float = MARGIN,
        embed: Embed | None = None,
    ) -> None:
        if not -1 <= threshold <= 1 or not 0 <= margin <= 2:
            raise ValueError(
                f"Router(threshold={threshold!r}, margin={margin!r}) must be a cosine from -1 to 1, and a difference from 0 to 2"
            )
        if not routes or start in routes:
            raise ValueError("Router(routes=...) must name the agents that may take over, and not the one that begins")
        for agent, examples in routes.items():
            if not isinstance(agent, Agent):  # type: ignore[redundant-expr]  # callers without a type checker
                raise TypeError(f"Router(routes=...) must be {{agent: [examples]}}; {agent!r} is no Agent")
            Known(examples, embed)  # says what is wrong with them
        self._start = start
        self._owners = [agent for agent, examples in routes.items() for _ in examples]
        self._known = Known([text for examples in routes.values() for text in examples], embed)
        self._threshold = threshold
        self._margin = margin

    def run(self, start: StartRun) -> Flow:
        """Hand over if it is sure, then let the run begin."""
        run, text = inside(start.run), last_words_of_user(start.messages[-1:])
        may = run.options.execute_tools and run.options.max_turns > 0 and passed("handoffs", run.scopes) is None
        if start.agent is not self._start or not text or not may:
            return (yield start)
        likeness: list[float] = yield Call(self._known.likeness, (text,), worker=True)
        best: dict[Agent, float] = {}
        for agent, cosine in zip(self._owners, likeness, strict=True):
            best[agent] = max(cosine, best.get(agent, -1.0))
        (target, near), *others = sorted(best.items(), key=lambda entry: -entry[1])
        second = others[0][1] if others else -1.0
        if not (near >= self._threshold and near - second >= self._margin):  # NaN is never sure
            return (yield start)
        example = self._known.texts[likeness.index(near)]
        rival = f", {others[0][0].name} {second:.2f}" if others else ""
        yield from self._hand_over(run, start, target, f"near {example!r}: {near:.2f}{rival}")
        return (yield StartRun(run.agent, start.messages, start.run))

    def _hand_over(self, run: Run, start: StartRun, target: Agent, why: str) -> Flow:
        tool = next((tool for tool in table_of(start.agent).tools.values() if _leads_to(tool, target)), None)
        handoff = tool.handoff if tool is not None else None
        if handoff is not None and handoff.when is not None and not (yield from ask(handoff.when, run.about)):
            return
        # Passed through all policies: from a hook of its own it would leave out those that stand further out, such as Permission.
        agent = yield from carried(run.through(HandOff(start.agent, target, "", start.run)))
        if not isinstance(agent, Agent):
            yield Emit(PolicyActed(start.agent.name, "Router", f"may not hand over to {target.name}", agent.reason or why))
            return
        run.take_up(agent)
        if tool is not None and agent is target:
            run.handoff, run.handed_by = handoff, (start.agent, tool.name)
        for scope in run.scopes:
            scope.handoffs += 1
        yield Emit(PolicyActed(start.agent.name, "Router", f"hands over to {agent.name}", why))
        run.cause = "policy:Router"
        yield Emit(HandedOff(start.agent.name, agent.name, "", run.cause))


def _leads_to(tool: Tool, target: Agent) -> bool:
    return tool.handoff is not None and tool.handoff.agent is target and not tool.handoff.returns
