"""An agent offered over A2A: `swarm a2a` as a process, asked by the SDK's own client."""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from a2a.client import Client, ClientConfig, create_client
from a2a.helpers import get_artifact_text, get_message_text, new_message, new_text_message
from a2a.types import (
    AgentCard,
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    StreamResponse,
    Task,
    TaskState,
)
from a2a.utils.errors import TaskNotFoundError, UnsupportedOperationError

from swarm import Agent, AsyncSwarm, ScriptedModel, tool
from swarm.errors import ConfigError
from swarm.ext.a2a import A2AServer
from swarm.ext.sessions import SessionStore
from swarm.models.scripted import call
from tests.commands.conftest import Commands, swarm  # noqa: F401  # a fixture
from tests.ext.mcp.conftest import HERE, OverHttp, environment, free_port

SHOP = HERE / "shop.py"


def request(text: str, context: str | None = None, **configuration: Any) -> SendMessageRequest:
    message = new_text_message(text, role=Role.ROLE_USER, context_id=context)
    return SendMessageRequest(message=message, configuration=SendMessageConfiguration(**configuration))


async def told(client: Client, text: str, context: str | None = None) -> list[StreamResponse]:
    return [event async for event in client.send_message(request(text, context))]


async def task(client: Client, text: str, context: str | None = None) -> Task:
    """The task that a message came to, with a client that does not stream."""
    (event,) = await told(client, text, context)
    return event.task


def answer(task: Task) -> str:
    (artifact,) = task.artifacts
    return get_artifact_text(artifact)


def reason(task: Task) -> str:
    return get_message_text(task.status.message)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("a2a")


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    """A server process, for all tests of the module."""
    port = free_port()
    command = [sys.executable, "-m", "swarm", "a2a", f"{SHOP}:triage", "--port"]
    with open(folder / "output", "w") as output:
        server = OverHttp(*command, port=port, cwd=folder, env=environment(), stdout=output)
        yield f"http://127.0.0.1:{port}/"
        server.kill()


def asked(url: str, ask: Callable[[Client], Awaitable[Any]], streaming: bool = False) -> Any:
    async def main() -> Any:
        async with await create_client(url, ClientConfig(streaming=streaming)) as client:
            return await ask(client)

    return asyncio.run(main())


def test_the_card(url: str) -> None:
    """D98: at the well-known place, with what the agent says of itself."""
    card = httpx.get(f"{url}.well-known/agent-card.json").json()
    assert (card["name"], card["description"], card["capabilities"]) == ("Triage", "Answers as Triage.", {"streaming": True})
    spoken = [(entry["url"], entry["protocolBinding"], entry["protocolVersion"]) for entry in card["supportedInterfaces"]]
    assert spoken == [(url, "JSONRPC", "1.0"), (url, "JSONRPC", "0.3")]
    assert card["skills"][0]["name"] == "Triage"


def test_a_client_of_the_version_before_is_answered(url: str) -> None:
    """D98: `message/send`, as it was called until 0.3; the card says so in that version's fields too."""
    card = httpx.get(f"{url}.well-known/agent-card.json").json()
    assert (card["protocolVersion"], card["preferredTransport"], card["url"]) == ("0.3", "JSONRPC", url)
    said = {"role": "user", "parts": [{"kind": "text", "text": "Direct"}], "messageId": "m", "kind": "message"}
    sent = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": said}}
    task = httpx.post(url, json=sent).json()["result"]
    assert (task["kind"], task["status"]["state"]) == ("task", "completed")
    assert task["artifacts"][0]["parts"] == [{"kind": "text", "text": "Direct (1)"}]


def test_a_conversation_goes_on(url: str) -> None:
    """D98: the agent that was handed over to answers, and what came before is known; another context is another conversation."""

    async def ask(client: Client) -> list[Task]:
        first = await task(client, "to_refunds")
        again = await task(client, "Thanks", first.context_id)
        return [first, again, await task(client, "Direct"), await client.get_task(GetTaskRequest(id=first.id))]

    first, again, direct, kept = asked(url, ask)
    assert first.status.state == TaskState.TASK_STATE_COMPLETED
    assert answer(first) == '{"assistant": "Refunds"} (1)'
    assert dict(first.artifacts[0].metadata) == {"agent": "Refunds", "stop_reason": "complete"}
    assert (answer(again), again.artifacts[0].metadata["agent"]) == ("Thanks (2)", "Refunds")
    assert again.context_id == first.context_id != direct.context_id
    assert (answer(direct), direct.artifacts[0].metadata["agent"]) == ("Direct (1)", "Triage")
    assert answer(kept) == answer(first)


def test_a_stream_tells_states(url: str) -> None:
    """D98: submitted, working with who does what, the answer, completed."""
    events: list[StreamResponse] = asked(url, lambda client: told(client, "to_refunds"), streaming=True)
    assert events[0].task.status.state == TaskState.TASK_STATE_SUBMITTED
    updates = [event.status_update.status for event in events if event.HasField("status_update")]
    assert [get_message_text(status.message) for status in updates[:-1]] == [
        "Triage: turn 1",
        "Triage calls to_refunds",
        "Triage hands over to Refunds",
        "Refunds: turn 2",
    ]
    assert [status.state for status in updates] == [TaskState.TASK_STATE_WORKING] * 4 + [TaskState.TASK_STATE_COMPLETED]
    assert [get_artifact_text(event.artifact_update.artifact) for event in events if event.HasField("artifact_update")] == [
        '{"assistant": "Refunds"} (1)'
    ]


def test_what_fails_is_a_failed_task(url: str) -> None:
    """D98: and the conversation can go on; a call that needs a person is refused."""

    async def ask(client: Client) -> list[Task]:
        broken = await task(client, "break")
        crashed = await task(client, "crash", broken.context_id)
        first = await task(client, "to_refunds")
        refused = await task(client, "cancel", first.context_id)
        with pytest.raises(TaskNotFoundError):
            await client.get_task(GetTaskRequest(id="no such task"))
        return [broken, crashed, refused]

    broken, crashed, refused = asked(url, ask)
    assert (broken.status.state, reason(broken)) == (TaskState.TASK_STATE_FAILED, "503: overloaded")
    assert answer(crashed) == "Error: ValueError: a secret (2)"
    assert refused.status.state == TaskState.TASK_STATE_COMPLETED
    assert "nobody can be asked here" in answer(refused)


def test_a_cancelled_task_ends_the_run(url: str, folder: Path) -> None:
    """D98: and says so; the conversation can go on."""

    async def ask(client: Client) -> list[Task]:
        first = await task(client, "to_refunds")
        (event,) = [event async for event in client.send_message(request("wait", first.context_id, return_immediately=True))]
        while not (folder / "waiting").exists():
            await asyncio.sleep(0.01)
        cancelled = await client.cancel_task(CancelTaskRequest(id=event.task.id))
        while not (folder / "left").exists():
            await asyncio.sleep(0.01)
        return [cancelled, await task(client, "Still there?", first.context_id)]

    cancelled, after = asked(url, ask)
    assert cancelled.status.state == TaskState.TASK_STATE_CANCELED
    assert answer(after) == "Still there? (3)"


def test_web_pages_are_refused(url: str) -> None:
    """D98: a page in a browser may reach this machine, and must not speak to an agent on it."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {}}
    assert httpx.post(url, json=body, headers={"Origin": "https://evil.example"}).status_code == 403
    assert httpx.post(url, json=body).status_code == 200


# In this process


@asynccontextmanager
async def connected(server: A2AServer) -> AsyncIterator[Client]:
    """The SDK's client, without a socket."""
    http = httpx.AsyncClient(transport=httpx.ASGITransport(server.app()), base_url="http://test")
    card: AgentCard = server.card
    async with await create_client(card, ClientConfig(streaming=False, httpx_client=http)) as client:
        yield client


def test_context_variables_of_each_conversation() -> None:
    """D98: each begins with those given, and keeps its own changes."""

    def count(context_variables: dict[str, Any]) -> str:
        """Count."""
        context_variables["seen"].append(len(context_variables["seen"]))
        return str(context_variables["seen"])

    model = ScriptedModel([call("count"), "done"] * 3)
    given: dict[str, Any] = {"seen": [0]}
    server = A2AServer(Agent(functions=[count]), AsyncSwarm(model), url="http://test/", context_variables=given)

    async def main() -> None:
        async with connected(server) as client:
            for context in ("a", "a", "b"):
                await task(client, "Hi", context)

    asyncio.run(main())
    assert [request["messages"][-1]["content"] for request in model.requests[1::2]] == ["[0, 1]", "[0, 1, 2]", "[0, 1]"]
    assert given == {"seen": [0]}


def test_messages_of_one_context_are_answered_in_turn() -> None:
    """D98"""
    model = ScriptedModel(["one", "two", "three"])
    server = A2AServer(Agent(name="Only"), AsyncSwarm(model), url="http://test/")

    async def main() -> list[str]:
        async with connected(server) as client:
            first = await task(client, "1")
            both = await asyncio.gather(*(task(client, text, first.context_id) for text in "23"))
            return [answer(one) for one in both]

    assert asyncio.run(main()) == ["two", "three"]
    assert [len(request["messages"]) for request in model.requests] == [2, 4, 6]


def test_the_oldest_conversation_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """D98"""
    monkeypatch.setattr("swarm.ext.a2a.conversations._MOST", 2)
    model = ScriptedModel(["answer"] * 5)
    server = A2AServer(Agent(name="Only"), AsyncSwarm(model), url="http://test/")

    async def main() -> None:
        async with connected(server) as client:
            for context in ("a", "b", "c", "b", "a"):
                await task(client, "Hi", context)

    asyncio.run(main())
    assert [len(request["messages"]) for request in model.requests] == [2, 2, 2, 4, 2]


def test_conversations_in_a_store(tmp_path: Path) -> None:
    """D98: another process goes on with them; agent and context variables are kept, refused calls too; no other session can be named."""

    def to_desk(context_variables: dict[str, Any]) -> Agent:
        """Hand over."""
        context_variables["visits"] += 1
        return desk

    @tool(approval=True)
    def refund() -> str:
        """Refund."""
        raise AssertionError("nobody agreed")

    desk = Agent(name="Desk", functions=[refund])
    triage = Agent(name="Triage", functions=[to_desk])
    model = ScriptedModel([call("to_desk"), "Which?", call("refund"), "I may not."])

    async def main(*texts: str) -> list[Task]:
        store = SessionStore(tmp_path / "sessions.db")
        server = A2AServer(triage, AsyncSwarm(model), url="http://test/", context_variables={"visits": 0}, store=store)
        async with connected(server) as client:
            return [await task(client, text, "c1") for text in texts]

    (first,) = asyncio.run(main("Money back"))
    (second,) = asyncio.run(main("Number 7"))
    assert (answer(first), answer(second)) == ("Which?", "I may not.")
    store = SessionStore(tmp_path / "sessions.db")
    (info,) = store.find(tag="a2a")
    assert (info.id, info.agent, info.status) == ("a2a/c1", "Desk", "idle")
    assert [message["role"] for message in store.messages("a2a/c1")][:3] == ["user", "assistant", "tool"]
    assert next(iter(store.export(["a2a/c1"])))["context_variables"] == {"visits": 1}
    assert "nobody can be asked here" in model.requests[-1]["messages"][-1]["content"]


def test_tasks_have_an_end_and_are_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """D98: clients cannot be told apart, so none sees the others' tasks."""
    monkeypatch.setattr("swarm.ext.a2a.server._TASKS", 2)
    server = A2AServer(Agent(name="Only"), AsyncSwarm(ScriptedModel(["answer"] * 3)), url="http://test/")

    async def main() -> None:
        async with connected(server) as client:
            first, _, last = [await task(client, "Hi") for _ in range(3)]
            assert (await client.get_task(GetTaskRequest(id=last.id))).id == last.id
            with pytest.raises(TaskNotFoundError):
                await client.get_task(GetTaskRequest(id=first.id))
            with pytest.raises(UnsupportedOperationError, match="not listed"):
                await client.list_tasks(ListTasksRequest())

    asyncio.run(main())


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """D98"""
    for name in [name for name in sys.modules if name.startswith("swarm.ext.a2a")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "a2a.server.tasks", None)
    with pytest.raises(ConfigError, match=r"openswarm\[a2a\]"):
        importlib.import_module("swarm.ext.a2a")


def test_parts_of_a_message() -> None:
    """D98: texts, data, images and files reach the model in its form; one text alone is plain."""
    model = ScriptedModel(["one", "two"])
    server = A2AServer(Agent(name="Only", instructions=None), AsyncSwarm(model), url="http://test/")
    parts = [
        Part(text="What is this?"),
        Part(raw=b"hi", media_type="image/png"),
        Part(raw=b"hi", media_type="application/pdf", filename="a.pdf"),
        Part(url="https://example.com/a.png", media_type="image/png"),
        Part(url="https://example.com/a.doc", filename="a.doc"),
        Part(data={"number_value": 7}),
    ]

    async def main() -> None:
        async with connected(server) as client:
            await task(client, "Hello")
            asking = client.send_message(SendMessageRequest(message=new_message(parts, role=Role.ROLE_USER)))
            assert [answer(event.task) async for event in asking] == ["two"]

    asyncio.run(main())
    assert model.requests[0]["messages"] == [{"role": "user", "content": "Hello"}]
    assert model.requests[1]["messages"][0]["content"] == [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk="}},
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
        {"type": "text", "text": "[a.doc: https://example.com/a.doc]"},
        {"type": "text", "text": "7.0"},
    ]


def test_limits_and_unexpected_errors() -> None:
    """D98: what stopped a run early is a failed task with the answer so far; an unexpected error is told without its text."""

    def instructions(context_variables: dict[str, Any]) -> str:
        raise ValueError("a secret")

    limited = A2AServer(Agent(name="Desk"), AsyncSwarm(ScriptedModel([call("nothing"), "never"])), url="http://test/", max_turns=1)
    broken = A2AServer(Agent(name="Desk", instructions=instructions), AsyncSwarm(ScriptedModel([])), url="http://test/")

    async def main(server: A2AServer) -> Task:
        async with connected(server) as client:
            return await task(client, "Hi")

    early, failed = asyncio.run(main(limited)), asyncio.run(main(broken))
    assert (early.status.state, reason(early)) == (TaskState.TASK_STATE_FAILED, "Desk stopped early (max_turns)")
    assert (failed.status.state, reason(failed)) == (TaskState.TASK_STATE_FAILED, "Desk failed with a ValueError")


# The command


def test_wrong_use_is_told(swarm: Commands) -> None:  # noqa: F811
    """D98"""
    swarm.write("empty.py", "from swarm import Agent\nagent = Agent()\n")
    for arguments, text in (
        (["nonesuch:agent"], "there is no module 'nonesuch'"),
        (["empty:nobody"], "has no 'nobody'"),
        (["empty:agent", "--offline", "--base-url", "http://localhost:1/v1"], "exclude each other"),
    ):
        done = swarm.process("a2a", *arguments)
        assert done.returncode == 2, done.stderr
        assert text in done.stderr
    assert "swarm a2a shop:triage" in swarm("a2a", "--help").stdout
