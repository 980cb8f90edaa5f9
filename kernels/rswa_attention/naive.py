"""Reference sliding-window attention in plain PyTorch: the reference, and the path everywhere."""

import torch
import torch.nn.functional as F

from ocrcli.kernels.paged_kv import PagedKv

# Finite, so that a query with nothing to read stays free of NaN until its output is zeroed.
_MASKED = -1e4
# Tokens whose products are held at a time, a few megabytes.
_PIECE = 1024


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
    """Return [B, H, D] from the prompt and the window of each sequence.

    On a CPU a prompt that lies in one piece is read where it lies: copying it for every token would
    cost more than the attention, and grows with the prompt.
    """
    if query.is_cuda or query.dtype != torch.float32 or query.shape[1] != paged.keys.shape[2]:
        return _gathered(query, paged, real, block_table, prompt_limit, local_slots, local_valid)
    rows = []
    for row, limit in enumerate(prompt_limit.tolist()):
        first = _first_slot(block_table[row], real, limit)
        one = slice(row, row + 1)
        if first is None:
            rest = block_table[one], prompt_limit[one], local_slots[one], local_valid[one]
            rows.append(_gathered(query[one], paged, real, *rest)[0])
        else:
            slots = local_slots[row][local_valid[row]]
            rows.append(_in_place(query[row], paged, slice(first, first + limit), slots))
    return torch.stack(rows)


def _first_slot(blocks: torch.Tensor, real: torch.Tensor, limit: int) -> int | None:
    """Return where `limit` readable slots lie in a row, or None if they do not."""
    block_size = real.shape[1]
    used = blocks[: -(-limit // block_size)].tolist()
    first = used[0] if used else 0
    if used != list(range(first, first + len(used))):
        return None
    start = first * block_size
    return start if bool(real.view(-1)[start : start + limit].all()) else None


def _in_place(
    query: torch.Tensor, paged: PagedKv, prompt: slice, local_slots: torch.Tensor
) -> torch.Tensor:
    """Return [H, D] of one query [H, D].

    Products are written out: keys lie head by head within a token, and a matrix product per head
    would read them in small pieces.
    """
    keys, values = paged.keys.flatten(0, 1), paged.values.flatten(0, 1)
    scaled = query * query.shape[1] ** -0.5
    parts = (*keys[prompt].split(_PIECE), keys.index_select(0, local_slots))
    weights = torch.cat([(part * scaled).sum(-1) for part in parts]).softmax(0)  # [T, H]
    parts = (*values[prompt].split(_PIECE), values.index_select(0, local_slots))
    shares = weights[:, :, None].split([part.shape[0] for part in parts])
    return torch.stack(
        [(part * share).sum(0) for part, share in zip(parts, shares, strict=True)]
    ).sum(0)


def _gathered(
    query: torch.Tensor,
    paged: PagedKv,
    real: torch.Tensor,
    block_table: torch.Tensor,
    prompt_limit: torch.Tensor,
    local_slots: torch.Tensor,
    local_valid: torch.Tensor,
) -> torch.Tensor:
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
