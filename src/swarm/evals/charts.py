"""The plots of the page as inline SVG (https://www.w3.org/TR/SVG2/), drawn here. Colours come from the page's style and its theme."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import TypeAlias

from .figures import percent
from .statistics import Interval, percentile

Named: TypeAlias = Callable[[float], str]
"""How a value is written."""

_WIDTH, _HEIGHT = 360, 180
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 12, 38, 34
_COLUMNS = 24


def bar(value: float | None, interval: Interval, told: str, *, older: tuple[float, Interval] | None = None) -> str:
    """A share as a point on its 95 % interval, from 0 to 1. It takes the width it is given.

    Args:
        value: the share; None if nothing was tried.
        interval: its ends.
        told: what it shows, for those who do not see it.
        older: the same of an earlier run, drawn fainter behind it.
    """
    parts = ['<rect class="track" width="100" height="2" y="7"/>']
    for kind, share, ends in ((" old", *older) if older else ("", None, interval), ("", value, interval)):
        if share is not None:
            low, high = 100 * ends[0], 100 * ends[1]
            parts.append(f'<rect class="interval{kind}" x="{low:.2f}" y="4" width="{max(high - low, 0.4):.2f}" height="8"/>')
            parts.append(f'<rect class="point{kind}" x="{min(100 * share, 99.2):.2f}" y="1" width="0.8" height="14"/>')
    return _svg("0 0 100 16", told, parts, ' preserveAspectRatio="none"')


def difference(value: float, interval: Interval, told: str) -> str:
    """A difference as a point on its 95 % interval, with no difference in the middle.

    Args:
        value: the difference, from -1 to 1.
        interval: its ends.
        told: what it shows, for those who do not see it.
    """
    reach = min(1.0, max(0.1, math.ceil(10 * max(-interval[0], interval[1])) / 10))
    place = _scale(-reach, reach, 20, _WIDTH - 20)
    parts = [
        f'<rect class="track" x="20" y="20" width="{_WIDTH - 40}" height="4"/>',
        f'<line class="zero" x1="{_WIDTH / 2}" x2="{_WIDTH / 2}" y1="8" y2="40"/>',
        f'<rect class="interval" x="{place(interval[0]):.1f}" y="15" width="{place(interval[1]) - place(interval[0]):.1f}" height="14"/>',
        f'<rect class="point" x="{place(value) - 2:.1f}" y="10" width="4" height="24"/>',
    ]
    for mark, anchor in ((-reach, "start"), (0.0, "middle"), (reach, "end")):
        x = {"start": 20.0, "middle": _WIDTH / 2, "end": _WIDTH - 20.0}[anchor]
        parts.append(f'<text x="{x}" y="56" text-anchor="{anchor}">{mark:+.0%}</text>' if mark else _text(x, 56, "0", anchor))
    return _svg(f"0 0 {_WIDTH} 62", told, parts, ' class="plot"')


def histogram(values: Sequence[float], named: Named, told: str) -> str:
    """How often which size occurs, with the median and the 95th percentile marked.

    A few values far above the rest are counted in the last column, so that the others can be told apart.

    Args:
        values: at least one, none negative.
        named: how a value is written.
        told: what it shows, for those who do not see it.
    """
    half, most = percentile(values, 50), percentile(values, 95)
    highest = max(values)
    cut = highest > 4 * most > 0
    top = 2 * most if cut else highest or 1.0
    counts = [0] * _COLUMNS
    for value in values:
        counts[min(int(value / top * _COLUMNS), _COLUMNS - 1)] += 1
    place = _scale(0, top, _LEFT, _WIDTH - _RIGHT)
    step = (_WIDTH - _RIGHT - _LEFT) / _COLUMNS
    parts = [_frame(f"{max(counts):,}", "0")]
    for number, count in enumerate(counts):
        if count:
            high = max(2.0, count / max(counts) * (_HEIGHT - _TOP - _BOTTOM))
            told_column = f"{count:,} from {named(top * number / _COLUMNS)}"
            parts.append(
                f'<rect class="column" x="{_LEFT + number * step + 1:.1f}" y="{_HEIGHT - _BOTTOM - high:.1f}" width="{step - 2:.1f}" '
                f'height="{high:.1f}"><title>{escape(told_column)}</title></rect>'
            )
    parts += [_text(_LEFT, _HEIGHT - 14, "0"), _text(_WIDTH - _RIGHT, _HEIGHT - 14, f"{'≥ ' if cut else ''}{named(top)}", "end")]
    marks = ((place(half), 12, f"median {named(half)}"), (place(most), 28, f"95 % below {named(most)}"))
    parts += [f'<line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="{y - 8}" y2="{_HEIGHT - _BOTTOM}"/>' for x, y, _ in marks]
    parts += [_beside(x, y, name) for x, y, name in marks]
    return _svg(f"0 0 {_WIDTH} {_HEIGHT}", told, parts, ' class="plot"')


def curve(values: Sequence[float], told: str) -> str:
    """Shares over 1, 2, 3 and so on, each with its number.

    Args:
        values: at least two, from 0 to 1.
        told: what it shows, for those who do not see it.
    """
    across = _scale(1, len(values), _LEFT + 20, _WIDTH - _RIGHT - 24)
    up = _scale(0, 1, _HEIGHT - _BOTTOM, _TOP)
    points = [(across(number), up(value)) for number, value in enumerate(values, 1)]
    every = math.ceil(len(values) / 6)
    parts = [_frame("100 %", "0 %"), f'<polyline class="curve" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>']
    for number, ((x, y), value) in enumerate(zip(points, values, strict=True), 1):
        parts.append(f'<circle class="point" cx="{x:.1f}" cy="{y:.1f}" r="4"/>')
        if (number - 1) % every == 0 or number == len(values):
            parts.append(_text(x, y - 10, percent(value), "middle", "strong"))
            parts.append(_text(x, _HEIGHT - 14, f"k = {number}", "middle"))
    return _svg(f"0 0 {_WIDTH} {_HEIGHT}", told, parts, ' class="plot"')


def _scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    def place(value: float) -> float:
        return start + (end - start) * (value - low) / (high - low)

    return place


def _frame(highest: str, lowest: str) -> str:
    floor = _HEIGHT - _BOTTOM
    return (
        f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{floor}" y2="{floor}"/>'
        + _text(_LEFT - 6, _TOP + 4, highest, "end")
        + _text(_LEFT - 6, floor + 4, lowest, "end")
    )


def _beside(x: float, y: float, told: str) -> str:
    """A text at the side of a place where there is room."""
    right = x < _WIDTH / 2
    return _text(x + 5 if right else x - 5, y, told, "start" if right else "end", "strong")


def _text(x: float, y: float, told: str, anchor: str = "start", kind: str = "") -> str:
    drawn = f' class="{kind}"' if kind else ""
    return f'<text{drawn} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(told)}</text>'


def _svg(box: str, told: str, parts: Sequence[str], more: str = "") -> str:
    label = escape(told)
    return f'<svg viewBox="{box}" role="img" aria-label="{label}"{more}><title>{label}</title>{"".join(parts)}</svg>'
