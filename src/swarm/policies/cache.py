"""Cache: answers a request that was answered before without asking again."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from typing import Any, cast

from ..effects import Call, CallModel, Emit, Flow, Reply
from ..events import PolicyActed
from ..inside import inside
from ..messages import text_of
from ..models.client import client_of
from ..models.profiles import ending
from ..run import base_url_of
from .file_storage import File
from .given import a_time, whole
from .memory_storage import Memory

# Arguments that change how an answer comes, who pays or where it is filed, and not what it says
# (platform.openai.com/docs/api-reference/chat/create).
_NO_MATTER = frozenset(
    (
        "metadata",
        "prompt_cache_key",
        "prompt_cache_retention",
        "safety_identifier",
        "service_tier",
        "store",
        "stream",
        "stream_options",
        "timeout",
        "user",
    )
)
_WHOLE = (None, "stop", "tool_calls", "function_call")
_FORM = 1  # of a key and of what is kept: a new one, and whatever is in the file already is not found any more


class Cache:
    """Keeps the replies of models, and gives them again for the very same request.

    The same is a request with equal JSON to the same model at the same `base_url` (of a client that names none, to the same class);
    streamed or not makes no difference. Kept are whole replies that say or call something, given by the model that was asked. A reply from
    the cache takes no tokens: it is no call in `Response.usage`, and a policy sees it as a Reply whose `call` is None. Tools run as ever.

    Args:
        path: an SQLite file, made if it is not there, which any number of processes may share; None keeps them in memory. It holds what
            models said in clear text, of requests a hash only. One that cannot be used is logged once, and the runs go on without.
        ttl: seconds after which a reply is too old, or None for never.
        max_entries: how many replies are kept; the oldest go first.

    Raises:
        ValueError: `ttl` or `max_entries` that would keep nothing, or an empty path.
        TypeError: one of them is no number, or the path none.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, ttl: float | None = None, *, max_entries: int = 10_000) -> None:
        if ttl is not None:
            a_time("Cache(ttl=...)", ttl)
        if ttl is not None and not ttl > 0:
            raise ValueError(f"Cache(ttl={ttl!r}) must be above 0 seconds; None keeps replies however old they are")
        whole("Cache(max_entries=...)", max_entries)
        if path is not None and not os.fspath(path):
            raise ValueError(f"Cache(path={path!r}) names no file; None keeps replies in memory")
        self._store = Memory(ttl, max_entries) if path is None else File(path, ttl, max_entries)

    def model(self, call: CallModel) -> Flow:
        """Answer from the cache, or ask and keep the answer."""
        key, store = _key(call), self._store
        if key is None:
            return (yield call)
        found = yield Call(store.get, (key,), worker=store.blocks)
        if found is not None and (kept := _read(found[1])) is not None:
            if call.run is not None:
                inside(call.run).credit(call.client)
            reason = f"{call.request.get('model')} answered the same request {found[0]:.0f} s ago"
            yield Emit(PolicyActed(call.agent.name, "Cache", "answered from the cache", reason))
            return kept
        reply: Reply = yield call
        text = _written(reply) if _is_good(reply, call) else None
        if text is not None:
            yield Call(store.put, (key, text), worker=store.blocks)
        return reply

    def close(self) -> None:
        """Close the file. The next call opens it again."""
        self._store.close()


def _key(call: CallModel) -> str | None:
    """What a request is found again by; None for one that JSON cannot hold."""
    client = client_of(call.client)
    place = base_url_of(client) or f"{type(client).__module__}.{type(client).__qualname__}"
    asked = {name: value for name, value in call.request.items() if name not in _NO_MATTER}
    try:
        return sha256(json.dumps([_FORM, place, asked], sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    except (TypeError, ValueError, RecursionError):
        return None


def _is_good(reply: Reply, call: CallModel) -> bool:
    """Whether a reply is worth keeping: whole, not empty, no refusal, and of the model that was asked, which a policy may have changed."""
    if ending(reply.finish_reason) not in _WHOLE or reply.message.get("refusal"):
        return False
    if reply.call is None or reply.call.model != call.request.get("model", ""):
        return False
    if call.run is not None and (run := inside(call.run)).asked != run.provider_of(call.client):
        return False
    return bool(text_of(reply.message) or reply.message.get("tool_calls") or reply.message.get("function_call"))


def _written(reply: Reply) -> str | None:
    try:
        return json.dumps({"message": reply.message, "finish_reason": reply.finish_reason, "model": reply.model, "id": reply.id})
    except (TypeError, ValueError, RecursionError):
        return None


def _read(text: str) -> Reply | None:
    """A reply that was kept, fresh each time; None if something else stands there."""
    try:
        kept: Any = json.loads(text)
        message = cast("dict[str, Any]", kept["message"])
        return Reply({**message}, None, kept["finish_reason"], kept["model"], kept["id"])
    except (TypeError, ValueError, KeyError):
        return None
