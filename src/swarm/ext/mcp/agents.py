"""Agents offered as an MCP server: each is a tool `ask_<name>` that any MCP client can call, over standard input and output or HTTP.

A client sends one message and gets one answer, with the id of the conversation. It sends the id again to go on; the conversation itself
stays here, since most clients show their model only the text of a result, and none carries messages for a server.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import anyio
import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from ...core import AsyncSwarm
from ...effects import Message
from ...errors import AgentError, SwarmError
from ...handoffs import transfer_name
from ...legal import unique_name
from ...records import Response
from ...types import Agent
from ..serving import answer_text, progress, refusals
from .stdio import Lines

if TYPE_CHECKING:
    from starlette.applications import Starlette

_CONVERSATIONS = 1_000
"""So many are kept; the one that was silent longest is forgotten first."""
_CLOSING_SECONDS = 5.0

logger = logging.getLogger("swarm.mcp")


class _Conversation:
    """What was said so far, and who speaks.

    Args:
        tool: the tool through which it was last spoken to.
        agent: who answers next.
    """

    def __init__(self, tool: str, agent: Agent, context: dict[str, Any]) -> None:
        self.tool = tool
        self.agent = agent
        self.messages: list[Message] = []
        self.context = context
        self.turn = asyncio.Lock()  # two messages at once are answered one after the other


class AgentServer:
    """Offers agents to MCP clients. `run_stdio()` serves one client, `app()` is an ASGI application for many.

    A tool `ask_<name>` takes `message`, and `conversation` to go on with an earlier one; its result is the last text, then a line
    with the conversation's id, and both as structured content. The agent that a handoff led to answers the next message. What fails is
    a result with `isError`, after which the conversation may go on. A call that needs an approval is refused, since nobody can be asked.
    A thousand conversations are kept, in this process.

    Args:
        agents: who can be asked.
        swarm: runs them.
        name: what the server calls itself.
        context_variables: those with which each conversation begins.
        run_options: keyword arguments for each run: `limits`, `max_turns`, `model_override`, `timeout`.

    Raises:
        AgentError: no agents.

    Attributes:
        server: the SDK's, for other ways to serve it.
    """

    def __init__(
        self,
        agents: Sequence[Agent],
        swarm: AsyncSwarm,
        *,
        name: str = "openswarm",
        context_variables: dict[str, Any] | None = None,
        **run_options: Any,
    ) -> None:
        if not agents:
            raise AgentError("AgentServer needs at least one agent")
        self._swarm = swarm
        self._context = context_variables or {}
        self._options = run_options
        self._agents: dict[str, Agent] = {}
        for agent in agents:
            self._agents[unique_name(f"ask_{transfer_name(agent.name).removeprefix('transfer_to_')}", self._agents)] = agent
        self._conversations: OrderedDict[str, _Conversation] = OrderedDict()
        self.server: Server[Any] = Server(name, on_list_tools=self._list, on_call_tool=self._call)

    async def run_stdio(self, reading: int, writing: int) -> None:
        """Serve one client, until it closes its end.

        Args:
            reading, writing: descriptors of the pipes to it, as `own_pipes()` gives them.
        """
        with open(writing, "w", encoding="utf-8", closefd=False) as pipe:
            async with stdio_server(cast("Any", Lines(reading)), anyio.wrap_file(pipe)) as (incoming, outgoing):
                await self.server.run(incoming, outgoing, self.server.create_initialization_options())

    def app(self, host: str = "127.0.0.1") -> Starlette:
        """An application that serves streamable HTTP at /mcp.

        Args:
            host: the address it will listen on. On loopback, requests that a web page made a browser send are refused; elsewhere that,
                and who may ask at all, is for what stands in front of it.
        """
        return self.server.streamable_http_app(host=host)

    async def _list(self, _: ServerRequestContext, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_tool(name, agent) for name, agent in self._agents.items()])

    async def _call(self, ctx: ServerRequestContext, params: types.CallToolRequestParams) -> types.CallToolResult:
        # In a task of its own, so that a cancelled run is closed in peace: within anyio's scope each of its awaits would be cancelled anew.
        task = asyncio.create_task(self._answer(ctx, params.name, params.arguments or {}))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait([task], timeout=_CLOSING_SECONDS)
            raise

    async def _answer(self, ctx: ServerRequestContext, tool: str, arguments: dict[str, Any]) -> types.CallToolResult:
        if tool not in self._agents:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {tool}. There are {', '.join(self._agents)}")
        message, known = arguments.get("message"), arguments.get("conversation")
        if not isinstance(message, str) or not message.strip():
            return _failed("message must be a text that is not empty")
        if known is not None and not isinstance(known, str):
            return _failed("conversation must be a text, the id that came with an earlier answer")
        conversation = _Conversation(tool, self._agents[tool], self._context) if known is None else self._conversations.get(known)
        if conversation is None:
            return _failed(f"there is no conversation {known!r}, or no longer: leave it out to begin a new one")
        name = self._kept(conversation, known)
        async with conversation.turn:
            if conversation.tool != tool:
                conversation.tool, conversation.agent = tool, self._agents[tool]
            try:
                return _answered(await self._run(ctx, conversation, message), name)
            except SwarmError as error:
                return _failed(str(error), name)
            except Exception as error:
                logger.exception("%s failed", conversation.agent.name)
                return _failed(f"{conversation.agent.name} failed with a {type(error).__name__}", name)

    async def _run(self, ctx: ServerRequestContext, conversation: _Conversation, message: str) -> Response:
        said: list[Message] = [*conversation.messages, {"role": "user", "content": message}]
        stream = self._swarm.stream(conversation.agent, said, conversation.context, **self._options)
        told = 0
        try:
            while True:
                async with stream:
                    async for event in stream:
                        if (text := progress(event)) is not None:
                            told += 1
                            await ctx.session.report_progress(told, message=text)
                response = stream.response
                assert response is not None  # it was read to its end
                if response.stop_reason != "approval":
                    return response
                stream = self._swarm.resume_stream(response.state(), refusals(response), **self._options)
        finally:
            if (done := stream.response) is not None:  # what was done stays known, also after a failure or a cancellation
                conversation.messages = [*said, *done.messages]
                conversation.agent = done.agent or conversation.agent
                conversation.context = done.context_variables

    def _kept(self, conversation: _Conversation, known: str | None) -> str:
        """Its id, after which it is the last to be forgotten."""
        name = known or secrets.token_urlsafe(12)  # whoever knows it can go on, so it must not be guessed
        self._conversations[name] = conversation
        self._conversations.move_to_end(name)
        if len(self._conversations) > _CONVERSATIONS:
            self._conversations.popitem(last=False)
        return name


def _tool(name: str, agent: Agent) -> types.Tool:
    text = {"type": "string"}
    return types.Tool(
        name=name,
        title=agent.name,
        description=f"Ask {agent.name}.{f' {agent.description}' if agent.description else ''}",
        input_schema={
            "type": "object",
            "properties": {
                "message": {**text, "description": "What to say, in full: nothing else of your conversation is seen."},
                "conversation": {**text, "description": "The id that came with an earlier answer, to go on from there."},
            },
            "required": ["message"],
        },
        output_schema={
            "type": "object",
            "properties": {"text": text, "agent": text, "conversation": text, "stop_reason": text},
            "required": ["text", "agent", "conversation", "stop_reason"],
        },
    )


def _answered(response: Response, conversation: str) -> types.CallToolResult:
    speaker = response.agent.name if response.agent is not None else ""
    reason = response.stop_reason
    text = answer_text(response)
    if reason not in ("complete", "stopped"):
        text = f"{speaker} stopped early ({reason}). {text}".strip()
    return types.CallToolResult(
        content=[types.TextContent(text=text), _id(conversation)],
        structured_content={"text": text, "agent": speaker, "conversation": conversation, "stop_reason": reason},
    )


def _failed(text: str, conversation: str | None = None) -> types.CallToolResult:
    more = [] if conversation is None else [_id(conversation)]
    return types.CallToolResult(content=[types.TextContent(text=text), *more], is_error=True)


def _id(conversation: str) -> types.TextContent:
    return types.TextContent(text=f"(conversation: {conversation})")
