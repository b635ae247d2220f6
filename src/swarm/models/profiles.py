"""What providers of Chat Completions disagree on, as data: one Profile each, chosen by base URL, corrected by model name.

Only what was looked up stands here; the source is behind each line. A server that is not listed gets the default, which is the form of
the API reference (https://platform.openai.com/docs/api-reference/chat/create). A model's name never makes a profile strip fields, since
the same model is served by servers that want them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal
from urllib.parse import urlsplit

from ..errors import ConfigError


@dataclass(frozen=True, slots=True)
class Profile:
    """What one provider wants.

    Attributes:
        name: its name, for messages to people.
        instruction_role: role of the instructions; "user" folds them into the first user message.
        empty_content: content of an assistant message that only calls tools: null, no such key, or "".
        refuse_empty_text: whether empty text is refused, so that a placeholder must stand for it.
        name_field: whether messages may have a `name`.
        parallel_flag: whether `parallel_tool_calls` may be sent.
        stream_usage: whether `stream_options={"include_usage": true}` may be sent, and is needed for usage in streams.
        strip: whether fields that are not in the API reference are refused, so that a reply's private fields must not come back.
        keep: private fields of a message that are taken back in spite of `strip`.
        id_pattern: regular expression for the ids of tool calls, or None; other ids are replaced on the wire by nine hexadecimal digits.
        max_tokens: the name of the setting that limits the length of a reply, where only one is taken, or None.
    """

    name: str = "default"
    instruction_role: Literal["system", "developer", "user"] = "system"
    empty_content: Literal["null", "absent", "empty"] = "null"
    refuse_empty_text: bool = False
    name_field: bool = True
    parallel_flag: bool = True
    stream_usage: bool = False
    strip: bool = False
    keep: frozenset[str] = frozenset()
    id_pattern: str | None = None
    max_tokens: Literal["max_tokens", "max_completion_tokens"] | None = None

    def __post_init__(self) -> None:
        if self.instruction_role not in ("system", "developer", "user"):
            raise ConfigError(f'instruction_role is {self.instruction_role!r}; it must be "system", "developer" or "user"')
        if self.empty_content not in ("null", "absent", "empty"):
            raise ConfigError(f'empty_content is {self.empty_content!r}; it must be "null", "absent" or "empty"')
        if self.refuse_empty_text and self.empty_content == "empty":
            raise ConfigError('refuse_empty_text and empty_content="empty" contradict each other')


PROFILES = {
    profile.name: profile
    for profile in (
        Profile(),
        Profile("openai", stream_usage=True),
        # An api-version before 2024-09-01 refuses stream_options (learn.microsoft.com/en-us/answers/questions/2007680); v1 has none.
        Profile("azure"),
        Profile("azure-v1", stream_usage=True),
        # messages[].name is refused (console.groq.com/docs/openai), and so are reasoning fields (github.com/janhq/jan/issues/8136).
        Profile("groq", strip=True, name_field=False, stream_usage=True),
        # Extra fields are refused (github.com/charmbracelet/crush/issues/1590), name on a user message and stream_options too
        # (github.com/mistralai/client-python/issues/40: usage comes unasked); ids: github.com/anomalyco/opencode/issues/1680.
        Profile("mistral", strip=True, name_field=False, id_pattern="[a-zA-Z0-9]{9}"),
        # Usage comes unasked (discuss.ai.google.dev/t/92785); parts without text are refused (github.com/vercel/ai/issues/3775).
        Profile("gemini", refuse_empty_text=True),
        # docs.anthropic.com/en/api/openai-sdk; empty text blocks are refused (github.com/anthropics/anthropic-sdk-python/issues/461).
        Profile("anthropic", refuse_empty_text=True, empty_content="absent", stream_usage=True, id_pattern="[a-zA-Z0-9_-]+"),
        # reasoning_content must come back, an empty one too (api-docs.deepseek.com/guides/thinking_mode).
        Profile("deepseek", stream_usage=True),
        Profile("dashscope", stream_usage=True),
        Profile("xai", stream_usage=True),
        # Usage comes unasked (openrouter.ai/docs/use-cases/usage-accounting).
        Profile("openrouter"),
        # docs.ollama.com/api/openai-compatibility
        Profile("ollama", stream_usage=True),
        # Unknown fields are refused, its own `reasoning` is wanted (inference-docs.cerebras.ai/api-reference/chat-completions).
        Profile("cerebras", strip=True, keep=frozenset(("reasoning",))),
    )
}

# Host (a leading dot: any host that ends so), beginning of the path, profile.
_SERVERS = (
    ("api.openai.com", "", "openai"),
    (".openai.azure.com", "/openai/v1", "azure-v1"),
    (".openai.azure.com", "", "azure"),
    (".services.ai.azure.com", "/openai/v1", "azure-v1"),
    ("api.groq.com", "", "groq"),
    ("api.mistral.ai", "", "mistral"),
    ("generativelanguage.googleapis.com", "", "gemini"),
    ("api.anthropic.com", "", "anthropic"),
    ("api.deepseek.com", "", "deepseek"),
    ("dashscope.aliyuncs.com", "", "dashscope"),
    ("dashscope-intl.aliyuncs.com", "", "dashscope"),
    ("dashscope-us.aliyuncs.com", "", "dashscope"),
    ("api.x.ai", "", "xai"),
    ("openrouter.ai", "", "openrouter"),
    ("localhost:11434", "", "ollama"),
    ("127.0.0.1:11434", "", "ollama"),
    ("api.cerebras.ai", "", "cerebras"),
)

# Refuse parallel_tool_calls whatever its value (github.com/pydantic/pydantic-ai/issues/761)
# and max_tokens (github.com/simonw/llm/issues/724).
_REASONING = re.compile(r"o\d+(-|$)")
_NEWER_GPT = re.compile(r"gpt-[5-9]")
# Refuse both the system and the developer role (github.com/microsoft/agent-framework/issues/1077).
_NO_INSTRUCTIONS = re.compile(r"o1-(mini|preview)")


@lru_cache(maxsize=256)
def choose(base_url: str | None, model: str | None, override: Profile | str | None = None) -> Profile:
    """The profile for a request.

    Args:
        base_url: where requests go, or None if it is not known.
        model: the model's name, with or without a "vendor/" in front, or None.
        override: a Profile, or the name of one in `PROFILES`, that is taken as it is.

    Raises:
        ConfigError: no profile of that name.
    """
    if isinstance(override, Profile):
        return override
    if override is not None:
        if override not in PROFILES:
            raise ConfigError(f"no profile is named {override!r}; there are: {', '.join(PROFILES)}")
        return PROFILES[override]
    profile = PROFILES[_server(base_url)]
    name = (model or "").lower().rpartition("/")[2]
    if _REASONING.match(name):
        role = "user" if _NO_INSTRUCTIONS.match(name) else profile.instruction_role
        return replace(profile, parallel_flag=False, max_tokens="max_completion_tokens", instruction_role=role)
    return replace(profile, max_tokens="max_completion_tokens") if _NEWER_GPT.match(name) else profile


def _server(base_url: str | None) -> str:
    try:
        parts = urlsplit(base_url or "")
    except ValueError:
        return "default"
    host = parts.netloc.rpartition("@")[2].lower()
    for end, path, name in _SERVERS:
        if (host == end or (end[0] == "." and host.endswith(end))) and parts.path.startswith(path):
            return name
    return "default"
