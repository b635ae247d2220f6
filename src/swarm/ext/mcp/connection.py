"""One session with an MCP server, from its opening to its end, and the line of sessions that a server has over time.

Everything here runs on the loop of `thread`. A session's contexts are entered and left by one task, as anyio wants it; requests come from
other tasks. Written against the SDK 2.3 (https://github.com/modelcontextprotocol/python-sdk).
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Protocol, TypeVar, cast

import mcp_types as types
from mcp import Client
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from ...errors import ConfigError, ToolError, ToolTimeout
from .thread import at_exit
from .transports import LOST, NOT_RECEIVED, Watched

_T = TypeVar("_T")
_PAGES = 1_000
"""A server whose list of tools never ends must not hang a run."""
_LISTENING_AGAIN_SECONDS = 1.0
_LEVELS = {"debug": 10, "info": 20, "notice": 20, "warning": 30, "error": 40, "critical": 50, "alert": 50, "emergency": 50}

logger = logging.getLogger("swarm.mcp")


class Transport(Protocol):
    """A way to a server."""

    def opened(self) -> Any:
        """A context manager that gives the streams."""
        ...

    def last_words(self) -> str:
        """What the server said last outside of the protocol."""
        ...


class Connection:
    """One session.

    Args:
        name: what the server is called.
        transport: the way to it.
        changed: called when the server says that its tools have changed.

    Attributes:
        client: the SDK's client, once `open` has come back.
    """

    def __init__(self, name: str, transport: Transport, changed: Callable[[], None]) -> None:
        self._name = name
        self._transport = transport
        self._changed = changed
        self._ending = asyncio.Event()
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._life: asyncio.Task[None] | None = None
        self.client: Client = cast("Client", None)

    @property
    def is_alive(self) -> bool:
        """Whether requests can be sent."""
        return self._life is not None and not self._life.done() and not self._ending.is_set()

    async def open(self, seconds: float) -> None:
        """Begin the session.

        Raises:
            ConfigError: it cannot be begun; says why.
        """
        # A context of its own: the session outlives whoever happened to call first.
        self._life = asyncio.get_running_loop().create_task(self._live(), context=contextvars.Context())
        try:
            async with asyncio.timeout(seconds):
                await asyncio.wait([self._ready, self._life], return_when=asyncio.FIRST_COMPLETED)
                if not self._ready.done():
                    await self._life
        except TimeoutError:
            await self.close()
            raise ConfigError(f"MCP server {self._name!r} did not answer within {seconds:g} s{self._last_words()}") from None
        except asyncio.CancelledError:
            await self.close()
            raise
        except Exception as error:
            raise ConfigError(f"MCP server {self._name!r} cannot be used: {_reason(error)}{self._last_words()}") from None

    def _last_words(self) -> str:
        said = self._transport.last_words()
        return f". Its last words:\n{said}" if said else ""

    async def close(self) -> None:
        """End it; an open process ends within six seconds."""
        self.drop()
        if self._life is not None:
            if not self._ready.done():
                self._life.cancel()
            await asyncio.wait([self._life])
            if not self._life.cancelled() and (error := self._life.exception()) is not None:
                logger.debug("%s: the session ended with %s", self._name, _reason(error))

    def drop(self) -> None:
        """Use it no more; it ends by itself."""
        self._ending.set()

    async def _live(self) -> None:
        async with Client(
            self._watched(),
            logging_callback=self._logged,
            log_level="info",
            message_handler=self._came,
            cache=None,
            client_info=types.Implementation(name="openswarm", version=_version()),
        ) as self.client:
            if self._ready.cancelled():
                return
            self._ready.set_result(None)
            listening = asyncio.create_task(self._listen())
            try:
                await self._ending.wait()
            finally:
                listening.cancel()

    @asynccontextmanager
    async def _watched(self) -> AsyncGenerator[tuple[Any, Any]]:
        async with self._transport.opened() as (reading, writing):
            yield Watched(reading, self.drop), writing

    async def _listen(self) -> None:
        """Hear of changed tools, as servers since protocol version 2026-07-28 tell them; older ones tell them without being asked."""
        tools = self.client.server_capabilities.tools
        if tools is None or not tools.list_changed:
            return
        while self.is_alive:
            try:
                async with self.client.listen(tools_list_changed=True) as events:
                    async for _ in events:
                        self._changed()
            except ListenNotSupportedError:
                return
            except (SubscriptionLost, MCPError, TimeoutError) as error:
                logger.debug("%s: %s", self._name, error)
            await asyncio.sleep(_LISTENING_AGAIN_SECONDS)
            self._changed()  # what was told meanwhile is lost

    async def _came(self, message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._changed()

    async def _logged(self, params: types.LoggingMessageNotificationParams) -> None:
        logger.log(_LEVELS.get(params.level, logging.INFO), "%s: %s", self._name, params.data)


class Link:
    """The way to one server through all its sessions: opened when first needed, opened again when one has ended.

    Args:
        name: what the server is called.
        transport: the way to it.
        timeout: seconds that a request may take, or None.
        opening: seconds that opening a session may take, and as long listing its tools.
        listed: gets the server's tools, at each opening and after each change.
    """

    def __init__(
        self, name: str, transport: Transport, timeout: float | None, opening: float, listed: Callable[[list[types.Tool]], None]
    ) -> None:
        self._name = name
        self._transport = transport
        self._timeout = timeout
        self._opening = opening
        self._listed = listed
        self._lock = asyncio.Lock()
        self._listing = asyncio.Lock()
        self._will_list = False
        self._connection: Connection | None = None
        self._old: set[asyncio.Task[None]] = set()
        self._closed = False

    async def connect(self) -> Connection:
        """The session that is open, or a new one.

        Raises:
            ConfigError: none can be opened, or the server was closed.
        """
        connection = self._connection
        if connection is not None and connection.is_alive:
            return connection
        async with self._lock:
            if self._closed:
                raise ConfigError(f"MCP server {self._name!r} was closed; make a new McpServer to use it again")
            connection = self._connection
            if connection is None or not connection.is_alive:
                self._put_away()
                connection = Connection(self._name, self._transport, self._changed)
                await connection.open(self._opening)
                at_exit(self.close, True)
                try:
                    await self._list(connection)
                except BaseException:
                    await connection.close()
                    raise
                self._connection = connection
        return connection

    async def _list(self, connection: Connection) -> None:
        async with self._listing:  # one after the other, so that the last one listed is the last one told
            self._will_list = False
            try:
                async with asyncio.timeout(self._opening):
                    self._listed(await _all_tools(connection.client))
            except (MCPError, TimeoutError) as error:
                raise ConfigError(f"MCP server {self._name!r} does not list its tools: {str(error) or 'it does not answer'}") from None
            except ValidationError as error:
                raise ConfigError(f"MCP server {self._name!r} lists tools that cannot be used: {_reason(error)}") from None

    def _put_away(self) -> None:
        if self._connection is not None:
            self._later(self._connection.close())
            self._connection = None

    def _later(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._old.add(task)
        task.add_done_callback(self._old.discard)

    def _changed(self) -> None:
        if not self._will_list:  # however often a server says so
            self._will_list = True
            self._later(self._list_again())

    async def _list_again(self) -> None:
        connection = self._connection
        if connection is None or not connection.is_alive:
            self._will_list = False  # the next one is listed when it is opened
        else:
            try:
                await self._list(connection)
            except Exception as error:
                logger.warning("its tools have changed, and are used as they were: %s", error)

    async def call(self, tool: str, arguments: dict[str, Any], repeatable: bool) -> types.CallToolResult:
        """Call a tool.

        Args:
            tool: its name there.
            arguments: as the model wrote them; the server checks them.
            repeatable: whether the call may be made again when the connection breaks and nobody knows whether it ran.

        Raises:
            ToolError: the server refused it, or cannot be reached; for the model to read.
            ToolTimeout: it took too long.
        """

        async def told(progress: float, total: float | None, message: str | None) -> None:
            of = "" if total is None else f" of {total:g}"
            logger.info("%s: %s: %g%s%s", self._name, tool, progress, of, f": {message}" if message else "")

        try:
            return await self.ask(lambda client: client.call_tool(tool, arguments, progress_callback=told), tool, repeatable)
        except ConfigError as error:
            raise ToolError(str(error)) from None

    async def ask(self, request: Callable[[Client], Awaitable[_T]], what: str, repeatable: bool = True) -> _T:
        """Make a request, in a new session if the old one turns out to be over.

        Args:
            request: makes it.
            what: what it is called in errors.
            repeatable: as for `call`.

        Raises:
            ConfigError: no session can be opened.
            ToolError, ToolTimeout: as for `call`.
        """
        for is_last in (False, True):
            connection = await self.connect()
            try:
                async with asyncio.timeout(self._timeout):  # a request that is given up is cancelled at the server
                    return await request(connection.client)
            except TimeoutError:
                raise ToolTimeout(f"timed out after {self._timeout or 0:g} s") from None
            except MCPError as error:
                lost = error.code in (types.CONNECTION_CLOSED, LOST)
                if not lost and error.code != NOT_RECEIVED:
                    raise ToolError(f"{what} was refused by {self._name}: {error.message}") from None
                connection.drop()
                if is_last or (lost and not repeatable):
                    raise ToolError(self._broken(what, error.message, lost)) from None
            except (RuntimeError, ValueError) as error:  # an answer that is not what the server or the protocol promises
                raise ToolError(f"{what}: {self._name} sent what cannot be used: {_reason(error)}") from None
        raise AssertionError  # the loop above ends by itself

    def _broken(self, what: str, why: str, lost: bool) -> str:
        ran = "it may have run or not. Find out before you call it again" if lost else "it did not run"
        return f"the connection to {self._name} broke during {what} ({why}): {ran}."

    async def close(self) -> None:
        """End the session, and the process if there is one. It cannot be used again."""
        self._closed = True
        at_exit(self.close, False)
        async with self._lock:
            self._put_away()
        if self._old:
            await asyncio.wait(self._old)


async def _all_tools(client: Client) -> list[types.Tool]:
    if client.server_capabilities.tools is None:
        return []
    return await pages(lambda cursor: client.list_tools(cursor=cursor), "tools")


async def pages(page: Callable[[str | None], Awaitable[Any]], what: str) -> list[Any]:
    """All that a server lists, page by page.

    Args:
        page: asks for the page behind a cursor.
        what: the attribute of a page that holds its entries.
    """
    found: list[Any] = []
    cursor: str | None = None
    for _ in range(_PAGES):
        answer = await page(cursor)
        found += getattr(answer, what)
        cursor = answer.next_cursor
        if not cursor:
            break
    return found


def _reason(error: BaseException) -> str:
    """The first failure in a group of groups, in words."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    if isinstance(error, ValidationError):
        first, *more = error.errors(include_url=False)
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}{f' (and {len(more)} more)' if more else ''}"
    if isinstance(error, FileNotFoundError):
        return f"there is no {error.filename!r} to run"
    return str(error) or type(error).__name__


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    with suppress(PackageNotFoundError):
        return version("openswarm")
    return "0"
