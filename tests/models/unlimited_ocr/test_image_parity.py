"""The views of a page against the image processor of transformers, on the same pictures.

That processor resizes with torchvision, whose filter has the same shape as Pillow's, but whose
weights are rounded to 16 bits where Pillow's have 22 binary places. Everything else is therefore
compared exactly, with Pillow's filter put in its place, and the processor as it is within the error
of those weights.
"""

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, library

from ocrcli.models.unlimited_ocr.config import VisionConfig
from ocrcli.views import page_views, tile_grid

Library = library.Library

MOST_TILES = 32
LARGE = VisionConfig()

SIZES = [(1240, 1754), (1754, 1240), (900, 900), (641, 640), (640, 640), (100, 60)]
UNEVEN = [(3000, 400), (17, 23)]
"""Sizes whose margins are 3 modulo 4: Pillow halves them up, to even, and the reference down."""
TALL = [(400, 3000), (800, 2400)]
"""Such sizes of which Pillow 13 squeezes the height first: the two passes clip in another order."""
MOST_LEVELS = 2
"""Levels out of 255 that the reference's filter may be off by: one in each of its two passes."""
SHARE_BEYOND_ONE_LEVEL = 1e-4
SHARE_UNEQUAL = 0.02


def defined_operators() -> Library:
    """Declare the compiled operators that torchvision describes while it is imported.

    A torchvision built for another torch, for one with CUDA say, cannot load them, and then fails
    on describing them. Nothing here calls them: resizing and padding are plain torch.
    """
    declared = Library("torchvision", "FRAGMENT")
    for name in ("nms", "qnms"):
        declared.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    return declared


def reference_module() -> tuple[Any, Library | None]:
    """Return the reference's module, and the declarations it needs for as long as it is used."""
    pytest.importorskip("transformers", minversion="5.24.0")
    declared = None
    try:
        try:
            import torchvision  # noqa: F401
        except RuntimeError:
            declared = defined_operators()
        from transformers.models.unlimited_ocr import image_processing_unlimited_ocr as module
    except (ImportError, RuntimeError) as error:
        pytest.skip(f"torchvision cannot be imported: {error}", allow_module_level=True)
    return module, declared


with warnings.catch_warnings():
    # What the other libraries warn of while they are imported is their own affair.
    warnings.simplefilter("ignore")
    reference, _library = reference_module()


Reference: Any = reference.UnlimitedOcrImageProcessor


class WithPillow(Reference):
    """The reference with Pillow's filter, across first and then down."""

    def resize(self, image: Tensor, size: Any, resample: Any = None, **_: Any) -> Tensor:
        (one,) = image
        picture = Image.fromarray(one.permute(1, 2, 0).numpy())
        for shape in ((size.width, picture.height), (size.width, size.height)):
            picture = picture.resize(shape, Image.Resampling(resample))
        return torch.from_numpy(np.array(picture)).permute(2, 0, 1)[None]


def picture(size: tuple[int, int], grey: bool) -> NDArray[np.uint8]:
    """Return noise above, and below it noise in black and white, which overshoots most."""
    width, height = size
    shape = (height, width) if grey else (height, width, 3)
    pixels = np.random.default_rng(width).integers(0, 256, shape, dtype=np.uint8)
    pixels[height // 2 :] = np.where(pixels[height // 2 :] < 128, 0, 255)
    return pixels


def processed(processor: Any, pixels: NDArray[np.uint8], **settings: Any) -> tuple[Any, ...]:
    """Return the reference's overview, tiles [T, C, t, t] and tiles across and down."""
    settings = {"max_patches": MOST_TILES, "return_tensors": "pt"} | settings
    views = processor(images=[Image.fromarray(pixels)], **settings)
    count = views["num_local_patches"][0]
    empty = torch.zeros(0, 3, LARGE.tile_size, LARGE.tile_size)
    tiles = views["pixel_values_local"].reshape(-1, *empty.shape[1:]) if count else empty
    assert len(tiles) == count
    return views["pixel_values"][0], tiles, tuple(views["patches_grid"][0])


def levels(view: Tensor) -> Tensor:
    return (view * 127.5 + 127.5).round().to(torch.int16)


def assert_exact(mine: Tensor, theirs: Tensor) -> None:
    assert mine.shape == theirs.shape
    assert torch.equal(levels(mine), levels(theirs))
    torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-6)


def assert_near(mine: Tensor, theirs: Tensor) -> None:
    assert mine.shape == theirs.shape
    gap = (levels(mine) - levels(theirs)).abs()
    if gap.numel():
        assert gap.max() <= MOST_LEVELS
        assert (gap > 1).float().mean() <= SHARE_BEYOND_ONE_LEVEL
        assert (gap > 0).float().mean() <= SHARE_UNEQUAL


def centred_as_in_the_reference(overview: Tensor, size: tuple[int, int]) -> Tensor:
    """Return an overview of uneven margins moved by one pixel, others as they are."""
    if size in SIZES:
        return overview
    return overview.roll(-1, dims=1 if size[0] > size[1] else 2)


@pytest.mark.parametrize("grey", [False, True], ids=["rgb", "grey"])
@pytest.mark.parametrize("size", [*SIZES, *UNEVEN, *TALL], ids=str)
@pytest.mark.parametrize(
    ("processor", "check"),
    [
        (WithPillow, assert_exact),
        (Reference, assert_near),
    ],
    ids=["pillow", "torchvision"],
)
def test_views_match(processor: Any, check: Any, size: tuple[int, int], grey: bool) -> None:
    pixels = picture(size, grey)
    mine = page_views(pixels, LARGE, MOST_TILES)
    overview, tiles, (columns, rows) = processed(processor(), pixels)
    assert mine.columns == columns
    assert len(mine.tiles) == (columns * rows if max(size) > LARGE.tile_size else 0)
    check(mine.tiles, tiles)
    check(centred_as_in_the_reference(mine.overview, size), overview)


@pytest.mark.parametrize("size", [(1240, 1754), (100, 60)], ids=str)
def test_overview_alone_matches(size: tuple[int, int]) -> None:
    pixels = picture(size, grey=False)
    overview, tiles, grid = processed(WithPillow(), pixels, crop_to_patches=False)
    assert (len(tiles), grid) == (0, (1, 1))
    assert_exact(page_views(pixels, LARGE).overview, overview)


@pytest.mark.parametrize("most", [2, 6, 9, 16, 32])
def test_grids_match(most: int) -> None:
    tile = LARGE.tile_size
    squares = [(side, side) for side in range(641, 6000, 97)]
    multiples = [(tile * x, tile * y) for x in range(1, 9) for y in range(1, 9)]
    others = np.random.default_rng(most).integers(1, 6000, (1000, 2)).tolist()
    for width, height in squares + multiples + others:
        theirs = reference.get_optimal_tiled_canvas((height, width), (tile, tile), 2, most)
        assert tile_grid(width, height, tile, most) == theirs, (width, height)
