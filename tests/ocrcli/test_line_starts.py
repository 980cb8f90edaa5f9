"""What a model says of where lines begin, on its way from the markup to blocks."""

import pytest

from ocrcli.blocks import parse_markup
from ocrcli.line_starts import LineStart, baselines

HEADER = "<|det|>text [100, 100, 899, 500]<|/det|>"
MARKUP = f"{HEADER}one\ntwo\nthree\n{HEADER}four"
STARTS = (LineStart(len(HEADER) + 4, 200), LineStart(len(HEADER) + 8, 300))


def parsed(markup=MARKUP, starts=STARTS):
    return [b.baselines for b in parse_markup(markup, 600, 800, line_starts=starts).blocks]


def test_blocks_know_where_their_lines_begin():
    assert parsed() == [(200, 300), None]


def test_nothing_is_known_of_a_block_with_a_line_of_unknown_place():
    assert parsed(starts=STARTS[:1]) == [None, None]
    assert parsed(starts=()) == [None, None]


def test_lines_that_are_not_below_each_other_have_no_place():
    assert parsed(starts=(STARTS[0], STARTS[1]._replace(down=200))) == [None, None]


def test_nothing_is_known_of_a_block_that_lost_a_line():
    markup = f"{HEADER}\none\ntwo"
    starts = (LineStart(len(HEADER) + 1, 200), LineStart(len(HEADER) + 5, 300))
    assert parsed(markup, starts) == [None]


def test_rows_of_a_table_are_no_lines():
    markup = f"{HEADER}<table><tr><td>a</td></tr><tr><td>b</td></tr></table>"
    assert parsed(markup, (LineStart(len(HEADER) + 11, 200),)) == [None]


@pytest.mark.parametrize("text", ["", "one line"])
def test_one_line_says_nothing(text):
    assert baselines(text, 0, STARTS) is None
