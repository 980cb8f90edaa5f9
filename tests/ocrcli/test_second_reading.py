"""Which pages are read again for what the model wrote, and how sure it was of that."""

from dataclasses import replace

import numpy as np
import pytest

from ocrcli.document import PageFacts, PageImage, PageStatus
from ocrcli.page_reading import read_pages
from ocrcli.second_reading import MAX_LONE_LINES, MIN_LEGIBLE, MIN_SURE_LINE, SecondReading

LONG = "It was the best of times and nobody knew it"


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
        def read(first, again=None):
            again = again or fakes.result(1, fakes.block("Again"))
            recogniser = fakes.ScriptedRecogniser({1: first}, later={1: again}, retries={1: again})
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

    @pytest.mark.parametrize("lost", [0, MAX_LONE_LINES, MAX_LONE_LINES + 1])
    def test_page_of_which_two_readings_hold_different_lines_is_a_third_time(
        self, written, read, lost
    ):
        lines = [(f"{number} {LONG}"[:40], 0.98) for number in range(100)]
        record = read(written(*lines), written(*lines[lost:]))
        assert record.attempts == 2 + (lost > MAX_LONE_LINES)
