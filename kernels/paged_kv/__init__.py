"""Keys, values and block summaries of many sequences in one pool of equal blocks.

A sequence owns a list of physical blocks, its block table; a block that is given back is used again
without being cleared. Which slots hold a token is told by one bool tensor for all layers (`real`),
and nothing else is ever read. Block 0 is never handed out: unused table entries point to it.
"""

from dataclasses import dataclass

import torch

from ocrcli.kernels.checks import FLOAT_DTYPES, INTEGER_DTYPES, check_tensor
from ocrcli.kernels.paged_kv.naive import slots_of_naive, write_rows_naive

__all__ = ["PagedKv", "slots_of", "write_kv", "write_summaries"]


@dataclass(frozen=True, eq=False)
class PagedKv:
    """The memory of one layer: N physical blocks of bs tokens.

    Attributes:
        keys: [N, bs, Hkv, D], contiguous, already turned by the rotary embedding.
        values: [N, bs, Hkv, D], contiguous.
        summaries: fp32 [N, R], one router vector per block.

    Raises:
        ValueError: Shapes differ, or keys or values are not contiguous.
    """

    keys: torch.Tensor
    values: torch.Tensor
    summaries: torch.Tensor

    def __post_init__(self) -> None:
        """Reject memory that the ops could not address by slot."""
        check_tensor("keys", self.keys, ("N", "bs", "Hkv", "D"), FLOAT_DTYPES)
        check_tensor("values", self.values, self.keys.shape, self.keys.dtype)
        check_tensor("summaries", self.summaries, (self.keys.shape[0], "R"), torch.float32)
        if not (self.keys.is_contiguous() and self.values.is_contiguous()):
            raise ValueError("keys and values must be contiguous; allocate them with torch.empty")

    @property
    def block_size(self) -> int:
        """Tokens per block."""
        return self.keys.shape[1]


def slots_of(block_table: torch.Tensor, positions: torch.Tensor, block_size: int) -> torch.Tensor:
    """Return `block_table[p // block_size] * block_size + p % block_size` for each position p.

    Args:
        block_table: [nblk] integer, physical block of each logical block of one sequence.
        positions: [T] integer positions in the sequence, below nblk * block_size.
        block_size: Tokens per block.

    Returns:
        int64 [T] slots, as `write_kv` takes them.

    Raises:
        ValueError: A shape or dtype does not fit, or `block_size` is not positive.

    Example:
        >>> slots_of(torch.tensor([7, 3]), torch.tensor([0, 33]), 32)
        tensor([224,  97])
    """
    check_tensor("block_table", block_table, ("nblk",), INTEGER_DTYPES)
    check_tensor("positions", positions, ("T",), INTEGER_DTYPES)
    if block_size < 1:
        raise ValueError(f"block_size must be positive, got {block_size}")
    return slots_of_naive(block_table, positions, block_size)


def write_kv(paged: PagedKv, slots: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> None:
    """Store the keys and values of T tokens in place.

    Args:
        paged: Memory of the layer.
        slots: int64 [T], physical block * block size + offset, distinct.
        keys: [T, Hkv, D]; cast to the dtype of the memory.
        values: [T, Hkv, D] likewise.

    Raises:
        ValueError: A shape or dtype does not fit.
    """
    check_tensor("slots", slots, ("T",), torch.int64)
    shape = (slots.shape[0], *paged.keys.shape[2:])
    check_tensor("keys", keys, shape, FLOAT_DTYPES)
    check_tensor("values", values, shape, FLOAT_DTYPES)
    write_rows_naive(paged.keys.flatten(0, 1), slots, keys)
    write_rows_naive(paged.values.flatten(0, 1), slots, values)


def write_summaries(paged: PagedKv, blocks: torch.Tensor, summaries: torch.Tensor) -> None:
    """Store one router vector for each of the given physical blocks in place.

    Args:
        paged: Memory of the layer.
        blocks: int64 [nblk] physical blocks, distinct.
        summaries: [nblk, R] from `block_summary`.

    Raises:
        ValueError: A shape or dtype does not fit.
    """
    check_tensor("blocks", blocks, ("nblk",), torch.int64)
    shape = (blocks.shape[0], paged.summaries.shape[1])
    check_tensor("summaries", summaries, shape, FLOAT_DTYPES)
    write_rows_naive(paged.summaries, blocks, summaries)
