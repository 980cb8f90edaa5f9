"""Markdown (CommonMark with the tables of GitHub): structure kept, lines of a paragraph joined."""

import os
import re
from collections.abc import Iterable
from urllib.parse import quote

from ocrcli.document import Block, BlockType, Document, Page, Source
from ocrcli.errors import OcrError
from ocrcli.tables import find_table
from ocrcli.textstyle import Formulas, Hyphens, PageMarks, Tables, TextStyle
from ocrcli.writers.arrangement import arranged, is_marked
from ocrcli.writers.formulas import bare_formula, plain_formula
from ocrcli.writers.headings import heading_levels
from ocrcli.writers.page_marks import page_comment
from ocrcli.writers.prose import escape, escape_line, join_lines
from ocrcli.writers.table_formats import table_as

_BULLET = re.compile(r"\s*(?:[•◦▪●‣·–—*-])\s+(?=\S)")
_NUMBER = re.compile(r"\s*(?P<number>[0-9]{1,4})(?P<mark>[.)])\s+(?=\S)")
_SEPARATED = (Tables.CSV, Tables.TSV)


def page_markdown(blocks: Iterable[Block], style: TextStyle | None = None) -> str:
    """Return a page as Markdown.

    Args:
        blocks: The blocks in reading order; those without text leave no trace.
        style: Order, line ends, tables, formulas and margins; None for the defaults.
    """
    style = style or TextStyle()
    chosen = arranged(blocks, style, pictures=True)
    levels = heading_levels(chosen)
    parts = []
    for index, block in enumerate(chosen):
        if block.picture is not None:
            parts.append(f"![{_alternative(chosen, index)}]({quote(os.fsencode(block.picture))})")
        if block.text.strip():
            parts.append(_block(block, style, levels.get(index, 1)))
    return "\n\n".join(parts)


class MarkdownWriter:
    """Pages headed by a comment with their number, which is not seen in the rendered text."""

    def __init__(self, marks: PageMarks = PageMarks.AUTO) -> None:
        """Start an output.

        Args:
            marks: What stands between pages; a comment by default.
        """
        self._marks = PageMarks.COMMENT if marks is PageMarks.AUTO else marks
        self._is_empty = True
        self._num_pages = 0

    def page(self, source: Source, page: Page) -> str:
        """Return the page's mark and its Markdown."""
        parts = [part for part in (self._mark(page), page.markdown) if part]
        self._num_pages += 1
        if not parts:
            return ""
        separator = "" if self._is_empty else "\n"
        self._is_empty = False
        return separator + "\n\n".join(parts) + "\n"

    def _mark(self, page: Page) -> str:
        if self._marks is PageMarks.COMMENT:
            return page_comment(page)
        if not self._num_pages or self._marks is PageMarks.NONE:
            return ""
        return "---" if self._marks is PageMarks.RULE else "\f"

    def document(self, document: Document) -> str:
        """Return nothing: page marks are enough."""
        return ""

    def failure(self, error: OcrError) -> str:
        """Return nothing: failures are no text of a page."""
        return ""

    def end(self) -> str:
        """Return nothing: every page ends in a newline."""
        return ""


def _block(block: Block, style: TextStyle, level: int) -> str:
    text = _content(block, style, level)
    return f"<!-- {block.type} -->\n\n{text}" if is_marked(block, style) else text


def _alternative(blocks: list[Block], index: int) -> str:
    """Return what stands for a picture where it is not seen: its caption, if there is one."""
    for near in (*blocks[index + 1 : index + 2], *blocks[max(index - 1, 0) : index]):
        if near.type is BlockType.CAPTION:
            caption = escape(join_lines(near.text.splitlines()))
            return caption.replace("[", r"\[").replace("]", r"\]")
    return "Figure"


def _content(block: Block, style: TextStyle, level: int) -> str:
    mends = style.dehyphenate is not Hyphens.OFF
    lines = block.text.splitlines()
    if block.type is BlockType.TITLE:
        return f"{'#' * level} {escape(join_lines(lines, mends=mends))}"
    if block.type is BlockType.LIST:
        return _list(block.text, mends)
    if block.type is BlockType.CODE:
        return _code(block.text)
    if block.type is BlockType.FORMULA:
        if style.math is not Formulas.LATEX:
            return escape_line(plain_formula(block.text, style.math))
        return f"$$\n{bare_formula(block.text)}\n$$"
    table = find_table(block.html) if block.html else None
    if table is not None:
        form = Tables.MD if style.tables is Tables.AUTO else style.tables
        text = table_as(table, form)
        return _code(text, str(form)) if form in _SEPARATED else text
    return escape_line(join_lines(lines, mends=mends))


def _list(text: str, mends: bool) -> str:
    items: list[tuple[str, list[str]]] = []
    for line in text.split("\n"):
        bullet, number = _BULLET.match(line), _NUMBER.match(line)
        if bullet:
            items.append(("-", [line[bullet.end() :]]))
        elif number:
            items.append((f"{int(number['number'])}{number['mark']}", [line[number.end() :]]))
        elif items:
            items[-1][1].append(line)
        elif line.strip():
            items.append(("-", [line]))
    return "\n".join(
        f"{mark} {escape_line(join_lines(lines, mends=mends))}" for mark, lines in items
    )


def _code(text: str, language: str = "") -> str:
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
