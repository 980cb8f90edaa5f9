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


def strokes(pixels, top, bottom, left, right, level=0):
    """Draw upright strokes as thick as those of letters, and as far apart."""
    for x in range(left, right, 8):
        pixels[top:bottom, x : x + 4] = level


def test_rules_and_frames_are_ink_but_no_print():
    pixels = np.full((1000, 800), 255, np.uint8)
    strokes(pixels, 100, 116, 100, 180)
    letters = ink_map(pixels).total
    pixels[200:202, 100:700] = 0
    pixels[300:600, 100:102] = 0
    pixels[700:760, 100:700] = 220
    page = ink_map(pixels)
    assert page.total == letters + 2 * 600 + 2 * 300 + 60 * 600
    assert page.print_total == letters
    assert page.print_outside([(120, 95, 230, 120)]) == 0


def test_rules_of_skewed_scans_are_no_print():
    pixels = np.full((1000, 800), 255, np.uint8)
    for x in range(600):
        y = 2 * round((200 + x * np.tan(np.radians(2))) / 2)
        pixels[y : y + 2, 100 + x] = 0
    assert ink_map(pixels).print_total < ink_map(pixels).total / 10


def test_what_is_printed_on_shading_is_print():
    pixels = np.full((1000, 800), 255, np.uint8)
    pixels[100:400, 100:700] = 220
    strokes(pixels, 200, 216, 200, 400)
    page = ink_map(pixels)
    assert page.total == 300 * 600
    assert page.print_total == 16 * 100
    assert page.print_outside([(240, 190, 510, 220)]) == 0


def test_narrow_pages_have_no_rules():
    pixels = np.full((40, 40), 255, np.uint8)
    pixels[10:12] = 0
    assert ink_map(pixels).print_total == ink_map(pixels).total == 80
