"""The verdict on a page."""

from dataclasses import replace

import numpy as np
import pytest

from ocrcli.confidence import TokenTrace
from ocrcli.document import Notice, PageFacts, PageFailure, PageStatus
from ocrcli.ink import ink_map
from ocrcli.records import (
    MAX_INVENTED_CHARACTERS,
    MIN_CONFIDENCE,
    MIN_KEPT_CONFIDENCE,
    MIN_LOST_CONFIDENCE,
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
        ("a long guess " * MAX_INVENTED_CHARACTERS, MIN_KEPT_CONFIDENCE - 0.01),
    ],
)
def test_low_confidence_is_suspect(fakes, text, confidence):
    facts = replace(FACTS, ink_pixels=100 * len(text))
    page = finished_page(facts, fakes.result(4, fakes.block(text), confidence=confidence))
    assert page.status is PageStatus.SUSPECT
    assert codes(page) == ["inverted", "low_confidence"]
    assert page.text == text.strip()


def test_short_text_that_the_model_did_not_believe_in_is_dropped(fakes):
    confidence = MIN_KEPT_CONFIDENCE - 0.01
    page = finished_page(FACTS, fakes.result(4, fakes.block("guess"), confidence=confidence))
    assert page.status is PageStatus.EMPTY
    assert codes(page) == ["inverted", "text_dropped", "empty"]
    assert (
        page.warnings[1].detail
        == f"5 characters with a mean confidence of {confidence:.2f} were dropped"
    )
    assert (page.text, page.markdown, page.markup, page.blocks) == ("", "", "", ())


def test_short_text_that_is_no_reading_of_the_ink_is_dropped(fakes):
    little = fakes.result(4, fakes.block("guess"), confidence=MIN_LOST_CONFIDENCE - 0.01)
    page = finished_page(FACTS, little)
    assert (page.status, page.text) == (PageStatus.EMPTY, "")
    sure = fakes.result(4, fakes.block("A"), confidence=MIN_LOST_CONFIDENCE)
    assert finished_page(FACTS, sure).text == "A"


def test_lines_read_as_dashes_lend_no_belief_to_the_words_among_them(fakes):
    markup = fakes.block(f"EHTM\n{'-' * 200}")
    result = fakes.result(4, markup, confidence=0.99)
    guesses = [0.4 if sign in "EHTM" else 0.99 for sign in markup]
    page = finished_page(
        replace(FACTS, ink_pixels=5000),
        replace(result, trace=TokenTrace(result.trace.ends, tuple(guesses))),
    )
    assert (page.status, page.text) == (PageStatus.EMPTY, "")
    assert "204 characters with a mean confidence of 0.40" in page.warnings[1].detail


@pytest.mark.parametrize("text", ["I " * 21, "|\n" * 8, "-" * 300, ". . . . . . - -"])
def test_lines_and_dots_read_as_characters_are_dropped(fakes, text):
    facts = replace(FACTS, ink_pixels=100_000)
    page = finished_page(facts, fakes.result(4, fakes.block(text), confidence=0.99))
    assert (page.status, page.text) == (PageStatus.EMPTY, "")
    assert codes(page)[1] == "text_dropped"


@pytest.mark.parametrize("text", ["101010101010", "I I I", "III. Ill-lit", "-" * 401])
def test_text_that_merely_looks_like_lines_is_kept(fakes, text):
    page = finished_page(FACTS, fakes.result(4, fakes.block(text), confidence=0.99))
    assert page.text == text


def test_marks_alone_are_judged_by_themselves(fakes):
    assert finished_page(FACTS, fakes.result(4, fakes.block("* * *"))).text == "* * *"


def test_figures_stay_when_text_is_dropped(fakes):
    figure = fakes.block("", "image")
    markup = f"{figure}\n{fakes.block('guess')}"
    page = finished_page(FACTS, fakes.result(4, markup, confidence=0.3))
    assert page.status is PageStatus.SUSPECT
    assert (page.markup, page.text) == (figure, "")
    assert [block.type for block in page.blocks] == ["figure"]


def test_confidence_of_boxes_raises_no_doubt(fakes):
    page = finished_page(FACTS, fakes.result(4, fakes.block("", "image"), confidence=0.1))
    assert page.status is PageStatus.OK


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
