"""Pages without their margins: what holds ink is drawn larger, and boxes find their way back.

A model reads pictures of a limited size. A quarter of a usual page's height and width is margin, so
without it letters are up to a third larger.
"""

import math
from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ocrcli.blocks import MAX_COORDINATE, boxes_in
from ocrcli.confidence import TokenTrace
from ocrcli.document import Box
from ocrcli.ink import CELL, InkMap
from ocrcli.line_starts import LineStart
from ocrcli.raster import PIXEL_MULTIPLE, PageSize
from ocrcli.rotation import as_displayed, upright_size

if TYPE_CHECKING:
    from ocrcli.engine import PageResult

_LEAST_GAIN = 1.08
# What has less ink is a speck.
_LEAST_INK = 12
_MARGIN_CELLS = 2
_WHOLE: Box = (0.0, 0.0, 1.0, 1.0)


@dataclass(frozen=True)
class Cropping:
    """How a page is cropped.

    Attributes:
        box: Left, top, right and bottom of what is kept, as shares 0 to 1 of the page.
        dpi: Resolution at which it is drawn.
        columns: Width in pixels of what is kept.
        rows: Its height in pixels.
    """

    box: Box
    dpi: float
    columns: int
    rows: int


def cropping(
    ink: InkMap, dpi: float, size: PageSize, sharpest_dpi: float = math.inf
) -> Cropping | None:
    """Return how a page is cropped, or None where letters would hardly become larger.

    Args:
        ink: Where the ink of the whole page lies.
        dpi: Resolution at which the whole page is read.
        size: The size at which pages are read.
        sharpest_dpi: Resolution that the file can be drawn at.
    """
    if size.color or dpi <= 0:
        return None
    has_ink = _marks(ink.counts)
    rows, columns = np.flatnonzero(has_ink.any(1)), np.flatnonzero(has_ink.any(0))
    if not len(rows):
        return None
    top, bottom = _span(rows, ink.height)
    left, right = _span(columns, ink.width)
    # The ink may have been counted on a picture of another size than the page's.
    largest = size.long_side / max(right - left, bottom - top)
    gain = min(largest, size.crop_dpi / dpi, sharpest_dpi / dpi)
    top, bottom, gain = _in_steps(top, bottom, gain, ink.height, size.long_side)
    is_whole = right - left >= ink.width and bottom - top >= ink.height
    if is_whole or gain < _LEAST_GAIN:
        return None
    box = (left / ink.width, top / ink.height, right / ink.width, bottom / ink.height)
    return Cropping(box, dpi * gain, round((right - left) * gain), round((bottom - top) * gain))


def _marks(counts: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return the cells that hold a mark or a part of one, which may lie in up to four cells."""
    padded = np.pad(counts, 1)
    corners = padded[:-1, :-1] + padded[1:, :-1] + padded[:-1, 1:] + padded[1:, 1:]
    found = corners >= _LEAST_INK
    near = found[:-1, :-1] | found[1:, :-1] | found[:-1, 1:] | found[1:, 1:]
    return near & (counts > 0)


def _in_steps(
    top: float, bottom: float, gain: float, height: int, long_side: int
) -> tuple[float, float, float]:
    """Return top, bottom and gain that make a picture of a multiple of `PIXEL_MULTIPLE` rows.

    What is padded at the bottom was hardly seen in training, and boxes come out squeezed there.

    Args:
        top: First pixel of what is kept.
        bottom: Pixel after its last one.
        gain: Factor by which it is enlarged.
        height: Height of the whole page in pixels.
        long_side: Most rows.
    """
    # What was divided and multiplied again may be a hair too large.
    steps = math.ceil((bottom - top) * gain / PIXEL_MULTIPLE - 1e-9)
    wanted = steps * PIXEL_MULTIPLE / gain
    if wanted > height or steps * PIXEL_MULTIPLE > long_side:
        return top, bottom, (steps - 1) * PIXEL_MULTIPLE / (bottom - top)
    top = min(max(0.0, top - (wanted - bottom + top) / 2), height - wanted)
    return top, top + wanted, gain


def _span(cells: NDArray[np.intp], length: int) -> tuple[float, float]:
    """Return the pixels from the first cell to the last, with a margin on either side."""
    first, last = int(cells[0]) - _MARGIN_CELLS, int(cells[-1]) + 1 + _MARGIN_CELLS
    return float(max(0, first * CELL)), float(min(length, last * CELL))


def on_whole_page(result: "PageResult", crop: Box | None) -> "PageResult":
    """Return what was read from a picture with the boxes it has on the whole page.

    Args:
        result: What the engine made of the picture; its boxes are thousandths of its extent.
        crop: What the picture shows, as shares of the page as displayed; None: all of it.
    """
    crop = crop or _WHOLE
    if crop == _WHOLE and result.extent == (1.0, 1.0):
        return result
    turned = (360 - result.rotation) % 360
    left, top, right, bottom = as_displayed(crop, *upright_size(1.0, 1.0, result.rotation), turned)
    across, down = result.extent
    kept = (left, top, left + across * (right - left), top + down * (bottom - top))
    pieces: list[str] = []
    # Where parts of the old text begin, and how much further on they stand in the new one.
    starts, shifts = [0], [0]
    ends_in_new: list[int] = []
    place = length = 0
    for start, end, numbers in boxes_in(result.markup):
        box = ", ".join(str(value) for value in _placed(numbers, kept))
        pieces += [result.markup[place:start], box]
        length += start - place + len(box)
        place = end
        starts.append(end)
        shifts.append(length - end)
        ends_in_new.append(length)
    pieces.append(result.markup[place:])

    def moved(end: int) -> int:
        part = bisect_right(starts, end) - 1
        # Inside a box that is written anew, a token ends no later than the box does.
        last = ends_in_new[part] if part < len(ends_in_new) else end + shifts[part]
        return min(end + shifts[part], last)

    trace = TokenTrace(tuple(map(moved, result.trace.ends)), result.trace.probabilities)
    line_starts = tuple(
        LineStart(moved(offset), _placed((0, down), kept)[1]) for offset, down in result.line_starts
    )
    return replace(
        result,
        markup="".join(pieces),
        trace=trace,
        line_starts=line_starts,
        extent=(1.0, 1.0),
    )


def _placed(numbers: tuple[int, ...], kept: Box) -> list[int]:
    """Return left, top and so on in thousandths of the page, given those of `kept`."""
    sides = (kept[0], kept[1]) * 2
    spans = (kept[2] - kept[0], kept[3] - kept[1]) * 2
    return [
        min(round(side * MAX_COORDINATE + number * span), MAX_COORDINATE)
        for number, side, span in zip(numbers, sides, spans, strict=False)
    ]
