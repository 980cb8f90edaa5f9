"""One document from file to transcript: pages, ink, model, blocks, writer."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ocrcli.document import (
    Document,
    Page,
    Source,
)
from ocrcli.errors import OcrError
from ocrcli.interruption import Stopped, shielded
from ocrcli.journal import Journal, NoJournal
from ocrcli.options import Device, Dtype, Options, PageSelection, choice
from ocrcli.page_reading import Reading, read_pages
from ocrcli.recogniser import ModelRecogniser, Recogniser
from ocrcli.records import (
    skipped_page,
)
from ocrcli.second_reading import SecondReading
from ocrcli.writers import Writer

if TYPE_CHECKING:
    from ocrcli.figures import Figures
    from ocrcli.pages import Pages


class Output(Protocol):
    """Takes finished pages."""

    def page(self, source: Source, page: Page) -> None:
        """Take a finished page."""

    def document(self, document: Document) -> None:
        """Take the end of an input."""


class Transcript:
    """An output that grows page by page.

    Attributes:
        seconds: Time spent on writing so far.
    """

    def __init__(self, writer: Writer, write: Callable[[str], object]) -> None:
        """Join a writer and the place its text goes to.

        Args:
            writer: Turns pages into text.
            write: Takes the text.
        """
        self.writer, self._write = writer, write
        self.seconds = 0.0

    def page(self, source: Source, page: Page) -> None:
        """Write a finished page."""
        self._timed(lambda: self.writer.page(source, page))

    def document(self, document: Document) -> None:
        """Write the end of an input."""
        self._timed(lambda: self.writer.document(document))

    def failure(self, error: OcrError) -> None:
        """Write that an input failed."""
        self._timed(lambda: self.writer.failure(error))

    def end(self) -> None:
        """Write the end of the output."""
        self._timed(self.writer.end)

    def _timed(self, text: Callable[[], str]) -> None:
        started = time.perf_counter()
        if piece := text():
            self._write(piece)
        self.seconds += time.perf_counter() - started


class Observer(Protocol):
    """Someone who wants to know how a document is getting on."""

    def page_done(self, document: Document, page: Page) -> None:
        """Hear of a finished page; `document` has counted it."""


def transcribe_document(
    pages: "Pages",
    recogniser: Recogniser,
    output: Output,
    document: Document,
    observer: Observer,
    reading: Reading | None = None,
    journal: Journal | NoJournal | None = None,
    figures: "Figures | None" = None,
) -> None:
    """Transcribe an opened document, page by page; every page leaves a record.

    Args:
        pages: The document's pages.
        recogniser: Reads the pages that carry ink.
        output: Where finished pages are written at once.
        document: The account of the document, which is filled in.
        observer: Told of every finished page.
        reading: How pages are read.
        journal: Knows pages that an earlier run has finished, and is told of new ones.
        figures: Cuts figures out of finished pages, or None.

    Raises:
        OcrError: The model, the device or the output failed.
        Stopped: The run was told to stop; the remaining pages are recorded as skipped.
    """
    started = time.perf_counter()
    reading, journal = reading or Reading(), journal or NoJournal()
    numbers = iter(pages.page_numbers)

    def end() -> None:
        document.seconds = time.perf_counter() - started
        document.model = recogniser.facts
        with shielded():
            output.document(document)

    try:
        for page in _in_order(numbers, pages, recogniser, reading, journal):
            with shielded():
                journal.add(page)
                page = page if figures is None else figures.cut(page)
                document.add(page)
                output.page(pages.source, page)
            observer.page_done(document, page)
            if reading.fail_fast and page.status.is_failed:
                break
        for page_number in numbers:
            _skip(page_number, "an earlier page failed", pages, document, output, observer)
    except Stopped:
        for page_number in pages.page_numbers[document.num_pages :]:
            _skip(page_number, "the run was stopped", pages, document, output, observer)
        end()
        raise
    end()


def _skip(
    page_number: int,
    reason: str,
    pages: "Pages",
    document: Document,
    output: Output,
    observer: Observer,
) -> None:
    page = skipped_page(page_number, reason)
    document.add(page)
    output.page(pages.source, page)
    observer.page_done(document, page)


def _in_order(
    numbers: Iterator[int],
    pages: "Pages",
    recogniser: Recogniser,
    reading: Reading,
    journal: Journal | NoJournal,
) -> Iterator[Page]:
    """Yield known and new pages in the order of `numbers`, skipped ones when time is over."""
    second = _second(pages, recogniser, reading)
    known = journal.pages(reading.style)
    fresh = read_pages(pages.without(known), recogniser, reading, second)
    for page_number in numbers:
        page = known.get(page_number) or next(fresh, None)
        yield page or skipped_page(page_number, "the time for the file was over")


def transcribe(
    path: str | os.PathLike[str],
    *,
    model: str | os.PathLike[str] | None = None,
    device: str = "auto",
    dtype: str = "auto",
    pages: str | None = None,
    password: str | None = None,
    pages_in_flight: int | None = None,
    max_tokens: int | None = None,
    rotate: bool = True,
    threads: int | None = None,
    attempts: int = 3,
) -> Iterator[Page]:
    """Return the pages of a PDF or a picture, transcribed one after the other as you iterate.

    The file is opened at once; the model is loaded when the first page that carries ink is due.

    Args:
        path: A PDF, PNG, JPEG, TIFF, WebP, BMP or GIF file.
        model: Folder or safetensors file of a model; None for the one that is shipped.
        device: "auto", "cpu" or "cuda".
        dtype: "auto", "float32" or "bfloat16".
        pages: Pages to read, counted from 1, such as "1-3,7"; None for all.
        password: Password of an encrypted PDF.
        pages_in_flight: Pages worked on at once; None for what the model is published with.
        max_tokens: Tokens after which a page is cut; None for what the model is published with.
        rotate: Whether pages that lie on their side are turned before they are read.
        threads: CPU threads; None leaves the choice to PyTorch.
        attempts: Times a page that loops, is cut or is doubtful is read at most, 1 to 3.

    Raises:
        OcrError: The file, the model or the device cannot be used. Its `exit_code` says which.

    Example:
        >>> for page in transcribe("letter.pdf"):  # doctest: +SKIP
        ...     print(page.page_number, page.status, page.text)
    """
    # Pages that come from elsewhere are read where PyMuPDF is not installed.
    from ocrcli.pages import open_pages

    options = Options(
        model=None if model is None else Path(model),
        device=choice(Device, "device", device),
        dtype=choice(Dtype, "dtype", dtype),
        pages=PageSelection() if pages is None else PageSelection.parse(pages),
        password=password,
        pages_in_flight=pages_in_flight,
        max_tokens=max_tokens,
        rotate=rotate,
        threads=threads,
        attempts=attempts,
    )
    recogniser = ModelRecogniser(options)
    opened = open_pages(path, options.pages, options.password, recogniser.page_size)
    reading = Reading.of(options)
    return _closing(
        opened, read_pages(opened, recogniser, reading, _second(opened, recogniser, reading))
    )


def _second(pages: "Pages", recogniser: Recogniser, reading: Reading) -> SecondReading | None:
    if reading.attempts == 1:
        return None
    return SecondReading(pages, recogniser, reading.page_timeout_s, reading.attempts)


def _closing(opened: "Pages", records: Iterator[Page]) -> Iterator[Page]:
    with opened:
        yield from records
