"""Counting pages and judging documents."""

import pytest

from ocrcli.document import (
    Document,
    Page,
    PageFacts,
    PageSeconds,
    PageStatus,
    Source,
    TokenCounts,
)


@pytest.fixture
def document() -> Document:
    return Document(Source("a.pdf", "0" * 64, 3, 3))


def test_document_with_good_and_blank_pages_is_ok(document):
    document.add(Page(1, PageStatus.OK))
    document.add(Page(2, PageStatus.BLANK))
    assert (document.status, document.num_pages, document.num_degraded) == ("ok", 2, 0)


@pytest.mark.parametrize("status", ["empty", "truncated", "loop", "suspect"])
def test_doubtful_page_degrades_the_document(document, status):
    document.add(Page(1, PageStatus(status)))
    assert document.status == "degraded"


def test_failed_page_fails_the_document(document):
    document.add(Page(1, PageStatus.LOOP))
    document.add(Page(2, PageStatus.ERROR))
    assert document.status == "failed"
    assert document.failed_pages == [2]


def test_document_adds_up_tokens_and_seconds(document):
    for number in (1, 2):
        document.add(
            Page(
                number,
                PageStatus.OK,
                tokens=TokenCounts(10, 5),
                seconds=PageSeconds(1.0, 2.0, 3.0, 4.0),
            )
        )
    assert document.tokens == TokenCounts(20, 10)
    assert document.stages == PageSeconds(2.0, 4.0, 6.0, 8.0)
    assert document.stages.total == 20.0


def test_ink_ratio_of_a_page_without_a_picture_is_zero():
    assert PageFacts(1).ink_ratio == 0.0
    assert PageFacts(1, image_width=10, image_height=10, ink_pixels=25).ink_ratio == 0.25
