"""What two bands both show is kept once."""

import pytest

from ocrcli.band_seams import joined, without_repetition
from ocrcli.confidence import Confidence
from ocrcli.document import Block, BlockType


def block(first, last, top, words=None, **more):
    """Return a block of numbered lines, ten points each."""
    texts = words or [f"This is line number {number:04d}" for number in range(first, last + 1)]
    bottom = top + 10 * len(texts)
    return Block(BlockType.TEXT, "\n".join(texts), bbox=(0, top, 100, bottom), **more)


def text(blocks):
    return "\n".join(each.text for each in blocks).split("\n")


def numbers(blocks):
    return [int(line[-4:]) for line in text(blocks)]


@pytest.mark.parametrize("shift", [-9, -4, 0, 4, 9])
def test_every_line_is_kept_once_even_if_places_are_off(shift):
    above, below = [block(0, 49, 0)], [block(40, 90, 400 + shift)]
    assert numbers(sum(without_repetition(above, below, (400, 500)), [])) == list(range(91))


def test_lines_that_were_cut_by_an_edge_go():
    above = [block(0, 48, 0), block(0, 0, 490, ["Th1s 1s 11ne"])]
    below = [block(0, 0, 395, ["lo uoqunu"]), block(41, 90, 410)]
    assert numbers(sum(without_repetition(above, below, (395, 500)), [])) == list(range(91))


def test_places_decide_where_no_line_was_read_alike():
    above = [block(0, 0, 400, ["alpha", "beta", "gamma", "delta"])]
    below = [block(0, 0, 400, ["one", "two", "three", "four"])]
    kept = sum(without_repetition(above, below, (400, 440)), [])
    assert text(kept) == ["alpha", "beta", "three", "four"]


def test_what_only_one_band_shows_stays():
    above, below = [block(0, 9, 0)], [block(10, 20, 500)]
    assert without_repetition(above, below, (400, 500)) == (above, below)


def test_table_is_kept_by_one_band():
    table = Block(BlockType.TABLE, "a\tb\nc\td", bbox=(0, 410, 90, 440), html="<table>…</table>")
    for zone in ((400, 500), (350, 450)):
        kept = sum(without_repetition([table], [table], zone), [])
        assert kept == [table]


def test_boxes_shrink_with_their_text():
    above, _ = without_repetition([block(0, 49, 0)], [block(40, 90, 400)], (400, 500))
    (first,) = above
    assert first.bbox[3] == pytest.approx(10 * len(first.text.split("\n")))


class TestJoining:
    def test_paragraph_that_was_cut_is_one_again(self):
        one = block(0, 3, 0, confidence=Confidence(0.9, 0.5))
        other = block(4, 4, 42, confidence=Confidence(0.4, 0.2))
        (whole,) = joined([one], [other])
        assert numbers([whole]) == [0, 1, 2, 3, 4]
        assert whole.bbox == (0, 0, 100, 52)
        assert whole.confidence.min == 0.2
        assert 0.79 < whole.confidence.mean < 0.81

    def test_paragraphs_stay_apart(self):
        assert len(joined([block(0, 3, 0)], [block(4, 6, 55)])) == 2

    def test_blocks_of_two_kinds_stay_apart(self):
        title = Block(BlockType.TITLE, "Title", bbox=(0, 40, 50, 50))
        assert len(joined([block(0, 3, 0)], [title])) == 2
