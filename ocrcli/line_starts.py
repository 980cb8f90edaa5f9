"""Where the lines of a markup begin, on the page and in the markup."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple


class LineStart(NamedTuple):
    """What a model said of one line, the first of a block left out.

    Attributes:
        offset: First character of the line in the markup.
        down: How far down the upright page its baseline begins, in thousandths.
    """

    offset: int
    down: int


def baselines(text: str, offset: int, starts: Sequence[LineStart]) -> tuple[int, ...] | None:
    r"""Return how far down the page the lines of a text begin, but for the first one.

    Args:
        text: A part of the markup.
        offset: Where in the markup it begins.
        starts: Of the whole markup, by their offset.

    Returns:
        Thousandths of the page, from top to bottom; None where that is not known of every line, or
        where a line is not below the one before.

    Example:
        >>> baselines("one\ntwo", 20, [LineStart(24, 500)])
        (500,)
    """
    places = []
    for index, character in enumerate(text):
        if character != "\n":
            continue
        wanted = offset + index + 1
        found = bisect_left(starts, (wanted, -1))
        if found == len(starts) or starts[found].offset != wanted:
            return None
        places.append(starts[found].down)
    is_falling = all(one < next_ for one, next_ in zip(places, places[1:], strict=False))
    return tuple(places) if places and is_falling else None
