"""Views of a page: sizes and numbers of tokens as published, pixels as Pillow gives them."""

import doctest

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps

import ocrcli.views
from ocrcli.models.unlimited_ocr.config import VisionConfig
from ocrcli.views import page_views, tile_grid, view_tokens

LARGE = VisionConfig()


def noise(height, width):
    return np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)


def normal(image):
    return (torch.from_numpy(np.array(image)).permute(2, 0, 1).float() / 255 - 0.5) / 0.5


@pytest.mark.parametrize(
    ("columns", "rows", "count"),
    [(0, 0, 273), (2, 3, 903), (3, 4, 1513), (4, 4, 1913), (4, 6, 2733), (4, 8, 3553)],
)
def test_token_counts_are_the_published_ones(columns, rows, count):
    assert view_tokens(LARGE, columns, rows) == count


@pytest.mark.parametrize(
    ("width", "height", "most", "grid"),
    [
        (2480, 3508, 32, (4, 6)),
        (2480, 3508, 16, (2, 3)),
        (2550, 3300, 32, (3, 4)),
        (2550, 3300, 16, (3, 4)),
        (700, 700, 16, (2, 2)),
        (3000, 200, 16, (15, 1)),
    ],
)
def test_grid_has_the_shape_nearest_to_the_page(width, height, most, grid):
    assert tile_grid(width, height, 640, most) == grid


def test_overview_is_padded_by_pillow():
    pixels = noise(330, 255)
    views = page_views(pixels, LARGE)
    padded = ImageOps.pad(
        Image.fromarray(pixels), (1024, 1024), Image.Resampling.BICUBIC, color=(127, 127, 127)
    )
    assert torch.equal(views.overview, normal(padded))
    assert views.tiles.shape == (0, 3, 640, 640)


def test_tiles_are_cut_from_the_stretched_page_row_by_row():
    pixels = noise(900, 700)
    views = page_views(pixels, LARGE, max_tiles=16)
    columns, rows = tile_grid(700, 900, 640, 16)
    assert views.columns == columns
    stretched = normal(
        Image.fromarray(pixels).resize((640 * columns, 640 * rows), Image.Resampling.BICUBIC)
    )
    for index, tile in enumerate(views.tiles):
        row, column = divmod(index, columns)
        assert torch.equal(
            tile, stretched[:, row * 640 : (row + 1) * 640, column * 640 : (column + 1) * 640]
        )
    assert len(views.tiles) == columns * rows


def test_page_no_larger_than_a_tile_is_not_tiled():
    assert page_views(noise(640, 640), LARGE, max_tiles=16).tiles.shape[0] == 0
    assert page_views(noise(641, 640), LARGE, max_tiles=16).tiles.shape[0] > 0


def test_grey_page_is_shown_in_three_equal_channels():
    views = page_views(noise(700, 300)[..., 0].copy(), LARGE, max_tiles=4)
    for view in (views.overview, *views.tiles):
        assert view.shape[0] == 3
        assert torch.equal(view[0], view[1]) and torch.equal(view[1], view[2])


def test_other_arrays_are_refused():
    with pytest.raises(ValueError, match="pixels must be a non-empty uint8 array"):
        page_views(np.zeros((4, 4), np.float32), LARGE)


def test_examples_run():
    done = doctest.testmod(ocrcli.views)
    assert (done.failed, done.attempted) == (0, 2)
