"""Where the lines and words of a block stand in the pixels of the page image."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ocrcli.blocks import MAX_COORDINATE
from ocrcli.document import Block, Box, Page
from ocrcli.estimated_lines import estimated_lines, lines_of
from ocrcli.line_boxes import Line
from ocrcli.rotation import as_displayed, upright_size

NOTE = "lines and words lie where their ink is; where that was not found, places are estimated"
"""What formats with places have to say about them."""

_WHOLE: Box = (0, 0, MAX_COORDINATE, MAX_COORDINATE)

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

Rectangle = tuple[int, int, int, int]
"""Left, top, right and bottom in pixels of the page image."""


@dataclass(frozen=True)
class PlacedLine:
    """A line of a block, with its words, each with its place."""

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
    return _in_pixels(block.box or _WHOLE, page)


def _in_pixels(box: Box, page: Page) -> Rectangle:
    width, height = upright_size(page.facts.image_width, page.facts.image_height, page.rotation)
    left, top, right, bottom = box
    return (
        round(left * width / MAX_COORDINATE),
        round(top * height / MAX_COORDINATE),
        round(right * width / MAX_COORDINATE),
        round(bottom * height / MAX_COORDINATE),
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

    Lines whose ink was not found stand where the block's box has room for them; words that could
    not be told apart are spread over their line by their number of characters.

    Args:
        block: A block of the page.
        page: Tells the size of the image.
    """
    texts = lines_of(block)
    lines = block.lines
    if lines is None or len(lines) != len(texts):
        lines = tuple(map(Line, estimated_lines(block, block.box or _WHOLE)))
    for text, line in zip(texts, lines, strict=True):
        words = text.split()
        spans = line.words if len(line.words) == len(words) else _spread(text.strip(), line.box)
        boxes = [_in_pixels((left, line.box[1], right, line.box[3]), page) for left, right in spans]
        _, upper, _, lower = boxes[0]
        outer = (boxes[0][0], upper, boxes[-1][2], lower)
        yield PlacedLine(outer, tuple(zip(words, boxes, strict=True)))


def _spread(text: str, box: Box) -> list[tuple[float, float]]:
    """Return left and right edge of each word if all characters are equally wide."""
    left, _, right, _ = box
    per_character = (right - left) / len(text)
    return [
        (left + match.start() * per_character, left + match.end() * per_character)
        for match in re.finditer(r"\S+", text)
    ]


def xml_text(text: str) -> str:
    """Return text without the characters that XML cannot hold, even escaped."""
    return "".join(
        c if c in "\t\n" or (c >= " " and not _is_forbidden(c)) else "\ufffd" for c in text
    )


def _is_forbidden(character: str) -> bool:
    return "\ud800" <= character <= "\udfff" or character in "\ufffe\uffff"
