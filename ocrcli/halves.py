"""A page read in two halves: where it may be cut, the pictures, and one result from two.

Half a page fills a picture with letters up to twice as large, and half as many lines to get lost
among. Only between blocks is it cut, and only where everything above is read before what is below:
never through columns.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from ocrcli.bands import gap, redrawable
from ocrcli.blocks import MAX_COORDINATE
from ocrcli.confidence import TokenTrace
from ocrcli.cropping import Cropping, cropping
from ocrcli.document import Page, PageImage
from ocrcli.ink import CELL, InkMap
from ocrcli.line_starts import LineStart
from ocrcli.raster import Grey, PageSize

if TYPE_CHECKING:
    from ocrcli.engine import PageResult

Gap = tuple[float, float]
"""Upper and lower edge of what lies between two blocks, as shares 0 to 1 of the page's height."""

Halves = Callable[[Sequence[Gap]], list[PageImage]]
"""Draws a page in two halves, cut in one of some gaps; none if that makes no larger letters."""

_HALF_DPI = 200.0
_LEAST_GAIN = 1.15
# Where a page may be cut, as shares of what is between its first line and its last.
_EARLIEST, _LATEST = 0.3, 0.7
# Boxes are a few pixels off.
_SLACK = 0.005

_FIRST_HALF_ONLY = ("header",)
_SECOND_HALF_ONLY = ("footer", "page_number", "footnote")


def gaps(page: Page) -> list[Gap]:
    """Return where a page that was read may be cut in two, the places nearest to its middle first.

    Args:
        page: The record of its first reading.
    """
    boxes = [block.box for block in page.blocks]
    known = [box for box in boxes if box is not None]
    if page.rotation or len(known) < max(2, len(boxes)):
        return []
    top, bottom = min(box[1] for box in known), max(box[3] for box in known)
    lowest = list(accumulate((box[3] for box in known), max))
    highest = list(accumulate((box[1] for box in reversed(known)), min))[::-1]
    found = [
        (upper / MAX_COORDINATE, lower / MAX_COORDINATE)
        for upper, lower in zip(lowest, highest[1:], strict=False)
        if upper <= lower and _EARLIEST <= _share(upper, lower, top, bottom) <= _LATEST
    ]
    middle = (top + bottom) / MAX_COORDINATE
    return sorted(found, key=lambda place: abs(sum(place) - middle))


def _share(upper: float, lower: float, top: float, bottom: float) -> float:
    return ((upper + lower) / 2 - top) / max(bottom - top, 1.0)


def half_images(
    whole: PageImage,
    places: Sequence[Gap],
    size: PageSize,
    sharpest_dpi: float,
    draw: Callable[[Cropping], Grey],
) -> list[PageImage]:
    """Return a page as two pictures, one below the other, or none where that gains nothing.

    Args:
        whole: The page as it is read first.
        places: Where it may be cut, in order of preference.
        size: The size at which pages are read.
        sharpest_dpi: Resolution that the page can be drawn at.
        draw: Draws a part of the page, dark on light.
    """
    ink, facts = whole.facts.ink, whole.facts
    cut = _cut(whole, places)
    if ink is None or cut is None or not facts.width_pt:
        return []
    images = []
    for top, bottom in ((0.0, cut), (cut, 1.0)):
        part = _between(ink, top, bottom)
        dpi = 72.0 * ink.width / facts.width_pt
        plan = cropping(part, dpi, replace(size, crop_dpi=_HALF_DPI), sharpest_dpi)
        if plan is None or plan.dpi < _LEAST_GAIN * facts.dpi:
            return []
        pixels = _only(draw(plan), plan, top, bottom)
        # Half a page is no page to tell from which way up it lies.
        part_facts = replace(facts, dpi=plan.dpi, ink=None, ink_pixels=0)
        images.append(redrawable(PageImage(pixels, part_facts, crop=plan.box)))
    return images


def _cut(whole: PageImage, places: Sequence[Gap]) -> float | None:
    """Return the first place that holds rows without ink, as a share of the page's height."""
    rows = whole.pixels.shape[0]
    _, top, _, bottom = whole.crop or (0.0, 0.0, 1.0, 1.0)
    for upper, lower in places:
        first = round((upper - _SLACK - top) / (bottom - top) * rows)
        last = round((lower + _SLACK - top) / (bottom - top) * rows)
        first, last = max(0, first), min(rows, last)
        row = gap(whole.pixels[first:last], 0) if last > first else None
        if row is not None:
            return top + (first + row) / rows * (bottom - top)
    return None


def _between(ink: InkMap, top: float, bottom: float) -> InkMap:
    """Return the ink of a strip of the page."""
    counts = ink.counts.copy()
    counts[: int(top * ink.height) // CELL] = 0
    counts[-(-int(bottom * ink.height) // CELL) :] = 0
    return replace(ink, counts=counts)


def _only(pixels: Grey, plan: Cropping, top: float, bottom: float) -> Grey:
    """Return a picture with nothing but paper beyond a strip of the page."""
    rows = pixels.shape[0]
    _, upper, _, lower = plan.box
    first = round((top - upper) / (lower - upper) * rows)
    last = round((bottom - upper) / (lower - upper) * rows)
    kept = pixels.copy()
    paper = int(np.median(pixels))
    kept[: max(0, first)] = paper
    kept[max(0, last) :] = paper
    return kept


def one_result(upper: "PageResult", lower: "PageResult") -> "PageResult | None":
    """Return the result of a page from those of its halves, or None if one of them is no good.

    Args:
        upper: What was read from the upper half; boxes are those on the page.
        lower: What was read from the lower half.
    """
    if upper.finish != "eos" or lower.finish != "eos" or upper.rotation or lower.rotation:
        return None
    upper, lower = _without(upper, _SECOND_HALF_ONLY), _without(lower, _FIRST_HALF_ONLY)
    separator = "\n" if upper.markup and lower.markup else ""
    shift = len(upper.markup) + len(separator)
    return replace(
        upper,
        token_ids=upper.token_ids + lower.token_ids,
        markup=f"{upper.markup}{separator}{lower.markup}",
        prompt_tokens=upper.prompt_tokens + lower.prompt_tokens,
        output_tokens=upper.output_tokens + lower.output_tokens,
        seconds=replace(
            upper.seconds,
            encode=upper.seconds.encode + lower.seconds.encode,
            prefill=upper.seconds.prefill + lower.seconds.prefill,
            decode=upper.seconds.decode + lower.seconds.decode,
        ),
        trace=TokenTrace(
            (*upper.trace.ends, *(end + shift for end in lower.trace.ends)),
            upper.trace.probabilities + lower.trace.probabilities,
        ),
        line_starts=(
            *upper.line_starts,
            *(LineStart(start.offset + shift, start.down) for start in lower.line_starts),
        ),
        notices=tuple(dict.fromkeys((*upper.notices, *lower.notices))),
    )


def _without(result: "PageResult", labels: Sequence[str]) -> "PageResult":
    """Return a result whose blocks with some labels, which stand at the cut, are text."""
    found = list(re.finditer(rf"(?<=<\|det\|>)(?:{'|'.join(labels)})(?= \[)", result.markup))
    if not found:
        return result
    pieces, place = [], 0
    ends, shifts = [0], [0]
    for label in found:
        pieces += [result.markup[place : label.start()], "text"]
        place = label.end()
        ends.append(place)
        shifts.append(shifts[-1] + len("text") - len(label[0]))
    pieces.append(result.markup[place:])

    def moved(offset: int) -> int:
        return offset + shifts[bisect_right(ends, offset) - 1]

    trace = TokenTrace(tuple(map(moved, result.trace.ends)), result.trace.probabilities)
    starts = tuple(LineStart(moved(start.offset), start.down) for start in result.line_starts)
    return replace(result, markup="".join(pieces), trace=trace, line_starts=starts)
