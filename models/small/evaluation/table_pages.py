"""Pages with tables, headings of three levels and captions, printed by a tool of their own.

Tables are laid out by `fpdf2`, whose rules, paddings and column widths are its own.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from ocrcli.models.small.evaluation.page_set import ReferenceBlock, SourcePage
from ocrcli.models.small.evaluation.printed_sheet import (
    PageStyle,
    PrintedSheet,
    known_characters,
    new_pdf,
    use_font,
)
from ocrcli.models.small.evaluation.prose_pages import PAGES_PER_FILE, Books, choose_style

if TYPE_CHECKING:
    from fpdf import FPDF

_SIZES = (9.0, 10.0, 10.0, 11.0, 12.0)
_RULES = ("ALL", "HORIZONTAL_LINES", "MINIMAL", "SINGLE_TOP_LINE", "NO_HORIZONTAL_LINES", "NONE")
_HEADING_SCALES = {1: 2.0, 2: 1.5, 3: 1.2}


@dataclass(frozen=True)
class Cell:
    """One cell: its text, and how many columns and rows it spans."""

    text: str
    columns: int = 1
    rows: int = 1


def print_table_pages(
    books: Books, fonts: Sequence[Path], count: int, seed: int, output: Path
) -> list[SourcePage]:
    """Write `count` pages, each with one table or two among headings and text.

    Args:
        books: Paragraphs by book name.
        fonts: Held-out font files.
        count: Number of pages.
        seed: Seed of all choices.
        output: Folder for the PDF files.
    """
    rng = random.Random(seed)
    lines = [line for book in books.values() for line in book]
    words = sorted({word for line in lines for word in line.split() if word.isalpha()})
    output.mkdir(parents=True, exist_ok=True)
    pages: list[SourcePage] = []
    for first in range(0, count, PAGES_PER_FILE):
        pdf, file = new_pdf(), output / f"tables-{first // PAGES_PER_FILE:03d}.pdf"
        for _ in range(first, min(first + PAGES_PER_FILE, count)):
            style = replace(choose_style(rng, fonts, _SIZES), fill=1.0)
            known = known_characters(style.font)
            usable = [word for word in words if set(word) <= known]
            prose = [line for line in lines if set(line) <= known]
            rules = rng.choice(_RULES)
            blocks = _page(pdf, style, rng, prose, usable, rules)
            text = "\n\n".join(block.text for block in blocks)
            note = f"{style} rules {rules}"
            pages.append(SourcePage(file, pdf.page, text, tuple(blocks), "en", note))
        pdf.output(str(file))
    return pages


def _page(
    pdf: "FPDF",
    style: PageStyle,
    rng: random.Random,
    prose: list[str],
    words: list[str],
    rules: str,
) -> list[ReferenceBlock]:
    sheet = PrintedSheet(pdf, style)
    blocks = sheet.heading(rng, prose, _HEADING_SCALES[1], level=1)
    for number in range(1, rng.choice([2, 3])):
        if rng.random() < 0.7:
            level = rng.choice([2, 2, 3]) if number == 1 else 3
            blocks += sheet.heading(rng, prose, _HEADING_SCALES[level], level=level)
        blocks += _prose(sheet, rng, prose)
        rows, heading_rows = choose_table(rng, words, sheet.measure / style.size)
        if sheet.room < (len(rows) + 4) * style.size * 2.2:
            break
        caption = f"Table {number}. " + " ".join(rng.choices(words, k=rng.randrange(3, 8))) + "."
        above = rng.random() < 0.6
        if above:
            blocks += _caption(sheet, caption)
        blocks.append(_table(pdf, sheet, style, rng, rows, heading_rows, rules))
        sheet.skip(0.4 * style.size)
        if not above:
            blocks += _caption(sheet, caption)
        sheet.skip(0.8 * style.size)
    blocks += _prose(sheet, rng, prose)
    return blocks


def _prose(sheet: PrintedSheet, rng: random.Random, prose: list[str]) -> list[ReferenceBlock]:
    middling = [line for line in prose if 150 < len(line) < 600]
    block, _, _ = sheet.paragraph(rng.choice(middling))
    sheet.skip(6)
    return [block] if block else []


def _caption(sheet: PrintedSheet, text: str) -> list[ReferenceBlock]:
    block, _, _ = sheet.paragraph(text, "caption", goes_on=True, scale=0.9)
    sheet.skip(3)
    return [block] if block else []


def choose_table(
    rng: random.Random, words: Sequence[str], measure: float
) -> tuple[list[list[Cell]], int]:
    """Return the rows of a table and how many of them are heading rows.

    Args:
        rng: Source of all choices.
        words: What stands in cells of words.
        measure: Width of the column in ems, so that no word is broken.
    """
    columns = rng.randrange(2, 7 if measure > 35 else 5)
    longest = int((0.8 * measure / columns - 1.2) / 0.62)
    words = [word for word in words if len(word) <= longest]
    label = rng.random() < 0.8
    kinds = ["words" if label and index == 0 else _kind(rng) for index in range(columns)]
    heads = [
        Cell(" ".join(rng.choices(words, k=rng.choice([1, 1, 2]))).capitalize()) for _ in kinds
    ]
    rows: list[list[Cell]] = []
    if columns >= 4 and rng.random() < 0.3:
        # A row of headings that each stand over two columns.
        spans = [Cell(rng.choice(words).capitalize(), columns=2) for _ in range((columns - 1) // 2)]
        used = 1 + 2 * len(spans)
        rows.append([Cell(""), *spans, *[Cell("")] * (columns - used)])
    rows.append(heads)
    heading_rows = len(rows)
    body = rng.randrange(3, 13)
    spanned = rng.randrange(body - 1) if rng.random() < 0.25 else None
    for index in range(body):
        cells = [Cell(_value(rng, kind, words)) for kind in kinds]
        if spanned is not None and index == spanned:
            cells[0] = replace(cells[0], rows=2)
        if spanned is not None and index == spanned + 1:
            cells = cells[1:]
        rows.append(cells)
    return rows, heading_rows


def _kind(rng: random.Random) -> str:
    return rng.choice(["words", "whole", "decimal", "decimal", "percent", "date", "mixed"])


def _value(rng: random.Random, kind: str, words: Sequence[str]) -> str:
    if rng.random() < 0.06:
        return rng.choice(["", "–", "n/a"])
    match kind:
        case "words":
            return " ".join(rng.choices(words, k=rng.choice([1, 1, 2, 3])))
        case "whole":
            return f"{rng.randrange(1, 10 ** rng.randrange(1, 7)):,}"
        case "decimal":
            return f"{rng.uniform(-100, 1000):.{rng.choice([1, 2, 3])}f}"
        case "percent":
            return f"{rng.uniform(0, 100):.1f}%"
        case "date":
            return (
                f"{rng.randrange(1990, 2026)}-{rng.randrange(1, 13):02d}-{rng.randrange(1, 29):02d}"
            )
    return f"{rng.choice('ABCDEFGHKLMNPQRSTUVWXYZ')}{rng.randrange(10, 999)}"


def _table(
    pdf: "FPDF",
    sheet: PrintedSheet,
    style: PageStyle,
    rng: random.Random,
    rows: list[list[Cell]],
    heading_rows: int,
    rules: str,
) -> ReferenceBlock:
    from fpdf.fonts import FontFace

    size = style.size * rng.choice([0.85, 0.9, 1.0])
    use_font(pdf, style.font, size)
    left, top = sheet.left, sheet.top
    pdf.set_xy(left, top)
    # One column of headings at the left of numbers is the usual thing; the rest is centred or not.
    aligned = rng.choice(["LEFT", "CENTER", "RIGHT"])
    width = sheet.measure * rng.choice([1.0, 1.0, 0.8])
    with pdf.table(
        borders_layout=rules,
        width=width,
        align="LEFT",
        text_align=aligned,
        line_height=1.35 * size,
        padding=rng.choice([1.5, 3.0, 5.0]),
        headings_style=FontFace(emphasis=""),
        num_heading_rows=heading_rows,
    ) as table:
        for cells in rows:
            row = table.row()
            for cell in cells:
                row.cell(cell.text, colspan=cell.columns, rowspan=cell.rows)
    foot = pdf.get_y()
    sheet.skip(foot - top)
    pdf.c_margin = 0
    box = sheet.thousandths(left, top, left + width, foot)
    text = "\n".join("\t".join(cell.text for cell in row) for row in rows)
    return ReferenceBlock("table", text, box, html=table_html(rows, heading_rows))


def table_html(rows: Sequence[Sequence[Cell]], heading_rows: int) -> str:
    """Return a table as the ground truth writes it; see `training/README.md`."""
    lines = []
    for number, row in enumerate(rows):
        tag = "th" if number < heading_rows else "td"
        cells = []
        for cell in row:
            spans = f' colspan="{cell.columns}"' if cell.columns > 1 else ""
            spans += f' rowspan="{cell.rows}"' if cell.rows > 1 else ""
            cells.append(f"<{tag}{spans}>{escape(cell.text, quote=False)}</{tag}>")
        lines.append("<tr>" + "".join(cells) + "</tr>")
    return "<table>" + "".join(lines) + "</table>"
