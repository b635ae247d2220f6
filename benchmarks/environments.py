"""The peers, each in a virtual environment of its own, made when it is first needed from the versions that are pinned beside its adapter.

They cannot share one: their requirements contradict each other, and what one drags in must not slow another.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.processes import ROOT

PEERS = Path(__file__).parent / "peers"
ENVIRONMENTS = ROOT / ".venv-bench"


class NotInstalled(Exception):
    """A peer's environment could not be made."""


def peers() -> list[str]:
    """The peers by the names of their modules."""
    return sorted(path.stem for path in PEERS.glob("*.txt"))


def python_of(peer: str) -> str:
    """The interpreter of a peer's environment, which is made if there is none or its pins have changed.

    Raises:
        NotInstalled: with what pip said.
    """
    pins = PEERS / f"{peer}.txt"
    folder = ENVIRONMENTS / peer
    python = folder / "bin" / "python"
    stamp = folder / "pins.txt"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == pins.read_text(encoding="utf-8"):
        return str(python)
    print(f"Preparing {folder.relative_to(ROOT)} ...", file=sys.stderr)
    for command in (
        [sys.executable, "-m", "venv", "--clear", str(folder)],
        [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-deps", "-r", str(pins)],
        [str(python), "-m", "compileall", "-qq", str(folder / "lib")],
    ):
        run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if run.returncode and "pip" in command:
            raise NotInstalled(run.stderr.strip()[-300:])
    stamp.write_text(pins.read_text(encoding="utf-8"), encoding="utf-8")
    return str(python)
