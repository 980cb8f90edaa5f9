import random
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pymupdf
import pytest

from ocrcli.models.small.evaluation.metrics import score
from ocrcli.models.small.evaluation.page_set import ReferenceBlock, SourcePage
from ocrcli.models.small.evaluation.prose_pages import (
    choose_style,
    column_style,
    font_files,
    print_pages,
    read_books,
    small_style,
)
from ocrcli.models.small.evaluation.scan_damage import choose_scan, scan
from ocrcli.models.small.evaluation.sets import printed
from ocrcli.models.small.evaluation.table_pages import (
    Cell,
    choose_table,
    print_table_pages,
    table_html,
)


def words_in_box(page: pymupdf.Page, block: ReferenceBlock) -> list[str]:
    """Return the words whose middles lie in a block's box, in reading order."""
    left, top, right, bottom = (edge / 1000 for edge in block.box)
    width, height = page.rect.width, page.rect.height
    return [
        word[4]
        for word in page.get_text("words")
        if left <= (word[0] + word[2]) / 2 / width <= right
        and top <= (word[1] + word[3]) / 2 / height <= bottom
    ]


@pytest.mark.parametrize("style_of", [choose_style, small_style, column_style])
def test_reference_is_what_the_page_shows(
    fonts: Path, text: Path, tmp_path: Path, style_of
) -> None:
    books, files = read_books(text), font_files(fonts)
    pages = print_pages(books, files, 4, 5, tmp_path / "pdf", style_of)
    again = print_pages(books, files, 4, 5, tmp_path / "again", style_of)
    assert [page.text for page in pages] == [page.text for page in again]
    with pymupdf.open(pages[0].file) as document:
        assert document.page_count == len(pages) == 4
        for page in pages:
            shown = document[page.page_number - 1]
            paper = shown.rect
            assert all(paper.contains(pymupdf.Rect(word[:4])) for word in shown.get_text("words"))
            assert page.text == "\n\n".join(block.text for block in page.blocks)
            for block in page.blocks:
                assert words_in_box(shown, block) == block.text.split()


def test_columns_are_read_one_after_the_other(fonts: Path, text: Path, tmp_path: Path) -> None:
    pages = print_pages(read_books(text), font_files(fonts), 6, 1, tmp_path, column_style)
    for page in pages:
        lefts = [block.box[0] for block in page.blocks if block.label == "text"]
        columns = 1 + sum(later > earlier + 100 for earlier, later in pairwise(lefts))
        assert columns in (2, 3)
        # A paragraph that goes on in the next column is two blocks, with nothing lost between.
        assert all(block.text for block in page.blocks)


def test_table_is_on_the_page_as_its_reference_says(
    fonts: Path, text: Path, tmp_path: Path
) -> None:
    pages = print_table_pages(read_books(text), font_files(fonts), 6, 3, tmp_path)
    tables = [(page, block) for page in pages for block in page.blocks if block.html]
    assert len(tables) >= 4
    with pymupdf.open(pages[0].file) as document:
        for page, block in tables:
            shown = document[page.page_number - 1]
            # Cells of several lines are printed line by line, so only the words can be compared.
            assert sorted(words_in_box(shown, block)) == sorted(block.text.split())
    levels = {block.level for page in pages for block in page.blocks if block.label == "title"}
    assert 1 in levels and levels & {2, 3}


def test_markup_of_a_table_follows_the_ground_truth() -> None:
    rows = [[Cell(""), Cell("a & b", columns=2)], [Cell("x", rows=2), Cell("1"), Cell("2")]]
    assert table_html(rows, 1) == (
        '<table><tr><th></th><th colspan="2">a &amp; b</th></tr>'
        '<tr><td rowspan="2">x</td><td>1</td><td>2</td></tr></table>'
    )


def test_rows_of_a_table_are_equally_long() -> None:
    for seed in range(60):
        rows, heading_rows = choose_table(random.Random(seed), ["alpha", "beta"], 40.0)
        assert 1 <= heading_rows < len(rows)
        hanging = 0
        widths = set()
        for row in rows:
            widths.add(sum(cell.columns for cell in row) + hanging)
            hanging = sum(cell.rows == 2 for cell in row)
        assert len(widths) == 1


def test_scan_keeps_the_page_and_damages_it(fonts: Path, text: Path, tmp_path: Path) -> None:
    (page,) = print_pages(read_books(text), font_files(fonts), 1, 2, tmp_path)
    sheet = printed(SourcePage(page.file, page.page_number, page.text))
    grey = replace(choose_scan(np.random.default_rng(1)), threshold=None)
    scanned = scan(sheet, grey, np.random.default_rng(2))
    assert scanned.shape == sheet.shape and scanned.dtype == np.uint8
    assert np.array_equal(scanned, scan(sheet, grey, np.random.default_rng(2)))
    assert len(np.unique(scanned)) > 50
    paper = np.median(scanned)
    assert grey.paper * (1 - grey.shade) - 5 < paper < grey.paper + 5
    bits = scan(sheet, replace(grey, threshold=0.7), np.random.default_rng(2))
    assert set(np.unique(bits)) == {0, 255}
    # As much ink as before, give or take the thickness of strokes.
    assert 0.5 < (bits == 0).mean() / (sheet < 128).mean() < 2.0


def test_reading_the_text_layer_scores_almost_perfectly(
    fonts: Path, text: Path, tmp_path: Path
) -> None:
    (page,) = print_pages(read_books(text), font_files(fonts), 1, 2, tmp_path)
    with pymupdf.open(page.file) as document:
        layer = document[0].get_text("text", sort=True)
    assert score(page.text, layer).cer < 0.02
