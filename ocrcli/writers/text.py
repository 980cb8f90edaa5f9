"""Plain text: what is printed on the page and nothing else."""

from collections.abc import Iterable

from ocrcli.document import Block, BlockType, Document, Page, Source
from ocrcli.errors import OcrError
from ocrcli.tables import find_table
from ocrcli.textstyle import Hyphens, Layout, PageMarks, Tables, TextStyle
from ocrcli.writers.arrangement import arranged, is_marked
from ocrcli.writers.formulas import plain_formula
from ocrcli.writers.page_marks import RULE, page_comment
from ocrcli.writers.prose import mend_words
from ocrcli.writers.spatial import spatial_text
from ocrcli.writers.table_formats import table_as


def page_text(blocks: Iterable[Block], style: TextStyle | None = None) -> str:
    """Return the text of a page: blocks separated by a blank line, lines as printed.

    Args:
        blocks: The blocks in reading order; those without text leave no trace.
        style: Order, line ends, tables, formulas and margins; None for the defaults.
    """
    style = style or TextStyle()
    chosen = arranged(blocks, style)
    if style.layout is Layout.PRESERVE:
        return spatial_text(chosen)
    return "\n\n".join(_block(block, style) for block in chosen)


def _block(block: Block, style: TextStyle) -> str:
    text = block.text
    table = find_table(block.html) if block.html and style.tables is not Tables.AUTO else None
    if table is not None:
        text = table_as(table, style.tables)
    elif block.type is BlockType.FORMULA:
        text = plain_formula(text, style.math)
    elif style.dehyphenate is Hyphens.SAFE and block.type is not BlockType.CODE:
        text = mend_words(text)
    return f"[{block.type}] {text}" if is_marked(block, style) else text


class TextWriter:
    """Pages separated by form feeds or other marks, with one newline at the end of the output."""

    def __init__(self, marks: PageMarks = PageMarks.AUTO) -> None:
        """Start an output.

        Args:
            marks: What stands between pages; a form feed by default.
        """
        self._marks = marks
        self._is_first = True
        self._needs_newline = False

    def page(self, source: Source, page: Page) -> str:
        """Return the page's text, after a mark unless it is the first page.

        Comments name the page that follows, so the first page has one too.
        """
        separator = self._separator(page)
        self._is_first = False
        self._needs_newline = not page.text
        return f"{separator}{page.text}\n" if page.text else separator

    def _separator(self, page: Page) -> str:
        if self._marks is PageMarks.COMMENT:
            return f"{page_comment(page)}\n"
        if self._is_first:
            return ""
        if self._marks is PageMarks.RULE:
            return f"\n{RULE}\n\n"
        return "\n" if self._marks is PageMarks.NONE else "\f"

    def document(self, document: Document) -> str:
        """Return nothing: inputs are separated as pages are."""
        return ""

    def failure(self, error: OcrError) -> str:
        """Return nothing: failures are no text of a page."""
        return ""

    def end(self) -> str:
        """Return the final newline if the last page did not bring one."""
        return "\n" if self._needs_newline else ""
