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
    """

    box: "Box"
    words: tuple[tuple[float, float], ...] = ()
    is_found: bool = True
