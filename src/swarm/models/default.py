"""The client of `Swarm()` when none is given: by the environment, and never by guessing."""

from __future__ import annotations

import os
from typing import Any

from ..errors import ConfigError

_WAYS_OUT = """no model to talk to. Choose one:
  - set OPENAI_API_KEY, for api.openai.com
  - set OPENAI_BASE_URL (and SWARM_MODEL), for a server that speaks Chat Completions: Ollama, vLLM, llama.cpp, ...
  - pass a client: Swarm(OpenAI()), Swarm(ChatClient(base_url=...)), or any object with chat.completions.create
  - set SWARM_OFFLINE=1 to use the offline model, a semantic router that needs no key and no network"""


def default_client() -> Any:
    """Our own client if a key or a base URL is set; the offline model if SWARM_OFFLINE asks for it.

    Raises:
        ConfigError: neither is set; the error names the ways out.
    """
    if os.environ.get("SWARM_OFFLINE", "").lower() not in ("", "0", "false", "no"):
        from .offline import OfflineModel

        return OfflineModel()
    if os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENAI_BASE_URL"):
        from .chat import ChatClient

        return ChatClient()
    raise ConfigError(_WAYS_OUT)
