"""What a writer is, and which one belongs to a format.

A writer turns pages into pieces of text as they are finished, so that a transcript grows while the
next page is still being read. It keeps no more than it needs to place separators.
"""

from typing import Protocol

from ocrcli.document import Document, Page, Source
from ocrcli.errors import OcrError, UsageError
from ocrcli.options import OutputFormat
from ocrcli.textstyle import PageMarks
from ocrcli.writers.alto import AltoWriter
from ocrcli.writers.hocr import HocrWriter
from ocrcli.writers.jsonl import JsonLinesWriter
from ocrcli.writers.markdown import MarkdownWriter
from ocrcli.writers.text import TextWriter

_SUFFIXES = {OutputFormat.ALTO: ".alto.xml", OutputFormat.PDF: ".ocr.pdf"}


class Writer(Protocol):
    """Turns the pages of one output, be it of one input or several, into text."""

    def page(self, source: Source, page: Page) -> str:
        """Return what a finished page adds to the output."""

    def document(self, document: Document) -> str:
        """Return what the end of an input adds to the output."""

    def failure(self, error: OcrError) -> str:
        """Return what an input that failed adds to the output."""

    def end(self) -> str:
        """Return what closes the output."""


_WRITERS: dict[OutputFormat, type[Writer]] = {
    OutputFormat.JSONL: JsonLinesWriter,
    OutputFormat.HOCR: HocrWriter,
    OutputFormat.ALTO: AltoWriter,
}


def new_writer(format_: OutputFormat, marks: PageMarks = PageMarks.AUTO) -> Writer:
    """Return a writer for one output.

    Args:
        format_: What the transcript is written as; any format that is text.
        marks: What stands between pages, for plain text and Markdown.

    Raises:
        UsageError: The format is no text.
    """
    if format_ is OutputFormat.TXT:
        return TextWriter(marks)
    if format_ is OutputFormat.MD:
        return MarkdownWriter(marks)
    if format_ not in _WRITERS:
        raise UsageError(
            f"{format_} is no text and cannot go to standard output",
            next_action="give a file or a folder with -o",
        )
    return _WRITERS[format_]()


def suffix_of(format_: OutputFormat) -> str:
    """Return the suffix of files in this format, such as ".txt"."""
    return _SUFFIXES.get(format_, f".{format_}")
