"""DASH attention in plain PyTorch: the reference, and the path on the CPU.

Prefill is dense attention with an additive mask, over the blocks that a chunk of queries reads
between them: neighbouring queries read much the same blocks, and a dense product is far quicker
than a gather per query. Decode gathers the few keys of each query. Both obey the same three rules:
a selected block counts up to the limit, the local window counts in full, and a slot that is not
read has no influence even if it holds NaN.
"""

import torch
import torch.nn.functional as F

from ocrcli.kernels.block_routing import RoutedBlocks
from ocrcli.kernels.paged_kv import PagedKv

QUERY_CHUNK = 256
# Finite, so that a query with nothing to read stays free of NaN until its output is zeroed.
_MASKED = -1e30


def prefill_naive(
    query: torch.Tensor,
    paged: PagedKv,
    real: torch.Tensor,
    block_table: torch.Tensor,
    position: torch.Tensor,
    window_start: torch.Tensor,
    prompt_length: int,
    routed: RoutedBlocks,
) -> torch.Tensor:
    """Return [Q, H, D]: each query's attention over its blocks and its local window."""
    output = torch.empty_like(query)
    for start in range(0, query.shape[0], QUERY_CHUNK):
        rows = slice(start, start + QUERY_CHUNK)
        output[rows] = _attend_chunk(
            query[rows],
            paged,
            real,
            block_table,
            position[rows, None, None],
            window_start[rows, None, None],
            prompt_length,
            RoutedBlocks(routed.selected[rows], routed.bias[rows], routed.valid[rows]),
        )
    return output


def decode_naive(
    query: torch.Tensor,
    paged: PagedKv,
    real: torch.Tensor,
    block_table: torch.Tensor,
    routed: RoutedBlocks,
    remote_limit: torch.Tensor,
    local_slots: torch.Tensor,
    local_valid: torch.Tensor,
) -> torch.Tensor:
    """Return [B, H, D] from exactly K * bs + L gathered keys per sequence."""
    batch, heads, dim = query.shape
    block_size, kv_heads = paged.keys.shape[1:3]
    offset = torch.arange(block_size, device=query.device)
    physical = block_table.gather(1, routed.selected)  # [B, K]
    room = remote_limit[:, None] - routed.selected * block_size  # [B, K]
    keep = real[physical] & routed.valid[:, :, None] & (offset < room[:, :, None])
    keep = torch.cat((keep.flatten(1), local_valid), 1)  # [B, T]
    slots = (physical[:, :, None] * block_size + offset).flatten(1)
    slots = torch.cat((slots, local_slots), 1)
    # A slot that is not read may hold anything: read one that counts a second time in its place.
    first_kept = keep.byte().argmax(1, keepdim=True)
    slots = torch.where(keep, slots, slots.gather(1, first_kept)).flatten()

    bias = routed.bias[:, :, None].expand(-1, -1, block_size).flatten(1)
    bias = F.pad(bias, (0, local_slots.shape[1])).masked_fill(~keep, _MASKED)
    keys = paged.keys.flatten(0, 1).index_select(0, slots).view(batch, -1, kv_heads, dim)
    values = paged.values.flatten(0, 1).index_select(0, slots).view(batch, -1, kv_heads, dim)
    attended = F.scaled_dot_product_attention(
        query[:, :, None].float(),
        _per_query_head(keys, heads).transpose(1, 2),
        _per_query_head(values, heads).transpose(1, 2),
        attn_mask=bias[:, None, None],
    )
    nothing = ~keep.any(1)
    return attended.squeeze(2).masked_fill(nothing[:, None, None], 0.0).to(query.dtype)


def _attend_chunk(
    query: torch.Tensor,
    paged: PagedKv,
    real: torch.Tensor,
    block_table: torch.Tensor,
    position: torch.Tensor,
    window_start: torch.Tensor,
    prompt_length: int,
    routed: RoutedBlocks,
) -> torch.Tensor:
    """Return [q, H, D] of a few queries; `position` and `window_start` are [q, 1, 1]."""
    block_size = paged.block_size
    block_bias = _bias_by_block(routed, block_table.shape[0])  # [q, nblk]
    first = torch.arange(block_table.shape[0], device=query.device) * block_size
    reach_local = (first + block_size > window_start.amin()) & (first <= position.amax())
    used = ((block_bias > _MASKED).any(0) | reach_local).nonzero().squeeze(1)  # [U]

    physical = block_table[used]
    key_position = first[used][:, None] + torch.arange(block_size, device=query.device)
    present = real[physical]  # [U, bs]
    is_local = (key_position >= window_start) & (key_position <= position)
    is_remote = key_position < window_start.clamp(max=prompt_length)
    bias = torch.where(is_remote, block_bias[:, used, None], _MASKED)
    bias = bias.masked_fill(is_local, 0.0).masked_fill(~present, _MASKED).flatten(1)  # [q, U * bs]

    read = bias > _MASKED
    unread = ~read.any(0)[:, None, None]
    heads = query.shape[1]
    keys = paged.keys[physical].flatten(0, 1).masked_fill(unread, 0.0)
    values = paged.values[physical].flatten(0, 1).masked_fill(unread, 0.0)
    attended = F.scaled_dot_product_attention(
        query.float().transpose(0, 1)[None],
        _per_query_head(keys, heads).transpose(0, 1)[None],
        _per_query_head(values, heads).transpose(0, 1)[None],
        attn_mask=bias[None, None],
    )
    attended = attended[0].transpose(0, 1)  # [q, H, D]
    return attended.masked_fill(~read.any(1)[:, None, None], 0.0).to(query.dtype)


def _bias_by_block(routed: RoutedBlocks, num_blocks: int) -> torch.Tensor:
    """Return fp32 [q, nblk]: the bias of each selected block, `_MASKED` on all others."""
    bias = routed.bias.new_full((routed.bias.shape[0], num_blocks + 1), _MASKED)
    # Entries that are not valid go to a spare last column, so they cannot undo a valid one.
    column = torch.where(routed.valid, routed.selected, num_blocks)
    return bias.scatter_(1, column, routed.bias)[:, :num_blocks]


def _per_query_head(x: torch.Tensor, heads: int) -> torch.Tensor:
    """Return fp32 [..., heads, D]: grouped key or value heads, repeated for their query heads."""
    x = x.float()
    groups = heads // x.shape[-2]
    return x if groups == 1 else x.repeat_interleave(groups, -2)
