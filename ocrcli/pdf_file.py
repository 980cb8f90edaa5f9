"""One opened PDF: its pages as pictures, and what PyMuPDF complained of while it drew them."""

import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pymupdf
from PIL import Image

from ocrcli.bands import Banding
from ocrcli.cropping import Cropping
from ocrcli.document import Box, Notice, PageFacts
from ocrcli.errors import DamagedError, EncryptedError
from ocrcli.raster import Grey, PageSize, Pixels
from ocrcli.text_layer import Layer, read_layer

FIGURE_DPI = 200.0
"""Resolution at which figures are cut out of PDFs."""

_POINTS_PER_INCH = 72.0
_LONGEST_FIGURE = 6000
_MAX_DECODED_BYTES = 2 << 30
_MAX_WHOLE_DECODED_BYTES = 512 << 20
_WHOLE_IMAGE_FILTERS = ("JPXDecode", "JBIG2Decode")
# Complaints about what changes the look of a page at most, but loses none of its content.
_HARMLESS = re.compile(
    r"font|glyph|cmap|encoding|icc|profile|colou?r ?space|blending|output intent|optional content"
    r"|actualtext|annot|link|outline|struct|metadata|version|incorrect data check",
    re.IGNORECASE,
)
_PDF_ERRORS = (RuntimeError, ValueError, OSError, MemoryError, pymupdf.mupdf.FzErrorBase)


class PdfPageError(Exception):
    """A page that cannot be drawn; the message says why."""


class PdfFile:
    """An opened PDF.

    Attributes:
        num_pages: Its pages.
        notices: What a reader should know of the file as a whole.
    """

    def __init__(
        self, path: Path, name: str, password: str | None, *, with_text: bool = False
    ) -> None:
        """Open a PDF.

        Args:
            path: The file.
            name: The file as the user named it.
            password: Its password; the empty one is tried first.
            with_text: Whether the text that pages carry is looked at.

        Raises:
            DamagedError: No page could be found.
            EncryptedError: The password is missing or wrong.
        """
        self._path, self._password, self._with_text = path, password, with_text
        # The library prints its complaints by itself; they are collected per page instead.
        pymupdf.TOOLS.mupdf_display_errors(False)
        pymupdf.TOOLS.mupdf_display_warnings(False)
        try:
            self._pdf = _open_pdf(path)
        except _PDF_ERRORS as error:
            raise DamagedError("the PDF is damaged beyond repair", source=name) from error
        try:
            self._unlock(name, password)
            self.num_pages = self._count(name)
        except Exception:
            self._pdf.close()
            raise
        detail = "the PDF is damaged and was repaired; content may be missing"
        repaired: tuple[Notice, ...] = (Notice("repaired", detail),)
        self.notices = repaired if self._pdf.is_repaired else ()

    def _unlock(self, name: str, password: str | None) -> None:
        if not self._pdf.needs_pass:
            return
        if password is None:
            raise EncryptedError("the PDF is encrypted and needs a password", source=name)
        try:
            password.encode("utf-8")
        except UnicodeEncodeError:
            detail = "the password is not valid UTF-8"
            raise EncryptedError(detail, source=name) from None
        if not self._pdf.authenticate(password):
            raise EncryptedError("the password is wrong", source=name)

    def _count(self, name: str) -> int:
        try:
            count = int(self._pdf.page_count)
        except _PDF_ERRORS as error:
            raise DamagedError("the list of pages is damaged", source=name) from error
        if count:
            return count
        if self._pdf.is_repaired:
            raise DamagedError("the PDF is damaged and no page could be recovered", source=name)
        raise DamagedError("the PDF has zero pages", source=name)

    def reopen(self) -> pymupdf.Document:
        """Return the PDF opened once more, to be changed and saved under another name."""
        pdf = _open_pdf(self._path)
        if pdf.needs_pass:
            pdf.authenticate(self._password or "")
        return pdf

    def draw(self, page_number: int, size: PageSize) -> tuple[Pixels, PageFacts, Layer | None]:
        """Return a page's pixels, what is known of it, and the text it carries.

        Args:
            page_number: The page, from 1.
            size: The size at which pages are read.

        Raises:
            PdfPageError: The page cannot be drawn.
        """
        pymupdf.TOOLS.reset_mupdf_warnings()
        try:
            page = self._pdf.load_page(page_number - 1)
            notices = _mend_geometry(page)
            _refuse_bombs(page)
            width_pt, height_pt = page.rect.width, page.rect.height
            dpi = size.dpi_for(width_pt / _POINTS_PER_INCH, height_pt / _POINTS_PER_INCH)
            pixels = _render(page, dpi, size)
            label, rotation = _label(page), int(page.rotation)
            layer = read_layer(page) if self._with_text else None
            complaints = pymupdf.TOOLS.mupdf_warnings()
            if complaints and _is_flat(pixels) and page.get_images():
                raise PdfPageError("the page holds a picture that cannot be decoded")
        except _PDF_ERRORS as error:
            raise PdfPageError(f"the page cannot be drawn: {error}") from error
        finally:
            # The library keeps decoded pictures, up to 256 MB; pages rarely share any.
            pymupdf.TOOLS.store_shrink(100)
        notices += _complaint(complaints)
        if not complaints and self._pdf.is_repaired and _is_flat(pixels):
            detail = "the page is blank in a file that had to be repaired; its content may be lost"
            notices.append(Notice("damaged_content", detail))
        facts = PageFacts(
            page_number,
            label=label,
            width_pt=width_pt,
            height_pt=height_pt,
            dpi=dpi,
            rotation=rotation,
            warnings=tuple(notices),
        )
        return pixels, facts, layer

    def detail(self, facts: PageFacts) -> tuple[float, float]:
        """Return a page's exact width in points, and the dots per inch beyond which it is blurred.

        Args:
            facts: What is known of the page.
        """
        return facts.width_pt, math.inf

    def rows(self, page_number: int, plan: Banding) -> Callable[[int, int], Grey]:
        """Return a function that draws rows of a very long page: the first one, and how many.

        Args:
            page_number: The page, from 1.
            plan: Tells the resolution.
        """

        def draw(first: int, rows: int) -> Grey:
            try:
                page = self._pdf.load_page(page_number - 1)
                _mend_geometry(page)
                return _render_rows(page, plan.dpi, first, rows)
            except _PDF_ERRORS as error:
                raise PdfPageError(f"the page cannot be drawn: {error}") from error
            finally:
                pymupdf.TOOLS.store_shrink(100)

        return draw

    def cropped(self, page_number: int, crop: Cropping) -> Grey:
        """Return a part of a page in grey.

        Args:
            page_number: The page, from 1; `draw` has drawn it as a whole before.
            crop: Which part, and at which resolution.

        Raises:
            PdfPageError: The page cannot be drawn.
        """
        try:
            page = self._pdf.load_page(page_number - 1)
            _mend_geometry(page)
            return _render_part(page, crop)
        except _PDF_ERRORS as error:
            raise PdfPageError(f"the page cannot be drawn: {error}") from error
        finally:
            pymupdf.TOOLS.store_shrink(100)

    def cut(self, page_number: int, boxes: Sequence[Box]) -> list[Image.Image]:
        """Return parts of a page in colour, as displayed, at `FIGURE_DPI`.

        Args:
            page_number: The page, from 1.
            boxes: Left, top, right and bottom of each part, as shares 0 to 1 of the page.

        Raises:
            PdfPageError: The page cannot be drawn.
        """
        try:
            page = self._pdf.load_page(page_number - 1)
            _mend_geometry(page)
            _refuse_bombs(page)
            return [_cut_out(page, box) for box in boxes]
        except _PDF_ERRORS as error:
            raise PdfPageError(f"the page cannot be drawn: {error}") from error
        finally:
            pymupdf.TOOLS.store_shrink(100)

    def close(self) -> None:
        """Close the file."""
        self._pdf.close()


def _open_pdf(path: Path) -> pymupdf.Document:
    try:
        name = str(path)
        name.encode("utf-8")
    except UnicodeEncodeError:
        # A name that is not valid UTF-8 cannot be handed to the library.
        return pymupdf.open(stream=path.read_bytes(), filetype="pdf")
    return pymupdf.open(name, filetype="pdf")


def _complaint(complaints: str) -> list[Notice]:
    """Return what the library complained of: the first loss of content, or else the first line."""
    lines = complaints.splitlines()
    if not lines:
        return []
    losses = [line for line in lines if not _HARMLESS.search(line)]
    if losses:
        return [Notice("damaged_content", f"the page may be damaged: {losses[0]}")]
    return [Notice("unusual_content", f"the PDF library says: {lines[0]}")]


def _mend_geometry(page: pymupdf.Page) -> list[Notice]:
    """Show the whole sheet when nothing would be left of it."""
    if (page.mediabox & page.cropbox).is_empty and not page.mediabox.is_empty:
        page.set_cropbox(page.mediabox)
        return [Notice("crop_box_ignored", "the crop box lies outside the page and was ignored")]
    return []


def _refuse_bombs(page: pymupdf.Page) -> None:
    for image in page.get_images(full=True):
        width, height, bits, colorspace, filter_ = image[2], image[3], image[4], image[5], image[8]
        channels = {"DeviceGray": 1, "DeviceCMYK": 4}.get(colorspace, 3) if bits > 1 else 1
        decoded = width * height * channels * max(bits, 1) // 8
        whole = any(name in str(filter_) for name in _WHOLE_IMAGE_FILTERS)
        if decoded > (_MAX_WHOLE_DECODED_BYTES if whole else _MAX_DECODED_BYTES):
            raise PdfPageError(
                f"the page holds a picture of {width:,} x {height:,} pixels, which is too large"
            )


def _render(page: pymupdf.Page, dpi: float, size: PageSize) -> Pixels:
    zoom = dpi / _POINTS_PER_INCH
    colors = pymupdf.csRGB if size.color else pymupdf.csGRAY
    pixmap = page.get_pixmap(matrix=pymupdf.Matrix(zoom, zoom), colorspace=colors, alpha=False)
    rows = np.frombuffer(pixmap.samples_mv, dtype=np.uint8).reshape(pixmap.height, pixmap.stride)
    pixels = rows[:, : pixmap.width * pixmap.n]
    if size.color:
        pixels = pixels.reshape(pixmap.height, pixmap.width, pixmap.n)
    # Rounding may add a row or a column beyond the size asked for.
    return pixels[: size.long_side, : size.long_side].copy()


def _render_rows(page: pymupdf.Page, dpi: float, first: int, rows: int) -> Grey:
    """Return some rows of a page in grey, without drawing the others."""
    zoom = dpi / _POINTS_PER_INCH
    clip = pymupdf.Rect(0, first / zoom, page.rect.width, (first + rows) / zoom)
    pixmap = page.get_pixmap(
        matrix=pymupdf.Matrix(zoom, zoom), colorspace=pymupdf.csGRAY, alpha=False, clip=clip
    )
    pixels = np.frombuffer(pixmap.samples_mv, dtype=np.uint8)
    # Rounding may add a row at either end.
    skipped = max(0, first - pixmap.y)
    return pixels.reshape(pixmap.height, pixmap.stride)[
        skipped : skipped + rows, : pixmap.width
    ].copy()


def _render_part(page: pymupdf.Page, crop: Cropping) -> Grey:
    zoom = crop.dpi / _POINTS_PER_INCH
    left, top, right, bottom = crop.box
    width, height = page.rect.width, page.rect.height
    area = pymupdf.Rect(left * width, top * height, right * width, bottom * height)
    pixmap = page.get_pixmap(
        matrix=pymupdf.Matrix(zoom, zoom), colorspace=pymupdf.csGRAY, alpha=False, clip=area
    )
    rows = np.frombuffer(pixmap.samples_mv, dtype=np.uint8).reshape(pixmap.height, pixmap.stride)
    # Rounding may add a row or a column.
    return rows[: crop.rows, : min(crop.columns, pixmap.width)].copy()


def _cut_out(page: pymupdf.Page, box: Box) -> Image.Image:
    """Return a part of a page at `FIGURE_DPI`, or at less where that would be huge."""
    width, height = page.rect.width, page.rect.height
    left, top, right, bottom = box[0] * width, box[1] * height, box[2] * width, box[3] * height
    # A part of no extent still is a picture.
    right, bottom = max(right, left + 1.0), max(bottom, top + 1.0)
    zoom = FIGURE_DPI / _POINTS_PER_INCH
    zoom = min(zoom, _LONGEST_FIGURE / max(right - left, bottom - top))
    area = pymupdf.Rect(left, top, right, bottom) + (page.rect.x0, page.rect.y0) * 2
    pixmap = page.get_pixmap(
        matrix=pymupdf.Matrix(zoom, zoom), clip=area, colorspace=pymupdf.csRGB, alpha=False
    )
    image = Image.frombytes("RGB", (pixmap.width, pixmap.height), pixmap.samples)
    dpi = zoom * _POINTS_PER_INCH
    image.info["dpi"] = (dpi, dpi)
    return image


def _label(page: pymupdf.Page) -> str | None:
    try:
        return page.get_label() or None
    except _PDF_ERRORS:
        return None


def _is_flat(pixels: Pixels) -> bool:
    return int(pixels.max()) - int(pixels.min()) < 8
