"""Print that was taken for a picture."""

import numpy as np
import pytest
from made_pixels import drawing, page_of_print, photograph, punch_holes

from ocrcli.ink import ink_map
from ocrcli.pictures_of_print import looks_like_print


@pytest.mark.parametrize("points", [6, 9, 11, 16])
@pytest.mark.parametrize("turned", [0, 90])
def test_print_does(points, turned):
    assert looks_like_print(ink_map(page_of_print(points, turned)))


def test_white_print_on_black_does():
    assert looks_like_print(ink_map(255 - page_of_print()))


@pytest.mark.parametrize("pixels", [photograph(), drawing(), punch_holes()])
def test_pictures_do_not(pixels):
    assert not looks_like_print(ink_map(pixels))


@pytest.mark.parametrize("shape", [(40, 40), (1, 1), (1, 300), (300, 1)])
@pytest.mark.parametrize("level", [0, 255])
def test_sheet_without_a_mark_does_not(shape, level):
    assert not looks_like_print(ink_map(np.full(shape, level, np.uint8)))


def test_one_line_of_ink_does_not():
    pixels = np.full((300, 200), 255, np.uint8)
    pixels[100:102, 50:90] = 0
    assert not looks_like_print(ink_map(pixels))
    assert not looks_like_print(ink_map(np.ascontiguousarray(pixels.T)))
