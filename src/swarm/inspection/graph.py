"""Who can hand over to whom: `handoffs=`, functions that return an agent, agents that are asked as tools. Read, never called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

from ..errors import AgentError
from ..handoffs import transfer_tool
from ..signature import Signature, mentions
from ..tools import Tool, tool_of
from ..types import Agent, Handoff
from .values import NEW_AGENT, UNKNOWN, Reader

Kind: TypeAlias = Literal["hands over", "asks"]


class Edge:
    """One way from an agent to another.

    Attributes:
        source: the agent that has the tool.
        target: the other agent; None where only a run knows which.
        tool: the tool's name on the wire.
        kind: "hands over", or "asks" where control comes back by itself (`as_tool`, `Handoff(returns=True)`).
        conditional: whether the tool is offered only while a function of the user's says so.
    """

    __slots__ = ("conditional", "kind", "source", "target", "tool")

    def __init__(self, source: Agent, target: Agent | None, tool: str, kind: Kind = "hands over", conditional: bool = False) -> None:
        self.source = source
        self.target = target
        self.tool = tool
        self.kind: Kind = kind
        self.conditional = conditional

    def __repr__(self) -> str:
        return f"Edge({self.source.name!r}, {self.target.name if self.target else None!r}, {self.tool!r}, {self.kind!r})"


class Member:
    """What there is to read about one agent.

    Attributes:
        agent: the agent.
        tools: its tools in order, those of one name too; `handoff` is set on those made from `handoffs=`.
        edges: the ways from it.
        work: names of the tools that may do something else than hand over.
        broken: why it cannot run, or None.
    """

    __slots__ = ("agent", "broken", "edges", "tools", "work")

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.tools: list[Tool] = []
        self.edges: list[Edge] = []
        self.work: list[str] = []
        self.broken: str | None = None


class Graph:
    """Agents, and the ways between them.

    Attributes:
        starts: the agents with whom a conversation may begin.
        members: what was read about each agent that can be reached, in the order in which it was found.
        reader: what functions were read with.
    """

    def __init__(self, starts: Sequence[Agent]) -> None:
        self.starts = list(dict.fromkeys(starts))
        self.members: dict[Agent, Member] = {}
        self.reader = Reader()

    @property
    def agents(self) -> list[Agent]:
        """All agents that can be reached, those with whom a conversation may begin first."""
        return list(self.members)

    @property
    def edges(self) -> list[Edge]:
        """All ways, agent by agent, in the order of its tools."""
        return [edge for member in self.members.values() for edge in member.edges]

    def label(self, agent: Agent) -> str:
        """How an agent is called where several may have one name: `Sales`, `Sales (2)`."""
        same = [other for other in self.members if other.name == agent.name]
        number = same.index(agent) + 1 if agent in same else 1
        return agent.name if number == 1 else f"{agent.name} ({number})"

    def after(self, agents: Iterable[Agent], kinds: Sequence[Kind] = ("hands over", "asks")) -> set[Agent]:
        """These agents, and all that can be reached from them by ways of these kinds."""
        found: set[Agent] = set()
        waiting = list(agents)
        while waiting:
            agent = waiting.pop()
            if agent not in found:
                found.add(agent)
                waiting += [edge.target for edge in self.members[agent].edges if edge.target is not None and edge.kind in kinds]
        return found


def read_graph(*starts: Agent) -> Graph:
    """The agents that can be reached from these, and how. No function is called; modules that handoff functions import are imported.

    Args:
        starts: the agents with whom a conversation may begin.

    Raises:
        TypeError: one of them is no Agent.
    """
    for start in starts:
        if not isinstance(start, Agent):  # type: ignore[redundant-expr]  # callers without a type checker
            raise TypeError(f"read_graph takes agents, not {start!r}")
    graph = Graph(starts)
    waiting = list(graph.starts)
    while waiting:
        agent = waiting.pop(0)
        if agent not in graph.members:
            member = graph.members[agent] = _read_member(agent, graph.reader)
            waiting += [edge.target for edge in member.edges if edge.target is not None]
    return graph


def _read_member(agent: Agent, reader: Reader) -> Member:
    member = Member(agent)
    for function in agent.functions:
        try:
            tool = tool_of(function)
        except AgentError as error:  # the list was changed since it was checked
            member.broken = str(error)
            continue
        member.tools.append(tool)
        _add_ways(member, tool, reader)
    for entry in agent.handoffs:
        if not isinstance(entry, Agent | Handoff):
            member.broken = f"handoffs holds {entry!r}; give an Agent or a Handoff"
            continue
        tool = _transfer(entry if isinstance(entry, Handoff) else Handoff(entry), member)
        if tool is not None:
            member.tools.append(tool)
            _add_ways(member, tool, reader)
    return member


def _transfer(handoff: Handoff, member: Member) -> Tool | None:
    taken = {tool.name: tool for tool in member.tools}
    try:
        return transfer_tool(handoff, {} if handoff.name in taken else taken)  # a name that is taken is a finding of its own
    except AgentError as error:
        member.broken = str(error)
        return None


def _add_ways(member: Member, tool: Tool, reader: Reader) -> None:
    handoff = tool.handoff
    conditional = callable(tool.enabled) or not tool.enabled or (handoff is not None and handoff.when is not None)
    if handoff is not None:
        member.edges.append(Edge(member.agent, handoff.agent, tool.name, "asks" if handoff.returns else "hands over", conditional))
        return
    asked = _asked(tool)
    if asked is not None:
        member.edges.append(Edge(member.agent, asked, tool.name, "asks", conditional))
        member.work.append(tool.name)
        return
    targets, dynamic, work = _handed_to(tool, reader)
    member.edges += [Edge(member.agent, target, tool.name, conditional=conditional) for target in targets]
    if dynamic:
        member.edges.append(Edge(member.agent, None, tool.name, conditional=conditional))
    if work:
        member.work.append(tool.name)


def _asked(tool: Tool) -> Agent | None:
    """The agent behind `agent.as_tool()`: what the flow that runs it holds."""
    cells: Any = getattr(tool.nested, "__closure__", None) or ()
    return next((cell.cell_contents for cell in cells if isinstance(cell.cell_contents, Agent)), None)


def _handed_to(tool: Tool, reader: Reader) -> tuple[list[Agent], bool, bool]:
    """The agents that a function may return, whether there may be others, and whether it may return something else than an agent."""
    values = reader.result_of(tool)
    targets = list(dict.fromkeys(value for value in values if isinstance(value, Agent)))
    unknown = any(value is UNKNOWN for value in values)
    hint = _hint(tool)
    dynamic = any(value is NEW_AGENT for value in values) or (unknown and mentions(hint, "Agent", "Result"))
    dynamic = dynamic or (not targets and mentions(hint, "Agent"))
    other = any(not isinstance(value, Agent) and value is not UNKNOWN and value is not NEW_AGENT for value in values)
    return targets, dynamic, other or (unknown and not targets and not dynamic)


def _hint(tool: Tool) -> Any:
    try:
        return Signature(tool.fn).returns
    except AgentError:
        return None
