"""An MCP server as a program here sees it: where it is, and its tools, resources and prompts."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from ...effects import Message
from ...errors import AgentError, ConfigError
from ...offers import table_of
from ...tools import Tool, tool_of
from ...types import Agent, Result
from .naming import Choice, Naming
from .thread import hand_over, wait

if TYPE_CHECKING:
    import mcp_types as types

    from .connection import Link

logger = logging.getLogger("swarm.mcp")
_MANY = 100
"""So many resources are named in the description of the tool that reads them."""


class McpServer:
    """Tools, resources and prompts of one MCP server (https://modelcontextprotocol.io): a process that is started here, or a URL.

    It is connected when it is first needed, or by `with` or `async with`, and connected again when the connection was lost. Its
    methods may be called from any thread; they wait for the server, so in async code call them by `asyncio.to_thread`, but for `tools` and
    `equip` within `async with`, which wait for nothing. What the server logs, its progress and its standard error go to the logger
    `swarm.mcp`. The extra `mcp` is needed.

    Args:
        command: the program to start. It speaks MCP on its standard input and output, and ends when this is closed.
        args: its arguments.
        url: where a server is that speaks streamable HTTP, instead of `command`.
        headers: sent with every request to `url`, such as `{"Authorization": f"Bearer {token}"}`.
        env: environment variables of the process. Of this program's own it gets PATH, HOME and the like only, no keys.
        cwd: the process's working directory.
        name: what it is called in errors and in the log; by default taken from the command or the URL.
        include: which tools are used: names as the server has them, or a function of the SDK's tool. None: all.
        exclude: which are not, in the same way.
        prefix: in front of each tool's name, where several servers or functions have tools of one name.
        rename: new names for tools, by the server's names; without the prefix.
        timeout: seconds that a request may take, or None for no limit.
        connect_timeout: seconds that starting and connecting may take.
        approval: which calls a person must agree to: True for all; "destructive" for those of tools that do not say they are read-only or
            only add, as the protocol wants it; or a function, as of `tool(approval=...)`.

    Raises:
        ConfigError: both `command` and `url` or neither, options of the other kind, a name that no model takes, no time at all.
    """

    def __init__(
        self,
        command: str | None = None,
        args: Sequence[str] = (),
        *,
        url: str | None = None,
        headers: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        name: str | None = None,
        include: Choice = None,
        exclude: Choice = None,
        prefix: str = "",
        rename: Mapping[str, str] | None = None,
        timeout: float | None = 60.0,
        connect_timeout: float = 30.0,
        approval: bool | Literal["destructive"] | Callable[..., Any] = False,
    ) -> None:
        if (command is None) == (url is None):
            raise ConfigError('McpServer needs one of the two: McpServer("python", ["server.py"]) or McpServer(url="https://.../mcp")')
        if isinstance(args, str) or (url is not None and (args or env or cwd)) or (command is not None and headers):
            raise ConfigError("McpServer: args (a list), env and cwd go with a command, headers with a url")
        for option, seconds in (("timeout", timeout), ("connect_timeout", connect_timeout)):
            if seconds is not None and not seconds > 0:
                raise ConfigError(f"McpServer({option}={seconds!r}) must be a number of seconds above 0")
        self.name = name or (Path(command).name if command is not None else urlsplit(url or "").netloc.rpartition("@")[2])
        self._command, self._args, self._env, self._cwd = command, args, dict(env or {}), cwd
        self._url, self._headers = url, dict(headers or {})
        self._timeout, self._connect_timeout = timeout, connect_timeout
        self._approval: bool | Literal["destructive"] | Callable[..., Any] = approval
        self._naming = Naming(include, exclude, prefix, rename or {})
        self._prefix = prefix
        self._lock = threading.Lock()
        self._link: tuple[int, Link] | None = None
        self._connected_in: int | None = None
        self._closed = False
        self._tools: list[Tool] = []
        self._specs: list[tuple[str, types.Tool]] = []
        self._equipped: list[Agent] = []

    # Tools

    def tools(self) -> list[Tool]:
        """Its tools as functions of an agent, as they are now: `Agent(functions=[*server.tools()])`. `equip` follows their changes.

        Their schemas are the server's own, which checks the arguments. Each is `effect="once"`, unless it says that it is read-only or
        idempotent. For more options: `tool(one_of_them, max_chars=10_000)`.

        Raises:
            ConfigError: the server cannot be used; says why.
        """
        self.connect()
        return list(self._tools)

    def equip(self, agent: Agent) -> Agent:
        """Add the tools to an agent's functions, and keep them as the server has them: a run that begins after a change sees the new ones.

        Args:
            agent: the agent, which is returned.

        Raises:
            AgentError: it has a function of the same name. Later, a tool with such a name is left out, and the log says so.
            ConfigError: the server cannot be used.
        """
        self.connect()
        with self._lock:
            if not any(agent is known for known in self._equipped):
                before = agent.functions
                agent.functions = [*before, *self._tools]
                try:
                    table_of(agent)
                except AgentError:
                    agent.functions = before
                    raise
                self._equipped.append(agent)
        return agent

    def _listed(self, found: list[types.Tool]) -> None:
        """Take over the server's list. Called on the loop of the sessions."""
        from .offered import tool_for

        if not self._specs:
            self._naming.check(found)
        specs = list(self._naming.named(found).items())
        with self._lock:
            if specs == self._specs:
                return
            before = dict(zip(map(_key, self._specs), self._tools, strict=True))
            gone = {id(tool) for tool in self._tools}
            self._specs = specs
            self._tools = [before.get(_key(spec)) or tool_for(*spec, self._use, self._approval) for spec in specs]
            for agent in self._equipped:
                self._renew(agent, gone)

    def _renew(self, agent: Agent, gone: set[int]) -> None:
        own = [function for function in agent.functions if id(function) not in gone]
        taken = {tool_of(function).name for function in own}
        for tool in self._tools:
            if tool.name in taken:
                logger.warning("%s: its new tool %s is left out, since %r has a function of that name", self.name, tool.name, agent.name)
        agent.functions = [*own, *(tool for tool in self._tools if tool.name not in taken)]

    # Resources and prompts

    def resources(self) -> list[types.Resource]:
        """What can be read, as the SDK describes it: `uri`, `name`, `description`, `mime_type`, ...

        Raises:
            ConfigError: the server cannot be used.
            ToolError: it refuses.
        """
        return self._all("resources", lambda client: client.list_resources)

    def templates(self) -> list[types.ResourceTemplate]:
        """URIs of resources with places to fill in, as the SDK describes them: `uri_template`, `name`, `description`, ...

        Raises:
            ConfigError, ToolError: as `resources`.
        """
        return self._all("resource_templates", lambda client: client.list_resource_templates)

    def read(self, uri: str) -> Result:
        """Read a resource: `value` is its text, `parts` hold the images and files in it.

        Raises:
            ConfigError: the server cannot be used.
            ToolError: there is no such resource.
        """
        return wait(self._read(uri))

    async def _read(self, uri: str) -> Result:
        link = await self._use()
        from .contents import contents

        return contents(await link.ask(lambda client: client.read_resource(uri), f"reading {uri}"))

    def reader(self) -> Tool:
        """A function `read_resource(uri)` for an agent; its description lists what there is, up to a hundred.

        Raises:
            ConfigError, ToolError: as `resources`.
        """

        async def read_resource(uri: str) -> Result:
            return await hand_over(self._read(uri))

        known = [(item.uri, item.name, item.description) for item in self.resources()]
        known += [(item.uri_template, item.name, item.description) for item in self.templates()]
        lines = [f"- {uri}: {name}{f'. {about}' if about else ''}" for uri, name, about in known[:_MANY]]
        return Tool(read_resource, name=f"{self._prefix}read_resource", description="\n".join([f"Read from {self.name}:", *lines]))

    def prompts(self) -> list[types.Prompt]:
        """Its prompts, as the SDK describes them: `name`, `description`, `arguments`, ...

        Raises:
            ConfigError, ToolError: as `resources`.
        """
        return self._all("prompts", lambda client: client.list_prompts)

    def prompt(self, name: str, arguments: Mapping[str, str] | None = None) -> list[Message]:
        """A prompt as messages for a run.

        Args:
            name: its name.
            arguments: what it asks for.

        Raises:
            ConfigError: the server cannot be used.
            ToolError: there is no such prompt, or it needs other arguments.
        """

        async def ask() -> list[Message]:
            link = await self._use()
            from .contents import messages

            return messages(await link.ask(lambda client: client.get_prompt(name, dict(arguments or {})), f"the prompt {name}"))

        return wait(ask())

    def _all(self, what: str, listing: Callable[[Any], Callable[..., Awaitable[Any]]]) -> list[Any]:
        async def ask() -> list[Any]:
            link = await self._use()
            from .connection import pages

            connection = await link.connect()
            offers = connection.client.server_capabilities
            if (offers.prompts if what == "prompts" else offers.resources) is None:
                return []
            return await link.ask(lambda client: pages(lambda cursor: listing(client)(cursor=cursor), what), f"listing {what}")

        return wait(ask())

    # The connection

    def connect(self) -> None:
        """Start and connect it now, unless it is connected.

        Raises:
            ConfigError: it cannot be used, or was closed, or the extra `mcp` is not installed.
        """
        if self._closed or self._connected_in != os.getpid():
            wait(self._connected())

    async def _connected(self) -> None:
        await (await self._use()).connect()
        self._connected_in = os.getpid()

    async def _use(self) -> Link:
        """The way to the server. Runs on the loop of the sessions, where the SDK, which takes seconds to import, is loaded."""
        if self._closed:
            raise ConfigError(f"MCP server {self.name!r} was closed; make a new McpServer to use it again")
        if self._link is None or self._link[0] != os.getpid():
            self._link = (os.getpid(), self._new_link())
        return self._link[1]

    def _new_link(self) -> Link:
        try:
            from .connection import Link
            from .transports import Http, Process
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types", "httpx2", "anyio"):
                raise
            raise ConfigError(f'McpServer needs {error.name}, which is not installed: pip install "openswarm[mcp]"') from None
        if self._command is not None:
            transport: Process | Http = Process(self._command, self._args, self._env, self._cwd, self.name)
        else:
            transport = Http(self._url or "", self._headers)
        return Link(self.name, transport, self._timeout, self._connect_timeout, self._listed)

    def close(self) -> None:
        """End the connection, and the process if it was started here. It cannot be used again. May be called twice."""
        if self._link is not None and not self._closed:
            wait(self._end())
        self._closed = True

    async def _end(self) -> None:
        self._closed = True
        if self._link is not None and self._link[0] == os.getpid():
            await self._link[1].close()

    def __enter__(self) -> McpServer:
        self.connect()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> McpServer:
        await hand_over(self._connected())
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.shield(hand_over(self._end()))

    def __repr__(self) -> str:
        return f"McpServer({self.name!r})"


def _key(spec: tuple[str, types.Tool]) -> str:
    name, tool = spec
    return f"{name} {tool.model_dump_json()}"
