"""How the numbers of an eval are written, the same in the terminal and on the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .statistics import Interval, Share, Total

if TYPE_CHECKING:
    from .comparing import Comparison

UNKNOWN = "not known"


def percent(value: float | None) -> str:
    """A share with one decimal, "-" for none."""
    return "-" if value is None else f"{100 * value:.1f} %"


def span(interval: Interval) -> str:
    """The ends of an interval of a share."""
    return f"{100 * interval[0]:.1f} to {100 * interval[1]:.1f} %"


def points(value: float) -> str:
    """A difference of shares in percentage points, with its sign."""
    return f"{100 * value:+.1f}"


def seconds(value: float) -> str:
    """A time with a unit that fits it."""
    if value < 1:
        return f"{1000 * value:.0f} ms"
    return f"{value:.2f} s" if value < 10 else f"{value:,.1f} s"


def money(value: float) -> str:
    """US dollars, with as many decimals as small amounts need."""
    return f"${value:,.2f}" if value >= 0.1 or value == 0 else f"${value:.5f}"


def chance(value: float) -> str:
    """A p-value."""
    return "p < 0.0001" if value < 0.0001 else f"p = {value:.4f}" if value < 0.1 else f"p = {value:.2f}"


def counted(number: int, word: str) -> str:
    """A number and what it counts, in the singular or plural."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def tried(share: Share) -> str:
    """How many passed of how many."""
    return f"{share.passed:,} of {share.tried:,}"


def cost(total: Total) -> str:
    """A sum of costs that says for how many results none is known."""
    if total.value is None:
        return UNKNOWN
    return money(total.value) + (f", {UNKNOWN} for {total.of - total.known:,} of {total.of:,}" if total.known < total.of else "")


def tokens(counts: Sequence[int | None]) -> str:
    """A sum of tokens that says for how many results none is known."""
    known = [count for count in counts if count is not None]
    if not known:
        return UNKNOWN
    return f"{sum(known):,}" + (f", {UNKNOWN} for {len(counts) - len(known):,} of {len(counts):,}" if len(known) < len(counts) else "")


def reliability(values: Sequence[float]) -> str:
    """pass^1, pass^2 and so on."""
    return ", ".join(f"pass^{k} {percent(value)}" for k, value in enumerate(values, 1))


def verdict(compared: Comparison) -> str:
    """What a comparison comes to, as a sentence."""
    return f"{compared.verdict.capitalize()}: {change(compared)}"


def change(compared: Comparison) -> str:
    """What of that sentence comes after the verdict: by how much, and how sure that is."""
    ends = f"{points(compared.interval[0])} to {points(compared.interval[1])}"
    told = f"{points(compared.difference)} points over {counted(compared.cases, 'shared case')} (95 % interval {ends}), "
    told += f"{counted(len(compared.fixed), 'case')} fixed, {len(compared.broken):,} broken; "
    told += f"{chance(compared.p_worse)}, one-sided" if compared.is_worse else chance(compared.p_value)
    return told
