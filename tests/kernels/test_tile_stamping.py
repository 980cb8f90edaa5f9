import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from ocrcli.kernels.tile_stamping import Tiles, stamp_tiles, stamp_tiles_reference


def make_inputs(device="cpu"):
    """Tiles of many shapes, an empty one among them, that overlap and stick out on all sides."""
    generator = torch.Generator().manual_seed(0)
    size = torch.randint(0, 24, (9, 2), generator=generator)
    size[0] = torch.tensor([5, 0])
    place = torch.randint(-6, 7, (9, 2), generator=generator)
    count = size.prod(1)
    pixels = torch.randint(0, 256, (int(count.sum()),), generator=generator, dtype=torch.uint8)
    tiles = Tiles(
        pixels.to(device),
        (count.cumsum(0) - count).to(device),
        torch.cat((size, place), 1).to(device),
    )
    vectors = [
        torch.randint(low, high, (60,), generator=generator).to(device)
        for low, high in ((0, 9), (0, 3), (-20, 60), (-20, 50))
    ]
    return tiles, vectors


def test_tiles_are_added_pixel_by_pixel():
    tiles, (tile, page, x, y) = make_inputs()
    expected = torch.zeros(3, 40, 50)
    for n in range(len(tile)):
        cols, rows, left, top = tiles.shape[tile[n]].tolist()
        start = int(tiles.start[tile[n]])
        for i in range(rows):
            for j in range(cols):
                row, col = int(y[n]) + top + i, int(x[n]) + left + j
                if 0 <= row < 40 and 0 <= col < 50:
                    expected[page[n], row, col] += tiles.pixels[start + i * cols + j]
    assert expected.max() > 255
    assert torch.equal(stamp_tiles(torch.zeros(3, 40, 50), tiles, tile, page, x, y), expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"canvas": torch.zeros(40, 50)}, "canvas must have shape"),
        ({"canvas": torch.zeros(3, 50, 40).mT}, "canvas must be contiguous"),
        ({"x": torch.zeros(60)}, "x must be torch.int64"),
        ({"page": torch.zeros(59).long()}, "page must have shape"),
    ],
)
def test_bad_arguments_are_named(change, message):
    tiles, (tile, page, x, y) = make_inputs()
    arguments = {"canvas": torch.zeros(3, 40, 50), "tile": tile, "page": page, "x": x, "y": y}
    with pytest.raises(ValueError, match=message):
        stamp_tiles(tiles=tiles, **(arguments | change))


def kernel_equals_reference(device):
    tiles, vectors = make_inputs(device)
    canvases = [torch.zeros(3, 40, 50, device=device) for _ in range(2)]
    stamp_tiles(canvases[0], tiles, *vectors)
    stamp_tiles_reference(canvases[1], tiles, *vectors)
    none = [vector[:0] for vector in vectors]
    assert torch.equal(stamp_tiles(canvases[0], tiles, *none), canvases[1])


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="triton is not installed")
@pytest.mark.slow
def test_interpreted_kernel_gives_the_bits_of_the_reference():
    # The interpreter is chosen when triton is imported, hence a process of its own.
    finished = subprocess.run(
        [sys.executable, str(Path(__file__)), "interpret"],
        env=os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr


@pytest.mark.gpu
def test_kernel_gives_the_bits_of_the_reference():
    kernel_equals_reference("cuda")


if __name__ == "__main__" and sys.argv[1:] == ["interpret"]:
    kernel_equals_reference("cpu")
