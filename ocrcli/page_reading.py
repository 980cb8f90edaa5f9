"""Pages to records: what is with the model, what waits for it, and when time is over."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from ocrcli.document import Page, PageFailure, PageImage, PageStatus
from ocrcli.halves import gaps, one_result
from ocrcli.line_merging import merged
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
from ocrcli.two_readings import is_second_better, one_of_two

if TYPE_CHECKING:
    from ocrcli.bands import Band
    from ocrcli.engine import PageResult

_NO_ANSWER = "the model gave no answer"
_MOST_WAITING = 32
"""Records that may wait behind a page that is being read, without the engine knowing of them.

Beyond that the engine is left to finish what it has, so that a long run of blank pages is neither
kept nor kept back.
"""


@dataclass(frozen=True)
class Reading:
    """How the pages of a document are read.

    Attributes:
        attempts: Times a page that loops, is cut or is doubtful is read, 1 or 2.
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
    given: deque[_PageOf | _HalfOf | _BandOf] = deque()
    doubtful: deque[_PageOf] = deque()
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
            item = _PageOf(page)
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

    def asked_again(item: _PageOf) -> Iterator[PageImage]:
        halves = item.halves()
        given.extend(_HalfOf(item) for _ in halves)
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
            page = item.page if isinstance(item, _HalfOf) else item
            if isinstance(page, _PageOf) and page.is_to_be_asked:
                doubtful.append(page)
            yield from _settled(waiting)
        for item in given:
            item.keep()
        given.clear()
        # A page may turn out to be doubtful when no other is left.
        if not doubtful:
            yield from _settled(waiting)
            return


class _PageOf:
    """A page that is with the model, or waits to be read once more."""

    def __init__(self, page: PageImage) -> None:
        self.record: Page | None = None
        self._facts, self._redraw = page.facts, page.redraw
        self._draw_halves = page.halves
        self._first: Page | None = None
        self._first_result: PageResult | None = None
        self._awaited = 0
        self._half: PageResult | None = None

    @property
    def is_done(self) -> bool:
        """Whether there is a record."""
        return self.record is not None

    @property
    def is_to_be_asked(self) -> bool:
        """Whether the page is to be read once more, and that is not under way."""
        return not self.is_done and not self._awaited

    def read(self, result: "PageResult", style: TextStyle, second: SecondReading | None) -> None:
        """Take an answer; the first one may leave the page to be read again."""
        assert self._facts.page_number == result.page_number, (
            f"the engine answered for page {result.page_number} out of turn"
        )
        if self._first is not None:
            self._choose(result, style)
            return
        best, attempts = (result, 1) if second is None else second(result)
        page = finished_page(self._facts, best, attempts, style)
        if second is not None and self._redraw is not None and second.is_worth_it(page):
            self._first, self._first_result = page, best
        else:
            self.record = page

    def halves(self) -> list[PageImage]:
        """Return the page in two halves, once; none where it cannot be cut."""
        draw, self._draw_halves = self._draw_halves, None
        places = gaps(self._first) if self._first is not None else []
        halves = draw(places) if draw is not None and places else []
        self._awaited = len(halves)
        return halves

    def read_half(self, result: "PageResult", style: TextStyle) -> None:
        """Take the answer to a half; where one of them is no good the page is read smaller."""
        assert self._first is not None, "only a page that was read is read in halves"
        self._awaited -= 1
        if self._awaited:
            self._half = result
            return
        assert self._half is not None, "a page has two halves"
        whole = one_result(self._half, result)
        if whole is not None:
            self._choose(whole, style)
        elif "timeout" in (self._half.finish, result.finish):
            # Its time is over.
            self.keep()

    def _choose(self, result: "PageResult", style: TextStyle) -> None:
        """Make one record of both readings."""
        first, first_result = self._first, self._first_result
        assert first is not None and first_result is not None, "a second reading needs a first one"
        second = finished_page(self._facts, result, 1, style)
        is_second = is_second_better(first, second)
        if is_second:
            second = finished_page(self._facts, merged(result, first_result), 1, style)
        elif result.finish == "eos":
            attempts = first.attempts
            first = finished_page(self._facts, merged(first_result, result), attempts, style)
        self.record = one_of_two(first, second, is_second)

    def smaller(self) -> PageImage | None:
        """Return the page drawn a tenth smaller, or None if it cannot be drawn again."""
        assert self._redraw is not None, "a page that cannot be drawn again is not read again"
        redraw = self._redraw
        page = redraw(1)
        if isinstance(page, PageFailure):
            return None
        return replace(page, redraw=lambda tenths: redraw(tenths + 1))

    def keep(self) -> None:
        """Make do with what there is: no further answer will come."""
        self.record = self._first or failed_page(PageFailure(self._facts, _NO_ANSWER))


class _HalfOf:
    """A half of a page that is with the model."""

    def __init__(self, page: _PageOf) -> None:
        self.page = page

    def read(self, result: "PageResult", style: TextStyle, second: SecondReading | None) -> None:
        """Hand the answer to the page."""
        self.page.read_half(result, style)

    def keep(self) -> None:
        """Tell the page that no answer will come."""
        self.page.keep()


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
        self._page.fail(_NO_ANSWER)
        self.is_done = True


_Waiting = _PageOf | Page | LongPage | _BandOf
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
        elif isinstance(item, _PageOf) and item.record is not None:
            yield item.record
