"""What goes wrong between us and a model server, as errors that say what happened and what to do.

Both transports come here with what they caught, so a time-out reads the same in sync and async. The caught exceptions are kept as
`cause`, without traceback: the frames of a transport hold the bytes of the request, and those hold the key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, cast

from ..errors import ConnectionFailed, InvalidReply, ModelError, ModelTimeout, TransientError, status_error
from ..messages import body_error
from .endpoint import Endpoint
from .halves import parsed

Header: TypeAlias = Callable[[str], str | None]
"""Looks up a header of an answer, whatever the case of its name."""

_LONGEST_TEXT = 500


def no_answer_in_time(endpoint: Endpoint, limit: str, seconds: float | None, cause: BaseException | None = None) -> ModelTimeout:
    """The error for a time limit that ran out.

    Args:
        endpoint: who was called.
        limit: "connect", "read" or "total".
        seconds: how much was allowed.
        cause: what the transport raised.
    """
    what = {
        "connect": "no connection to {} within {:g} s (the connect limit)",
        "read": "{} sent nothing for {:g} s (the read limit)",
        "total": "the call to {} was not done within {:g} s (the limit for the whole call)",
    }
    text = what[limit].format(endpoint.base_url, seconds or 0)
    return ModelTimeout(f"{text}; the limits are set with ChatClient(timeout=...)", cause=bare(cause))


def no_connection(endpoint: Endpoint, error: BaseException) -> ConnectionFailed:
    """The error for a connection that could not be made."""
    from ssl import CertificateError, SSLError

    root = bare(error)
    reason = str(root) or type(root).__name__
    if isinstance(root, SSLError | CertificateError):
        return ConnectionFailed(
            f"no secure connection to {endpoint.base_url}: {reason}; if the server has a certificate of its own, "
            "name it in SSL_CERT_FILE or pass ChatClient(ssl_context=...)",
            cause=root,
        )
    through = f" through the proxy {endpoint.proxy.url}" if endpoint.proxy else ""
    return ConnectionFailed(
        f"no connection to {endpoint.base_url}{through}: {reason}; is the server running, and is base_url (OPENAI_BASE_URL) right?",
        cause=root,
    )


def connection_lost(endpoint: Endpoint, reason: str | None, cause: BaseException | None = None) -> ConnectionFailed:
    """The error for a connection that broke before its answer was complete.

    Args:
        endpoint: who was called.
        reason: how, or None if the cause says it.
        cause: what the transport raised.
    """
    root = bare(cause)
    return ConnectionFailed(f"the connection to {endpoint.base_url} broke: {reason or str(root) or type(root).__name__}", cause=root)


def no_http(endpoint: Endpoint, words: str) -> ConnectionFailed:
    """The error for an answer that is no HTTP.

    Args:
        endpoint: who was called.
        words: what the transport says of it, which may quote what came. Its exception is not kept: it may show the request.
    """
    said = endpoint.mask(words.encode("utf-8", "replace")).decode()
    return connection_lost(endpoint, f"what came is no HTTP: {_short(said)}")


def refused(endpoint: Endpoint, status: int, header: Header, raw: bytes) -> ModelError:
    """The error for an answer with a status other than 2xx."""
    raw = endpoint.mask(raw)
    try:
        error = body_error(parsed(raw), status)
    except ValueError:
        error = body_error(_short(raw.decode("utf-8", "replace")), status) if raw.strip() else status_error(status, "empty answer", body="")
    hint = None
    if status < 400:
        place = endpoint.mask((header("location") or "somewhere else").split("?")[0].encode()).decode()
        hint = f"the server redirects to {place}; redirects are not followed, so set base_url to the new place"
    elif status in (404, 405):
        hint = f"asked: {endpoint.base_url}/chat/completions; does base_url end as the provider says, often with /v1?"
    elif status == 401 and not endpoint.has_key:
        hint = "no API key was sent: set OPENAI_API_KEY or pass api_key="
    if hint:
        error.args = (f"{error} ({hint})",)
    return identified(error, header)


def identified(error: ModelError, header: Header) -> ModelError:
    """An error read from a body, completed with what the headers say: the request's id and how long to wait."""
    error.request_id = request_id(header)
    if isinstance(error, TransientError):
        error.retry_after = retry_after(header)
    return error


def read_object(endpoint: Endpoint, header: Header, raw: bytes) -> dict[str, Any]:
    """The JSON object of a body.

    Raises:
        InvalidReply: it is something else; the error quotes its start.
    """
    try:
        value: Any = parsed(raw)
    except ValueError as error:
        raise invalid(endpoint, header, f"is no JSON ({error})" if raw.strip() else "is empty", raw) from None
    if not isinstance(value, dict):
        raise invalid(endpoint, header, "is no JSON object", raw)
    return cast("dict[str, Any]", value)


def invalid(endpoint: Endpoint, header: Header, what: str, raw: bytes) -> InvalidReply:
    """The error for an answer that is no Chat Completion, with its start quoted."""
    start = _short(endpoint.mask(raw[: 4 * _LONGEST_TEXT]).decode("utf-8", "replace"))
    encoding = header("content-encoding")
    packed = f" (it came with Content-Encoding: {encoding}, which was not asked for)" if encoding else ""
    return InvalidReply(
        f"the answer of {endpoint.base_url} {what}{packed}: {start!r}; is base_url the address of a Chat Completions API?",
        body=start,
        request_id=request_id(header),
    )


def request_id(header: Header) -> str | None:
    """The provider's id for a request, as OpenAI or as others name it."""
    return header("x-request-id") or header("request-id")


def retry_after(header: Header) -> float | None:
    """Seconds the provider asks to wait: in milliseconds, in seconds or as a date (RFC 9110, section 10.2.3)."""
    milliseconds, value = _number(header("retry-after-ms")), header("retry-after")
    if milliseconds is not None:
        return milliseconds / 1000
    seconds = _number(value)
    if seconds is not None or not value:
        return seconds
    from datetime import UTC, datetime
    from email.utils import parsedate_to_datetime

    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def bare(error: BaseException | None) -> BaseException | None:
    """What an exception was made from in the beginning, without its traceback: a transport's own wrappers quote the whole URL."""
    while error is not None and error.__cause__ is not None:
        error = error.__cause__
    if error is not None:
        error.__traceback__ = None
    return error


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}..."
