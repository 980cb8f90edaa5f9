"""Per-step metadata of attention: planned once, read by every layer.

Prompts are read through a block table. Generated tokens are read only while they are inside the
local window, so each sequence keeps as many slots for them as the window has positions and writes
position p to slot p modulo that number: the slot it overwrites belongs to the token that has just
left the window. Memory per page is therefore constant, and so are the window's slots.
"""

from collections.abc import Sequence as Rows
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ocrcli.engine.kv_cache import NULL_BLOCK, SCRATCH_BLOCK
from ocrcli.kernels.page_rope import PADDING, PageCoordinates, page_coordinates
from ocrcli.kernels.paged_kv import slots_of
from ocrcli.models.interface import DecodePlan, PrefillPlan
from ocrcli.models.unlimited_ocr.config import SparseConfig

if TYPE_CHECKING:
    from ocrcli.engine.sequence import Sequence

TABLE_MULTIPLE = 64
"""Decode block tables are padded to a multiple of this, so that most pages share one shape."""


@dataclass(frozen=True, eq=False)
class SequenceLayout:
    """Where one sequence lies in the cache; constant from its prefill to its end.

    Attributes:
        block_table: Physical block of each prompt block, padded with the null block, int64 [W].
        candidate: For each page, and in a last row for "no page", the blocks that hold an image
            token of it, bool [P + 1, W].
        prompt_slots: Physical slot of each prompt token, int64 [S].
        ring_slots: Physical slots of generated tokens by position modulo L, int64 [L].
    """

    block_table: Tensor
    candidate: Tensor
    prompt_slots: Tensor
    ring_slots: Tensor

    @property
    def width(self) -> int:
        """Entries of the padded block table."""
        return self.block_table.shape[0]


def sequence_layout(
    coordinates: PageCoordinates,
    prompt_blocks: Rows[int],
    ring_blocks: Rows[int],
    sparse: SparseConfig,
) -> SequenceLayout:
    """Return the layout of a sequence.

    Args:
        coordinates: Of the prompt's S tokens.
        prompt_blocks: Physical blocks of the prompt, one per `block_size` tokens.
        ring_blocks: Physical blocks of generated tokens, `local_blocks` of them.
        sparse: Block geometry.
    """
    device = coordinates.token.device
    table = torch.tensor(prompt_blocks, device=device)
    padding = -len(prompt_blocks) % TABLE_MULTIPLE
    position = torch.arange(coordinates.token.shape[0], device=device)
    window = torch.arange(sparse.local_tokens, device=device)
    ring = torch.tensor(ring_blocks, device=device)
    candidate = _image_blocks(coordinates, sparse.block_size)
    return SequenceLayout(
        block_table=torch.nn.functional.pad(table, (0, padding), value=NULL_BLOCK),
        candidate=torch.nn.functional.pad(candidate, (0, padding), value=False),
        prompt_slots=slots_of(table, position, sparse.block_size),
        ring_slots=slots_of(ring, window, sparse.block_size),
    )


def prefill_plan(
    roles: Tensor,
    block_table: Tensor,
    prompt_length: int,
    sparse: SparseConfig,
    coordinates: PageCoordinates | None = None,
) -> PrefillPlan:
    """Return the plan of a whole sequence, computed in one go.

    Args:
        roles: Role of each token, int64 [S].
        block_table: Physical blocks of the sequence, int64 [ceil(S / block_size)].
        prompt_length: Tokens that remote reads may reach.
        sparse: Block geometry and whether pages are isolated.
        coordinates: Of the tokens; None for those by page.

    Raises:
        ValueError: `roles` holds no page, or the block table does not cover them.
    """
    size = sparse.block_size
    num_blocks = -(-roles.shape[0] // size)
    if block_table.shape != (num_blocks,):
        raise ValueError(
            f"block_table must have shape [{num_blocks}] for {roles.shape[0]} tokens in blocks of "
            f"{size}, got {list(block_table.shape)}"
        )
    if coordinates is None:
        coordinates = page_coordinates(roles, sparse.page_isolated)
    position = torch.arange(roles.shape[0], device=roles.device)
    window_start = torch.maximum(position - sparse.local_tokens + 1, coordinates.section_start)
    block_start = torch.arange(num_blocks, device=roles.device) * size
    limit = window_start.clamp(max=prompt_length)
    page = _page_row(coordinates.query_page, coordinates.num_pages)
    return PrefillPlan(
        token=coordinates.token,
        page=coordinates.page,
        window_start=window_start,
        position=position,
        candidate=_image_blocks(coordinates, size)[page],
        remote=block_start < limit[:, None],
        real=roles != PADDING,
        block_table=block_table,
        slots=slots_of(block_table, position, size),
        prompt_length=prompt_length,
    )


class DecodeBatch:
    """A fixed number of rows, some of them sequences, that are decoded together.

    Membership does not change: the engine builds a new batch when a sequence ends or turns to its
    next page. Between these events a step costs a few operations on small tensors.
    """

    def __init__(self, members: Rows["Sequence"], rows: int, sparse: SparseConfig) -> None:
        """Plan the next token of each member.

        Args:
            members: At least one and at most `rows` sequences with block tables of one width.
            rows: Rows of the plan; the surplus is inert.
            sparse: Block geometry.
        """
        self.members = list(members)
        self.rows = rows
        self._size, self._window = sparse.block_size, sparse.local_tokens
        device = members[0].layout.block_table.device
        states = [
            (m.token, m.page, m.position, m.section_start, m.prompt_length) for m in self.members
        ]
        states += [(0, 0, 0, 0, 0)] * (rows - len(members))
        token, page, position, self._section_start, self._prompt_length = torch.tensor(
            states, device=device
        ).unbind(1)
        table, candidate, ring = self._rows_of_members(device)
        self._ring_slots = ring
        self._block_start = torch.arange(table.shape[1], device=device) * self._size
        local_slots, local_valid = self._windows(position)
        write_slots = ring.gather(1, (position % self._window)[:, None]).squeeze(1)
        window_start, limit = self._limits(position)
        self.plan = DecodePlan(
            token=token,
            page=page,
            position=position,
            window_start=window_start,
            remote_limit=limit,
            candidate=candidate,
            remote=self._block_start < limit[:, None],
            block_table=table,
            local_slots=local_slots,
            local_valid=local_valid,
            write_slots=write_slots,
        )

    def advance(self) -> None:
        """Move every row to its next position on the same page; changes `plan` in place."""
        plan = self.plan
        plan.token.add_(1)
        plan.position.add_(1)
        window_start, limit = self._limits(plan.position)
        plan.window_start.copy_(window_start)
        plan.remote_limit.copy_(limit)
        torch.lt(self._block_start, limit[:, None], out=plan.remote)
        column = (plan.position % self._window)[:, None]
        written = self._ring_slots.gather(1, column)
        plan.write_slots.copy_(written.squeeze(1))
        plan.local_slots.scatter_(1, column, written)
        plan.local_valid.scatter_(1, column, True)

    def _limits(self, position: Tensor) -> tuple[Tensor, Tensor]:
        window_start = torch.maximum(position - (self._window - 1), self._section_start)
        return window_start, torch.minimum(window_start, self._prompt_length)

    def _rows_of_members(self, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
        layouts = [member.layout for member in self.members]
        width, spare = layouts[0].width, self.rows - len(layouts)
        # Each inert row has a scratch slot of its own: writes to one slot twice have no order.
        scratch = SCRATCH_BLOCK * self._size + torch.arange(len(layouts), self.rows, device=device)
        table = [layout.block_table for layout in layouts]
        table += [torch.full((width,), NULL_BLOCK, device=device)] * spare
        candidate = [
            member.layout.candidate[_page_index(member.query_page, member.num_pages)]
            for member in self.members
        ]
        candidate += [torch.zeros(width, dtype=torch.bool, device=device)] * spare
        ring = [layout.ring_slots for layout in layouts]
        ring += list(scratch[:, None].expand(-1, self._window))
        return torch.stack(table), torch.stack(candidate), torch.stack(ring)

    def _windows(self, position: Tensor) -> tuple[Tensor, Tensor]:
        """Return slots and validity [rows, L] of the windows that end at `position`."""
        column = torch.arange(self._window, device=position.device)
        # The latest position, at or before the row's, that shares the column's remainder.
        held = position[:, None] - (position[:, None] - column) % self._window
        valid = held >= self._section_start[:, None].clamp(min=0)
        slots = self._ring_slots.clone()
        for row, member in enumerate(self.members):
            prompt = valid[row] & (held[row] < member.prompt_length)
            source = held[row].clamp(0, member.prompt_length - 1)
            slots[row] = torch.where(prompt, member.layout.prompt_slots[source], slots[row])
        return slots, valid


def _page_index(query_page: int, num_pages: int) -> int:
    return query_page if 0 <= query_page < num_pages else num_pages


def _page_row(query_page: Tensor, num_pages: int) -> Tensor:
    inside = (query_page >= 0) & (query_page < num_pages)
    return torch.where(inside, query_page, num_pages)


def _image_blocks(coordinates: PageCoordinates, block_size: int) -> Tensor:
    """Return which blocks hold image tokens of each page, bool [P + 1, nblk], last row empty."""
    page = coordinates.image_page
    count, pages = page.shape[0], coordinates.num_pages
    found = torch.zeros(pages + 1, -(-count // block_size), dtype=torch.bool, device=page.device)
    block = torch.arange(count, device=page.device) // block_size
    is_image = page >= 0
    found[page[is_image], block[is_image]] = True
    return found
