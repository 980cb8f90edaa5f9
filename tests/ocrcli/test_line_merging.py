"""Two readings of a page become one, line by line, and everything that is said of it fits."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocrcli.blocks import parse_markup, text_spans
from ocrcli.confidence import TokenTrace
from ocrcli.document import PageFacts, PageImage, Source
from ocrcli.engine import FinishReason, PageResult, StageSeconds
from ocrcli.line_merging import MIN_SURER, merged
from ocrcli.line_starts import LineStart
from ocrcli.page_reading import read_pages
from ocrcli.second_reading import SecondReading

HEADER = "<|det|>text [100, 100, 899, 500]<|/det|>"
SURE, UNSURE = 0.99, 0.6
TABLE = "<table><tr><td>{}</td></tr></table>"


def reading(*blocks, header=HEADER, starts=True):
    """Return a result whose blocks are lists of lines, each a text or a text and how sure it is.

    Every character is a token; where a line begins is said to be its number.
    """
    markup, sure, line_starts = "", [], []
    for block in blocks:
        markup += ("\n" if markup else "") + header
        for index, line in enumerate(block):
            text, probability = line if isinstance(line, tuple) else (line, SURE)
            markup += "\n" if index else ""
            if index and starts:
                line_starts.append(LineStart(len(markup), 10 * len(line_starts)))
            sure += [SURE] * (len(markup) - len(sure)) + [probability] * len(text)
            markup += text
    trace = TokenTrace(tuple(range(1, len(markup) + 1)), tuple(sure))
    return PageResult(
        page_number=1,
        token_ids=tuple(range(len(markup))),
        markup=markup,
        finish=FinishReason.EOS,
        error=None,
        prompt_tokens=9,
        output_tokens=len(markup),
        seconds=StageSeconds(),
        rotation=0,
        trace=trace,
        line_starts=tuple(line_starts),
    )


def texts(result):
    return [block.text.split("\n") for block in parse_markup(result.markup, 600, 800).blocks]


def assert_sound(result):
    """Whatever is said of the markup can be said of it."""
    ends, probabilities = result.trace.ends, result.trace.probabilities
    assert len(ends) == len(probabilities)
    assert all(one <= next_ for one, next_ in itertools.pairwise(ends))
    assert not ends or 0 <= ends[0] <= ends[-1] <= len(result.markup)
    offsets = [start.offset for start in result.line_starts]
    assert all(one < next_ for one, next_ in itertools.pairwise(offsets))
    assert all(result.markup[offset - 1] == "\n" for offset in offsets)


class TestLines:
    def test_surer_line_takes_the_place_of_the_other(self):
        kept = reading(["The quick brown fox", ("jnmps ovcr the lazy", UNSURE), "dog."])
        other = reading(["The quick brown fox", "jumps over the lazy", "dog."])
        assert texts(merged(kept, other)) == [
            ["The quick brown fox", "jumps over the lazy", "dog."]
        ]

    def test_less_sure_line_does_not(self):
        kept = reading(["The quick brown fox", "jumps over the lazy", "dog."])
        other = reading(["The quick brown fox", ("jnmps ovcr the lazy", UNSURE), "dog."])
        assert merged(kept, other) == kept

    def test_line_that_is_hardly_surer_does_not(self):
        kept = reading(["same", ("jumps over the lazy", 0.9)])
        hardly = reading(["same", ("jumps ower the lazy", 0.9 + 0.8 * MIN_SURER)])
        clearly = reading(["same", ("jumps ower the lazy", 0.9 + 1.2 * MIN_SURER)])
        assert merged(kept, hardly) == kept
        assert texts(merged(kept, clearly)) == [["same", "jumps ower the lazy"]]

    def test_best_of_both_is_taken_line_by_line(self):
        kept = reading([("Tbe first line", UNSURE), "The second line"], ["The third line"])
        other = reading(["The first line", ("The sccond 1ine", UNSURE)], [("Tke third", UNSURE)])
        assert texts(merged(kept, other)) == [
            ["The first line", "The second line"],
            ["The third line"],
        ]

    def test_line_that_is_not_alike_does_not_take_the_place(self):
        kept = reading(["same", (LOST, UNSURE), "also the same"])
        other = reading(["same", "Quite another sentence", "also the same"])
        assert merged(kept, other) == kept

    def test_lines_that_only_one_has_stay_as_they_were(self):
        kept = reading(["one line", (LOST, UNSURE), "another one", ("tne last of thern", UNSURE)])
        other = reading(["one line", "another one", "the last of them", "an addition"])
        assert texts(merged(kept, other)) == [["one line", LOST, "another one", "the last of them"]]

    def test_line_may_be_taken_from_another_block(self):
        kept = reading(["A heading"], ["one line", ("two 1ines of it", UNSURE)])
        other = reading(["A heading", "one line", "two lines of it"])
        assert texts(merged(kept, other)) == [["A heading"], ["one line", "two lines of it"]]

    def test_empty_lines_stay(self):
        kept = reading(["one line", "", ("two 1ines of it", UNSURE), ""], ["end"])
        other = reading(["one line", "two lines of it"], ["end"])
        expected = kept.markup.replace("1ines", "lines")
        assert merged(kept, other).markup == expected

    def test_boxes_are_those_of_the_first(self):
        kept = reading([("tne text", UNSURE)])
        other = reading(["the text"], header=HEADER.replace("100", "111"))
        assert merged(kept, other).markup == f"{HEADER}the text"

    def test_text_outside_blocks_is_left_alone(self):
        kept, other = reading([("tne text", UNSURE)], header=""), reading(["the text"], header="")
        assert merged(kept, other) == kept

    def test_blocks_that_the_other_cut_in_lines_otherwise_stay(self):
        many = [f"{number} {'abcdefghij'[number % 10] * 9}" for number in range(41)]
        kept = reading([(line, UNSURE) for line in many])
        other = reading([line + "x" for line in many])
        # As many lines as that would take long to compare.
        assert merged(kept, other) == kept


LOST = "What nobody else has read"


class TestTables:
    def test_stay_as_they_are(self):
        kept = reading([(TABLE.format("tne"), UNSURE)], [("tne text", UNSURE)])
        other = reading([TABLE.format("the")], ["the text"])
        assert merged(kept, other).markup == f"{HEADER}{TABLE.format('tne')}\n{HEADER}the text"

    def test_give_no_line_to_a_text(self):
        kept = reading([("<td>one of</td> two", UNSURE)])
        assert merged(kept, reading([TABLE.format("one of")])) == kept


class TestAccount:
    """What is said of the markup."""

    KEPT = [["The first line", ("Tbe 2nd", UNSURE), "The third line"], ["four", "five"]]
    OTHER = [["The first line", ("The second", 0.9), "The third line"], ["four", "five"]]

    def test_trace_has_the_tokens_of_the_line_that_was_taken(self):
        result = merged(reading(*self.KEPT), reading(*self.OTHER))
        assert_sound(result)
        start = result.markup.index("The second")
        assert result.trace.part(start, start + 10).probabilities == (0.9,) * 10
        assert result.trace.ends == tuple(range(1, len(result.markup) + 1))
        assert result.trace.probabilities.count(SURE) == len(result.markup) - 10

    def test_line_starts_move_with_their_lines(self):
        kept = reading(*self.KEPT)
        result = merged(kept, reading(*self.OTHER))
        lines = [result.markup[start.offset :].split("\n")[0] for start in result.line_starts]
        assert lines == ["The second", "The third line", "five"]
        assert [start.down for start in result.line_starts] == [s.down for s in kept.line_starts]

    def test_baselines_of_blocks_are_those_of_the_first(self):
        kept = reading(*self.KEPT)
        result = merged(kept, reading(*self.OTHER, starts=False))
        for one in (kept, result):
            blocks = parse_markup(one.markup, 600, 800, line_starts=one.line_starts).blocks
            assert [block.baselines for block in blocks] == [(0, 10), (20,)]

    def test_everything_else_is_that_of_the_first(self):
        kept, other = reading(*self.KEPT), replace(reading(*self.OTHER), rotation=90)
        result = merged(kept, other)
        markup = {"markup": kept.markup, "trace": kept.trace, "line_starts": kept.line_starts}
        assert replace(result, **markup) == kept
        assert result != kept

    def test_tokens_of_several_letters_stay_whole(self):
        kept, other = (
            replace(
                result, trace=TokenTrace(result.trace.ends[2::3], result.trace.probabilities[2::3])
            )
            for result in (reading(*self.KEPT), reading(*self.OTHER))
        )
        result = merged(kept, other)
        assert_sound(result)
        assert result.markup.count("The second") == 1

    def test_line_without_tokens_gives_way(self):
        kept = replace(reading([("tne text", UNSURE)]), trace=TokenTrace())
        result = merged(kept, reading(["the text"]))
        assert result.markup == f"{HEADER}the text"
        assert_sound(result)

    @pytest.mark.parametrize("markup", ["", "loose", HEADER, f"{HEADER}\n{HEADER}"])
    def test_readings_without_lines_stay(self, markup):
        bare = replace(reading(["x"]), markup=markup, trace=TokenTrace(), line_starts=())
        assert merged(bare, reading(["the text"])) == bare
        assert merged(reading(["the text"]), bare) == reading(["the text"])


_words = st.lists(st.sampled_from(["one", "0ne", "two", "tvvo", "three", ""]), max_size=4)
_line = st.tuples(_words.map(" ".join), st.sampled_from([0.2, 0.6, 0.9, 0.903, 1.0]))
_blocks = st.lists(st.lists(_line, min_size=1, max_size=5), max_size=4)


@settings(max_examples=120, deadline=None)
@given(_blocks, _blocks, st.integers(1, 5))
def test_any_two_readings_give_a_sound_one(blocks, others, step):
    kept, other = (
        replace(
            found, trace=TokenTrace(found.trace.ends[::step], found.trace.probabilities[::step])
        )
        for found in (reading(*blocks), reading(*others))
    )
    result = merged(kept, other)
    assert_sound(result)
    ours, theirs = result.markup.split("\n"), kept.markup.split("\n")
    assert len(ours) == len(theirs)
    known = {line.removeprefix(HEADER) for line in (*theirs, *other.markup.split("\n"))}
    assert {line.removeprefix(HEADER) for line in ours} <= known
    assert [line.startswith(HEADER) for line in ours] == [
        line.startswith(HEADER) for line in theirs
    ]
    assert [start.down for start in result.line_starts] == [s.down for s in kept.line_starts]
    assert merged(kept, kept) == kept
    assert merged(result, kept).markup == result.markup or step > 1


class TestTextSpans:
    def spanned(self, markup):
        return [markup[start:end] for start, end in text_spans(markup)]

    def test_text_of_each_block_without_its_header(self):
        assert self.spanned(f"{HEADER}one\ntwo\n{HEADER}three") == ["one\ntwo\n", "three"]
        assert list(text_spans("<|det|>text [0, 0, 9, 12]<|/det|>see")) == [(33, 36)]

    def test_page_marker_and_loose_text_are_none(self):
        assert self.spanned(f"<PAGE>loose\n{HEADER}one") == ["one"]
        assert self.spanned("loose") == self.spanned("") == []

    def test_tables_are_none(self):
        assert self.spanned(f"{HEADER}{TABLE.format('a')}\n{HEADER}one") == ["one"]

    def test_block_without_a_valid_header_is_none(self):
        assert self.spanned(f"<|det|>text [1, 2]<|/det|>lost\n{HEADER}one") == ["one"]

    def test_block_without_text_is_empty(self):
        assert self.spanned(f"{HEADER}{HEADER}") == ["", ""]


class Pages:
    """One page, that can be drawn again."""

    page_numbers, source = (1,), Source("book", "0" * 64, 1, 1)

    def __iter__(self):
        yield self.page()

    def page(self, tenths=0):
        facts = PageFacts(1, width_pt=600, height_pt=800, dpi=100.0, ink_pixels=5000)
        return PageImage(np.zeros((8, 8), np.uint8), facts, redraw=self.page)

    def smaller(self, number):
        return self.page(1)


class TestReadingTwice:
    """What comes of a page that is read twice."""

    FIRST = [f"Line {number} of the page's text" for number in range(20)]

    def read(self, fakes, first, second, **fields):
        later = {1: replace(second, **fields)}
        recogniser = fakes.ScriptedRecogniser({1: first}, later=later)
        pages = Pages()
        second_reading = SecondReading(pages, recogniser, None, attempts=2)
        (record,) = read_pages(pages, recogniser, None, second_reading)
        assert record.attempts == 2
        return record

    def lines(self, wrong, sure=SURE):
        """Return a reading with those lines misread, and unsure of them."""
        return reading(
            [
                (line.replace("page", "qaqe"), UNSURE) if number in wrong else (line, sure)
                for number, line in enumerate(self.FIRST)
            ]
        )

    @pytest.mark.parametrize(("wrong", "others"), [((3,), (5, 7)), ((3, 9, 11), (5,))])
    def test_both_readings_give_their_best_lines(self, fakes, wrong, others):
        record = self.read(fakes, self.lines(wrong), self.lines(others))
        assert record.text == "\n".join(self.FIRST)
        assert record.confidence.min == SURE

    @pytest.mark.parametrize("finish", ["loop", "length"])
    def test_reading_that_was_not_ended_gives_none(self, fakes, finish):
        first = self.lines((3,))
        record = self.read(fakes, first, self.lines(()), finish=FinishReason(finish))
        assert record.markup == first.markup
