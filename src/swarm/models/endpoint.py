"""Where a client's calls go and with what: the URL, the headers, the proxy, the TLS context. The same for both transports.

Secrets are guarded here, once: header values do not show themselves in a repr, and what a server sends back in an error is masked before
anything else sees it (providers echo keys: "Incorrect API key provided: ...").
"""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from copy import copy
from functools import cached_property
from importlib import import_module
from ipaddress import IPv6Address
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, parse_qsl, quote, quote_plus, unquote, unquote_plus, urlencode, urlsplit

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
_HOST = re.compile(r"[a-z0-9_.-]{1,253}", re.IGNORECASE)


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
        self._masked = _secrets_in(self.headers.items()) | _secrets_in(parse_qsl(self._arguments))
        self._ssl_context = ssl_context

    def _address(self, base_url: str, query: Mapping[str, Any]) -> None:
        parts, port = _split(base_url, "base_url")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f"base_url must look like http://host:port/v1, not {base_url.split('@')[-1].split('?')[0]!r}")
        if "@" in parts.netloc:
            raise ConfigError("base_url must not hold a user name or password: pass api_key= or headers=")
        self.tls = parts.scheme == "https"
        self.host = _checked_host(parts.hostname, "base_url")
        self.port = port or (443 if self.tls else 80)
        path = quote(parts.path.rstrip("/"), safe="/%:@!$&'()*+,;=~-._")
        self.base_url = f"{parts.scheme}://{parts.netloc}{path}"
        self._path = f"{path}/chat/completions"
        self._arguments = Secret(_with_arguments(quote(parts.query, safe="/%:@!$&'()*+,;=~-._?[]{}"), query, "query"))

    @property
    def target(self) -> Secret:
        """Path and query of the request."""
        return Secret(f"{self._path}?{self._arguments}" if self._arguments else self._path)

    @property
    def url(self) -> Secret:
        """The whole URL of a request, query included: it may hold a secret, so it stays out of every text."""
        return Secret(f"{'https' if self.tls else 'http'}://{_bracketed(self.host)}:{self.port}{self.target}")

    @property
    def authority(self) -> str:
        """Host and port as the Host header has them: without the port if it is the usual one (RFC 9110, section 7.2)."""
        host = _bracketed(self.host)
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"

    @property
    def has_key(self) -> bool:
        """Whether a request carries anything that may be a key."""
        return bool(self._masked) or any(isinstance(value, Secret) for value in self.headers.values())

    def for_call(self, headers: Mapping[str, str], query: Mapping[str, Any]) -> Endpoint:
        """This endpoint for one call, with more headers and more arguments in its URL; either replaces what has the same name.

        Raises:
            ConfigError: a header or an argument that HTTP does not allow.
        """
        mine = copy(self)
        mine.headers = self.with_headers(headers)
        mine._arguments = Secret(_with_arguments(self._arguments, query, "extra_query"))
        mine._masked = self._masked | _secrets_in(mine.headers.items()) | _secrets_in(parse_qsl(mine._arguments))
        return mine

    def with_headers(self, more: Mapping[str, str]) -> dict[str, str]:
        """The headers of a request, with more that replace those of the same name.

        Raises:
            ConfigError: a name or value that HTTP does not allow. The value is not shown.
        """
        new = _checked(more)
        replaced = {name.lower() for name in new}
        return {name: value for name, value in self.headers.items() if name.lower() not in replaced} | new

    def mask(self, raw: bytes) -> bytes:
        """A server's words without our secrets."""
        for secret in sorted(self._masked, key=len, reverse=True):  # one may be part of another
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
        parts, port = _split(address if "://" in address else f"http://{address}", "the address of the proxy")
        if parts.scheme != "http" or not parts.hostname:
            raise ConfigError(
                f"a proxy must look like http://host:port, not {parts.scheme}://...: change the proxy variables or set NO_PROXY"
            )
        host = _checked_host(parts.hostname, "the address of the proxy")
        authorization = None
        if parts.username is not None:
            account = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            authorization = Secret(f"Basic {b64encode(account.encode()).decode()}")
        return Proxy(host, port or 80, authorization)

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


def _split(url: str, what: str) -> tuple[SplitResult, int | None]:
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError as error:
        raise ConfigError(f"{what} is no URL: {error}") from None
    if port == 0:
        raise ConfigError(f"{what} has the port 0; a port is a number from 1 to 65535")
    return parts, port


def _checked_host(host: str, what: str) -> str:
    """The host in ASCII, if it is an address, or a name that the DNS could hold (RFC 1035, section 2.3.4; names with "_" are in use)."""
    try:
        if ":" in host:
            return str(IPv6Address(host))
        name = host.encode("idna").decode()
        if _HOST.fullmatch(name):
            return name
        reason = "a name has letters, digits, '-', '_' and '.', at most 253 in all"
    except ValueError as error:
        reason = str(error.__cause__ or error)
    raise ConfigError(f"{what} has a host that cannot exist, {host!r}: {reason}")


def _with_arguments(arguments: str, more: Mapping[str, Any], what: str) -> str:
    """A query string with more arguments, which replace those of the same name; spelled as the official client does."""
    pairs: list[tuple[str, str]] = []
    for name, value in more.items():
        if isinstance(value, bool):
            value = str(value).lower()
        if value is not None and not isinstance(value, str | int | float):
            raise ConfigError(f"{what}[{name!r}] must be text or a number, not {type(value).__name__}")
        pairs += [] if value is None else [(name, str(value))]
    kept = [part for part in arguments.split("&") if part and unquote_plus(part.split("=")[0]) not in more]
    return "&".join([*kept, *([urlencode(pairs)] if pairs else [])])


def _checked(headers: Mapping[Any, Any]) -> dict[str, str]:
    for name, value in headers.items():
        if not (isinstance(name, str) and name.isascii() and name.replace("-", "").replace("_", "").isalnum()):
            raise ConfigError(f"{name!r} is no name for an HTTP header")
        if not isinstance(value, str):
            raise ConfigError(f"the value of the header {name} must be text, not {type(value).__name__}")
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


def _secrets_in(pairs: Iterable[tuple[str, str]]) -> frozenset[bytes]:
    """The secret values among headers or arguments, without a scheme like "Bearer", each as it is and as a URL spells it."""
    secrets = [value.split(" ")[-1] for name, value in pairs if _SECRET_NAME.search(name)]
    long = [secret for secret in secrets if len(secret) >= _SECRET_LENGTH]
    return frozenset(spelled.encode() for secret in long for spelled in (secret, quote(secret, safe=""), quote_plus(secret)))


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _certifi() -> str | None:
    try:  # by name, since it need not be installed
        return str(import_module("certifi").where())
    except ImportError:
        return None
