"""Where the pages of one input are written when they go to the disk: whole, or not at all."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, Self

from ocrcli.document import Document, Page, Source
from ocrcli.options import Options, OutputFormat
from ocrcli.outputs import WholeFile, hidden_name, unwritable
from ocrcli.pages import Pages
from ocrcli.paths import Kind, kind_of
from ocrcli.writers import new_writer, suffix_of


class Sink(Protocol):
    """An output on the disk that appears under its name when it is finished.

    Attributes:
        seconds: Time spent on writing so far.
    """

    seconds: float

    def page(self, source: Source, page: Page) -> None:
        """Take a finished page."""

    def document(self, document: Document) -> None:
        """Take the end of the input."""

    def seal(self) -> Path | None:
        """Complete the output under a hidden name, and return that, or None for devices."""

    def finish(self) -> None:
        """Give the output its name."""

    def __enter__(self) -> Self:
        """Return the sink."""

    def __exit__(self, *exception: object) -> None:
        """Remove what is unfinished."""


def new_sink(target: Path, pages: Pages, options: Options) -> Sink:
    """Return a sink for one input.

    Args:
        target: The output: a file, or a folder when pages are split.
        pages: The input.
        options: The format, page marks and the like.

    Raises:
        OutputError: The output cannot be created.
    """
    if options.split_pages:
        return PageFolder(target, options)
    if options.format is OutputFormat.PDF:
        from ocrcli.searchable_pdf import SearchablePdf

        return SearchablePdf(target, pages)
    return TextFile(target, options)


class TextFile:
    """A transcript in one file of text."""

    def __init__(self, target: Path, options: Options) -> None:
        """Create the file under a hidden name."""
        self.seconds = 0.0
        self._file = WholeFile(target)
        self._writer = new_writer(options.format, options.page_marks)

    def _write(self, piece: Callable[[], str]) -> None:
        started = time.perf_counter()
        self._file.write(piece())
        self.seconds += time.perf_counter() - started

    def page(self, source: Source, page: Page) -> None:
        """Write a page."""
        self._write(lambda: self._writer.page(source, page))

    def document(self, document: Document) -> None:
        """Write the end of the input."""
        self._write(lambda: self._writer.document(document))

    def seal(self) -> Path | None:
        """Write the end of the output and make sure that all is on the disk."""
        self._write(self._writer.end)
        started = time.perf_counter()
        hidden = self._file.seal()
        self.seconds += time.perf_counter() - started
        return hidden

    def finish(self) -> None:
        """Give the file its name."""
        self._file.finish()

    def __enter__(self) -> Self:
        """Return the sink."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Remove what is unfinished."""
        self._file.__exit__(*exception)


class PageFolder:
    """A transcript with one file per page, in a folder that is whole or absent."""

    def __init__(self, target: Path, options: Options) -> None:
        """Create the folder under a hidden name."""
        self.seconds = 0.0
        self._target, self._options = target, options
        self._hidden = hidden_name(target)
        try:
            self._hidden.mkdir(parents=True)
        except OSError as error:
            raise unwritable(target, error) from error

    def page(self, source: Source, page: Page) -> None:
        """Write a page to a file of its own."""
        started = time.perf_counter()
        writer = new_writer(self._options.format, self._options.page_marks)
        name = f"page-{page.page_number:04}{suffix_of(self._options.format)}"
        with WholeFile(self._hidden / name) as file:
            file.write(writer.page(source, page) + writer.end())
            file.finish()
        self.seconds += time.perf_counter() - started

    def document(self, document: Document) -> None:
        """Write the document's own record, for formats that have one."""
        text = new_writer(self._options.format).document(document)
        if text:
            with WholeFile(self._hidden / f"document{suffix_of(self._options.format)}") as file:
                file.write(text)
                file.finish()

    def seal(self) -> Path | None:
        """Return the folder: every file in it is complete."""
        return self._hidden

    def finish(self) -> None:
        """Give the folder its name; what had it before is replaced."""
        try:
            if kind_of(self._target) is not Kind.ABSENT:
                old = self._hidden.with_suffix(".old")
                self._target.rename(old)
                self._hidden.rename(self._target)
                if old.is_symlink() or not old.is_dir():
                    old.unlink()
                else:
                    shutil.rmtree(old)
            else:
                self._hidden.rename(self._target)
        except OSError as error:
            raise unwritable(self._target, error) from error

    def __enter__(self) -> Self:
        """Return the sink."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Remove what is unfinished."""
        shutil.rmtree(self._hidden, ignore_errors=True)
