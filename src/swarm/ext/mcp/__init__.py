"""The Model Context Protocol (https://modelcontextprotocol.io): servers' tools as functions of agents, and agents offered as a server.

The SDK is loaded when a server is first used; it is in the extra `mcp`.
"""

from .server import McpServer

__all__ = ["McpServer"]
