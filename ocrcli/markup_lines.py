"""The lines of what a model wrote, and which lines of two readings are the same."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import cache
from typing import NamedTuple

from ocrcli.blocks import text_spans

_ALIKE = 0.5
# What makes more pairs would take seconds to compare, and is no misreading of a few lines.
_MOST_PAIRS = 400


class Line(NamedTuple):
    """A line, where it stands in the markup, and in which block, counted without tables."""

    text: str
    start: int
    end: int
    block: int


def lines_of(markup: str) -> list[Line]:
    """Return the lines of all blocks but tables.

    Args:
        markup: What a model wrote.
    """
    found = []
    for block, (start, end) in enumerate(text_spans(markup)):
        for text in markup[start:end].split("\n"):
            if text.strip():
                found.append(Line(text, start, start + len(text), block))
            start += len(text) + 1
    return found


def aligned(own: Sequence[Line], others: Sequence[Line]) -> list[int | None]:
    """Return which line of another reading is the same as each of these, or alike; None for none.

    Args:
        own: Lines of a reading.
        others: Lines of another one. The numbers returned rise.
    """
    texts, rivals = [line.text for line in own], [line.text for line in others]
    found: list[int | None] = [None] * len(own)
    matcher = SequenceMatcher(None, texts, rivals, autojunk=False)
    for kind, first, last, other_first, other_last in matcher.get_opcodes():
        if kind == "equal":
            found[first:last] = range(other_first, other_last)
        elif kind == "replace":
            for row, column in _alike(texts[first:last], rivals[other_first:other_last]):
                found[first + row] = other_first + column
    return found


def lone(own: Sequence[Line], others: Sequence[Line]) -> int:
    """Return how many lines of two readings only one of them holds.

    Args:
        own: Lines of a reading.
        others: Lines of another one.
    """
    shared = sum(match is not None for match in aligned(own, others))
    return len(own) + len(others) - 2 * shared


def _alike(own: Sequence[str], others: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the pairs, in order, that are most alike together."""
    if len(own) * len(others) > _MOST_PAIRS:
        return

    @cache
    def likeness(first: int, second: int) -> float:
        texts = ("".join(own[first].split()), "".join(others[second].split()))
        return SequenceMatcher(None, *texts, autojunk=False).ratio()

    rows, columns = len(own), len(others)
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for row in reversed(range(rows)):
        for column in reversed(range(columns)):
            best[row][column] = max(best[row + 1][column], best[row][column + 1])
            if likeness(row, column) > _ALIKE:
                together = best[row + 1][column + 1] + likeness(row, column)
                best[row][column] = max(best[row][column], together)
    row = column = 0
    while row < rows and column < columns:
        if best[row][column] == best[row + 1][column]:
            row += 1
        elif best[row][column] == best[row][column + 1]:
            column += 1
        else:
            yield row, column
            row, column = row + 1, column + 1
