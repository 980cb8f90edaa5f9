import random

import pytest

from ocrcli.engine.guards import Loop, LoopGuard

GUARD = LoopGuard()


def text(count, seed=0):
    draw = random.Random(seed)
    return [draw.randrange(100, 6000) for _ in range(count)]


def test_ordinary_text_is_no_loop():
    assert GUARD.find(text(4000)) is None


@pytest.mark.parametrize("period", [32, 45, 50, 77, 150, 400])
def test_long_period_fires_after_four_repetitions_and_not_before(period):
    unit = text(period, seed=1)
    needed = max(200, 4 * period)
    looping = text(300) + unit * 30
    short = text(300) + looping[300 : 300 + needed - 1]
    assert GUARD.find(short) is None
    assert GUARD.find(looping[: 300 + needed]) == Loop(period, needed)


@pytest.mark.parametrize("period", [1, 2, 7, 31])
def test_short_period_must_span_more(period):
    unit = text(period, seed=2)
    tail = (unit * 700)[:640]
    assert GUARD.find(text(300) + tail[:-1]) is None
    assert GUARD.find(text(300) + tail) == Loop(period, 640)


def test_dot_leaders_of_a_contents_page_are_no_loop():
    page = []
    for line in range(40):
        page += [*text(6, seed=line), *[46] * 60, *text(3, seed=100 + line)]
        assert GUARD.find(page) is None
    assert GUARD.find(page + [46] * 120) is None


def test_blank_rows_of_a_form_are_no_loop():
    row = [20, 22, 23, 22, 23, 22, 23, 22, 23, 22, 23, 21]
    assert GUARD.find(text(200) + row * 45) is None


def test_numbered_rows_are_no_loop():
    page = [token for n in range(150) for token in (20, 22, 1000 + n, 23, 22, 7, 23, 21)]
    assert GUARD.find(page) is None


def test_the_span_reaches_back_to_the_first_repetition():
    unit = text(40, seed=3)
    loop = GUARD.find(text(100) + unit * 9)
    assert loop == Loop(40, 360)


def test_the_shortest_period_is_reported():
    assert GUARD.find([5] * 700) == Loop(1, 700)


def test_a_loop_that_ended_is_forgiven():
    assert GUARD.find(text(40, seed=3) * 9 + text(1, seed=9)) is None


def test_search_is_due_at_fixed_counts():
    due = [count for count in range(1, 300) if GUARD.due(count)]
    assert due[0] == 208
    assert set(due) == set(range(208, 300, 16))
