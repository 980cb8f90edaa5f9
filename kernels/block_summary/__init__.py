"""One vector per block of cached tokens, by which a query decides whether to read the block."""

import torch

from ocrcli.kernels.block_summary.naive import block_summary_naive
from ocrcli.kernels.checks import FLOAT_DTYPES, check_tensor

__all__ = ["block_summary"]


def block_summary(
    router_keys: torch.Tensor, head_cls: torch.Tensor, real: torch.Tensor, block_size: int
) -> torch.Tensor:
    """Return `summary_b = sum_t softmax_t(<key_t, head_cls> / sqrt(R)) * key_t` over real tokens.

    Blocks are cut from position 0. NaN and infinity in a key count as 0; what lies in tokens that
    are not real has no effect at all.

    Args:
        router_keys: [S, R] floating, already turned by the rotary embedding.
        head_cls: [R] learned query of the layer.
        real: [S] bool; False for padding and for positions at or beyond the prompt length.
        block_size: Tokens per block.

    Returns:
        fp32 [ceil(S / block_size), R]; zeros for a block without a real token.

    Raises:
        ValueError: A shape or dtype does not fit, or `block_size` is not positive.

    Source:
        vLLM `dash_attention.py`, `dash_attention`; DashAttention (arXiv 2605.18753).

    Example:
        >>> block_summary(torch.ones(5, 8), torch.zeros(8), torch.ones(5) > 0, 4).shape
        torch.Size([2, 8])
    """
    check_tensor("router_keys", router_keys, ("S", "R"), FLOAT_DTYPES)
    check_tensor("head_cls", head_cls, (router_keys.shape[1],), FLOAT_DTYPES)
    check_tensor("real", real, (router_keys.shape[0],), torch.bool)
    if block_size < 1:
        raise ValueError(f"block_size must be positive, got {block_size}")
    return block_summary_naive(router_keys, head_cls, real, block_size)
