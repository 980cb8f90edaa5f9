"""Reference sliding-window attention in plain PyTorch: the reference, and the path everywhere."""

import torch
import torch.nn.functional as F

from ocrcli.kernels.paged_kv import PagedKv

# Finite, so that a query with nothing to read stays free of NaN until its output is zeroed.
_MASKED = -1e4


def prefill_naive(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Return [S, H, D]: each query's attention over itself and everything before it."""
    heads = query.shape[1]
    attended = F.scaled_dot_product_attention(
        query.transpose(0, 1)[None],
        _per_query_head(key, heads).transpose(0, 1)[None],
        _per_query_head(value, heads).transpose(0, 1)[None],
        is_causal=True,
    )
    return attended[0].transpose(0, 1)


def decode_naive(
    query: torch.Tensor,
    paged: PagedKv,
    real: torch.Tensor,
    block_table: torch.Tensor,
    prompt_limit: torch.Tensor,
    local_slots: torch.Tensor,
    local_valid: torch.Tensor,
) -> torch.Tensor:
    """Return [B, H, D] from the gathered prompt and window of each sequence."""
    batch, heads, dim = query.shape
    block_size, kv_heads = paged.keys.shape[1:3]
    if not query.is_cuda:
        # Tables are padded; on a GPU, asking for the longest prompt would cost more than it saves.
        block_table = block_table[:, : -(-int(prompt_limit.max()) // block_size)]
    position = torch.arange(block_table.shape[1] * block_size, device=query.device)
    keep = real[block_table].flatten(1) & (position < prompt_limit[:, None])
    keep = torch.cat((keep, local_valid), 1)  # [B, T]
    offset = torch.arange(block_size, device=query.device)
    slots = (block_table[:, :, None] * block_size + offset).flatten(1)
    slots = torch.cat((slots, local_slots), 1)
    # A slot that is not read may hold anything: read one that counts a second time in its place.
    first_kept = keep.byte().argmax(1, keepdim=True)
    slots = torch.where(keep, slots, slots.gather(1, first_kept)).flatten()

    keys = paged.keys.flatten(0, 1).index_select(0, slots).view(batch, -1, kv_heads, dim)
    values = paged.values.flatten(0, 1).index_select(0, slots).view(batch, -1, kv_heads, dim)
    bias = torch.zeros(keep.shape, device=query.device, dtype=query.dtype)
    attended = F.scaled_dot_product_attention(
        query[:, :, None],
        _per_query_head(keys, heads).transpose(1, 2),
        _per_query_head(values, heads).transpose(1, 2),
        attn_mask=bias.masked_fill(~keep, _MASKED)[:, None, None],
    )
    nothing = ~keep.any(1)
    return attended.squeeze(2).masked_fill(nothing[:, None, None], 0.0)


def _per_query_head(x: torch.Tensor, heads: int) -> torch.Tensor:
    """Return [..., heads, D]: grouped key or value heads, repeated for their query heads."""
    groups = heads // x.shape[-2]
    return x if groups == 1 else x.repeat_interleave(groups, -2)
