"""How far the lines of a page are from level, and the page's ink made level."""

import numpy as np
from numpy.typing import NDArray

Ink = NDArray[np.bool_]
"""Where a page is printed, bool [rows, columns], in squares of two by two pixels."""

LEAST_SLOPE = 0.002
"""A line that falls less than this, one square of ink in the width of a page, counts as level."""

# Two and a half degrees: what is skewed more was laid down crookedly on purpose.
_STEEPEST = 0.044
_STEPS = 22
_STRIPS = 24
# Sharper by so much must a slope make the lines before it is believed.
_CLEARLY_SHARPER = 1.1


def skew(ink: Ink) -> float:
    """Return how far lines fall on their way to the right, as a share of the way.

    Seen along the lines, rows of print and gaps between them alternate most sharply.

    Args:
        ink: The upright page.

    Example:
        >>> level = np.zeros((90, 300), bool); level[::9] = level[1::9] = True
        >>> skew(level)
        0.0
    """
    height, width = ink.shape
    strips = min(_STRIPS, width)
    if not strips or not ink.any():
        return 0.0
    edges = np.linspace(0, width, strips + 1).astype(int)
    profiles = np.stack([ink[:, a:b].sum(1) for a, b in zip(edges, edges[1:], strict=False)])
    middles = (edges[:-1] + edges[1:]) / 2
    slopes = _STEEPEST / _STEPS * np.arange(-_STEPS, _STEPS + 1)
    rows = np.arange(height)
    sharpness = []
    for slope in slopes:
        below = rows + np.rint(slope * middles).astype(int)[:, None]
        inside = (below >= 0) & (below < height)
        along = np.take_along_axis(profiles, np.clip(below, 0, height - 1), 1)
        total = np.where(inside, along, 0).sum(0)
        sharpness.append(float((np.diff(total, prepend=0, append=0) ** 2).sum()))
    best = int(np.argmax(sharpness))
    if sharpness[best] < _CLEARLY_SHARPER * sharpness[_STEPS]:
        return 0.0
    return float(slopes[best])


def levelled(ink: Ink, slope: float) -> Ink:
    """Return a page with every column moved up by how far lines have fallen there.

    Args:
        ink: The upright page.
        slope: How far lines fall, see `skew`.
    """
    height, width = ink.shape
    if abs(slope) < LEAST_SLOPE:
        return ink
    below = np.arange(height)[:, None] + np.rint(slope * np.arange(width)).astype(int)
    inside = (below >= 0) & (below < height)
    return np.where(inside, np.take_along_axis(ink, np.clip(below, 0, height - 1), 0), False)
