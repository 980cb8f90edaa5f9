"""The options that change how blocks become text."""

import pytest

from ocrcli.blocks import parse_markup
from ocrcli.document import Page, PageFacts, PageStatus, Source
from ocrcli.textstyle import (
    Formulas,
    Hyphens,
    Layout,
    Margins,
    PageMarks,
    Tables,
    TextStyle,
)
from ocrcli.writers import MarkdownWriter, TextWriter, page_markdown, page_text

SOURCE = Source("a.pdf", "0" * 64, 2, 2)


def blocks(*pieces, raw=False):
    markup = "\n".join(f"<|det|>{label} [{box}]<|/det|>{text}" for label, box, text in pieces)
    return parse_markup(markup, 600, 800, raw=raw).blocks


def table(rows):
    return blocks(("table", "0, 0, 999, 999", f"<table>{rows}</table>"))


BODY = ("text", "100, 300, 900, 400", "Body")
MARGINS = blocks(
    ("page_number", "480, 960, 520, 980", "7"),
    BODY,
    ("footnote", "100, 900, 900, 940", "* note"),
    ("header", "100, 20, 900, 40", "Chapter"),
)


class TestLayout:
    def test_reading_puts_headers_first_and_foot_matter_last(self):
        assert page_text(MARGINS) == "Chapter\n\nBody\n\n* note\n\n7"

    def test_raw_keeps_the_order_of_the_model(self):
        assert page_text(MARGINS, TextStyle(layout=Layout.RAW)).startswith("7\n\nBody")

    def test_preserve_sets_columns_side_by_side(self):
        columns = blocks(
            ("text", "100, 100, 450, 200", "left one\nleft two"),
            ("text", "550, 100, 900, 200", "right one\nright two"),
        )
        lines = page_text(columns, TextStyle(layout=Layout.PRESERVE)).splitlines()
        assert [line.split() for line in lines] == [
            ["left", "one", "right", "one"],
            ["left", "two", "right", "two"],
        ]
        assert lines[0].index("right") == lines[1].index("right")


class TestHeaders:
    def test_can_be_dropped(self):
        style = TextStyle(headers=Margins.DROP)
        assert page_text(MARGINS, style) == "Body\n\n* note"

    def test_can_be_marked(self):
        style = TextStyle(headers=Margins.MARK)
        assert page_text(MARGINS, style).startswith("[header] Chapter")
        assert page_markdown(MARGINS, style).startswith("<!-- header -->\n\nChapter")


class TestHyphens:
    BROKEN = blocks(("text", "0, 0, 9, 9", "a long para-\ngraph of north-\nSouth and 12-\n34"))

    def test_plain_text_keeps_lines_unless_asked(self):
        assert page_text(self.BROKEN).startswith("a long para-\ngraph")
        safe = page_text(self.BROKEN, TextStyle(dehyphenate=Hyphens.SAFE))
        assert safe == "a long paragraph\nof north-\nSouth and 12-\n34"

    def test_markdown_mends_unless_told_not_to(self):
        assert page_markdown(self.BROKEN).startswith("a long paragraph of north-South")
        off = page_markdown(self.BROKEN, TextStyle(dehyphenate=Hyphens.OFF))
        assert off.startswith("a long para-graph")

    def test_code_is_never_mended(self):
        code = blocks(("code", "0, 0, 9, 9", "foo-\nbar"))
        assert page_text(code, TextStyle(dehyphenate=Hyphens.SAFE)) == "foo-\nbar"


class TestTables:
    PLAIN = table("<tr><th>a,b</th><th>c</th></tr><tr><td>1</td><td>2</td></tr>")
    SPANNING = table('<tr><td colspan="2">a</td></tr><tr><td>1</td><td>2</td></tr>')

    @pytest.mark.parametrize(
        ("form", "text"),
        [
            (Tables.AUTO, "a,b\tc\n1\t2"),
            (Tables.TSV, "a,b\tc\n1\t2"),
            (Tables.CSV, '"a,b",c\n1,2'),
            (Tables.MD, "| a,b | c |\n| --- | --- |\n| 1 | 2 |"),
        ],
    )
    def test_form_in_plain_text(self, form, text):
        assert page_text(self.PLAIN, TextStyle(tables=form)) == text

    def test_html_has_scopes_and_spans(self):
        style = TextStyle(tables=Tables.HTML)
        assert '<th scope="col">c</th>' in page_text(self.PLAIN, style)
        assert '<td colspan="2">a</td>' in page_markdown(self.SPANNING)

    def test_markdown_fences_separated_values(self):
        text = page_markdown(self.PLAIN, TextStyle(tables=Tables.CSV))
        assert text == '```csv\n"a,b",c\n1,2\n```'


class TestMath:
    FORMULA = blocks(("formula", "0, 0, 9, 9", r"$$\alpha x^2 \le \frac{1}{n_0}$$"))

    def test_latex_stays(self):
        assert page_markdown(self.FORMULA).startswith("$$\n\\alpha")

    def test_unicode_uses_signs(self):
        assert page_text(self.FORMULA, TextStyle(math=Formulas.UNICODE)) == "αx² ≤ 1/n₀"

    def test_strip_leaves_letters_and_digits(self):
        assert "\\" not in page_text(self.FORMULA, TextStyle(math=Formulas.STRIP))


def test_raw_keeps_ligatures():
    piece = ("text", "0, 0, 9, 9", "ﬁne oﬀer")
    assert page_text(blocks(piece)) == "fine offer"
    assert page_text(blocks(piece, raw=True)) == "ﬁne oﬀer"


def written(writer, texts):
    pages = [
        Page(number, PageStatus.OK, text=text, markdown=text, facts=PageFacts(number))
        for number, text in enumerate(texts, start=1)
    ]
    return "".join(writer.page(SOURCE, page) for page in pages) + writer.end()


@pytest.mark.parametrize(
    ("marks", "text"),
    [
        (PageMarks.AUTO, "a\n\fb\n"),
        (PageMarks.FORMFEED, "a\n\fb\n"),
        (PageMarks.NONE, "a\n\nb\n"),
        (PageMarks.COMMENT, "<!-- page: 1 -->\na\n<!-- page: 2 -->\nb\n"),
        (PageMarks.RULE, f"a\n\n{'-' * 40}\n\nb\n"),
    ],
)
def test_page_marks_in_plain_text(marks, text):
    assert written(TextWriter(marks), "ab") == text


@pytest.mark.parametrize(
    ("marks", "text"),
    [
        (PageMarks.AUTO, "<!-- page: 1 -->\n\na\n\n<!-- page: 2 -->\n\nb\n"),
        (PageMarks.NONE, "a\n\nb\n"),
        (PageMarks.RULE, "a\n\n---\n\nb\n"),
        (PageMarks.FORMFEED, "a\n\n\f\n\nb\n"),
    ],
)
def test_page_marks_in_markdown(marks, text):
    assert written(MarkdownWriter(marks), "ab") == text
