"""The verdict on a page."""

from dataclasses import replace

import numpy as np
import pytest
from made_pixels import page_of_print, photograph

from ocrcli.confidence import TokenTrace
from ocrcli.document import Notice, PageFacts, PageFailure, PageStatus
from ocrcli.ink import ink_map
from ocrcli.records import (
    MIN_BLOCK_CONFIDENCE,
    MIN_CONFIDENCE,
    MIN_UNSURE_CHARACTERS,
    blank_page,
    failed_page,
    finished_page,
    is_blank,
)

FACTS = PageFacts(
    4,
    width_pt=600,
    height_pt=800,
    image_width=960,
    image_height=1280,
    dpi=115,
    ink_pixels=50_000,
    warnings=(Notice("inverted", "turned over"),),
    seconds=0.125,
)


def codes(page):
    return [notice.code for notice in page.warnings]


def test_page_that_was_read_to_its_end_is_ok(fakes):
    page = finished_page(FACTS, fakes.result(4, fakes.block("Hello", "title")))
    assert (page.page_number, page.status) == (4, PageStatus.OK)
    assert (page.text, page.markdown) == ("Hello", "# Hello")
    assert page.markup == fakes.block("Hello", "title")
    assert page.tokens.prompt == 1200
    assert page.seconds.total == 0.125 + 0.25 + 0.5 + 1.0
    assert page.confidence.mean == 0.99
    assert codes(page) == ["inverted"]


@pytest.mark.parametrize(("finish", "status"), [("length", "truncated"), ("loop", "loop")])
def test_cut_pages_keep_their_text_and_say_so(fakes, finish, status):
    page = finished_page(FACTS, fakes.result(4, fakes.block("Half"), finish))
    assert page.status == status
    assert page.text == "Half"
    assert codes(page) == ["inverted", status]


@pytest.mark.parametrize("markup", ["", "<|det|>text [1, 2, 3, 4]<|/det|>"])
def test_nothing_read_on_a_page_with_ink_is_empty(fakes, markup):
    assert finished_page(FACTS, fakes.result(4, markup)).status is PageStatus.EMPTY


def test_turned_page_says_so_where_something_was_read(fakes):
    page = finished_page(FACTS, fakes.result(4, fakes.block("Hello"), rotation=270))
    assert (page.rotation, codes(page)) == (270, ["inverted", "rotated"])
    empty = finished_page(FACTS, fakes.result(4, "", rotation=270))
    assert (empty.rotation, codes(empty)) == (0, ["inverted", "empty"])


def test_page_with_a_figure_alone_is_ok(fakes):
    assert finished_page(FACTS, fakes.result(4, fakes.block("", "image"))).status is PageStatus.OK


def test_picture_that_looks_like_print_is_suspect(fakes):
    for pixels, status in ((page_of_print(), PageStatus.SUSPECT), (photograph(), PageStatus.OK)):
        facts = replace(FACTS, warnings=(), ink=ink_map(pixels))
        picture = fakes.block("", "image")
        page = finished_page(facts, fakes.result(4, picture))
        assert page.status is status
        assert codes(page) == (["unread_ink"] if status is PageStatus.SUSPECT else [])
        # Where some text was read, labels of the picture look like print.
        both = finished_page(facts, fakes.result(4, f"{picture}\n{fakes.block('Fig. 1')}"))
        assert both.status is PageStatus.OK


def test_more_text_than_ink_is_suspect(fakes):
    little = PageFacts(4, width_pt=600, height_pt=800, ink_pixels=100)
    page = finished_page(little, fakes.result(4, fakes.block("a fluent invention of the model")))
    assert page.status is PageStatus.SUSPECT
    assert codes(page) == ["more_text_than_ink"]


@pytest.mark.parametrize(
    ("text", "confidence"),
    [
        ("half a guess " * 100, MIN_CONFIDENCE - 0.01),
        ("half a guess " * 10, MIN_CONFIDENCE - 0.01),
    ],
)
def test_low_confidence_is_suspect(fakes, text, confidence):
    facts = replace(FACTS, ink_pixels=100 * len(text))
    page = finished_page(facts, fakes.result(4, fakes.block(text), confidence=confidence))
    assert page.status is PageStatus.SUSPECT
    assert codes(page) == ["inverted", "low_confidence"]
    assert page.text == text.strip()


def test_confidence_of_boxes_raises_no_doubt(fakes):
    page = finished_page(FACTS, fakes.result(4, fakes.block("", "image"), confidence=0.1))
    assert page.status is PageStatus.OK


@pytest.mark.parametrize(
    ("length", "sure", "is_doubted"),
    [
        (MIN_UNSURE_CHARACTERS, MIN_BLOCK_CONFIDENCE - 0.01, True),
        (MIN_UNSURE_CHARACTERS - 1, MIN_BLOCK_CONFIDENCE - 0.01, False),
        (MIN_UNSURE_CHARACTERS, MIN_BLOCK_CONFIDENCE + 0.01, False),
    ],
)
def test_unsure_blocks_on_a_sure_page_are_suspect(fakes, length, sure, is_doubted):
    prose = fakes.block(
        "a line that is read well, and many more of them " * 20, box="0, 0, 999, 500"
    )
    stamped = "Q" * (length - length // 2), "W" * (length // 2)
    # How sure it was of a picture's place says nothing.
    picture = fakes.block("", "image")
    markup = "\n".join(
        [prose, picture, *(fakes.block(text, box="0, 500, 999, 999") for text in stamped)]
    )
    result = fakes.result(4, markup, confidence=0.99)
    drawn = range(len(prose) + 1, len(prose) + 1 + len(picture))
    known = {"Q": sure - 0.02, "W": sure}
    guesses = [0.3 if i in drawn else known.get(c, 0.999) for i, c in enumerate(markup)]
    trace = TokenTrace(result.trace.ends, tuple(guesses))
    page = finished_page(FACTS, replace(result, trace=trace))
    assert (page.status is PageStatus.SUSPECT) is is_doubted
    assert ("low_confidence" in codes(page)) is is_doubted
    if is_doubted:
        assert page.warnings[-1].detail.endswith('begins "QQQQQQQQQQ"')


def test_error_of_the_engine_is_an_error_page(fakes):
    page = finished_page(FACTS, fakes.result(4, "", "error", "out of blocks"))
    assert (page.status, page.error) == (PageStatus.ERROR, "out of blocks")


def test_failure_becomes_an_error_page():
    page = failed_page(PageFailure(PageFacts(2), "broken"))
    assert (page.page_number, page.status, page.error) == (2, PageStatus.ERROR, "broken")


def test_page_without_ink_is_blank():
    facts = PageFacts(1, dpi=116, ink_pixels=8)
    assert is_blank(facts)
    assert blank_page(facts).status is PageStatus.BLANK
    assert not is_blank(FACTS)


def test_page_too_large_to_show_its_ink_is_suspect():
    page = blank_page(PageFacts(1, dpi=0.5))
    assert page.status is PageStatus.SUSPECT
    assert codes(page) == ["illegible_size"]


def ink_in_two_places():
    pixels = np.full((1280, 960), 255, np.uint8)
    for left in range(100, 600, 10):
        pixels[100:120, left : left + 6] = 0
    for left in range(100, 150, 10):
        pixels[1100:1120, left : left + 6] = 0
    return replace(FACTS, ink_pixels=6_600, ink=ink_map(pixels))


def test_ink_that_no_block_accounts_for_is_suspect(fakes):
    markup = "<|det|>text [100, 75, 640, 100]<|/det|>Only the first line"
    page = finished_page(ink_in_two_places(), fakes.result(4, markup))
    assert page.status is PageStatus.SUSPECT
    assert codes(page) == ["inverted", "unread_ink"]
    assert page.warnings[-1].detail == "9% of the print lies outside everything that was read"


def test_rules_outside_the_blocks_raise_no_doubt(fakes):
    pixels = np.full((1280, 960), 255, np.uint8)
    for left in range(100, 600, 10):
        pixels[100:120, left : left + 6] = 0
    pixels[60:62, 100:900] = 0
    pixels[1200:1230, 100:900] = 210
    ruled = replace(FACTS, ink=ink_map(pixels))
    markup = "<|det|>text [100, 75, 640, 100]<|/det|>Only line"
    assert finished_page(ruled, fakes.result(4, markup)).status is PageStatus.OK


def test_ink_inside_the_blocks_raises_no_doubt(fakes):
    markup = (
        "<|det|>text [100, 75, 640, 100]<|/det|>First\n<|det|>text [100, 850, 170, 880]<|/det|>Last"
    )
    assert finished_page(ink_in_two_places(), fakes.result(4, markup)).status is PageStatus.OK


@pytest.mark.parametrize(("confidence", "is_doubted"), [(0.5, True), (0.99, False)])
def test_doubtful_block_in_a_place_without_ink_is_suspect(fakes, confidence, is_doubted):
    read = (
        "<|det|>text [100, 75, 640, 100]<|/det|>First\n<|det|>text [100, 850, 170, 880]<|/det|>Last"
    )
    added = "\n<|det|>page_number [55, 400, 74, 410]<|/det|>Page 808"
    result = fakes.result(4, read + added)
    trace = TokenTrace(result.trace.ends, (0.99,) * len(read) + (confidence,) * len(added))
    page = finished_page(ink_in_two_places(), replace(result, trace=trace))
    assert ("text_without_ink" in codes(page)) == is_doubted
    assert (page.status is PageStatus.SUSPECT) == is_doubted


def test_ink_is_looked_for_where_the_page_was_turned_from(fakes):
    """A box at the turned page's left edge lies at the displayed page's lower one."""
    bottom = finished_page(
        ink_in_two_places(),
        fakes.result(4, "<|det|>text [80, 100, 180, 180]<|/det|>Last", rotation=90),
    )
    top = finished_page(
        ink_in_two_places(),
        fakes.result(4, "<|det|>text [890, 100, 930, 640]<|/det|>First", rotation=90),
    )
    assert bottom.warnings[-1].detail.startswith("91%")
    assert top.warnings[-1].detail.startswith("9%")


def test_blocks_without_a_place_raise_no_doubt(fakes):
    assert finished_page(ink_in_two_places(), fakes.result(4, "Text alone")).status is PageStatus.OK


def test_a_page_is_as_sure_as_its_text_whatever_its_boxes_are(fakes):
    header, text = "<|det|>text [1, 2, 3, 4]<|/det|>", "some words"
    result = fakes.result(1, header + text)
    sure = (0.01,) * len(header) + (0.9,) * (len(text) - 1) + (0.8,)
    page = finished_page(PageFacts(1), replace(result, trace=TokenTrace(result.trace.ends, sure)))
    assert page.confidence.min == 0.8
    assert page.confidence == page.blocks[0].confidence
    bare = replace(fakes.result(1, header), trace=TokenTrace(result.trace.ends, sure).part(0, 32))
    assert finished_page(PageFacts(1), bare).confidence.min == 0.01
