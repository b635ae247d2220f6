"""What policies cost a turn when they have nothing to do. The budget for all of them together is 20 `json.loads` of 200 bytes, which is 40
microseconds on a quiet machine. Two are never idle and stand apart: a Cache makes a key of the whole request in each turn, and a SmallModel
writes another one.

    python -m benchmarks.policy_cost
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.measure import interleaved, table
from benchmarks.turn_cost import REPEATS, ROUNDS, TURNS, InstantModel, add, shout, thousand_loads
from swarm import Agent, Swarm
from swarm.policies import Approval, Cache, ContextWindow, Fallback, Guardrail, Permission, RateLimit, Retry, SmallModel
from swarm.policies.checks import Length

PLENTY = 10**9


def idle() -> dict[str, Any]:
    """One of each, set up so that it lets everything pass."""
    return {
        "Fallback": Fallback(models=["spare"]),
        "Retry": Retry(),
        "RateLimit": RateLimit(requests_per_minute=PLENTY),
        "ContextWindow": ContextWindow(PLENTY),
        "Permission": Permission(default="allow"),
        "Guardrail, input and output": Guardrail(Length(characters=PLENTY), on=["input", "output"]),
        "Approval": Approval(lambda: True),
    }


def run_with(policies: Sequence[Any], turns: int = TURNS) -> Callable[[], object]:
    client, agent = Swarm(InstantModel(turns), policies=policies), Agent(functions=[add, shout])
    return lambda: client.run(agent, "Go.")


def main() -> None:
    policies = idle()
    sets: dict[str, list[Any]] = {"none": [], **{name: [policy] for name, policy in policies.items()}}
    sets |= {"all of these": list(policies.values()), "SmallModel": [SmallModel()], "Cache": [Cache()]}
    seconds = interleaved({"loads": thousand_loads, **{name: run_with(some) for name, some in sets.items()}}, ROUNDS, REPEATS // 4)
    unit, base = seconds["loads"] / 1_000, seconds["none"] / TURNS
    rows = [(name, seconds[name] / TURNS - base) for name in sets if name != "none"]
    print(
        table(("a turn more with", "microseconds", "in loads"), [(name, f"{cost * 1e6:.1f}", f"{cost / unit:.1f}") for name, cost in rows])
    )


if __name__ == "__main__":
    main()
