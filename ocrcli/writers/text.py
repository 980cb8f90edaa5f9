"""Plain text: what is printed on the page and nothing else."""

from collections.abc import Iterable

from ocrcli.document import Block, Document, Page, Source
from ocrcli.errors import OcrError

PAGE_SEPARATOR = "\f"
"""Stands between two pages."""


def page_text(blocks: Iterable[Block]) -> str:
    """Return the text of a page: blocks separated by a blank line, lines as printed.

    Args:
        blocks: The blocks in reading order; those without text leave no trace.
    """
    return "\n\n".join(block.text for block in blocks if block.text.strip())


class TextWriter:
    """Pages separated by form feeds, with one newline at the end of the output."""

    def __init__(self) -> None:
        """Start an output."""
        self._is_first = True
        self._needs_newline = False

    def page(self, source: Source, page: Page) -> str:
        """Return the page's text, after a form feed unless it is the first page."""
        separator = "" if self._is_first else PAGE_SEPARATOR
        self._is_first = False
        self._needs_newline = not page.text
        return f"{separator}{page.text}\n" if page.text else separator

    def document(self, document: Document) -> str:
        """Return nothing: inputs are separated as pages are."""
        return ""

    def failure(self, error: OcrError) -> str:
        """Return nothing: failures are no text of a page."""
        return ""

    def end(self) -> str:
        """Return the final newline if the last page did not bring one."""
        return "\n" if self._needs_newline else ""
