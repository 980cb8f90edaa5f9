"""The level of each heading, from its number and the size of its type.

Models name titles without a level. The scheme is absolute, so that the pages of a document agree
without knowing each other: a section number tells the level by its depth, otherwise the size of the
type does, compared with the page's running text. Below the largest title of a page, sizes are
compared with each other.
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
# Smaller over larger size above which two titles surely, and probably, are set in one size.
_SAME, _NEARLY = 0.92, 0.83
# Distance of base lines in sizes of the type, where nothing tells it better.
_LEADING = 1.2


def heading_levels(blocks: Sequence[Block]) -> dict[int, int]:
    """Return the level of every title of a page, 1 to `MAX_LEVEL`, by its index in `blocks`.

    Titles of one size have one level, smaller ones are below it, and none is skipped.

    Args:
        blocks: The blocks of one page in reading order.
    """
    titles = {index: block for index, block in enumerate(blocks) if block.type is BlockType.TITLE}
    numbered = {index: _numbered(block.text) for index, block in titles.items()}
    levels = {index: level for index, level in numbered.items() if level is not None}
    sizes = {index: _type_size(block) for index, block in titles.items()}
    known = [(size, levels[index]) for index in levels if (size := sizes[index]) is not None]
    running = _running_size(blocks)
    above = 0
    rest = [(sizes[index], index) for index in titles if index not in levels]
    for group in _alike(rest, running):
        size = group[0][0]
        same = [level for other, level in known if size and _is_alike(size, other, running)]
        level = same[0] if same else above + 1 if above else _sized(size, running)
        levels |= {index: level for _, index in group}
        above = level
    ranks = {level: rank for rank, level in enumerate(sorted(set(levels.values())))}
    first = min(levels.values(), default=1)
    return {index: min(first + ranks[levels[index]], MAX_LEVEL) for index in titles}


def _alike(
    titles: Sequence[tuple[float | None, int]], running: float | None
) -> list[list[tuple[float | None, int]]]:
    """Return titles in groups of one size, the largest first; those of no known size are one."""
    groups: list[list[tuple[float | None, int]]] = []
    for size, index in sorted(titles, key=lambda title: -(title[0] or 0.0)):
        largest = groups[-1][0][0] if groups else None
        together = largest and size and _is_alike(largest, size, running)
        if groups and (together or (largest is None and size is None)):
            groups[-1].append((size, index))
        else:
            groups.append([(size, index)])
    return groups


def _is_alike(one: float, other: float, running: float | None) -> bool:
    """Return whether two sizes are one: boxes are off by a few hundredths of a line."""
    ratio = min(one, other) / max(one, other)
    return ratio > _SAME or (ratio > _NEARLY and _sized(one, running) == _sized(other, running))


def _numbered(text: str) -> int | None:
    if _CHAPTER.match(text):
        return 1
    found = _NUMBER.match(text)
    return found["number"].count(".") + 1 if found else None


def _sized(size: float | None, running: float | None) -> int:
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
