"""Formats and their writers."""

import pytest

from ocrcli.errors import UsageError
from ocrcli.options import OutputFormat
from ocrcli.writers import new_writer, suffix_of

TEXT_FORMATS = [format_ for format_ in OutputFormat if format_ is not OutputFormat.PDF]


@pytest.mark.parametrize("format_", TEXT_FORMATS)
def test_every_format_has_a_writer_of_its_own(format_):
    assert new_writer(format_) is not new_writer(format_)


def test_pdf_is_no_text():
    with pytest.raises(UsageError, match="standard output"):
        new_writer(OutputFormat.PDF)


def test_suffix_is_the_name_of_the_format_or_says_more():
    assert suffix_of(OutputFormat.JSONL) == ".jsonl"
    assert suffix_of(OutputFormat.PDF) == ".ocr.pdf"
