"""The level of each heading, from its number and the size of its type.

Models name titles without a level. The scheme is absolute, so that the pages of a document agree
without knowing each other: a section number tells the level by its depth, otherwise the size of the
type does, compared with the page's running text.
"""

import re
import statistics
from collections.abc import Sequence

from ocrcli.document import Block, BlockType

MAX_LEVEL = 6
"""Markdown knows no deeper headings."""

_NUMBER = re.compile(r"(?P<number>[0-9]{1,3}(?:\.[0-9]{1,3}){0,5})\.?\s+(?=\w)")
_CHAPTER = re.compile(
    r"(?:chapter|part|appendix|kapitel|teil|anhang|chapitre|partie|annexe|cap[ií]tulo|parte|"
    r"ap[ée]ndi[cx]e|capitolo|appendice|hoofdstuk|deel|bijlage|del|bilaga|rozdział|część|dodatek)\s",
    re.IGNORECASE,
)
# Smallest size of type, in sizes of the running text, of the first and the second level: between
# the usual 2, 1.5 and 1.2, and lower by the leading above `_LEADING` that running text often has.
_SCALES = (1.6, 1.25)
# Distance of base lines in sizes of the type, where nothing tells it better.
_LEADING = 1.2


def heading_levels(blocks: Sequence[Block]) -> dict[int, int]:
    """Return the level of every title of a page, 1 to `MAX_LEVEL`, by its index in `blocks`.

    A heading is at most one level below the one before it on the page.

    Args:
        blocks: The blocks of one page in reading order.
    """
    running = _running_size(blocks)
    levels: dict[int, int] = {}
    before = MAX_LEVEL
    for index, block in enumerate(blocks):
        if block.type is not BlockType.TITLE:
            continue
        level = min(_numbered(block.text) or _sized(block, running), before + 1, MAX_LEVEL)
        levels[index] = before = level
    return levels


def _numbered(text: str) -> int | None:
    if _CHAPTER.match(text):
        return 1
    found = _NUMBER.match(text)
    return found["number"].count(".") + 1 if found else None


def _sized(block: Block, running: float | None) -> int:
    size = _type_size(block)
    if size is None or running is None:
        return 1
    return 1 + sum(size < scale * running for scale in _SCALES)


def _running_size(blocks: Sequence[Block]) -> float | None:
    """Return the size of the running text: the median over its lines."""
    sizes: list[float] = []
    for block in blocks:
        size = _type_size(block)
        if block.type in (BlockType.TEXT, BlockType.LIST) and size is not None:
            sizes += [size] * len(block.text.splitlines())
    return statistics.median(sizes) if sizes else None


def _type_size(block: Block) -> float | None:
    """Return about the size of a block's type; the box of one line is one em high."""
    lines = len(block.text.splitlines())
    if block.box is None or not lines:
        return None
    _, top, _, bottom = block.box
    return (bottom - top) / (1 + (lines - 1) * _LEADING)
