"""The sets of pages that the model is measured on, and what each is made of.

Every set is a function from `Ingredients` to source pages. A set whose ingredients are missing says
so by raising `MissingError`, and the report says "not run".
"""

import hashlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from PIL import Image

from ocrcli.models.small.evaluation import debian_docs, language_texts
from ocrcli.models.small.evaluation.page_set import PRINT_DPI, Grey, SourcePage
from ocrcli.models.small.evaluation.printed_sheet import PageStyle
from ocrcli.models.small.evaluation.prose_pages import (
    Books,
    choose_style,
    column_style,
    font_files,
    print_pages,
    read_books,
    small_style,
)
from ocrcli.models.small.evaluation.scan_damage import choose_scan, scan
from ocrcli.models.small.evaluation.table_pages import print_table_pages

QUICK = Path(__file__).with_name("quick")
"""Text and fonts of the set that needs nothing but the repository."""

_PICTURES = (".pdf", ".png", ".jpg", ".jpeg", ".tif", ".tiff")


class MissingError(ValueError):
    """A set cannot be made; the message says what is missing."""


@dataclass(frozen=True)
class Ingredients:
    """What sets are made of.

    Attributes:
        text: Folder of held-out books, or None.
        fonts: Folder of held-out fonts, or None.
        files: Folder of documents with their texts, or None.
        packages: Folder of Debian packages, or None.
        scratch: Folder for files that are needed only until the pages are prepared.
        count: Number of pages.
        seed: Seed of all choices.
    """

    text: Path | None
    fonts: Path | None
    files: Path | None
    packages: Path | None
    scratch: Path
    count: int
    seed: int

    def books(self) -> Books:
        """Return the held-out books."""
        if self.text is None:
            raise MissingError("needs --text, the folder of held-out books")
        return read_books(self.text)

    def typefaces(self) -> list[Path]:
        """Return the held-out fonts."""
        if self.fonts is None:
            raise MissingError("needs --fonts, the folder of held-out fonts")
        return font_files(self.fonts)

    def debs(self) -> Path:
        """Return the folder of Debian packages."""
        if self.packages is None:
            raise MissingError("needs --packages, a folder of Debian packages")
        return self.packages


def quick(parts: Ingredients) -> list[SourcePage]:
    """Set the public-domain text of the repository in its three fonts."""
    text = read_books(QUICK, allowed=("jargon-file",))
    return print_pages(text, font_files(QUICK / "fonts"), parts.count, parts.seed, parts.scratch)


def docs(parts: Ingredients) -> list[SourcePage]:
    """Return pages of Debian's documentation; see `debian_docs`."""
    try:
        return debian_docs.pages_of_record(parts.debs(), parts.scratch, parts.count)
    except ValueError as error:
        raise MissingError(str(error)) from error


def docs_scanned(parts: Ingredients) -> list[SourcePage]:
    """Return the pages of `docs` as a scanner would see them."""
    return _scanned(docs(parts), parts)


def clean(parts: Ingredients) -> list[SourcePage]:
    """Print one column of 10 to 14 pt."""
    return _prose(parts, choose_style)


def scanned(parts: Ingredients) -> list[SourcePage]:
    """Return pages like those of `clean` as a scanner would see them."""
    return _scanned(_prose(parts, choose_style), parts)


def small_type(parts: Ingredients) -> list[SourcePage]:
    """Print one column of 7 to 8 pt."""
    return _prose(parts, small_style)


def columns(parts: Ingredients) -> list[SourcePage]:
    """Print two or three columns."""
    return _prose(parts, column_style)


def tables(parts: Ingredients) -> list[SourcePage]:
    """Print tables, headings of three levels and captions."""
    return print_table_pages(
        parts.books(), parts.typefaces(), parts.count, parts.seed, parts.scratch
    )


def languages(parts: Ingredients) -> list[SourcePage]:
    """Print manual pages' text in ten languages, the same number of pages in each."""
    fonts, debs = parts.typefaces(), parts.debs()
    each = max(1, parts.count // len(language_texts.PACKAGES))
    pages: list[SourcePage] = []
    for language, name in language_texts.PACKAGES.items():
        found = sorted(debs.glob(f"{name}_*.deb"))
        if not found:
            raise MissingError(f"needs {name}_*.deb in --packages")
        folder = debian_docs.unpack(found[0], parts.scratch / name)
        lines = language_texts.paragraphs(folder, language)
        # One page of each manual after the other, in an order of its own.
        random.Random(parts.seed).shuffle(lines)
        output = parts.scratch / f"printed-{language}"
        pages += print_pages({name: lines}, fonts, each, parts.seed, output, choose_style, language)
    return pages


def turned(parts: Ingredients) -> list[SourcePage]:
    """Print pages like those of `clean` that lie on their side or stand on their head."""
    import pymupdf

    pages = []
    for number, page in enumerate(_prose(parts, choose_style)):
        turn = number % 3 + 1
        with pymupdf.open(page.file) as original, pymupdf.open() as copy:
            rect = original[page.page_number - 1].rect
            size = (rect.width, rect.height) if turn == 2 else (rect.height, rect.width)
            sheet = copy.new_page(width=size[0], height=size[1])
            # The library turns counter-clockwise when asked for positive degrees.
            sheet.show_pdf_page(sheet.rect, original, page.page_number - 1, rotate=90 * turn)
            file = parts.scratch / f"turned-{number:04d}.pdf"
            copy.save(file)
        note = f"{page.note} turned {90 * turn}°"
        pages.append(replace(page, file=file, page_number=1, blocks=(), note=note, turn=turn))
    return pages


def files(parts: Ingredients) -> list[SourcePage]:
    """Return documents that have their text beside them.

    `NAME.txt` or `NAME.gold.txt` is the text of `NAME.pdf`, `.png`, `.jpg` or `.tif`, with form
    feeds between pages.
    """
    if parts.files is None:
        raise MissingError("needs --files, a folder of documents with their texts")
    pages: list[SourcePage] = []
    for text in sorted(parts.files.glob("*.txt")):
        name = text.name.removesuffix(".txt").removesuffix(".gold")
        documents = [path for end in _PICTURES if (path := parts.files / (name + end)).is_file()]
        if documents:
            printed = text.read_text(encoding="utf-8").rstrip().split("\f")
            pages += [
                SourcePage(documents[0], number, page, note=documents[0].name)
                for number, page in enumerate(printed, start=1)
            ]
    if not pages:
        raise MissingError(f"needs NAME.txt beside its document, found none in {parts.files}")
    return pages


SETS: dict[str, Callable[[Ingredients], list[SourcePage]]] = {
    "debian-docs": docs,
    "debian-docs-scanned": docs_scanned,
    "clean": clean,
    "columns": columns,
    "tables": tables,
    "scanned": scanned,
    "languages": languages,
    "small-type": small_type,
    "turned": turned,
    "files": files,
    "quick": quick,
}
"""Every set by name, in the order of the report."""

SCAN_LEVELS = {"debian-docs-scanned": 32, "scanned": 32}
"""Grey levels that pages of noise are kept with, so that a set is small enough to be sent around.

The step is 8 of 255, less than the noise of the scans; all machines read the same pixels."""

DESCRIPTIONS = {
    "debian-docs": "PDF manuals from Debian packages (TeX, FOP, groff, htmldoc)",
    "debian-docs-scanned": "the same, scanned: skew ±2°, blur, noise, shade, JPEG or 1 bit",
    "clean": "prose, one column, 10–14 pt, held-out books and fonts",
    "columns": "prose, two and three columns, 9–11 pt",
    "tables": "tables among headings, text and captions",
    "scanned": "prose, one column, scanned like the second set",
    "languages": "ten languages, one column, 10–14 pt, text of manual pages",
    "small-type": "prose, one column, 7–8 pt",
    "turned": "prose, turned by 90, 180 or 270°",
    "files": "documents from elsewhere with their texts",
    "quick": "the repository's own text and fonts, one column",
}


def _prose(
    parts: Ingredients, style_of: Callable[[random.Random, Sequence[Path]], PageStyle]
) -> list[SourcePage]:
    return print_pages(
        parts.books(),
        parts.typefaces(),
        parts.count,
        parts.seed,
        parts.scratch,
        style_of,
    )


def _scanned(pages: Sequence[SourcePage], parts: Ingredients) -> list[SourcePage]:
    folder = parts.scratch / "scans"
    folder.mkdir(parents=True, exist_ok=True)
    scans = []
    for number, page in enumerate(pages):
        name = f"{parts.seed}/{page.file.name}/{page.page_number}"
        seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
        rng = np.random.default_rng(seed)
        settings = choose_scan(rng)
        file = folder / f"scan-{number:04d}.png"
        picture = Image.fromarray(scan(printed(page), settings, rng))
        if settings.threshold is not None:
            picture = picture.convert("1", dither=Image.Dither.NONE)
        picture.save(file, dpi=(PRINT_DPI, PRINT_DPI), compress_level=1)
        note = f"{page.note} {settings}"
        scans.append(replace(page, file=file, page_number=1, blocks=(), note=note))
    return scans


def printed(page: SourcePage) -> Grey:
    """Return a page of a PDF at 300 dpi."""
    import pymupdf

    with pymupdf.open(page.file) as document:
        pixmap = document[page.page_number - 1].get_pixmap(
            dpi=PRINT_DPI, colorspace=pymupdf.csGRAY, alpha=False
        )
        rows = np.frombuffer(pixmap.samples, dtype=np.uint8)
        return rows.reshape(pixmap.height, pixmap.stride)[:, : pixmap.width].copy()
