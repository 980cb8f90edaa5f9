"""Attention of a prompt that stays visible and of generated text that slides out of view."""

import torch

from ocrcli.kernels.checks import FLOAT_DTYPES, INTEGER_DTYPES, check_tensor
from ocrcli.kernels.paged_kv import PagedKv
from ocrcli.kernels.rswa_attention.naive import decode_naive, prefill_naive

__all__ = ["rswa_attention_decode", "rswa_attention_prefill"]


def rswa_attention_prefill(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor
) -> torch.Tensor:
    """Return dense causal attention `softmax(q k / sqrt(D)) v` over one whole prompt.

    Args:
        query: [S, H, D] floating, already turned by the rotary embedding.
        key: [S, Hkv, D], likewise; H must be a multiple of Hkv.
        value: [S, Hkv, D].

    Returns:
        [S, H, D] in the dtype of `query`.

    Raises:
        ValueError: A shape or dtype does not fit.

    Source:
        Unlimited-OCR (arXiv 2606.23050), reference sliding-window attention.
    """
    check_tensor("query", query, ("S", "H", "D"), FLOAT_DTYPES)
    check_tensor("key", key, (query.shape[0], "Hkv", query.shape[2]), FLOAT_DTYPES)
    check_tensor("value", value, tuple(key.shape), FLOAT_DTYPES)
    _check_heads(query.shape[1], key.shape[1])
    return prefill_naive(query, key, value)


def rswa_attention_decode(
    query: torch.Tensor,
    paged: PagedKv,
    real: torch.Tensor,
    block_table: torch.Tensor,
    prompt_limit: torch.Tensor,
    local_slots: torch.Tensor,
    local_valid: torch.Tensor,
) -> torch.Tensor:
    """Return `softmax(q k / sqrt(D)) v` for one query of each of B sequences.

    A query reads every real prompt key below `prompt_limit` and the valid slots of its local
    window. While the window still covers the end of the prompt, `prompt_limit` is the window's
    start, so that no key counts twice.

    Args:
        query: [B, H, D] floating, already turned by the rotary embedding.
        paged: Memory of the layer; H must be a multiple of its Hkv.
        real: bool [N, bs], slots that hold a token which may be read.
        block_table: int64 [B, nblk], physical block of each prompt block, 0 beyond the end.
        prompt_limit: int64 [B], prompt keys are read below this position.
        local_slots: int64 [B, L] slots of the local window, the query's own among them.
        local_valid: bool [B, L]; False for entries outside the window.

    Returns:
        [B, H, D] in the dtype of `query`.

    Raises:
        ValueError: A shape or dtype does not fit.

    Source:
        Unlimited-OCR (arXiv 2606.23050), reference sliding-window attention.
    """
    check_tensor("query", query, ("B", "H", "D"), FLOAT_DTYPES)
    batch = query.shape[0]
    check_tensor("real", real, paged.keys.shape[:2], torch.bool)
    check_tensor("block_table", block_table, (batch, "nblk"), torch.int64)
    check_tensor("prompt_limit", prompt_limit, (batch,), INTEGER_DTYPES)
    check_tensor("local_slots", local_slots, (batch, "L"), torch.int64)
    check_tensor("local_valid", local_valid, local_slots.shape, torch.bool)
    _check_heads(query.shape[1], paged.keys.shape[2])
    return decode_naive(query, paged, real, block_table, prompt_limit, local_slots, local_valid)


def _check_heads(heads: int, kv_heads: int) -> None:
    if heads % kv_heads:
        raise ValueError(f"query must have heads in a multiple of {kv_heads}, got {heads}")
