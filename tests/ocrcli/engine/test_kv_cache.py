import pytest
import torch

from ocrcli.engine.kv_cache import NULL_BLOCK, SCRATCH_BLOCK, KvCache


def test_reserved_blocks_are_never_handed_out(isolated_model):
    cache = KvCache(isolated_model)
    blocks = cache.allocate(20)
    assert len(set(blocks)) == 20
    assert not {NULL_BLOCK, SCRATCH_BLOCK} & set(blocks)


def test_released_blocks_are_reused_before_the_pool_grows(isolated_model):
    cache = KvCache(isolated_model)
    first = cache.allocate(5)
    other = cache.allocate(3)
    size = cache.num_blocks
    cache.release(first)
    assert set(cache.allocate(5)) == set(first)
    assert cache.num_blocks == size
    assert cache.num_used == 5 + len(other)


def test_released_slots_stop_being_readable(isolated_model):
    cache = KvCache(isolated_model)
    kept, dropped = cache.allocate(1), cache.allocate(1)
    cache.mark_real(torch.arange(cache.num_blocks * cache.block_size))
    cache.release(dropped)
    assert not cache.real[dropped].any()
    assert cache.real[kept].all()


def test_growth_keeps_contents_flags_and_block_ids(isolated_model):
    cache = KvCache(isolated_model)
    blocks = cache.allocate(2)
    for layer in cache.layers:
        layer.keys[blocks] = 3.0
        layer.values[blocks] = 4.0
        layer.summaries[blocks] = 5.0
    cache.mark_real(torch.tensor([blocks[1] * cache.block_size]))
    before = cache.real.clone()
    more = cache.allocate(50)
    assert not set(more) & set(blocks)
    assert torch.equal(cache.real[: before.shape[0]], before)
    assert not cache.real[before.shape[0] :].any()
    for layer in cache.layers:
        assert (layer.keys[blocks] == 3.0).all()
        assert (layer.values[blocks] == 4.0).all()
        assert (layer.summaries[blocks] == 5.0).all()
        assert layer.keys.shape[0] == cache.num_blocks


def test_reserve_makes_room_once(isolated_model):
    cache = KvCache(isolated_model)
    cache.reserve(12)
    assert cache.num_blocks == 12 + cache.reserved
    cache.allocate(12)
    assert cache.num_blocks == 12 + cache.reserved


def test_limit_is_reported_with_its_numbers_and_leaves_the_pool_usable(isolated_model):
    cache = KvCache(isolated_model, max_blocks=6)
    cache.reserve(100)
    assert cache.num_blocks == 6 + cache.reserved
    blocks = cache.allocate(4)
    with pytest.raises(RuntimeError, match=r"limited to 6 blocks .* 4 are in use .* 3 more"):
        cache.allocate(3)
    cache.release(blocks)
    assert len(cache.allocate(6)) == 6


def test_releasing_twice_is_our_bug(isolated_model):
    cache = KvCache(isolated_model)
    blocks = cache.allocate(1)
    cache.release(blocks)
    with pytest.raises(AssertionError, match="released twice"):
        cache.release(blocks)


def test_limit_must_be_positive(isolated_model):
    with pytest.raises(ValueError, match="max_blocks must be positive, got 0"):
        KvCache(isolated_model, max_blocks=0)


@pytest.mark.parametrize(("rows", "scratch"), [(1, 1), (8, 1), (9, 2), (64, 8)])
def test_every_row_of_a_step_has_a_scratch_slot(isolated_model, rows, scratch):
    cache = KvCache(isolated_model, rows=rows)
    assert cache.block_size == 8
    assert cache.reserved == 1 + scratch
    assert min(cache.allocate(3)) == cache.reserved


def test_step_without_rows_is_refused(isolated_model):
    with pytest.raises(ValueError, match="rows must be positive, got 0"):
        KvCache(isolated_model, rows=0)
