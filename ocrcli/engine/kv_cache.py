"""Who owns which block of the paged cache: allocation and growth, no attention arithmetic.

Pages come and go independently, so memory is handed out in blocks that any page can reuse. The pool
grows when a larger page arrives, up to a limit that is reported by name.
"""

from collections.abc import Sequence
from dataclasses import fields

import torch
from torch import Tensor

from ocrcli.models.interface import OcrModel

NULL_BLOCK = 0
"""Physical block that pads block tables; never allocated, never written, never readable."""

SCRATCH_BLOCK = 1
"""First physical block that unused rows of a decode step write to and read from, a slot each."""


class CacheFullError(RuntimeError):
    """A page needs more cache than the limit allows; the message says what to change."""


class KvCache:
    """Pools of all layers, the readable flags they share, and the list of free blocks.

    Attributes:
        reserved: Blocks at the start of the pool that belong to no sequence: the null block, and
            scratch blocks with a slot for every row of a decode step.
    """

    def __init__(self, model: OcrModel, max_blocks: int | None = None, rows: int = 1) -> None:
        """Create a cache that holds the reserved blocks only.

        Args:
            model: Gives the pools' shape, device and dtype.
            max_blocks: Largest number of blocks that sequences may hold together; None for as many
                as memory allows.
            rows: Rows of a decode step, of which any number may be unused.

        Raises:
            ValueError: `max_blocks` or `rows` is not positive.
        """
        if rows < 1:
            raise ValueError(f"rows must be positive, got {rows}")
        if max_blocks is not None and max_blocks < 1:
            raise ValueError(
                f"max_blocks must be positive, got {max_blocks}; pass None for no limit"
            )
        weight = next(iter(model.parameters()))
        self._model = model
        self._device, self._dtype = weight.device, weight.dtype
        self._max_blocks = max_blocks
        self._free: list[int] = []
        self._used: set[int] = set()
        self.block_size = model.config.sparse.block_size
        self.reserved = SCRATCH_BLOCK + -(-rows // self.block_size)
        self.layers = model.new_cache(self.reserved, self._device, self._dtype)
        self.real = torch.zeros(
            self.reserved, self.block_size, dtype=torch.bool, device=self._device
        )

    @property
    def num_blocks(self) -> int:
        """Blocks in the pool, the reserved ones included."""
        return self.real.shape[0]

    @property
    def num_used(self) -> int:
        """Blocks that sequences hold now."""
        return len(self._used)

    def reserve(self, count: int) -> None:
        """Make room for `count` blocks in all, or for as many as the limit allows."""
        if self._max_blocks is not None:
            count = min(count, self._max_blocks)
        if count + self.reserved > self.num_blocks:
            self._grow(count + self.reserved)

    def allocate(self, count: int) -> list[int]:
        """Return the ids of `count` blocks that nobody else holds.

        Args:
            count: Number of blocks.

        Raises:
            CacheFullError: The pool would pass its limit.
        """
        needed = len(self._used) + count
        if self._max_blocks is not None and needed > self._max_blocks:
            raise CacheFullError(
                f"the key-value cache is limited to {self._max_blocks} blocks of "
                f"{self.block_size} tokens, {len(self._used)} are in use and this page needs "
                f"{count} more; raise max_cache_blocks, lower pages_in_flight or scale the page "
                "down"
            )
        self.reserve(needed)
        blocks = [self._free.pop() for _ in range(count)]
        self._used.update(blocks)
        return blocks

    def release(self, blocks: Sequence[int]) -> None:
        """Give blocks back; their slots stop being readable.

        Args:
            blocks: Ids from `allocate`, each held until now.
        """
        assert self._used.issuperset(blocks), "a block was released twice or never allocated"
        self._used.difference_update(blocks)
        self._free.extend(reversed(blocks))
        self.real[torch.tensor(blocks, dtype=torch.int64, device=self._device)] = False

    def mark_real(self, slots: Tensor, real: Tensor | bool = True) -> None:
        """Set whether slots hold a readable token.

        Args:
            slots: Physical slots (block * block_size + offset), int64 [T].
            real: One flag for all, or bool [T].
        """
        self.real.view(-1)[slots] = real

    def _grow(self, num_blocks: int) -> None:
        before = self.num_blocks
        layers = self._model.new_cache(num_blocks, self._device, self._dtype)
        for old, new in zip(self.layers, layers, strict=True):
            for field in fields(old):
                getattr(new, field.name)[:before] = getattr(old, field.name)
        real = torch.zeros(num_blocks, self.block_size, dtype=torch.bool, device=self._device)
        real[:before] = self.real
        self.layers, self.real = layers, real
        self._free = [*range(num_blocks - 1, before - 1, -1), *self._free]
