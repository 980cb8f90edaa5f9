"""Blocks, lines and words are put where their ink is, and left alone where it is not found."""

import itertools
from dataclasses import replace
from math import radians, tan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocrcli.blocks import markup_of
from ocrcli.document import Block, BlockType, PageFacts
from ocrcli.ink import InkMap, ink_map
from ocrcli.ink_placement import on_ink
from ocrcli.records import finished_page
from ocrcli.rotation import as_displayed

SIDE = 1000
"""Pages are square and as many pixels wide, so that a pixel is a thousandth."""

LETTER, GAP, BLANK, HIGH, PITCH = 8, 2, 8, 16, 22
"""Sizes of the type in pixels."""

TEXT = """\
The sun rose over the quiet town and
the baker opened his shop to a small
crowd that had waited.
A dog slept in the yard of the mill,
and nobody dared to wake it before a
cart came.
Then all of them went to the market."""


class Sheet:
    """A page that text is drawn on, in letters that are all as wide."""

    def __init__(self, slope=0.0):
        self.pixels = np.full((SIDE, SIDE), 255, np.uint8)
        self._slope = slope

    def write(self, text, left, top):
        """Draw lines; return a block with their place, and the place of each word by line."""
        words = []
        for number, line in enumerate(text.split("\n")):
            x, spans = left, []
            for word in line.split():
                start = x
                for index, letter in enumerate(word):
                    x += GAP if index else 0
                    self._draw(x, top + PITCH * number, ord(letter) % 3 * 2)
                    x += LETTER
                spans.append((start, x))
                x += BLANK
            words.append(spans)
        right = max(spans[-1][1] for spans in words)
        bottom = top + PITCH * (len(words) - 1) + HIGH
        return Block(BlockType.TEXT, text, (left, top, right, bottom)), words

    def _draw(self, left, top, lower):
        for x in range(left, left + LETTER):
            down = top + round(self._slope * x)
            self.pixels[down + lower : down + HIGH, x] = 0

    def placed(self, *blocks, rotation=0):
        """Return blocks on the ink of the page as it lies, having been turned to be upright."""
        return on_ink(blocks, ink_map(np.rot90(self.pixels, rotation // 90)), rotation)


def moved(block, right=0, down=0, **changes):
    x1, y1, x2, y2 = block.box
    return replace(block, box=(x1 + right, y1 + down, x2 + right, y2 + down), **changes)


def close(found, expected, within=2):
    return np.shape(found) == np.shape(expected) and np.allclose(found, expected, 0, within)


def assert_on_ink(block, sheet_top, words, within=3):
    """Lines and words lie where they were drawn."""
    assert len(block.lines) == len(words)
    for number, (line, spans) in enumerate(zip(block.lines, words, strict=True)):
        left, top, right, bottom = line.box
        middle = sheet_top + PITCH * number + HIGH / 2
        assert close((top + bottom) / 2, middle, within), number
        assert close((left, right), (spans[0][0], spans[-1][1]), within)
        assert len(line.words) == len(spans)
        for found, drawn in zip(line.words, spans, strict=True):
            assert close(found, drawn, within)


@pytest.mark.parametrize("down", [-10, -4, 0, 4, 10])
def test_block_that_is_off_comes_back_with_its_lines_and_words(down):
    sheet = Sheet()
    block, words = sheet.write(TEXT, 100, 200)
    (found,) = sheet.placed(moved(block, down=down))
    # Top and bottom are left alone where they are off by less than a quarter of a line.
    assert close(found.box, block.box, 4 if abs(down) == 10 else PITCH / 4 + 2)
    assert_on_ink(found, 200, words)


@pytest.mark.parametrize("down", [-PITCH, PITCH])
def test_block_that_is_a_whole_line_off_is_told_by_its_short_lines(down):
    sheet = Sheet()
    block, words = sheet.write(TEXT, 100, 200)
    (found,) = sheet.placed(moved(block, down=down))
    assert close(found.box, block.box, 4)
    assert_on_ink(found, 200, words)


@pytest.mark.parametrize("off", [-10, 10])
def test_block_that_is_off_to_the_side_gets_its_edges_back(off):
    sheet = Sheet()
    block, words = sheet.write(TEXT, 100, 200)
    (found,) = sheet.placed(moved(block, off))
    assert close(found.box, block.box)
    assert_on_ink(found, 200, words)


def test_box_that_is_right_but_for_a_hair_stays_as_the_model_said():
    sheet = Sheet()
    block, _ = sheet.write(TEXT, 100, 200)
    said = moved(block, 2, 1)
    assert sheet.placed(said)[0].box == said.box


@pytest.mark.parametrize(("top", "box"), [(4, (12, 40)), (SIDE - HIGH, (970, 999))])
def test_box_of_a_line_at_the_edge_ends_with_the_page(top, box):
    sheet = Sheet()
    line, _ = sheet.write("A line of words", 100, top)
    (found,) = sheet.placed(replace(line, box=(100, box[0], line.box[2], box[1])))
    assert 0 <= found.box[1] < found.box[3] <= 999
    assert found.lines is not None


def test_one_line_is_put_on_its_ink():
    sheet = Sheet()
    title, words = sheet.write("A title of words", 300, 100)
    (found,) = sheet.placed(moved(title, 12, -12, type=BlockType.TITLE))
    assert (found.type, found.text) == (BlockType.TITLE, title.text)
    assert close(found.box, title.box)
    assert_on_ink(found, 100, words)


def test_nothing_but_places_changes():
    sheet = Sheet()
    block, _ = sheet.write(TEXT, 100, 200)
    said = moved(block, down=10, bbox=(1.0, 2.0, 3.0, 4.0), picture="a.png", baselines=(9,))
    (found,) = sheet.placed(said)
    assert replace(found, box=said.box, lines=None) == said


def test_boxes_are_whole_numbers():
    sheet = Sheet()
    block, _ = sheet.write(TEXT, 100, 200)
    (found,) = sheet.placed(moved(block, 13, 11))
    assert all(isinstance(number, int) for number in found.box)


@pytest.mark.parametrize("kind", [BlockType.TABLE, BlockType.FIGURE])
@pytest.mark.parametrize("text", [TEXT, "A single row"])
def test_tables_and_figures_are_not_moved(kind, text):
    sheet = Sheet()
    block, _ = sheet.write(text, 100, 200)
    said = moved(block, down=10, type=kind)
    (found,) = sheet.placed(said)
    assert replace(found, lines=None) == said


@pytest.mark.parametrize("number", [0, 2, 6])
def test_row_of_ink_that_no_line_stands_on_is_told(number):
    sheet = Sheet()
    block, _ = sheet.write(TEXT, 100, 200)
    texts = TEXT.split("\n")
    left, top, right, bottom = block.box
    box = (left, top + PITCH * (number == 0), right, bottom - PITCH * (number == 6))
    kept = "\n".join(texts[:number] + texts[number + 1 :])
    (found,) = sheet.placed(replace(block, text=kept, box=box))
    assert sum(line.skipped for line in found.lines) == 1
    (whole,) = sheet.placed(block)
    assert not any(line.skipped for line in whole.lines)


def test_rows_and_words_of_a_table_lie_on_their_ink():
    sheet = Sheet()
    block, words = sheet.write("Oats\t12\nBarley\t345", 100, 200)
    (found,) = sheet.placed(replace(block, type=BlockType.TABLE))
    assert [len(line.words) for line in found.lines] == [2, 2]
    placed = [span for line in found.lines for span in line.words]
    assert close(placed, [span for line in words for span in line])


def test_rows_of_a_table_are_unknown_where_it_has_more_rows_of_ink():
    sheet = Sheet()
    block, _ = sheet.write("Oats\t12\nand more\nBarley\t345", 100, 200)
    (found,) = sheet.placed(
        replace(block, text="Oats\t12 and more\nBarley\t345", type=BlockType.TABLE)
    )
    assert found.lines is None


def test_text_does_not_slip_onto_the_ink_of_a_table_beside_it():
    sheet = Sheet()
    rows, _ = sheet.write("one two\nthree four\nfive six\nseven ten", 600, 200)
    block, words = sheet.write("A line that is all\nthere is beside it", 100, 222)
    found, table = sheet.placed(block, replace(rows, type=BlockType.TABLE))
    assert table.box == rows.box
    assert found.box[2] < rows.box[0]
    assert_on_ink(found, 222, words)


def test_text_does_not_take_the_ink_of_a_picture_that_it_is_said_to_lie_on():
    sheet = Sheet()
    picture, _ = sheet.write(TEXT, 100, 200)
    label = Block(BlockType.TEXT, "and nobody dared to wake it before a", (100, 272, 430, 288))
    assert sheet.placed(label)[0].lines is not None
    assert sheet.placed(label, replace(picture, type=BlockType.FIGURE))[0] == label


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_boxes_of_a_turned_page_lie_on_the_page_as_it_was_read(rotation):
    sheet = Sheet()
    block, words = sheet.write(TEXT, 100, 200)
    (found,) = sheet.placed(moved(block, 10, 10), rotation=rotation)
    assert close(found.box, block.box, 4)
    assert_on_ink(found, 200, words)


def test_turned_page_need_not_be_square():
    sheet = Sheet()
    block, _ = sheet.write(TEXT, 100, 200)
    upright = sheet.pixels[:500]
    said = replace(block, box=(100, 420, block.box[2], 2 * block.box[3] + 20))
    (found,) = on_ink([said], ink_map(np.rot90(upright, 1)), 90)
    expected = (100, 400, block.box[2], 2 * block.box[3])
    assert close(found.box, expected, 8)


@pytest.mark.parametrize("degrees", [-1.5, 1.5])
def test_lines_of_a_skewed_page_are_found(degrees):
    slope = tan(radians(degrees))
    sheet = Sheet(slope)
    block, words = sheet.write("\n".join([TEXT] * 3), 100, 200)
    left, top, right, bottom = block.box
    falls = sorted((slope * left, slope * right))
    said = replace(block, box=(left, round(top + falls[0]), right, round(bottom + falls[1])))
    (found,) = sheet.placed(moved(said, down=8))
    assert close(found.box, said.box, 9)
    for line, spans in zip(found.lines, words, strict=True):
        assert close(line.words, spans, 4)
    for upper, lower in itertools.pairwise(found.lines):
        assert close(lower.box[1] - upper.box[1], PITCH, 4)


def test_blocks_without_a_box_keep_their_place_among_the_others():
    sheet = Sheet()
    block, words = sheet.write(TEXT, 100, 200)
    loose = Block(BlockType.TEXT, "Nobody knows where\nthis stands")
    before, found, after = sheet.placed(loose, moved(block, down=10), loose)
    assert before == after == loose
    assert_on_ink(found, 200, words)


def test_there_is_nothing_to_do_without_blocks():
    assert Sheet().placed() == []


def test_blocks_on_a_page_without_ink_stay_as_they_are():
    block, _ = Sheet().write(TEXT, 100, 200)
    assert Sheet().placed(block) == [block]


def test_text_far_from_any_ink_stays_as_it_is():
    sheet = Sheet()
    block, _ = sheet.write(TEXT, 100, 200)
    said = moved(block, down=500)
    assert sheet.placed(said) == [said]


def test_text_of_which_less_than_half_has_ink_stays_as_it_is():
    sheet = Sheet()
    sheet.write("\n".join(TEXT.split("\n")[:2]), 100, 200)
    block, _ = Sheet().write(TEXT, 100, 210)
    assert sheet.placed(block) == [block]


def test_line_without_ink_of_its_own_lies_between_its_neighbours():
    sheet = Sheet()
    block, words = sheet.write(TEXT, 100, 200)
    top = 200 + 3 * PITCH
    sheet.pixels[top - 2 : top + HIGH + 2] = 255
    (found,) = sheet.placed(moved(block, down=8))
    assert found.lines[3].words == ()
    words.pop(3)
    for line, spans in zip(found.lines[:3] + found.lines[4:], words, strict=True):
        assert close(line.words, spans)
    assert found.lines[2].box[1] < found.lines[3].box[1] < found.lines[4].box[1]


def test_blank_lines_have_no_place():
    sheet = Sheet()
    block, words = sheet.write(TEXT, 100, 200)
    (found,) = sheet.placed(replace(block, text=TEXT.replace("waited.\n", "waited.\n\n")))
    assert_on_ink(found, 200, words)


class TestColumns:
    """Two columns whose gutter is hardly wider than a blank."""

    LEFT = "one two three four\nfive six seven te\nof it\nmany words in line"
    RIGHT = "alpha beta gammas\nsigma tau upsilo\nrho\nkappa lambdas mux"
    GUTTER = 14

    @pytest.fixture
    def columns(self):
        sheet = Sheet()
        left, left_words = sheet.write(self.LEFT, 100, 200)
        right, right_words = sheet.write(self.RIGHT, left.box[2] + self.GUTTER, 200)
        return sheet, (left, left_words), (right, right_words)

    @pytest.mark.parametrize("off", [(0, 0), (0, 9), (0, -9)])
    def test_do_not_grow_into_each_other(self, columns, off):
        sheet, (left, left_words), (right, right_words) = columns
        one, other = sheet.placed(moved(left, *off), moved(right, *off))
        assert one.box[2] < other.box[0]
        assert close(one.box, left.box, 4)
        assert close(other.box, right.box, 4)
        assert_on_ink(one, 200, left_words)
        assert_on_ink(other, 200, right_words)

    def test_are_told_apart_though_lines_stand_at_other_heights(self):
        sheet = Sheet()
        left, left_words = sheet.write(self.LEFT, 100, 200)
        right, right_words = sheet.write(self.RIGHT, left.box[2] + self.GUTTER, 211)
        one, other = sheet.placed(moved(left, down=6), moved(right, down=-6))
        assert_on_ink(one, 200, left_words)
        assert_on_ink(other, 211, right_words)


def test_blocks_below_each_other_share_no_line():
    sheet = Sheet()
    upper, upper_words = sheet.write("A heading", 100, 178)
    lower, lower_words = sheet.write(TEXT, 100, 200)
    one, other = sheet.placed(moved(upper, down=10), moved(lower, down=10))
    assert_on_ink(one, 178, upper_words)
    assert_on_ink(other, 200, lower_words)


class TestRecord:
    """What a page's record makes of it."""

    def record(self, fakes, block, sheet, rotation=0, **facts):
        lying = np.rot90(sheet.pixels, rotation // 90)
        known = {"width_pt": 500.0, "height_pt": 500.0, "ink": ink_map(lying), "ink_pixels": 9000}
        result = fakes.result(1, markup_of([block]), rotation=rotation)
        return finished_page(PageFacts(1, **(known | facts)), result)

    @pytest.mark.parametrize("rotation", [0, 90, 180, 270])
    def test_points_are_those_of_the_place_that_was_found(self, fakes, rotation):
        sheet = Sheet()
        block, words = sheet.write(TEXT, 100, 200)
        record = self.record(fakes, moved(block, down=10), sheet, rotation)
        (found,) = record.blocks
        assert_on_ink(found, 200, words)
        expected = as_displayed(found.box, 999, 999, rotation)
        assert found.bbox == pytest.approx([v * 500 / 999 for v in expected], abs=0.01)
        assert record.text == TEXT

    def test_what_the_model_wrote_is_kept_as_it_was(self, fakes):
        sheet = Sheet()
        block, _ = sheet.write(TEXT, 100, 200)
        said = moved(block, down=10)
        assert self.record(fakes, said, sheet).markup == markup_of([said])

    def test_blocks_of_a_page_that_was_not_drawn_stay_where_they_are(self, fakes):
        sheet = Sheet()
        block, _ = sheet.write(TEXT, 100, 200)
        said = moved(block, down=10)
        (found,) = self.record(fakes, said, sheet, ink=None).blocks
        assert (found.box, found.lines) == (said.box, None)


_edge = st.integers(0, 999)
_text = st.lists(st.sampled_from(["", " ", "a", "one two", "  in .,", "a b c d"]), max_size=7)


@st.composite
def any_block(draw):
    xs, ys = sorted(draw(st.tuples(_edge, _edge))), sorted(draw(st.tuples(_edge, _edge)))
    box = draw(st.sampled_from([None, *[(xs[0], ys[0], xs[1], ys[1])] * 5]))
    text = "\n".join(draw(_text))
    below = draw(st.none() | st.lists(_edge, min_size=1, max_size=6).map(sorted).map(tuple))
    return Block(draw(st.sampled_from(BlockType)), text, box, baselines=below)


@st.composite
def any_ink(draw):
    height, width = draw(st.integers(1, 90)), draw(st.integers(1, 90))
    generator = np.random.default_rng(draw(st.integers(0, 99)))
    squares = generator.random((height, width)) < draw(st.floats(0, 1))
    if draw(st.booleans()):
        squares[:: draw(st.integers(2, 9))] = False
    counts = np.zeros((1, 1), np.int32)
    return InkMap(counts, counts, 2 * height, 2 * width, squares)


@settings(max_examples=120, deadline=None)
@given(st.lists(any_block(), max_size=5), any_ink(), st.sampled_from([0, 90, 180, 270]))
def test_any_blocks_on_any_ink_stay_what_they_are_and_on_the_page(blocks, ink, rotation):
    found = on_ink(blocks, ink, rotation)
    assert [replace(block, box=None, lines=None) for block in found] == [
        replace(block, box=None) for block in blocks
    ]
    for block, said in zip(found, blocks, strict=True):
        assert (block.box is None) == (said.box is None)
        if block.box is None:
            continue
        left, top, right, bottom = block.box
        assert 0 <= left <= right <= 999
        assert 0 <= top <= bottom <= 999
        for line in block.lines or ():
            assert left <= line.box[0] <= line.box[2] <= right
            assert top <= line.box[1] <= line.box[3] <= bottom
        if block.lines is not None:
            assert len(block.lines) == sum(bool(line.strip()) for line in said.text.split("\n"))
