"""Every exception the library raises, in one tree.

    SwarmError                      .response: what the run had done so far, or None
    ├── AgentError (ValueError)         an agent, tool or handoff that cannot work as it is written
    ├── HistoryError (ValueError)       messages that cannot be sent; .index says which
    ├── StateError (ValueError)         a saved state or an approval that does not fit
    ├── ConfigError                     no client, a missing extra, a wrong setting
    ├── ToolError                       a call that could not run, for tool_errors="raise"
    │   ├── ToolNotFound
    │   ├── ToolArgumentsError
    │   └── ToolTimeout (TimeoutError)
    ├── OutputError                     a final text that does not fit Agent(output_type=...)
    ├── LimitExceeded                   Limits(on_limit="raise"); .limit
    ├── GuardrailTripped                Guardrail(on_block="raise"); .guardrail
    ├── RunTimeout (TimeoutError)       run(timeout=...); never transient
    └── ModelError                      .status .body .code .request_id .cause
        ├── RequestError                the provider refused the request: 400, 404, 413, 422, ...
        │   ├── AuthenticationError     401, 403
        │   ├── ContextLengthExceeded   more tokens than the model takes
        │   └── QuotaExceeded           nothing left to spend: 402, and 429 where that is what it means
        ├── InvalidReply                an answer that is no Chat Completion, or an error with status 200
        ├── StreamBroken                a stream that ended too early after text was shown
        └── TransientError              worth another try; .retry_after in seconds, or None
            ├── RateLimitError          429
            ├── ServerError             408, 409, 5xx
            ├── ConnectionFailed        no connection, or it broke before anything came
            └── ModelTimeout (TimeoutError)  connect, read or whole-call time limit

    OutOfTime (RunTimeout)          the same inside the run whose time is over; it leaves that run as a plain RunTimeout
    Cancelled (BaseException)       thrown into a run that is being closed; users never see it
    SchemaWarning (UserWarning)     a type that a JSON Schema cannot say

Errors of the model, of the provider and of the user are told apart, so that a policy can retry one kind and leave the others alone.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from .types import Response

__all__ = [
    "AgentError",
    "AuthenticationError",
    "Cancelled",
    "ConfigError",
    "ConnectionFailed",
    "ContextLengthExceeded",
    "GuardrailTripped",
    "HistoryError",
    "InvalidReply",
    "LimitExceeded",
    "ModelError",
    "ModelTimeout",
    "OutputError",
    "QuotaExceeded",
    "RateLimitError",
    "RequestError",
    "RunTimeout",
    "SchemaWarning",
    "ServerError",
    "StateError",
    "StreamBroken",
    "SwarmError",
    "ToolArgumentsError",
    "ToolError",
    "ToolNotFound",
    "ToolTimeout",
    "TransientError",
    "status_error",
]


class SwarmError(Exception):
    """The root of the tree. `response` holds what the run had done when it failed."""

    response: Response | None = None


class AgentError(SwarmError, ValueError):
    """An Agent, tool or Handoff that cannot work as it is written. Raised when it is made, not at the first message."""


class HistoryError(SwarmError, ValueError):
    """Messages that cannot be sent to any provider.

    Args:
        text: what is wrong and what to do.
        index: position of the message in the list that was passed in, or None.
    """

    def __init__(self, text: str, index: int | None = None) -> None:
        super().__init__(text)
        self.index = index


class StateError(SwarmError, ValueError):
    """A saved state, or an approval, that does not fit the agents and calls at hand."""


class ConfigError(SwarmError):
    """Something outside the code is missing: a key, an endpoint, an extra."""


class ToolError(SwarmError):
    """A call that could not run, or not to its end; what a function raises itself is raised as it is.

    The text is what the model is told, without the leading "Error: ".
    """


class ToolNotFound(ToolError):
    """The model called a function that the agent does not have."""


class ToolArgumentsError(ToolError):
    """Arguments that are not JSON, not an object, or do not fit the function's parameters."""


class ToolTimeout(ToolError, TimeoutError):
    """A tool ran longer than its time limit."""


class OutputError(SwarmError):
    """The final text of a run is not of the type that its agent wants, nor was it when it was asked for again.

    `response` holds the whole run: nothing that was done is lost, and no tool ran twice.
    """


class LimitExceeded(SwarmError):
    """A limit was hit and `Limits(on_limit="raise")` asked for an error.

    Args:
        text: which limit, how much was allowed, how much was used.
        limit: its name, as in `Response.stop_reason` after "limit:".
    """

    def __init__(self, text: str, limit: str = "") -> None:
        super().__init__(text)
        self.limit = limit


class GuardrailTripped(SwarmError):
    """A guardrail blocked something and `Guardrail(on_block="raise")` asked for an error; or its check failed about a call.

    Args:
        text: which guardrail, and what it says.
        guardrail: its name, as in `Response.stop_reason` after "guardrail:".

    `partial` is what was shown of a reply before it was blocked, as an assistant message, or None.
    """

    partial: dict[str, Any] | None = None

    def __init__(self, text: str, guardrail: str = "") -> None:
        super().__init__(text)
        self.guardrail = guardrail


class RunTimeout(SwarmError, TimeoutError):
    """`run(timeout=...)` ran out. What was done until then is on `.response`."""


class OutOfTime(RunTimeout):
    """The time of this very run is over. Told from the RunTimeout of another run that a function made, which is that call's failure."""


class ModelError(SwarmError):
    """The model's side failed.

    Args:
        text: the provider's own words, with the status in front where there is one.
        status: HTTP status, or None.
        body: the provider's answer as parsed JSON, or its text, or None.
        request_id: the provider's id for the request, or None.
        cause: the exception of the client library that was used, or None.
    """

    def __init__(
        self,
        text: str,
        *,
        status: int | None = None,
        body: Any = None,
        request_id: str | None = None,
        cause: BaseException | None = None,
    ) -> None:
        super().__init__(text)
        self.status = status
        self.body = body
        self.request_id = request_id
        self.cause = cause

    @property
    def code(self) -> str | None:
        """The provider's own word for what is wrong, such as "model_not_found": its `code`, else its `type`, or None."""
        return next(iter(_codes(self.body)), None)


class RequestError(ModelError):
    """The provider refused the request; sending it again unchanged will not help."""


class AuthenticationError(RequestError):
    """The key is missing, wrong, or not allowed to do this (401, 403)."""


class ContextLengthExceeded(RequestError):
    """The request holds more tokens than the model takes. A shorter one, or a model that takes more, may help."""


class QuotaExceeded(RequestError):
    """The account has nothing left to spend: no credit, or a budget that is used up. Waiting a minute does not help."""


class InvalidReply(ModelError):
    """The answer is no Chat Completion: no choices, no message, or an error body with status 200."""


class StreamBroken(ModelError):
    """A stream ended before its end, after part of it had been handed on.

    It is not transient, since a second try would repeat what was shown. `partial` is the assembled part.
    """

    partial: dict[str, Any] | None = None


class TransientError(ModelError):
    """A failure worth another try. `retry_after` is the provider's wish in seconds, or None."""

    retry_after: float | None = None


class RateLimitError(TransientError):
    """Too many requests or tokens (429)."""


class ServerError(TransientError):
    """The provider failed or was overloaded (408, 409, 5xx)."""


class ConnectionFailed(TransientError):
    """No connection could be made, or it broke before an answer came."""


class ModelTimeout(TransientError, TimeoutError):
    """Connecting, the wait for the next byte, or the whole call took longer than allowed."""


class Cancelled(BaseException):
    """Thrown into a flow that is being closed. A BaseException, so that no `except Exception` swallows it.

    `partial` is what had arrived of a reply that was being streamed, as an assistant message, or None.
    """

    partial: dict[str, Any] | None = None


class SchemaWarning(UserWarning):
    """A parameter's type cannot be said in JSON Schema; it is sent as a string and passed on as it comes."""


def attach(error: BaseException, response: Response) -> None:
    """Put the response so far on an exception of any kind: as `.response`, or as `.swarm_response` if it has a `.response` of its own.

    One that a run inside this run put there is replaced.
    """
    taken = (
        not isinstance(error, SwarmError)
        and hasattr(error, "response")
        and not isinstance(getattr(error, "response", None), type(response))
    )
    with suppress(AttributeError, TypeError):  # an exception may refuse attributes
        setattr(error, "swarm_response" if taken else "response", response)


# What providers call a quota that is used up, which most of them send as 429, some as 403: platform.openai.com/docs/guides/error-codes,
# forum.moonshot.ai/t/244 (exceeded_current_quota_error), github.com/Alishahryar1/free-claude-code/issues/1543 (insufficient_user_quota).
_NO_QUOTA = re.compile(
    r"insufficient_(user_)?quota|exceeded_current_quota|\bquota_exceeded|insufficient_balance|billing_hard_limit|credit_balance"
)
# A prompt that is too long: as a code (OpenAI, Groq, Cerebras; llama.cpp), or in words, one line a server: OpenAI, vLLM, DeepSeek and
# OpenRouter; Anthropic; Gemini; xAI; Mistral; Groq; Bedrock; llama.cpp; LM Studio (collected in github.com/earendil-works/pi,
# packages/ai/src/utils/overflow.ts).
_TOO_LONG_CODE = re.compile(r"context_length_exceeded|exceed_context_size|context_window_exceeded")
_TOO_LONG = re.compile(
    r"maximum context length|exceeds the context window"
    r"|prompt is too long"
    r"|input token count.{0,40}exceeds the maximum"
    r"|maximum prompt length"
    r"|too large for model with \d+ maximum context"
    r"|reduce the length of the messages"
    r"|input is too long for requested model"
    r"|exceeds? the available context size"
    r"|greater than the context length",
    re.IGNORECASE,
)


def _codes(body: Any) -> list[str]:
    """The words for an error in a provider's answer, those that say most first."""
    if isinstance(body, list):  # Gemini's
        body = next(iter(cast("list[Any]", body)), None)
    if isinstance(body, dict):
        body = cast("dict[str, Any]", body).get("error", cast("dict[str, Any]", body))
    found = cast("dict[str, Any]", body) if isinstance(body, dict) else {}
    return [value for name in ("code", "type", "status") if isinstance(value := found.get(name), str) and value]


def status_error(
    status: int,
    text: str,
    *,
    body: Any = None,
    request_id: str | None = None,
    retry_after: float | None = None,
    cause: BaseException | None = None,
) -> ModelError:
    """The error for an HTTP status, as the API reference groups them (platform.openai.com/docs/guides/error-codes).

    Args:
        status: HTTP status of the answer.
        text: the provider's message.
        body: the parsed answer, or its text.
        request_id: the provider's id for the request.
        retry_after: seconds the provider asks to wait.
        cause: the exception of the client library, if one was used.
    """
    codes = " ".join(_codes(body))
    kind: type[ModelError]
    if status >= 400 and (status == 402 or _NO_QUOTA.search(codes)):
        kind = QuotaExceeded
    elif status in (401, 403):
        kind = AuthenticationError
    elif status >= 400 and (_TOO_LONG_CODE.search(codes) or (status in (400, 413, 422) and _TOO_LONG.search(text))):
        kind = ContextLengthExceeded
    elif status == 429:
        kind = RateLimitError
    elif status in (408, 409) or status >= 500:
        kind = ServerError
    elif status >= 400:
        kind = RequestError
    else:
        kind = InvalidReply
    error = kind(f"{status}: {text}", status=status, body=body, request_id=request_id, cause=cause)
    if isinstance(error, TransientError):
        error.retry_after = retry_after
    return error
