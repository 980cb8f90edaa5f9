"""Parts of results, one behind the other, with the tokens and lines that belong to them."""

from dataclasses import replace

import pytest

from ocrcli.confidence import TokenTrace
from ocrcli.line_starts import LineStart
from ocrcli.splicing import Splice


@pytest.fixture
def result(fakes):
    trace = TokenTrace((0, 2, 3, 5, 6, 6), (0.9, 0.8, 0.7, 0.6, 0.5, 0.4))
    return replace(fakes.result(1, "ab\ncd\n"), trace=trace, line_starts=(LineStart(3, 70),))


def test_whole_result_is_the_same(result):
    splice = Splice()
    splice.take(result, 0, len(result.markup))
    assert splice.result(result) == result


def test_parts_of_a_result_make_the_same_wherever_it_is_cut(result):
    for cut in range(len(result.markup) + 1):
        splice = Splice()
        splice.take(result, 0, cut)
        splice.take(result, cut, len(result.markup))
        assert splice.result(result).line_starts == result.line_starts
        # A token that is cut is where it ends.
        assert splice.result(result).trace == result.trace


def test_tokens_and_lines_move_with_their_text(result, fakes):
    other = fakes.result(1, "xyz", confidence=0.1)
    splice = Splice()
    splice.take(other, 1, 3)
    splice.take(result, 2, 5)
    found = splice.result(result)
    assert found.markup == "yz\ncd"
    assert found.trace == TokenTrace((1, 2, 3, 5), (0.1, 0.1, 0.7, 0.6))
    assert found.line_starts == (LineStart(3, 70),)


def test_nothing_is_taken_of_nothing(result):
    assert Splice().result(result).markup == ""
    assert Splice().result(result).trace == TokenTrace()
