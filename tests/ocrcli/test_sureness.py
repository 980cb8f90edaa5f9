"""How sure the model was of a reading."""

from dataclasses import replace

import pytest

from ocrcli.confidence import TokenTrace
from ocrcli.markup_lines import lines_of
from ocrcli.sureness import least_sure_line, line_sureness, text_sureness

LONG = "It was the best of times and nobody knew it"


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
