"""Short texts that are no reading of a page."""

from dataclasses import replace

import pytest

from ocrcli.confidence import TokenTrace
from ocrcli.document import PageFacts, PageStatus
from ocrcli.inventions import (
    MAX_INVENTED_CHARACTERS,
    MIN_BELIEVED_CONFIDENCE,
    MIN_KEPT_CONFIDENCE,
    MIN_REPEATED_CONFIDENCE,
)
from ocrcli.records import finished_page

FACTS = PageFacts(4, width_pt=600, height_pt=800, dpi=115, ink_pixels=50_000)
WORD = "LITTLE"
PROSE = "the quick brown fox jumps over the lazy dog "


def codes(page):
    return [notice.code for notice in page.warnings]


def test_short_text_that_the_model_did_not_believe_in_is_dropped(fakes):
    confidence = MIN_KEPT_CONFIDENCE - 0.01
    page = finished_page(FACTS, fakes.result(4, fakes.block("guess"), confidence=confidence))
    assert page.status is PageStatus.EMPTY
    assert codes(page) == ["text_dropped", "empty"]
    assert (
        page.warnings[0].detail
        == f"5 characters with a mean confidence of {confidence:.2f} were dropped"
    )
    assert (page.text, page.markdown, page.markup, page.blocks) == ("", "", "", ())


def test_long_text_is_kept_however_unsure_it_is(fakes):
    text = "a long guess " * MAX_INVENTED_CHARACTERS
    facts = replace(FACTS, ink_pixels=100 * len(text))
    result = fakes.result(4, fakes.block(text), confidence=MIN_KEPT_CONFIDENCE - 0.01)
    assert finished_page(facts, result).text == text.strip()


def test_short_text_that_is_no_reading_of_the_ink_is_dropped(fakes):
    little = fakes.result(4, fakes.block("guess"), confidence=MIN_BELIEVED_CONFIDENCE - 0.01)
    page = finished_page(FACTS, little)
    assert (page.status, page.text) == (PageStatus.EMPTY, "")
    sure = fakes.result(4, fakes.block("A"), confidence=MIN_BELIEVED_CONFIDENCE)
    assert finished_page(FACTS, sure).text == "A"


@pytest.mark.parametrize(
    ("text", "believed"),
    [
        ("H\n" * 10, MIN_REPEATED_CONFIDENCE),
        ("HITITI\nEHITTI\n" * 3, MIN_REPEATED_CONFIDENCE),
        (WORD * 8, MIN_REPEATED_CONFIDENCE),
        ("9 9 9 6", MIN_BELIEVED_CONFIDENCE),
        ("C e", MIN_BELIEVED_CONFIDENCE),
        ("€", MIN_BELIEVED_CONFIDENCE),
    ],
)
def test_text_of_few_letters_is_dropped_unless_the_model_was_sure(fakes, text, believed):
    facts = replace(FACTS, ink_pixels=100 * len(text))
    unsure = fakes.result(4, fakes.block(text), confidence=believed - 0.01)
    page = finished_page(facts, unsure)
    assert (page.status, page.text) == (PageStatus.EMPTY, "")
    assert codes(page) == ["text_dropped", "empty"]
    sure = fakes.result(4, fakes.block(text), confidence=believed + 0.01)
    assert finished_page(facts, sure).text == text.strip()


@pytest.mark.parametrize(
    "text", ["Page 7", "1984", WORD, "10:35 11:20 12:50", "123456789 " * 8, PROSE]
)
def test_text_of_many_letters_is_kept_with_a_little_belief(fakes, text):
    facts = replace(FACTS, ink_pixels=100 * len(text))
    result = fakes.result(4, fakes.block(text), confidence=MIN_KEPT_CONFIDENCE + 0.01)
    assert finished_page(facts, result).text == text.strip()


def test_a_word_is_doubted_where_it_is_repeated_often_enough(fakes):
    sure, kept = MIN_KEPT_CONFIDENCE + 0.01, []
    for often in (1, 2, 3, 4):
        result = fakes.result(4, fakes.block(f"{WORD} " * often), confidence=sure)
        kept.append(bool(finished_page(replace(FACTS, ink_pixels=2400), result).text))
    assert kept == [True, True, False, False]


def test_lines_read_as_dashes_lend_no_belief_to_the_words_among_them(fakes):
    markup = fakes.block(f"EHTM\n{'-' * 200}")
    result = fakes.result(4, markup, confidence=0.99)
    guesses = [0.4 if sign in "EHTM" else 0.99 for sign in markup]
    page = finished_page(
        replace(FACTS, ink_pixels=5000),
        replace(result, trace=TokenTrace(result.trace.ends, tuple(guesses))),
    )
    assert (page.status, page.text) == (PageStatus.EMPTY, "")
    assert "204 characters with a mean confidence of 0.40" in page.warnings[0].detail


def test_lines_do_not_make_a_text_long(fakes):
    markup = fakes.block("FILITIFIFIFIFIFIFI\n" + "\n".join(["_" * 132] * 4))
    result = fakes.result(4, markup, confidence=0.94)
    assert finished_page(replace(FACTS, ink_pixels=20_000), result).text == ""


@pytest.mark.parametrize("text", ["I " * 21, "|\n" * 8, "-" * 300, ". . . . . . - -"])
def test_lines_and_dots_read_as_characters_are_dropped(fakes, text):
    facts = replace(FACTS, ink_pixels=100_000)
    page = finished_page(facts, fakes.result(4, fakes.block(text), confidence=0.99))
    assert (page.status, page.text) == (PageStatus.EMPTY, "")
    assert codes(page)[0] == "text_dropped"


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
