"""Pages of prose that the model has never seen: held-out text set in held-out typefaces, as PDF.

The training pages come from our own renderer; these come from another one (`fpdf2` with HarfBuzz
shaping), so kerning and ligatures are the fonts' own. Every line is broken and placed here, so the
reference text is what is printed, line by line, without hyphenation.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ocrcli.models.small.evaluation.page_set import SourcePage
from ocrcli.models.small.evaluation.printed_sheet import PAPERS, PageStyle, PrintedSheet, new_pdf
from ocrcli.models.small.training.corpus import HELD_OUT_BOOKS

PAGES_PER_FILE = 20
TEXT_SIZES = (10.0, 10.5, 11.0, 11.5, 12.0, 12.0, 13.0, 14.0)
SMALL_SIZES = (7.0, 7.5, 8.0)
COLUMN_SIZES = (9.0, 9.5, 10.0, 10.0, 10.5, 11.0)

Books = dict[str, list[str]]
"""Paragraphs by book name."""


def read_books(folder: Path, allowed: Sequence[str] = HELD_OUT_BOOKS) -> Books:
    """Return the paragraphs of every held-out book.

    Args:
        folder: Folder of `.txt` files, one paragraph per line.
        allowed: Names of the books that were held out.

    Raises:
        ValueError: There is no book, or one that was not held out.
    """
    books = {path.stem: path for path in sorted(folder.glob("*.txt"))}
    strangers = sorted(set(books) - set(allowed))
    if strangers or not books:
        raise ValueError(
            f"folder must hold the held-out books {tuple(allowed)} only, found {sorted(books)}"
        )
    return {name: path.read_text(encoding="utf-8").splitlines() for name, path in books.items()}


def font_files(folder: Path) -> list[Path]:
    """Return the fonts of a folder."""
    return sorted(path for path in folder.iterdir() if path.suffix in (".ttf", ".otf"))


def choose_style(
    rng: random.Random, fonts: Sequence[Path], sizes: Sequence[float] = TEXT_SIZES
) -> PageStyle:
    """Return how a clean one-column page is set, drawn from what offices and publishers print.

    Args:
        rng: Source of all choices.
        fonts: Font files named `Family-Style`; a family is drawn first, then its style.
        sizes: Sizes of the body text to choose from, points.
    """
    families = sorted({font.stem.partition("-")[0] for font in fonts})
    family = rng.choice(families)
    styles = {
        font.stem.partition("-")[2]: font for font in fonts if font.stem.startswith(family + "-")
    }
    wanted = "Italic" if rng.random() < 0.1 else "Regular"
    font = styles.get(wanted) or styles.get("Regular") or sorted(styles.values())[0]
    size = rng.choice(sizes)
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


def small_style(rng: random.Random, fonts: Sequence[Path]) -> PageStyle:
    """Return how a page of small type is set: the measure of a pocket book, much white around."""
    style = choose_style(rng, fonts, SMALL_SIZES)
    width, height = PAPERS[style.paper]
    side = (width - rng.uniform(32, 44) * style.size) / 2
    depth = (height - rng.uniform(55, 70) * style.size) / 2
    return replace(style, margins=(side, depth, side, depth), fill=1.0)


def column_style(rng: random.Random, fonts: Sequence[Path]) -> PageStyle:
    """Return how a page of two or three columns is set."""
    style = choose_style(rng, fonts, COLUMN_SIZES)
    columns = rng.choice([2, 2, 3])
    if columns == 3:
        style = replace(style, size=rng.choice([9.0, 9.5, 10.0]))
    return replace(
        style,
        columns=columns,
        gutter=style.size * rng.uniform(1.2, 2.6),
        indent=style.size if style.indent else 0.0,
        fill=1.0,
        heading=rng.random() < 0.5,
    )


def print_pages(
    books: Books,
    fonts: Sequence[Path],
    count: int,
    seed: int,
    output: Path,
    style_of: Callable[[random.Random, Sequence[Path]], PageStyle] = choose_style,
    language: str = "en",
) -> list[SourcePage]:
    """Write `count` pages to PDF files in `output` and return what they show.

    Pages start at evenly spread places of the books, so no text is printed twice as long as the
    books last.

    Args:
        books: Paragraphs by book name; see `read_books`.
        fonts: Held-out font files.
        count: Number of pages.
        seed: Seed of all choices.
        output: Folder for the files `pages-000.pdf`, ….
        style_of: Chooses how each page is set.
        language: Two-letter code of the text.

    Raises:
        ValueError: `fonts` or `books` is empty, or `count` is below 1.
    """
    if not fonts or not books or count < 1:
        raise ValueError(
            f"print_pages needs fonts, books and a page, got {len(fonts)} fonts, "
            f"{len(books)} books and count {count}"
        )
    rng = random.Random(seed)
    starts = list(_starts(books, count))
    rng.shuffle(starts)
    output.mkdir(parents=True, exist_ok=True)
    pages: list[SourcePage] = []
    for first in range(0, count, PAGES_PER_FILE):
        pdf = new_pdf()
        file = output / f"pages-{first // PAGES_PER_FILE:03d}.pdf"
        for book, paragraph in starts[first : first + PAGES_PER_FILE]:
            style = style_of(rng, fonts)
            blocks = PrintedSheet(pdf, style).fill(rng, books[book], paragraph)
            text = "\n\n".join(block.text for block in blocks)
            note = f"{style} {book}"
            pages.append(SourcePage(file, pdf.page, text, tuple(blocks), language, note))
        pdf.output(str(file))
    return pages


def _starts(books: Books, count: int) -> Iterator[tuple[str, int]]:
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
