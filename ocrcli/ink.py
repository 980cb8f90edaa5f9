"""Where the ink of a page lies, and how much of it a transcript does not account for.

A model that stops early or skips a paragraph leaves no trace in its text; the page does.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ocrcli.document import Box

CELL = 16
"""Side of the square cells in which ink is counted, in pixels."""

# Ink differs from the paper by six times the paper's own grain, within these bounds: pale print on
# clean paper counts, the grain of a scan does not.
_GRAINS = 6.0
_LEAST_CONTRAST, _MOST_CONTRAST = 10.0, 32.0
# Turns a median absolute deviation into a standard deviation.
_NORMAL = 1.4826
# Ink in a straight level or upright line of 48 pixels is a rule, a frame or shading: strokes of
# letters are shorter, and a rule that is skewed by 2 degrees is still found. The steps double a
# window of squares until it spans that many.
_DOUBLING = (1, 2, 4, 8, 8)
_RULE_QUADS = 1 + sum(_DOUBLING)


@dataclass(frozen=True, eq=False)
class InkMap:
    """Ink of a page, counted in square cells of 16 pixels.

    Attributes:
        counts: Pixels of ink in each cell, int32 [rows, columns].
        print_counts: Those that may be print, which rules, frames and shading are not, likewise.
        height: Height of the page image in pixels.
        width: Width of the page image in pixels.
        print_squares: Which squares of two by two pixels may be print, bool, rounded up.
    """

    counts: NDArray[np.int32]
    print_counts: NDArray[np.int32]
    height: int
    width: int
    print_squares: NDArray[np.bool_]

    @property
    def total(self) -> int:
        """Pixels of ink on the whole page."""
        return int(self.counts.sum())

    @property
    def print_total(self) -> int:
        """Pixels of ink on the whole page that may be print."""
        return int(self.print_counts.sum())

    def outside(self, boxes: Iterable[Box]) -> int:
        """Return the pixels of ink that lie in none of the boxes.

        A box covers every cell it touches and the cells next to those: boxes are drawn by a model,
        which is off by a few pixels now and then.

        Args:
            boxes: Left, top, right, bottom in thousandths of the page, 0 to 999.
        """
        return int(self._without(boxes, self.counts).sum())

    def print_outside(self, boxes: Iterable[Box]) -> int:
        """Return the pixels outside the boxes, as in `outside`, that may be print.

        Args:
            boxes: Left, top, right, bottom in thousandths of the page, 0 to 999.
        """
        return int(self._without(boxes, self.print_counts).sum())

    def inside(self, box: Box) -> int:
        """Return the pixels of ink in a box and the cells that it or its neighbours touch."""
        return self.total - self.outside([box])

    def _without(self, boxes: Iterable[Box], counts: NDArray[np.int32]) -> NDArray[np.int32]:
        left_over = counts.copy()
        for left, top, right, bottom in boxes:
            first_row, last_row = _cells(top, bottom, self.height)
            first_column, last_column = _cells(left, right, self.width)
            left_over[first_row : last_row + 1, first_column : last_column + 1] = 0
        return left_over


def _cells(low: float, high: float, size: int) -> tuple[int, int]:
    return max(0, int(low * size // 999) // CELL - 1), int(high * size // 999) // CELL + 1


def ink_map(pixels: NDArray[np.uint8]) -> InkMap:
    """Return where a page differs clearly from its paper, and how much.

    Args:
        pixels: Grey values 0 (black) to 255 (white), uint8 [height, width].
    """
    height, width = pixels.shape
    quads = _quads(pixels)
    ink, least = _ink(quads)
    printed = _print(quads, ink, least)
    return InkMap(_per_cell(ink), _per_cell(printed), height, width, printed)


def _per_cell(ink: NDArray[np.bool_]) -> NDArray[np.int32]:
    side = CELL // 2
    whole = np.pad(ink, ((0, -ink.shape[0] % side), (0, -ink.shape[1] % side)))
    cells = whole.reshape(whole.shape[0] // side, side, whole.shape[1] // side, side)
    return 4 * cells.sum((1, 3), dtype=np.int32)


def ink_quads(pixels: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return which squares of two by two pixels are ink, bool [height / 2, width / 2], rounded up.

    The paper is the most central grey value. Pixels are judged four at a time, which keeps the
    grain of a scan from counting as ink.

    Args:
        pixels: Grey values 0 (black) to 255 (white), uint8 [height, width].
    """
    return _ink(_quads(pixels))[0]


def _quads(pixels: NDArray[np.uint8]) -> NDArray[np.int16]:
    height, width = pixels.shape
    even = np.pad(pixels, ((0, height % 2), (0, width % 2)), mode="edge").astype(np.int16)
    return (even[::2, ::2] + even[1::2, ::2] + even[::2, 1::2] + even[1::2, 1::2]) // 4


def _ink(quads: NDArray[np.int16]) -> tuple[NDArray[np.bool_], float]:
    """Return which squares are ink, and the contrast that it takes."""
    distance = np.abs(quads - int(np.median(quads)))
    grain = _NORMAL * float(np.median(distance))
    least = min(max(_GRAINS * grain, _LEAST_CONTRAST), _MOST_CONTRAST)
    return distance > least, least


def _print(quads: NDArray[np.int16], ink: NDArray[np.bool_], least: float) -> NDArray[np.bool_]:
    """Return the ink without rules, frames and shading, but with what is printed on shading."""
    filled = _straight(ink)
    if not filled.any():
        return ink
    shade = int(np.median(quads[filled]))
    on_shading = filled & (np.abs(quads - shade) > least)
    return (ink & ~filled) | (on_shading & ~_straight(on_shading))


def _straight(ink: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the ink in straight lines, level or upright, of at least `_RULE_QUADS`."""
    return _level(ink) | _level(ink.T).T


def _level(ink: NDArray[np.bool_]) -> NDArray[np.bool_]:
    if ink.shape[1] < _RULE_QUADS:
        return np.zeros_like(ink)
    starts = ink
    for step in _DOUBLING:
        starts = starts[:, :-step] & starts[:, step:]
    lines = starts
    for step in _DOUBLING:
        lines = np.pad(lines, ((0, 0), (0, step))) | np.pad(lines, ((0, 0), (step, 0)))
    return lines
