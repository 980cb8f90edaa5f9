"""Pages without their pixels: what is kept of those that the engine may have to be given again."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from ocrcli.document import PageFacts, PageFailure, PageImage


@dataclass(frozen=True, eq=False)
class UndrawnPage:
    """A page that was handed to the engine, without its pixels.

    Attributes:
        page_number: Place in the file, from 1.
        deadline: When to give the page up, in seconds of `time.monotonic`, or None.
        redraw: Draws the page, so many tenths smaller than usual.
    """

    page_number: int
    deadline: float | None
    redraw: Callable[[int], PageImage | PageFailure]

    def drawn(self, tenths: int) -> PageImage:
        """Return the page, so many tenths smaller than usual."""
        page = self.redraw(tenths)
        if isinstance(page, PageImage):
            return replace(page, deadline=self.deadline)
        import numpy as np

        # It could be drawn before. For a page without pixels the engine answers with an error.
        return PageImage(np.zeros((0, 0), np.uint8), PageFacts(self.page_number), self.deadline)


def without_pixels(page: PageImage | UndrawnPage) -> PageImage | UndrawnPage:
    """Return what a page can be drawn from again, or the page itself."""
    redraw = getattr(page, "redraw", None)
    if isinstance(page, UndrawnPage) or redraw is None:
        return page
    return UndrawnPage(page.page_number, page.deadline, redraw)


def later(
    pages: Iterable[PageImage | UndrawnPage], seconds: float
) -> Iterator[PageImage | UndrawnPage]:
    """Yield pages that are given up so many seconds later: they waited for a model to be loaded."""
    for page in pages:
        yield page if page.deadline is None else replace(page, deadline=page.deadline + seconds)
