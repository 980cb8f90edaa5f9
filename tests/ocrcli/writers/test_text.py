"""Plain text output."""

from ocrcli.document import Block, BlockType, Document, Page, PageStatus, Source
from ocrcli.errors import OcrError
from ocrcli.writers import TextWriter, page_text

SOURCE = Source("a.pdf", "0" * 64, 3, 3)


def written(*texts):
    writer = TextWriter()
    pages = [Page(number, PageStatus.OK, text) for number, text in enumerate(texts, start=1)]
    pieces = [writer.page(SOURCE, page) for page in pages]
    return "".join(pieces) + writer.document(Document(SOURCE)) + writer.end()


def test_blocks_are_separated_by_a_blank_line_and_lines_stay():
    blocks = [
        Block(BlockType.TITLE, "Head"),
        Block(BlockType.FIGURE, ""),
        Block(BlockType.TEXT, "one-\ntwo"),
    ]
    assert page_text(blocks) == "Head\n\none-\ntwo"


def test_pages_are_separated_by_form_feeds_and_one_newline_ends_it():
    assert written("a", "b\nc") == "a\n\fb\nc\n"


def test_blank_pages_keep_their_place():
    assert written("a", "", "c") == "a\n\f\fc\n"
    assert written("", "b") == "\fb\n"


def test_output_of_blank_pages_alone_is_not_empty():
    assert written("") == "\n"
    assert written("", "") == "\f\n"


def test_nothing_written_needs_no_newline():
    assert written() == ""


def test_failures_leave_no_text():
    assert TextWriter().failure(OcrError("bad")) == ""
