"""Table markup to rows."""

import pytest

from ocrcli.tables import Cell, find_table, is_rectangular, table_text


def test_plain_table():
    table = find_table("<table><tr><th>a</th><td>b c</td></tr><tr><td></td><td>d</td></tr></table>")
    assert table == ((Cell("a", True), Cell("b c")), (Cell(""), Cell("d")))
    assert is_rectangular(table)
    assert table_text(table) == "a\tb c\n\td"


def test_spans_are_read():
    table = find_table('<table><tr><td colspan="2" rowspan=3>a</td></tr></table>')
    assert table == ((Cell("a", False, 2, 3),),)
    assert not is_rectangular(table)


def test_missing_end_tags_are_supplied():
    assert table_text(find_table("<table><tr><td>a<td>b<tr><td>c")) == "a\tb\nc"


def test_literal_angle_brackets_are_text():
    assert table_text(find_table("<table><tr><td>x < y & z</td></tr></table>")) == "x < y & z"


def test_text_between_cells_is_not_lost():
    markup = "<table>one<tr>two<td>three</td>four</tr></table>five"
    assert table_text(find_table(markup)).split() == ["one", "two", "three", "four", "five"]


@pytest.mark.parametrize("text", ["", "a <table> of contents", "<tr><td>a</td></tr>", "<tablet>"])
def test_other_text_is_no_table(text):
    assert find_table(text) is None


def test_ragged_rows_are_not_rectangular():
    assert not is_rectangular(find_table("<table><tr><td>a<td>b<tr><td>c</table>"))
    assert not is_rectangular(find_table("<table></table>"))
