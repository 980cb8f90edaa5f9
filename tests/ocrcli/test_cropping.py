"""Margins are left out where letters gain from it, and boxes find their way back to the page."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocrcli.blocks import boxes_in, parse_markup
from ocrcli.confidence import TokenTrace
from ocrcli.cropping import cropping, on_whole_page
from ocrcli.ink import CELL, InkMap
from ocrcli.line_starts import LineStart
from ocrcli.raster import PageSize
from ocrcli.rotation import upright_size

SIZE = PageSize()
DPI = 110.0
MARGIN = 2 * CELL
WHOLE = (0.0, 0.0, 1.0, 1.0)


def ink(height, width, area=None, pixels=50):
    """Return the ink of a page with so many pixels in the first and last cell of an area."""
    counts = np.zeros((-(-height // CELL), -(-width // CELL)), np.int32)
    if area is not None:
        left, top, right, bottom = area
        counts[top // CELL, left // CELL] = pixels
        counts[(bottom - 1) // CELL, (right - 1) // CELL] = pixels
    return InkMap(counts, counts, height, width, np.zeros((height // 2, width // 2), bool))


def in_pixels(plan, page):
    left, top, right, bottom = plan.box
    return left * page.width, top * page.height, right * page.width, bottom * page.height


class TestCropping:
    def test_page_without_ink_is_read_whole(self):
        assert cropping(ink(1280, 960), DPI, SIZE) is None

    def test_specks_are_no_ink(self):
        assert cropping(ink(1280, 960, (320, 320, 640, 640), pixels=8), DPI, SIZE) is None

    def test_specks_in_the_margin_are_left_out(self):
        page = ink(1280, 960, (320, 320, 640, 640))
        page.counts[-1, -1] = page.counts[0, 0] = 8
        assert in_pixels(cropping(page, DPI, SIZE), page)[::2] == (320 - MARGIN, 640 + MARGIN)

    def test_page_with_ink_to_its_edges_is_read_whole(self):
        assert cropping(ink(1280, 960, (0, 0, 960, 1280)), DPI, SIZE) is None

    @pytest.mark.parametrize(("height", "is_cropped"), [(1136, False), (1072, True)])
    def test_gain_of_less_than_eight_percent_is_not_worth_it(self, height, is_cropped):
        page = ink(1280, 960, (320, 64, 640, 64 + height))
        assert (cropping(page, DPI, SIZE) is not None) == is_cropped

    def test_large_models_see_whole_pages(self):
        page = ink(1280, 960, (320, 320, 640, 640))
        assert cropping(page, DPI, PageSize.full_color()) is None

    def test_page_of_unknown_resolution_is_read_whole(self):
        assert cropping(ink(1280, 960, (320, 320, 640, 640)), 0.0, SIZE) is None

    @pytest.mark.parametrize(
        "area",
        [
            (320, 320, 640, 640),
            (320, 0, 640, 16),
            (320, 1264, 640, 1280),
            (0, 640, 640, 656),
            (944, 640, 960, 656),
            (112, 0, 640, 1088),
            (112, 192, 640, 1280),
            (480, 80, 496, 1120),
            (0, 624, 960, 640),
        ],
        ids=["middle", "top", "bottom", "left", "right", "tall at the top", "tall at the bottom"]
        + ["a line down", "a line across"],
    )
    def test_ink_is_kept_with_a_margin_in_whole_steps_of_rows(self, area):
        page = ink(1280, 960, area)
        plan = cropping(page, DPI, SIZE)
        left, top, right, bottom = in_pixels(plan, page)
        assert left == pytest.approx(max(0, area[0] - MARGIN))
        assert right == pytest.approx(min(960, area[2] + MARGIN))
        assert 0 <= top <= max(0, area[1] - MARGIN)
        assert min(1280, area[3] + MARGIN) <= bottom <= 1280
        # No more than a step is added.
        needed = (min(1280, area[3] + MARGIN) - max(0, area[1] - MARGIN)) * plan.dpi / DPI
        assert plan.rows % 64 == 0
        assert 0 <= plan.rows - needed < 64

    def test_rows_are_added_above_and_below(self):
        page = ink(1280, 960, (320, 640, 640, 656))
        _, top, _, bottom = in_pixels(cropping(page, DPI, SIZE), page)
        assert (top + bottom) / 2 == pytest.approx(648)

    def test_page_too_short_for_another_step_is_drawn_a_little_smaller(self):
        page = ink(900, 1280, (320, 0, 640, 900))
        plan = cropping(page, DPI, SIZE)
        assert (plan.rows, plan.box[1], plan.box[3]) == (1216, 0, 1)
        assert plan.dpi == pytest.approx(DPI * 1216 / 900)

    @pytest.mark.parametrize(
        ("sharpest", "expected"), [(math.inf, 150.0), (149.0, 149.0), (130.0, 130.0)]
    )
    def test_resolution_is_that_of_the_file_and_150_at_most(self, sharpest, expected):
        plan = cropping(ink(1280, 960, (320, 320, 640, 640)), DPI, SIZE, sharpest)
        assert plan.dpi == pytest.approx(expected)

    def test_blurred_file_is_read_whole(self):
        assert cropping(ink(1280, 960, (320, 320, 640, 640)), DPI, SIZE, 115.0) is None

    def test_every_size_has_a_limit_of_its_own(self):
        size = SIZE
        for tenths in range(4):
            page = ink(size.long_side, 800, (320, 320, 640, 640))
            plan = cropping(page, DPI * 0.9**tenths, size)
            assert plan.dpi == pytest.approx(150 * 0.9**tenths)
            size = size.smaller()

    def test_long_side_is_not_exceeded_where_it_is_no_whole_number_of_steps(self):
        size = SIZE.smaller().smaller()
        plan = cropping(ink(1036, 312, (0, 240, 160, 1008)), 72.0, size)
        assert plan is None or plan.rows <= size.long_side

    def test_rounding_adds_no_step(self):
        plan = cropping(ink(647, 160, (80, 64, 96, 647)), 72.0, SIZE)
        assert plan is None or plan.rows <= SIZE.long_side

    @given(st.data())
    def test_any_page(self, data):
        size = SIZE
        for _ in range(data.draw(st.integers(0, 3), "tenths")):
            size = size.smaller()
        sides = st.integers(64, size.long_side)
        height, width = data.draw(sides, "height"), data.draw(sides, "width")
        left, right = sorted(data.draw(st.tuples(*[st.integers(0, width - 1)] * 2), "columns"))
        top, bottom = sorted(data.draw(st.tuples(*[st.integers(0, height - 1)] * 2), "rows"))
        dpi = data.draw(st.floats(50, 200), "dpi")
        sharpest = data.draw(st.just(math.inf) | st.floats(50, 300), "sharpest")
        page = ink(height, width, (left, top, right + 1, bottom + 1))
        plan = cropping(page, dpi, size, sharpest)
        if plan is None:
            return
        kept = [round(side, 6) for side in in_pixels(plan, page)]
        assert 0 <= kept[0] <= max(0, left - MARGIN)
        assert 0 <= kept[1] <= max(0, top - MARGIN)
        assert min(width, right + 1 + MARGIN) <= kept[2] <= width
        assert min(height, bottom + 1 + MARGIN) <= kept[3] <= height
        assert 1.08 * dpi <= plan.dpi * (1 + 1e-9)
        assert plan.dpi <= min(size.crop_dpi, sharpest) * (1 + 1e-9)
        assert plan.columns == pytest.approx((kept[2] - kept[0]) * plan.dpi / dpi, abs=0.51)
        assert plan.rows == pytest.approx((kept[3] - kept[1]) * plan.dpi / dpi, abs=0.01)
        assert plan.rows % 64 == 0
        assert max(plan.rows, plan.columns) <= size.long_side


def header(box):
    return f"<|det|>text [{', '.join(map(str, box))}]<|/det|>"


@pytest.fixture
def mapped(fakes):
    """Return markup as it is on the whole page, of which a crop was read."""

    def on_page(markup, crop, rotation=0):
        return on_whole_page(fakes.result(1, markup, rotation=rotation), crop).markup

    return on_page


class TestBoxes:
    CROP = (0.1, 0.2, 0.6, 0.45)

    @pytest.mark.parametrize("crop", [None, WHOLE])
    def test_whole_pages_are_left_as_they_are(self, fakes, crop):
        result = fakes.result(1, header((1, 2, 3, 4)) + "Text")
        assert on_whole_page(result, crop) is result

    def test_coordinates_of_a_padded_picture_reach_beyond_it(self, fakes):
        result = fakes.result(1, header((500, 250, 999, 800)) + "Text", rotation=90)
        result = replace(result, extent=(1.1, 1.25))
        whole = on_whole_page(result, None)
        assert whole.markup.startswith(header((550, 312, 999, 999)))
        assert whole.extent == (1.0, 1.0)
        # The upper left quarter of the page is the upper right one of the turned page.
        part = on_whole_page(result, (0.0, 0.0, 0.5, 0.5))
        assert part.markup.startswith(header((774, 156, 999, 500)))

    def test_only_markup_and_trace_change(self, fakes):
        result = fakes.result(1, header((1, 2, 3, 4)) + "Text", "loop", rotation=90)
        moved = on_whole_page(result, self.CROP)
        assert moved.markup != result.markup
        assert replace(moved, markup=result.markup, trace=result.trace) == result

    def test_result_without_markup_stays_empty(self, fakes):
        result = fakes.result(1, finish="error", error="lost")
        assert on_whole_page(result, self.CROP) == result

    def test_boxes_lie_on_the_whole_page(self, mapped):
        markup = f"{header((0, 0, 999, 999))}One\n{header((500, 0, 999, 400))}Two"
        expected = f"{header((100, 200, 599, 450))}One\n{header((350, 200, 599, 300))}Two"
        assert mapped(markup, self.CROP) == expected

    @pytest.mark.parametrize("rotation", [0, 90, 180, 270])
    def test_lines_begin_where_their_box_does(self, fakes, rotation):
        first, second = f"{header((0, 100, 999, 999))}a\n", f"b\n{header((0, 700, 9, 999))}c\n"
        result = fakes.result(1, f"{first}{second}d", rotation=rotation)
        starts = (LineStart(len(first), 100), LineStart(len(first + second), 700))
        moved = on_whole_page(replace(result, line_starts=starts), self.CROP)
        tops = [numbers[1] for _, _, numbers in boxes_in(moved.markup)]
        assert [start.down for start in moved.line_starts] == tops
        assert [moved.markup[start.offset] for start in moved.line_starts] == ["b", "d"]

    @pytest.mark.parametrize("rotation", [0, 90, 180, 270])
    @pytest.mark.parametrize("box", [(0, 0, 999, 999), (100, 50, 300, 900), (700, 800, 950, 850)])
    def test_box_covers_the_same_pixels_of_a_turned_page(self, mapped, rotation, box):
        width, height = 1400, 2000
        left, top, right, bottom = (
            round(share * side) for share, side in zip(self.CROP, (width, height) * 2, strict=True)
        )
        # What the model saw: the crop, turned clockwise.
        across, down = upright_size(right - left, bottom - top, rotation)
        seen = np.zeros((down, across), np.uint8)
        columns, rows = (
            (np.array(box).reshape(2, 2).T / 999 * [[across], [down]]).round().astype(int)
        )
        seen[slice(*rows), slice(*columns)] = 1
        page = np.zeros((height, width), np.uint8)
        page[top:bottom, left:right] = np.rot90(seen, rotation // 90)
        upright = np.rot90(page, -rotation // 90)
        ((x1, y1, x2, y2),) = (
            numbers for _, _, numbers in boxes_in(mapped(header(box), self.CROP, rotation))
        )
        rows, columns = np.flatnonzero(upright.any(1)), np.flatnonzero(upright.any(0))
        expected = (columns[0], rows[0], columns[-1] + 1, rows[-1] + 1)
        found = np.array((x1, y1, x2, y2)) / 999 * (upright.shape[::-1] * 2)
        assert np.abs(found - expected).max() <= 2

    @pytest.mark.parametrize(
        "text",
        [
            "see [1, 2, 3, 4]",
            "text [1, 2, 3, 4]<|/det|> again",
            "<|/det|>text [1, 2, 3, 4]<|/det|>",
            "line\n[1, 2, 3, 4]",
        ],
    )
    def test_text_that_looks_like_a_box_is_left_alone(self, mapped, text):
        moved = mapped(header((0, 0, 999, 999)) + text, self.CROP)
        assert moved == header((100, 200, 599, 450)) + text

    @pytest.mark.parametrize(
        "markup",
        [
            "text [1, 2, 3, 4]<|/det|>before any block",
            "<|det|>text [1, 2, 3]<|/det|>three numbers",
            "<|det|>text [1, 2, 3, 4.5]<|/det|>no whole numbers",
            "<|det|>text<|/det|>[1, 2, 3, 4]",
            "<|det|>text [1, 2,",
            "",
        ],
    )
    def test_what_is_no_header_is_left_alone(self, mapped, markup):
        assert mapped(markup, self.CROP) == markup

    def test_blanks_around_a_box_stay(self, mapped):
        assert (
            mapped("<PAGE>\n<|det|> text [ 0,0 ,  999,999 ] <|/det|> Text", self.CROP)
            == "<PAGE>\n<|det|> text [ 100, 200, 599, 450 ] <|/det|> Text"
        )


NUMBERS = st.tuples(*[st.integers(0, 1200)] * 4)
PIECES = st.one_of(
    NUMBERS.map(header),
    NUMBERS.map(lambda box: f"<|det|>figure [{box[0]},{box[1]},{box[2]} , {box[3]}]"),
    st.sampled_from(["<|det|>", "<|/det|>", "<PAGE>", "word", " ", "\n", "[1, 2, 3, 4]", "text"]),
    st.just("<table><tr><td>a</td><td>1</td></tr></table>"),
)
SHARES = st.tuples(*[st.floats(0, 0.45)] * 2, *[st.floats(0.55, 1)] * 2)


def traced(markup, ends):
    """Return a trace in which every token can be told by its probability."""
    ends = (*sorted(ends), len(markup))
    return TokenTrace(ends, tuple((n + 1) / (len(ends) + 1) for n in range(len(ends))))


class TestTrace:
    @given(st.data())
    def test_every_token_stays_with_its_block(self, fakes, data):
        markup = "".join(data.draw(st.lists(PIECES, max_size=12), "pieces"))
        ends = data.draw(st.lists(st.integers(0, len(markup)), max_size=40), "ends")
        trace = traced(markup, ends)
        rotation = data.draw(st.sampled_from([0, 90, 180, 270]), "rotation")
        before = replace(fakes.result(1, markup, rotation=rotation), trace=trace)
        after = on_whole_page(before, data.draw(SHARES, "crop"))
        assert list(after.trace.ends) == sorted(after.trace.ends)
        assert after.trace.ends[-1] == len(after.markup)
        was, now = (
            parse_markup(result.markup, 600, 800, trace=result.trace) for result in (before, after)
        )
        assert [(block.type, block.text, block.html, block.confidence) for block in now.blocks] == [
            (block.type, block.text, block.html, block.confidence) for block in was.blocks
        ]
        assert now.text_trace.probabilities == was.text_trace.probabilities
        assert now.word_trace.probabilities == was.word_trace.probabilities

    def test_tokens_outside_boxes_keep_their_text(self, fakes):
        markup = f"{header((0, 0, 9, 9))}One two\n{header((700, 800, 999, 999))}Three"
        before = fakes.result(1, markup)
        after = on_whole_page(before, (0.2, 0.3, 0.9, 0.8))
        assert len(after.markup) != len(markup)
        kept = set(range(len(markup)))
        for start, end, _ in boxes_in(markup):
            kept -= set(range(start, end))
        ends = after.trace.ends
        assert all(after.markup[ends[index] - 1] == markup[index] for index in kept)

    def test_tokens_of_a_box_that_became_shorter_end_with_it(self, fakes):
        markup = "<|det|>text [100   ,   100   ,   999   ,   999]<|/det|>Text"
        after = on_whole_page(fakes.result(1, markup), (0.0, 0.0, 0.5, 0.5))
        ((_, end, numbers),) = boxes_in(after.markup)
        assert numbers == (50, 50, 500, 500)
        assert after.trace.ends[markup.index("]") - 1] == end
        assert list(after.trace.ends) == sorted(after.trace.ends)


class TestBoxesIn:
    def test_places_are_those_of_the_numbers(self):
        markup = f"<PAGE>{header((1, 22, 333, 4))}a\n<|det|>title [5,6 , 7, 99999] b"
        found = list(boxes_in(markup))
        assert [markup[start:end] for start, end, _ in found] == ["1, 22, 333, 4", "5,6 , 7, 99999"]
        assert [numbers for _, _, numbers in found] == [(1, 22, 333, 4), (5, 6, 7, 99999)]

    @pytest.mark.parametrize(
        "markup",
        ["", "text [1, 2, 3, 4]", "<|det|>text [1, 2, 3]<|/det|>", "<|det|>[1, 2, 3, 4]<|/det|>a"]
        + ["<|det|>text <|det|>", "<|det|>text [1, 2, 3, 123456]<|/det|>"],
    )
    def test_what_is_no_header_has_no_box(self, markup):
        assert list(boxes_in(markup)) == []

    @given(st.lists(PIECES, max_size=12).map("".join))
    def test_blocks_with_a_box_are_those_that_the_parser_finds(self, markup):
        boxes = [numbers for _, _, numbers in boxes_in(markup)]
        parsed = [block.box for block in parse_markup(markup, 9, 9).blocks if block.box]
        # The parser turns boxes the right way and keeps them on the page.
        assert [sorted(box) for box in parsed] == [
            sorted(min(number, 999) for number in box) for box in boxes
        ]
