"""Three readings of a page become one, by votes on its lines."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocrcli.blocks import parse_markup
from ocrcli.confidence import TokenTrace
from ocrcli.line_merging import MIN_SURER
from ocrcli.line_starts import LineStart
from ocrcli.line_voting import Vote

SURE, UNSURE = 0.99, 0.6
PAGE = [
    "It was the best of times and nobody knew",
    "how long the summer would go on like this,",
    "for the river ran low between its stones",
    "and every evening brought the same wind.",
    "Then came a letter with a foreign stamp.",
]


@pytest.fixture(scope="session")
def reading(fakes):
    """Returns a result whose blocks are lists of lines: a text, or a text and how sure it is."""

    def make(*blocks, **fields):
        markup, sure, starts = "", [], []
        for block in blocks:
            markup += ("\n" if markup else "") + fakes.block("", box="100, 100, 899, 500")
            for index, line in enumerate(block):
                text, probability = line if isinstance(line, tuple) else (line, SURE)
                markup += "\n" if index else ""
                if index:
                    starts.append(LineStart(len(markup), 10 * len(starts)))
                sure += [SURE] * (len(markup) - len(sure)) + [probability] * len(text)
                markup += text
        trace = TokenTrace(tuple(range(1, len(markup) + 1)), tuple(sure))
        made = fakes.result(1, markup)
        return replace(made, trace=trace, line_starts=tuple(starts), **fields)

    return make


def texts(result):
    return [block.text.split("\n") for block in parse_markup(result.markup, 600, 800).blocks]


def changed(line, text, sure=SURE):
    """Return the lines of the page with another in the place of one; None for nothing."""
    found = list(PAGE)
    found[line : line + 1] = [] if text is None else [(text, sure)]
    return found


def in_any_order(*readings):
    """Return what comes of three readings, whichever comes first."""
    found = {Vote(order).result().markup for order in itertools.permutations(readings)}
    assert len(found) == 1
    return Vote(readings).result()


class TestLines:
    @pytest.mark.parametrize("line", range(5))
    def test_line_that_one_reading_lost_stays(self, reading, line):
        result = in_any_order(reading(PAGE), reading(PAGE), reading(changed(line, None)))
        assert texts(result) == [PAGE]

    def test_lines_that_different_readings_lost_are_all_there(self, reading):
        readings = [reading(changed(line, None)) for line in (0, 2, 4)]
        assert texts(in_any_order(*readings)) == [PAGE]

    @pytest.mark.parametrize("line", range(5))
    def test_line_that_only_the_surest_has_goes(self, reading, line):
        # As sure as can be, so that it is the base.
        invented = [*PAGE[:line], ("Nobody else has ever seen this", 1.0), *PAGE[line:]]
        invented = [(text, 1.0) if isinstance(text, str) else text for text in invented]
        unsure = [(text, 0.7) for text in PAGE]
        vote = Vote([reading(unsure), reading(unsure), reading(invented)])
        assert vote.base == 2
        assert texts(vote.result()) == [PAGE]

    def test_line_read_twice_by_one_stands_there_once(self, reading):
        twice = [*PAGE[:3], PAGE[1], PAGE[2], *PAGE[3:]]
        assert texts(in_any_order(reading(PAGE), reading(PAGE), reading(twice))) == [PAGE]

    def test_two_that_agree_outvote_a_surer_one(self, reading):
        wrong = changed(2, "for the river ran slow between its stones", 1.0)
        right = changed(2, PAGE[2], UNSURE)
        vote = Vote([reading(wrong), reading(right), reading(right)])
        assert texts(vote.result()) == [PAGE]

    def test_where_all_differ_a_clearly_surer_line_is_taken(self, reading):
        readings = [
            reading(changed(2, PAGE[2].replace("river", word), sure))
            for word, sure in (("rivcr", 0.9), ("rlver", 0.9 + 0.8 * MIN_SURER), ("river", 0.95))
        ]
        assert texts(in_any_order(*readings)) == [PAGE]

    def test_surer_line_that_is_a_part_of_ours_is_not(self, reading):
        def others(text, sure):
            return reading([(line, 0.8) for line in PAGE[:1]] + [(text, sure)] + PAGE[3:])

        joined = reading([*PAGE[:1], (PAGE[1] + PAGE[2], 0.97), *PAGE[3:]])
        vote = Vote([joined, others(PAGE[2], 1.0), others(PAGE[2].replace("river", "rlver"), 0.9)])
        assert vote.base == 0
        assert vote.result() == joined

    @pytest.mark.parametrize("count", [1, 2])
    def test_line_that_others_join_with_its_neighbour_is_neither_lost_nor_doubled(
        self, reading, count
    ):
        joined = [*PAGE[:1], PAGE[1] + PAGE[2], *PAGE[3:]]
        readings = [reading(joined)] * count + [reading(PAGE)] * (3 - count)
        text = "".join(texts(in_any_order(*readings))[0])
        assert [text.count(line) for line in PAGE] == [1] * 5

    def test_blanks_do_not_tell_lines_apart(self, reading):
        spaced = changed(2, PAGE[2].replace(" ", "  "), UNSURE)
        vote = Vote([reading(PAGE), reading(spaced), reading(spaced)])
        assert texts(vote.result()) == [PAGE]


class TestBlocks:
    def test_lost_line_goes_to_the_block_it_was_in(self, reading):
        whole = reading(PAGE[:3], PAGE[3:])
        for line in range(5):
            upper = [text for text in PAGE[:3] if text != PAGE[line]]
            lower = [text for text in PAGE[3:] if text != PAGE[line]]
            result = in_any_order(whole, whole, reading(upper, lower))
            assert texts(result) == [PAGE[:3], PAGE[3:]]

    def test_block_that_holds_nothing_but_an_invented_line_stays(self, reading):
        odd = reading(PAGE[:3], [("Nobody has seen this line at all", 1.0)], PAGE[3:])
        others = [reading([(text, 0.5) for text in PAGE[:3]], [(text, 0.4) for text in PAGE[3:]])]
        vote = Vote([odd, *others * 2])
        assert vote.base == 0
        assert vote.result() == odd

    def test_tables_are_those_of_the_base(self, reading):
        rows = ["<table><tr><td>1</td></tr></table>", "<table><tr><td>7</td></tr></table>"]
        others = reading([(text, 0.7) for text in PAGE], [(rows[1], 0.7)])
        vote = Vote([reading(PAGE, [rows[0]]), others, others])
        assert vote.base == 0
        assert rows[0] in vote.result().markup


class TestBase:
    def test_is_the_one_that_the_others_bear_out(self, reading):
        odd = [("Some quite different text of a page", 1.0), *PAGE[2:]]
        assert Vote([reading(odd), reading(PAGE), reading(PAGE)]).base in (1, 2)
        assert Vote([reading(PAGE), reading(odd), reading(odd[:1])]).base != 2

    def test_rows_of_tables_bear_one_out(self, reading):
        tables = [f"<table><tr><td>{text}</td></tr></table>" for text in ("1 2", "12", "7")]
        readings = [reading(PAGE, [table]) for table in tables]
        assert Vote(readings).base != 2
        assert Vote(readings[::-1]).base != 0

    def test_is_the_surest_where_all_have_the_same_lines(self, reading):
        readings = [reading([(text, sure) for text in PAGE]) for sure in (0.9, 0.99, 0.95)]
        assert Vote(readings).base == 1

    def test_all_that_is_no_text_is_that_of_the_base(self, reading):
        readings = [reading(changed(line, None), prompt_tokens=line) for line in (0, 2, 4)]
        vote = Vote(readings)
        result = vote.result()
        base = readings[vote.base]
        markup = {"markup": base.markup, "trace": base.trace, "line_starts": base.line_starts}
        assert replace(result, **markup) == base

    @pytest.mark.parametrize("count", [0, 1, 2, 4])
    def test_three_are_needed(self, reading, count):
        with pytest.raises(ValueError, match=f"three readings can be voted on, got {count}"):
            Vote([reading(PAGE)] * count)


_words = st.lists(st.sampled_from(["one", "0ne", "two", "twenty-three", ""]), max_size=5)
_line = st.tuples(_words.map(" ".join), st.sampled_from([0.2, 0.9, 0.903, 1.0]))
_blocks = st.lists(st.lists(_line, min_size=1, max_size=5), max_size=4)


@settings(max_examples=150, deadline=None)
@given(st.tuples(_blocks, _blocks, _blocks), st.integers(1, 5))
def test_any_three_readings_give_a_sound_one(reading, blocks, step):
    readings = [
        replace(made, trace=TokenTrace(made.trace.ends[::step], made.trace.probabilities[::step]))
        for made in (reading(*found) for found in blocks)
    ]
    result = Vote(readings).result()
    ends = result.trace.ends
    assert all(one <= next_ for one, next_ in itertools.pairwise(ends))
    assert not ends or 0 <= ends[0] <= ends[-1] <= len(result.markup)
    offsets = [start.offset for start in result.line_starts]
    assert all(one < next_ for one, next_ in itertools.pairwise(offsets))
    assert all(result.markup[offset - 1] == "\n" for offset in offsets)
    known = {line for made in readings for block in texts(made) for line in block}
    assert {line for block in texts(result) for line in block} <= known | {""}
    same = Vote([readings[0]] * 3).result()
    assert same.markup == readings[0].markup
