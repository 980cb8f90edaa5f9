"""Rows of ink: where lines of type stand in a column of a page, whatever they say."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ocrcli.skew import Ink

# Dots, accents and rules under type, low beside what they belong to, are parts of their line. What
# follows is in heights of a line: such parts are near, and all together are no higher than this.
_LOW = 0.45
_NEAR, _HIGHEST = 0.3, 1.35
# What is lower is a speck, and what is higher than this is more lines than one.
_LOWEST, _TWO = 0.2, 1.6
# Share of a column that ink has to fill before it counts, so that specks do not join lines.
_LEAST_INK = 0.004
# Words of one line are closer than this, columns are not.
_WORD_GAP = 0.9


class InkRow(NamedTuple):
    """A row of ink, in squares of two by two pixels; bottom and right lie behind it."""

    top: float
    bottom: float
    left: int
    right: int

    @property
    def middle(self) -> float:
        """Half way between top and bottom."""
        return (self.top + self.bottom) / 2

    def overlaps(self, other: "InkRow") -> bool:
        """Return whether both are mostly the same ink."""
        down = min(self.bottom, other.bottom) - max(self.top, other.top)
        across = min(self.right, other.right) - max(self.left, other.left)
        return across > 0 and 2 * down > min(self.bottom - self.top, other.bottom - other.top)


def ink_rows(ink: Ink, left: int, right: int, height: float) -> list[InkRow]:
    """Return the rows of ink in a column, from top to bottom.

    Args:
        ink: A page whose lines are level.
        left: First square of the column.
        right: The one behind its last.
        height: How high its lines are, about, in squares; decides what belongs to one line.
    """
    left, right = max(0, left), min(ink.shape[1], right)
    if right <= left or height <= 0:
        return []
    column = ink[:, left:right]
    filled = column.sum(1) >= max(1.0, _LEAST_INK * (right - left))
    edges = np.flatnonzero(np.diff(filled.astype(np.int8), prepend=0, append=0))
    found = _joined(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True), height)
    rows = []
    for top, bottom in found:
        high = bottom - top
        if high < _LOWEST * height:
            continue
        parts = round(high / height) if high > _TWO * height else 1
        for part in range(parts):
            upper, lower = top + high * part / parts, top + high * (part + 1) / parts
            inked = np.flatnonzero(column[int(upper) : max(int(upper) + 1, int(lower))].any(0))
            if len(inked):
                rows.append(InkRow(upper, lower, left + int(inked[0]), left + int(inked[-1]) + 1))
    return rows


def _joined(runs: "zip[tuple[int, int]]", height: float) -> list[list[int]]:
    """Return runs of inked rows with those together that are parts of one line."""
    found: list[list[int]] = []
    for top, bottom in runs:
        if found:
            upper, lower = found[-1]
            heights = bottom - top, lower - upper
            low = min(heights) < _LOW * max(heights)
            near = top - lower <= max(1.0, _NEAR * height)
            if low and near and bottom - upper < _HIGHEST * height:
                found[-1][1] = bottom
                continue
        found.append([top, bottom])
    return found


def whole_row(ink: Ink, row: InkRow, height: float, room: tuple[int, int]) -> InkRow:
    """Return a row with the words left and right of it that a column which is too narrow cut off.

    Args:
        ink: A page whose lines are level.
        row: What of it lies inside the column.
        height: How high its lines are, about, in squares.
        room: First square that may be its own, and the one behind the last.
    """
    start, end = max(0, room[0]), min(ink.shape[1], room[1])
    strip = inked_columns(ink, row)[start:end]
    reach = max(1, int(_WORD_GAP * height))
    return row._replace(
        left=min(row.left, end - _end(strip[::-1], end - row.left, reach)),
        right=max(row.right, start + _end(strip, row.right - start, reach)),
    )


def inked_columns(ink: Ink, row: InkRow) -> NDArray[np.bool_]:
    """Return which columns of the page hold ink between the top and bottom of a row."""
    return np.any(
        ink[int(row.top) : max(int(row.top) + 1, round(row.bottom))], axis=0, keepdims=True
    )[0]


def _end(strip: NDArray[np.bool_], end: int, reach: int) -> int:
    """Return where ink ends that goes on behind a place with gaps no wider than `reach`."""
    while True:
        ahead = np.flatnonzero(strip[end : end + reach])
        if not len(ahead):
            return end
        end += int(ahead[-1]) + 1
