import pytest

from ocrcli.models.small.evaluation.layout_metrics import (
    auroc,
    block_f1,
    count_blocks,
    heading_levels,
    iou,
    is_wrong,
    page_tables,
    table_similarity,
)
from ocrcli.models.small.evaluation.page_set import ReadBlock, ReferenceBlock

TABLE = "<table><tr><th>a</th><th>b</th></tr><tr><td>one</td><td>2</td></tr></table>"


def test_overlap_of_hand_cases() -> None:
    assert iou((0, 0, 10, 10), (0, 0, 10, 10)) == 1.0
    assert iou((0, 0, 10, 10), (5, 0, 15, 10)) == pytest.approx(50 / 150)
    assert iou((0, 0, 10, 10), (20, 20, 30, 30)) == 0.0


def test_every_block_is_matched_once() -> None:
    printed = [
        ReferenceBlock("text", "a", (0, 0, 100, 100)),
        ReferenceBlock("title", "b", (0, 200, 100, 300)),
    ]
    read = [
        ReadBlock("text", "a", (0, 0, 100, 90)),
        ReadBlock("text", "a", (0, 0, 100, 80)),
        ReadBlock("text", "b", (0, 210, 100, 300)),
        ReadBlock("text", "c", None),
    ]
    counts = count_blocks(printed, read)
    assert counts.overlaps == (0.9, 0.9)
    assert (counts.printed, counts.read, counts.agreeing) == (2, 4, 1)
    assert block_f1([counts]) == pytest.approx(2 * 2 / 6)


def test_similarity_of_tables() -> None:
    pytest.importorskip("apted")
    assert table_similarity(TABLE, TABLE) == 1.0
    other = TABLE.replace("one", "ond")
    assert table_similarity(TABLE, other) == pytest.approx(1 - (1 / 3) / 7)
    assert table_similarity(TABLE, other, structure_only=True) == 1.0
    without_row = "<table><tr><th>a</th><th>b</th></tr></table>"
    assert table_similarity(TABLE, without_row) == pytest.approx(1 - 3 / 7)
    spanning = TABLE.replace("<th>a</th><th>b</th>", '<th colspan="2">a</th>')
    assert table_similarity(TABLE, spanning, structure_only=True) == pytest.approx(1 - 2 / 7)


@pytest.mark.parametrize("broken", ["", "no table", '<table><tr><td colspan="x">a', "<td>a</td>"])
def test_broken_markup_is_scored_and_not_refused(broken: str) -> None:
    pytest.importorskip("apted")
    assert 0.0 <= table_similarity(TABLE, broken) < 1.0


def test_body_and_head_of_a_table_make_no_difference() -> None:
    pytest.importorskip("apted")
    parts = TABLE.replace("<table><tr>", "<table><thead><tr>").replace(
        "</th></tr>", "</th></tr></thead><tbody>"
    )
    assert table_similarity(TABLE, parts.replace("</table>", "</tbody></table>")) == 1.0


def test_table_that_was_not_read_counts_nothing() -> None:
    pytest.importorskip("apted")
    printed = [ReferenceBlock("table", "", (0, 0, 100, 100), html=TABLE)]
    elsewhere = ReadBlock("table", "", (500, 500, 600, 600), html=TABLE)
    assert page_tables(printed, [elsewhere]) == [(0.0, 0.0)]
    assert page_tables(printed, []) == [(0.0, 0.0)]
    near = ReadBlock("table", "", (0, 0, 90, 100), html=TABLE)
    assert page_tables(printed, [elsewhere, near]) == [(1.0, 1.0)]


def test_heading_counts_when_its_rank_on_the_page_is_right() -> None:
    printed = [
        ReferenceBlock("title", "The First\nChapter", level=1),
        ReferenceBlock("title", "Of Bats", level=3),
        ReferenceBlock("title", "Of Bats", level=3),
        ReferenceBlock("title", "Never read", level=3),
        ReferenceBlock("text", "Text"),
    ]
    levelled = "## The First Chapter\n\nText\n\n### Of Bats\n\n### Of Bats\n"
    assert heading_levels(printed, levelled) == [True, True, True, False]
    flat = levelled.replace("###", "##")
    assert heading_levels(printed, flat) == [True, False, False, False]
    once = levelled.removesuffix("### Of Bats\n")
    assert heading_levels(printed, once) == [True, True, False, False]


def test_block_is_compared_with_its_own_part_of_the_page() -> None:
    page = (
        "A first paragraph that nobody asked about.\n\nThe second paragraph of this page, at last."
    )
    assert not is_wrong(ReadBlock("text", "The second paragraph of\nthis page, at last."), page)
    assert is_wrong(ReadBlock("text", "The sekond parakraph ob this bage, at last."), page)
    assert is_wrong(ReadBlock("text", "Quite another thing was written in this place here."), page)


def test_area_under_the_curve_of_hand_cases() -> None:
    assert auroc([True, False, False], [0.1, 0.8, 0.9]) == 1.0
    assert auroc([True, False], [0.9, 0.1]) == 0.0
    assert auroc([True, False], [0.5, 0.5]) == 0.5
    assert auroc([False, False], [0.5, 0.5]) is None
