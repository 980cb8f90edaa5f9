"""Probabilities of tokens, and of parts of a text."""

import pytest

from ocrcli.confidence import Confidence, TokenTrace

TRACE = TokenTrace((3, 3, 8, 8, 10), (1.0, 0.5, 0.25, 0.75, 0.125))


def test_whole_text():
    assert TRACE.confidence == Confidence(0.525, 0.125)
    assert TokenTrace().confidence is None


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (0, 3, Confidence(0.75, 0.5)),
        (3, 8, Confidence(0.5, 0.25)),
        (8, 10, Confidence(0.125, 0.125)),
        (0, 10, Confidence(0.525, 0.125)),
        (3, 7, None),
        (10, 10, None),
    ],
)
def test_part_holds_the_tokens_that_end_in_it(start, end, expected):
    assert TRACE.part(start, end).confidence == expected


def test_parts_add_up():
    assert TRACE.part(0, 3) + TRACE.part(3, 10) == TRACE


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="one length, got 2 and 1"):
        TokenTrace((1, 2), (0.5,))
