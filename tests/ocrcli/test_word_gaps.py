"""Where words begin and end in a line, by the widths of its gaps."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocrcli.word_gaps import word_spans

HIGH = 10


def strip(*runs):
    """Return columns of a line: lengths of ink and gap by turns, ink first."""
    return np.concatenate([np.full(run, not index % 2) for index, run in enumerate(runs)])


def letters(text, letter=5, gap=1, space=4):
    """Return columns of a line of type, and where its words are."""
    columns, spans = [], []
    for word in text.split():
        columns += [False] * (space if spans else 0)
        start = len(columns)
        for index, _ in enumerate(word):
            columns += [False] * (gap if index else 0) + [True] * letter
        spans.append((start, len(columns)))
    return np.array(columns), spans


@pytest.mark.parametrize(
    "text",
    ["word", "two words", "a bc def ghij klmno", "a a a a a", "a rather long line of many words"],
)
def test_words_lie_between_wide_gaps(text):
    columns, spans = letters(text)
    assert word_spans(columns, text.split(), HIGH) == spans


@pytest.mark.parametrize("text", ["will fill it mmm www", "mmmm iiii", "iiii mmmm"])
def test_widths_of_letters_do_not_matter_where_gaps_are_clear(text):
    columns, spans = letters(text)
    assert word_spans(columns, text.split(), HIGH) == spans


def test_wide_gap_is_taken_though_it_is_not_where_it_is_expected():
    # By its letters the first word would be the longer one.
    assert word_spans(strip(4, 1, 4, 5, 6, 1, 9, 1, 9), ["mmmm", "ii"], HIGH) == [(0, 9), (14, 40)]


def test_one_of_many_gaps_as_wide_is_the_one_where_it_is_expected():
    # Letters that are spaced as words are.
    columns = strip(*[4, 4] * 9, 4)
    assert word_spans(columns, ["abcde", "uvxyz"], HIGH) == [(0, 36), (40, 76)]
    assert word_spans(columns, ["ab", "cdeuvxyz"], HIGH) == [(0, 12), (16, 76)]


def test_wide_letters_are_expected_to_take_more_room():
    columns = strip(9, 4, 9, 4, 9, 4, 4, 4, 4, 4, 4)
    assert word_spans(columns, ["mmm", "abc"], HIGH) == [(0, 35), (39, 59)]


def test_gap_wider_than_a_blank_is_no_better_than_one():
    columns = strip(4, 1, 4, 1, 4, 4, 4, 1, 4, 14, 4)
    assert word_spans(columns, ["abc", "uvxy"], HIGH) == [(0, 14), (18, 45)]


def test_columns_set_apart_by_a_tab_keep_their_words():
    columns, _ = letters("ab cd ef", space=4)
    wide = np.concatenate([columns, np.zeros(60, bool), letters("gh ij")[0]])
    found = word_spans(wide, ["ab", "cd", "ef", "gh", "ij"], HIGH)
    assert found == [(0, 11), (15, 26), (30, 41), (101, 112), (116, 127)]


def test_one_word_is_the_whole_line():
    assert word_spans(strip(5, 9, 5), ["gap"], HIGH) == [(0, 19)]


def test_gap_that_cannot_be_seen_lies_where_the_letters_say():
    assert word_spans(strip(30), ["abc", "uvx"], HIGH) == [(0, 15), (15, 30)]
    # Beside a gap that can be seen only what is left is shared out.
    assert word_spans(strip(20, 3, 40), ["ab", "abc", "uvx"], HIGH) == [(0, 20), (23, 43), (43, 63)]


@pytest.mark.parametrize("columns", [np.zeros(9, bool), strip(2)])
def test_nothing_is_told_where_there_is_no_room_for_all_words(columns):
    assert word_spans(columns, ["one", "two", "three"], HIGH) is None


def test_words_in_cells_lie_between_the_widest_gaps_wherever_those_are():
    columns = strip(4, 1, 4, 2, 4, 40, 4, 1, 4, 90, 4)
    found = word_spans(columns, ["ab", "c", "de", "f"], HIGH, in_cells=True)
    assert found == [(0, 9), (11, 15), (55, 64), (154, 158)]
    assert word_spans(strip(30), ["ab", "c"], HIGH, in_cells=True) is None


def test_there_are_just_as_many_runs_as_words():
    assert word_spans(strip(9, 1, 9, 1, 9), ["a", "b", "c"], HIGH) == [(0, 9), (10, 19), (20, 29)]


@pytest.mark.parametrize("height", [0, -3])
def test_nothing_is_told_of_a_line_without_height(height):
    assert word_spans(strip(9, 4, 9), ["a", "b"], height) is None


def test_line_of_many_words_takes_little_time():
    text = " ".join(["abcd"] * 400)
    columns, spans = letters(text)
    assert word_spans(columns, text.split(), HIGH) == spans


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=41).filter(lambda runs: len(runs) % 2),
    st.lists(st.text("abimW.,é漢", min_size=1, max_size=9), min_size=1, max_size=12),
    st.floats(0.5, 40),
    st.booleans(),
)
def test_words_lie_side_by_side_from_first_to_last_ink(runs, words, height, in_cells):
    columns = strip(*runs)
    found = word_spans(columns, words, height, in_cells=in_cells)
    if found is None:
        assert len(words) > (len(runs) + 1) // 2
        return
    assert len(found) == len(words)
    assert (found[0][0], found[-1][1]) == (0, len(columns))
    assert all(start < end for start, end in found)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(found))
