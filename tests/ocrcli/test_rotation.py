"""Boxes on the upright page and where they lie on the displayed one."""

import numpy as np
import pytest

from ocrcli.blocks import parse_markup
from ocrcli.rotation import as_displayed, upright_size

DISPLAYED = (70, 100)


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_a_box_covers_the_same_pixels_on_both_pages(rotation):
    width, height = DISPLAYED
    across, down = upright_size(width, height, rotation)
    box = (5, 11, 29, 17)
    upright = np.zeros((down, across), np.uint8)
    upright[box[1] : box[3], box[0] : box[2]] = 1
    left, top, right, bottom = as_displayed(box, width, height, rotation)
    expected = np.zeros((height, width), np.uint8)
    expected[top:bottom, left:right] = 1
    # Turning the displayed page clockwise makes it the upright one.
    np.testing.assert_array_equal(np.rot90(expected, -rotation // 90), upright)


def test_blocks_have_points_of_the_displayed_page():
    markup = "<|det|>text [0, 0, 999, 333]<|/det|>Upper third"
    (block,) = parse_markup(markup, 600, 900, rotation=90).blocks
    assert block.box == (0, 0, 999, 333)
    assert block.bbox == (0, 0, 200, 900)
    (block,) = parse_markup(markup, 600, 900, rotation=180).blocks
    assert block.bbox == (0, 600, 600, 900)
