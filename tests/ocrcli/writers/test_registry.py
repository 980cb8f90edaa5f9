"""Formats and their writers."""

import pytest

from ocrcli.options import OutputFormat
from ocrcli.writers import new_writer, suffix_of


@pytest.mark.parametrize("format_", OutputFormat)
def test_every_format_has_a_writer_of_its_own(format_):
    assert new_writer(format_) is not new_writer(format_)


def test_suffix_is_the_name_of_the_format():
    assert suffix_of(OutputFormat.JSONL) == ".jsonl"
