"""One document from file to transcript: pages, ink, model, blocks, writer."""

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ocrcli.document import (
    Document,
    Page,
    PageFacts,
    PageFailure,
    PageImage,
    PageStatus,
    Source,
)
from ocrcli.errors import OcrError
from ocrcli.interruption import Stopped, shielded
from ocrcli.journal import Journal, NoJournal
from ocrcli.options import Device, Dtype, Options, PageSelection, TextLayer, choice
from ocrcli.recogniser import ModelRecogniser, Recogniser
from ocrcli.records import (
    blank_page,
    failed_page,
    finished_page,
    hopeless_page,
    is_blank,
    is_hopeless,
    layer_page,
    skipped_page,
)
from ocrcli.second_reading import SecondReading
from ocrcli.textstyle import TextStyle
from ocrcli.writers import Writer

if TYPE_CHECKING:
    from ocrcli.pages import Pages

_MOST_WAITING = 32
"""Records that may wait behind a page that is being read, without the engine knowing of them.

Beyond that the engine is left to finish what it has, so that a long run of blank pages is neither
kept nor kept back.
"""


@dataclass(frozen=True)
class Reading:
    """How the pages of a document are read.

    Attributes:
        attempts: Times a page that loops or is cut is read, 1 or 2.
        page_timeout_s: Seconds after which a page is given up, or None.
        file_timeout_s: Seconds after which no further page is begun, or None.
        fail_fast: Whether the first page that fails is the last one.
        style: What the text of a page depends on.
        text_layer: Whether text that a PDF carries is taken instead of reading the page.
    """

    attempts: int = 2
    page_timeout_s: float | None = None
    file_timeout_s: float | None = None
    fail_fast: bool = False
    style: TextStyle = TextStyle()
    text_layer: TextLayer = TextLayer.IGNORE

    @classmethod
    def of(cls, options: Options) -> "Reading":
        """Return what the options ask for."""
        return cls(
            options.attempts,
            options.page_timeout,
            options.file_timeout,
            options.fail_fast,
            options.style,
            options.text_layer,
        )


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

    Raises:
        OcrError: The model, the device or the output failed.
        Stopped: The run was told to stop; the remaining pages are recorded as skipped.
    """
    started = time.perf_counter()
    reading, journal = reading or Reading(), journal or NoJournal()
    numbers = iter(pages.page_numbers)
    try:
        for page in _in_order(numbers, pages, recogniser, reading, journal):
            with shielded():
                journal.add(page)
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
        raise
    document.seconds = time.perf_counter() - started
    document.model = recogniser.facts
    output.document(document)


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
    second = None
    if reading.attempts > 1:
        second = SecondReading(pages, recogniser, reading.page_timeout_s)
    known = journal.pages(reading.style)
    fresh = read_pages(pages.without(known), recogniser, reading, second)
    for page_number in numbers:
        page = known.get(page_number) or next(fresh, None)
        yield page or skipped_page(page_number, "the time for the file was over")


def read_pages(
    pages: Iterable[PageImage | PageFailure],
    recogniser: Recogniser,
    reading: Reading | None = None,
    second: SecondReading | None = None,
) -> Iterator[Page]:
    """Yield one record per page, in the order of the pages, until the time for the file is over.

    Blank pages and pages that could not be drawn keep their place but never reach the model.
    Pictures are pulled when the model has room for them and are not kept.

    Args:
        pages: Page images and failures.
        recogniser: Reads the pages that carry ink.
        reading: How pages are read.
        second: Reads pages again that loop or were cut; None for no second reading.
    """
    reading = reading or Reading()
    clock = _Clock(reading)
    source = clock.until_late(pages)
    for page in source:
        # Nothing is with the model here, so what does not need it is passed on at once.
        if (record := _without_model(page, reading)) is not None:
            yield record
        elif isinstance(page, PageImage):
            yield from _with_model(page, source, recogniser, reading, clock, second)


def _without_model(page: PageImage | PageFailure, reading: Reading) -> Page | None:
    """Return the record of a page that no model needs to read, or None."""
    if isinstance(page, PageFailure):
        return failed_page(page)
    if is_blank(page.facts):
        return blank_page(page.facts)
    carried = layer_page(page, reading.text_layer, reading.style)
    if carried is None and is_hopeless(page.facts):
        return hopeless_page(page.facts)
    return carried


def _with_model(
    first: PageImage,
    source: Iterator[PageImage | PageFailure],
    recogniser: Recogniser,
    reading: Reading,
    clock: "_Clock",
    second: SecondReading | None,
) -> Iterator[Page]:
    """Yield records from the first inked page on, until too many wait that the model never sees."""
    waiting: deque[PageFacts | Page] = deque([first.facts])

    def inked() -> Iterator[PageImage]:
        yield clock.with_deadline(first)
        # The bound is looked at before a page is drawn: a page that is drawn has to be kept.
        while sum(isinstance(item, Page) for item in waiting) < _MOST_WAITING:
            page = next(source, None)
            if page is None:
                return
            record = _without_model(page, reading)
            if record is not None:
                waiting.append(record)
            elif isinstance(page, PageImage):
                waiting.append(page.facts)
                yield clock.with_deadline(page)

    for result in recogniser.transcribe(inked()):
        yield from _settled(waiting)
        facts = waiting.popleft()
        assert isinstance(facts, PageFacts) and facts.page_number == result.page_number, (
            f"the engine answered for page {result.page_number} out of turn"
        )
        best, attempts = (result, 1) if second is None else second(result)
        yield finished_page(facts, best, attempts, reading.style)
        yield from _settled(waiting)
    for item in waiting:
        if isinstance(item, Page):
            yield item
        else:
            yield failed_page(PageFailure(item, "the model gave no answer"))


class _Clock:
    """The time limits of one document."""

    def __init__(self, reading: Reading) -> None:
        self._page_timeout = reading.page_timeout_s
        limit = reading.file_timeout_s
        self._end = None if limit is None else time.monotonic() + limit

    def until_late(
        self, pages: Iterable[PageImage | PageFailure]
    ) -> Iterator[PageImage | PageFailure]:
        """Yield pages as long as there is time to begin one; slow ones become failures."""
        source = iter(pages)
        while self._end is None or time.monotonic() < self._end:
            page = next(source, None)
            if page is None:
                return
            limit = self._page_timeout
            if limit is not None and isinstance(page, PageImage) and page.facts.seconds > limit:
                message = "the page could not be drawn in time"
                yield PageFailure(page.facts, message, PageStatus.TIMEOUT)
            else:
                yield page

    def with_deadline(self, page: PageImage) -> PageImage:
        """Return the page with the time at which it is given up."""
        ends = [] if self._end is None else [self._end]
        if self._page_timeout is not None:
            ends.append(time.monotonic() + self._page_timeout)
        return replace(page, deadline=min(ends)) if ends else page


def _settled(waiting: deque[PageFacts | Page]) -> Iterator[Page]:
    """Take off the front what needs no answer from the model."""
    while waiting and isinstance(first := waiting[0], Page):
        waiting.popleft()
        yield first


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
    )
    recogniser = ModelRecogniser(options)
    opened = open_pages(path, options.pages, options.password, recogniser.page_size)
    return _closing(opened, read_pages(opened, recogniser))


def _closing(opened: "Pages", records: Iterator[Page]) -> Iterator[Page]:
    with opened:
        yield from records
