"""How far the lines of a page are from level, and what making them level does."""

from math import radians, tan

import numpy as np
import pytest

from ocrcli.skew import LEAST_SLOPE, levelled, skew

HEIGHT, WIDTH = 400, 300


def text_page(slope=0.0, columns=((20, 280),), pitch=12, high=7):
    """Draw lines of words that fall by so much to the right, as a share of the way."""
    page = np.zeros((HEIGHT, WIDTH), bool)
    letters = np.random.default_rng(5)
    for left, right in columns:
        for top in range(30, HEIGHT - 30, pitch):
            for x in range(left, right, 4):
                if letters.random() < 0.15:
                    continue
                upper = top + letters.integers(0, 3)
                for column in range(x, x + 3):
                    down = round(slope * column)
                    page[upper + down : top + high + down, column] = True
    return page


def rows_with_ink(page):
    """Return how many runs of inked rows there are."""
    return np.count_nonzero(np.diff(page.any(1).astype(int), prepend=0) == 1)


@pytest.mark.parametrize("degrees", [-2.3, -1.5, -0.5, 0.5, 1.5, 2.3])
def test_skewed_page_gives_back_its_slope(degrees):
    found = skew(text_page(tan(radians(degrees))))
    assert found == pytest.approx(tan(radians(degrees)), abs=tan(radians(0.3)))


@pytest.mark.parametrize("degrees", [-1.5, 1.5])
def test_columns_fall_together(degrees):
    slope = tan(radians(degrees))
    found = skew(text_page(slope, columns=((10, 130), (160, 290))))
    assert found == pytest.approx(slope, abs=tan(radians(0.3)))


def test_level_page_is_level():
    assert skew(text_page()) == 0.0
    assert skew(text_page(columns=((10, 130), (160, 290)))) == 0.0


@pytest.mark.parametrize("shape", [(0, 0), (0, 9), (9, 0), (1, 1), (3, 200), (200, 3), (80, 90)])
def test_page_without_ink_or_without_size_is_level(shape):
    assert skew(np.zeros(shape, bool)) == 0.0


def test_what_is_laid_down_crookedly_is_not_turned_by_more_than_a_little():
    assert abs(skew(text_page(tan(radians(6))))) <= tan(radians(2.6))


@pytest.mark.parametrize("degrees", [-1.5, 1.5])
def test_lines_of_a_levelled_page_are_level(degrees):
    slope = tan(radians(degrees))
    straight, crooked = text_page(), text_page(slope)
    assert rows_with_ink(crooked) < 5
    page = levelled(crooked, skew(crooked))
    assert page.shape == crooked.shape
    assert rows_with_ink(page) == rows_with_ink(straight) > 20
    assert skew(page) == 0.0


def test_levelling_by_the_true_slope_undoes_the_skew():
    slope = tan(radians(1.5))
    assert np.array_equal(levelled(text_page(slope), slope), text_page())


def test_ink_that_falls_off_the_page_does_not_come_back_at_the_other_edge():
    page = np.zeros((100, 300), bool)
    page[:5] = True
    assert not levelled(page, 0.04)[50:].any()
    assert not levelled(page[::-1], -0.04)[:50].any()


def test_slope_too_small_to_matter_changes_nothing():
    page = text_page()
    assert np.array_equal(levelled(page, LEAST_SLOPE / 2), page)
    assert np.array_equal(levelled(page, 0.0), page)


def test_page_itself_is_left_as_it_was():
    page = text_page(0.03)
    before = page.copy()
    levelled(page, 0.03)
    skew(page)
    assert np.array_equal(page, before)
