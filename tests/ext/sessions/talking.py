"""Processes that hold a conversation in a session, and are killed by test_killed.py; the next one goes on where the last was.

    python talking.py URL LOG QUESTIONS

For each line on standard input it forks one, which is much quicker than to start Python anew. That one says on standard output first its
number, then what it shows, one JSON text a line, and writes into LOG which functions ran. At its end comes `{"ended": <status>}`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import Any

from swarm import Agent, RunInfo, Swarm, tool
from swarm.effects import CallModel, Reply
from swarm.events import MessageDone, ToolDone
from swarm.ext.sessions import SessionStore


class Player:
    """Answers by what it is asked alone: calls after a question, a text after their answers."""

    def complete(self, request: CallModel) -> Reply:
        messages: list[dict[str, Any]] = request.request["messages"]
        number = sum(message["role"] == "user" for message in messages)
        if messages[-1]["role"] == "tool":
            return Reply({"role": "assistant", "content": f"Answer {number}: " + " ".join(messages[-1]["content"])}, finish_reason="stop")
        calls = [("work", "a"), ("pay", "b"), ("work", "c")] if number % 2 else [("transfer_to_second" if number == 2 else "work", "a")]
        made = [
            {"id": f"{number}{id}", "type": "function", "function": {"name": name, "arguments": "{}" if "_" in name else '{"n": 1}'}}
            for name, id in calls
        ]
        return Reply({"role": "assistant", "content": None, "tool_calls": made}, finish_reason="tool_calls")

    def stream(self, request: CallModel) -> Iterator[dict[str, Any]]:
        message = self.complete(request).message
        for word in (message["content"] or "").split():
            yield {"choices": [{"index": 0, "delta": {"content": word + " "}}]}
        calls = [{**call, "index": index} for index, call in enumerate(message.get("tool_calls") or ())]
        yield {"choices": [{"index": 0, "delta": {"tool_calls": calls} if calls else {}, "finish_reason": "stop"}]}


def main(url: str, log: str, questions: int) -> None:
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(run: RunInfo, what: str) -> str:
        os.write(file, f"{what} {run.call_id}\n".encode())
        return f"{what} done"

    @tool(effect="once")
    def pay(n: int, run: RunInfo) -> str:
        return note(run, "pay")

    def work(n: int, run: RunInfo, context_variables: dict[str, Any]) -> str:
        context_variables[f"worked {run.call_id}"] = n
        return note(run, "work")

    second = Agent(name="Second", functions=[work, pay])
    first = Agent(name="First", functions=[work, pay], handoffs=[second])
    store = SessionStore(url)
    while True:
        info = store.info("s")
        asked = sum(message["role"] == "user" for message in store.messages("s"))
        if (info is None or info.status == "idle") and asked >= questions:
            return
        messages: Any = [] if info is not None and info.status == "running" else f"Question {asked + 1}"
        for event in Swarm(Player()).stream(first, messages, session=store.session("s")):
            if isinstance(event, MessageDone | ToolDone):
                print(json.dumps(event.message["content"]), flush=True)


def serve() -> None:
    for _ in sys.stdin:
        pid = os.fork()
        if pid == 0:
            print(os.getpid(), flush=True)
            main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
            os._exit(0)
        print(json.dumps({"ended": os.waitpid(pid, 0)[1]}), flush=True)


if __name__ == "__main__":
    serve()
