"""How sure the model was of a reading, and which pages that has read again."""

from dataclasses import replace

import numpy as np
import pytest

from ocrcli.confidence import TokenTrace
from ocrcli.document import PageFacts, PageImage, PageStatus
from ocrcli.markup_lines import lines_of
from ocrcli.page_reading import read_pages
from ocrcli.second_reading import MIN_LEGIBLE, MIN_SURE_LINE, SecondReading
from ocrcli.sureness import least_sure_line, line_sureness, text_sureness

LONG = "It was the best of times and nobody knew it"


@pytest.fixture
def written(fakes):
    """Returns a result of one block whose lines come with their confidence."""

    def make(*lines, header=0.99):
        markup, sure = fakes.block(""), []
        sure += [header] * len(markup)
        for index, (text, probability) in enumerate(lines):
            text = ("\n" if index else "") + text
            markup += text
            sure += [probability] * len(text)
        trace = TokenTrace(tuple(range(1, len(markup) + 1)), tuple(sure))
        return replace(fakes.result(1, markup), trace=trace)

    return make


class TestSureness:
    def test_of_a_line_is_the_mean_of_its_tokens(self, written):
        result = written((LONG, 0.75), (LONG, 0.5))
        first, second = lines_of(result.markup)
        assert line_sureness(result, first) == 0.75
        assert line_sureness(result, second) == 0.5

    def test_of_a_line_without_tokens_is_none(self, written):
        result = replace(written((LONG, 0.75)), trace=TokenTrace())
        assert line_sureness(result, lines_of(result.markup)[0]) == 0

    def test_of_a_text_leaves_out_headers(self, written):
        assert text_sureness(written((LONG, 0.75), header=0.25)) == 0.75

    @pytest.mark.parametrize("markup", ["", "<|det|>figure [1, 1, 2, 2]<|/det|>"])
    def test_of_no_text_is_unknown(self, fakes, markup):
        assert text_sureness(fakes.result(1, markup)) is None

    def test_least_sure_line_is_a_long_one(self, written):
        assert least_sure_line(written((LONG, 0.75), (LONG, 0.5), ("short", 0.25))) == 0.5
        assert least_sure_line(written(("short", 0.25))) == 1


class Pages:
    """One page, that can be drawn again."""

    def __iter__(self):
        yield self.page()

    def page(self, tenths=0):
        facts = PageFacts(1, dpi=100.0, ink_pixels=50_000)
        return PageImage(np.zeros((8, 8), np.uint8), facts, redraw=self.page)

    def smaller(self, number):
        return self.page(1)


class TestReadAgain:
    @pytest.fixture
    def read(self, fakes):
        def read(first):
            sure = fakes.result(1, fakes.block("Again"))
            recogniser = fakes.ScriptedRecogniser({1: first}, later={1: sure}, retries={1: sure})
            pages = Pages()
            (record,) = read_pages(pages, recogniser, None, SecondReading(pages, recogniser, None))
            return record

        return read

    @pytest.mark.parametrize("distance", [-0.01, 0.01])
    def test_page_with_an_unsure_line_is(self, written, read, distance):
        lines = [(f"{LONG} {number}", 1.0) for number in range(40)]
        record = read(written(*lines, (LONG, MIN_SURE_LINE + distance)))
        assert (record.attempts > 1) == (distance < 0)

    @pytest.mark.parametrize("finish", ["eos", "loop", "length"])
    @pytest.mark.parametrize("distance", [-0.01, 0.01])
    def test_page_that_cannot_be_read_is_not(self, written, read, finish, distance):
        first = replace(written((LONG, MIN_LEGIBLE + distance)), finish=finish)
        record = read(first)
        assert (record.attempts > 1) == (distance > 0)
        if distance < 0:
            assert record.status is not PageStatus.OK
