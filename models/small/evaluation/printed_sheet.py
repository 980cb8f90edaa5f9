"""One sheet of paper being printed by `fpdf2`: lines, paragraphs and headings, and their boxes."""

import logging
import random
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ocrcli.models.small.evaluation.page_set import ReferenceBlock
from ocrcli.models.small.training.charset import CHARS

if TYPE_CHECKING:
    from fpdf import FPDF

PAPERS = {"Letter": (612.0, 792.0), "A4": (595.28, 841.89)}
"""Width and height of each paper, points."""


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
        columns: Number of columns.
        gutter: Space between columns.
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
    columns: int = 1
    gutter: float = 0.0

    def __str__(self) -> str:
        """Return the style in a few words."""
        edges = "justified" if self.justified else "ragged"
        columns = f" {self.columns} columns" if self.columns > 1 else ""
        return f"{self.font.stem} {self.size:g} pt {edges} {self.paper}{columns}"


def new_pdf() -> "FPDF":
    """Return an empty PDF measured in points."""
    from fpdf import FPDF

    # Notes about tables that a subset cannot keep and odd dates; neither is part of the page.
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    pdf = FPDF(unit="pt")
    pdf.set_auto_page_break(False)
    pdf.c_margin = 0
    return pdf


class PrintedSheet:
    """One page being filled from top to bottom, column after column."""

    def __init__(self, pdf: "FPDF", style: PageStyle) -> None:
        """Add a page to `pdf`."""
        self._pdf = pdf
        self._style = style
        self._width, self._height = PAPERS[style.paper]
        pdf.add_page(format=(self._width, self._height))
        left, top, right, bottom = style.margins
        self._left, self._measure = left, self._width - left - right
        self._y = top
        self._end = top + style.fill * (self._height - top - bottom)
        self._known = known_characters(style.font)

    @property
    def room(self) -> float:
        """Points left to the foot of the column."""
        return self._end - self._y

    @property
    def left(self) -> float:
        """Left edge of the column, points."""
        return self._left

    @property
    def top(self) -> float:
        """Where the next thing will stand, points from the top."""
        return self._y

    @property
    def measure(self) -> float:
        """Width of the column, points."""
        return self._measure

    def skip(self, points: float) -> None:
        """Leave space."""
        self._y += points

    def fill(self, rng: random.Random, lines: list[str], start: int) -> list[ReferenceBlock]:
        """Print paragraphs of `lines` from `start` until the page is full; return the blocks."""
        blocks: list[ReferenceBlock] = []
        if self._style.heading:
            blocks += self.heading(rng, lines, rng.choice([1.2, 1.4, 1.7]))
        if not any(set(line) <= self._known for line in lines):
            raise ValueError(f"fonts must be able to set the books, {self._style.font} cannot")
        columns = self._style.columns
        left, top = self._left, self._y
        self._measure = (self._measure - (columns - 1) * self._style.gutter) / columns
        rest, index = "", start
        for column in range(columns):
            self._left = left + column * (self._measure + self._style.gutter)
            self._y, full = top, False
            while not full:
                paragraph, goes_on = rest, bool(rest)
                while not paragraph or not set(paragraph) <= self._known:
                    paragraph = lines[index % len(lines)]
                    index += 1
                block, rest, full = self.paragraph(paragraph, goes_on=goes_on)
                blocks += [block] if block else []
        return blocks

    def heading(
        self, rng: random.Random, lines: list[str], scale: float, level: int | None = None
    ) -> list[ReferenceBlock]:
        """Print a short line of the book as a heading; return no block if there is none."""
        bold = self._style.font.with_name(
            self._style.font.name.replace("-Italic", "-Bold").replace("-Regular", "-Bold")
        )
        font = bold if bold.is_file() else self._style.font
        known = known_characters(font)
        short = [line for line in lines if 4 < len(line) < 60 and line[-1] not in ".,;:?!”—"]
        fits = [line for line in short if set(line) <= known]
        if not fits:
            return []
        size = self._style.size * scale
        self._set_font(font, size)
        rows = self._break(rng.choice(fits), 0.0)
        top, right = self._y, self._left
        for words in rows:
            right = max(right, self._line(words, self._left, size, justify=False))
            self._y += 1.2 * size
        box = self.box(self._left, top, right, self._y - 1.2 * size, size)
        self._y += 0.5 * size
        text = "\n".join(" ".join(words) for words in rows)
        return [ReferenceBlock("title", text, box, level=level)]

    def paragraph(
        self, text: str, label: str = "text", goes_on: bool = False, scale: float = 1.0
    ) -> tuple[ReferenceBlock | None, str, bool]:
        """Print as much of `text` as fits; return its block, the rest, and whether all is full.

        Args:
            text: The paragraph.
            label: Label of the block.
            goes_on: Whether it began in another column.
            scale: Size relative to the body text.
        """
        style = self._style
        size = style.size * scale
        step, first = size * style.leading, 0.0 if goes_on else style.indent
        self._set_font(style.font, size)
        rows = self._break(text, first)
        top, right, printed = self._y, self._left, []
        for number, words in enumerate(rows):
            if self._y + step > self._end:
                break
            indent = first if number == 0 else 0.0
            last = number == len(rows) - 1
            end = self._line(words, self._left + indent, size, style.justified and not last)
            right = max(right, end)
            printed.append(" ".join(words))
            self._y += step
        rest = " ".join(" ".join(words) for words in rows[len(printed) :])
        if not printed:
            return None, rest, True
        left = self._left + (first if len(printed) == 1 else 0.0)
        box = self.box(left, top, right, self._y - step, size)
        if not rest:
            self._y += style.gap
        return ReferenceBlock(label, "\n".join(printed), box), rest, bool(rest)

    def box(
        self, left: float, top: float, right: float, last: float, size: float
    ) -> tuple[float, float, float, float]:
        """Return a box in thousandths: from the first line's top to the last line's foot.

        Args:
            left: Left edge, points.
            top: Place of the first line; its baseline is 0.8 em below.
            right: Right edge, points.
            last: Place of the last line.
            size: Em size, points.
        """
        return self.thousandths(left, top + 0.05 * size, right, last + 1.05 * size)

    def thousandths(
        self, left: float, top: float, right: float, bottom: float
    ) -> tuple[float, float, float, float]:
        """Return a rectangle in points as thousandths of the page."""
        across, down = 1000 / self._width, 1000 / self._height
        return (
            round(left * across, 1),
            round(top * down, 1),
            round(right * across, 1),
            round(bottom * down, 1),
        )

    def _set_font(self, font: Path, size: float) -> None:
        use_font(self._pdf, font, size)

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

    def _line(self, words: list[str], x: float, size: float, justify: bool) -> float:
        """Print words and return where the last one ends."""
        if not justify or len(words) == 1:
            self._put(x, " ".join(words), size)
            return x + float(self._pdf.get_string_width(" ".join(words)))
        widths = [self._pdf.get_string_width(word) for word in words]
        room = self._left + self._measure - x - sum(widths)
        for word, width in zip(words, widths, strict=True):
            self._put(x, word, size)
            x += width + room / (len(words) - 1)
        return self._left + self._measure

    def _put(self, x: float, text: str, size: float) -> None:
        self._pdf.set_xy(x, self._y)
        self._pdf.cell(h=size, text=text)


def use_font(pdf: "FPDF", font: Path, size: float) -> None:
    """Make a font file the one that `pdf` prints with."""
    if font.stem.lower() not in pdf.fonts:
        pdf.add_font(font.stem, "", str(font))
    pdf.set_font(font.stem, "", size)
    pdf.set_text_shaping(True)


@cache
def known_characters(font: Path) -> frozenset[str]:
    """Return the taught characters that a font can print."""
    from fontTools.ttLib import TTFont

    with TTFont(font, lazy=True) as opened:
        present = opened.getBestCmap()
    return frozenset(char for char in CHARS if ord(char) in present)
