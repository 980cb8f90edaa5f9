"""Adds many small tiles of grey pixels to large canvases, as glyphs of an atlas to pages."""

import os
from dataclasses import dataclass

import torch
from torch import Tensor

from ocrcli.kernels.checks import check_tensor

__all__ = ["Tiles", "stamp_tiles", "stamp_tiles_reference"]


@dataclass(frozen=True)
class Tiles:
    """A store of A tiles.

    Attributes:
        pixels: Grey values of all tiles, row by row, uint8 [P].
        start: Where each tile begins, int64 [A].
        shape: Columns, rows, and the tile's left and top edge from its place, int64 [A, 4].
    """

    pixels: Tensor
    start: Tensor
    shape: Tensor


def stamp_tiles(
    canvas: Tensor, tiles: Tiles, tile: Tensor, page: Tensor, x: Tensor, y: Tensor
) -> Tensor:
    """Add tiles to canvases in place; what lies beyond a canvas is left out.

    CUDA tensors take a Triton kernel; anything else takes the reference.

    Args:
        canvas: Sums of grey values, float32 [B, H, W], contiguous; changed and returned.
        tiles: The store.
        tile: Which tile is added, int64 [N].
        page: To which canvas, int64 [N].
        x: Columns of the places, int64 [N].
        y: Rows of the places, int64 [N].

    Raises:
        ValueError: A shape or dtype does not fit.

    Example:
        >>> pixels, start = torch.full((2,), 7, dtype=torch.uint8), torch.zeros(1).long()
        >>> tiles = Tiles(pixels, start, torch.tensor([[2, 1, 0, 0]]))
        >>> zero, one = torch.tensor([0]), torch.tensor([1])
        >>> stamp_tiles(torch.zeros(1, 2, 3), tiles, zero, zero, one, one)
        tensor([[[0., 0., 0.],
                 [0., 7., 7.]]])
    """
    _check(canvas, tiles, tile, page, x, y)
    if not (canvas.is_cuda or os.environ.get("TRITON_INTERPRET") == "1"):
        return stamp_tiles_reference(canvas, tiles, tile, page, x, y)
    from ocrcli.kernels.tile_stamping.stamp_kernel import launch_stamp

    # The kernel launches on the current device, which need not be the one that holds the canvas.
    with torch.cuda.device_of(canvas):
        launch_stamp(canvas, tiles.pixels, tiles.start, tiles.shape, tile, page, x, y)
    return canvas


def stamp_tiles_reference(
    canvas: Tensor, tiles: Tiles, tile: Tensor, page: Tensor, x: Tensor, y: Tensor
) -> Tensor:
    """Do what `stamp_tiles` does, in plain PyTorch: one element per pixel of every tile.

    Args:
        canvas: See `stamp_tiles`.
        tiles: See `stamp_tiles`.
        tile: See `stamp_tiles`.
        page: See `stamp_tiles`.
        x: See `stamp_tiles`.
        y: See `stamp_tiles`.

    Raises:
        ValueError: As `stamp_tiles`.
    """
    _check(canvas, tiles, tile, page, x, y)
    _, height, width = canvas.shape
    cols, rows, left, top = tiles.shape[tile].unbind(1)
    count = cols * rows
    which = torch.repeat_interleave(torch.arange(len(count), device=canvas.device), count)
    local = torch.arange(len(which), device=canvas.device) - (count.cumsum(0) - count)[which]
    row = local // cols[which].clamp(min=1)
    py = (y + top)[which] + row
    px = (x + left)[which] + local - row * cols[which]
    inside = (py >= 0) & (py < height) & (px >= 0) & (px < width)
    target = (page[which] * height + py) * width + px
    value = tiles.pixels[tiles.start[tile][which] + local].float()
    value = torch.where(inside, value, torch.zeros_like(value))
    canvas.view(-1).index_add_(0, target.clamp_(0, canvas.numel() - 1), value)
    return canvas


def _check(canvas: Tensor, tiles: Tiles, tile: Tensor, page: Tensor, x: Tensor, y: Tensor) -> None:
    check_tensor("canvas", canvas, ("B", "H", "W"), torch.float32)
    if not canvas.is_contiguous():
        raise ValueError("canvas must be contiguous, it is changed in place")
    check_tensor("tiles.pixels", tiles.pixels, ("P",), torch.uint8)
    check_tensor("tiles.start", tiles.start, ("A",), torch.int64)
    check_tensor("tiles.shape", tiles.shape, (tiles.start.shape[0], 4), torch.int64)
    for name, tensor in (("tile", tile), ("page", page), ("x", x), ("y", y)):
        check_tensor(name, tensor, (tile.shape[0],), torch.int64)
