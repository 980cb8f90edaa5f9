"""A page made level: its ink, and where things of the page itself are there."""

from ocrcli.blocks import MAX_COORDINATE
from ocrcli.document import Box
from ocrcli.skew import Ink, levelled


class LevelPage:
    """The ink of a page whose lines are level, in squares of two by two pixels.

    Attributes:
        ink: Where there is print, bool [rows, columns].
        down: Squares of a thousandth of the page's height.
        across: Squares of a thousandth of its width.
    """

    def __init__(self, ink: Ink, slope: float) -> None:
        """Make a page level.

        Args:
            ink: The upright page.
            slope: How far its lines fall; see `skew`.
        """
        self.ink = levelled(ink, slope)
        self.down, self.across = ink.shape[0] / MAX_COORDINATE, ink.shape[1] / MAX_COORDINATE
        self._slope = slope

    def squares(self, box: Box) -> Box:
        """Return a box of the page; it holds all of its lines, which are skewed.

        Args:
            box: In thousandths of the page.
        """
        left, right = box[0] * self.across, box[2] * self.across
        first, last = (left, right) if self._slope > 0 else (right, left)
        top = box[1] * self.down - self._slope * first
        return left, top, right, max(box[3] * self.down - self._slope * last, top + 1.0)

    def thousandths(self, box: Box) -> Box:
        """Return the box of the page that holds what stands in one of the level page.

        Args:
            box: In squares.
        """
        left, top, right, bottom = box
        falls = sorted((self._slope * left, self._slope * right))
        upper, lower = (top + falls[0]) / self.down, (bottom + falls[1]) / self.down
        place = (left / self.across, upper, right / self.across, lower)
        first, second, third, fourth = (min(max(0.0, v), float(MAX_COORDINATE)) for v in place)
        return first, second, third, fourth

    def baseline(self, down: float, left: float) -> float:
        """Return where a line that begins so far down the page is, in squares.

        Args:
            down: Thousandths of the page.
            left: Where the line begins, in squares.
        """
        return down * self.down - self._slope * left

    def sides(self, left: float, right: float) -> tuple[float, float]:
        """Return left and right edge in thousandths of the page, given those in squares."""
        return left / self.across, right / self.across
