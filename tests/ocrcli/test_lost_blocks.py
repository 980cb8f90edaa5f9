"""Blocks that only another reading of a page holds."""

from dataclasses import replace

import numpy as np
import pytest

from ocrcli.confidence import Confidence
from ocrcli.document import Block, BlockType, Page, PageFacts, PageStatus
from ocrcli.ink import ink_map
from ocrcli.lost_blocks import MIN_CONFIDENCE, doubts_of_loss

BODY, FOOT = (50, 50, 950, 400), (400, 940, 600, 960)


def facts(foot=True):
    pixels = np.full((1000, 1000), 255, np.uint8)
    for row in range(60, 390, 30):
        pixels[row : row + 8, 60:900:3] = 0
    if foot:
        pixels[945:957, 420:560:3] = 0
    return PageFacts(1, ink=ink_map(pixels))


def block(text, box, sure=0.99):
    return Block(BlockType.TEXT, text, box=box, confidence=Confidence(sure, sure))


def page(*blocks, rotation=0, foot=True):
    text = "\n\n".join(one.text for one in blocks)
    return Page(
        1, PageStatus.OK, text, blocks=blocks, facts=facts(foot), rotation=rotation, attempts=1
    )


BODY_ONLY = page(block("First line\nlast line", BODY))
WITH_FOOT = page(block("First line\nlast line", BODY), block("Review 47", FOOT))


def test_block_of_another_reading_on_unread_print_is_missed():
    (doubt,) = doubts_of_loss(BODY_ONLY, [BODY_ONLY, WITH_FOOT, WITH_FOOT])
    assert doubt.code == "unread_ink"
    assert doubt.detail == 'another reading has "Review 47" where nothing was read'


def test_nothing_is_missed_where_it_was_read():
    assert doubts_of_loss(WITH_FOOT, [BODY_ONLY, WITH_FOOT]) == []
    other = page(block("First line\nlast line", BODY), block("Revieu 47", FOOT))
    assert doubts_of_loss(WITH_FOOT, [other]) == []


def test_nor_where_the_page_has_no_print_for_it():
    bare = page(block("First line\nlast line", BODY), foot=False)
    assert doubts_of_loss(bare, [WITH_FOOT]) == []


def test_nor_where_the_model_was_unsure_of_it():
    unsure = page(block("Review 47", FOOT, MIN_CONFIDENCE - 0.01))
    assert doubts_of_loss(BODY_ONLY, [unsure]) == []


@pytest.mark.parametrize("text", ["last line", "last  line\nand another one"])
def test_nor_where_a_line_of_it_is_kept_elsewhere(text):
    assert doubts_of_loss(BODY_ONLY, [page(block(text, FOOT))]) == []


def test_without_places_nothing_can_be_missed():
    assert doubts_of_loss(page(block("First line", None)), [WITH_FOOT]) == []
    assert doubts_of_loss(BODY_ONLY, [page(block("Review 47", None))]) == []
    assert doubts_of_loss(replace(BODY_ONLY, facts=PageFacts(1)), [WITH_FOOT]) == []


def test_places_are_those_of_the_page_as_it_was_turned():
    # Turned by half a turn the foot lies at the head.
    turned = page(block("Review 47", (399, 39, 599, 59)), rotation=180)
    assert len(doubts_of_loss(BODY_ONLY, [turned])) == 1
    assert doubts_of_loss(BODY_ONLY, [replace(turned, rotation=0)]) == []


def test_long_texts_are_cut():
    long = page(block("word " * 30, FOOT))
    pixels = np.full((1000, 1000), 255, np.uint8)
    pixels[940:966, 420:580:3] = 0
    (doubt,) = doubts_of_loss(replace(BODY_ONLY, facts=PageFacts(1, ink=ink_map(pixels))), [long])
    assert doubt.detail.count("word") == 8
    assert "…" in doubt.detail
