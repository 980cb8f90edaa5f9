"""A page that is with the model, once or until its readings leave no doubt."""

from dataclasses import replace
from typing import TYPE_CHECKING

from ocrcli.document import Page, PageFailure, PageImage, PageStatus
from ocrcli.halves import gaps, one_result
from ocrcli.line_merging import merged
from ocrcli.line_voting import Vote
from ocrcli.lost_blocks import doubts_of_loss
from ocrcli.records import failed_page, finished_page
from ocrcli.second_reading import SecondReading
from ocrcli.textstyle import TextStyle
from ocrcli.two_readings import doubted_as_first, is_second_better, one_of

if TYPE_CHECKING:
    from ocrcli.engine import PageResult

NO_ANSWER = "the model gave no answer"
"""What is said of a page that the engine passed over."""

_VOTERS = 3
_WITH_TEXT = (PageStatus.OK, PageStatus.SUSPECT)
_GIVEN_UP = ("timeout", "error")


class AskedPage:
    """A page that is with the model, or waits to be read once more.

    Attributes:
        record: What was made of the page, once that is settled.
    """

    def __init__(self, page: PageImage) -> None:
        """Remember how the page can be drawn again.

        Args:
            page: The page as it is read first.
        """
        self.record: Page | None = None
        self._facts, self._redraw = page.facts, page.redraw
        self._draw_halves = page.halves
        self._tenths = 0
        self._best: Page | None = None
        self._best_result: PageResult | None = None
        self._others: list[Page] = []
        self._readings: list[tuple[PageResult, Page]] = []
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
        """Take an answer; it may leave the page to be read again.

        Args:
            result: The answer to the page as a whole.
            style: What the text of a page depends on.
            second: Says which pages are read again; None for none.
        """
        assert self._facts.page_number == result.page_number, (
            f"the engine answered for page {result.page_number} out of turn"
        )
        if self._best is not None:
            self._compare(result, style, second)
            return
        self._best_result, attempts = (result, 1) if second is None else second(result)
        self._best = finished_page(self._facts, self._best_result, attempts, style)
        self._readings.append((self._best_result, self._best))
        self._settle(self._best_result, style, second)

    def halves(self) -> list[PageImage]:
        """Return the page in two halves, once; none where it cannot be cut."""
        draw, self._draw_halves = self._draw_halves, None
        places = gaps(self._best) if self._best is not None else []
        halves = draw(places) if draw is not None and places else []
        self._awaited = len(halves)
        return halves

    def read_half(
        self, result: "PageResult", style: TextStyle, second: SecondReading | None
    ) -> None:
        """Take the answer to a half; where one of them is no good the page is read smaller."""
        assert self._best is not None, "only a page that was read is read in halves"
        self._awaited -= 1
        if self._awaited:
            self._half = result
            return
        assert self._half is not None, "a page has two halves"
        whole = one_result(self._half, result)
        if whole is not None:
            self._compare(whole, style, second)
        elif "timeout" in (self._half.finish, result.finish):
            # Its time is over.
            self.keep()

    def smaller(self) -> PageImage | None:
        """Return the page drawn a tenth smaller than before, or None if it cannot be drawn."""
        assert self._redraw is not None, "a page that cannot be drawn again is not read again"
        redraw, self._tenths = self._redraw, self._tenths + 1
        fewest = self._tenths
        page = redraw(fewest)
        if isinstance(page, PageFailure):
            return None
        return replace(page, redraw=lambda tenths: redraw(tenths + fewest))

    def keep(self) -> None:
        """Make do with what there is: no further answer will come."""
        if self._best is None:
            self.record = failed_page(PageFailure(self._facts, NO_ANSWER))
        else:
            self._end(one_of(self._best, self._others))

    def _compare(
        self, result: "PageResult", style: TextStyle, second: SecondReading | None
    ) -> None:
        """Take a further answer; the better reading is kept, with the surer lines of the other."""
        best, known = self._best, self._best_result
        assert best is not None and known is not None, "a second reading needs a first one"
        page = finished_page(self._facts, result, 1, style)
        self._readings.append((result, page))
        if is_second_better(best, page):
            self._others.append(best)
            self._best_result = merged(result, known)
            self._best = finished_page(self._facts, self._best_result, 1, style)
        else:
            self._others.append(page)
            if result.finish == "eos":
                self._best_result = merged(known, result)
                self._best = finished_page(self._facts, self._best_result, best.attempts, style)
        self._settle(result, style, second)

    def _settle(self, last: "PageResult", style: TextStyle, second: SecondReading | None) -> None:
        """Make the record, unless the page is worth another reading."""
        assert self._best is not None, "the page was read"
        page = one_of(self._best, self._others)
        if (
            second is None
            or self._redraw is None
            or last.finish in _GIVEN_UP
            or not second.is_worth_it(page, [result for result, _ in self._readings])
        ):
            self._end(self._voted(page, style))

    def _end(self, page: Page) -> None:
        pages = [reading for _, reading in self._readings]
        page = doubted_as_first(page, pages[0])
        lost = doubts_of_loss(page, pages) if page.status in _WITH_TEXT else []
        if lost:
            page = replace(page, status=PageStatus.SUSPECT, warnings=(*page.warnings, *lost))
        self.record = page

    def _voted(self, page: Page, style: TextStyle) -> Page:
        """Return what three readings make together, if each came to its end; the page if not."""
        results = [result for result, _ in self._readings]
        if len(results) < _VOTERS or any(result.finish != "eos" for result in results):
            return page
        vote = Vote(results)
        # Time and attempts are those of all readings, whichever is the base.
        others = [other for i, (_, other) in enumerate(self._readings) if i != vote.base]
        whole = one_of(finished_page(self._facts, vote.result(), 1, style), others)
        return replace(whole, attempts=page.attempts, seconds=page.seconds)


class AskedHalf:
    """A half of a page that is with the model."""

    def __init__(self, page: AskedPage) -> None:
        """Remember the page it is a half of."""
        self.page = page

    def read(self, result: "PageResult", style: TextStyle, second: SecondReading | None) -> None:
        """Hand the answer to the page."""
        self.page.read_half(result, style, second)

    def keep(self) -> None:
        """Tell the page that no answer will come."""
        self.page.keep()
