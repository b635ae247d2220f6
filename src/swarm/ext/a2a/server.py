"""What A2A clients see: an agent card, and the routes behind it."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from a2a.server.context import ServerCallContext
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, ListTasksRequest, ListTasksResponse, Task
from a2a.utils.errors import UnsupportedOperationError
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from ...core import AsyncSwarm
from ...types import Agent
from .conversations import Conversations
from .executor import Executor

if TYPE_CHECKING:
    from ..sessions import SessionStore

_SPOKEN = ("1.0", "0.3")  # the methods are called SendMessage, and message/send, in turn
_TASKS = 10_000
"""So many are kept; the one that was silent longest is forgotten first."""


class A2AServer:
    """Offers an agent, and whoever it hands over to, to A2A clients: `app()` is an ASGI application.

    A message begins a task: its states say who does what, its artifact is the agent's last text. A later message with the same context id
    goes on with the conversation. What fails is a failed task, after which the conversation may go on; cancelling a task cancels the run.
    A call that needs an approval is refused, since nobody can be asked. Ten thousand tasks, and without a store a thousand
    conversations, are kept in this process. Whoever knows a context id can go on with it; tasks are not listed.

    Args:
        agent: who is asked first.
        swarm: runs it.
        url: where clients reach the application; stands on the card.
        version: the agent's version, for the card.
        context_variables: what each conversation begins with.
        store: keeps the conversations; the session of a context is `a2a/<context id>`, with the tag "a2a".
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
        store: SessionStore | None = None,
        **run_options: Any,
    ) -> None:
        self._executor = Executor(Conversations(agent, swarm, context_variables or {}, store, run_options))
        about = agent.description or f"Answers as {agent.name}."
        self.card = AgentCard(
            name=agent.name,
            description=about,
            version=version,
            supported_interfaces=[AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version=spoken) for spoken in _SPOKEN],
            capabilities=AgentCapabilities(streaming=True),
            default_input_modes=["text/plain", "application/json", "image/*", "application/pdf"],
            default_output_modes=["text/plain"],
            skills=[AgentSkill(id="chat", name=agent.name, description=about, tags=["chat"])],
        )

    def app(self) -> Starlette:
        """An application that serves the card at /.well-known/agent-card.json and JSON-RPC at /.

        Requests of web pages are refused; who else may ask is for what stands in front of it.
        """
        handler = DefaultRequestHandler(self._executor, Tasks(), self.card)
        routes = [*create_agent_card_routes(self.card), *create_jsonrpc_routes(handler, "/", enable_v0_3_compat=True)]
        return Starlette(routes=routes, middleware=[Middleware(NoPages)])


class Tasks(InMemoryTaskStore):
    """The tasks, with an end, and without a list: all clients are one user here, who must not see each other's."""

    def __init__(self) -> None:
        super().__init__()
        self._known: OrderedDict[str, ServerCallContext] = OrderedDict()

    async def save(self, task: Task, context: ServerCallContext) -> None:
        """Keep a task."""
        await super().save(task, context)
        self._known[task.id] = context
        self._known.move_to_end(task.id)
        if len(self._known) > _TASKS:
            await self.delete(*self._known.popitem(last=False))

    async def list(self, params: ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        """Refused.

        Raises:
            UnsupportedOperationError: always.
        """
        raise UnsupportedOperationError("tasks are not listed here, since clients cannot be told apart")


class NoPages:
    """Refuses what a web page made a browser send: it says so by its Origin, and a page may reach addresses that are none of its own."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_page = scope["type"] == "http" and any(name == b"origin" for name, _ in scope["headers"])
        await (PlainTextResponse("requests of web pages are refused", 403) if is_page else self._app)(scope, receive, send)
