"""What providers refuse, send and leave out, and clients of every make."""

from __future__ import annotations

import copy
import re
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock, MagicMock

import pytest
from openai.types.chat import ChatCompletion

from swarm import Agent, ChatClient, Limits, Swarm
from swarm.effects import CallModel, Reply
from swarm.errors import ConfigError, InvalidReply, ModelError, RateLimitError
from swarm.models.profiles import Profile
from swarm.models.scripted import Turn, call
from tests.clients import SHAPES, ForeignClient, as_mock, as_openai, chunk, completion, mock_client, served
from tests.look import outline, sent_unknown_keys, tool_names
from tests.loopback import Loopback, json_answer
from tests.modes import Drive

HI = [{"role": "user", "content": "hi"}]


def ping(times: int = 1) -> str:
    return "pong"


def to_b() -> Agent:
    return Agent(name="B")


class OneAnswer:
    """A client that gives one body again and again, whatever is asked for."""

    def __init__(self, body: Any, is_async: bool = False) -> None:
        self.body = body
        self.chat = self.completions = self
        self.requests: list[dict[str, Any]] = []
        if is_async:
            self.create = self.acreate  # type: ignore[method-assign]

    def create(self, **request: Any) -> Any:
        self.requests.append(request)
        return [self.body] if request.get("stream") else self.body

    async def acreate(self, **request: Any) -> Any:
        self.requests.append(request)
        return [self.body] if request.get("stream") else self.body


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_bookkeeping_never_leaves(drive: Drive, shape: str, is_async: bool) -> None:
    """P01, P12, P15"""
    client = ForeignClient([[call("ping"), call("to_b")], call("nothing"), "ok"], shape, is_async)
    first = drive(Agent(name="A", functions=[ping, to_b]), HI, client)
    assert first.agent is not None
    again = ForeignClient(["ok"], shape, is_async)
    drive(first.agent, [*HI, *first.messages, *HI], again)
    assert sent_unknown_keys([*client.requests, *again.requests]) == set()
    assert not any(value is None for request in client.requests for value in request.values())


@pytest.mark.parametrize(("how", "sent"), [("null", {"content": None}), ("absent", {}), ("empty", {"content": ""})])
def test_the_content_of_a_message_that_only_calls(drive: Drive, how: Any, sent: dict[str, Any]) -> None:
    """P02, D26"""
    response = drive(Agent(functions=[ping]), HI, [call("ping"), "ok"], swarm={"profile": Profile(empty_content=how)})
    message = drive.requests[1]["messages"][2]
    assert {key: value for key, value in message.items() if key == "content"} == sent
    assert response.messages[0]["content"] is None


@pytest.mark.parametrize("how", ["null", "absent"])
def test_a_provider_that_refuses_empty_text(drive: Drive, how: Any) -> None:
    """P03: neither a call beside "" nor an empty answer in the history is sent as empty text."""
    profile = Profile(empty_content=how, refuse_empty_text=True)
    history = [
        *HI,
        {"role": "assistant", "content": ""},
        {"role": "user", "content": [{"type": "text", "text": ""}, {"type": "text", "text": "x"}]},
    ]

    def silent() -> str:
        return ""

    drive(Agent(functions=[silent]), history, [Turn("", [call("silent")]), "ok"], swarm={"profile": profile})
    for request in drive.requests:
        for message in request["messages"]:
            content = message.get("content")
            assert content != ""
            assert not isinstance(content, list) or all(part.get("text") != "" for part in content)


def test_streamed_and_whole_calls_leave_the_same_content(drive: Drive) -> None:
    """P03"""
    response = drive(Agent(functions=[ping]), HI, [Turn("", [call("ping")]), "ok"])
    assert response.messages[0]["content"] is None
    assert drive.requests[1]["messages"][2]["content"] is None


@pytest.mark.parametrize("flag", [True, False, None])
def test_no_tools_no_flags(drive: Drive, flag: bool | None) -> None:
    """P04, P05, P15"""
    b = Agent(name="B", parallel_tool_calls=flag, tool_choice="auto")
    a = Agent(name="A", parallel_tool_calls=flag, functions=[switch_to(b)])
    drive(a, HI, [call("to_b"), "ok"])
    assert drive.requests[1].keys() & {"tools", "tool_choice", "parallel_tool_calls"} == set()


def switch_to(agent: Agent) -> Any:
    def to_b() -> Agent:
        return agent

    return to_b


def test_tools_that_are_all_switched_off_are_no_tools(drive: Drive) -> None:
    """P04, P05, H21"""
    from swarm import tool

    agent = Agent(functions=[tool(ping, enabled=False)], tool_choice="required", parallel_tool_calls=True)
    drive(agent, HI, ["ok"])
    assert drive.requests[0].keys() & {"tools", "tool_choice", "parallel_tool_calls"} == set()


@pytest.mark.parametrize("model", ["o1", "o3-mini", "openai/o4-mini-2025"])
def test_reasoning_models_never_get_the_parallel_flag(drive: Drive, model: str) -> None:
    """P06"""
    drive(Agent(model=model, functions=[ping], parallel_tool_calls=False), HI, ["ok"])
    assert "parallel_tool_calls" not in drive.requests[0]


def test_none_means_do_not_send(drive: Drive) -> None:
    """P06, P15"""
    settings = {"temperature": None, "response_format": None}
    drive(Agent(functions=[ping], parallel_tool_calls=None, tool_choice=None, model_settings=settings), HI, ["ok"])
    assert drive.requests[0].keys() - {"stream"} == {"model", "messages", "tools"}


@pytest.mark.parametrize("role", ["system", "developer"])
def test_the_role_of_the_instructions(drive: Drive, role: Any) -> None:
    """P07"""
    drive(Agent(instructions="Help."), HI, ["ok"], swarm={"profile": Profile(instruction_role=role)})
    assert drive.requests[0]["messages"] == [{"role": role, "content": "Help."}, *HI]


def test_instructions_folded_into_the_first_user_message(drive: Drive) -> None:
    """P07"""
    picture = {"type": "image_url", "image_url": {"url": "data:x"}}
    profile = Profile(instruction_role="user")
    drive(Agent(instructions="Help."), HI, ["ok"], swarm={"profile": profile})
    assert drive.requests[0]["messages"] == [{"role": "user", "content": "Help.\n\nhi"}]
    drive(Agent(instructions="Help."), [{"role": "user", "content": [picture]}], ["ok"], swarm={"profile": profile})
    assert drive.requests[0]["messages"] == [{"role": "user", "content": [{"type": "text", "text": "Help."}, picture]}]


def test_a_wrong_role_gives_the_providers_own_words(drive: Drive) -> None:
    """P07"""
    body = {"error": {"message": "Unsupported value: 'messages[0].role' does not support 'system'", "type": "invalid_request_error"}}
    with Loopback(json_answer(body, 400)) as server, pytest.raises(ModelError, match=re.escape("does not support 'system'")) as caught:
        drive(Agent(), HI, ChatClient(server.url, "key"))
    assert caught.value.status == 400
    assert caught.value.body == body


def unchecked(body: dict[str, Any]) -> Any:
    """What the official client makes of a body: it does not validate."""
    return ChatCompletion.construct(**body)


RATE_LIMITED = {"message": "rate limited, slow down", "code": 429}
NO_ANSWERS = [
    {"choices": None, "error": RATE_LIMITED},
    {"choices": [], "error": RATE_LIMITED},
    {"error": RATE_LIMITED},
    {"choices": [{"index": 0, "message": None, "finish_reason": "stop"}], "error": RATE_LIMITED},
    {"choices": [{"index": 0, "message": None, "finish_reason": "error", "error": RATE_LIMITED}]},
]


@pytest.mark.parametrize("shape", ["namespace", "dict", "construct"])
@pytest.mark.parametrize("body", NO_ANSWERS)
def test_an_error_body_with_status_200(drive: Drive, body: dict[str, Any], shape: str) -> None:
    """P08, P09"""
    client = OneAnswer(unchecked(body) if shape == "construct" else SHAPES[shape](body))
    with pytest.raises(RateLimitError, match="rate limited, slow down") as caught:
        drive(Agent(), HI, client)
    assert caught.value.response is not None
    assert caught.value.response.messages == []


@pytest.mark.parametrize("shape", ["namespace", "dict", "construct", "mock"])
@pytest.mark.parametrize(
    "body", [{"choices": None}, {"choices": []}, {}, {"choices": [{"index": 0, "message": None, "finish_reason": None}]}]
)
def test_an_answer_without_a_message(drive: Drive, body: dict[str, Any], shape: str) -> None:
    """P08, P09"""
    client = OneAnswer(unchecked(body) if shape == "construct" else SHAPES[shape](body))
    with pytest.raises(InvalidReply):
        drive(Agent(), HI, client)


def test_what_was_done_before_an_empty_answer_is_kept(drive: Drive) -> None:
    """P08"""
    bodies = [
        completion({"role": "assistant", "content": None, "tool_calls": [call("ping", id="c1")]}),
        {"choices": None, "error": "overloaded"},
    ]

    class Client(OneAnswer):
        def create(self, **request: Any) -> Any:
            self.requests.append(request)
            body = bodies[len(self.requests) - 1]
            if request.get("stream") and body["choices"]:
                entries = [{"index": 0, **call("ping", id="c1")}]
                return [chunk({"role": "assistant", "tool_calls": entries}), chunk({}, "tool_calls")]
            return [body] if request.get("stream") else body

    with pytest.raises(ModelError, match="overloaded") as caught:
        drive(Agent(functions=[ping]), HI, Client(None))
    assert caught.value.response is not None
    assert outline(caught.value.response) == [("assistant", "Agent", None), ("tool", "ping", "pong")]


SIGNATURE = {"google": {"thought_signature": "abc=="}}


@pytest.mark.parametrize("shape", ["openai", "dict"])
def test_private_fields_of_a_call_come_back(drive: Drive, shape: str) -> None:
    """P11, D26"""
    client = ForeignClient([[{**call("ping", id="c1"), "extra_content": SIGNATURE}, call("ping", id="c2")], "ok"], shape)
    response = drive(Agent(functions=[ping]), HI, client)
    sent = client.requests[1]["messages"][2]["tool_calls"]
    assert [entry["id"] for entry in sent] == ["c1", "c2"]
    assert sent[0]["extra_content"] == SIGNATURE
    assert "extra_content" not in sent[1]
    assert response.messages[0]["tool_calls"][0]["extra_content"] == SIGNATURE
    assert set(sent[0]) == {"id", "type", "function", "extra_content"}


@pytest.mark.parametrize("shape", ["openai", "dict", "namespace"])
def test_private_fields_of_a_message_come_back(drive: Drive, shape: str) -> None:
    """P11, D26"""
    client = ForeignClient([Turn("I think.", [call("ping")], extra={"reasoning_content": "hm"}), "ok"], shape)
    drive(Agent(functions=[ping]), HI, client)
    assert client.requests[1]["messages"][2]["reasoning_content"] == "hm"


def test_private_fields_do_not_go_to_another_provider(drive: Drive) -> None:
    """P11, D26"""
    other = ForeignClient(["ok"], "dict")
    other.base_url = "https://other.example/v1"  # type: ignore[attr-defined]
    b = Agent(name="B", client=other)
    entry = {**call("to_b", id="c1"), "extra_content": SIGNATURE}
    drive(Agent(name="A", functions=[switch_to(b)]), HI, ForeignClient([Turn(None, [entry], extra={"reasoning_content": "hm"})], "dict"))
    assert "extra_content" not in other.requests[0]["messages"][2]["tool_calls"][0]
    assert "reasoning_content" not in other.requests[0]["messages"][2]


def test_a_client_needs_nothing_but_create(drive: Drive, monkeypatch: pytest.MonkeyPatch) -> None:
    """P12"""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "SWARM_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    assert drive(Agent(), HI, ForeignClient(["hello"])).text == "hello"


def test_an_object_that_is_no_client(drive: Drive) -> None:
    """P12"""
    with pytest.raises(ConfigError, match=r"chat\.completions\.create"):
        drive(Agent(), HI, object())


def test_no_client_and_no_setting(drive: Drive, monkeypatch: pytest.MonkeyPatch) -> None:
    """P12, D30"""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "SWARM_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigError, match="OPENAI_BASE_URL"):
        drive(Agent(), HI, None)


@pytest.mark.parametrize("kind", ["MagicMock", "AsyncMock"])
@pytest.mark.parametrize("shape", SHAPES)
def test_mocks_as_tests_write_them(drive: Drive, shape: str, kind: str) -> None:
    """P12, U09"""
    client = MagicMock()
    if drive.streams:
        answer: Any = [SHAPES[shape](chunk({"role": "assistant", "content": "Hel"})), SHAPES[shape](chunk({"content": "lo"}, "stop"))]
    else:
        answer = SHAPES[shape](completion({"role": "assistant", "content": "Hello"}))
    client.chat.completions.create = (MagicMock if kind == "MagicMock" else AsyncMock)(return_value=answer)
    response = drive(Agent(), HI, client)
    assert response.messages == [{"role": "assistant", "content": "Hello", "sender": "Agent", "tool_calls": None}]
    client.chat.completions.create.assert_called_once()
    assert client.chat.completions.create.call_args.kwargs["model"] == "gpt-4o"


@pytest.mark.parametrize("awaited", [False, True])
def test_a_stream_that_can_be_read_in_both_ways(awaited: bool) -> None:
    """P12, D31: mocks and wrappers for many providers can; it is read as it was asked for."""
    chunks = [as_openai(chunk({"role": "assistant", "content": "Hel"})), as_openai(chunk({"content": "lo"}, "stop"))]
    stream = MagicMock()
    (stream.__aiter__ if awaited else stream.__iter__).return_value = chunks
    client = MagicMock()
    client.chat.completions.create = (AsyncMock if awaited else MagicMock)(return_value=stream)
    for mode in ("sync-stream", "async-stream"):
        assert Drive(mode)(Agent(), HI, client).text == "Hello"


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_whole_answer_to_a_request_for_a_stream(shape: str, is_async: bool) -> None:
    """P12: mocks and small servers do not look at `stream`."""
    made = call("ping", id="c1")
    bodies = [
        completion({"role": "assistant", "content": "I ping.", "tool_calls": [made]}, "tool_calls"),
        completion({"role": "assistant", "content": "ok"}),
    ]
    for mode in ("sync-stream", "async-stream"):
        client = mock_client(*bodies, shape=shape)
        if is_async:
            client.chat.completions.create = AsyncMock(side_effect=client.chat.completions.create)
        response = Drive(mode)(Agent(functions=[ping]), HI, client)
        assert outline(response) == [("assistant", "Agent", "I ping."), ("tool", "ping", "pong"), ("assistant", "Agent", "ok")]


def test_an_object_with_a_model_dump_of_its_own(drive: Drive) -> None:
    """P12"""

    class Own:
        def __init__(self, body: dict[str, Any]) -> None:
            self._body = body

        def model_dump(self) -> dict[str, Any]:
            return self._body

    body = chunk({"role": "assistant", "content": "hi"}, "stop") if drive.streams else completion({"role": "assistant", "content": "hi"})
    assert drive(Agent(), HI, OneAnswer(Own(body))).text == "hi"


def test_a_wrapped_create_sees_the_call(drive: Drive) -> None:
    """D31: instrumentation that is put on after the Swarm was made is called too."""
    client = ForeignClient(["hello"])
    inner, seen = client.chat.completions.create, []

    def instrumented(**request: Any) -> Any:
        seen.append(request["model"])
        return inner(**request)

    client.chat.completions.create = instrumented
    assert drive(Agent(), HI, client).text == "hello"
    assert seen == ["gpt-4o"]


def test_a_tutorials_mock_client() -> None:
    """P12, U09"""
    calling = {"role": "assistant", "content": None, "tool_calls": [call("ping", {"times": 2}, id="c1")]}
    client = mock_client(completion(calling, "tool_calls"), completion({"role": "assistant", "content": "done"}))
    response = Swarm(client=client).run(agent=Agent(functions=[ping]), messages=HI)
    assert response.messages[-1]["content"] == "done"
    assert client.chat.completions.create.call_count == 2


@pytest.mark.parametrize("by_environment", [False, True])
def test_a_local_endpoint_by_configuration_only(drive: Drive, monkeypatch: pytest.MonkeyPatch, by_environment: bool) -> None:
    """P13, D29"""
    monkeypatch.delenv("SWARM_OFFLINE", raising=False)
    with Loopback(served([call("ping"), "It works."])) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("SWARM_MODEL", "llama3")
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        client = None if by_environment else ChatClient(server.url, "dummy")
        response = drive(Agent(functions=[ping]), HI, client)
        models = [request.json["model"] for request in server.requests]
    assert response.text == "It works."
    assert models == (["llama3", "llama3"] if by_environment else ["gpt-4o", "gpt-4o"])


class OwnProvider:
    """A provider that speaks no Chat Completions."""

    def complete(self, call: CallModel) -> Reply:
        return Reply({"role": "assistant", "content": f"{len(call.request['messages'])} messages"}, {"prompt_tokens": 1}, "stop")

    def stream(self, call: CallModel) -> Any:
        return iter([chunk({"content": str(len(call.request["messages"]))}), chunk({"content": " messages"}, "stop")])


class AsyncProvider:
    async def complete(self, call: CallModel) -> Reply:
        return OwnProvider().complete(call)

    async def stream(self, call: CallModel) -> Any:
        for body in OwnProvider().stream(call):
            yield body


@pytest.mark.parametrize("provider", [OwnProvider, AsyncProvider])
def test_a_provider_of_ones_own_needs_no_openai_package(drive: Drive, monkeypatch: pytest.MonkeyPatch, provider: Any) -> None:
    """P14"""
    monkeypatch.setitem(__import__("sys").modules, "openai", None)
    assert drive(Agent(), HI, provider()).text == "2 messages"


def test_a_choice_that_was_not_made_is_not_sent(drive: Drive) -> None:
    """P15"""
    drive(Agent(functions=[ping], tool_choice=None), HI, ["ok"])
    assert "tool_choice" not in drive.requests[0]


@pytest.mark.parametrize("name", ["Sales Agent #1 é", "助手", "a" * 100, "🐝"])
def test_no_agents_name_on_the_wire(drive: Drive, name: str) -> None:
    """P16, P17, H06"""
    b = Agent(name=name, handoffs=[])
    a = Agent(name="A", handoffs=[b])
    b.handoffs = [a]
    drive(a, HI, ["ok"])
    there = tool_names(drive.requests[0])[0]
    response = drive(a, HI, [call(there), call("transfer_to_a"), "ok"])
    assert [message.get("sender") for message in response.messages if message["role"] == "assistant"] == ["A", name, "A"]
    assert not any("name" in message for request in drive.requests for message in request["messages"])
    assert all(re.fullmatch("[a-zA-Z0-9_-]{1,64}", entry) for request in drive.requests for entry in tool_names(request))


USAGES: list[tuple[Any, tuple[int, int, int, int]]] = [
    (None, (0, 0, 0, 0)),
    ({"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}, (3, 2, 0, 0)),
    ({"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5, "brand_new": {"x": 1}}, (3, 2, 0, 0)),
    ({"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5, "prompt_tokens_details": None}, (3, 2, 0, 0)),
    (
        {
            "prompt_tokens": 3,
            "completion_tokens": 2,
            "total_tokens": 5,
            "prompt_tokens_details": {"cached_tokens": 1, "other": 9},
            "completion_tokens_details": {"reasoning_tokens": 1},
        },
        (3, 2, 1, 1),
    ),
]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("usage", "counted"), USAGES)
def test_usage_is_read_with_care(drive: Drive, usage: Any, counted: tuple[int, int, int, int], shape: str) -> None:
    """P18, S12"""
    body = chunk({"role": "assistant", "content": "hi"}, "stop") if drive.streams else completion({"role": "assistant", "content": "hi"})
    found = drive(Agent(), HI, OneAnswer(SHAPES[shape]({**body, "usage": usage}))).usage
    assert (found.input_tokens, found.output_tokens, found.cached_tokens, found.reasoning_tokens) == counted
    assert found.calls == 1


@pytest.mark.parametrize("usage", [{}, {"prompt_tokens": None}, {"prompt_tokens": "many", "completion_tokens": 2.5}, [], "none"])
def test_odd_usage_counts_as_nothing(drive: Drive, usage: Any) -> None:
    """P18"""
    body = chunk({"role": "assistant", "content": "hi"}, "stop") if drive.streams else completion({"role": "assistant", "content": "hi"})
    assert drive(Agent(), HI, OneAnswer({**body, "usage": usage})).usage.total_tokens == 0


def test_usage_of_a_mock_is_not_made_up(drive: Drive) -> None:
    """P18"""
    body = chunk({"role": "assistant", "content": "hi"}, "stop") if drive.streams else completion({"role": "assistant", "content": "hi"})
    assert drive(Agent(), HI, OneAnswer(as_mock(body))).usage.total_tokens == 0


def test_usage_in_streams_is_asked_for_only_if_wanted(drive: Drive) -> None:
    """S12, D28, D31"""
    client = ForeignClient(["ok", "ok"])
    drive(Agent(), HI, client)
    assert "stream_options" not in client.requests[0]
    assert "timeout" not in client.requests[0]
    drive(Agent(), HI, client, limits=Limits(tokens=1000), timeout=30)
    assert client.requests[1].get("stream_options") == ({"include_usage": True} if drive.streams else None)
    assert 0 < client.requests[1]["timeout"] <= 30


def test_requests_of_a_run_are_not_changed_by_its_client(drive: Drive) -> None:
    """K08: a client that changes what it was given changes nothing in the history."""

    class Rude(ForeignClient):
        def _create(self, **request: Any) -> Any:
            answer = super()._create(**copy.deepcopy(request))
            request["messages"].append({"role": "user", "content": "rude"})
            return answer

    client = Rude([call("ping"), "ok"], "dict")
    response = drive(Agent(functions=[ping]), HI, client)
    assert [message["role"] for message in client.requests[1]["messages"]] == ["system", "user", "assistant", "tool"]
    assert len(response.messages) == 3


def test_half_characters_of_a_foreign_client_do_not_reach_the_next_request(drive: Drive) -> None:
    """P08: an emoji that a server has cut in two, as a client hands it on."""

    def ping() -> str:
        return "pong"

    response = drive(Agent(functions=[ping]), HI, [Turn("a\ud83d\ude00 b\ud83d", [call("ping")]), "done"])
    assert response.messages[0]["content"] == "a😀 b\ufffd"
    assert drive.requests[1]["messages"][2]["content"] == "a😀 b\ufffd"


def test_what_is_no_completion_is_said_in_the_providers_words() -> None:
    """P08"""

    def client(answer: Any) -> Any:
        return SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=lambda **_: answer)))

    with pytest.raises(InvalidReply, match=r"/v1.*<html>"):
        Swarm(client("<html>Not found</html>")).run(Agent(), "hi")
    with pytest.raises(InvalidReply, match="MagicMock"):
        Swarm(MagicMock()).run(Agent(), "hi")
