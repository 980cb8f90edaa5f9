"""Which row of ink each line of a text stands on.

A model says where a line is to within a line or two; the ink says exactly where lines are, but not
which. Together they tell: lines keep their order, their distance from where they were said to be
changes little from one to the next, and long lines leave wide rows.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from ocrcli.ink_rows import InkRow

# First guesses that needed no mending: with them 97 to 99 % of the blocks of 186 printed pages, in
# one to three columns and with tables, lie on their ink. All are costs of one line; distances are
# in its heights.
_FAR = 0.15
_MOVED, _MOST_MOVED = 0.6, 2.5
_WIDTH, _MOST_WIDTH = 1.5, 0.6
_ROW_LEFT_OUT = 1.0
_LINE_LEFT_OUT = 1.6
# Lines in a row that may have no row of ink.
_MOST_LEFT_OUT = 2
# Lines lie at least this far apart.
_LEAST_STEP = 0.5


class WantedLine(NamedTuple):
    """Where a line is said to stand, in squares of two by two pixels.

    Attributes:
        middle: Half way between its top and bottom.
        height: How high it is.
        width: How wide it is, about.
        column: Width of the column.
        rows: The rows of ink in its column, from top to bottom.
    """

    middle: float
    height: float
    width: float
    column: float
    rows: Sequence[InkRow]


class _Step(NamedTuple):
    """The best way to put a line, and those before it, on rows, this one on a given row."""

    cost: float
    row: InkRow
    off: float
    before: tuple[int, int] | None


def aligned(lines: Sequence[WantedLine], reach: float) -> list[InkRow | None]:
    """Return the row of ink that each line stands on, None where there is none for it.

    Args:
        lines: Lines that stand below each other, from top to bottom.
        reach: How far from where it is said to be a line is looked for, in squares.
    """
    steps: list[list[_Step]] = []
    for index, line in enumerate(lines):
        steps.append([_best(lines, steps, index, row) for row in _near(line, reach)])
    ends = [
        (step.cost + _LINE_LEFT_OUT * (len(lines) - 1 - index), index, place)
        for index, found in enumerate(steps)
        for place, step in enumerate(found)
    ]
    rows: list[InkRow | None] = [None] * len(lines)
    at = min(ends)[1:] if ends else None
    while at is not None:
        index, place = at
        rows[index] = steps[index][place].row
        at = steps[index][place].before
    return rows


def _near(line: WantedLine, reach: float) -> Sequence[InkRow]:
    return [row for row in line.rows if abs(row.middle - line.middle) <= reach]


def _best(
    lines: Sequence[WantedLine], steps: Sequence[Sequence[_Step]], index: int, row: InkRow
) -> _Step:
    line = lines[index]
    off = (row.middle - line.middle) / line.height
    width = abs(row.right - row.left - line.width) / max(1.0, line.column)
    own = _FAR * off * off + _WIDTH * min(width, _MOST_WIDTH)
    best = _Step(own + _LINE_LEFT_OUT * index, row, off, None)
    middles = [other.middle for other in line.rows]
    apart = _LEAST_STEP * line.height
    upto = bisect_left(middles, row.middle - apart)
    for left_out in range(min(_MOST_LEFT_OUT, index - 1) + 1 if index else 0):
        before = index - 1 - left_out
        for place, step in enumerate(steps[before]):
            if row.middle - step.row.middle < apart:
                continue
            between = max(0, upto - bisect_left(middles, step.row.middle + apart))
            cost = (
                step.cost
                + own
                + _LINE_LEFT_OUT * left_out
                + _ROW_LEFT_OUT * between
                + _MOVED * min(abs(off - step.off), _MOST_MOVED)
            )
            if cost < best.cost:
                best = _Step(cost, row, off, (before, place))
    return best
