"""Where the words of a line begin and end, by the gaps in its ink."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

# Widths of letters, in those of an average one.
_NARROW, _WIDE = 0.55, 1.45
_NARROW_LETTERS, _WIDE_LETTERS = frozenset("fijlrtI.,:;'`|!()[]-’‘"), frozenset("mwMWQO@%—…")
# A gap counts by its width, up to this many heights of a line, and by how far it is from where it
# is expected, which counts less.
_WIDEST_GAP = 0.35
_FAR = 0.035

_Gap = tuple[int, int]


def word_spans(
    strip: NDArray[np.bool_], words: Sequence[str], height: float, *, in_cells: bool = False
) -> list[tuple[int, int]] | None:
    """Return where each word of a line begins and ends, in columns; None where that cannot be seen.

    Gaps that are too narrow to be seen lie where the widths of letters say.

    Args:
        strip: Which columns hold ink, bool [columns], from the line's first ink to its last.
        words: Its words, from left to right.
        height: How high the line is, in columns.
        in_cells: Whether words stand in the cells of a table, so that nobody knows how far apart.

    Example:
        >>> word_spans(np.array([1, 1, 0, 1, 0, 0, 0, 1, 1, 1], bool), ["it", "is"], 6)
        [(0, 4), (7, 10)]
    """
    edges = np.flatnonzero(np.diff(strip.astype(np.int8), prepend=0, append=0)).tolist()
    gaps = list(zip(edges[1:-1:2], edges[2::2], strict=True))
    if not words or height <= 0 or not edges:
        return None
    if in_cells:
        if len(gaps) < len(words) - 1:
            return None
        widest = np.argsort([start - end for start, end in gaps], kind="stable")
        chosen = [gaps[place] for place in sorted(widest[: len(words) - 1].tolist())]
        return _between(chosen, len(strip))
    spans = _between(_chosen(gaps, words, len(strip), height), len(strip))
    return spans if all(start < end for start, end in spans) else None


def _between(gaps: Sequence[_Gap], length: int) -> list[tuple[int, int]]:
    bounds = [0, *(place for gap in gaps for place in gap), length]
    return list(zip(bounds[::2], bounds[1::2], strict=True))


def _expected(words: Sequence[str], start: float, end: float) -> list[float]:
    """Return where the middles of gaps would be if all type had the same design."""
    widths = [sum(map(_width, word)) for word in words]
    total = sum(widths) + (len(words) - 1) * _NARROW
    places, place = [], 0.0
    for width in widths[:-1]:
        place += width + _NARROW / 2
        places.append(start + place / total * (end - start))
        place += _NARROW / 2
    return places


def _width(letter: str) -> float:
    if letter in _NARROW_LETTERS:
        return _NARROW
    return _WIDE if letter in _WIDE_LETTERS else 1.0


def _chosen(gaps: Sequence[_Gap], words: Sequence[str], length: int, height: float) -> list[_Gap]:
    """Return the gaps between words: wide ones, near where they are expected, in order."""
    expected = _expected(words, 0, length)
    if not expected:
        return []
    # A gap that cannot be seen is as good as one that is not wide, if no other is near.
    unseen = [(round(place), round(place)) for place in expected]
    every = sorted([*gaps, *unseen])
    wide = np.array([min((end - start) / height, _WIDEST_GAP) for start, end in every])
    middle = np.array([(start + end) / 2 for start, end in every])
    best = np.zeros(len(every) + 1)
    came_from = []
    for place in expected:
        worth = wide - _FAR * np.abs(middle - place) / height + best[:-1]
        upto = np.maximum.accumulate(worth)
        came_from.append(np.flatnonzero(np.concatenate(([True], upto[1:] > upto[:-1]))))
        best = np.concatenate(([-np.inf], upto))
    chosen, end = [], len(every)
    for better in reversed(came_from):
        place = int(better[better < end][-1])
        chosen.append(every[place])
        end = place
    return _spread(chosen[::-1], words, length)


def _spread(chosen: Sequence[_Gap], words: Sequence[str], length: int) -> list[_Gap]:
    """Return gaps with those that are not seen where the ones beside them say that they are."""
    found: list[_Gap] = []
    first, start = 0, 0
    for number, gap in enumerate([*chosen, (length, length + 1)]):
        if gap[0] == gap[1]:
            continue
        places = _expected(words[first : number + 1], start, gap[0])
        found += [(round(place), round(place)) for place in places]
        found.append(gap)
        first, start = number + 1, gap[1]
    return found[:-1]
