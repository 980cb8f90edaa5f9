"""Prepared pages as the images that the engine reads, at their size and smaller."""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from ocrcli.models.small.evaluation.page_set import EvaluationPage, Grey, load_pixels

if TYPE_CHECKING:
    from ocrcli.cropping import Cropping
    from ocrcli.document import PageImage
    from ocrcli.halves import Gap
    from ocrcli.ink import InkMap

_POINTS_PER_INCH = 72.0


class PreparedPages:
    """The pages of a set.

    For a second reading the command draws a page anew, in halves or a tenth smaller; here its
    pixels are scaled, so halves are larger than usual but hold no more detail.
    """

    def __init__(self, folder: Path, name: str, pages: Sequence[EvaluationPage]) -> None:
        """Remember where the pages lie.

        Args:
            folder: A prepared folder.
            name: Name of the set.
            pages: Its pages.
        """
        self._folder, self._pages = folder / "pages" / name, pages

    def __iter__(self) -> Iterator["PageImage"]:
        """Yield the pages, numbered from 1."""
        for number in range(1, len(self._pages) + 1):
            yield self._image(number)

    def smaller(self, page_number: int) -> "PageImage":
        """Return a page a tenth smaller."""
        return self._image(page_number, 1)

    def _image(self, number: int, tenths: int = 0) -> "PageImage":
        from ocrcli.document import PageFacts, PageImage

        page = self._pages[number - 1]
        pixels = load_pixels(self._folder / f"{page.name}.webp")
        ink = _ink(page, pixels)
        height, width = (
            pixels.shape
            if page.crop is None
            else (_pixels(page.height_pt, page.dpi), _pixels(page.width_pt, page.dpi))
        )
        for _ in range(tenths):
            pixels = _smaller(pixels)
        return PageImage(
            pixels,
            PageFacts(
                page_number=number,
                width_pt=page.width_pt,
                height_pt=page.height_pt,
                image_width=width,
                image_height=height,
                dpi=page.dpi,
                ink_pixels=ink.total,
                ink=ink,
            ),
            crop=page.crop,
            redraw=partial(self._image, number),
            halves=partial(self._halves, number),
        )

    def _halves(self, number: int, places: "Sequence[Gap]") -> "list[PageImage]":
        from ocrcli.halves import half_images
        from ocrcli.raster import PageSize, resample

        page, whole = self._pages[number - 1], self._image(number)
        sheet = Image.fromarray(whole.pixels)
        if page.crop is not None:
            # The page with its margins, which are paper.
            paper = int(np.median(whole.pixels))
            across = round(whole.pixels.shape[1] / (page.crop[2] - page.crop[0]))
            down = round(whole.pixels.shape[0] / (page.crop[3] - page.crop[1]))
            sheet = Image.new("L", (across, down), paper)
            sheet.paste(
                Image.fromarray(whole.pixels),
                (round(page.crop[0] * across), round(page.crop[1] * down)),
            )

        def draw(plan: "Cropping") -> Grey:
            across, down = sheet.size
            left, top, right, bottom = plan.box
            area = (left * across, top * down, right * across, bottom * down)
            return resample(sheet, plan.columns, plan.rows, area)

        return half_images(whole, places, PageSize(), math.inf, draw)


def _smaller(pixels: Grey) -> Grey:
    from ocrcli.raster import PIXEL_MULTIPLE, resample

    height, width = pixels.shape
    rows = height * 9 // 10
    # As the command does with pages that it crops, but for low ones.
    if height > 10 * PIXEL_MULTIPLE:
        rows = rows // PIXEL_MULTIPLE * PIXEL_MULTIPLE
    return resample(Image.fromarray(pixels), max(1, width * 9 // 10), max(1, rows))


def _pixels(points: float, dpi: float) -> int:
    return max(1, round(points * dpi / _POINTS_PER_INCH))


def _ink(page: EvaluationPage, pixels: Grey) -> "InkMap":
    """Return where the ink lies on the whole page, at the size at which that would be read."""
    from ocrcli.ink import ink_map
    from ocrcli.raster import PageSize, resample

    if page.crop is None:
        return ink_map(pixels)
    inches = page.width_pt / _POINTS_PER_INCH, page.height_pt / _POINTS_PER_INCH
    dpi = PageSize().dpi_for(*inches)
    across, down = _pixels(page.width_pt, dpi), _pixels(page.height_pt, dpi)
    whole = np.full((down, across), int(np.median(pixels)), np.uint8)
    left, right = round(page.crop[0] * across), round(page.crop[2] * across)
    top, bottom = round(page.crop[1] * down), round(page.crop[3] * down)
    whole[top:bottom, left:right] = resample(Image.fromarray(pixels), right - left, bottom - top)
    return ink_map(whole)
