"""Pages are cut between blocks that are read one after the other; halves become one result."""

from dataclasses import replace

import numpy as np
import pymupdf
import pytest

from ocrcli.blocks import parse_markup
from ocrcli.document import Block, BlockType, Page, PageFacts, PageImage, PageStatus
from ocrcli.halves import gaps, one_result
from ocrcli.line_starts import LineStart
from ocrcli.page_reading import read_pages
from ocrcli.pages import open_pages
from ocrcli.second_reading import SecondReading

UNSURE = 0.97


def record(*boxes, rotation=0):
    blocks = tuple(Block(BlockType.TEXT, "text", box) for box in boxes)
    return Page(1, PageStatus.OK, blocks=blocks, rotation=rotation)


def thousandths(found):
    return [(round(upper * 999), round(lower * 999)) for upper, lower in found]


class TestGaps:
    def test_nearest_to_the_middle_comes_first(self):
        boxes = [(100, top, 900, top + 80) for top in range(100, 900, 100)]
        found = thousandths(gaps(record(*boxes)))
        assert found[0] == (480, 500)
        assert sorted(found) == [(380, 400), (480, 500), (580, 600)]

    def test_ends_of_a_page_are_no_halves(self):
        assert gaps(record((100, 100, 900, 200), (100, 220, 900, 900))) == []

    def test_columns_are_not_cut(self):
        left, right = (100, 480), (520, 900)
        blocks = [
            (side[0], top, side[1], top + 180)
            for side in (left, right)
            for top in range(100, 900, 200)
        ]
        assert gaps(record(*blocks)) == []
        # Below what spans them both it may be cut.
        wide = (100, 100, 900, 480)
        assert thousandths(gaps(record(wide, *blocks[2:4], *blocks[6:8]))) == [(480, 500)]

    def test_blocks_that_reach_into_each_other_are_not_cut(self):
        assert gaps(record((100, 100, 900, 510), (100, 500, 900, 900))) == []

    def test_turned_pages_and_blocks_without_a_place_are_left_alone(self):
        boxes = [(100, 100, 900, 480), (100, 500, 900, 900)]
        assert gaps(record(*boxes))
        assert gaps(record(*boxes, rotation=90)) == []
        assert gaps(record(*boxes, None)) == []
        assert gaps(record(boxes[0])) == []
        assert gaps(record()) == []


@pytest.fixture
def letter(tmp_path):
    """Return a function that makes a page of two paragraphs, light on dark if asked for."""

    def make(dark=False, width=595, height=842, words=1):
        path = tmp_path / "letter.pdf"
        with pymupdf.open() as pdf:
            page = pdf.new_page(width=width, height=height)
            if dark:
                page.draw_rect(page.rect, fill=(0, 0, 0))
            for row in range(30):
                down = 60 + (row + 2 * (row >= 15)) * (height - 120) / 33
                color = (1, 1, 1) if dark else (0, 0, 0)
                text = f"Line {row} of some words " * words
                page.insert_text((60, down), text, fontsize=9, color=color)
            pdf.save(path)
        return path

    return make


def drawn(path, places):
    with open_pages(path) as pages:
        (whole,) = pages
        return whole, whole.halves(places)


MIDDLE = [(0.49, 0.53)]


class TestHalfImages:
    @pytest.mark.parametrize("dark", [False, True])
    def test_each_shows_its_half_alone_and_larger(self, letter, dark):
        whole, (upper, lower) = drawn(letter(dark), MIDDLE)
        for half in (upper, lower):
            assert half.facts.dpi > 1.15 * whole.facts.dpi
            assert max(half.pixels.shape) <= 1280
            assert half.pixels.shape[0] % 64 == 0
            assert not half.may_turn
            # As many lines as it should have, dark on light, whole ones only.
            has_ink = (half.pixels < 128).any(1)
            assert np.median(half.pixels) > 200
            assert np.count_nonzero(np.diff(has_ink.astype(int)) == 1) == 15
        assert upper.crop[1] < 0.1
        assert lower.crop[3] > 0.9

    def test_each_can_be_had_smaller_for_want_of_memory(self, letter):
        _, (upper, _) = drawn(letter(), MIDDLE)
        smaller = upper.redraw(3)
        assert smaller.crop == upper.crop
        assert smaller.pixels.shape[0] == int(0.9**3 * upper.pixels.shape[0])
        assert np.array_equal(upper.redraw(0).pixels, upper.pixels)

    def test_first_place_without_ink_is_taken(self, letter):
        through_a_line = [(0.3, 0.3), (0.49, 0.53)]
        _, halves = drawn(letter(), through_a_line)
        assert len(halves) == 2

    def test_there_are_none_where_no_place_is_blank(self, letter):
        path = letter()
        with pymupdf.open(path) as pdf:
            pdf[0].draw_line((80, 50), (120, 800), width=3)
            pdf.save(path.with_name("ruled.pdf"))
        assert drawn(path.with_name("ruled.pdf"), MIDDLE)[1] == []
        assert drawn(path, [])[1] == []

    def test_there_are_none_where_letters_become_hardly_larger(self, letter):
        assert drawn(letter(width=842, height=400, words=7), MIDDLE)[1] == []


def halves_of(fakes, upper, lower):
    return fakes.result(1, upper), fakes.result(1, lower)


class TestOneResult:
    def test_everything_of_the_lower_half_comes_behind(self, fakes):
        upper, lower = halves_of(fakes, fakes.block("one\ntwo"), fakes.block("three\nfour"))
        starts = (LineStart(upper.markup.index("two"), 300),), (LineStart(6, 700),)
        whole = one_result(
            replace(upper, line_starts=starts[0]), replace(lower, line_starts=starts[1])
        )
        assert whole.markup == f"{upper.markup}\n{lower.markup}"
        shift = len(upper.markup) + 1
        assert whole.trace.ends == (*upper.trace.ends, *(end + shift for end in lower.trace.ends))
        assert whole.line_starts == (starts[0][0], LineStart(6 + shift, 700))
        assert whole.output_tokens == upper.output_tokens + lower.output_tokens
        assert whole.seconds.decode == 2.0

    @pytest.mark.parametrize("finish", ["loop", "length", "error", "timeout"])
    def test_a_half_that_was_not_read_to_its_end_spoils_both(self, fakes, finish):
        fine, bad = fakes.result(1, fakes.block("a")), fakes.result(1, "", finish=finish)
        assert one_result(fine, bad) is None
        assert one_result(bad, fine) is None
        assert one_result(fine, fakes.result(1, fakes.block("a"), rotation=180)) is None

    def test_what_stands_at_the_cut_is_no_header_and_no_footer(self, fakes):
        upper = fakes.block("Top", "header") + "\n" + fakes.block("see <|det|>", "footer")
        lower = fakes.block("Not", "header") + "\n" + fakes.block("word") + "\n"
        lower += fakes.block("7", "page_number")
        ends = [upper.index("see <"), len(upper)], [lower.index("word") + 4, len(lower)]
        results = []
        for markup, wanted in zip((upper, lower), ends, strict=True):
            result = fakes.result(1, markup)
            trace = replace(result.trace, ends=tuple(wanted), probabilities=(0.5, 0.6))
            starts = (LineStart(markup.rindex("]"), 5),)
            results.append(replace(result, trace=trace, line_starts=starts))
        whole = one_result(*results)
        kinds = [str(block.type) for block in parse_markup(whole.markup, 600, 800).blocks]
        assert kinds == ["header", "text", "text", "text", "page_number"]
        behind = [whole.markup[end:] for end in whole.trace.ends]
        assert behind[0].startswith("see <")
        assert behind[1].startswith("\n")
        assert behind[2].startswith("\n<|det|>page_number")
        assert behind[3] == ""
        assert all(whole.markup[start.offset] == "]" for start in whole.line_starts)


class Sheets:
    """Pages that can be drawn in halves; notes what was drawn."""

    def __init__(self, count, can_be_cut=True):
        self.count, self.can_be_cut, self.drawn = count, can_be_cut, []

    def __iter__(self):
        return iter([self._page(number, "whole") for number in range(1, self.count + 1)])

    def smaller(self, number):
        return self._page(number, "smaller")

    def _page(self, number, what):
        self.drawn.append((number, what))
        facts = PageFacts(number, width_pt=600, height_pt=800, dpi=100.0, ink_pixels=5000)
        pixels = np.zeros((8, 8), np.uint8)

        def halves(places):
            parts = ("upper", "lower") if places and self.can_be_cut else ()
            return [self._page(number, part) for part in parts]

        def redraw(tenths):
            return self._page(number, "smaller" if tenths == 1 else f"{tenths} tenths smaller")

        return PageImage(pixels, facts, redraw=redraw, halves=halves)


@pytest.fixture
def read(fakes):
    upper, lower = ("0, 100, 999, 480", "0, 500, 999, 900")
    first = fakes.block("First", box=upper) + "\n" + fakes.block("reading", box=lower)

    def read(sheets, *halves, ahead=1, unsure=(2,), attempts=2):
        """Read pages of which some are doubtful; `halves` answer further readings."""

        class Answering(fakes.ScriptedRecogniser):
            def _answer(self, number):
                if number not in self._answered:
                    self._answered.add(number)
                    sure = UNSURE if number in unsure else 0.99
                    return fakes.result(number, first, confidence=sure)
                return replace(answers[number].pop(0), page_number=number)

        answers = {number: list(halves) for number in unsure}
        recogniser = Answering(ahead=ahead)
        second = SecondReading(sheets, recogniser, None, attempts)
        return list(read_pages(sheets, recogniser, None, second))

    return read


class TestReading:
    @pytest.mark.parametrize("ahead", [1, 2, 3, 50])
    def test_doubtful_pages_are_read_in_halves(self, fakes, read, ahead):
        sheets = Sheets(4)
        halves = halves_of(fakes, fakes.block("Upper"), fakes.block("lower"))
        records = read(sheets, *halves, ahead=ahead, unsure=(2, 4))
        assert [page.page_number for page in records] == [1, 2, 3, 4]
        assert [page.attempts for page in records] == [1, 2, 1, 2]
        assert [page.text.split() for page in records[1::2]] == [["Upper", "lower"]] * 2
        assert (2, "smaller") not in sheets.drawn
        assert sheets.drawn.count((2, "upper")) == sheets.drawn.count((2, "lower")) == 1

    @pytest.mark.parametrize("ahead", [1, 3, 50])
    def test_page_whose_half_is_no_good_is_read_smaller(self, fakes, read, ahead):
        sheets = Sheets(3)
        bad = fakes.result(1, fakes.block("x"), finish="length")
        smaller = fakes.result(1, fakes.block("Smaller\nletters"))
        records = read(sheets, halves_of(fakes, "a", "b")[0], bad, smaller, ahead=ahead)
        assert [page.page_number for page in records] == [1, 2, 3]
        assert records[1].text.split() == ["Smaller", "letters"]
        assert sheets.drawn.count((2, "upper")) == sheets.drawn.count((2, "smaller")) == 1

    def test_page_whose_time_is_over_is_not_read_a_third_time(self, fakes, read):
        sheets = Sheets(3)
        late = fakes.result(1, "", finish="timeout", error="late")
        records = read(sheets, fakes.result(1, fakes.block("x")), late)
        assert records[1].text.split() == ["First", "reading"]
        assert (2, "smaller") not in sheets.drawn

    def test_page_that_cannot_be_cut_is_read_smaller(self, fakes, read):
        sheets = Sheets(3, can_be_cut=False)
        records = read(sheets, fakes.result(1, fakes.block("Smaller\nletters")))
        assert records[1].text.split() == ["Smaller", "letters"]

    def test_worse_halves_are_not_kept(self, fakes, read):
        sheets = Sheets(2)
        halves = [fakes.result(1, fakes.block("Worse"), confidence=0.9)] * 2
        records = read(sheets, *halves)
        assert records[1].text.split() == ["First", "reading"]
        assert records[1].attempts == 2


class TestThirdReading:
    @pytest.mark.parametrize("ahead", [1, 2, 3, 50])
    def test_one_that_confirms_another_decides(self, fakes, read, ahead):
        sheets = Sheets(4)
        halves = halves_of(fakes, fakes.block("Upper"), fakes.block("lower"))
        third = fakes.result(1, fakes.block("Upper") + "\n" + fakes.block("lower"))
        records = read(sheets, *halves, third, ahead=ahead, unsure=(2, 4), attempts=3)
        assert [page.page_number for page in records] == [1, 2, 3, 4]
        assert [page.attempts for page in records] == [1, 3, 1, 3]
        assert [page.text.split() for page in records[1::2]] == [["Upper", "lower"]] * 2
        assert all(page.status == "ok" and not page.warnings for page in records)
        drawn = [what for number, what in sheets.drawn if number == 2]
        assert drawn == ["whole", "upper", "lower", "smaller"]

    def test_page_that_cannot_be_cut_is_read_smaller_and_smaller(self, fakes, read):
        sheets = Sheets(2, can_be_cut=False)
        second, third = (fakes.result(1, fakes.block(text)) for text in ("Second", "Third"))
        records = read(sheets, second, third, attempts=3)
        drawn = [what for number, what in sheets.drawn if number == 2]
        assert drawn == ["whole", "smaller", "2 tenths smaller"]
        # All differ, so none is trusted.
        assert (records[1].status, records[1].attempts) == ("suspect", 3)
        assert [notice.code for notice in records[1].warnings] == ["readings_differ"]

    @pytest.mark.parametrize("finish", ["timeout", "error", "length"])
    def test_one_that_fails_leaves_the_better_of_two(self, fakes, read, finish):
        second = fakes.result(1, fakes.block("Second\nreading"))
        third = fakes.result(1, fakes.block("x"), finish=finish, error="late")
        records = read(Sheets(2, can_be_cut=False), second, third, attempts=3)
        assert records[1].text.split() == ["Second", "reading"]
        assert records[1].status == "suspect"
        assert records[1].attempts == 3

    def test_there_is_none_where_two_agree(self, fakes, read):
        sheets = Sheets(2, can_be_cut=False)
        records = read(sheets, fakes.result(1, fakes.block("First\nreading")), attempts=3)
        assert (records[1].status, records[1].attempts) == ("ok", 2)

    def test_there_is_none_where_time_is_over(self, fakes, read):
        late = fakes.result(1, "", finish="timeout", error="late")
        records = read(Sheets(2, can_be_cut=False), late, attempts=3)
        assert records[1].text.split() == ["First", "reading"]
        assert records[1].attempts == 2
