"""Pages that the model has never seen: held-out books set in held-out typefaces, as real PDF files.

The training pages come from our own renderer; these come from another one (`fpdf2` with HarfBuzz
shaping), so kerning and ligatures are the fonts' own. Every line is broken and placed here, so the
reference text is what is printed, line by line, without hyphenation.
"""

import logging
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ocrcli.models.small.training.charset import CHARS
from ocrcli.models.small.training.corpus import HELD_OUT_BOOKS

if TYPE_CHECKING:
    from fpdf import FPDF

PAPERS = {"Letter": (612.0, 792.0), "A4": (595.28, 841.89)}
PAGES_PER_FILE = 20


@dataclass(frozen=True)
class PageStyle:
    """How one page is set; lengths in points.

    Attributes:
        paper: "Letter" or "A4".
        font: Font file of the body text.
        size: Size of the body text.
        leading: Distance of two baselines as a multiple of `size`.
        margins: Left, top, right and bottom.
        justified: Whether both edges are straight.
        indent: First-line indent; 0 when paragraphs are separated by space.
        gap: Space between paragraphs.
        fill: Share of the page height that may be used.
        heading: Whether a heading opens the page.
    """

    paper: str
    font: Path
    size: float
    leading: float
    margins: tuple[float, float, float, float]
    justified: bool
    indent: float
    gap: float
    fill: float
    heading: bool


@dataclass(frozen=True)
class PrintedPage:
    """A page of a PDF file and what is printed on it.

    Attributes:
        file: The PDF file.
        page_number: Place in the file, from 1.
        text: Paragraphs in reading order separated by a blank line, lines as printed.
        style: How it was set.
        book: Name of the book the text is from.
    """

    file: Path
    page_number: int
    text: str
    style: PageStyle
    book: str


def read_books(folder: Path) -> dict[str, list[str]]:
    """Return the paragraphs of every held-out book.

    Args:
        folder: Folder of `.txt` files, one paragraph per line.

    Raises:
        ValueError: There is no book, or one that was not held out.
    """
    books = {path.stem: path for path in sorted(folder.glob("*.txt"))}
    strangers = sorted(set(books) - set(HELD_OUT_BOOKS))
    if strangers or not books:
        raise ValueError(
            f"folder must hold the held-out books {HELD_OUT_BOOKS} only, found {sorted(books)}"
        )
    return {name: path.read_text(encoding="utf-8").splitlines() for name, path in books.items()}


def choose_style(rng: random.Random, fonts: Sequence[Path]) -> PageStyle:
    """Return how a clean one-column page is set, drawn from what offices and publishers print.

    Args:
        rng: Source of all choices.
        fonts: Font files named `Family-Style`; a family is drawn first, then its style.
    """
    families = sorted({font.stem.partition("-")[0] for font in fonts})
    family = rng.choice(families)
    styles = {
        font.stem.partition("-")[2]: font for font in fonts if font.stem.startswith(family + "-")
    }
    wanted = "Italic" if rng.random() < 0.1 else "Regular"
    font = styles.get(wanted) or styles.get("Regular") or sorted(styles.values())[0]
    size = rng.choice([10.0, 10.5, 11.0, 11.5, 12.0, 12.0, 13.0, 14.0])
    indented = rng.random() < 0.5
    left, top, right, bottom = (72 * rng.uniform(0.8, 1.3) for _ in range(4))
    return PageStyle(
        paper=rng.choice(sorted(PAPERS)),
        font=font,
        size=size,
        leading=rng.uniform(1.15, 1.5),
        margins=(left, top, right, bottom),
        justified=rng.random() < 0.5,
        indent=size * rng.uniform(1.2, 2.2) if indented else 0.0,
        gap=0.0 if indented else size * rng.uniform(0.4, 1.0),
        fill=rng.uniform(0.25, 0.8) if rng.random() < 0.12 else 1.0,
        heading=rng.random() < 0.3,
    )


def print_pages(
    books: dict[str, list[str]], fonts: Sequence[Path], count: int, seed: int, output: Path
) -> list[PrintedPage]:
    """Write `count` pages to PDF files in `output` and return what they show.

    Pages start at evenly spread places of the books, so no text is printed twice as long as the
    books last.

    Args:
        books: Paragraphs by book name; see `read_books`.
        fonts: Held-out font files.
        count: Number of pages.
        seed: Seed of all choices.
        output: Folder for the files `pages-000.pdf`, ….

    Raises:
        ValueError: `fonts` or `books` is empty, or `count` is below 1.
    """
    if not fonts or not books or count < 1:
        raise ValueError(
            f"print_pages needs fonts, books and a page, got {len(fonts)} fonts, "
            f"{len(books)} books and count {count}"
        )
    # Notes about tables that a subset cannot keep and odd dates; neither is part of the page.
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    rng = random.Random(seed)
    starts = list(_starts(books, count))
    rng.shuffle(starts)
    output.mkdir(parents=True, exist_ok=True)
    pages: list[PrintedPage] = []
    for first in range(0, count, PAGES_PER_FILE):
        pdf = _new_pdf()
        file = output / f"pages-{first // PAGES_PER_FILE:03d}.pdf"
        for book, paragraph in starts[first : first + PAGES_PER_FILE]:
            style = choose_style(rng, fonts)
            text = _Sheet(pdf, style).fill(rng, books[book], paragraph)
            pages.append(PrintedPage(file, pdf.page, text, style, book))
        pdf.output(str(file))
    return pages


def _new_pdf() -> "FPDF":
    from fpdf import FPDF

    pdf = FPDF(unit="pt")
    pdf.set_auto_page_break(False)
    pdf.c_margin = 0
    return pdf


def _starts(books: dict[str, list[str]], count: int) -> Iterator[tuple[str, int]]:
    total = sum(len(line) for lines in books.values() for line in lines)
    place, wanted = 0, 0
    for book, lines in books.items():
        for index, line in enumerate(lines):
            # A long paragraph may be the place of several starts; the next ones follow it.
            if wanted < count and place >= wanted * total / count:
                yield book, index
                wanted += 1
            place += len(line)
    for _ in range(wanted, count):
        yield next(reversed(books)), 0


class _Sheet:
    """One page being filled from top to bottom."""

    def __init__(self, pdf: "FPDF", style: PageStyle) -> None:
        self._pdf = pdf
        self._style = style
        self._width, self._height = PAPERS[style.paper]
        pdf.add_page(format=(self._width, self._height))
        left, top, right, bottom = style.margins
        self._left, self._measure = left, self._width - left - right
        self._y = top
        self._end = top + style.fill * (self._height - top - bottom)
        self._known = _characters(style.font)

    def fill(self, rng: random.Random, lines: list[str], start: int) -> str:
        """Print paragraphs of `lines` from `start` until the page is full; return the text."""
        blocks: list[str] = []
        if self._style.heading:
            blocks += self._heading(rng, lines)
        self._set_font(self._style.font, self._style.size)
        index, full = start, False
        if not any(set(line) <= self._known for line in lines):
            raise ValueError(f"fonts must be able to set the books, {self._style.font} cannot")
        while not full:
            paragraph = lines[index % len(lines)]
            index += 1
            if not set(paragraph) <= self._known:
                continue
            printed, full = self._paragraph(paragraph)
            if printed:
                blocks.append("\n".join(printed))
        return "\n\n".join(blocks)

    def _set_font(self, font: Path, size: float) -> None:
        if font.stem.lower() not in self._pdf.fonts:
            self._pdf.add_font(font.stem, "", str(font))
        self._pdf.set_font(font.stem, "", size)
        self._pdf.set_text_shaping(True)

    def _heading(self, rng: random.Random, lines: list[str]) -> list[str]:
        bold = self._style.font.with_name(
            self._style.font.name.replace("-Italic", "-Bold").replace("-Regular", "-Bold")
        )
        font = bold if bold.is_file() else self._style.font
        known = _characters(font)
        short = [line for line in lines if 4 < len(line) < 60 and line[-1] not in ".,;:?!”—"]
        fits = [line for line in short if set(line) <= known]
        if not fits:
            return []
        size = self._style.size * rng.choice([1.2, 1.4, 1.7])
        self._set_font(font, size)
        rows = self._break(rng.choice(fits), 0.0)
        for words in rows:
            self._line(words, self._left, size, justify=False)
            self._y += 1.2 * size
        self._y += 0.5 * size
        return ["\n".join(" ".join(words) for words in rows)]

    def _paragraph(self, text: str) -> tuple[list[str], bool]:
        """Print as much of `text` as fits; return its lines and whether the page is full."""
        size, step = self._style.size, self._style.size * self._style.leading
        rows = self._break(text, self._style.indent)
        printed: list[str] = []
        for number, words in enumerate(rows):
            if self._y + step > self._end:
                return printed, True
            indent = self._style.indent if number == 0 else 0.0
            last = number == len(rows) - 1
            self._line(words, self._left + indent, size, self._style.justified and not last)
            printed.append(" ".join(words))
            self._y += step
        self._y += self._style.gap
        return printed, False

    def _break(self, text: str, indent: float) -> list[list[str]]:
        space = self._pdf.get_string_width(" ")
        rows: list[list[str]] = [[]]
        used = indent
        for word in text.split():
            width = self._pdf.get_string_width(word)
            if rows[-1] and used + space + width > self._measure:
                rows.append([])
                used = 0.0
            used += width + (space if rows[-1] else 0.0)
            rows[-1].append(word)
        return rows

    def _line(self, words: list[str], x: float, size: float, justify: bool) -> None:
        if not justify or len(words) == 1:
            self._put(x, " ".join(words), size)
            return
        widths = [self._pdf.get_string_width(word) for word in words]
        room = self._left + self._measure - x - sum(widths)
        for word, width in zip(words, widths, strict=True):
            self._put(x, word, size)
            x += width + room / (len(words) - 1)

    def _put(self, x: float, text: str, size: float) -> None:
        self._pdf.set_xy(x, self._y)
        self._pdf.cell(h=size, text=text)


@cache
def _characters(font: Path) -> frozenset[str]:
    from fontTools.ttLib import TTFont

    with TTFont(font, lazy=True) as opened:
        present = opened.getBestCmap()
    return frozenset(char for char in CHARS if ord(char) in present)
