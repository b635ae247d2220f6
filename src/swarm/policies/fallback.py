"""Fallback: asks another model, or the same at another provider, where the first cannot answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

from ..effects import CallModel, Emit, Flow, Reply
from ..errors import ContextLengthExceeded, InvalidReply, ModelError, QuotaExceeded, RequestError, TransientError
from ..events import PolicyActed
from ..inside import inside
from ..messages import text_of
from ..models.client import client_of, model_for
from ..models.profiles import ending
from ..rerouting import rerouted

# That a model is not there comes as 404 (OpenAI, Groq, Ollama, vLLM), or in words: OpenRouter "... is not a valid model ID", DeepSeek
# "Model Not Exist", Mistral "Invalid model: ...", OpenAI with 403 for a project without access.
_NO_MODEL = re.compile(r"not a valid model|model not exist|invalid model|unknown model|not have access to model", re.IGNORECASE)
# learn.microsoft.com/azure/ai-services/openai/concepts/content-filter; help.aliyun.com/zh/model-studio/error-code
_FILTERED = frozenset(("content_filter", "content_policy_violation", "data_inspection_failed"))


class Fallback:
    """Asks other models, in order, where the one that was asked fails in a way in which another may not.

    That is: failures of the moment (`TransientError`), after a `Retry` inside of this policy has given up; an account with nothing left; a
    prompt that is too long; a model that is not there; an answer that is none. Not a refused key or a wrong request, which would hide a
    mistake, and not a stream of which something was shown. The request is written again as the other provider wants it, without fields
    that are private to the first. If all fail, the error of the last is raised, with notes about the others. The next call begins with the
    first again.

    Args:
        models: names of models at the same client.
        clients: other clients, each a client or a pair of a client and the model to ask for there; without one, the same model.
        content_filter: whether another is asked where the provider's content filter refuses the request, or stops a reply of which
            nothing was shown; the stopped reply counts as well.

    Raises:
        ValueError: neither models nor clients, or both.
        TypeError: `models` or `clients` is no list, or a model is no name.
        ConfigError: something that is no client.
    """

    def __init__(self, models: Sequence[str] = (), clients: Sequence[Any] = (), *, content_filter: bool = False) -> None:
        if bool(models) == bool(clients):
            raise ValueError("Fallback needs models=[...] or clients=[...], one of the two; with clients, (client, model) names both")
        if isinstance(models, str):
            raise TypeError(f"Fallback(models={models!r}) must be a list: models=[{models!r}]")
        if not isinstance(clients, Sequence):  # type: ignore[redundant-expr]  # callers without a type checker
            raise TypeError(f"Fallback(clients={clients!r}) must be a list: clients=[client]")
        self._others = [(None, name) for name in models] if models else [_pair(client) for client in clients]
        for client, name in self._others:
            if name is not None and not isinstance(name, str):  # type: ignore[redundant-expr]  # callers without a type checker
                raise TypeError(f"the name of a model must be a text, not {name!r}; clients go to Fallback(clients=[...])")
            if client is not None:
                model_for(client)  # says what is wrong with it
        self._content_filter = content_filter

    def model(self, call: CallModel) -> Flow:
        """Ask until one answers."""
        asked, others = call, self._calls(call)
        failed: list[str] = []
        while True:
            try:
                reply: Reply = yield asked
                if not (self._content_filter and _is_stopped(reply)):
                    reply.model = reply.model or asked.request.get("model")
                    return reply
                why, following = "the content filter stopped the reply", next(others, None)
                if following is None:
                    return reply
            except ModelError as error:
                following = next(others, None) if self._may_help(error) else None
                if following is None:
                    for note in failed:
                        error.add_note(note)
                    raise
                why = f"{type(error).__name__}: {error}"
            failed.append(f"Fallback asked after {_named(asked)} had failed: {why}")
            yield Emit(PolicyActed(call.agent.name, "Fallback", f"asks {_named(following)} instead of {_named(asked)}", why))
            asked = following

    def _calls(self, call: CallModel) -> Iterator[CallModel]:
        """The call for each of the others, made when it is needed."""
        first, name = client_of(call.client), call.request.get("model", "")
        for client, other in self._others:
            if call.run is not None and ((client is not None and client is not first) or other not in (None, name)):
                yield rerouted(inside(call.run), call, client, other or name)

    def _may_help(self, error: ModelError) -> bool:
        """Whether another model may answer what this one did not."""
        if isinstance(error, TransientError | QuotaExceeded | ContextLengthExceeded | InvalidReply):
            return True
        if not isinstance(error, RequestError):
            return False
        if error.code in _FILTERED:
            return self._content_filter
        return error.status == 404 or error.code == "model_not_found" or _NO_MODEL.search(str(error)) is not None


def _is_stopped(reply: Reply) -> bool:
    """Whether a content filter stopped a reply before any of it was shown."""
    if ending(reply.finish_reason) != "content_filter":
        return False
    return not reply.told or not (text_of(reply.message) or reply.message.get("tool_calls"))


def _pair(client: Any) -> tuple[Any, str | None]:
    pair = cast("tuple[Any, ...]", client) if isinstance(client, tuple) else (client, None)
    if len(pair) != 2:
        raise TypeError(f"Fallback(clients=...) takes clients and pairs (client, model), not {client!r}")
    return pair


def _named(call: CallModel) -> str:
    """A model and where it is, for people."""
    client = client_of(call.client)
    return f"{call.request.get('model')} ({getattr(client, 'base_url', None) or type(client).__name__})"
