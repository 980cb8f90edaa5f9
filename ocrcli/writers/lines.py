"""Where the lines and words of a block stand: an estimate, since only blocks have boxes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ocrcli.document import Block, Page
from ocrcli.rotation import as_displayed, upright_size

NOTE = "places of lines and words are estimated from the boxes of their blocks"
"""What formats with places have to say about them."""

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
    """Yield the lines of a block as they stand on the upright page, evenly over its height.

    Words are spread over the width by their number of characters; the longest line is taken to fill
    the block.

    Args:
        block: A block of the page.
        page: Tells the size of the image.
    """
    left, top, right, bottom = _upright_box(block, page)
    lines = [line for line in block.text.split("\n") if line.strip()]
    longest = max((len(line) for line in lines), default=1)
    per_character = (right - left) / longest
    per_line = (bottom - top) / max(len(lines), 1)
    for index, line in enumerate(lines):
        upper, lower = round(top + index * per_line), round(top + (index + 1) * per_line)
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


def xml_text(text: str) -> str:
    """Return text without the characters that XML cannot hold, even escaped."""
    return "".join(
        c if c in "\t\n" or (c >= " " and not _is_forbidden(c)) else "\ufffd" for c in text
    )


def _is_forbidden(character: str) -> bool:
    return "\ud800" <= character <= "\udfff" or character in "\ufffe\uffff"
