"""Paged memory: what is written is where the slots say, and nothing else changes."""

import pytest
import torch

from ocrcli.kernels.paged_kv import PagedKv, slots_of, write_kv, write_summaries


def memory(dtype: torch.dtype = torch.float32) -> PagedKv:
    nan = float("nan")
    return PagedKv(
        torch.full((6, 4, 2, 3), nan, dtype=dtype),
        torch.full((6, 4, 2, 3), nan, dtype=dtype),
        torch.full((6, 5), nan),
    )


def test_slots_follow_the_block_table() -> None:
    table = torch.tensor([5, 1, 3], dtype=torch.int32)
    slots = slots_of(table, torch.arange(12), 4)
    assert slots.dtype == torch.int64
    assert slots.tolist() == [20, 21, 22, 23, 4, 5, 6, 7, 12, 13, 14, 15]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_written_tokens_are_read_back_and_the_rest_is_untouched(dtype: torch.dtype) -> None:
    paged, table = memory(dtype), torch.tensor([5, 1])
    keys, values = torch.randn(5, 2, 3), torch.randn(5, 2, 3)
    positions = torch.tensor([0, 2, 3, 4, 7])
    write_kv(paged, slots_of(table, positions, paged.block_size), keys, values)
    for row, p in enumerate(positions.tolist()):
        assert torch.equal(paged.keys[table[p // 4], p % 4], keys[row].to(dtype))
        assert torch.equal(paged.values[table[p // 4], p % 4], values[row].to(dtype))
    assert int(paged.keys.isnan().sum()) == (24 - 5) * 6
    assert bool(paged.summaries.isnan().all())


def test_summaries_go_to_their_physical_blocks() -> None:
    paged, rows = memory(), torch.randn(2, 5)
    write_summaries(paged, torch.tensor([4, 2]), rows)
    assert torch.equal(paged.summaries[[4, 2]], rows)
    assert int(paged.summaries.isnan().sum()) == 20


def test_wrong_arguments_are_named() -> None:
    paged, rows = memory(), torch.zeros(2, 2, 3)
    with pytest.raises(ValueError, match=r"^slots must be torch\.int64"):
        write_kv(paged, torch.tensor([0, 1], dtype=torch.int32), rows, rows)
    with pytest.raises(ValueError, match=r"^keys must have shape \[2, 2, 3\], got \[1, 2, 3\]"):
        write_kv(paged, torch.tensor([0, 1]), rows[:1], rows)
    with pytest.raises(ValueError, match=r"^values must have shape"):
        write_kv(paged, torch.tensor([0, 1]), rows, rows[..., :2])
    with pytest.raises(ValueError, match=r"^summaries must have shape \[1, 5\]"):
        write_summaries(paged, torch.tensor([1]), torch.zeros(1, 4))
    with pytest.raises(ValueError, match=r"^blocks must have shape"):
        write_summaries(paged, torch.tensor([[1]]), torch.zeros(1, 5))
    with pytest.raises(ValueError, match=r"^block_table must have shape"):
        slots_of(torch.tensor([[1]]), torch.tensor([0]), 4)
    with pytest.raises(ValueError, match=r"^positions must be"):
        slots_of(torch.tensor([1]), torch.tensor([0.0]), 4)
    with pytest.raises(ValueError, match=r"^block_size must be positive"):
        slots_of(torch.tensor([1]), torch.tensor([0]), 0)


def test_memory_with_unlike_parts_is_refused() -> None:
    keys, summaries = torch.zeros(6, 4, 2, 3), torch.zeros(6, 5)
    with pytest.raises(ValueError, match=r"^values must have shape \[6, 4, 2, 3\]"):
        PagedKv(keys, keys[:5], summaries)
    with pytest.raises(ValueError, match=r"^summaries must be torch\.float32"):
        PagedKv(keys, keys, summaries.bfloat16())
    with pytest.raises(ValueError, match="contiguous"):
        PagedKv(keys.transpose(1, 2), keys.transpose(1, 2), summaries)
