"""Blocks that claim to stand in a margin and do not."""

import pytest

from ocrcli.blocks import parse_markup
from ocrcli.document import Block, BlockType
from ocrcli.margin_matter import settled
from ocrcli.textstyle import TextStyle
from ocrcli.writers.text import page_text

LEFT, RIGHT, WHOLE = (50, 480), (520, 950), (50, 950)


def block(kind, top, bottom, sides=WHOLE, text="words"):
    return Block(BlockType(kind), text, (sides[0], top, sides[1], bottom))


def kinds(*blocks):
    return [str(found.type) for found in settled(blocks)]


@pytest.mark.parametrize("body", ["text", "title", "list", "table", "code"])
@pytest.mark.parametrize("kind", ["footnote", "footer"])
def test_foot_matter_above_the_body_is_text(kind, body):
    assert kinds(block("text", 50, 300), block(kind, 310, 400), block(body, 420, 800)) == [
        "text",
        "text",
        body,
    ]


def test_header_below_the_body_is_text():
    assert kinds(block("text", 50, 300), block("header", 310, 330)) == ["text", "text"]


def test_page_number_amid_the_body_is_text():
    above, below = block("text", 50, 300), block("text", 420, 800)
    assert kinds(above, block("page_number", 350, 360), below) == ["text"] * 3
    assert kinds(above, block("page_number", 820, 830)) == ["text", "page_number"]
    assert kinds(block("page_number", 20, 30), below) == ["page_number", "text"]


def test_what_stands_in_a_margin_stays():
    page = [
        block("header", 20, 40),
        block("text", 50, 700),
        block("footnote", 710, 800),
        block("footnote", 810, 850),
        block("footer", 900, 920),
        block("page_number", 930, 940),
    ]
    assert settled(page) == page


def test_other_columns_do_not_count():
    page = [
        block("text", 50, 700, LEFT),
        block("footnote", 710, 800, LEFT),
        block("text", 50, 900, RIGHT),
    ]
    assert settled(page) == page


def test_boxes_may_be_a_little_off():
    page = [block("text", 50, 720), block("footnote", 700, 800), block("text", 760, 830)]
    assert settled(page) == page


def test_blocks_without_a_place_or_text_do_not_count():
    page = [
        Block(BlockType.FOOTNOTE, "words"),
        block("footnote", 50, 80),
        Block(BlockType.TEXT, "words"),
        block("text", 90, 200, text=""),
        block("caption", 90, 200),
    ]
    assert settled(page) == page


def test_paragraph_stays_in_its_place():
    markup = "".join(
        f"<|det|>{kind} [50, {top}, 950, {top + 90}]<|/det|>{text}\n"
        for kind, top, text in [
            ("text", 100, "First"),
            ("footnote", 200, "3 October"),
            ("text", 300, "Last"),
            ("footnote", 800, "* A note"),
        ]
    )
    blocks = parse_markup(markup, 600, 800).blocks
    assert [str(found.type) for found in blocks] == ["text", "text", "text", "footnote"]
    assert page_text(blocks, TextStyle()).split("\n\n") == [
        "First",
        "3 October",
        "Last",
        "* A note",
    ]
