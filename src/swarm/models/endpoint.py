"""Where a client's calls go and with what: the URL, the headers, the proxy, the TLS context. The same for both transports.

Secrets are guarded here, once: header values do not show themselves in a repr, and what a server sends back in an error is masked before
anything else sees it (providers echo keys: "Incorrect API key provided: ...").
"""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlencode, urlsplit

from ..errors import ConfigError

if TYPE_CHECKING:
    from ssl import SSLContext

DEFAULT_URL = "https://api.openai.com/v1"
# Answers are small, and a compressed event stream may wait in a compressor's buffer.
_FIXED_HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "User-Agent": "openswarm",
}
NO_KEY = (
    "no API key and no endpoint: set OPENAI_API_KEY, or OPENAI_BASE_URL for a server that needs no key, or pass "
    "ChatClient(base_url=..., api_key=...); to work without a model, ask for the offline one with SWARM_OFFLINE=1"
)
_SECRET_NAME = re.compile("key|auth|token|secret|password", re.IGNORECASE)
_KEY_LIKE = re.compile(rb"\bsk-[\w*-]{6,}")
_MASK = b"***"
# Shorter ones are the dummies that local servers get ("none", "ollama"); masking those would only spoil texts.
_SECRET_LENGTH = 8


class Secret(str):
    """A string that is not shown by a repr, and so not by a traceback that prints local variables either."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"


class Proxy:
    """A proxy from the environment. `authorization` is the value of its Proxy-Authorization header, or None."""

    __slots__ = ("authorization", "host", "port")

    def __init__(self, host: str, port: int, authorization: str | None) -> None:
        self.host = host
        self.port = port
        self.authorization = authorization

    @property
    def url(self) -> str:
        """Its address, without user name and password."""
        return f"http://{_bracketed(self.host)}:{self.port}"


class Endpoint:
    """One server and the account it is called with.

    Attributes:
        base_url: as given, without query; the name of the endpoint in texts.
        tls: whether the connection is encrypted.
        host, port: where it listens.
        target: path and query of the request.
        headers: sent with each request.

    Raises:
        ConfigError: neither key nor base URL, or a URL or header that HTTP does not allow.
    """

    def __init__(
        self,
        base_url: str | None,
        api_key: str | None,
        headers: Mapping[str, str] | None,
        query: Mapping[str, str] | None,
        ssl_context: SSLContext | None,
    ) -> None:
        base_url = base_url or os.environ.get("OPENAI_BASE_URL")
        key = (os.environ.get("OPENAI_API_KEY", "") if api_key is None else api_key).strip()
        if not (key or base_url):
            raise ConfigError(NO_KEY)
        self._address(base_url or DEFAULT_URL, query or {})
        self.headers = _checked(_FIXED_HEADERS | _account_headers(key))
        self.headers = self.with_headers(headers or {})
        self._secrets = [key, *_secret_values(headers or {}), *_secret_values(query or {})]
        self._masked = [secret.encode() for secret in self._secrets if len(secret) >= _SECRET_LENGTH]
        self._ssl_context = ssl_context

    def _address(self, base_url: str, query: Mapping[str, str]) -> None:
        try:
            parts = urlsplit(base_url.strip())
            port = parts.port
        except ValueError as error:
            raise ConfigError(f"base_url is no URL: {error}") from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f"base_url must look like http://host:port/v1, not {base_url.split('@')[-1].split('?')[0]!r}")
        if "@" in parts.netloc:
            raise ConfigError("base_url must not hold a user name or password: pass api_key= or headers=")
        self.tls = parts.scheme == "https"
        self.host = parts.hostname
        self.port = port or (443 if self.tls else 80)
        path = quote(parts.path.rstrip("/"), safe="/%:@!$&'()*+,;=~-._")
        self.base_url = f"{parts.scheme}://{parts.netloc}{path}"
        arguments = "&".join(part for part in (parts.query, urlencode(query)) if part)
        self.target = Secret(f"{path}/chat/completions{'?' if arguments else ''}{arguments}")

    @property
    def url(self) -> Secret:
        """The whole URL of a request, query included: it may hold a secret, so it stays out of every text."""
        return Secret(f"{'https' if self.tls else 'http'}://{_bracketed(self.host)}:{self.port}{self.target}")

    def with_headers(self, more: Mapping[str, str]) -> dict[str, str]:
        """The headers of a request, with more that replace those of the same name.

        Raises:
            ConfigError: a name or value that HTTP does not allow. The value is not shown.
        """
        replaced = {name.lower() for name in more}
        return {name: value for name, value in self.headers.items() if name.lower() not in replaced} | _checked(more)

    def mask(self, raw: bytes) -> bytes:
        """A server's words without our secrets."""
        for secret in self._masked:
            raw = raw.replace(secret, _MASK)
        return _KEY_LIKE.sub(_MASK, raw)

    @cached_property
    def proxy(self) -> Proxy | None:
        """The proxy that HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY ask for, read once.

        Raises:
            ConfigError: a kind of proxy that the transports cannot use.
        """
        from urllib.request import getproxies, proxy_bypass

        proxies = getproxies()
        address = proxies.get("https" if self.tls else "http") or proxies.get("all")
        if not address or proxy_bypass(f"{self.host}:{self.port}"):
            return None
        parts = urlsplit(address if "://" in address else f"http://{address}")
        if parts.scheme != "http" or not parts.hostname:
            raise ConfigError(
                f"a proxy must look like http://host:port, not {parts.scheme}://...: change the proxy variables or set NO_PROXY"
            )
        authorization = None
        if parts.username is not None:
            account = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            authorization = Secret(f"Basic {b64encode(account.encode()).decode()}")
        return Proxy(parts.hostname, parts.port or 80, authorization)

    @cached_property
    def ssl_context(self) -> SSLContext:
        """The one TLS context: the user's, or certificates from SSL_CERT_FILE, certifi if it is installed, or the system."""
        if self._ssl_context is not None:
            return self._ssl_context
        import ssl

        certificates = os.environ.get("SSL_CERT_FILE") or None
        if certificates is None and not os.environ.get("SSL_CERT_DIR"):
            certificates = _certifi()
        context = ssl.create_default_context(cafile=certificates)
        context.set_alpn_protocols(["http/1.1"])
        return context


def _checked(headers: Mapping[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        if not (name.isascii() and name.replace("-", "").replace("_", "").isalnum()):
            raise ConfigError(f"{name!r} is no name for an HTTP header")
        if not (value.isascii() and value.isprintable()):
            raise ConfigError(f"the value of the header {name} (the API key?) holds a character that HTTP does not allow")
    return {name: Secret(value) if _SECRET_NAME.search(name) else value for name, value in headers.items()}


def _account_headers(key: str) -> dict[str, str]:
    account = {
        "Authorization": f"Bearer {key}" if key else None,
        "OpenAI-Organization": os.environ.get("OPENAI_ORG_ID"),
        "OpenAI-Project": os.environ.get("OPENAI_PROJECT_ID"),
    }
    return {name: value for name, value in account.items() if value}


def _secret_values(pairs: Mapping[str, str]) -> list[str]:
    return [value.removeprefix("Bearer ") for name, value in pairs.items() if _SECRET_NAME.search(name)]


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _certifi() -> str | None:
    try:
        import certifi
    except ImportError:
        return None
    return certifi.where()
