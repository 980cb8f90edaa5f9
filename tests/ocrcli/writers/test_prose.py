"""Joining printed lines and escaping literal characters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocrcli.writers.prose import escape, escape_line, join_lines


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["one", "two"], "one two"),
        (["a long para-", "graph"], "a long paragraph"),
        (["north-", "South"], "north-South"),
        (["well-known-", "example"], "well-known-example"),
        (["pages 10-", "12"], "pages 10-12"),
        (["A-", "flat"], "A-flat"),
        (["a dash -", "then"], "a dash - then"),
        (["Wort\u00ad", "teil"], "Wortteil"),
        (["(foot-", "note)"], "(footnote)"),
        (["see www.a-", "b.org"], "see www.a-b.org"),
        (["漢字", "かな"], "漢字かな"),
        (["한국", "어"], "한국 어"),
        (["", "  a ", "", "b"], "a b"),
        ([], ""),
    ],
)
def test_lines_are_joined(lines, expected):
    assert join_lines(lines) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a * b", r"a \* b"),
        ("snake_case _it_", r"snake_case \_it\_"),
        ("x < y", "x < y"),
        ("<b> </b> <!-- <?", r"\<b> \</b> \<!-- \<?"),
        ("5 $ | `x` \\", r"5 \$ \| \`x\` " + "\\\\"),
        ("[a](b) [c]", r"[a\](b) [c]"),
        ("AT&T &amp; &", r"AT&T \&amp; &"),
        ("~~no~~ ~", r"\~~no\~~ ~"),
    ],
)
def test_literal_characters_are_escaped(text, expected):
    assert escape(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# 1", r"\# 1"),
        ("#1", "#1"),
        ("- a", r"\- a"),
        ("-a", "-a"),
        ("> a", r"\> a"),
        ("1. a", r"1\. a"),
        ("2024) a", r"2024\) a"),
        ("1.5", "1.5"),
        ("---", r"\---"),
    ],
)
def test_marks_at_the_start_of_a_line_are_escaped(text, expected):
    assert escape_line(text) == expected


@given(st.text(max_size=60))
def test_escaping_only_adds_backslashes(text):
    escaped = escape_line(text)
    position = 0
    for character in text:
        while escaped[position] == "\\" and character != "\\":
            position += 1
        if character == "\\":
            position += 1
        assert escaped[position] == character
        position += 1
    assert position == len(escaped)
