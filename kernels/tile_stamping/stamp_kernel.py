# mypy: allow-untyped-defs
"""Kernel of tile stamping: one program per tile that is added.

Tiles overlap, hence atomic sums; grey values are small integers, so that their order is of no
consequence.
"""

import triton
import triton.language as tl
from torch import Tensor

_CHUNK = 256


@triton.jit(do_not_specialize=["height", "width"])
def stamp_kernel(
    canvas_ptr,
    pixel_ptr,
    start_ptr,
    shape_ptr,
    tile_ptr,
    page_ptr,
    x_ptr,
    y_ptr,
    height,
    width,
    CHUNK: tl.constexpr,
):
    """Adds one tile; grid (N)."""
    index = tl.program_id(0)
    tile = tl.load(tile_ptr + index)
    cols = tl.load(shape_ptr + 4 * tile).to(tl.int32)
    rows = tl.load(shape_ptr + 4 * tile + 1).to(tl.int32)
    left = (tl.load(x_ptr + index) + tl.load(shape_ptr + 4 * tile + 2)).to(tl.int32)
    top = (tl.load(y_ptr + index) + tl.load(shape_ptr + 4 * tile + 3)).to(tl.int32)
    source = pixel_ptr + tl.load(start_ptr + tile)
    canvas = canvas_ptr + tl.load(page_ptr + index) * height * width
    count = cols * rows
    for begin in tl.range(0, count, CHUNK):
        local = begin + tl.arange(0, CHUNK)
        row = local // tl.maximum(cols, 1)
        py = top + row
        px = left + local - row * cols
        seen = (local < count) & (py >= 0) & (py < height) & (px >= 0) & (px < width)
        value = tl.load(source + local, mask=seen, other=0).to(tl.float32)
        tl.atomic_add(canvas + py * width + px, value, mask=seen & (value > 0.0))


def launch_stamp(
    canvas: Tensor,
    pixels: Tensor,
    start: Tensor,
    shape: Tensor,
    tile: Tensor,
    page: Tensor,
    x: Tensor,
    y: Tensor,
) -> None:
    """Adds tiles to `canvas`.

    Args:
        canvas: float32 `[B, H, W]`, contiguous.
        pixels: uint8 `[P]`, contiguous, as are all that follow.
        start: int64 `[A]`.
        shape: int64 `[A, 4]`.
        tile: int64 `[N]`.
        page: int64 `[N]`.
        x: int64 `[N]`.
        y: int64 `[N]`.
    """
    if not len(tile):
        return
    vectors = [each.contiguous() for each in (pixels, start, shape, tile, page, x, y)]
    _, height, width = canvas.shape
    stamp_kernel[(len(tile),)](canvas, *vectors, height, width, CHUNK=_CHUNK, num_warps=4)
