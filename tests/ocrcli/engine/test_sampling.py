import math
import random

import pytest
import torch

from ocrcli.engine.sampling import GreedySampler, NoRepeatNgram, TokenRun


def banned_by_loops(ids, size, window):
    banned = set()
    if len(ids) < size:
        return banned
    prefix = ids[len(ids) - size + 1 :]
    start = max(0, len(ids) - window)
    while start <= len(ids) - size:
        if ids[start : start + size - 1] == prefix:
            banned.add(ids[start + size - 1])
        start += 1
    return banned


@pytest.mark.parametrize(("size", "window"), [(2, 2), (2, 7), (3, 5), (4, 40), (5, 1000), (9, 9)])
def test_bans_are_those_of_the_rule_written_as_loops(size, window):
    draw = random.Random(size * 1000 + window)
    rule = NoRepeatNgram(size, window)
    hits = 0
    for _ in range(300):
        ids = [draw.randrange(2) for _ in range(draw.randrange(60))]
        expected = banned_by_loops(ids, size, window)
        assert rule.banned(ids) == expected
        hits += bool(expected)
    assert hits > 0 or size == window


def test_allowed_ids_are_never_banned():
    assert NoRepeatNgram(2, 10).banned([5, 6, 5]) == {6}
    assert NoRepeatNgram(2, 10, frozenset({6})).banned([5, 6, 5]) == set()


def test_a_repeat_that_starts_before_the_window_is_not_banned():
    ids = [1, 2, 3, 9, 9, 9, 9, 1, 2]
    assert NoRepeatNgram(3, 9).banned(ids) == {3}
    assert NoRepeatNgram(3, 8).banned(ids) == set()


@pytest.mark.parametrize(("size", "window"), [(1, 10), (0, 10), (5, 4)])
def test_sizes_that_mean_nothing_are_refused(size, window):
    with pytest.raises(ValueError, match=r"size|window"):
        NoRepeatNgram(size, window)


def sampler(*forbidden):
    return GreedySampler(forbidden, torch.device("cpu"))


def test_the_best_id_wins_with_its_softmax_probability():
    logits = torch.tensor([[0.0, 2.0, 1.0], [3.0, 0.0, 0.0]])
    expected = logits.softmax(1)
    ids, probabilities = sampler()(logits, {})
    assert ids == [1, 0]
    assert probabilities == pytest.approx([float(expected[0, 1]), float(expected[1, 0])])


def test_forbidden_and_banned_ids_lose_their_share():
    logits = torch.tensor([[9.0, 8.0, 1.0, 1.0], [9.0, 8.0, 1.0, 0.0]])
    ids, probabilities = sampler(0)(logits, {0: [1]})
    assert ids == [2, 1]
    assert probabilities[0] == pytest.approx(0.5)


def test_large_ids_survive_the_transfer():
    logits = torch.zeros(1, 200_003)
    logits[0, 200_001] = 1.0
    assert sampler()(logits, {})[0] == [200_001]


def test_scores_that_are_not_finite_give_no_probability():
    logits = torch.tensor([[math.nan, 0.0], [0.0, 1.0]])
    _, probabilities = sampler()(logits, {})
    assert math.isnan(probabilities[0])
    assert math.isfinite(probabilities[1])


def test_a_token_is_banned_behind_a_full_run_of_its_like():
    rule = TokenRun(blank=7, blanks=3, others=5)
    assert rule.banned([1, 7, 7, 7]) == {7}
    assert rule.banned([7, 7, 7, 1]) == rule.banned([1, 7, 7]) == rule.banned([]) == set()
    assert rule.banned([7, 4, 4, 4, 4, 4]) == {4}
    assert rule.banned([4, 4, 4, 4]) == rule.banned([4, 4, 5, 4, 4, 4]) == set()
