"""Where the boxes of a graph stand, and how its lines run between them: in columns, so that no box and no line hides another box.

The usual layered way, in its plainest form: a column for each distance from the start, lines that pass a column get a place of their
own in it, and places are ordered by the middle of their neighbours (Sugiyama, Tagawa and Toda, 1981).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TypeAlias

Point: TypeAlias = tuple[float, float]
Ways: TypeAlias = Sequence[tuple[int, int]]

GAP = 110.0  # between columns, where lines turn
SPACE = 18.0  # between boxes in a column
LANE = 12.0  # height of a line's own place in a column, and distance of lines at a box
MARGIN = 24.0
_SWEEPS = 6


class Box:
    """A rectangle: its left upper corner and its size."""

    __slots__ = ("height", "width", "x", "y")

    def __init__(self, width: float, height: float) -> None:
        self.x = self.y = 0.0
        self.width = width
        self.height = height


class Layout:
    """Boxes in columns, and a route for each line.

    Attributes:
        boxes: in the order of the sizes; all boxes of a column are made equally wide, and high enough for their lines.
        routes: for each line its points, two for each piece: the first piece and every second one after it runs between columns, the
            others straight through one.
        width, height: of the whole.
    """

    def __init__(self, sizes: Sequence[tuple[float, float]], lines: Ways, starts: Sequence[int]) -> None:
        """Places everything.

        Args:
            sizes: width and height that each box needs.
            lines: for each line the boxes that it joins, from and to.
            starts: the boxes of the first column.
        """
        self.boxes = [Box(*size) for size in sizes]
        self._lines = lines
        self._column_of = _distances(len(sizes), lines, starts)
        count = max(self._column_of, default=0) + 1
        self._columns: list[list[int]] = [[] for _ in range(count)]  # boxes as their numbers, places of lines as -1 - line
        for box, column in enumerate(self._column_of):
            self._columns[column].append(box)
        for line in range(len(lines)):
            for column in self._between(line):
                self._columns[column].append(-1 - line)
        self._order()
        self._grow()
        self._place()
        self.routes = self._route()

    def _between(self, line: int) -> range:
        first, last = sorted(self._column_of[box] for box in self._lines[line])
        return range(first + 1, last)

    def _order(self) -> None:
        """Sort each column by the middle of the neighbours in the column before, then after, in turns."""
        near = self._neighbours()
        rank = {(c, item): float(place) for c, items in enumerate(self._columns) for place, item in enumerate(items)}
        for sweep in range(_SWEEPS):
            step = 1 if sweep % 2 == 0 else -1
            for column in range(len(self._columns))[::step]:
                items = self._columns[column]
                middles = {item: _middle([rank[key] for key in near[column, item] if key[0] == column - step]) for item in items}
                items.sort(key=lambda item, middles=middles, column=column: _or(middles[item], rank[column, item]))
                rank |= {(column, item): place / max(len(items) - 1, 1) for place, item in enumerate(items)}

    def _neighbours(self) -> dict[tuple[int, int], list[tuple[int, int]]]:
        near: dict[tuple[int, int], list[tuple[int, int]]] = {(c, item): [] for c, items in enumerate(self._columns) for item in items}
        for line, ends in enumerate(self._lines):
            first, last = sorted(ends, key=lambda box: self._column_of[box])
            places = [(column, -1 - line) for column in self._between(line)]
            path = [(self._column_of[first], first), *places, (self._column_of[last], last)]
            for one, other in itertools.pairwise(path):
                near[one].append(other)
                near[other].append(one)
        return near

    def _grow(self) -> None:
        """Make boxes high enough for the lines on their busier side."""
        for number, box in enumerate(self.boxes):
            sides = [side for ends in self._sides() for box_of_end, side in ends if box_of_end == number]
            box.height = max(box.height, LANE * (max(sides.count(True), sides.count(False)) + 1))

    def _sides(self) -> list[tuple[tuple[int, bool], tuple[int, bool]]]:
        """For both ends of each line: the box, and whether it is the right side of it."""
        return [
            ((source, self._column_of[source] <= self._column_of[target]), (target, self._column_of[source] >= self._column_of[target]))
            for source, target in self._lines
        ]

    def _place(self) -> None:
        heights = [self._height(column) for column in self._columns]
        self.height = max(heights, default=0.0) + 2 * MARGIN
        self._lanes: dict[tuple[int, int], tuple[float, float, float]] = {}  # of a line in a column: left, right, y
        x = MARGIN
        for number, (items, height) in enumerate(zip(self._columns, heights, strict=True)):
            wide = max((self.boxes[item].width for item in items if item >= 0), default=0.0)
            y = (self.height - height) / 2
            for item in items:
                if item >= 0:
                    box = self.boxes[item]
                    box.x, box.y, box.width = x, y, wide
                    y += box.height + SPACE
                else:
                    self._lanes[number, -1 - item] = (x, x + wide, y + LANE / 2)
                    y += LANE + SPACE
            x += wide + GAP
        inside = any(self._column_of[a] == self._column_of[b] == len(self._columns) - 1 for a, b in self._lines)
        self.width = x - GAP + MARGIN + (GAP if inside else 0)

    def _height(self, items: Sequence[int]) -> float:
        return sum(self.boxes[item].height if item >= 0 else LANE for item in items) + SPACE * max(len(items) - 1, 0)

    def _route(self) -> list[list[Point]]:
        ends = self._ends()
        routes: list[list[Point]] = []
        for line, (source, target) in enumerate(self._lines):
            lanes = [self._lanes[column, line] for column in self._between(line)]
            middle = [point for left, right, y in lanes for point in ((left, y), (right, y))]
            if self._column_of[source] > self._column_of[target]:
                middle.reverse()
            routes.append([ends[line, 0], *middle, ends[line, 1]])
        return routes

    def _ends(self) -> dict[tuple[int, int], Point]:
        """Where each line (0: begins, 1: ends) touches its box: spread over the side, in the order of where the lines come from."""
        at: dict[tuple[int, bool], list[tuple[float, int, int]]] = {}
        for line, ends in enumerate(self._sides()):
            for end, (box, right) in enumerate(ends):
                other = self.boxes[ends[1 - end][0]]
                lanes = [self._lanes[column, line][2] for column in self._between(line)]
                toward = (
                    lanes[0 if self._column_of[box] < self._column_of[ends[1 - end][0]] else -1] if lanes else other.y + other.height / 2
                )
                at.setdefault((box, right), []).append((toward, line, end))
        found: dict[tuple[int, int], Point] = {}
        for (number, right), touching in at.items():
            box = self.boxes[number]
            for place, (_, line, end) in enumerate(sorted(touching), 1):
                found[line, end] = (box.x + (box.width if right else 0), box.y + box.height * place / (len(touching) + 1))
        return found


def _distances(count: int, lines: Ways, starts: Sequence[int]) -> list[int]:
    """How many lines each box is away from the nearest start."""
    found = dict.fromkeys(starts, 0)
    waiting = list(starts)
    while waiting:
        box = waiting.pop(0)
        for source, target in lines:
            if source == box and target not in found:
                found[target] = found[box] + 1
                waiting.append(target)
    return [found.get(box, 0) for box in range(count)]


def _middle(places: Sequence[float]) -> float | None:
    return sum(places) / len(places) if places else None


def _or(value: float | None, other: float) -> float:
    return other if value is None else value
