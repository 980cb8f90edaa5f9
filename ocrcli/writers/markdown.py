"""Markdown (CommonMark with the tables of GitHub): structure kept, lines of a paragraph joined."""

import html
import re
from collections.abc import Iterable

from ocrcli.document import Block, BlockType, Document, Page, Source
from ocrcli.errors import OcrError
from ocrcli.tables import Cell, Table, find_table, is_rectangular
from ocrcli.writers.prose import escape, escape_line, join_lines

_BULLET = re.compile(r"\s*(?:[•◦▪●‣·–—*-])\s+(?=\S)")
_NUMBER = re.compile(r"\s*(?P<number>[0-9]{1,4})(?P<mark>[.)])\s+(?=\S)")
_MATH_MARKS = (("$$", "$$"), ("\\[", "\\]"), ("\\(", "\\)"), ("$", "$"))


def page_markdown(blocks: Iterable[Block]) -> str:
    """Return a page as Markdown.

    Args:
        blocks: The blocks in reading order; those without text leave no trace.
    """
    return "\n\n".join(_block(block) for block in blocks if block.text.strip())


class MarkdownWriter:
    """Pages headed by a comment with their number, which is not seen in the rendered text."""

    def __init__(self) -> None:
        """Start an output."""
        self._is_first = True

    def page(self, source: Source, page: Page) -> str:
        """Return the page's mark and its Markdown."""
        separator = "" if self._is_first else "\n"
        self._is_first = False
        body = f"\n{page.markdown}\n" if page.markdown else ""
        return f"{separator}{_page_mark(page)}\n{body}"

    def document(self, document: Document) -> str:
        """Return nothing: page marks are enough."""
        return ""

    def failure(self, error: OcrError) -> str:
        """Return nothing: failures are no text of a page."""
        return ""

    def end(self) -> str:
        """Return nothing: every page ends in a newline."""
        return ""


def _page_mark(page: Page) -> str:
    label = page.facts.label
    if not label or label == str(page.page_number):
        return f"<!-- page: {page.page_number} -->"
    # Two hyphens would end the comment.
    return f"<!-- page: {page.page_number} label: {label.replace('--', '- -').strip('>')} -->"


def _block(block: Block) -> str:
    if block.type is BlockType.TITLE:
        return f"# {escape(join_lines(block.text.splitlines()))}"
    if block.type is BlockType.LIST:
        return _list(block.text)
    if block.type is BlockType.CODE:
        return _code(block.text)
    if block.type is BlockType.FORMULA:
        return _formula(block.text)
    table = find_table(block.html) if block.html else None
    if table is not None:
        return _table(table)
    return escape_line(join_lines(block.text.splitlines()))


def _list(text: str) -> str:
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
    return "\n".join(f"{mark} {escape_line(join_lines(lines))}" for mark, lines in items)


def _code(text: str) -> str:
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def _formula(text: str) -> str:
    bare = text.strip()
    for opening, closing in _MATH_MARKS:
        if bare.startswith(opening) and bare.endswith(closing) and len(bare) > len(opening) * 2:
            bare = bare[len(opening) : -len(closing)].strip()
            break
    return f"$$\n{bare}\n$$"


def _table(table: Table) -> str:
    if not is_rectangular(table):
        return "\n".join(["<table>", *map(_html_row, table, range(len(table))), "</table>"])
    rows = [[escape(" ".join(cell.text.split())) for cell in row] for row in table]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    rule = f"|{' --- |' * len(table[0])}"
    return "\n".join([lines[0], rule, *lines[1:]])


def _html_row(row: tuple[Cell, ...], index: int) -> str:
    return f"<tr>{''.join(_html_cell(cell, index) for cell in row)}</tr>"


def _html_cell(cell: Cell, row_index: int) -> str:
    name = "th" if cell.is_heading else "td"
    attributes = f' scope="{"row" if row_index else "col"}"' if cell.is_heading else ""
    if cell.columns > 1:
        attributes += f' colspan="{cell.columns}"'
    if cell.rows > 1:
        attributes += f' rowspan="{cell.rows}"'
    return f"<{name}{attributes}>{html.escape(' '.join(cell.text.split()), quote=False)}</{name}>"
