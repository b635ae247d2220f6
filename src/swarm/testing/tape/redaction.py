"""What must not stand in a file that is committed: keys, whatever looks like one, and what a test's author names.

The same is done to a request before it is looked for in a tape, so what is hidden still matches. Hiding twice changes nothing, and a value
keeps its kind (a number stays a number), so a replayed tool call still fits its function.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, cast

MARK = "[redacted]"

# Names of values that are secrets wherever they stand, in lower case and with "_".
_SECRET_FIELDS = frozenset(
    (
        *("access_token", "api_key", "apikey", "auth_token", "authorization", "client_secret", "cookie", "password", "private_key"),
        *("proxy_authorization", "refresh_token", "secret", "set_cookie", "token", "x_api_key"),
    )
)
# How keys begin, as the secret scanners know them (github.com/gitleaks/gitleaks): OpenAI, Anthropic, DeepSeek and OpenRouter (sk-), Stripe,
# Groq, xAI, Hugging Face, GitHub, Slack, Google, AWS, tokens in the form of RFC 7519, and the header of RFC 6750.
_KEY_LIKE = re.compile(
    r"\bsk-[\w*-]{8,}|\b(?:sk|rk)_(?:live|test)_\w{8,}|\bgsk_\w{16,}|\bxai-\w{16,}|\bhf_\w{16,}|\bgh[pousr]_\w{16,}|\bgithub_pat_\w{16,}"
    r"|\bxox[abprs]-[\w-]{8,}|\bAIza[\w-]{20,}|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*"
    r"|(?i:\bbearer\s+[\w.~+/=-]{6,})"
)
# Keys of messages and tools that say what something is, never what somebody said.
_STRUCTURE = frozenset(("id", "index", "name", "role", "tool_call_id", "type"))
# Parts of a request in the form of the API; everything else is the caller's own.
_PARTS = ("messages", "response_format", "tool_choice", "tools")


class Redaction:
    """Hides secrets in requests, replies and tool calls.

    Args:
        wanted: further names of fields whose values are hidden, in JSON of any depth; and compiled patterns, which are hidden in any text.

    Raises:
        TypeError: something else.
    """

    def __init__(self, wanted: Sequence[str | re.Pattern[str]] = ()) -> None:
        if isinstance(wanted, str) or not all(isinstance(item, str | re.Pattern) for item in wanted):  # type: ignore[redundant-expr]
            raise TypeError(f'redact must be a list of field names and compiled patterns, ["email", re.compile(...)], not {wanted!r}')
        self._fields = _SECRET_FIELDS.union(_spelled(item) for item in wanted if isinstance(item, str))
        names = "|".join(re.escape(name).replace("_", "[-_]") for name in sorted(self._fields))
        # JSON inside other words, JSON that is broken or cut off, and what `str()` makes of a dict.
        self._inside = re.compile(rf"""(?i)((["'])(?:{names})\2\s*:\s*)(?:(["'])((?:(?!\3)[^\\]|\\.)+)|(-?\d[\d.e+-]*))""", re.DOTALL)
        self._patterns = [_KEY_LIKE, *(item for item in wanted if isinstance(item, re.Pattern))]

    def request(self, request: dict[str, Any]) -> dict[str, Any]:
        """The keyword arguments of a request without secrets."""
        hidden = {key: self.said(value) if key in _PARTS else self.data({key: value})[key] for key, value in request.items()}
        return {**hidden, "model": request["model"]} if "model" in request else hidden

    def said(self, value: Any) -> Any:
        """A message, a chunk, a tool's schema without secrets: texts are looked at, the form of the API is left alone."""
        if isinstance(value, dict):
            known = cast("dict[str, Any]", value)
            # A parameter may be called "name" too, and the name in a message is somebody's.
            return {key: item if key in _STRUCTURE and _is_form(key, item, known) else self.said(item) for key, item in known.items()}
        if isinstance(value, list):
            return [self.said(item) for item in cast("list[Any]", value)]
        return self.text(value) if isinstance(value, str) else value

    def data(self, value: Any) -> Any:
        """A JSON value of the user's without secrets: what stands in a secret field, and what looks like a key, as a name too."""
        if isinstance(value, dict):
            items = cast("dict[str, Any]", value).items()
            return {self.text(key): _hidden(item) if _spelled(key) in self._fields else self.data(item) for key, item in items}
        if isinstance(value, list):
            return [self.data(item) for item in cast("list[Any]", value)]
        if isinstance(value, str):
            return self.text(value)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return _hidden(value) if is_number and any(pattern.search(str(value)) for pattern in self._patterns) else value

    def text(self, text: str) -> str:
        """A text without secrets; JSON in it, such as arguments or a result, is looked into and otherwise left as it was written."""
        if text.lstrip()[:1] in ("{", "["):
            try:
                value = json.loads(text, object_pairs_hook=_unique)
            except (ValueError, RecursionError):
                pass
            else:
                hidden = self.data(value)
                return self._sub(text if hidden == value else json.dumps(hidden, ensure_ascii=False), _across)
        return self._sub(self._inside.sub(lambda found: f"{found[1]}{found[3]}{MARK}" if found[3] else f"{found[1]}0", text), MARK)

    def _sub(self, text: str, by: str | Callable[[re.Match[str]], str]) -> str:
        for pattern in self._patterns:
            text = MARK.join(pattern.sub(by, part) for part in text.split(MARK))
        return text


def _across(found: re.Match[str]) -> str:
    """In JSON whose values are hidden already, only what a pattern finds beyond a value is left to hide; numbers would become no JSON."""
    return MARK if '"' in found[0] else found[0]


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object; one that has a name twice is read as a text, or the first value would stay."""
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a name stands twice")
    return value


def _is_form(key: str, item: Any, around: dict[str, Any]) -> bool:
    return not isinstance(item, dict | list) and not (key == "name" and "role" in around)


def _spelled(name: str) -> str:
    return name.lower().replace("-", "_")


def _hidden(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _hidden(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_hidden(item) for item in cast("list[Any]", value)]
    if isinstance(value, str):
        return MARK if value else value
    return value if value is None or isinstance(value, bool) else type(value)(0)
