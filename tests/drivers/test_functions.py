"""Async functions under the sync class, blocking ones under the async class, wherever the code stands that calls."""

from __future__ import annotations

import ast
import asyncio
import contextvars
import functools
import os
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from swarm import Agent, AsyncSwarm, Handoff, Response, Swarm, tool
from swarm.effects import CallTool, Sleep
from swarm.models.scripted import ScriptedModel, call
from tests.modes import Drive

variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")


async def add_one(n: int) -> int:
    await asyncio.sleep(0)
    return n + 1


class Adder:
    async def __call__(self, n: int) -> int:
        return n + 1


def returns_a_coroutine(n: int) -> Any:
    return add_one(n)


@pytest.mark.parametrize("function", [add_one, tool(functools.partial(add_one), name="add_one"), Adder(), returns_a_coroutine])
def test_async_functions_of_every_kind(drive: Drive, function: Any) -> None:
    """T19"""
    agent = Agent(functions=[function])
    name = agent.functions[0].name if hasattr(function, "name") else getattr(function, "__name__", "Adder")
    response = drive(agent, "go", [call(name, {"n": 1}), "done"])
    assert response.messages[1]["content"] == "2"


def test_async_instructions(drive: Drive) -> None:
    async def instructions(context_variables: dict[str, Any]) -> str:
        await asyncio.sleep(0)
        return f"Greet {context_variables['name']}."

    drive(Agent(instructions=instructions), "go", ["done"], context_variables={"name": "Ann"})
    assert drive.requests[0]["messages"][0]["content"] == "Greet Ann."


def run_sync() -> Response:
    return Swarm(ScriptedModel([call("add_one", {"n": 1}), "done"])).run(Agent(functions=[add_one]), "go")


def test_sync_inside_a_running_loop() -> None:
    """X01: as in a notebook, whose own loop is running."""

    async def main() -> str:
        return run_sync().messages[1]["content"]

    assert asyncio.run(main()) == "2"


def test_sync_in_a_thread_and_after_a_closed_loop() -> None:
    """X01"""
    asyncio.new_event_loop().close()
    results: list[str] = []
    thread = threading.Thread(target=lambda: results.append(run_sync().messages[1]["content"]))
    thread.start()
    thread.join()
    assert results == ["2"]


def test_a_sync_run_inside_one_of_its_own_async_tools() -> None:
    """D51"""

    async def outer() -> str:
        return run_sync().messages[1]["content"]

    response = Swarm(ScriptedModel([call("outer"), "done"])).run(Agent(functions=[outer]), "go")
    assert response.messages[1]["content"] == "2"


def test_sync_code_makes_no_event_loop() -> None:
    """X02"""
    code = """
import asyncio, threading
asyncio.new_event_loop = lambda: (_ for _ in ()).throw(AssertionError("an event loop was made"))
from swarm import Agent, Swarm
from swarm.models.scripted import ScriptedModel, call
def ping(): return "pong"
r = Swarm(ScriptedModel([call("ping"), "done"])).run(Agent(functions=[ping]), "go")
assert r.text == "done" and threading.active_count() == 1
"""
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": "src"}, cwd=Path(__file__).parents[2])


def test_contextvars_reach_functions_and_come_back(drive: Drive) -> None:
    """T20, D14"""
    seen: list[str] = []

    def read_and_set() -> str:
        seen.append(variable.get())
        variable.set("set by the function")
        return "ok"

    def read() -> str:
        seen.append(variable.get())
        return "ok"

    variable.set("set by the caller")
    drive(Agent(functions=[read_and_set, read]), "go", [call("read_and_set"), call("read"), "done"])
    assert seen == ["set by the caller", "set by the function"]


def test_a_blocking_function_does_not_stall_the_loop() -> None:
    """T20"""
    ticks = 0

    def block() -> str:
        time.sleep(0.2)
        return "ok"

    async def main() -> int:
        nonlocal ticks

        async def heartbeat() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.005)

        beat = asyncio.create_task(heartbeat())
        await AsyncSwarm(ScriptedModel([call("block"), "done"])).run(Agent(functions=[block]), "go")
        beat.cancel()
        return ticks

    assert asyncio.run(main()) >= 5


def test_an_inline_function_runs_where_the_loop_runs() -> None:
    """D14"""
    threads: list[threading.Thread] = []

    @tool(inline=True)
    def here() -> str:
        threads.append(threading.current_thread())
        return "ok"

    @tool
    def elsewhere() -> str:
        threads.append(threading.current_thread())
        return "ok"

    async def main() -> None:
        turns = [call("here"), call("elsewhere"), "done"]
        await AsyncSwarm(ScriptedModel(turns)).run(Agent(functions=[here, elsewhere]), "go")

    asyncio.run(main())
    assert threads[0] is threading.main_thread()
    assert threads[1] is not threading.main_thread()


@pytest.mark.parametrize("parallel", [True, 2])
def test_parallel_functions_overlap_and_answer_in_call_order(drive: Drive, parallel: bool | int) -> None:
    """X08: a barrier that needs two of them at once shows that they overlap."""
    barrier = threading.Barrier(2)

    def meet(n: int) -> str:
        barrier.wait(5)
        return f"met {n}"

    turns = [[call("meet", {"n": n}) for n in range(4)], "done"]
    response = drive(Agent(functions=[meet]), "go", turns, swarm={"parallel_tools": parallel})
    assert [m["content"] for m in response.messages if m["role"] == "tool"] == ["met 0", "met 1", "met 2", "met 3"]


def test_parallel_is_bounded_by_its_number(drive: Drive) -> None:
    """X08"""
    running, most, lock = 0, 0, threading.Lock()

    def work(n: int) -> str:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.01)
        with lock:
            running -= 1
        return str(n)

    drive(Agent(functions=[work]), "go", [[call("work", {"n": n}) for n in range(8)], "done"], swarm={"parallel_tools": 3})
    assert 1 < most <= 3


def test_an_exclusive_function_runs_alone(drive: Drive) -> None:
    running: set[str] = set()
    together: list[set[str]] = []

    def note(name: str) -> str:
        running.add(name)
        together.append(set(running))
        time.sleep(0.01)
        running.discard(name)
        return name

    @tool(exclusive=True)
    def alone() -> str:
        return note("alone")

    def other(n: int) -> str:
        return note(f"other {n}")

    calls = [call("other", {"n": 1}), call("alone"), call("other", {"n": 2})]
    response = drive(Agent(functions=[alone, other]), "go", [calls, "done"], swarm={"parallel_tools": True})
    assert [m["content"] for m in response.messages if m["role"] == "tool"] == ["other 1", "alone", "other 2"]
    assert all(names == {"alone"} for names in together if "alone" in names)


def test_in_parallel_variables_merge_in_call_order(drive: Drive) -> None:
    """C13, D17"""
    from swarm import Result

    first_done = threading.Event()

    def slow() -> Result:
        first_done.wait(5)
        return Result(value="slow", context_variables={"x": "slow", "a": 1})

    def fast() -> Result:
        first_done.set()
        return Result(value="fast", context_variables={"x": "fast", "b": 2})

    turns = [[call("slow"), call("fast")], "done"]
    response = drive(Agent(functions=[slow, fast]), "go", turns, swarm={"parallel_tools": True})
    assert response.context_variables == {"x": "fast", "a": 1, "b": 2}


def test_a_failure_cancels_no_sibling(drive: Drive) -> None:
    """D41"""

    def fail() -> str:
        raise ValueError("broken")

    def work() -> str:
        return "worked"

    turns = [[call("fail"), call("work")], "done"]
    response = drive(Agent(functions=[fail, work]), "go", turns, swarm={"parallel_tools": True})
    assert [m["content"] for m in response.messages if m["role"] == "tool"] == ["Error: ValueError: broken", "worked"]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("parallel", [False, True])
def test_ctrl_c_and_exit_are_never_swallowed(drive: Drive, stop: type[BaseException], parallel: bool) -> None:
    """K11, D16"""

    @tool(inline=True)
    def leave() -> str:
        raise stop

    def other() -> str:
        return "ok"

    with pytest.raises(stop):
        turns = [[call("leave"), call("other")], "done"]
        drive(Agent(functions=[leave, other]), "go", turns, swarm={"parallel_tools": parallel})


def test_a_stop_iteration_is_an_ordinary_failure(drive: Drive) -> None:
    """D14"""

    def stop() -> str:
        raise StopIteration("over")

    response = drive(Agent(functions=[stop]), "go", [call("stop"), "done"])
    assert response.messages[1]["content"].startswith("Error: ")
    assert response.text == "done"


def test_many_runs_in_threads_and_in_one_loop() -> None:
    def ping(n: int) -> str:
        return f"pong {n}"

    agent = Agent(functions=[ping])

    def one(n: int) -> str:
        return Swarm(ScriptedModel([call("ping", {"n": n}), "done"])).run(agent, "go").messages[1]["content"]

    results: dict[int, str] = {}
    threads = [threading.Thread(target=lambda n=n: results.update({n: one(n)})) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {n: f"pong {n}" for n in range(20)}

    async def main() -> list[str]:
        async def each(n: int) -> str:
            response = await AsyncSwarm(ScriptedModel([call("ping", {"n": n}), "done"])).run(agent, "go")
            return response.messages[1]["content"]

        return list(await asyncio.gather(*[each(n) for n in range(50)]))

    assert asyncio.run(main()) == [f"pong {n}" for n in range(50)]


def test_async_functions_after_a_fork() -> None:
    """D51"""
    code = """
import os, warnings
warnings.simplefilter("ignore", DeprecationWarning)
from swarm import Agent, Swarm
from swarm.models.scripted import ScriptedModel, call
async def ping(): return "pong"
def run(): return Swarm(ScriptedModel([call("ping"), "done"])).run(Agent(functions=[ping]), "go").messages[1]["content"]
assert run() == "pong"
pid = os.fork()
if pid == 0:
    os._exit(0 if run() == "pong" else 1)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
"""
    subprocess.run(
        [sys.executable, "-c", code], check=True, timeout=30, env={**os.environ, "PYTHONPATH": "src"}, cwd=Path(__file__).parents[2]
    )


def test_handoffs_and_callbacks_run_where_the_loop_runs() -> None:
    """D55"""
    threads: list[threading.Thread] = []
    other = Agent(name="Other")

    def instructions() -> str:
        threads.append(threading.current_thread())
        return "Help."

    def offered() -> bool:
        threads.append(threading.current_thread())
        return True

    agent = Agent(instructions=instructions, handoffs=[Handoff(other, when=offered)])

    async def main() -> None:
        await AsyncSwarm(ScriptedModel([call("transfer_to_other"), "done"])).run(agent, "go")

    asyncio.run(main())
    assert threads == [threading.main_thread()] * 2


def test_policies_wait_where_their_call_runs(drive: Drive) -> None:
    """D50: in parallel mode a policy's Sleep holds up its own call only."""
    order: list[str] = []

    class Hesitate:
        def tool(self, call: CallTool) -> Generator[Any, Any, Any]:
            if call.tool.name == "slow":
                yield Sleep(0.1)
            return (yield call)

    def slow() -> str:
        order.append("slow")
        return "slow"

    def fast() -> str:
        order.append("fast")
        return "fast"

    turns = [[call("slow"), call("fast")], "done"]
    response = drive(Agent(functions=[slow, fast]), "go", turns, swarm={"parallel_tools": True, "policies": [Hesitate()]})
    assert order == ["fast", "slow"]
    assert [m["content"] for m in response.messages if m["role"] == "tool"] == ["slow", "fast"]


def test_a_policy_leaves_a_pause_alone(drive: Drive) -> None:
    """D42: a pause inside a call reaches a policy as an outcome, so try/except around the call does not meet it."""
    failures: list[Exception] = []

    class Careful:
        def tool(self, call: CallTool) -> Generator[Any, Any, Any]:
            try:
                return (yield call)
            except Exception as error:
                failures.append(error)
                raise

    @tool(approval=True)
    def pay() -> str:
        return "paid"

    inner = Agent(name="Inner", functions=[pay])
    outer = Agent(name="Outer", functions=[inner.as_tool()])
    response = drive(outer, "go", [call("inner", {"input": "x"}), call("pay")], swarm={"policies": [Careful()]})
    assert response.stop_reason == "approval"
    assert failures == []


def test_nothing_but_try_finally_is_open_over_a_yield() -> None:
    """D48: no task group, no time limit and no lock of the async driver stands around a yield."""
    tree = ast.parse((Path(__file__).parents[2] / "src/swarm/drivers/aio.py").read_text(encoding="utf-8"))
    around = [node for node in ast.walk(tree) if isinstance(node, ast.AsyncWith | ast.With)]
    assert around
    assert [node.lineno for node in around for inner in ast.walk(node) if isinstance(inner, ast.Yield | ast.YieldFrom)] == []


def test_an_async_function_that_exits_leaves_the_next_one_working(drive: Drive) -> None:
    """D16"""

    async def leave() -> str:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        drive(Agent(functions=[leave]), "go", [call("leave")])
    assert drive(Agent(functions=[add_one]), "go", [call("add_one", {"n": 1}), "done"]).text == "done"


def test_a_function_that_is_cancelled_cancels_the_run_in_parallel_too() -> None:
    """D16"""

    async def cut() -> str:
        raise asyncio.CancelledError

    for mode in ("async", "async-stream"):
        with pytest.raises(asyncio.CancelledError):
            turns = [[call("add_one", {"n": 1}), call("cut")]]
            Drive(mode)(Agent(functions=[cut, add_one]), "go", turns, swarm={"parallel_tools": True})
