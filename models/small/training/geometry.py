"""How paper is bent: one formula for painted pixels, character cells and block boxes."""

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

STRAIGHT = (0.0, 0.0, 0.0, 0.0, 0.0)
"""No bend."""


def displacement(bend: Any, u: Any, v: Any, sine: Callable[[Any], Any]) -> Any:
    """Return page pixels to add at a place of the image to find what is shown there.

    Args:
        bend: Keystone of both axes, bow and wave in page pixels, and the wave's phase,
            [..., 5]; tensor or array.
        u: Places from -1 (left) to 1 (right), broadcast against `bend[..., 0]`.
        v: Places from -1 (top) to 1 (bottom).
        sine: The sine for the kind of `bend`.

    Returns:
        Offsets [..., 2] (x, y), of the kind of `bend`.
    """
    across = bend[..., 0] * u * v + bend[..., 2] * v * v
    down = bend[..., 1] * u * v + bend[..., 3] * sine(math.pi * (u + bend[..., 4]))
    if isinstance(bend, Tensor):
        return torch.stack(torch.broadcast_tensors(across, down), -1)
    return np.stack(np.broadcast_arrays(across, down), -1)


def to_page(
    points: np.ndarray,
    matrix: np.ndarray,
    shift: np.ndarray,
    bend: np.ndarray,
    image: tuple[int, int],
) -> np.ndarray:
    """Return where canvas points [N, 2] are seen in an image, in page pixels.

    Args:
        points: Canvas pixels.
        matrix: Canvas offsets from its centre to page offsets from its centre, [2, 2].
        shift: Page pixels added afterwards, [2].
        bend: See `displacement`, [5].
        image: Width and height of the image in page pixels; the canvas is twice as large.
    """
    half = np.array(image) / 2
    moved = (points - 2 * half) @ matrix.T + shift
    u, v = (moved / half).T
    return cast(np.ndarray, moved - displacement(bend, u, v, np.sin) + half)
