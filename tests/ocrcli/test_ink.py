"""Where the ink of a page lies."""

import numpy as np
import pytest

from ocrcli.ink import ink_map


@pytest.mark.parametrize("level", [0, 60, 255])
def test_flat_pages_have_no_ink(level):
    assert ink_map(np.full((40, 40), level, np.uint8)).total == 0


def test_grain_of_a_scan_is_no_ink():
    noise = np.random.default_rng(0).normal(225, 8, (1280, 990)).clip(0, 255).astype(np.uint8)
    assert ink_map(noise).total == 0


def test_a_full_stop_is_ink():
    pixels = np.full((1281, 991), 255, np.uint8)
    pixels[700:703, 500:503] = 0
    assert ink_map(pixels).total >= 16


def test_ink_of_one_pixel_wide_pages_is_counted():
    pixels = np.full((9, 1), 255, np.uint8)
    pixels[4:6] = 0
    assert ink_map(pixels).total == 4


def page_with_two_words():
    pixels = np.full((1000, 800), 255, np.uint8)
    pixels[100:110, 100:150] = 0
    pixels[900:910, 100:130] = 0
    return ink_map(pixels)


def test_ink_is_counted_where_no_box_lies():
    page = page_with_two_words()
    assert page.total == 10 * 50 + 10 * 30
    assert page.outside([]) == page.total
    assert page.outside([(120, 95, 190, 115)]) == 10 * 30
    assert page.outside([(120, 95, 190, 115), (120, 895, 170, 915)]) == 0


def test_boxes_that_miss_by_a_few_pixels_still_cover():
    assert page_with_two_words().outside([(130, 104, 180, 106), (130, 903, 160, 905)]) == 0


def test_boxes_may_reach_the_edges_of_the_page():
    assert page_with_two_words().outside([(0, 0, 999, 999)]) == 0


def test_pale_print_on_clean_paper_is_ink():
    pixels = np.full((400, 300), 255, np.uint8)
    pixels[100:120, 50:250] = 230
    assert ink_map(pixels).total == 20 * 200


@pytest.mark.parametrize("grain", [2, 4, 8])
def test_grain_is_no_ink_however_coarse(grain):
    noise = np.random.default_rng(1).normal(235, grain, (1280, 990)).clip(0, 255)
    assert ink_map(noise.astype(np.uint8)).total < 24
