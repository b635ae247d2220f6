"""A swarm as an A2A server (https://a2a-protocol.org): an agent card, and messages that it answers, by the SDK 1.x.

A message begins a task, whose states tell who does what, and whose artifact is the answer. The conversation is that of the context id, so
the next message of the context is answered by whoever had the last word. The extra `a2a` is needed.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from typing import Any

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Part, Task, TaskState, TaskStatus
from google.protobuf.json_format import MessageToJson
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from ..attachments import user_message
from ..core import AsyncSwarm
from ..errors import SwarmError
from ..parts import File, Image
from ..records import Response
from ..types import Agent
from .foreign import seen
from .serving import ServedConversation, answer_text, keep

__all__ = ["A2AServer"]

logger = logging.getLogger("swarm.a2a")


class A2AServer:
    """Offers an agent, and whoever it hands over to, to A2A clients: `app()` is an ASGI application.

    `message/send` and `message/stream` begin a task: its states say who does what, its artifact is the agent's last text. A later message
    with the same context id goes on with the conversation. What fails is a failed task, after which the conversation may go on;
    cancelling a task cancels the run. A call that needs an approval is refused, since nobody can be asked. A thousand conversations are
    kept, in this process, with their tasks; whoever knows a context id can go on with it.

    Args:
        agent: who is asked first.
        swarm: runs it.
        url: where clients reach the application; stands on the card.
        version: the agent's version, for the card.
        context_variables: what each conversation begins with.
        run_options: keyword arguments for each run: `limits`, `max_turns`, `model_override`, `timeout`.

    Attributes:
        card: the agent card; may be changed before `app()` is called.
    """

    def __init__(
        self,
        agent: Agent,
        swarm: AsyncSwarm,
        *,
        url: str,
        version: str = "1.0.0",
        context_variables: dict[str, Any] | None = None,
        **run_options: Any,
    ) -> None:
        self._executor = _Executor(agent, swarm, context_variables or {}, run_options)
        about = agent.description or f"Answers as {agent.name}."
        self.card = AgentCard(
            name=agent.name,
            description=about,
            version=version,
            supported_interfaces=[AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="1.0")],
            capabilities=AgentCapabilities(streaming=True),
            default_input_modes=["text/plain", "application/json", "image/*", "application/pdf"],
            default_output_modes=["text/plain"],
            skills=[AgentSkill(id="chat", name=agent.name, description=about, tags=["chat"])],
        )

    def app(self) -> Starlette:
        """An application that serves the card at /.well-known/agent-card.json and JSON-RPC at /.

        Requests of web pages are refused; who else may ask is for what stands in front of it.
        """
        handler = DefaultRequestHandler(self._executor, InMemoryTaskStore(), self.card)
        routes = [*create_agent_card_routes(self.card), *create_jsonrpc_routes(handler, "/")]
        return Starlette(routes=routes, middleware=[Middleware(_NoPages)])


class _NoPages:
    """Refuses what a web page made a browser send: it says so by its Origin, and a page may reach addresses that are none of its own."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_page = scope["type"] == "http" and any(name == b"origin" for name, _ in scope["headers"])
        await (PlainTextResponse("requests of web pages are refused", 403) if is_page else self._app)(scope, receive, send)


class _Executor(AgentExecutor):
    """Answers messages with runs."""

    def __init__(self, agent: Agent, swarm: AsyncSwarm, context: dict[str, Any], options: dict[str, Any]) -> None:
        self._agent = agent
        self._swarm = swarm
        self._context = context
        self._options = options
        self._conversations: OrderedDict[str, ServedConversation] = OrderedDict()

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        task, name = context.task_id or "", context.context_id or ""
        tell = TaskUpdater(event_queue, task, name)
        asked = context.message
        if asked is None or not asked.parts:
            return await tell.reject(tell.new_agent_message([Part(text="a message needs a part")]))
        if context.current_task is None:
            await event_queue.enqueue_event(
                Task(id=task, context_id=name, status=TaskStatus(state=TaskState.TASK_STATE_SUBMITTED), history=[asked])
            )

        async def working(text: str) -> None:
            await tell.start_work(tell.new_agent_message([Part(text=text)]))

        conversation = self._kept(name)
        async with conversation.turn:
            try:
                said = user_message(*map(_part, asked.parts))
                response = await conversation.answer(self._swarm, said, self._options, working)
            except SwarmError as error:
                return await tell.failed(tell.new_agent_message([Part(text=str(error))]))
            except Exception as error:
                logger.exception("%s failed", conversation.agent.name)
                text = f"{conversation.agent.name} failed with a {type(error).__name__}"
                return await tell.failed(tell.new_agent_message([Part(text=text)]))
        return await _answer(tell, response)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """The SDK has cancelled `execute`, and with it the run; what is left is to say so."""
        await TaskUpdater(event_queue, context.task_id or "", context.context_id or "").cancel()

    def _kept(self, name: str) -> ServedConversation:
        """The conversation of a context, after which it is the last to be forgotten."""
        conversation = self._conversations.get(name) or ServedConversation(self._agent, self._context)
        keep(self._conversations, name, conversation)
        return conversation


async def _answer(tell: TaskUpdater, response: Response) -> None:
    reason = response.stop_reason
    about = {"agent": response.agent.name if response.agent is not None else "", "stop_reason": reason}
    await tell.add_artifact([Part(text=answer_text(response))], name="answer", metadata=about)
    if reason in ("complete", "stopped"):
        return await tell.complete()
    return await tell.failed(tell.new_agent_message([Part(text=f"{about['agent']} stopped early ({reason})")]))


def _part(part: Part) -> str | Image | File:
    """A part of a message, as `user_message` takes it."""
    kind = part.WhichOneof("content")
    mime = part.media_type or "application/octet-stream"
    if kind == "raw":
        return seen(part.raw, mime, part.filename or "file")
    if kind == "url":
        return Image(url=part.url) if mime.startswith("image/") else f"[{part.filename or 'file'}: {part.url}]"
    return MessageToJson(part.data, indent=None) if kind == "data" else part.text
