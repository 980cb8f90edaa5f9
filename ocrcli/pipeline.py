"""One document from file to transcript: pages, ink, model, blocks, writer."""

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol

from ocrcli.document import Document, Page, PageFacts, PageFailure, PageImage, Source
from ocrcli.errors import OcrError
from ocrcli.options import Device, Dtype, Options, PageSelection, choice
from ocrcli.pages import Pages, open_pages
from ocrcli.recogniser import ModelRecogniser, Recogniser
from ocrcli.records import blank_page, failed_page, finished_page, is_blank
from ocrcli.writers import Writer


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
    pages: Pages,
    recogniser: Recogniser,
    transcript: Transcript,
    document: Document,
    observer: Observer,
) -> None:
    """Transcribe an opened document, page by page.

    Args:
        pages: The document's pages.
        recogniser: Reads the pages that carry ink.
        transcript: Where finished pages are written at once.
        document: The account of the document, which is filled in.
        observer: Told of every finished page.

    Raises:
        OcrError: The model, the device or the output failed.
    """
    started = time.perf_counter()
    for page in read_pages(pages, recogniser):
        document.add(page)
        transcript.page(pages.source, page)
        observer.page_done(document, page)
    document.seconds = time.perf_counter() - started
    document.model = recogniser.facts
    transcript.document(document)


def read_pages(pages: Iterable[PageImage | PageFailure], recogniser: Recogniser) -> Iterator[Page]:
    """Yield one record per page, in the order of the pages.

    Blank pages and pages that could not be drawn keep their place but never reach the model.
    Pictures are pulled when the model has room for them and are not kept.

    Args:
        pages: Page images and failures.
        recogniser: Reads the pages that carry ink.
    """
    waiting: deque[PageFacts | Page] = deque()

    def inked() -> Iterator[PageImage]:
        for page in pages:
            if isinstance(page, PageFailure):
                waiting.append(failed_page(page))
            elif is_blank(page.facts):
                waiting.append(blank_page(page.facts))
            else:
                waiting.append(page.facts)
                yield page

    for result in recogniser.transcribe(inked()):
        yield from _settled(waiting)
        facts = waiting.popleft()
        assert isinstance(facts, PageFacts) and facts.page_number == result.page_number, (
            f"the engine answered for page {result.page_number} out of turn"
        )
        yield finished_page(facts, result)
    for item in waiting:
        if isinstance(item, Page):
            yield item
        else:
            yield failed_page(PageFailure(item, "the model gave no answer"))


def _settled(waiting: deque[PageFacts | Page]) -> Iterator[Page]:
    """Take off the front what needs no answer from the model."""
    while isinstance(first := waiting[0], Page):
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
        threads: CPU threads; None leaves the choice to PyTorch.

    Raises:
        OcrError: The file, the model or the device cannot be used. Its `exit_code` says which.

    Example:
        >>> for page in transcribe("letter.pdf"):  # doctest: +SKIP
        ...     print(page.page_number, page.status, page.text)
    """
    options = Options(
        model=None if model is None else Path(model),
        device=choice(Device, "device", device),
        dtype=choice(Dtype, "dtype", dtype),
        pages=PageSelection() if pages is None else PageSelection.parse(pages),
        password=password,
        pages_in_flight=pages_in_flight,
        max_tokens=max_tokens,
        threads=threads,
    )
    recogniser = ModelRecogniser(options)
    opened = open_pages(path, options.pages, options.password, recogniser.page_size)
    return _closing(opened, read_pages(opened, recogniser))


def _closing(opened: Pages, records: Iterator[Page]) -> Iterator[Page]:
    with opened:
        yield from records
