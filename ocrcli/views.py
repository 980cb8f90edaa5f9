"""The views of a page that large models are given: one square overview, and tiles of a lone page.

Sizes, order and filters are those of the published preprocessing, which uses Pillow; a token more
or less in a view changes every position behind it.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from ocrcli.models.unlimited_ocr.config import VisionConfig

MIN_TILES = 2
"""A page that is tiled at all gets at least this many tiles."""

_LETTERBOX_GREY = 127


@dataclass(frozen=True, eq=False)
class PageViews:
    """A page as a large model sees it.

    Attributes:
        overview: Whole page, centred on grey, float32 [C, S, S] in [-1, 1].
        tiles: Parts of the stretched page, row by row, float32 [T, C, t, t]; T is 0 without tiling.
        columns: Tiles in a row.
    """

    overview: Tensor
    tiles: Tensor
    columns: int


def page_views(
    pixels: NDArray[np.uint8], vision: VisionConfig, max_tiles: int | None = None
) -> PageViews:
    """Return the views of a page.

    Args:
        pixels: uint8 [height, width] grey or [height, width, 3] RGB.
        vision: Sizes of both views and number of channels.
        max_tiles: Most tiles to cut; None for the overview only.

    Raises:
        ValueError: `pixels` is no such array.
    """
    if pixels.dtype != np.uint8 or pixels.ndim not in (2, 3) or not pixels.size:
        raise ValueError(
            "pixels must be a non-empty uint8 array [height, width] or [height, width, 3], got "
            f"{pixels.dtype} {list(pixels.shape)}"
        )
    image = Image.fromarray(pixels).convert("RGB" if vision.image_channels == 3 else "L")
    tile = vision.tile_size
    tiles: list[Tensor] = []
    columns = rows = 1
    if max_tiles is not None and max(image.size) > tile:
        columns, rows = tile_grid(image.width, image.height, tile, max_tiles)
        stretched = _resized(image, columns * tile, rows * tile)
        tiles = [
            _normalised(stretched.crop((x * tile, y * tile, (x + 1) * tile, (y + 1) * tile)))
            for y in range(rows)
            for x in range(columns)
        ]
    empty = torch.zeros(0, vision.image_channels, tile, tile)
    return PageViews(overview(image, vision), torch.stack(tiles) if tiles else empty, columns)


def overview(image: Image.Image, vision: VisionConfig) -> Tensor:
    """Return a page scaled to fit the model's square and centred on grey, float32 [C, S, S].

    Args:
        image: Of mode "L" or "RGB".
        vision: Side of the square and number of channels.
    """
    side = vision.position_size * vision.patch_size
    grey = _LETTERBOX_GREY if image.mode == "L" else (_LETTERBOX_GREY,) * 3
    longest = max(image.size)
    width, height = (round(pixels / longest * side) for pixels in image.size)
    padded = Image.new(image.mode, (side, side), grey)
    if width and height:
        place = round((side - width) / 2), round((side - height) / 2)
        padded.paste(_resized(image, width, height), place)
    return _normalised(padded).expand(vision.image_channels, -1, -1)


def _resized(image: Image.Image, width: int, height: int) -> Image.Image:
    """Return an image resized across, then down.

    Values are rounded in between, so the order shows. From version 13 on Pillow begins with the
    height of high pages.
    """
    return image.resize((width, image.height)).resize((width, height))


@lru_cache(maxsize=256)
def tile_grid(width: int, height: int, tile: int, max_tiles: int) -> tuple[int, int]:
    """Return how many tiles a page is cut into, across and down.

    The grid whose shape is nearest to the page's wins. Of equally near ones it is the larger, as
    long as its tiles cover less than twice the page's pixels.

    Args:
        width: Pixels across.
        height: Pixels down.
        tile: Side of a tile in pixels.
        max_tiles: Most tiles.

    Example:
        >>> tile_grid(2480, 3508, 640, 32), tile_grid(2480, 3508, 640, 16)
        ((4, 6), (2, 3))
    """
    sides = range(1, max_tiles + 1)
    grids = [(x, y) for x in sides for y in sides if MIN_TILES <= x * y <= max_tiles]
    best, least = (1, 1), float("inf")
    for across, down in sorted(grids, key=lambda grid: grid[0] * grid[1]):
        gap = abs(width / height - across / down)
        roomy = width * height > 0.5 * tile * tile * across * down
        if gap < least or (gap == least and roomy):
            best, least = (across, down), gap
    return best


def view_tokens(vision: VisionConfig, columns: int = 0, rows: int = 0) -> int:
    """Return how many image tokens a page's views become.

    Args:
        vision: Sizes of the views.
        columns: Tiles across, 0 for the overview only.
        rows: Tiles down.

    Example:
        >>> view_tokens(VisionConfig()), view_tokens(VisionConfig(), 2, 3)
        (273, 903)
    """
    side = -(-vision.position_size * vision.patch_size // vision.cell_size)
    newline, separator = int(vision.image_newline), int(vision.view_separator)
    part = -(-vision.tile_size // vision.cell_size)
    tiled = (columns * part + newline) * rows * part if columns else 0
    return tiled + (side + newline) * side + separator


def _normalised(image: Image.Image) -> Tensor:
    # In place: a page takes 12 MB, and fresh memory costs more than the arithmetic.
    tensor = torch.from_numpy(np.asarray(image).astype(np.float32))
    tensor.div_(255.0).sub_(0.5).div_(0.5)
    return tensor.permute(2, 0, 1) if tensor.dim() == 3 else tensor[None]
