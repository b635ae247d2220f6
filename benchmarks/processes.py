"""The other processes of a measurement: the server, and one worker for each contestant. Each answers a line with a line."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).parent.parent
PATIENCE = 300.0


class Ended(Exception):
    """A process ended, or said nothing for PATIENCE seconds."""


def environment() -> dict[str, str]:
    """Ours, without proxies, and with the sources of this folder. A key that some libraries want to see, though all are given one."""
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    return {**kept, "PYTHONPATH": str(ROOT / "src"), "OPENAI_API_KEY": "benchmark"}


class Process:
    """A Python module that talks in lines of JSON."""

    def __init__(self, python: str, *arguments: str) -> None:
        self._name = " ".join(arguments)
        self._process = subprocess.Popen(
            [python, "-m", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
            env=environment(),
        )

    def read(self) -> Any:
        """Its next line.

        Raises:
            Ended: there is none.
        """
        assert self._process.stdout
        watch = threading.Timer(PATIENCE, self._process.kill)
        watch.start()
        try:
            line = self._process.stdout.readline()
        finally:
            watch.cancel()
        if not line:
            raise Ended(f"{self._name} ended with {self._process.wait()}, or was silent for {PATIENCE:.0f} s")
        return json.loads(line)

    def ask(self, command: dict[str, Any]) -> Any:
        """Send a command, read its answer."""
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps(command) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise Ended(f"{self._name} ended with {self._process.wait()}") from None
        return self.read()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.end()

    def end(self) -> None:
        """Let it end, or end it if it does not; a second time does nothing."""
        assert self._process.stdin and self._process.stdout
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


class Provider(Process):
    """The server."""

    def __init__(self, python: str) -> None:
        super().__init__(python, "benchmarks.provider")
        self.base = f"http://127.0.0.1:{self.read()}"


def import_cost(python: str, statements: str) -> dict[str, float]:
    """CPU seconds, resident bytes and modules that some import statements cost a fresh process."""
    code = (
        "import resource, sys, time\n"
        "def now(): return time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, len(sys.modules)\n"
        "before = now()\n"
        f"{statements}\n"
        "print(*(after - then for after, then in zip(now(), before)))"
    )
    run = subprocess.run([python, "-c", code], cwd=ROOT, env=environment(), capture_output=True, text=True, check=True)
    cpu, kibibytes, modules = run.stdout.split()[-3:]
    return {"cpu": float(cpu), "rss": float(kibibytes) * 1024, "modules": float(modules)}
