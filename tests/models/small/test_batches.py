"""Batches of two processes: different pages, and alike in size and length if asked for."""

import itertools
import random
import statistics
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import ocrcli.models.small
from ocrcli.engine import LinePlaces
from ocrcli.models.small.training.batches import (
    PLACE_STEP,
    PageBatches,
    _drifted,
    _mistaken,
    _page_box,
    _places,
    _View,
)
from ocrcli.models.small.training.composed import ComposedBlock
from ocrcli.models.small.training.stages import STAGES
from ocrcli.tokenizer import Tokenizer

PAGE, EOS = 4, 2
TOKENIZER = Path(ocrcli.models.small.__file__).parent / "tokenizer.json"


@pytest.fixture
def batches(block_atlas, text_folder, tmp_path):
    block_atlas.save(tmp_path / "atlas")
    stage = replace(STAGES["tiny"], batch=2)

    def draw(count, seed, order_seed=None):
        pages = PageBatches(text_folder, tmp_path / "atlas", TOKENIZER, stage, seed, order_seed)
        return list(itertools.islice(pages, count))

    return draw


def test_targets_are_the_tokens_that_follow(batches):
    pad = Tokenizer.from_file(TOKENIZER).pad_id
    for batch in batches(2, 0):
        following = batch.tokens[:, 1:].flatten()
        assert torch.equal(batch.kept, (following != pad).nonzero()[:, 0])
        # Few tokens are shown wrong, and never the first and the last.
        wrong = following[batch.kept] != batch.target
        assert wrong.float().mean() < 0.05
        assert not wrong[batch.target == EOS].any()
        assert (batch.tokens[:, 0] == PAGE).all()


def test_half_of_the_responses_hold_mistakes():
    rng = random.Random(0)
    ids = [PAGE, *range(10, 410), EOS]
    shown = [_mistaken(rng, ids) for _ in range(200)]
    wrong = [sum(one != other for one, other in zip(ids, each, strict=True)) for each in shown]
    assert 70 < sum(count == 0 for count in wrong) < 130
    assert 4 < statistics.mean(count for count in wrong if count) < 12
    assert all(each[0] == PAGE and each[-1] == EOS for each in shown)


def test_coordinates_are_never_mistaken():
    rng = random.Random(0)
    ids = [PAGE, *range(10, 410), EOS]
    shown = [_mistaken(rng, ids, range(100, 410)) for _ in range(100)]
    assert all(each[91:401] == ids[91:401] for each in shown)
    assert any(each != ids for each in shown)


def test_places_of_some_responses_drift_by_at_most_a_third_of_a_line():
    tokenizer = Tokenizer.from_file(TOKENIZER)
    line_places, first = LinePlaces.of(tokenizer), tokenizer.integer_id(0)
    ids = [tokenizer.page_id, tokenizer.newline_id]
    ids += tokenizer.encode_det("text", (100, 100, 900, 900))
    for down in range(120, 900, 12):
        ids += [*tokenizer.encode("word"), tokenizer.newline_id, first + down]
    rng = random.Random(0)
    shown = [_drifted(rng, ids, line_places) for _ in range(400)]
    assert 260 < sum(each == ids for each in shown) < 340
    is_text = line_places.spells(ids)
    steady = moved = 0
    for each in shown:
        told = [
            (one, other) for one, other, text in zip(ids, each, is_text, strict=True) if not text
        ]
        assert all(
            one == other for one, other, text in zip(ids, each, is_text, strict=True) if text
        )
        assert all(abs(one - other) <= 4 and (other - first) % 2 == 0 for one, other in told)
        offs = [other - one for one, other in told]
        moved += sum(off != 0 for off in offs[1:])
        steady += sum(a == b != 0 for a, b in itertools.pairwise(offs))
    # Neighbours are off alike: a reader cannot take the mean of the last lines.
    assert moved > 1000
    assert steady > 0.7 * moved


def test_boxes_are_shares_of_the_image_with_its_padding():
    view = _View(np.eye(2, dtype=np.float32) / 2, np.zeros(2, np.float32), np.zeros(5, np.float32))
    # Canvas pixels are half page pixels.
    assert _page_box([0.0, 64.0, 640.0, 256.0], view, (640, 512)) == (0, 62, 500, 250)
    block = ComposedBlock("text", lines=["a", "b"], starts=[(0.0, 100.0), (8.0, 164.0)])
    assert _places(block, view, (640, 512)) == [98, 160]
    block.lines.append("of unknown place")
    assert _places(block, view, (640, 512)) == []


def test_lines_are_said_to_begin_where_they_are_drawn(batches):
    tokenizer = Tokenizer.from_file(TOKENIZER)
    value = {tokenizer.integer_id(each): each for each in range(1000)}
    followed = (tokenizer.newline_id, tokenizer.tag_ids["<tr>"])
    places = 0
    for batch in batches(6, 1):
        for row in batch.target.split((batch.tokens[:, 1:] != tokenizer.pad_id).sum(1).tolist()):
            before = 0
            for previous, token in itertools.pairwise(row.tolist()):
                if token == tokenizer.det_id:
                    before = 0
                elif token in value and previous in followed:
                    # Below the line before, by what may be rounded; in steps.
                    assert value[token] > before
                    assert value[token] % PLACE_STEP == 0
                    before, places = value[token], places + 1
    assert places > 40


def test_one_order_gives_alike_batches_of_different_pages(batches):
    first, second = batches(9, 0, order_seed=8), batches(9, 1, order_seed=8)
    sizes = [[(batch.width, batch.height) for batch in each] for each in (first, second)]
    assert sizes[0] == sizes[1]
    assert len(set(sizes[0])) > 1
    for one, other in zip(first, second, strict=True):
        assert one.tokens.shape != other.tokens.shape or not torch.equal(one.tokens, other.tokens)
    # The shortest of three batches is the shortest in both.
    for start in (0, 3, 6):
        lengths = [
            [int((batch.tokens > 0).sum()) for batch in each[start : start + 3]]
            for each in (first, second)
        ]
        ranks = [sorted(range(3), key=each.__getitem__) for each in lengths]
        assert ranks[0] == ranks[1]
