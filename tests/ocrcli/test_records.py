"""The verdict on a page."""

from dataclasses import replace

import numpy as np
import pytest

from ocrcli.document import Notice, PageFacts, PageFailure, PageStatus
from ocrcli.ink import ink_map
from ocrcli.records import blank_page, failed_page, finished_page, is_blank

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


def test_page_with_a_figure_alone_is_ok(fakes):
    assert finished_page(FACTS, fakes.result(4, fakes.block("", "image"))).status is PageStatus.OK


def test_more_text_than_ink_is_suspect(fakes):
    little = PageFacts(4, width_pt=600, height_pt=800, ink_pixels=100)
    page = finished_page(little, fakes.result(4, fakes.block("a fluent invention of the model")))
    assert page.status is PageStatus.SUSPECT
    assert codes(page) == ["more_text_than_ink"]


def test_low_confidence_is_suspect(fakes):
    page = finished_page(FACTS, fakes.result(4, fakes.block("guess"), confidence=0.3))
    assert page.status is PageStatus.SUSPECT
    assert codes(page) == ["inverted", "low_confidence"]


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
    pixels[100:120, 100:600] = 0
    pixels[1100:1120, 100:150] = 0
    return replace(FACTS, ink_pixels=11_000, ink=ink_map(pixels))


def test_ink_that_no_block_accounts_for_is_suspect(fakes):
    markup = "<|det|>text [100, 75, 640, 100]<|/det|>Only the first line"
    page = finished_page(ink_in_two_places(), fakes.result(4, markup))
    assert page.status is PageStatus.SUSPECT
    assert codes(page) == ["inverted", "unread_ink"]
    assert page.warnings[-1].detail == "9% of the ink lies outside everything that was read"


def test_ink_inside_the_blocks_raises_no_doubt(fakes):
    markup = (
        "<|det|>text [100, 75, 640, 100]<|/det|>First\n<|det|>text [100, 850, 170, 880]<|/det|>Last"
    )
    assert finished_page(ink_in_two_places(), fakes.result(4, markup)).status is PageStatus.OK


def test_blocks_without_a_place_raise_no_doubt(fakes):
    assert finished_page(ink_in_two_places(), fakes.result(4, "Text alone")).status is PageStatus.OK
