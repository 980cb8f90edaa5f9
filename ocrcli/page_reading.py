"""Pages to records: what is with the model, what waits for it, and when time is over."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from ocrcli.asked_page import NO_ANSWER, AskedHalf, AskedPage
from ocrcli.document import Page, PageFailure, PageImage, PageStatus
from ocrcli.long_page import LongPage
from ocrcli.options import Options, TextLayer
from ocrcli.recogniser import Recogniser
from ocrcli.records import (
    blank_page,
    failed_page,
    finished_page,
    hopeless_page,
    is_blank,
    is_hopeless,
    layer_page,
)
from ocrcli.second_reading import SecondReading
from ocrcli.textstyle import TextStyle

if TYPE_CHECKING:
    from ocrcli.bands import Band
    from ocrcli.engine import PageResult

_MOST_WAITING = 32
"""Records that may wait behind a page that is being read, without the engine knowing of them.

Beyond that the engine is left to finish what it has, so that a long run of blank pages is neither
kept nor kept back.
"""


@dataclass(frozen=True)
class Reading:
    """How the pages of a document are read.

    Attributes:
        attempts: Times a page that loops, is cut or is doubtful is read at most, 1 to 3.
        page_timeout_s: Seconds after which a page is given up, or None.
        file_timeout_s: Seconds after which no further page is begun, or None.
        fail_fast: Whether the first page that fails is the last one.
        style: What the text of a page depends on.
        text_layer: Whether text that a PDF carries is taken instead of reading the page.
    """

    attempts: int = 3
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
        second: Reads pages again that loop, were cut or are doubtful; None for no second reading.
    """
    reading = reading or Reading()
    clock = _Clock(reading, recogniser)
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
    # A very long page is judged by its bands: seen as a whole its print is too small to be sure of.
    if page.bands is None and is_blank(page.facts):
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
    # Everything in the order of the pages, and what the model has in the order it was given.
    waiting: deque[_Waiting] = deque()
    given: deque[AskedPage | AskedHalf | _BandOf] = deque()
    doubtful: deque[AskedPage] = deque()
    new = chain([first], source)

    def inked() -> Iterator[PageImage]:
        # The bound is looked at before a page is drawn: a page that is drawn has to be kept.
        while doubtful or sum(_is_settled(item) for item in waiting) < _MOST_WAITING:
            if doubtful:
                yield from asked_again(doubtful.popleft())
                continue
            page = next(new, None)
            if page is None:
                return
            record = None if page is first else _without_model(page, reading)
            if record is not None:
                waiting.append(record)
            elif isinstance(page, PageImage):
                yield from asked(page)

    def asked(page: PageImage) -> Iterator[PageImage]:
        limit = clock.limit()
        if page.bands is None:
            recogniser.load()
            item = AskedPage(page)
            waiting.append(item)
            given.append(item)
            yield replace(page, deadline=clock.deadline(limit))
            return
        long_page = LongPage(page.facts, reading.style)
        for band in _drawn_in_time(page, long_page, lambda: clock.is_over(limit)):
            if is_blank(band.image.facts):
                long_page.add(band, blank_page(band.image.facts))
            else:
                recogniser.load()
                part = _BandOf(long_page, band)
                waiting.append(part)
                given.append(part)
                yield replace(band.image, deadline=clock.deadline(limit))
        # Behind its bands, so that it is due when they are done.
        waiting.append(long_page)

    def asked_again(item: AskedPage) -> Iterator[PageImage]:
        halves = item.halves()
        given.extend(AskedHalf(item) for _ in halves)
        limit = clock.limit()
        if halves:
            yield from (replace(half, deadline=clock.deadline(limit)) for half in halves)
            return
        page = item.smaller()
        if page is None:
            item.keep()
            return
        given.append(item)
        yield replace(page, deadline=clock.deadline(clock.limit()))

    while True:
        for result in recogniser.transcribe(inked()):
            yield from _settled(waiting)
            item = given.popleft()
            item.read(result, reading.style, second)
            page = item.page if isinstance(item, AskedHalf) else item
            if isinstance(page, AskedPage) and page.is_to_be_asked:
                doubtful.append(page)
            yield from _settled(waiting)
        for item in given:
            item.keep()
        given.clear()
        # A page may turn out to be doubtful when no other is left.
        if not doubtful:
            yield from _settled(waiting)
            return


class _BandOf:
    """A band that is with the model, and the page it belongs to."""

    def __init__(self, page: LongPage, band: "Band") -> None:
        self.is_done = False
        self._page, self._band = page, band

    def read(self, result: "PageResult", style: TextStyle, second: SecondReading | None) -> None:
        """Hand the band's record to its page; read it again where that is worth it."""
        attempts = 1
        if second is not None:
            result, attempts = second(result, self._band.image.redraw)
        record = finished_page(self._band.image.facts, result, attempts, style)
        self._page.add(self._band, record)
        self.is_done = True

    def keep(self) -> None:
        """Tell the page that no answer will come."""
        self._page.fail(NO_ANSWER)
        self.is_done = True


_Waiting = AskedPage | Page | LongPage | _BandOf
"""What waits for its turn: pages and bands that the model reads, records, pages read in bands."""


def _drawn_in_time(
    page: PageImage, long_page: LongPage, is_over: Callable[[], bool]
) -> "Iterator[Band]":
    """Yield the bands of a page; tell the page when one cannot be drawn, or not in time."""
    assert page.bands is not None, "only very long pages have bands"
    for band in page.bands():
        if isinstance(band, PageFailure):
            long_page.fail(band.message, band.status)
            return
        if is_over():
            long_page.fail("the page could not be read in time", PageStatus.TIMEOUT)
            return
        yield band


class _Clock:
    """The time limits of one document, on a clock that stands still while the model is loaded."""

    def __init__(self, reading: Reading, recogniser: Recogniser) -> None:
        self._recogniser = recogniser
        self._page_timeout = reading.page_timeout_s
        limit = reading.file_timeout_s
        self._end = None if limit is None else self._now() + limit

    def _now(self) -> float:
        return time.monotonic() - self._recogniser.load_seconds

    def until_late(
        self, pages: Iterable[PageImage | PageFailure]
    ) -> Iterator[PageImage | PageFailure]:
        """Yield pages as long as there is time to begin one; slow ones become failures."""
        source = iter(pages)
        while not self.is_over(self._end):
            page = next(source, None)
            if page is None:
                return
            limit = self._page_timeout
            if limit is not None and isinstance(page, PageImage) and page.facts.seconds > limit:
                message = "the page could not be drawn in time"
                yield PageFailure(page.facts, message, PageStatus.TIMEOUT)
            else:
                yield page

    def limit(self) -> float | None:
        """Return the time of this clock at which a page that is begun now is given up."""
        ends = [] if self._end is None else [self._end]
        if self._page_timeout is not None:
            ends.append(self._now() + self._page_timeout)
        return min(ends, default=None)

    def is_over(self, limit: float | None) -> bool:
        """Return whether a time of this clock has come."""
        return limit is not None and self._now() >= limit

    def deadline(self, limit: float | None) -> float | None:
        """Return a time of this clock in seconds of `time.monotonic`, once the model is loaded."""
        return None if limit is None else limit + self._recogniser.load_seconds


def _is_settled(item: _Waiting) -> bool:
    return isinstance(item, Page | LongPage) or item.is_done


def _settled(waiting: deque[_Waiting]) -> Iterator[Page]:
    """Take off the front what needs no answer from the model."""
    while waiting and _is_settled(waiting[0]):
        item = waiting.popleft()
        if isinstance(item, Page):
            yield item
        elif isinstance(item, LongPage):
            yield item.page()
        elif isinstance(item, AskedPage) and item.record is not None:
            yield item.record
