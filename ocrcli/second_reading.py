"""Further readings for pages that loop, are cut or are doubtful, before they are marked as such."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from ocrcli.document import Page, PageFailure, PageImage
from ocrcli.markup_lines import lines_of, lone
from ocrcli.recogniser import Recogniser
from ocrcli.sureness import least_sure_line, text_sureness
from ocrcli.two_readings import is_doubtful, is_still_doubtful

if TYPE_CHECKING:
    from ocrcli.engine import PageResult

MIN_SURE_LINE = 0.915
"""Mean probability of a line's tokens below which a page is read twice.

Of 948 pages that nothing else made doubtful, the 50 that have such a line held a sixth of the wrong
characters.
"""

MIN_LEGIBLE = 0.85
"""Mean probability of a page's text below which no further reading will help.

Of 1,480 pages in taught languages none was below 0.93; of 159 in other scripts and in hands 156
were below this.
"""

MAX_LONE_LINES = 1
"""Lines that only one of two readings holds above which there is a third one.

Of 275 pages that nothing else made doubtful after two readings, the 36 that are above it held a
third of the wrong characters.
"""

_WORTH_IT = ("loop", "length")


class Redrawing(Protocol):
    """Pages that can be drawn once more."""

    def smaller(self, page_number: int) -> PageImage | PageFailure:
        """Return a page drawn smaller than usual."""


class SecondReading:
    """Reads a page once more, drawn in another size.

    A greedy model that is shown the same picture twice makes the same mistake twice. A page that
    loops or was cut is read alone, a tenth smaller and with more patience; one that is merely
    doubtful takes its turn among the others, in halves where it can be cut (`halves`). Where two
    readings leave lines without ink, or ink without lines, there is a third one, smaller again.
    """

    def __init__(
        self,
        pages: Redrawing,
        recogniser: Recogniser,
        page_timeout_s: float | None,
        attempts: int = 3,
    ) -> None:
        """Remember where pages come from.

        Args:
            pages: Draws pages.
            recogniser: Reads them.
            page_timeout_s: Seconds that a reading may take, or None.
            attempts: Times a page is read at most.
        """
        self._pages, self._recogniser, self._timeout = pages, recogniser, page_timeout_s
        self._attempts = attempts

    def is_worth_it(self, page: Page, readings: "Sequence[PageResult]") -> bool:
        """Return whether a page had better be read once more.

        What makes a page doubtful was measured with the small model.

        Args:
            page: The record of all readings so far.
            readings: What came of them, in order.
        """
        if self._recogniser.page_size is not None or page.attempts >= self._attempts:
            return False
        if _is_illegible(readings[0]):
            return False
        if page.attempts == 1:
            return is_doubtful(page) or least_sure_line(readings[0]) < MIN_SURE_LINE
        return is_still_doubtful(page) or _lone_lines(readings) > MAX_LONE_LINES

    def __call__(
        self,
        first: "PageResult",
        redraw: Callable[[int], PageImage | PageFailure] | None = None,
    ) -> "tuple[PageResult, int]":
        """Return the better result of a page, and how often it was read.

        Args:
            first: What came out of the first reading.
            redraw: Draws what was read again, so many tenths smaller; None for the page of the
                result.
        """
        if first.finish not in _WORTH_IT or _is_illegible(first):
            return first, 1
        page = redraw(1) if redraw else self._pages.smaller(first.page_number)
        if isinstance(page, PageFailure):
            return first, 1
        if self._timeout is not None:
            page = replace(page, deadline=time.monotonic() + self._timeout)
        second = self._recogniser.again(page, first)
        if second is None:
            return first, 1
        best = second if second.finish == "eos" else first
        seconds = replace(
            first.seconds,
            encode=first.seconds.encode + second.seconds.encode,
            prefill=first.seconds.prefill + second.seconds.prefill,
            decode=first.seconds.decode + second.seconds.decode,
        )
        return replace(
            best,
            seconds=seconds,
            prompt_tokens=first.prompt_tokens + second.prompt_tokens,
            output_tokens=first.output_tokens + second.output_tokens,
        ), 2


def _is_illegible(result: "PageResult") -> bool:
    sure = text_sureness(result)
    return sure is not None and sure < MIN_LEGIBLE


def _lone_lines(readings: "Sequence[PageResult]") -> int:
    if len(readings) != 2:
        return 0
    own, others = (lines_of(reading.markup) for reading in readings)
    return lone(own, others)
