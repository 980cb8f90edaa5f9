"""Files to page images, one page at a time.

A page that cannot be turned into a picture becomes a record of its own: as many records come out as
pages were asked for.
"""

import hashlib
import os
import time
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import numpy as np
import pymupdf
from PIL import Image

from ocrcli.bands import INVERTED, Band, Banding, band_of, banding, pieces
from ocrcli.cropping import Cropping, cropping
from ocrcli.document import Box, Notice, PageFacts, PageFailure, PageImage, Source
from ocrcli.errors import InputError
from ocrcli.file_type import file_type
from ocrcli.halves import Gap, half_images
from ocrcli.ink import InkMap, ink_map
from ocrcli.options import FileOptions, PageSelection
from ocrcli.pdf_file import PdfFile, PdfPageError
from ocrcli.pictures import PictureError, PictureFile
from ocrcli.raster import (
    SMALL_ENLARGEMENT,
    Grey,
    PageSize,
    Pixels,
    dark_on_light,
    overview_of,
    resample,
)
from ocrcli.text_layer import Layer

LOW_DPI = 90.0
"""Below this resolution small print is lost, and the page says so."""

_POINTS_PER_INCH = 72.0


class _PageFile(Protocol):
    num_pages: int
    notices: tuple[Notice, ...]

    def draw(self, page_number: int, size: PageSize) -> tuple[Pixels, PageFacts, Layer | None]: ...

    def detail(self, facts: PageFacts) -> tuple[float, float]: ...

    def rows(self, page_number: int, plan: Banding) -> "_Rows": ...

    def cropped(self, page_number: int, crop: Cropping) -> Grey: ...

    def cut(self, page_number: int, boxes: Sequence[Box]) -> list[Image.Image]: ...

    def close(self) -> None: ...


_Rows = Callable[[int, int], Grey]
"""Draws some rows of a very long page, given the first one and their number."""


class Pages:
    """The selected pages of one opened file.

    Attributes:
        source: The file, for the records.
        page_numbers: The selected pages, ascending.

    Example:
        >>> with open_pages("letter.pdf") as pages:  # doctest: +SKIP
        ...     for page in pages:
        ...         print(page.page_number)
    """

    def __init__(
        self, file: _PageFile, source: Source, page_numbers: tuple[int, ...], size: PageSize
    ) -> None:
        """Keep an opened file; use `open_pages` instead."""
        self._file, self._size = file, size
        self.source, self.page_numbers = source, page_numbers

    def __iter__(self) -> Iterator[PageImage | PageFailure]:
        """Yield one record per selected page; a page is loaded when it is asked for."""
        yield from self.without(())

    def without(self, page_numbers: Container[int]) -> Iterator[PageImage | PageFailure]:
        """Yield the selected pages that are not among the given ones."""
        for page_number in self.page_numbers:
            if page_number not in page_numbers:
                yield self._load(page_number, time.perf_counter())

    def smaller(self, page_number: int) -> PageImage | PageFailure:
        """Return a page once more, drawn a tenth smaller than usual."""
        return self._redrawn(page_number, 1)

    def _banded(self, facts: PageFacts) -> tuple[PageFacts, Banding | None]:
        """Return how a page is cut, None if it is read as a whole, and what is known better now."""
        width, height = facts.width_pt / _POINTS_PER_INCH, facts.height_pt / _POINTS_PER_INCH
        # Most pages are ruled out by their shape, without another look at the file.
        if banding(width, height, self._size) is None:
            return facts, None
        try:
            width_pt, sharpest = self._file.detail(facts)
        except PictureError:
            return facts, None
        plan = banding(width_pt / _POINTS_PER_INCH, height, self._size, sharpest)
        if plan is None:
            return facts, None
        return replace(facts, width_pt=width_pt, dpi=plan.dpi), plan

    def _cropped(
        self, facts: PageFacts, ink: InkMap, size: PageSize
    ) -> tuple[Cropping, Grey] | None:
        """Return how a page is cropped, and its pixels; None if it is read as a whole."""
        # Most pages without margins are ruled out without another look at the file.
        if cropping(ink, facts.dpi, size) is None:
            return None
        try:
            _, sharpest = self._file.detail(facts)
            plan = cropping(ink, facts.dpi, size, _enlarged(sharpest, size))
            return None if plan is None else (plan, self._file.cropped(facts.page_number, plan))
        except (PdfPageError, PictureError):
            # It was drawn as a whole.
            return None

    def _halves(self, page_number: int, places: Sequence[Gap]) -> list[PageImage]:
        whole = self._load(page_number, time.perf_counter())
        if isinstance(whole, PageFailure):
            return []
        is_inverted = INVERTED in whole.facts.warnings

        def draw(crop: Cropping) -> Grey:
            drawn = self._file.cropped(page_number, crop)
            return 255 - drawn if is_inverted else drawn

        try:
            _, sharpest = self._file.detail(whole.facts)
            return half_images(whole, places, self._size, _enlarged(sharpest, self._size), draw)
        except (PdfPageError, PictureError):
            # It was drawn as a whole.
            return []

    def _bands(self, page_number: int, plan: Banding) -> Iterator[Band | PageFailure]:
        started = time.perf_counter()
        try:
            for piece in pieces(self._file.rows(page_number, plan), plan):
                yield band_of(page_number, piece, plan, time.perf_counter() - started)
                started = time.perf_counter()
        except (PdfPageError, PictureError) as error:
            yield PageFailure(PageFacts(page_number), str(error))

    def _redrawn(self, page_number: int, tenths: int) -> PageImage | PageFailure:
        size = self._size
        for _ in range(tenths):
            size = size.smaller()
        return self._load(page_number, time.perf_counter(), size)

    def _load(
        self, page_number: int, started: float, size: PageSize | None = None
    ) -> PageImage | PageFailure:
        try:
            drawn, facts, layer = self._file.draw(page_number, size or self._size)
        except (PdfPageError, PictureError) as error:
            return PageFailure(PageFacts(page_number), str(error))
        # Large models have seen light text on dark paper; they get the page as it is.
        upright, was_inverted = dark_on_light(overview_of(drawn) if self._size.color else drawn)
        ink = ink_map(upright)
        pixels = drawn if self._size.color else upright
        was_inverted = was_inverted and not self._size.color
        height, width = pixels.shape[:2]
        notices = list(facts.warnings)
        facts, plan = self._banded(facts)
        crop = None if plan is not None else self._cropped(facts, ink, size or self._size)
        is_reduced = True
        if plan is not None:
            height, width, is_reduced = plan.total_rows, plan.columns, plan.is_reduced
        elif was_inverted:
            notices.append(INVERTED)
        if crop is not None:
            kept, larger = crop
            width, height = (
                round(width * kept.dpi / facts.dpi),
                round(height * kept.dpi / facts.dpi),
            )
            pixels = 255 - larger if was_inverted else larger
            facts = replace(facts, dpi=kept.dpi)
        if 0 < facts.dpi < LOW_DPI and is_reduced:
            detail = f"the page is read at {facts.dpi:.3g} dpi, by the size that its file gives it"
            notices.append(Notice("downscaled", detail))
        return PageImage(
            pixels,
            PageFacts(
                page_number=page_number,
                label=facts.label,
                width_pt=round(facts.width_pt, 2),
                height_pt=round(facts.height_pt, 2),
                image_width=width,
                image_height=height,
                dpi=round(facts.dpi, 1),
                rotation=facts.rotation,
                ink_pixels=ink.total,
                ink=ink,
                warnings=tuple(notices),
                seconds=time.perf_counter() - started,
            ),
            layer=layer,
            crop=None if crop is None else crop[0].box,
            bands=None if plan is None else partial(self._bands, page_number, plan),
            redraw=partial(self._redrawn, page_number),
            halves=None if plan is not None else partial(self._halves, page_number),
        )

    def cutouts(self, page_number: int, boxes: Sequence[Box]) -> list[Image.Image]:
        """Return parts of a page in colour, as displayed: at 200 dpi, or a picture's own pixels.

        Args:
            page_number: The page, from 1.
            boxes: Left, top, right and bottom of each part, as shares 0 to 1 of the page.

        Raises:
            PictureError: The page cannot be drawn.
        """
        try:
            return self._file.cut(page_number, boxes)
        except PdfPageError as error:
            raise PictureError(str(error)) from error

    @property
    def is_pdf(self) -> bool:
        """Whether the file is a PDF."""
        return isinstance(self._file, PdfFile)

    def pdf_copy(self) -> pymupdf.Document:
        """Return the PDF opened once more, to be changed and saved under another name."""
        assert isinstance(self._file, PdfFile), "only PDFs can be copied as such"
        return self._file.reopen()

    def picture(self, page_number: int) -> Image.Image:
        """Return a page of a picture file in its own size and colours, upright.

        Raises:
            PictureError: The picture is damaged or too large.
        """
        assert isinstance(self._file, _Pictures), "pages of PDFs are no pictures"
        return self._file.original(page_number)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        """Return the pages."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file."""
        self.close()


def open_pages(
    path: str | os.PathLike[str],
    selection: PageSelection | None = None,
    password: str | None = None,
    size: PageSize | None = None,
    files: FileOptions | None = None,
    name: str | None = None,
) -> Pages:
    """Open a PDF or a picture and return its pages, to be iterated over once or several times.

    The type is read from the file's first bytes, not from its name.

    Args:
        path: A PDF, PNG, JPEG, TIFF, WebP, BMP, GIF or JPEG 2000 file.
        selection: Pages to read; None for all.
        password: Password of an encrypted PDF. The empty one is tried first.
        size: The size at which pages are read; None for the usual one.
        files: Frames, size limits and text layers; None for the defaults.
        name: What to call the file; None for its path.

    Raises:
        InputError: The file is missing, unreadable or of no supported type.
        DamagedError: The file is damaged beyond use, or has no pages.
        EncryptedError: A password is needed, or the given one is wrong.
        UsageError: A selected page does not exist.
    """
    name, path, files = name or os.fspath(path), Path(path), files or FileOptions()
    try:
        opened: _PageFile
        if file_type(path, name) == "pdf":
            opened = PdfFile(path, name, password, with_text=files.with_text)
        else:
            opened = _Pictures(path, name, files)
        sha256 = _sha256(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"cannot be read: {reason}", source=name) from error
    try:
        page_numbers = (selection or PageSelection()).resolve(opened.num_pages)
    except Exception:
        opened.close()
        raise
    source = Source(name, sha256, opened.num_pages, len(page_numbers), opened.notices)
    return Pages(opened, source, page_numbers, size or PageSize())


def _enlarged(sharpest_dpi: float, size: PageSize) -> float:
    """Return the resolution up to which a picture may be enlarged."""
    return SMALL_ENLARGEMENT * size.picture_scale * sharpest_dpi


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class _Pictures:
    """A picture file behind the interface that PDFs share."""

    def __init__(self, path: Path, name: str, files: FileOptions) -> None:
        self._file = PictureFile(
            path, name, all_frames=files.all_frames, max_pixels=files.max_pixels
        )
        self.num_pages, self.notices = self._file.num_pages, self._file.notices

    def draw(self, page_number: int, size: PageSize) -> tuple[Pixels, PageFacts, None]:
        pixels, dpi, (width_pt, height_pt), notices = self._file.load(page_number - 1, size)
        facts = PageFacts(
            page_number, width_pt=width_pt, height_pt=height_pt, dpi=dpi, warnings=notices
        )
        return pixels, facts, None

    def detail(self, facts: PageFacts) -> tuple[float, float]:
        whole = self._file.upright(facts.page_number - 1)
        # The width known so far was rounded to a pixel of the page drawn small.
        exact = facts.height_pt * whole.width / whole.height
        is_square = abs(exact - facts.width_pt) <= _POINTS_PER_INCH / facts.dpi
        width_pt = exact if is_square else facts.width_pt
        sharpest = min(whole.width / width_pt, whole.height / facts.height_pt)
        return width_pt, sharpest * _POINTS_PER_INCH

    def rows(self, page_number: int, plan: Banding) -> _Rows:
        whole = self._file.upright(page_number - 1)
        scale = whole.height / plan.total_rows

        def draw(first: int, rows: int) -> Grey:
            box = (0, first * scale, whole.width, min((first + rows) * scale, whole.height))
            if (plan.columns, plan.total_rows) == whole.size:
                return np.array(whole.crop((0, first, whole.width, first + rows)))
            return resample(whole, plan.columns, rows, box)

        return draw

    def cropped(self, page_number: int, crop: Cropping) -> Grey:
        whole = self._file.upright(page_number - 1)
        left, top, right, bottom = crop.box
        area = (
            left * whole.width,
            top * whole.height,
            right * whole.width,
            bottom * whole.height,
        )
        return resample(whole, crop.columns, crop.rows, area)

    def original(self, page_number: int) -> Image.Image:
        return self._file.original(page_number - 1)

    def cut(self, page_number: int, boxes: Sequence[Box]) -> list[Image.Image]:
        whole = self.original(page_number)
        dpi = whole.info.get("dpi")
        parts = [whole.crop(_whole_pixels(box, *whole.size)) for box in boxes]
        for part in parts:
            part.info = {} if dpi is None else {"dpi": dpi}
        return parts

    def close(self) -> None:
        self._file.close()


def _whole_pixels(box: Box, width: int, height: int) -> tuple[int, int, int, int]:
    left, top = min(int(box[0] * width), width - 1), min(int(box[1] * height), height - 1)
    right, bottom = round(box[2] * width), round(box[3] * height)
    return left, top, max(right, left + 1), max(bottom, top + 1)
