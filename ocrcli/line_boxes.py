"""Where a line of a page stands, and its words."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ocrcli.document import Box


class Line(NamedTuple):
    """Where a line of a block stands on the upright page, in thousandths.

    Attributes:
        box: Its place.
        words: Left and right edge of each of its words; none where they could not be told apart.
        is_found: Whether there is ink where it stands that no other line stands on.
        skipped: Rows of ink between it and the next line, or beyond the first and the last one of a
            block, that no line stands on.
    """

    box: "Box"
    words: tuple[tuple[float, float], ...] = ()
    is_found: bool = True
    skipped: int = 0

    def inside(self, box: "Box") -> "Line":
        """Return what of the line and its words lies in a block's box."""
        left, top, right, bottom = box

        def across(place: float) -> float:
            return min(max(left, place), right)

        place = (
            across(self.box[0]),
            min(max(top, self.box[1]), bottom),
            across(self.box[2]),
            min(max(top, self.box[3]), bottom),
        )
        words = tuple((across(first), across(last)) for first, last in self.words)
        return self._replace(box=place, words=words)
