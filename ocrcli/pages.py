"""Files to page images, one page at a time.

Only this module reads PDFs; it shares its knowledge of PyMuPDF with the writer of searchable ones.
A page that cannot be turned into a picture becomes a record of its own: as many records come out as
pages were asked for.
"""

import hashlib
import os
import re
import time
from collections.abc import Container, Iterator
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import numpy as np
import pymupdf
from PIL import Image

from ocrcli.document import Notice, PageFacts, PageFailure, PageImage, Source
from ocrcli.errors import DamagedError, EncryptedError, InputError
from ocrcli.file_type import file_type
from ocrcli.ink import ink_map
from ocrcli.options import FileOptions, PageSelection
from ocrcli.pictures import PictureError, PictureFile
from ocrcli.raster import PageSize, Pixels, dark_on_light, overview_of
from ocrcli.text_layer import Layer, read_layer

LOW_DPI = 90.0
"""Below this resolution small print is lost, and the page says so."""

_POINTS_PER_INCH = 72.0
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


class _PageError(Exception):
    """A page that cannot be drawn; the message says why."""


class _PageFile(Protocol):
    num_pages: int
    notices: tuple[Notice, ...]

    def draw(self, page_number: int, size: PageSize) -> tuple[Pixels, PageFacts, Layer | None]: ...

    def close(self) -> None: ...


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
        size = self._size.smaller()
        return self._load(page_number, time.perf_counter(), size)

    def _load(
        self, page_number: int, started: float, size: PageSize | None = None
    ) -> PageImage | PageFailure:
        try:
            drawn, facts, layer = self._file.draw(page_number, size or self._size)
        except (_PageError, PictureError) as error:
            return PageFailure(PageFacts(page_number), str(error))
        # Large models have seen light text on dark paper; they get the page as it is.
        upright, was_inverted = dark_on_light(overview_of(drawn) if self._size.color else drawn)
        ink = ink_map(upright)
        pixels = drawn if self._size.color else upright
        was_inverted = was_inverted and not self._size.color
        height, width = pixels.shape[:2]
        notices = list(facts.warnings)
        if was_inverted:
            notices.append(Notice("inverted", "light text on a dark page was inverted"))
        if 0 < facts.dpi < LOW_DPI:
            notices.append(Notice("downscaled", f"the page is read at {facts.dpi:.3g} dpi"))
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
        )

    @property
    def is_pdf(self) -> bool:
        """Whether the file is a PDF."""
        return isinstance(self._file, _PdfFile)

    def pdf_copy(self) -> pymupdf.Document:
        """Return the PDF opened once more, to be changed and saved under another name."""
        assert isinstance(self._file, _PdfFile), "only PDFs can be copied as such"
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
            opened = _PdfFile(path, name, password, with_text=files.with_text)
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

    def original(self, page_number: int) -> Image.Image:
        return self._file.original(page_number - 1)

    def close(self) -> None:
        self._file.close()


class _PdfFile:
    """An opened PDF."""

    def __init__(
        self, path: Path, name: str, password: str | None, *, with_text: bool = False
    ) -> None:
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
        pdf = _open_pdf(self._path)
        if pdf.needs_pass:
            pdf.authenticate(self._password or "")
        return pdf

    def draw(self, page_number: int, size: PageSize) -> tuple[Pixels, PageFacts, Layer | None]:
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
                raise _PageError("the page holds a picture that cannot be decoded")
        except _PDF_ERRORS as error:
            raise _PageError(f"the page cannot be drawn: {error}") from error
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

    def close(self) -> None:
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
            raise _PageError(
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


def _label(page: pymupdf.Page) -> str | None:
    try:
        return page.get_label() or None
    except _PDF_ERRORS:
        return None


def _is_flat(pixels: Pixels) -> bool:
    return int(pixels.max()) - int(pixels.min()) < 8
