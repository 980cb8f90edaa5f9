"""Rows of ink in a column: what belongs to one line, what is two, and how wide a line is."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocrcli.ink_rows import InkRow, ink_rows, inked_columns, whole_row

HIGH = 10
"""How high the lines of these pages are."""


def page(*rectangles, height=200, width=150):
    """Draw rectangles: left, top, right and bottom, the last two behind the ink."""
    ink = np.zeros((height, width), bool)
    for left, top, right, bottom in rectangles:
        ink[top:bottom, left:right] = True
    return ink


def edges(ink, left=0, right=150, height=HIGH):
    return [(row.top, row.bottom) for row in ink_rows(ink, left, right, height)]


def test_lines_are_found_from_top_to_bottom_with_their_ends():
    ink = page((20, 50, 60, 58), (80, 50, 120, 58), (20, 65, 40, 73), (30, 80, 140, 88))
    assert ink_rows(ink, 0, 150, HIGH) == [
        InkRow(50, 58, 20, 120),
        InkRow(65, 73, 20, 40),
        InkRow(80, 88, 30, 140),
    ]


def test_middle_is_half_way():
    assert InkRow(50, 58, 20, 120).middle == 54


def test_only_ink_of_the_column_counts():
    ink = page((0, 50, 60, 58), (80, 52, 150, 90))
    assert ink_rows(ink, 10, 70, HIGH) == [InkRow(50, 58, 10, 60)]


@pytest.mark.parametrize("top", [47, 46])
def test_dots_above_letters_belong_to_their_line(top):
    ink = page((20, 50, 120, 57), (40, top, 43, top + 2))
    assert edges(ink) == [(top, 57)]


def test_accents_below_letters_belong_to_their_line():
    ink = page((20, 50, 120, 57), (40, 59, 43, 61))
    assert edges(ink) == [(50, 61)]


def test_dots_belong_to_the_line_below_rather_than_to_the_one_above():
    ink = page((20, 50, 120, 58), (20, 66, 120, 73), (40, 63, 43, 65))
    assert edges(ink) == [(50, 58), (63, 73)]


def test_lines_that_lie_close_are_not_joined():
    ink = page((20, 50, 120, 58), (20, 60, 120, 68), (20, 70, 120, 78))
    assert edges(ink) == [(50, 58), (60, 68), (70, 78)]


def test_lines_that_touch_are_divided():
    # A long descender joins each line with the next one.
    ink = page((20, 50, 120, 80), (30, 80, 140, 90))
    rows = ink_rows(ink, 0, 150, HIGH)
    assert [(row.top, row.bottom) for row in rows] == [(50, 60), (60, 70), (70, 80), (80, 90)]
    assert [(row.left, row.right) for row in rows] == [(20, 120)] * 3 + [(30, 140)]


def test_tall_letter_is_not_divided():
    assert edges(page((20, 50, 120, 65))) == [(50, 65)]


def test_part_of_a_divided_run_keeps_its_own_ends():
    ink = page((20, 50, 120, 59), (60, 59, 62, 61), (20, 61, 45, 70))
    assert [(row.left, row.right) for row in ink_rows(ink, 0, 150, HIGH)] == [(20, 120), (20, 62)]


def test_specks_are_no_lines():
    assert edges(page((20, 50, 21, 51), (90, 100, 92, 101))) == []


def test_speck_between_columns_of_letters_does_not_join_lines():
    # One square of a column of 600 is dust, however far down it goes.
    ink = page((20, 50, 500, 58), (20, 66, 500, 74), (300, 58, 301, 66), width=600)
    assert edges(ink, right=600) == [(50, 58), (66, 74)]


def test_thin_letter_in_a_narrow_column_is_a_line():
    assert edges(page((20, 50, 21, 58)), 10, 40) == [(50, 58)]


@pytest.mark.parametrize(("left", "right"), [(60, 60), (90, 40), (-50, 0), (150, 300)])
def test_column_without_width_has_no_rows(left, right):
    assert edges(np.ones((200, 150), bool), left, right) == []


def test_lines_without_height_are_not_looked_for():
    assert edges(np.ones((200, 150), bool), height=0) == []


def test_column_may_reach_beyond_the_page():
    assert ink_rows(page((0, 0, 150, 8)), -20, 500, HIGH) == [InkRow(0, 8, 0, 150)]


def test_line_may_stand_at_the_lower_edge():
    assert edges(page((0, 192, 150, 200))) == [(192, 200)]


class TestWholeRow:
    WORDS = ((20, 50, 40, 58), (46, 50, 60, 58), (66, 50, 80, 58), (100, 50, 130, 58))
    """The last one is more than the height of a line behind the others."""

    def whole(self, row, room=(0, 150)):
        found = whole_row(page(*self.WORDS), InkRow(50, 58, *row), HIGH, room)
        assert (found.top, found.bottom) == (50, 58)
        return found.left, found.right

    def test_words_that_were_cut_off_are_taken_in(self):
        assert self.whole((46, 60)) == (20, 80)
        assert self.whole((50, 55)) == (20, 80)

    def test_next_column_is_not(self):
        assert self.whole((100, 130)) == (100, 130)
        assert self.whole((20, 80)) == (20, 80)

    def test_nothing_is_taken_beyond_its_room(self):
        assert self.whole((46, 60), (44, 64)) == (46, 60)
        assert self.whole((46, 60), (30, 70)) == (30, 70)

    def test_row_is_never_made_narrower(self):
        assert self.whole((10, 90)) == (10, 90)
        assert self.whole((20, 80), (30, 70)) == (20, 80)

    def test_room_may_reach_beyond_the_page(self):
        assert self.whole((46, 60), (-40, 900)) == (20, 80)

    def test_ink_of_other_lines_does_not_count(self):
        ink = page((20, 50, 40, 58), (42, 60, 60, 68))
        assert whole_row(ink, InkRow(50, 58, 20, 40), HIGH, (0, 150)) == InkRow(50, 58, 20, 40)


def test_inked_columns_are_those_of_the_row_alone():
    ink = page((20, 50, 40, 58), (30, 58, 60, 66))
    assert np.flatnonzero(inked_columns(ink, InkRow(50, 58, 0, 150))).tolist() == [*range(20, 40)]
    assert np.flatnonzero(inked_columns(ink, InkRow(58, 66, 0, 150))).tolist() == [*range(30, 60)]


def test_row_of_less_than_a_square_has_ink_too():
    ink = page((20, 50, 40, 51))
    assert inked_columns(ink, InkRow(50.2, 50.4, 0, 150)).sum() == 20


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_rows_lie_apart_inside_their_column_whatever_the_ink(data):
    rectangles = data.draw(
        st.lists(
            st.tuples(st.integers(0, 59), st.integers(0, 79), st.integers(1, 40), st.integers(1, 9))
        )
    )
    ink = page(*((x, y, x + w, y + h) for x, y, w, h in rectangles), height=80, width=60)
    left, right = sorted(data.draw(st.tuples(st.integers(-9, 70), st.integers(-9, 70))))
    rows = ink_rows(ink, left, right, data.draw(st.floats(0.5, 30)))
    for row in rows:
        assert 0 <= row.top < row.bottom <= 80
        assert max(0, left) <= row.left < row.right <= min(60, right)
    for upper, lower in itertools.pairwise(rows):
        assert upper.bottom <= lower.top
