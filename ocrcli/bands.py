"""Very long pages, cut into bands that can be read: where to cut, and at which resolution.

A receipt or a screenshot of a whole web site, scaled to the size at which a page is read, becomes
illegible. It is cut between lines instead, where its rows hold no ink. Where there is no such place
two bands share some rows, and what was read twice is sorted out afterwards (`band_seams`).
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from ocrcli.document import Notice, PageFacts, PageFailure, PageImage
from ocrcli.ink import ink_map, ink_quads
from ocrcli.raster import Grey, PageSize, dark_on_light, tenths_smaller

MARGIN_ROWS = 16
"""Rows of paper added above and below a band: models expect no text at the very edge."""

INVERTED = Notice("inverted", "light text on a dark page was inverted")
"""Said of pages and bands that were turned from light on dark to dark on light."""

_POINTS_PER_INCH = 72.0
_LONG_ASPECT = 3.0
_LEGIBLE_DPI = 72.0
_LEAST_GAIN = 1.5
_BAND_DPI = 150.0
_BAND_ASPECT = 1.2
_LEAST_DPI = 4.0
_MAX_BANDS = 256
# Where a band may end, as a share of its height, and how much of it is read twice if it has to.
_EARLIEST_CUT = 0.6
_OVERLAP = 0.12
_RULE_SHARE = 0.9
_SPECKS_PER_COLUMN = 0.002


@dataclass(frozen=True)
class Banding:
    """How a very long page is cut.

    Attributes:
        dpi: Resolution of the bands.
        columns: Their width in pixels.
        rows: Largest height of a band in pixels, without margins.
        total_rows: Height of the whole page in pixels at this resolution.
        is_reduced: Whether the file holds more detail than the bands show.
    """

    dpi: float
    columns: int
    rows: int
    total_rows: int
    is_reduced: bool


@dataclass(frozen=True, eq=False)
class Piece:
    """Pixels of one band.

    Attributes:
        first_row: Its first row, counted in rows of the whole page.
        pixels: Grey values, uint8 [height, width], without margins.
        overlap: Rows at its top that belong to the band before as well.
    """

    first_row: int
    pixels: Grey
    overlap: int


@dataclass(frozen=True, eq=False)
class Band:
    """A band of a page, as a page of its own that the model can read.

    Attributes:
        image: The band with its margins; its facts speak of the band alone.
        top_pt: Where it begins on the page, in points from the page's top; its margin included.
        overlap_pt: Height that it shares with the band before, in points; 0 if cut between lines.
    """

    image: PageImage
    top_pt: float
    overlap_pt: float


Bands = Callable[[], Iterator[Band | PageFailure]]
"""Draws the bands of a page from top to bottom, one at a time; a failure is the last."""


def banding(
    width_inches: float, height_inches: float, size: PageSize, sharpest_dpi: float = math.inf
) -> Banding | None:
    """Return how a page is cut, or None if it is read as a whole.

    Cut are pages at least three times as high as wide that would be read below 72 dots per inch,
    where that raises the resolution by half or more. Wide pages are not: their lines would be cut.

    Args:
        width_inches: Width of the page as displayed.
        height_inches: Height of the page as displayed.
        size: The size at which pages are read.
        sharpest_dpi: Resolution of the file, which nothing is gained by exceeding.
    """
    if width_inches <= 0 or height_inches < _LONG_ASPECT * width_inches or size.color:
        return None
    whole_dpi = min(size.dpi_for(width_inches, height_inches), sharpest_dpi)
    best = min(_BAND_DPI, sharpest_dpi, size.max_dpi)
    rows = size.long_side - 2 * MARGIN_ROWS
    dpi = min(best, rows / (_BAND_ASPECT * width_inches))
    total_rows = round(height_inches * dpi)
    if whole_dpi >= _LEGIBLE_DPI or dpi < max(_LEAST_DPI, _LEAST_GAIN * whole_dpi):
        return None
    if total_rows > _MAX_BANDS * _EARLIEST_CUT * rows:
        return None
    return Banding(dpi, max(1, round(width_inches * dpi)), rows, total_rows, dpi < sharpest_dpi)


def pieces(draw: Callable[[int, int], Grey], plan: Banding) -> Iterator[Piece]:
    """Yield the bands of a page from top to bottom; each is drawn when it is asked for.

    Args:
        draw: Returns the pixels of some rows, given the first one and their number.
        plan: How the page is cut.
    """
    first, overlap = 0, 0
    while True:
        rest = plan.total_rows - first
        if rest <= plan.rows:
            yield Piece(first, draw(first, rest), overlap)
            return
        # The last two share what is left, so that no sliver remains.
        height = plan.rows if rest >= 2 * plan.rows else min(plan.rows, math.ceil(0.65 * rest))
        pixels = draw(first, height)
        cut = gap(pixels, int(_EARLIEST_CUT * height))
        yield Piece(first, pixels if cut is None else pixels[:cut], overlap)
        overlap = int(_OVERLAP * height) if cut is None else 0
        first += (height if cut is None else cut) - overlap


def gap(pixels: Grey, start: int) -> int | None:
    """Return the middle of the highest gap between lines, or None if there is none.

    Rules that run down the whole page and a speck or two do not count as ink.

    Args:
        pixels: Grey values, uint8 [height, width].
        start: The first row that is looked at.
    """
    quads = ink_quads(pixels)[start // 2 :]
    rules = quads.mean(0) > _RULE_SHARE
    counts = quads[:, ~rules].sum(1)
    is_blank = counts <= int(_SPECKS_PER_COLUMN * quads.shape[1])
    # Where a run of blank rows begins and ends.
    edges = np.flatnonzero(np.diff(np.concatenate(([0], is_blank.astype(np.int8), [0]))))
    begins, ends = edges[::2], edges[1::2]
    if not len(begins):
        return None
    # Of gaps of one height the lowest, which makes for the fewest bands.
    best = len(begins) - 1 - int(np.argmax((ends - begins)[::-1]))
    return 2 * (start // 2) + int(begins[best] + ends[best])


def with_margins(pixels: Grey) -> Grey:
    """Return a band with paper above and below.

    Args:
        pixels: Grey values, uint8 [height, width].
    """
    paper = int(np.median(pixels))
    return np.pad(pixels, ((MARGIN_ROWS, MARGIN_ROWS), (0, 0)), constant_values=paper)


def band_of(page_number: int, piece: Piece, plan: Banding, seconds: float) -> Band:
    """Return a band as a page of its own.

    Args:
        page_number: The page that it is a part of.
        piece: Its pixels.
        plan: How the page is cut.
        seconds: Time spent on drawing it.
    """
    pixels, was_inverted = dark_on_light(with_margins(piece.pixels))
    ink = ink_map(pixels)
    height, width = pixels.shape
    points = _POINTS_PER_INCH / plan.dpi
    image = PageImage(
        pixels,
        PageFacts(
            page_number=page_number,
            width_pt=width * points,
            height_pt=height * points,
            image_width=width,
            image_height=height,
            dpi=plan.dpi,
            ink_pixels=ink.total,
            ink=ink,
            warnings=(INVERTED,) if was_inverted else (),
            seconds=seconds,
        ),
    )

    top = (piece.first_row - MARGIN_ROWS) * points
    return Band(redrawable(image), top, piece.overlap * points)


def redrawable(image: PageImage) -> PageImage:
    """Return a part of a page as one that can be had smaller, by scaling its pixels.

    Args:
        image: The part.
    """

    def redraw(tenths: int) -> PageImage:
        return replace(image, pixels=tenths_smaller(image.pixels, tenths))

    return replace(image, redraw=redraw)
