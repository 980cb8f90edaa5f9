"""Paged memory in plain PyTorch: the reference, and the path on every device."""

import torch


def slots_of_naive(
    block_table: torch.Tensor, positions: torch.Tensor, block_size: int
) -> torch.Tensor:
    """Return int64 [T] slots of logical positions."""
    block = torch.div(positions, block_size, rounding_mode="floor")
    return block_table[block].long() * block_size + (positions - block * block_size)


def write_rows_naive(memory: torch.Tensor, rows: torch.Tensor, values: torch.Tensor) -> None:
    """Copy `values` to the given rows of `memory`, in place and in the dtype of `memory`."""
    memory.index_copy_(0, rows, values.to(memory.dtype))
