"""Searchable PDF: the pages as they were, with the transcript laid over them unseen."""

import io
import os
import time
from pathlib import Path
from typing import Self

import pymupdf

from ocrcli.document import Document, Page, Source
from ocrcli.errors import OutputError
from ocrcli.outputs import hidden_name, unwritable
from ocrcli.pages import Pages
from ocrcli.writers.lines import NOTE, PlacedLine, upright_lines

_INVISIBLE = 3
# The constant exists, but the library declares no types for it.
_KEEP_ENCRYPTION: int = pymupdf.PDF_ENCRYPT_KEEP  # type: ignore[attr-defined]
_DESCENT = 0.22
_MIN_FONT_SIZE = 1.0
_SAME_WORDS = 0.5
_ABOUT = (
    *("author", "producer", "creator", "title", "creationDate", "modDate", "subject"),
    "keywords",
)
_A4 = (595.0, 842.0)
_PDF_ERRORS = (RuntimeError, ValueError, OSError, pymupdf.mupdf.FzErrorBase)


class SearchablePdf:
    """A copy of a PDF, or a PDF made of pictures, whose text can be selected and searched."""

    def __init__(self, target: Path, pages: Pages) -> None:
        """Open the copy.

        Args:
            target: The file to write.
            pages: The input.

        Raises:
            OutputError: The input cannot be copied.
        """
        self.seconds = 0.0
        self._target, self._pages = target, pages
        self._hidden = hidden_name(target)
        self._fonts = {"helv": pymupdf.Font("helv"), "cjk": pymupdf.Font("cjk")}
        self._is_copy = pages.is_pdf
        try:
            self._pdf = pages.pdf_copy() if self._is_copy else pymupdf.open()
        except _PDF_ERRORS as error:
            raise OutputError(f"cannot be made: {error}", source=str(target)) from error

    def page(self, source: Source, page: Page) -> None:
        """Add a page, or lay text over it."""
        started = time.perf_counter()
        try:
            sheet = self._sheet(page)
            if page.blocks and page.facts.image_width and not _is_searchable(sheet, page):
                self._lay(sheet, page)
        except _PDF_ERRORS as error:
            raise OutputError(
                f"page {page.page_number} cannot be written: {error}", source=str(self._target)
            ) from error
        self.seconds += time.perf_counter() - started

    def _sheet(self, page: Page) -> pymupdf.Page:
        if self._is_copy:
            sheet = self._pdf.load_page(page.page_number - 1)
            if sheet.rotation:
                sheet.remove_rotation()
            sheet.wrap_contents()
            return sheet
        width, height = page.facts.width_pt or _A4[0], page.facts.height_pt or _A4[1]
        sheet = self._pdf.new_page(width=width, height=height)
        if page.facts.width_pt:
            stream = io.BytesIO()
            self._pages.picture(page.page_number).save(stream, "PNG")
            sheet.insert_image(sheet.rect, stream=stream.getvalue())
        return sheet

    def _lay(self, sheet: pymupdf.Page, page: Page) -> None:
        scale = page.facts.width_pt / page.facts.image_width
        writer = pymupdf.TextWriter(sheet.rect)
        for block in page.blocks:
            for line in upright_lines(block, page):
                self._add(writer, line, scale)
        turn = _turn(page.rotation, sheet.rect.width, sheet.rect.height)
        writer.write_text(sheet, render_mode=_INVISIBLE, matrix=turn)

    def _add(self, writer: pymupdf.TextWriter, line: PlacedLine, scale: float) -> None:
        """Lay every word over its ink, as wide as that; the blanks between them can be copied."""
        for number, (word, box) in enumerate(line.words, start=1):
            is_plain = all(ord(character) < 256 for character in word)
            font = self._fonts["helv" if is_plain else "cjk"]
            left, top, right, bottom = (edge * scale for edge in box)
            fitting = (right - left) / max(font.text_length(word, fontsize=1), 0.01)
            size = max(min(bottom - top, fitting), _MIN_FONT_SIZE)
            baseline = bottom - _DESCENT * (bottom - top)
            text = word if number == len(line.words) else f"{word} "
            writer.append((left, baseline), text, font=font, fontsize=size)

    def document(self, document: Document) -> None:
        """Keep the pages that were selected, and say how text was placed."""
        if self._is_copy and len(self._pages.page_numbers) < self._pdf.page_count:
            self._pdf.select([number - 1 for number in self._pages.page_numbers])
        about = {name: value for name, value in (self._pdf.metadata or {}).items() if value}
        about["keywords"] = "; ".join(filter(None, (about.get("keywords"), f"OCR: {NOTE}")))
        self._pdf.set_metadata({name: about[name] for name in _ABOUT if name in about})

    def seal(self) -> Path | None:
        """Write the file under a hidden name."""
        started = time.perf_counter()
        try:
            self._pdf.save(
                self._hidden,
                garbage=2,
                deflate=True,
                no_new_id=True,
                encryption=_KEEP_ENCRYPTION,
            )
            with self._hidden.open("rb+") as file:
                os.fsync(file.fileno())
        except OSError as error:
            raise unwritable(self._target, error) from error
        except _PDF_ERRORS as error:
            raise OutputError(f"cannot be written: {error}", source=str(self._target)) from error
        self.seconds += time.perf_counter() - started
        return self._hidden

    def finish(self) -> None:
        """Give the file its name."""
        try:
            self._hidden.replace(self._target)
        except OSError as error:
            raise unwritable(self._target, error) from error

    def __enter__(self) -> Self:
        """Return the sink."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Remove what is unfinished."""
        self._pdf.close()
        self._hidden.unlink(missing_ok=True)


def _is_searchable(sheet: pymupdf.Page, page: Page) -> bool:
    """Return whether a page has the text already, so that every word would be found twice.

    A layer that has little in common with what was read is no reason to leave the text out.
    """
    read = set(page.text.lower().split())
    own = {entry[4].lower() for entry in sheet.get_text("words")}
    return len(read & own) >= _SAME_WORDS * len(read) > 0


def _turn(rotation: int, width: float, height: float) -> pymupdf.Matrix | None:
    """Return what moves text from the upright page to the displayed one.

    Both are written in PDF's coordinates with the origin at the displayed page's lower left corner,
    the upright page's upper edge lying on the displayed page's.
    """
    return {
        90: pymupdf.Matrix(0, 1, -1, 0, height, 0),
        180: pymupdf.Matrix(-1, 0, 0, -1, width, height),
        270: pymupdf.Matrix(0, -1, 1, 0, width - height, height),
    }.get(rotation)
