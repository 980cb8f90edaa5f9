"""What stands on a composed page is what the model is asked to write."""

import random
from collections import Counter

import pytest

from ocrcli.models.small.training import displays, handbooks, layouts, manuals, papers
from ocrcli.models.small.training.atlas import GLYPHS, SIZES
from ocrcli.models.small.training.charset import LIGATURES
from ocrcli.models.small.training.composed import ComposedBlock
from ocrcli.models.small.training.contents import contents
from ocrcli.models.small.training.correspondence import letter
from ocrcli.models.small.training.plain_text import plain_text
from ocrcli.models.small.training.sheet import Sheet
from ocrcli.models.small.training.table_layout import table
from ocrcli.models.small.training.typeset import RAISED, TYPEWRITER

WIDTH, HEIGHT = 960, 1280


def drawn(page):
    """The characters that were drawn; blanks and the dots of leaders are not counted."""
    found = Counter()
    for code in page.glyph % len(GLYPHS):
        found.update(LIGATURES.get(GLYPHS[code], GLYPHS[code]))
    return without_blanks(found)


def asked(page):
    """The characters that the model is to write."""
    found = Counter()
    for block in page.blocks:
        found.update(block.text)
        found.update("".join(cell.text for row in block.table or [] for cell in row))
    return without_blanks(found)


def without_blanks(found):
    return {char: count for char, count in found.items() if char not in " .\n"}


def overlap(one, two):
    across = min(one[2], two[2]) - max(one[0], two[0])
    down = min(one[3], two[3]) - max(one[1], two[1])
    return min(across, down)


@pytest.fixture(scope="module")
def pages(composer):
    rng = random.Random(7)
    return [composer.page(rng, WIDTH, HEIGHT, (12, 22), 5000) for _ in range(150)]


def fresh(composer, seed):
    sheet = Sheet(composer, random.Random(seed), WIDTH, HEIGHT, (12, 16))
    sheet.margins(0.05, 0.1)
    return sheet


def test_every_drawn_character_is_asked_for_once(pages):
    assert [index for index, page in enumerate(pages) if drawn(page) != asked(page)] == []


def test_blocks_lie_on_the_page_and_apart(pages):
    for page in pages:
        boxes = [block.box for block in page.blocks]
        assert all(box[0] >= 0 and box[2] <= 2 * WIDTH for box in boxes)
        assert all(box[1] >= 0 and box[3] <= 2 * HEIGHT for box in boxes)
        for index, box in enumerate(boxes):
            assert all(overlap(box, other) < 12 for other in boxes[:index])


def test_every_line_and_row_begins_below_the_one_before(pages):
    placed = [block for page in pages for block in page.blocks if block.lines or block.table]
    assert {block.label for block in placed} >= {"text", "table", "code", "list", "aside"}
    for block in placed:
        assert block.are_lines_placed, (block.label, block.lines, block.starts)
        downs = [down for _, down in block.starts]
        assert downs == sorted(set(downs))
        if block.table is None:
            # A row may be empty, and is then no part of the ink.
            assert all(block.box[0] <= left <= block.box[2] for left, _ in block.starts)
            assert all(block.box[1] < down <= block.box[3] for down in downs)


def test_plain_text_is_drawn_as_it_is_asked_for(composer):
    codes, titles = [], []
    for seed in range(60):
        sheet = fresh(composer, seed)
        page = sheet.finish(plain_text(sheet, 5000))
        assert drawn(page) == asked(page)
        for block in page.blocks:
            assert block.are_lines_placed
            assert block.box[2] <= sheet.width
        codes += [block.lines for block in page.blocks if block.label == "code"]
        titles += [block.lines for block in page.blocks if block.label == "title"]
    # Columns stand below each other, and rules are as wide as what they belong to.
    headed = [lines for lines in codes if lines[0].endswith("(brief description)") and lines[1:]]
    assert headed
    assert all(lines[1].rstrip("-").count("-") % 4 == 0 for lines in headed)
    assert all(len(lines[1]) == len(lines[0]) for lines in headed)
    assert any(len(set(lines[-1])) == 1 for lines in titles)


def test_pages_hold_every_kind_of_block(pages):
    labels = {block.label for page in pages for block in page.blocks}
    wanted = "title text list table figure caption header footer page_number footnote code aside"
    assert labels == set(wanted.split())
    assert any(not page.blocks for page in pages)


def test_columns_are_read_one_after_the_other(composer):
    seen = 0
    for seed in range(30):
        sheet = fresh(composer, seed)
        blocks = layouts.article(sheet, 6000)
        boxes = [block.box for block in sheet.finish(blocks).blocks if block.label == "text"]
        for one, two in zip(boxes, boxes[1:], strict=False):
            if two[0] > one[2]:
                seen += 1
            else:
                # In the same column, or below all columns: further down.
                assert two[1] > one[1]
    assert seen > 10


def test_divided_words_keep_hyphen_and_line_break(composer):
    for seed in range(40):
        sheet = fresh(composer, seed)
        sheet.divides, sheet.justify, sheet.right = True, True, sheet.left + 12 * sheet.body.size
        block = ComposedBlock("text")
        words = ["difference", "international", "understanding", "nevertheless"] * 4
        rest = sheet.paragraph(block, words, sheet.body)
        joined = " ".join([*block.lines, *rest]).replace("- ", "")
        assert joined == " ".join(words)
    assert any(line.endswith("-") for line in block.lines)


def test_note_numbers_stand_behind_their_word_as_digits(composer):
    sheet = fresh(composer, 3)
    block = ComposedBlock("text")
    sheet.paragraph(block, ["word" + RAISED + "12", "next"], sheet.body, align="left")
    assert block.lines == ["word12 next"]
    page = sheet.finish([block])
    assert len(set(page.y.tolist())) == 2


def test_code_keeps_its_indentation(composer):
    lines = []
    for seed in range(20):
        sheet, blocks = fresh(composer, seed), []
        displays.code(sheet, blocks)
        lines += blocks[0].lines
        if blocks[0].lines:
            assert min(len(line) - len(line.lstrip()) for line in blocks[0].lines) == 0
    assert any(line.startswith("  ") for line in lines)


def test_tables_are_complete_grids(composer):
    spans = 0
    for seed in range(60):
        sheet, blocks = fresh(composer, seed), []
        table(sheet, blocks, 3000)
        rows = [block.table for block in blocks if block.table is not None][0]
        # A cell that spans rows counts in each of them.
        counts = [0] * len(rows)
        for index, row in enumerate(rows):
            for cell in row:
                spans += cell.columns > 1 or cell.rows > 1
                for below in range(cell.rows):
                    counts[index + below] += cell.columns
        assert len(set(counts)) == 1
        assert 2 <= counts[0] <= 7
    assert spans > 5


def test_leaders_are_written_as_four_dots(composer):
    texts = []
    for seed in range(12):
        sheet = fresh(composer, seed)
        texts += [block.text for block in contents(sheet, 3000) if block.label == "list"]
    assert any(" .... " in text for text in texts)
    assert not any("....." in text for text in texts)


def test_pages_of_pictures_and_lines_hold_no_characters(composer):
    kinds = set()
    for seed in range(20):
        sheet = fresh(composer, seed)
        page = sheet.finish(layouts.pictures(sheet))
        assert not len(page.glyph)
        assert all(block.label == "figure" and not block.text for block in page.blocks)
        assert len(page.figures) == len(page.blocks)
        kinds.add(bool(page.blocks))
    assert kinds == {True, False}


def test_manual_pages_and_indexes_are_lists_and_lines(composer):
    headers, lists = [], []
    for seed in range(12):
        for kind in (manuals.manual, manuals.index):
            sheet = fresh(composer, seed)
            page = sheet.finish(kind(sheet, 4000))
            assert drawn(page) == asked(page)
            headers += [block.text for block in page.blocks if block.label == "header"]
            lists += [block for block in page.blocks if block.label == "list"]
    assert headers and all(text.count("(") >= 2 and "\n" not in text for text in headers)
    assert any("--" in block.text for block in lists)
    assert any(line[-1].isdigit() for block in lists for line in block.lines)


@pytest.mark.parametrize(
    "kind", [handbooks.handbook, handbooks.listing_page, papers.paper, contents, letter]
)
def test_every_kind_of_page_asks_for_what_it_draws_in_order(composer, kind):
    for seed in range(15):
        sheet = fresh(composer, seed)
        sheet.technical = True
        page = sheet.finish(kind(sheet, 4500))
        assert drawn(page) == asked(page)
        boxes = [block.box for block in page.blocks]
        for index, box in enumerate(boxes):
            assert all(overlap(box, other) < 12 for other in boxes[:index])


def test_handbooks_set_names_in_typewriter_inside_paragraphs(composer):
    sheet = fresh(composer, 1)
    sheet.cast = {TYPEWRITER: (composer.fixed_width[0], 0)}
    block = ComposedBlock("text")
    sheet.paragraph(block, ["as", f"‘{TYPEWRITER}f(x)"], sheet.body, align="left")
    assert block.lines == ["as ‘f(x)"]
    glyphs = sheet.finish([block]).glyph
    fonts = glyphs // (len(SIZES) * len(GLYPHS))
    assert fonts.tolist() == [*[sheet.body.font] * 3, *composer.fixed_width[:1] * 4]


def test_words_left_over_keep_their_style(composer):
    sheet = fresh(composer, 1)
    sheet.bottom = sheet.y + 1.5 * sheet.body.size * sheet.leading
    words = [f"{TYPEWRITER}name"] * 400
    rest = sheet.paragraph(ComposedBlock("text"), words, sheet.body)
    assert 0 < len(rest) < 400
    assert all(word == f"{TYPEWRITER}name" for word in rest[1:])


def test_line_numbers_belong_to_their_lines_and_go_on(composer):
    sheet, blocks = fresh(composer, 2), []
    sheet.code_lines = lambda count: ["if x:", "    y()", "", *["    z()"] * (count - 3)]
    following = displays.listing(sheet, blocks, 9, 998)
    numbers = [int(line.split(" ")[0]) for line in blocks[0].lines]
    assert numbers == list(range(998, following))
    assert len(numbers) > 3
    assert any(line.split(" ", 1)[1].startswith("  ") for line in blocks[0].lines)


def test_code_display_ends_the_block_around_it(composer):
    labels = set()
    for seed in range(20):
        sheet = fresh(composer, seed)
        blocks = sheet.finish(handbooks.handbook(sheet, 4500)).blocks
        for one, two, three in zip(blocks, blocks[1:], blocks[2:], strict=False):
            if two.label == "code":
                labels.add((one.label, three.label))
                assert one.box[3] <= two.box[1] + 12
                assert two.box[3] <= three.box[1] + 12 or three.label == "page_number"
    assert {("text", "text"), ("list", "text")} <= labels


def test_contents_reach_the_fifth_level(composer):
    lines = []
    for seed in range(40):
        sheet = fresh(composer, seed)
        lines += [line for block in contents(sheet, 4000) for line in block.lines]
    assert any(line.split(" ")[0].count(".") == 4 for line in lines)


def test_letters_end_with_a_name_far_below_the_greeting(composer):
    far = beside = 0
    for seed in range(40):
        sheet = fresh(composer, seed)
        blocks = [block for block in letter(sheet, 3000) if block.label == "text"]
        boxes = [block.box for block in blocks if block.is_seen]
        gaps = [two[1] - one[3] for one, two in zip(boxes, boxes[1:], strict=False)]
        far += max(gaps) > 6 * sheet.body.size
        beside += any(
            two[0] > one[2] and two[1] < one[3] for one, two in zip(boxes, boxes[1:], strict=False)
        )
    assert far > 5
    assert beside > 5


def test_documentation_is_mostly_set_in_regular_fonts(composer):
    rng = random.Random(0)
    fonts = [composer.atlas.names[composer.documentation_font(rng)] for _ in range(300)]
    assert sum("Regular" in font for font in fonts) > 240
    assert any("Bold" in font for font in fonts)


def test_no_lines_are_set_too_small_to_be_read(composer):
    sheet = fresh(composer, 4)
    assert sheet.resized(0.1).size >= 18
    assert sheet.resized(0.1, composer.fixed_width[0]).size >= 18
