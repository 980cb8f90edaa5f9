"""Where the words of a line begin and end, by the gaps in its ink."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

# Widths of letters, in those of an average one.
_NARROW, _WIDE = 0.55, 1.45
_NARROW_LETTERS, _WIDE_LETTERS = frozenset("fijlrtI.,:;'`|!()[]-’‘"), frozenset("mwMWQO@%—…")
# A gap counts by its width, up to this many heights of a line, and by how far it is from where it
# is expected, in heights too.
_WIDEST_GAP = 0.35
_FAR = 0.35


def word_spans(
    strip: NDArray[np.bool_], words: Sequence[str], height: float
) -> list[tuple[int, int]] | None:
    """Return where each word of a line begins and ends, in columns; None where that cannot be seen.

    Args:
        strip: Which columns hold ink, bool [columns], from the line's first ink to its last.
        words: Its words, from left to right.
        height: How high the line is, in columns.

    Example:
        >>> word_spans(np.array([1, 1, 0, 1, 0, 0, 0, 1, 1, 1], bool), ["it", "is"], 6)
        [(0, 4), (7, 10)]
    """
    edges = np.flatnonzero(np.diff(strip.astype(np.int8), prepend=0, append=0)).tolist()
    starts, ends = edges[::2], edges[1::2]
    if len(words) > len(starts) or height <= 0:
        return None
    gaps = list(zip(ends, starts[1:], strict=False))
    chosen = _chosen(gaps, _expected(words, len(strip)), height)
    bounds = [0, *(place for gap in chosen for place in gaps[gap]), len(strip)]
    return list(zip(bounds[::2], bounds[1::2], strict=True))


def _expected(words: Sequence[str], length: int) -> list[float]:
    """Return where the middles of the gaps would be if all type had the same design."""
    widths = [sum(map(_width, word)) for word in words]
    total = sum(widths) + (len(words) - 1) * _NARROW
    places, place = [], 0.0
    for width in widths[:-1]:
        place += width + _NARROW / 2
        places.append(place / total * length)
        place += _NARROW / 2
    return places


def _width(letter: str) -> float:
    if letter in _NARROW_LETTERS:
        return _NARROW
    return _WIDE if letter in _WIDE_LETTERS else 1.0


def _chosen(gaps: Sequence[tuple[int, int]], expected: Sequence[float], height: float) -> list[int]:
    """Return the gaps between words: wide ones, near where they are expected, in order."""
    if not expected:
        return []
    wide = np.array([min((end - start) / height, _WIDEST_GAP) for start, end in gaps])
    middle = np.array([(start + end) / 2 for start, end in gaps])
    best = np.zeros(len(gaps) + 1)
    came_from = []
    for place in expected:
        worth = wide - _FAR * (np.abs(middle - place) / height) * 0.1 + best[:-1]
        upto = np.maximum.accumulate(worth)
        came_from.append(np.flatnonzero(np.concatenate(([True], upto[1:] > upto[:-1]))))
        best = np.concatenate(([-np.inf], upto))
    chosen, end = [], len(gaps)
    for better in reversed(came_from):
        gap = int(better[better < end][-1])
        chosen.append(gap)
        end = gap
    return chosen[::-1]
