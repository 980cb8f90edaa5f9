"""Attention over a few routed blocks of the prompt and a local window, at any document length."""

import torch

from ocrcli.kernels.block_routing import RoutedBlocks
from ocrcli.kernels.checks import FLOAT_DTYPES, INTEGER_DTYPES, check_tensor
from ocrcli.kernels.dash_attention.naive import decode_naive, prefill_naive
from ocrcli.kernels.paged_kv import PagedKv

__all__ = ["dash_attention_decode", "dash_attention_prefill", "keys_read"]


def dash_attention_prefill(
    query: torch.Tensor,
    paged: PagedKv,
    real: torch.Tensor,
    block_table: torch.Tensor,
    position: torch.Tensor,
    window_start: torch.Tensor,
    prompt_length: int,
    routed: RoutedBlocks,
) -> torch.Tensor:
    """Return `softmax(q k / sqrt(D) + bias) v` for many queries of one sequence.

    A query reads the real keys of its local window `window_start..position` with bias 0, and those
    real keys of its valid selected blocks that lie before both `window_start` and `prompt_length`
    with the bias of their block. All heads share the routing. A query with nothing to read gets 0.

    Args:
        query: [Q, H, D] floating, already turned by the rotary embedding.
        paged: Memory of the layer; H must be a multiple of its Hkv.
        real: bool [N, bs], slots that hold a token which may be read.
        block_table: [nblk] integer, physical block of each logical block; covers every position.
        position: [Q] int64 positions of the queries in the sequence.
        window_start: [Q] int64 first position of each local window.
        prompt_length: Positions at or beyond it are read by local windows only.
        routed: [Q, K] blocks of each query.

    Returns:
        [Q, H, D] in the dtype of `query`; sums are fp32.

    Raises:
        ValueError: A shape or dtype does not fit.

    Source:
        vLLM `dash_attention.py`, `dash_attention`; DashAttention (arXiv 2605.18753).
    """
    check_tensor("query", query, ("Q", "H", "D"), FLOAT_DTYPES)
    check_tensor("position", position, (query.shape[0],), INTEGER_DTYPES)
    check_tensor("window_start", window_start, (query.shape[0],), INTEGER_DTYPES)
    check_tensor("block_table", block_table, ("nblk",), INTEGER_DTYPES)
    _check_shared(query, paged, real, routed)
    return prefill_naive(
        query, paged, real, block_table, position, window_start, prompt_length, routed
    )


def dash_attention_decode(
    query: torch.Tensor,
    paged: PagedKv,
    real: torch.Tensor,
    block_table: torch.Tensor,
    routed: RoutedBlocks,
    remote_limit: torch.Tensor,
    local_slots: torch.Tensor,
    local_valid: torch.Tensor,
) -> torch.Tensor:
    """Return `softmax(q k / sqrt(D) + bias) v` for one query of each of B sequences.

    Equal to the row that `dash_attention_prefill` gives for the same query; only the form of the
    arguments differs. Gathers K * bs + L keys per sequence, whatever the length of the document.

    Args:
        query: [B, H, D] floating, already turned by the rotary embedding.
        paged: Memory of the layer; H must be a multiple of its Hkv.
        real: bool [N, bs], slots that hold a token which may be read.
        block_table: int64 [B, nblk], physical block of each logical block, 0 beyond the end.
        routed: [B, K] blocks of each query.
        remote_limit: int64 [B], min(window_start, prompt_length): positions from there on are read
            by the local window only.
        local_slots: int64 [B, L] slots of the local window, the query's own among them.
        local_valid: bool [B, L]; False for entries outside the window or not real.

    Returns:
        [B, H, D] in the dtype of `query`; sums are fp32.

    Raises:
        ValueError: A shape or dtype does not fit.

    Source:
        vLLM `dash_attention.py`, `dash_attention`; DashAttention (arXiv 2605.18753).
    """
    check_tensor("query", query, ("B", "H", "D"), FLOAT_DTYPES)
    batch = query.shape[0]
    check_tensor("block_table", block_table, (batch, "nblk"), torch.int64)
    check_tensor("remote_limit", remote_limit, (batch,), INTEGER_DTYPES)
    check_tensor("local_slots", local_slots, (batch, "L"), torch.int64)
    check_tensor("local_valid", local_valid, local_slots.shape, torch.bool)
    _check_shared(query, paged, real, routed)
    return decode_naive(
        query, paged, real, block_table, routed, remote_limit, local_slots, local_valid
    )


def keys_read(routed: RoutedBlocks, local_slots: torch.Tensor, block_size: int) -> int:
    """Return how many keys one decode step gathers per sequence and layer: K * bs + L.

    Args:
        routed: [B, K] blocks, as given to `dash_attention_decode`.
        local_slots: [B, L] likewise.
        block_size: Tokens per block.
    """
    return routed.selected.shape[1] * block_size + local_slots.shape[1]


def _check_shared(
    query: torch.Tensor, paged: PagedKv, real: torch.Tensor, routed: RoutedBlocks
) -> None:
    queries, heads, dim = query.shape
    kv_heads, kv_dim = paged.keys.shape[2:]
    if dim != kv_dim or heads % kv_heads:
        raise ValueError(
            f"query must have heads in a multiple of {kv_heads} and head size {kv_dim}, as the "
            f"cached keys, got {heads} heads of size {dim}"
        )
    check_tensor("real", real, paged.keys.shape[:2], torch.bool)
    check_tensor("routed.selected", routed.selected, (queries, "K"), torch.int64)
    check_tensor("routed.bias", routed.bias, routed.selected.shape, torch.float32)
    check_tensor("routed.valid", routed.valid, routed.selected.shape, torch.bool)
