"""Where the lines and words of a block stand: an estimate, since only blocks have boxes.

Lines that do not lie evenly stand where the model said that they begin, if it did.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ocrcli.document import Block, Page
from ocrcli.rotation import as_displayed, upright_size

NOTE = "places of lines and words are estimated from the boxes of their blocks"
"""What formats with places have to say about them."""

# Share of the distance of two lines that lies below the baseline.
_DESCENT = 0.25

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

Rectangle = tuple[int, int, int, int]
"""Left, top, right and bottom in pixels of the page image."""


@dataclass(frozen=True)
class PlacedLine:
    """A line of a block, with its words, each with an estimated place."""

    box: Rectangle
    words: tuple[tuple[str, Rectangle], ...]


def block_box(block: Block, page: Page) -> Rectangle:
    """Return a block's place on the displayed page in pixels; the whole page if it has none.

    Args:
        block: A block of the page.
        page: Tells the size of the image.
    """
    return _as_displayed(_upright_box(block, page), page)


def _as_displayed(box: Rectangle, page: Page) -> Rectangle:
    return as_displayed(box, page.facts.image_width, page.facts.image_height, page.rotation)


def _upright_box(block: Block, page: Page) -> Rectangle:
    width, height = upright_size(page.facts.image_width, page.facts.image_height, page.rotation)
    if block.box is None:
        return 0, 0, width, height
    left, top, right, bottom = block.box
    return (
        round(left * width / 999),
        round(top * height / 999),
        round(right * width / 999),
        round(bottom * height / 999),
    )


def placed_lines(block: Block, page: Page) -> Iterator[PlacedLine]:
    """Yield the lines of a block with their places on the displayed page.

    Args:
        block: A block of the page.
        page: Tells the size of the image, and how it was turned.
    """
    for line in upright_lines(block, page):
        words = tuple((word, _as_displayed(box, page)) for word, box in line.words)
        yield PlacedLine(_as_displayed(line.box, page), words)


def upright_lines(block: Block, page: Page) -> Iterator[PlacedLine]:
    """Yield the lines of a block as they stand on the upright page.

    Unless it is known how far down they begin, they lie evenly over the block's height. Words
    are spread over the width by their number of characters; the longest line is taken to fill the
    block.

    Args:
        block: A block of the page.
        page: Tells the size of the image.
    """
    left, top, right, bottom = _upright_box(block, page)
    lines = [line for line in block.text.split("\n") if line.strip()]
    longest = max((len(line) for line in lines), default=1)
    per_character = (right - left) / longest
    heights = _known_heights(block, page, len(lines), top, bottom)
    for line, (upper, lower) in zip(lines, heights or _even(len(lines), top, bottom), strict=True):
        words = tuple(
            (
                match[0],
                (
                    round(left + match.start() * per_character),
                    upper,
                    round(left + match.end() * per_character),
                    lower,
                ),
            )
            for match in re.finditer(r"\S+", line)
        )
        yield PlacedLine((words[0][1][0], upper, words[-1][1][2], lower), words)


def _even(count: int, top: int, bottom: int) -> list[tuple[int, int]]:
    """Return upper and lower edges of lines that lie evenly between top and bottom."""
    step = (bottom - top) / max(count, 1)
    return [(round(top + index * step), round(top + (index + 1) * step)) for index in range(count)]


def _known_heights(
    block: Block, page: Page, count: int, top: int, bottom: int
) -> list[tuple[int, int]] | None:
    """Return upper and lower edges of a block's lines, or None where its box tells them as well.

    Args:
        block: The block.
        page: Tells the size of the image.
        count: Lines of the block that hold text.
        top: Upper edge of the block in pixels.
        bottom: Its lower edge.
    """
    if not block.baselines or len(block.baselines) != count - 1:
        return None
    height = upright_size(page.facts.image_width, page.facts.image_height, page.rotation)[1]
    below = [down * height / 999 for down in block.baselines]
    # The first line's own ascent is above its baseline; from top to second baseline are both.
    gaps = [(below[0] - top) / (2 - _DESCENT)]
    gaps += [one - other for one, other in zip(below[1:], below, strict=False)]
    if _are_alike(gaps):
        return None
    # A line is no higher than the distance to its neighbours.
    high = [min(gaps[index : index + 2]) for index in range(len(gaps))]
    edges = [
        (round(down - (1 - _DESCENT) * gap), round(down + _DESCENT * gap))
        for down, gap in zip(below, high, strict=True)
    ]
    usual = sorted(high)[(len(high) - 1) // 2]
    # Boxes and baselines are both a few pixels off, but not by half a line.
    if edges[0][0] <= top or below[-1] >= bottom + usual / 2:
        return None
    first = min(edges[0][0], round(top + usual))
    edges = [(top, first), *edges[:-1], (edges[-1][0], bottom)]
    return [(min(max(top, upper), bottom), min(max(top, lower), bottom)) for upper, lower in edges]


def _are_alike(gaps: list[float]) -> bool:
    """Return whether lines lie evenly.

    Then the box, which is said at once, places them better than one line after the other does. Of
    637 lines of long paragraphs 7 % were off by more than half a line so, 14 % where the model had
    said they were.
    """
    usual = sorted(gaps)[len(gaps) // 2]
    return len(gaps) > 1 and 0.67 * usual < min(gaps) and max(gaps) < 1.5 * usual


def xml_text(text: str) -> str:
    """Return text without the characters that XML cannot hold, even escaped."""
    return "".join(
        c if c in "\t\n" or (c >= " " and not _is_forbidden(c)) else "\ufffd" for c in text
    )


def _is_forbidden(character: str) -> bool:
    return "\ud800" <= character <= "\udfff" or character in "\ufffe\uffff"
