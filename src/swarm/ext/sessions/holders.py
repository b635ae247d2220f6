"""Which run is at work on a session, and whether it still can be: a run that is known to be dead must not keep others waiting.

A run that is left without an end (a stream that nobody reads to its end, a process that is killed) cannot say so in the store. In the same
process it is taken off the list here, which needs no I/O; of a process on the same machine the system says whether it lives; of one
elsewhere only the time says it, see `SessionStore(lease=)`.
"""

from __future__ import annotations

import os
from functools import lru_cache
from itertools import count
from pathlib import Path
from uuid import uuid4

_LIVE: set[str] = set()
_NUMBERS = count()


def take() -> str:
    """The name of a new holder, alive until it is dropped."""
    pid = os.getpid()
    holder = f"{_machine()}/{pid}/{_process(pid)}/{next(_NUMBERS)}"
    _LIVE.add(holder)
    return holder


def drop(holder: str) -> None:
    """The run is over, or was left."""
    _LIVE.discard(holder)


def may_live(holder: str) -> bool:
    """Whether a holder may still be at work; False only if it is known not to be."""
    machine, pid, process, _ = holder.split("/")
    if process == _process(os.getpid()):
        return holder in _LIVE
    return machine != _machine() or machine == "" or _lives(int(pid))


@lru_cache(maxsize=1)
def _machine() -> str:
    """What tells this machine and its process numbers from others; "" where the system does not say. See proc(5), pid_namespaces(7)."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}.{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return ""


@lru_cache(maxsize=1)
def _process(pid: int) -> str:
    """This process, of that number: not the same after a fork, nor as another that had its number before."""
    return f"{pid}.{uuid4().hex}"


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it belongs to somebody else
        return True
    return True
