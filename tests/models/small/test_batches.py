"""Batches of two processes: different pages, and alike in size and length if asked for."""

import itertools
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import ocrcli.models.small
from ocrcli.models.small.training.batches import PageBatches
from ocrcli.models.small.training.stages import STAGES
from ocrcli.tokenizer import Tokenizer

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
        following = batch.tokens[:, 1:]
        assert torch.equal(batch.target, following[following != pad])
        assert torch.equal(following.flatten()[batch.kept], batch.target)
        assert len(batch.kept) < following.numel()


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
