"""Levels of headings in Markdown."""

import pytest

from ocrcli.document import Block, BlockType
from ocrcli.writers.headings import heading_levels
from ocrcli.writers.markdown import page_markdown

BODY = Block(BlockType.TEXT, "one\ntwo\nthree", (100, 500, 900, 534))  # lines of 10 thousandths


def title(text, height, top=100):
    return Block(BlockType.TITLE, text, (100, top, 900, top + height))


@pytest.mark.parametrize(
    ("text", "height", "level"),
    [
        ("A Title", 20, 1),
        ("A Section", 15, 2),
        ("A small heading", 11, 3),
        ("6 Programming", 11, 1),
        ("6.11.3 Rest arguments", 20, 3),
        ("2. Methods", 11, 1),
        ("Chapter 4", 11, 1),
        ("Kapitel 4", 11, 1),
        ("1939", 11, 3),
        ("On two lines\nof large type", 44, 1),
    ],
)
def test_number_or_size_tells_the_level(text, height, level):
    assert heading_levels([title(text, height), BODY]) == {0: level}


def test_no_level_is_skipped_on_the_way_down():
    blocks = [title("1 First", 20), title("1.1.1 Deep", 11), BODY, title("Small", 11)]
    assert heading_levels(blocks) == {0: 1, 1: 2, 3: 2}
    assert heading_levels([title("Large", 20), title("Small", 11), BODY]) == {0: 1, 1: 2}


def test_titles_of_one_size_have_one_level():
    blocks = [title("Large", 20), title("One", 11), BODY, title("Two", 12), title("Three", 11.4)]
    assert heading_levels(blocks) == {0: 1, 1: 2, 3: 2, 4: 2}
    # Whatever the order: a small one may come first.
    assert heading_levels([title("One", 11), title("Large", 20), BODY]) == {0: 2, 1: 1}


def test_sizes_that_differ_clearly_are_two_levels():
    assert heading_levels([title("A", 32), title("B", 23), BODY]) == {0: 1, 1: 2}
    # The usual 1.5 and 1.2 of 12, as whole thousandths of the page.
    body = Block(BlockType.TEXT, "one\ntwo\nthree", (100, 500, 900, 541))
    assert heading_levels([title("A", 17), title("B", 15), body]) == {0: 2, 1: 3}


def test_page_without_running_text_or_boxes_begins_with_the_first_level():
    assert heading_levels([title("A", 20), title("B", 10)]) == {0: 1, 1: 2}
    assert heading_levels([Block(BlockType.TITLE, "A"), BODY]) == {0: 1}
    assert heading_levels([Block(BlockType.TITLE, "A"), title("B", 20), BODY]) == {0: 2, 1: 1}


def test_markdown_writes_levels():
    assert page_markdown([title("A Section", 15), BODY]).startswith("## A Section\n\n")
