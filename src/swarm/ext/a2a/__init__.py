"""A swarm as an A2A server (https://a2a-protocol.org), by the SDK 1.x, which is in the extra `a2a`."""

from ...errors import ConfigError

try:
    from .server import A2AServer
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in ("a2a", "google", "starlette"):
        raise
    raise ConfigError(f'swarm.ext.a2a needs {error.name}, which is not installed: pip install "openswarm[a2a]"') from None

__all__ = ["A2AServer"]
