"""Which row of ink a line of text stands on, by its order, its distance and its width."""

import itertools
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocrcli.ink_rows import InkRow
from ocrcli.line_alignment import WantedLine, aligned

HIGH, PITCH, COLUMN = 10.0, 14, 300
REACH = 20.0


@dataclass
class Column:
    """A column of printed lines, and what a model says of them."""

    widths: list[int]
    top: int = 50

    def __post_init__(self):
        self.rows = [
            InkRow(self.top + PITCH * index, self.top + PITCH * index + 10, 20, 20 + width)
            for index, width in enumerate(self.widths)
        ]

    def said(self, numbers=None, off=0.0, rows=None, stretch=0.0):
        """Return the lines as they are said to stand: those, so far below their ink."""
        places = range(len(self.rows)) if numbers is None else numbers
        return [
            WantedLine(
                self.rows[number].middle + off + stretch * number,
                HIGH,
                self.widths[number],
                COLUMN,
                self.rows if rows is None else rows,
            )
            for number in places
        ]

    def found(self, lines, reach=REACH):
        """Return the numbers of the rows that lines were put on."""
        return [None if row is None else self.rows.index(row) for row in aligned(lines, reach)]


FULL = [300, 296, 298, 120, 299, 300, 180, 297, 295, 90]
"""Widths of paragraphs whose last lines are short."""

ALL = list(range(10))


@pytest.mark.parametrize("off", [-6.5, -4, 0, 4, 6.5])
def test_lines_that_are_little_off_stand_on_the_nearest_rows(off):
    column = Column([300] * 10)
    assert column.found(column.said(off=off)) == ALL


@pytest.mark.parametrize("off", [-PITCH, -10, 10, PITCH])
def test_short_lines_tell_which_rows_lines_a_whole_line_off_stand_on(off):
    column = Column(FULL)
    assert column.found(column.said(off=off)) == ALL


def test_lines_that_are_said_ever_further_down_are_followed():
    column = Column(FULL)
    assert column.found(column.said(off=-5, stretch=2)) == ALL


def test_row_of_a_line_that_was_not_read_is_left_out():
    column = Column(FULL)
    read = [number for number in ALL if number != 6]
    assert column.found(column.said(read)) == read


def test_line_that_was_invented_has_no_row():
    column = Column(FULL)
    lines = column.said()
    # Said half way between two rows, and as wide as no row near it.
    wrong = lines[4]._replace(middle=(lines[4].middle + lines[5].middle) / 2, width=30)
    assert column.found([*lines[:5], wrong, *lines[5:]]) == [*ALL[:5], None, *ALL[5:]]


def test_lines_after_an_invented_one_do_not_all_move_down_for_it():
    # They could, as one more row is printed below them.
    column = Column([300] * 11)
    lines = column.said(ALL)
    wrong = lines[4]._replace(middle=(lines[4].middle + lines[5].middle) / 2)
    assert column.found([*lines[:5], wrong, *lines[5:]]) == [*ALL[:5], None, *ALL[5:]]


def test_no_row_is_left_out_for_a_line_that_is_said_a_little_too_low():
    column = Column([300] * 11)
    lines = column.said(ALL)
    low = lines[9]._replace(middle=lines[9].middle + 0.57 * PITCH)
    assert column.found([*lines[:9], low]) == ALL


def test_ink_that_no_line_was_read_of_is_left_out():
    column = Column(FULL)
    header = InkRow(20, 30, 20, 60)
    lines = column.said(rows=[header, *column.rows])
    assert column.found(lines) == ALL


def test_lines_without_a_row_in_reach_have_none():
    column = Column(FULL)
    assert aligned(column.said(off=400), REACH) == [None] * 10
    only = Column([300])
    assert only.found(only.said(off=REACH + 1)) == [None]
    assert only.found(only.said(off=REACH)) == [0]


def test_lines_without_ink_have_no_row():
    column = Column(FULL)
    assert aligned(column.said(rows=[]), REACH) == [None] * 10


@pytest.mark.parametrize("lost", [3, 4, 7])
def test_line_whose_ink_is_gone_has_no_row_but_those_after_it_have(lost):
    column = Column(FULL)
    rows = [row for row in column.rows if row is not column.rows[lost]]
    found = column.found(column.said(rows=rows))
    assert found == [None if number == lost else number for number in ALL]


def test_first_and_last_line_may_be_without_ink():
    column = Column(FULL)
    found = column.found(column.said(rows=column.rows[1:-1]))
    assert found == [None, *ALL[1:-1], None]


def test_nothing_is_found_for_no_lines():
    assert aligned([], REACH) == []


def test_blocks_one_below_the_other_may_have_rows_of_their_own():
    column = Column(FULL)
    upper, lower = column.rows[:5], column.rows[5:]
    lines = [*column.said(ALL[:5], rows=upper), *column.said(ALL[5:], rows=lower)]
    assert column.found(lines) == ALL


_rows = st.lists(
    st.tuples(st.integers(0, 9), st.integers(1, 15), st.integers(0, 50), st.integers(1, 50)),
    max_size=12,
)


@settings(max_examples=80, deadline=None)
@given(
    _rows,
    st.lists(st.tuples(st.floats(0, 200), st.floats(0.5, 40), st.floats(0, 90)), max_size=8),
    st.floats(0, 60),
)
def test_rows_are_in_reach_in_order_and_used_once(gaps_and_sizes, lines, reach):
    rows, down = [], 0
    for gap, high, left, wide in gaps_and_sizes:
        rows.append(InkRow(down + gap, down + gap + high, left, left + wide))
        down += gap + high
    wanted = [WantedLine(middle, high, width, 50.0, rows) for middle, high, width in sorted(lines)]
    found = aligned(wanted, reach)
    assert len(found) == len(wanted)
    for line, row in zip(wanted, found, strict=True):
        assert row is None or (row in rows and abs(row.middle - line.middle) <= reach)
    placed = [row.middle for row in found if row is not None]
    assert all(upper < lower for upper, lower in itertools.pairwise(placed))
