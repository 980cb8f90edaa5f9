"""Markdown output."""

import pytest

from ocrcli.blocks import parse_markup
from ocrcli.document import Document, Page, PageFacts, PageStatus, Source
from ocrcli.writers import MarkdownWriter, page_markdown

SOURCE = Source("a.pdf", "0" * 64, 3, 3)


def markdown(text, label="text"):
    return page_markdown(parse_markup(f"<|det|>{label} [0, 0, 9, 9]<|/det|>{text}", 9, 9).blocks)


def test_title_becomes_a_heading_on_one_line():
    assert markdown("1. A *long*\ntitle", "title") == r"# 1. A \*long\* title"


def test_paragraph_becomes_one_line():
    assert markdown("first\nsecond") == "first second"


@pytest.mark.parametrize("bullet", ["•", "-", "–", "*", "◦"])
def test_bullets_become_list_items(bullet):
    text = f"{bullet} one\n{bullet} two which\ngoes on\n  {bullet} three"
    assert markdown(text, "list") == "- one\n- two which goes on\n- three"


def test_numbers_of_a_list_are_kept():
    assert markdown("3. c\n4) d", "list") == "3. c\n4) d"


def test_list_without_marks_is_an_item():
    assert markdown("just\nwords", "list") == "- just words"


@pytest.mark.parametrize("text", [r"\[x\]", "$$x$$", r"\( x \)", "x", "$x$"])
def test_formula_is_set_between_dollars(text):
    assert markdown(text, "equation") == "$$\nx\n$$"


def test_code_keeps_its_lines_and_outgrows_its_fences():
    assert markdown("a\n  ```b", "code") == "````\na\n  ```b\n````"


def test_rectangular_table_becomes_pipes():
    table = "<table><tr><th>a</th><th>b|c</th></tr><tr><td>1</td><td></td></tr></table>"
    assert markdown(table, "table") == "| a | b\\|c |\n| --- | --- |\n| 1 |  |"


def test_table_with_spans_becomes_html():
    table = (
        "<table><tr><th colspan=2>h</th></tr><tr><th>r</th><td onclick=x>1 < 2</td></tr></table>"
    )
    assert markdown(table, "table") == (
        '<table>\n<tr><th scope="col" colspan="2">h</th></tr>\n'
        '<tr><th scope="row">r</th><td>1 &lt; 2</td></tr>\n</table>'
    )


def test_table_block_without_table_markup_is_text():
    assert markdown("a | b", "table") == r"a \| b"


def test_figure_without_text_leaves_no_trace():
    assert markdown("", "image") == ""


def written(*pages):
    writer = MarkdownWriter()
    pieces = [writer.page(SOURCE, page) for page in pages]
    return "".join(pieces) + writer.document(Document(SOURCE)) + writer.end()


def test_pages_are_marked():
    pages = [Page(1, PageStatus.OK, markdown="# A"), Page(2, PageStatus.BLANK)]
    assert written(*pages) == "<!-- page: 1 -->\n\n# A\n\n<!-- page: 2 -->\n"


@pytest.mark.parametrize(
    ("label", "mark"),
    [
        ("iii", "<!-- page: 3 label: iii -->"),
        ("3", "<!-- page: 3 -->"),
        ("a-->b", "<!-- page: 3 label: a- ->b -->"),
    ],
)
def test_printed_number_is_part_of_the_mark(label, mark):
    page = Page(3, PageStatus.BLANK, facts=PageFacts(3, label=label))
    assert written(page) == f"{mark}\n"
