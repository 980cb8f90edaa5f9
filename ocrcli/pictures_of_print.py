"""Print that was taken for a picture: script that was not taught may look like one to a model."""

import numpy as np
from numpy.typing import NDArray

from ocrcli.ink import InkMap

# Of 355 pages without text that were taken for pictures, 25 of 157 textures and 2 of 169 crops of
# photographs are within these bounds; so are all five pages of print that were.
_LEAST_INK, _MOST_INK = 0.08, 0.5
_LEAST_EDGES = 0.06
_MOST_THICK = 0.05


def looks_like_print(ink: InkMap) -> bool:
    """Return whether the ink of a page may well be lines of type, whatever it was taken for.

    Type covers a tenth to a half of the area that it is printed on, in thin strokes that lie close
    to each other. Photographs have ink nearly everywhere, or in large patches.

    Args:
        ink: Ink of the page.
    """
    printed = ink.print_squares
    rows, columns = np.flatnonzero(printed.any(1)), np.flatnonzero(printed.any(0))
    if not len(rows):
        return False
    area = printed[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    edges = float(np.mean(area[:, 1:] != area[:, :-1])) if area.shape[1] > 1 else 0.0
    thick = float(_inner(_inner(area)).sum() / area.sum())
    return (
        _LEAST_INK < float(area.mean()) < _MOST_INK and edges > _LEAST_EDGES and thick < _MOST_THICK
    )


def _inner(area: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the squares whose four neighbours are ink as well."""
    wide = np.pad(area, 1)
    beside = wide[1:-1, :-2] & wide[1:-1, 2:]
    return area & beside & wide[:-2, 1:-1] & wide[2:, 1:-1]
