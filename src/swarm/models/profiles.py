"""What providers of Chat Completions disagree on, as data: one Profile each, chosen by base URL, corrected by model name.

Only what was looked up stands here; the source is behind each line. A server that is not listed gets the default, which is the form of
the API reference (https://platform.openai.com/docs/api-reference/chat/create). A model's name never makes a profile strip fields, since
the same model is served by servers that want them. Local servers are told by no port but Ollama's: 8000, 8080, 30000 and 4000 may be
anybody's, and a wrong guess would do harm that nobody asked for; they are named: `ChatClient(url, profile="vllm")`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal
from urllib.parse import urlsplit

from ..errors import AgentError, ConfigError

MADE_ID = "0123abcde"
"""What an id looks like that is put in the place of one a provider would refuse."""

_ALLOWED = {
    "instruction_role": ("system", "developer", "user"),
    "empty_content": ("null", "absent", "empty"),
    "max_tokens": ("max_tokens", "max_completion_tokens", None),
    "response_format": ("json_schema", "json_schema_with_tools", "json_object", None),
}


@dataclass(frozen=True, slots=True)
class Profile:
    """What one provider wants.

    Attributes:
        name: its name, for messages to people.
        instruction_role: role of the instructions; "user" folds them into the first user message.
        system_first: whether only the first message may be a system message, so that later ones go as the user's.
        empty_content: content of an assistant message that only calls tools: null, no such key, or "".
        refuse_empty_text: whether empty text is refused, so that a placeholder must stand for it.
        unseen: types of content parts that are refused or passed over, so that words must stand in their place.
        name_field: whether messages may have a `name`.
        parallel_flag: whether `parallel_tool_calls` may be sent.
        stream_usage: whether `stream_options={"include_usage": true}` may be sent, and is needed for usage in streams.
        strip: whether fields that are not in the API reference are refused, so that a reply's private fields must not come back.
        keep: private fields of a message, or of a tool call, that are taken back in spite of `strip`.
        fill: text fields that every assistant message must have, so that they are sent as "" where a message has none.
        call_signature: `extra_content.google.thought_signature` for the first call of a message whose calls came without, or None.
        object_arguments: whether arguments of earlier calls are refused unless they are a JSON object, so that other text is sent as
            `{"not_an_object": "<the text>"}`, and no text as `{}`.
        answer_after_tools: whether the results of tools must be followed by an assistant message, so that a placeholder must stand for it
            where none came.
        id_pattern: regular expression for the ids of tool calls, or None; other ids are replaced on the wire by nine hexadecimal digits.
        tool_name: regular expression for the names of tools where it is narrower than "[a-zA-Z0-9_-]{1,64}", or None. A tool on offer
            must fit; other names in earlier calls get "tool_" in front.
        max_tokens: the name of the setting that limits the length of a reply, where only one is taken, or None.
        strict_tools: whether the arguments of a function marked `strict` are held to its schema while they are written.
        response_format: how an answer of a given type is asked for: "json_schema" or "json_object", where no tools are offered;
            "json_schema_with_tools", beside tools too. None, and where it does not apply: the instructions say it.

    Raises:
        ConfigError: a value that is none of these, two that contradict each other, a pattern that refuses what stands for others.
    """

    name: str = "default"
    instruction_role: Literal["system", "developer", "user"] = "system"
    system_first: bool = False
    empty_content: Literal["null", "absent", "empty"] = "null"
    refuse_empty_text: bool = False
    unseen: frozenset[str] = frozenset()
    name_field: bool = True
    parallel_flag: bool = True
    stream_usage: bool = False
    strip: bool = False
    keep: frozenset[str] = frozenset()
    fill: frozenset[str] = frozenset()
    call_signature: str | None = None
    object_arguments: bool = False
    answer_after_tools: bool = False
    id_pattern: str | None = None
    tool_name: str | None = None
    max_tokens: Literal["max_tokens", "max_completion_tokens"] | None = None
    strict_tools: bool = False
    response_format: Literal["json_schema", "json_schema_with_tools", "json_object"] | None = None

    def __post_init__(self) -> None:
        for field, allowed in _ALLOWED.items():
            value = getattr(self, field)
            if value not in allowed:
                raise ConfigError(f"{field} is {value!r}; it must be one of {', '.join(map(repr, allowed))}")
        if self.refuse_empty_text and self.empty_content == "empty":
            raise ConfigError('refuse_empty_text and empty_content="empty" contradict each other')
        _check_pattern("id_pattern", self.id_pattern, MADE_ID)
        _check_pattern("tool_name", self.tool_name, f"tool_{MADE_ID}")

    def check_tools(self, names: Iterable[str], agent: str) -> None:
        """Refuse what the provider would refuse, before it is asked.

        Args:
            names: of the tools on offer.
            agent: whose they are.

        Raises:
            AgentError: a name that does not fit; it says how to give another.
        """
        if self.tool_name is None:
            return
        for name in names:
            if not re.fullmatch(self.tool_name, name):
                raise AgentError(
                    f"agent {agent!r} offers the tool {name!r}, a name that the provider ({self.name}) refuses: it must match "
                    f'{self.tool_name}. Give it another: @tool(name="tool_{name[:59]}"), or Handoff(..., name=...)'
                )


def _check_pattern(field: str, pattern: str | None, made: str) -> None:
    try:
        fits = pattern is None or re.fullmatch(pattern, made)
    except re.error as error:
        raise ConfigError(f"{field} {pattern!r} is no regular expression: {error}") from None
    if not fits:
        raise ConfigError(f"{field} {pattern!r} refuses {made!r}, which is what stands for a name or id that does not fit; widen it")


# A longer id is refused (github.com/camel-ai/camel/issues/2215); other providers make longer ones, and a history may hold theirs.
_FORTY = ".{1,40}"
_FILE = frozenset(("file",))

PROFILES = {
    profile.name: profile
    for profile in (
        Profile(),
        # platform.openai.com/docs/guides/structured-outputs: a response_format does not keep the model from calling functions. Strict
        # functions: platform.openai.com/docs/guides/function-calling.
        Profile("openai", strict_tools=True, stream_usage=True, id_pattern=_FORTY, response_format="json_schema_with_tools"),
        # An api-version before 2024-09-01 refuses stream_options (learn.microsoft.com/en-us/answers/questions/2007680); v1 has none.
        # json_schema came with 2024-08-01-preview (learn.microsoft.com/azure/ai-services/openai/how-to/structured-outputs).
        Profile("azure", strict_tools=True, id_pattern=_FORTY, response_format="json_schema_with_tools"),
        Profile("azure-v1", strict_tools=True, stream_usage=True, id_pattern=_FORTY, response_format="json_schema_with_tools"),
        # messages[].name is refused (console.groq.com/docs/openai), and so are reasoning fields (github.com/janhq/jan/issues/8136).
        # Few models take json_schema (console.groq.com/docs/structured-outputs); none beside tools (github.com/agno-agi/agno/issues/1065).
        Profile("groq", strip=True, name_field=False, stream_usage=True, response_format="json_object"),
        # Extra fields are refused (github.com/charmbracelet/crush/issues/1590), name on a user message and stream_options too
        # (github.com/mistralai/client-python/issues/40: usage comes unasked); ids: github.com/anomalyco/opencode/issues/1680; max_tokens:
        # docs.mistral.ai/api. A user after a tool is refused (github.com/avante-corp/avante.nvim/issues/2562), a system message after
        # either, and an assistant that says and calls nothing (mistral_common/protocol/instruct/validator.py). "Cannot use json_schema
        # response type with tools" (github.com/agno-agi/agno/issues/2501).
        Profile(
            "mistral",
            strip=True,
            name_field=False,
            system_first=True,
            refuse_empty_text=True,
            answer_after_tools=True,
            id_pattern="[a-zA-Z0-9]{9}",
            max_tokens="max_tokens",
            response_format="json_schema",
        ),
        # Usage comes unasked (discuss.ai.google.dev/t/92785); parts without text are refused (github.com/vercel/ai/issues/3775), and the
        # parallel flag (github.com/TheAgenticAI/TheAgenticBrowser/issues/4). Names: github.com/kaitranntt/ccs/issues/25. Arguments are a
        # Struct (ai.google.dev/api/python/google/generativeai/protos/FunctionCall). Tools beside a JSON type of response are refused
        # (github.com/openai/openai-agents-python/issues/656).
        Profile(
            "gemini",
            refuse_empty_text=True,
            parallel_flag=False,
            object_arguments=True,
            tool_name="[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}",
            response_format="json_schema",
        ),
        # platform.claude.com/docs/en/api/openai-sdk, which ignores a response_format; empty text blocks are refused
        # (github.com/anthropics/anthropic-sdk-python/issues/461),
        # and arguments that are no object (github.com/anthropics/anthropic-sdk-typescript/issues/648); sound is taken out unread.
        Profile(
            "anthropic",
            refuse_empty_text=True,
            unseen=frozenset(("input_audio",)),
            empty_content="absent",
            stream_usage=True,
            object_arguments=True,
            id_pattern="[a-zA-Z0-9_-]+",
        ),
        # reasoning_content must come back (api-docs.deepseek.com/guides/thinking_mode), on every assistant message, "" where there was none
        # (github.com/earendil-works/pi/pull/3659); content must be text then (github.com/can1357/oh-my-pi/pull/788). Not the developer role
        # (github.com/earendil-works/pi/issues/1048), and max_tokens (api-docs.deepseek.com/api/create-chat-completion). Of content parts
        # only text, or every request from there on is refused (github.com/rikkahub/rikkahub/issues/1433). Of formats only
        # json_object (api-docs.deepseek.com/guides/json_mode), where what is no JSON, as a call may be, becomes blanks.
        Profile(
            "deepseek",
            stream_usage=True,
            empty_content="empty",
            fill=frozenset(("reasoning_content",)),
            unseen=frozenset(("image_url", "input_audio", "file")),
            max_tokens="max_tokens",
            response_format="json_object",
        ),
        # Arguments must be JSON (github.com/HKUDS/nanobot/issues/1487); one system message, first (github.com/can1357/oh-my-pi/issues/958).
        # json_schema with few models, json_object with most (alibabacloud.com/help/en/model-studio/qwen-structured-output). No files
        # (github.com/QwenLM/qwen-code/pull/2028).
        Profile("dashscope", stream_usage=True, system_first=True, object_arguments=True, unseen=_FILE, response_format="json_object"),
        # A message without text is refused (github.com/langbot-app/LangBot/issues/1205); null beside calls is not
        # (github.com/AstrBotDevs/AstrBot/pull/6551). Not beside tools: hexdocs.pm/req_llm/ReqLLM.Providers.XAI.html.
        Profile("xai", stream_usage=True, refuse_empty_text=True, response_format="json_schema"),
        # Usage comes unasked (openrouter.ai/docs/use-cases/usage-accounting). It passes on to all of the above, long ids to OpenAI
        # (github.com/openclaw/openclaw/pull/875), arguments to those that want an object, a response_format to models that refuse it
        # (github.com/pydantic/pydantic-ai/issues/2976).
        Profile("openrouter", object_arguments=True, id_pattern=_FORTY),
        # github.com/ollama/ollama/blob/main/openai/openai.go: max_completion_tokens is not read, and "invalid tool call arguments". With a
        # format, here and in the three below, a model can write nothing else, so it never calls (github.com/ollama/ollama/issues/8095).
        # Schemas of functions reach the model and bind nothing (issues/17597). A file is an "invalid message format" (openai/openai.go).
        Profile("ollama", stream_usage=True, object_arguments=True, unseen=_FILE, max_tokens="max_tokens", response_format="json_schema"),
        # github.com/ggml-org/llama.cpp: arguments of any model whose template wants an object (common/chat.cpp, func_args_not_string);
        # templates that take a system message first or not at all (issues/20733); max_tokens: tools/server/README.md.
        # Arguments are held to their schema with and without strict (pull/9639). A file is an "unsupported content[].type".
        Profile(
            "llama.cpp",
            stream_usage=True,
            system_first=True,
            object_arguments=True,
            unseen=_FILE,
            max_tokens="max_tokens",
            response_format="json_schema",
        ),
        # github.com/vllm-project/vllm: arguments that are no JSON (issues/43995); a system message later than first (issues/41114); a
        # format beside tools (issues/39929). Strict functions: docs/features/tool_calling.md, "Constrained Decoding Behavior". Parts it
        # takes, files not among them: vllm/entrypoints/chat_utils.py, MM_PARSER_MAP.
        Profile(
            "vllm",
            strict_tools=True,
            stream_usage=True,
            system_first=True,
            object_arguments=True,
            unseen=_FILE,
            response_format="json_schema",
        ),
        # github.com/sgl-project/sglang: arguments that are no JSON object (pull/28035); it applies the same templates as vLLM. A format
        # beside tools: "Constrained decoding is not compatible with tool calls" (srt/entrypoints/openai/protocol.py).
        # Strict functions: srt/function_call/function_call_parser.py, get_structure_constraint. Parts: ChatCompletionMessageContentPart.
        Profile(
            "sglang",
            strict_tools=True,
            stream_usage=True,
            system_first=True,
            object_arguments=True,
            unseen=_FILE,
            response_format="json_schema",
        ),
        # docs.litellm.ai/docs/completion/usage; it passes on to all of the above, but knows their ids, and puts what it needs into its own.
        # A response_format that the provider behind it lacks is an error (github.com/BerriAI/litellm/issues/2442).
        Profile("litellm", stream_usage=True, object_arguments=True),
        # Unknown fields are refused, its own `reasoning` is wanted (inference-docs.cerebras.ai/api-reference/chat-completions); formats:
        # inference-docs.cerebras.ai/capabilities/structured-outputs, which says nothing of tools.
        Profile("cerebras", strip=True, keep=frozenset(("reasoning",)), response_format="json_schema"),
    )
}

# Host (with a leading ".", "-" or ":", any host that ends so), beginning of the path, profile.
SERVERS = (
    ("api.openai.com", "", "openai"),
    (".api.openai.com", "", "openai"),
    (".openai.azure.com", "/openai/v1", "azure-v1"),
    (".openai.azure.com", "", "azure"),
    (".services.ai.azure.com", "/openai/v1", "azure-v1"),
    (".cognitiveservices.azure.com", "/openai/v1", "azure-v1"),
    (".cognitiveservices.azure.com", "", "azure"),
    ("api.groq.com", "", "groq"),
    ("api.mistral.ai", "", "mistral"),
    ("generativelanguage.googleapis.com", "", "gemini"),
    ("-aiplatform.googleapis.com", "", "gemini"),
    ("aiplatform.googleapis.com", "", "gemini"),
    ("api.anthropic.com", "", "anthropic"),
    ("api.deepseek.com", "", "deepseek"),
    ("dashscope.aliyuncs.com", "", "dashscope"),
    ("dashscope-intl.aliyuncs.com", "", "dashscope"),
    ("dashscope-us.aliyuncs.com", "", "dashscope"),
    (".dashscope.aliyuncs.com", "", "dashscope"),
    ("api.x.ai", "", "xai"),
    (".api.x.ai", "", "xai"),
    ("openrouter.ai", "", "openrouter"),
    (":11434", "", "ollama"),
    ("ollama.com", "", "ollama"),
    ("api.cerebras.ai", "", "cerebras"),
)

# Refuse parallel_tool_calls whatever its value (github.com/pydantic/pydantic-ai/issues/761)
# and max_tokens (github.com/simonw/llm/issues/724).
_REASONING = re.compile(r"o\d+(-|$)")
_NEWER_GPT = re.compile(r"gpt-[5-9]")
# Refuse both the system and the developer role (github.com/microsoft/agent-framework/issues/1077, github.com/0xPlaygrounds/rig/issues/788).
_NO_INSTRUCTIONS = re.compile(r"o1-(mini|preview)|gemma-[23]n?-")
# Refuse calls without a signature, unless it is this one (ai.google.dev/gemini-api/docs/thought-signatures); Gemini 2 needs none.
_SIGNED = re.compile(r"gemini-([3-9]|[1-9]\d)")
_SIGNATURE = "skip_thought_signature_validator"


# Words for the end of a reply for which the API reference has others: Mistral's (docs.mistral.ai/api), Zhipu's (docs.bigmodel.cn), and
# Anthropic's and Gemini's own, which gateways pass on.
_ENDINGS = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "model_length": "length",
    "safety": "content_filter",
    "sensitive": "content_filter",
}


_USUAL_ENDINGS = frozenset(("stop", "tool_calls", None))


def ending(reason: str | None) -> str | None:
    """Why a model stopped, in the word of the API reference if it has one: a reply that was cut off must not pass for a whole one."""
    return reason if reason in _USUAL_ENDINGS or not reason else _ENDINGS.get(reason.lower(), reason)


def choose(base_url: str | None, model: str | None, override: Profile | str | None = None) -> Profile:
    """The profile for a request.

    Args:
        base_url: where requests go, or None if it is not known.
        model: the model's name, with or without a "vendor/" in front, or None.
        override: a Profile, which is taken as it is; or the name of one in `PROFILES`, which is corrected by the model's name like that of
            a known server.

    Raises:
        ConfigError: no profile of that name.
    """
    return override if isinstance(override, Profile) else _chosen(base_url, model, override)


@lru_cache(maxsize=256)
def _chosen(base_url: str | None, model: str | None, named: str | None) -> Profile:
    if named is not None and named not in PROFILES:
        raise ConfigError(f"no profile is named {named!r}; there are: {', '.join(PROFILES)}")
    profile = PROFILES[_server(base_url) if named is None else named]
    name = (model or "").lower().rpartition("/")[2]
    if _REASONING.match(name):
        profile = replace(profile, parallel_flag=False, max_tokens="max_completion_tokens")
    elif _NEWER_GPT.match(name):
        profile = replace(profile, max_tokens="max_completion_tokens")
    if _NO_INSTRUCTIONS.match(name):
        profile = replace(profile, instruction_role="user")
    if profile.name == "gemini" and _SIGNED.match(name):
        profile = replace(profile, call_signature=_SIGNATURE)
    return profile


def checked(profile: Any) -> Profile | str | None:
    """What was given as a profile, if it is one.

    Raises:
        TypeError: neither a Profile nor a name.
        ConfigError: no profile of that name.
    """
    if profile is not None and not isinstance(profile, Profile | str):
        raise TypeError(f"profile must be a Profile or the name of one, not {profile!r}")
    choose(None, None, profile)
    return profile


def _server(base_url: str | None) -> str:
    try:
        parts = urlsplit(base_url or "")
    except ValueError:
        return "default"
    host = parts.netloc.rpartition("@")[2].lower()
    for end, path, name in SERVERS:
        if (host.endswith(end) if end[0] in ".-:" else host == end) and parts.path.startswith(path):
            return name
    return "default"
