"""Markup to blocks: strict about what counts, lenient about losing text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocrcli.blocks import clean_text, parse_markup
from ocrcli.confidence import Confidence, TokenTrace
from ocrcli.document import BlockType


def parse(markup):
    return parse_markup(markup, 600, 800)


def codes(parsed):
    return [notice.code for notice in parsed.warnings]


def test_blocks_come_in_order_with_boxes_in_points():
    parsed = parse(
        "<PAGE><|det|>title [0, 0, 999, 100]<|/det|>Head\n"
        "<|det|>text [100, 200, 300, 400]<|/det|>One\ntwo\n"
    )
    first, second = parsed.blocks
    assert (first.type, first.text, first.box) == (BlockType.TITLE, "Head", (0, 0, 999, 100))
    assert first.bbox == (0.0, 0.0, 600.0, 80.08)
    assert second.text == "One\ntwo"
    assert parsed.warnings == ()


def test_no_markup_means_no_blocks():
    assert parse("").blocks == ()
    assert parse("<PAGE>\n").blocks == ()


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("image", "figure"),
        ("equation", "formula"),
        ("aside_text", "aside"),
        ("image_caption", "caption"),
        ("table caption", "caption"),
        ("Page-Number", "page_number"),
        ("footnote", "footnote"),
    ],
)
def test_labels_are_mapped(label, expected):
    parsed = parse(f"<|det|>{label} [1, 2, 3, 4]<|/det|>x")
    assert parsed.blocks[0].type == expected
    assert parsed.warnings == ()


def test_unknown_label_becomes_text_with_a_warning():
    parsed = parse("<|det|>stamp [1, 2, 3, 4]<|/det|>x")
    assert parsed.blocks[0].type is BlockType.TEXT
    assert codes(parsed) == ["unknown_label"]


@pytest.mark.parametrize(
    "markup",
    [
        "<|det|>title [1, 2, 3]<|/det|>kept",
        "<|det|>title [1, 2, 3, -4]<|/det|>kept",
        "<|det|>title [1.5, 2, 3, 4]<|/det|>kept",
        "<|det|>title<|/det|>kept",
        "<|det|>title []<|/det|>kept",
    ],
)
def test_bad_box_costs_the_box_and_neither_text_nor_type(markup):
    parsed = parse(markup)
    (block,) = parsed.blocks
    assert (block.type, block.text, block.box) == (BlockType.TITLE, "kept", None)
    assert codes(parsed) == ["malformed_block"]


@pytest.mark.parametrize("markup", ["<|det|>free words, no header", "<|det|>(1) a\nb"])
def test_text_that_follows_a_bare_tag_is_kept(markup):
    parsed = parse(markup)
    assert parsed.blocks[0].text == markup.removeprefix("<|det|>")
    assert codes(parsed) == ["malformed_block"]


def test_missing_end_tag_is_forgiven():
    (block,) = parse("<|det|>text [1, 2, 3, 4]kept").blocks
    assert (block.text, block.box) == ("kept", (1, 2, 3, 4))


@pytest.mark.parametrize("rest", ["", "te", "text [", "text [12, 4", "text [1, 2, 3, 4]"])
def test_header_cut_at_the_token_budget_leaves_no_text(rest):
    parsed = parse(f"<|det|>text [1, 2, 3, 4]<|/det|>kept\n<|det|>{rest}")
    assert [block.text for block in parsed.blocks if block.text] == ["kept"]


def test_text_before_the_first_block_is_kept():
    parsed = parse("lead<|det|>text [1, 2, 3, 4]<|/det|>x")
    assert [block.text for block in parsed.blocks] == ["lead", "x"]
    assert codes(parsed) == ["text_outside_block"]


def test_boxes_are_ordered_and_kept_on_the_page():
    parsed = parse("<|det|>text [900, 20, 10, 1200]<|/det|>x")
    assert parsed.blocks[0].box == (10, 20, 900, 999)
    assert codes(parsed) == ["box_corrected"]


def test_control_tokens_do_not_reach_the_text():
    parsed = parse("<|det|>text [1, 2, 3, 4]<|/det|>a<|int:7|> b<|/det|>[Non-Text]")
    assert parsed.blocks[0].text == "a b"
    assert codes(parsed) == ["stray_token"]


def test_figure_without_text_is_a_block():
    (block,) = parse("<|det|>image [0, 0, 999, 999]<|/det|>").blocks
    assert (block.type, block.text) == (BlockType.FIGURE, "")


def test_table_markup_is_kept_beside_its_text():
    markup = "<table><tr><td>a</td><td>b</td></tr></table>"
    (block,) = parse(f"<|det|>table [0, 0, 9, 9]<|/det|>{markup}").blocks
    assert (block.text, block.html) == ("a\tb", markup)


def test_same_warning_is_given_once():
    assert codes(parse("<|det|>stamp [1, 2, 3, 4]<|/det|>x" * 3)) == ["unknown_label"]


def test_text_is_composed_and_ligatures_are_spelled_out():
    assert clean_text("e\u0301 o\ufb03ce\r\nx\x00y\x1b[1m  \n") == "\u00e9 office\nxy[1m"


def test_superscripts_are_not_flattened():
    assert clean_text("x² ½ Ａ") == "x² ½ Ａ"


@given(st.text(alphabet="ab <|>det/[]0,12\n\x0c\ud800é", max_size=80))
def test_no_markup_whatever_raises(markup):
    for block in parse(markup).blocks:
        assert "\x0c" not in block.text


def traced(*tokens):
    """Return the markup and the trace of tokens, given as text and probability."""
    ends, markup = [], ""
    for text, _ in tokens:
        markup += text
        ends.append(len(markup))
    return markup, TokenTrace(tuple(ends), tuple(probability for _, probability in tokens))


def test_block_is_as_sure_as_the_tokens_of_its_text():
    markup, trace = traced(
        ("<|det|>", 0.1),
        ("text [1, 2, 3, 4]", 0.2),
        ("<|/det|>", 0.3),
        ("One", 1.0),
        ("\n", 0.5),
        ("<|det|>image [1, 2, 3, 4]", 0.6),
        ("<|/det|>", 0.8),
        ("<|det|>text [1, 2<|/det|>", 0.1),
        ("broken", 0.7),
    )
    parsed = parse_markup(markup, 9, 9, trace=trace)
    one, image, broken = parsed.blocks
    assert (one.text, one.confidence) == ("One", Confidence(0.75, 0.5))
    assert (image.text, image.confidence) == ("", Confidence(0.7, 0.6))
    assert (broken.text, broken.confidence) == ("broken", Confidence(0.7, 0.7))
    assert parsed.text_trace.probabilities == (1.0, 0.5, 0.7)


def test_text_outside_blocks_has_a_confidence_too():
    markup, trace = traced(("<PAGE>", 0.1), ("Loose", 0.3), ("<|det|>text [1, 2, 3, 4]", 0.9))
    loose, _ = parse_markup(markup, 9, 9, trace=trace).blocks
    assert (loose.text, loose.confidence.mean) == ("Loose", pytest.approx(0.2))


def test_words_are_told_from_dashes_line_feeds_and_tags():
    markup, trace = traced(
        ("<|det|>table [1, 2, 3, 4]<|/det|>", 0.1),
        ("<table><tr><td>", 0.9),
        (" A1", 0.3),
        (" ----", 0.8),
        ("</td></tr></table>", 0.9),
        ("\n", 0.9),
        ("<|det|>text [1, 2, 3, 4]<|/det|>", 0.1),
        ("été", 0.4),
        ("\n---", 0.9),
    )
    parsed = parse_markup(markup, 9, 9, trace=trace)
    assert parsed.word_trace.probabilities == (0.3, 0.4)
    assert parsed.text_trace.probabilities == (0.9, 0.3, 0.8, 0.9, 0.9, 0.4, 0.9)


def test_without_a_trace_blocks_have_no_confidence():
    assert parse("<|det|>text [1, 2, 3, 4]<|/det|>One").blocks[0].confidence is None
