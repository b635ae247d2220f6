"""Which server gets which form, as far as it was looked up."""

from __future__ import annotations

import re
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from swarm.errors import AgentError, ConfigError
from swarm.models.profiles import MADE_ID, PROFILES, SERVERS, Profile, choose


@pytest.mark.parametrize(
    ("base_url", "name"),
    [
        ("https://api.openai.com/v1", "openai"),
        ("https://API.OpenAI.com/v1/", "openai"),
        ("https://corp.openai.azure.com/openai/deployments/x", "azure"),
        ("https://corp.openai.azure.com/openai/v1/", "azure-v1"),
        ("https://corp.services.ai.azure.com/openai/v1", "azure-v1"),
        ("https://corp.cognitiveservices.azure.com/openai/deployments/x", "azure"),
        ("https://eu.api.openai.com/v1", "openai"),
        ("https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1/endpoints/openapi", "gemini"),
        ("https://cn-hongkong.dashscope.aliyuncs.com/compatible-mode/v1", "dashscope"),
        ("http://gpu.lan:11434/v1", "ollama"),
        ("http://[::1]:11434/v1", "ollama"),
        ("https://api.groq.com/openai/v1", "groq"),
        ("https://api.mistral.ai/v1", "mistral"),
        ("https://generativelanguage.googleapis.com/v1beta/openai/", "gemini"),
        ("https://api.anthropic.com/v1/", "anthropic"),
        ("https://api.deepseek.com", "deepseek"),
        ("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "dashscope"),
        ("https://api.x.ai/v1", "xai"),
        ("https://openrouter.ai/api/v1", "openrouter"),
        ("http://localhost:11434/v1", "ollama"),
        ("http://127.0.0.1:11434/v1", "ollama"),
        ("https://api.cerebras.ai/v1", "cerebras"),
        ("http://localhost:8000/v1", "default"),
        ("http://localhost:8080/v1", "default"),
        ("http://localhost:30000/v1", "default"),
        ("http://localhost:4000", "default"),
        ("http://localhost:1234/v1", "default"),
        ("https://notapi.openai.com.example/v1", "default"),
        ("https://api.openai.com.evil.example/v1", "default"),
        ("https://proxy.example/api.groq.com", "default"),
        ("https://openai.azure.com.example", "default"),
        ("no url", "default"),
        ("http://[broken", "default"),
        ("", "default"),
        (None, "default"),
    ],
)
def test_a_profile_is_chosen_by_host(base_url: str | None, name: str) -> None:
    assert choose(base_url, "gpt-4o").name == name
    assert choose(base_url, "gpt-4o") is choose(base_url, "gpt-4o")


@pytest.mark.parametrize("base_url", [None, "https://llm.example/v1"])
def test_an_unknown_server_gets_the_form_of_the_api_reference(base_url: str | None) -> None:
    """D26, D28, P02"""
    profile = choose(base_url, "llama-3")
    assert profile == Profile()
    assert (profile.instruction_role, profile.empty_content, profile.parallel_flag, profile.stream_usage, profile.strip) == (
        "system",
        "null",
        True,
        False,
        False,
    )


@pytest.mark.parametrize("model", ["o1", "o1-2024-12-17", "o3-mini", "o4-mini", "O4-Mini", "openai/o3", "o1-mini"])
def test_reasoning_models_get_no_parallel_flag(model: str) -> None:
    """P06"""
    for base_url in ("https://api.openai.com/v1", None):
        profile = choose(base_url, model)
        assert not profile.parallel_flag
        assert profile.max_tokens == "max_completion_tokens"


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-4o-mini", "omni", "o", "llama-o1", "phi-o3-x", "", None])
def test_other_models_keep_it(model: str | None) -> None:
    assert choose("https://api.openai.com/v1", model) == PROFILES["openai"]


@pytest.mark.parametrize(
    ("model", "role"), [("o1-mini", "user"), ("o1-preview-2024-09-12", "user"), ("o1", "system"), ("o3-mini", "system")]
)
def test_the_first_reasoning_models_take_no_instructions(model: str, role: str) -> None:
    """P07"""
    assert choose("https://api.openai.com/v1", model).instruction_role == role


def test_newer_models_take_one_name_for_the_length_limit() -> None:
    assert choose(None, "gpt-5-mini").max_tokens == "max_completion_tokens"
    assert choose(None, "gpt-5-mini").parallel_flag
    assert choose(None, "gpt-4.1").max_tokens is None


@pytest.mark.parametrize("model", ["mistral-large-latest", "groq/llama", "claude-sonnet-4", "gemini-3-pro", "deepseek-reasoner", "o3"])
def test_a_models_name_never_strips(model: str) -> None:
    """D26"""
    profile = choose("https://llm.example/v1", model)
    assert not profile.strip
    assert profile.name_field
    assert profile.id_pattern is None


def test_only_known_strict_servers_strip() -> None:
    """D26"""
    assert {name for name, profile in PROFILES.items() if profile.strip} == {"cerebras", "groq", "mistral"}


def test_gemma_takes_no_instructions() -> None:
    """P07"""
    roles = [
        choose("https://generativelanguage.googleapis.com/v1beta/openai", model).instruction_role
        for model in ("gemma-3-27b-it", "models/gemma-3n-e4b-it", "gemma-4-31b-it", "gemini-2.5-pro")
    ]
    assert roles == ["user", "user", "system", "system"]


def test_calls_of_other_models_are_signed_for_newer_gemini_models() -> None:
    """P11"""
    url = "https://generativelanguage.googleapis.com/v1beta/openai"
    signed = [
        choose(url, model).call_signature is not None for model in ("gemini-2.5-pro", "gemini-3-pro-preview", "models/gemini-3.5-flash")
    ]
    assert signed == [False, True, True]
    assert choose("https://openrouter.ai/api/v1", "google/gemini-3-pro").call_signature is None


def test_usage_in_streams_is_asked_of_known_servers_that_need_it() -> None:
    """D28, S12"""
    on = {name for name, profile in PROFILES.items() if profile.stream_usage}
    assert {"openai", "groq", "anthropic", "deepseek", "dashscope", "xai", "ollama", "llama.cpp", "vllm", "sglang", "litellm"} <= on
    assert not {"default", "mistral", "openrouter", "gemini", "azure"} & on


def test_an_override_is_taken_as_it_is() -> None:
    mine = Profile("mine", parallel_flag=True, instruction_role="developer")
    assert choose("https://api.groq.com/openai/v1", "o3", mine) is mine


def test_a_named_profile_is_corrected_by_the_models_name() -> None:
    assert choose("https://api.groq.com/openai/v1", "gpt-4o", "openai") is PROFILES["openai"]
    assert not choose("https://api.groq.com/openai/v1", "o3", "openai").parallel_flag
    assert choose("http://127.0.0.1:4711/v1", "gemini-3-pro", "gemini").call_signature is not None


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="'opnai'; there are: default, openai, azure"):
        choose(None, None, "opnai")


@pytest.mark.parametrize(
    "wrong",
    [
        {"instruction_role": "root"},
        {"empty_content": "nil"},
        {"max_tokens": "tokens"},
        {"empty_content": "empty", "refuse_empty_text": True},
        {"id_pattern": "["},
        {"id_pattern": "[0-9]+"},
        {"tool_name": "[a-z]+"},
    ],
)
def test_a_profile_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        Profile(**wrong)


def test_profiles_are_frozen_and_made_from_each_other() -> None:
    with pytest.raises(FrozenInstanceError):
        PROFILES["openai"].strip = True  # type: ignore[misc]
    assert replace(PROFILES["openai"], strip=True).stream_usage


def test_every_id_pattern_takes_the_ids_we_make() -> None:
    """The ids made for the wire are nine hexadecimal digits."""
    assert all(re.fullmatch(profile.id_pattern, MADE_ID) for profile in PROFILES.values() if profile.id_pattern)


def test_there_is_a_profile_for_each_provider_we_name() -> None:
    wanted = (
        "openai azure ollama llama.cpp vllm sglang groq mistral gemini anthropic deepseek dashscope xai openrouter litellm cerebras default"
    )
    assert set(wanted.split()) <= PROFILES.keys()
    assert {name for _, _, name in SERVERS} <= PROFILES.keys()


def test_a_tool_name_that_the_provider_refuses_is_told_with_the_way_out() -> None:
    PROFILES["gemini"].check_tools(["look_up", "_x", "a-1"], "A")
    PROFILES["openai"].check_tools(["3d_view"], "A")
    with pytest.raises(AgentError, match=r"'A' offers the tool '3d_view'.*\(gemini\).*@tool\(name=\"tool_3d_view\"\)"):
        PROFILES["gemini"].check_tools(["look_up", "3d_view"], "A")
