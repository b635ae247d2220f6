"""Connections: kept, shared, limited, given up; over threads, event loops and processes; through proxies."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import gc
import json
import os
import signal
import ssl
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from swarm.errors import ConfigError, ConnectionFailed, ModelError
from swarm.models.chat import ChatClient
from tests.loopback import CUT, DROP, HANG, RESET, Answer, Request, completion, event, json_answer, sse, text_chunks
from tests.models.conftest import Ask, call

KEY = "sk-test-0123456789"
REFUSED = Answer(RESET, head=False)
ROOT = Path(__file__).parents[2]
CERTIFICATE = Path(__file__).with_name("loopback.pem")


def test_nothing_is_opened_before_the_first_call(serve: Any) -> None:
    server = serve(json_answer(completion()))
    with ChatClient(server.url, KEY):
        pass
    assert server.connections == 0


def test_a_connection_is_kept_for_the_next_call(ask: Ask, serve: Any) -> None:
    server = serve(
        json_answer(completion()), json_answer({"error": {"message": "no"}}, 400), sse(*text_chunks("a")), json_answer(completion())
    )
    client = ChatClient(server.url, KEY)
    ask.complete(client)
    with pytest.raises(Exception, match="400"):
        ask.complete(client)
    ask.stream(client)
    ask.complete(client)
    assert server.connections == 1


def test_a_server_that_closes_after_each_answer(ask: Ask, serve: Any) -> None:
    server = serve(Answer(b'{"choices": [{"message": {"content": "Hi"}}]}', framing="close"))
    client = ChatClient(server.url, KEY)
    assert [ask.complete(client).message["content"] for _ in range(3)] == ["Hi"] * 3
    assert server.connections == 3


def test_an_idle_connection_that_the_server_closed_is_replaced(ask: Ask, serve: Any) -> None:
    server = serve(Answer(*json_answer(completion()).steps, CUT, framing="length"), json_answer(completion()))
    client = ChatClient(server.url, KEY)
    ask.complete(client)
    server.wait_until(lambda: server.open_connections == 0)
    ask.complete(client)
    assert (server.connections, len(server.requests)) == (2, 2)


@pytest.mark.parametrize("gone", [DROP, REFUSED], ids=["closed", "reset"])
def test_a_used_connection_that_closes_without_an_answer_is_tried_again_once(ask: Ask, serve: Any, gone: Answer) -> None:
    """The server closes while the request is on its way."""
    server = serve(json_answer(completion("one")), gone, json_answer(completion("two")))
    client = ChatClient(server.url, KEY)
    assert [ask.complete(client).message["content"] for _ in range(2)] == ["one", "two"]
    assert [request.connection for request in server.requests] == [0, 0, 1]
    assert server.requests[1].body == server.requests[2].body


@pytest.mark.parametrize("gone", [DROP, REFUSED], ids=["closed", "reset"])
def test_a_new_connection_that_closes_without_an_answer_is_not_tried_again(ask: Ask, serve: Any, gone: Answer) -> None:
    server = serve(gone, json_answer(completion()))
    with pytest.raises(ConnectionFailed):
        ask.complete(ChatClient(server.url, KEY))
    assert len(server.requests) == 1


@pytest.mark.parametrize("gone", [DROP, REFUSED], ids=["closed", "reset"])
def test_the_second_try_is_the_last(ask: Ask, serve: Any, gone: Answer) -> None:
    server = serve(json_answer(completion()), gone)
    client = ChatClient(server.url, KEY)
    ask.complete(client)
    with pytest.raises(ConnectionFailed):
        ask.complete(client)
    assert len(server.requests) == 3


BEGUN = [
    Answer(b"HTTP/1.1 200 OK\r\nContent-", CUT, head=False, framing="length"),
    Answer(b"H", 0.05, RESET, head=False, framing="length"),
    Answer(b"HTTP/1.1 200 OK\r\nContent-", 0.05, RESET, head=False, framing="length"),
    Answer(b'{"id"', CUT),
    Answer(b'{"id"', 0.05, RESET),
]


@pytest.mark.parametrize("begun", BEGUN)
def test_an_answer_that_had_begun_is_never_asked_for_again(ask: Ask, serve: Any, begun: Answer) -> None:
    server = serve(json_answer(completion()), begun, json_answer(completion()))
    client = ChatClient(server.url, KEY)
    ask.complete(client)
    with pytest.raises(ModelError):
        ask.complete(client)
    assert len(server.requests) == 2


def test_a_closed_client_has_no_connections_and_opens_new_ones_when_asked(ask: Ask, serve: Any) -> None:
    server = serve(json_answer(completion()))
    client = ChatClient(server.url, KEY)
    for count in (1, 2):
        ask.complete(client)
        ask.close(client)
        server.wait_until(lambda: server.open_connections == 0)
        assert server.connections == count


def test_a_copy_of_a_client_is_the_client() -> None:
    client = ChatClient("http://models.example/v1", KEY)
    assert copy.copy(client) is client
    assert copy.deepcopy({"client": client})["client"] is client


def test_with_and_async_with_close(serve: Any) -> None:
    server = serve(json_answer(completion()))
    with ChatClient(server.url, KEY) as client:
        client.complete(call())
    server.wait_until(lambda: server.open_connections == 0)

    async def both() -> None:
        async with ChatClient(server.url, KEY) as client:
            client.complete(call())
            await client.acomplete(call())
        await asyncio.to_thread(server.wait_until, lambda: server.open_connections == 0)

    asyncio.run(both())


def test_closing_while_a_stream_is_read_lets_it_end(serve: Any) -> None:
    server = serve(sse(*text_chunks("a", "b")))
    client = ChatClient(server.url, KEY)
    source = client.stream(call())
    first = next(source)
    client.close()
    assert [first, *source] == text_chunks("a", "b")
    server.wait_until(lambda: server.open_connections == 0)


def test_ctrl_c_closes_the_connection_and_goes_through_untouched(serve: Any) -> None:
    """D16"""
    server = serve(HANG, json_answer(completion()))
    client = ChatClient(server.url, KEY, max_connections=1)
    main = threading.get_ident()

    def interrupt() -> None:
        server.wait_until(lambda: len(server.requests) == 1)
        signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore Ctrl-C
    try:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            client.complete(call())
        thread.join()
    finally:
        signal.signal(signal.SIGINT, before)
    server.wait_until(lambda: server.open_connections == 0)
    assert client.complete(call()).message["content"] == "Hello"


@pytest.mark.parametrize("script", [json_answer(completion()), json_answer({"error": {"message": "no"}}, 400), DROP, REFUSED])
def test_a_call_leaves_no_reference_cycle(serve: Any, script: Answer) -> None:
    """D54"""
    client = ChatClient(serve(script).url, KEY)

    def use() -> None:
        with contextlib.suppress(ModelError):
            client.complete(call())
        with contextlib.suppress(ModelError):
            list(client.stream(call()))

    use()
    gc.collect()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        use()
        gc.collect()
        ours = ("swarm", "urllib3", "http")  # the server in this process makes garbage of its own
        assert [thing for thing in gc.garbage if type(thing).__module__.startswith(ours) or isinstance(thing, BaseException)] == []
    finally:
        gc.set_debug(0)
        gc.garbage.clear()


def test_a_client_in_a_reference_cycle_is_closed_by_the_collector(serve: Any) -> None:
    """D29: in whatever order the collector takes its parts, in a loop that runs and in one that is between two runs."""
    server = serve(json_answer(completion()))

    async def used() -> None:
        client: Any = ChatClient(server.url, KEY)
        client.itself = client
        await client.acomplete(call())

    async def in_one_run() -> None:
        await used()
        gc.collect()
        await asyncio.to_thread(server.wait_until, lambda: server.open_connections == 0)

    with asyncio.Runner() as runner:
        runner.run(in_one_run())
        runner.run(used())
        gc.collect()
        runner.run(asyncio.sleep(0))
        server.wait_until(lambda: server.open_connections == 0)
    assert server.connections == 2


class Crowd:
    """A script that notes how many requests are being answered at once."""

    def __init__(self, size: int) -> None:
        self.barrier = threading.Barrier(size)
        self.most = 0

    def __call__(self, request: Request) -> Answer:
        body = completion(request.json["messages"][0]["content"])
        return Answer(0.02, *json_answer(body).steps, headers={"Content-Type": "application/json"})


def ask_for(client: ChatClient, number: int) -> str:
    return client.complete(call(messages=[{"role": "user", "content": str(number)}])).message["content"]


def test_threads_share_a_client_and_its_connections(serve: Any) -> None:
    server = serve(Crowd(4))
    client = ChatClient(server.url, KEY, max_connections=4)
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda number: ask_for(client, number), range(48)))
    assert answers == [str(number) for number in range(48)]
    assert server.connections <= 4


def test_tasks_share_a_client_and_its_connections(serve: Any) -> None:
    server = serve(Crowd(4))
    client = ChatClient(server.url, KEY, max_connections=4)

    async def one(number: int) -> str:
        return (await client.acomplete(call(messages=[{"role": "user", "content": str(number)}]))).message["content"]

    async def all_of_them() -> list[str]:
        return await asyncio.gather(*map(one, range(48)))

    assert asyncio.run(all_of_them()) == [str(number) for number in range(48)]
    assert server.connections <= 4


def test_an_event_loop_in_each_of_several_threads(serve: Any) -> None:
    server = serve(json_answer(completion()))
    client = ChatClient(server.url, KEY)

    async def twice() -> str:
        await client.acomplete(call())
        return (await client.acomplete(call())).message["content"]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: asyncio.run(twice()), range(8))) == ["Hello"] * 8
    server.wait_until(lambda: server.open_connections == 0)
    assert server.connections == 8


# Whole scripts, as users write them: nothing may be said on stderr.

HEAD = f"""
import asyncio, os, sys, threading
import aiohttp  # so that the first call does not block the loop long enough for asyncio's debug mode to complain
from swarm.models.chat import ChatClient
from swarm.effects import CallModel
client = ChatClient(sys.argv[1], {KEY!r})
def call():
    return CallModel(None, client, {{"model": "gpt-4o", "messages": []}})
"""
SCRIPTS = {
    "sync": """
client.complete(call())
list(client.stream(call()))
for chunk in client.stream(call()):
    break
ChatClient(sys.argv[1]).complete(call())
""",
    "asyncio": """
async def main():
    await client.acomplete(call())
    print([chunk async for chunk in client.astream(call())])
    client.complete(call())
asyncio.run(main(), debug=False)
asyncio.run(main(), debug=False)

async def unfinished():
    async for chunk in client.astream(call()):
        break
asyncio.run(unfinished(), debug=False)

async def dropped():
    for _ in range(3):
        await ChatClient(sys.argv[1]).acomplete(call())
asyncio.run(dropped(), debug=False)

async def cancelled_by_the_end():
    task = asyncio.create_task(anext(client.astream(call())))
    await client.acomplete(call())
asyncio.run(cancelled_by_the_end(), debug=False)

threads = [threading.Thread(target=lambda: asyncio.run(main(), debug=False)) for _ in range(3)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
""",
    "exit in the middle": """
async def main():
    await client.acomplete(call())
    sys.exit()
asyncio.run(main(), debug=False)
""",
}
# These leave transports unclosed, which Python itself tells in its development mode; without it nothing may be seen.
CARELESS = {
    "a loop closed without its generators": """
async def main():
    await client.acomplete(call())
for _ in range(2):
    loop = asyncio.new_event_loop()
    loop.run_until_complete(main())
    loop.close()
""",
    "a loop never closed": """
async def main():
    await client.acomplete(call())
loop = asyncio.new_event_loop()
loop.run_until_complete(main())
""",
    "a loop in a daemon thread": """
loop = asyncio.new_event_loop()
threading.Thread(target=loop.run_forever, daemon=True).start()
asyncio.run_coroutine_threadsafe(client.acomplete(call()), loop).result()
""",
}


def run_script(script: str, server: Any, *options: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, *options, "-c", HEAD + script, server.url]
    return subprocess.run(command, capture_output=True, text=True, timeout=20, env={**os.environ, "PYTHONPATH": path})


def answer_either(request: Request) -> Answer:
    return sse(*text_chunks("a", "b")) if request.json.get("stream") else json_answer(completion())


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_ends_without_a_word(serve: Any, name: str) -> None:
    """D29"""
    server = serve(answer_either)
    run = run_script(SCRIPTS[name], server, "-W", "error", "-X", "dev")
    assert (run.stderr, run.returncode) == ("", 0)
    assert server.requests


@pytest.mark.parametrize("name", CARELESS)
def test_a_careless_script_ends_without_a_word_about_sessions(serve: Any, name: str) -> None:
    """D29"""
    server = serve(answer_either)
    run = run_script(CARELESS[name], server)
    assert (run.stderr, run.returncode) == ("", 0)
    assert server.requests


FORK = """
def work(name):
    client.complete(CallModel(None, client, {"model": name, "messages": []}))
async def awork(name):
    await client.acomplete(CallModel(None, client, {"model": name, "messages": []}))
work("parent sync"); asyncio.run(awork("parent async"), debug=False)
child = os.fork()
name = "parent" if child else "child"
for _ in range(2):
    work(name + " sync"); asyncio.run(awork(name + " async"), debug=False)
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_forked_process_has_connections_of_its_own(serve: Any) -> None:
    server = serve(answer_either)
    run = run_script(FORK, server, "-W", "error", "-X", "dev")
    assert (run.stderr, run.returncode) == ("", 0)
    used = {
        name: {request.connection for request in server.requests if request.json["model"] == name} for name in ("parent sync", "child sync")
    }
    assert len(used["parent sync"]) == 1
    assert len(used["child sync"]) == 1
    assert used["parent sync"] != used["child sync"]
    assert len(server.requests) == 10


FORK_IN_A_LOOP = """
async def main():
    await client.acomplete(call())
    child = os.fork()
    if not child:
        sys.exit()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    await client.acomplete(call())
asyncio.run(main(), debug=False)
"""


def test_a_child_forked_in_a_running_loop_leaves_its_parent_s_connection_alone(serve: Any) -> None:
    server = serve(answer_either)
    run = run_script(FORK_IN_A_LOOP, server)
    assert (run.stderr, run.returncode) == ("", 0)
    assert [request.connection for request in server.requests] == [0, 0]


def test_importing_the_client_loads_no_transport() -> None:
    code = "import sys, swarm.models.chat; print(*{'aiohttp', 'urllib3', 'http.client'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT / "src")
    assert run.stdout.split() == []


# Proxies


@pytest.mark.parametrize("stream", [False, True])
def test_interim_answers_are_passed_over(ask: Ask, serve: Any, stream: bool) -> None:
    """RFC 9110, section 15.2: a client must be able to take them, though it did not ask."""
    body = b"".join(map(event, text_chunks("a"))) if stream else json.dumps(completion("a")).encode()
    kind = b"text/event-stream" if stream else b"application/json"
    head = b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n" % (kind, len(body))
    server = serve(
        Answer(b"HTTP/1.1 100 Continue\r\n\r\n", 0.01, b"HTTP/1.1 100 Continue\r\n\r\n" + head + body, framing="length", head=False)
    )
    client = ChatClient(server.url, KEY)
    for _ in range(2):
        assert ask.stream(client) == text_chunks("a") if stream else ask.complete(client).message["content"] == "a"
    assert server.connections == 1


def proxied(monkeypatch: pytest.MonkeyPatch, variable: str, proxy: Any, account: str = "") -> None:
    monkeypatch.setenv(variable, f"http://{account}127.0.0.1:{proxy.port}")


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_a_proxy_from_the_environment_is_used(ask: Ask, serve: Any, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    """D29"""
    proxy = serve(answer_either)
    proxied(monkeypatch, variable, proxy, "user:p%40ss@")
    client = ChatClient("http://models.example:8080/v1", KEY, query={"a": "b"})
    ask.complete(client)
    assert ask.stream(client) == text_chunks("a", "b")
    for request in proxy.requests:
        assert request.target == "http://models.example:8080/v1/chat/completions?a=b"
        assert request.headers["host"] == "models.example:8080"
        assert request.headers["authorization"] == f"Bearer {KEY}"
        assert request.headers["proxy-authorization"] == "Basic dXNlcjpwQHNz"


def test_no_proxy_is_honoured(ask: Ask, serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """D29"""
    proxy, server = serve(DROP), serve(json_answer(completion()))
    proxied(monkeypatch, "HTTP_PROXY", proxy)
    monkeypatch.setenv("NO_PROXY", "example.org,127.0.0.1")
    ask.complete(ChatClient(server.url, KEY))
    assert proxy.connections == 0


def test_an_https_endpoint_is_reached_through_a_tunnel(ask: Ask, serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """D29"""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    proxy, server = serve(), serve(answer_either, tls=context)
    proxied(monkeypatch, "HTTPS_PROXY", proxy, "user:pass@")
    client = ChatClient(server.url, KEY, ssl_context=ssl.create_default_context(cafile=CERTIFICATE))
    ask.complete(client)
    assert ask.stream(client) == text_chunks("a", "b")
    (tunnel,) = proxy.requests
    assert (tunnel.method, tunnel.target) == ("CONNECT", f"localhost:{server.port}")
    assert tunnel.headers["proxy-authorization"] == "Basic dXNlcjpwYXNz"
    assert "authorization" not in tunnel.headers
    assert "proxy-authorization" not in server.requests[0].headers
    assert server.requests[0].target == "/v1/chat/completions"


def test_a_proxy_that_is_not_there_is_named_without_its_password(ask: Ask, serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://user:secretpass@127.0.0.1:1")
    with pytest.raises(
        ConnectionFailed, match=r"no connection to http://models\.example/v1 through the proxy http://127\.0\.0\.1:1: "
    ) as caught:
        ask.complete(ChatClient("http://models.example/v1", KEY))
    assert "secretpass" not in repr(caught.value) + repr(caught.value.cause)


def test_a_tunnel_that_is_refused(ask: Ask, serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = serve(Answer(status=407, framing="close"), tunnels=False)
    proxied(monkeypatch, "HTTPS_PROXY", proxy, "user:secretpass@")
    with pytest.raises(ConnectionFailed, match=r"through the proxy .*407") as caught:
        ask.complete(ChatClient("https://models.example/v1", KEY))
    assert "dXNlcjpzZWNyZXRwYXNz" not in repr(caught.value) + repr(caught.value.cause)


@pytest.mark.parametrize("address", ["http://a b:80", "http://h:99999", "http://h:0", ".x:80"])
def test_a_proxy_that_cannot_exist_is_an_error_that_says_so(ask: Ask, monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("HTTP_PROXY", address)
    with pytest.raises(ConfigError, match="the address of the proxy"):
        ask.complete(ChatClient("http://models.example/v1", KEY))


def test_a_proxy_of_another_kind_is_an_error_that_says_so(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1080")
    with pytest.raises(ConfigError, match=r"a proxy must look like http://host:port, not socks5://"):
        ask.complete(ChatClient("http://models.example/v1", KEY))
