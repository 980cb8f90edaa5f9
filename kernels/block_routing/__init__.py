"""The choice of the few distant blocks that a query reads, and how much each of them counts."""

from dataclasses import dataclass

import torch

from ocrcli.kernels.block_routing.naive import (
    block_scores_naive,
    entmax15_naive,
    route_blocks_naive,
)
from ocrcli.kernels.block_routing.policy import RouterPolicy
from ocrcli.kernels.checks import FLOAT_DTYPES, check_tensor

__all__ = ["RoutedBlocks", "RouterPolicy", "block_scores", "entmax15", "route_blocks"]


@dataclass(frozen=True, eq=False)
class RoutedBlocks:
    """The blocks that each of Q queries reads, best first; K is the same for all of them.

    Attributes:
        selected: int64 [Q, K] logical block indices, distinct within a row.
        bias: fp32 [Q, K] added to the attention logits of all tokens of the block; 0 if not valid.
        valid: bool [Q, K]; entries that are not valid are not read.
    """

    selected: torch.Tensor
    bias: torch.Tensor
    valid: torch.Tensor


def entmax15(z: torch.Tensor) -> torch.Tensor:
    """Return `p = max(z / 2 - tau, 0)^2` with tau such that p sums to 1 (exact, by sorting).

    Values more than 2 below the maximum get exactly 0.

    Args:
        z: [..., n] floating, n >= 1, finite.

    Returns:
        Shape and dtype of `z`.

    Raises:
        ValueError: `z` has no last dimension or it is empty.

    Source:
        Peters, Niculae, Martins, "Sparse Sequence-to-Sequence Models" (arXiv 1905.05702).

    Example:
        >>> entmax15(torch.tensor([3.0, 3.0, 0.0]))
        tensor([0.5000, 0.5000, 0.0000])
    """
    if z.dim() == 0 or z.shape[-1] == 0:
        raise ValueError(f"z must have a last dimension of at least 1, got {list(z.shape)}")
    return entmax15_naive(z)


def block_scores(router_query: torch.Tensor, summaries: torch.Tensor) -> torch.Tensor:
    """Return `clamp(<query, summary> / sqrt(R), -1e4, 1e4)` for every query and block.

    Args:
        router_query: [Q, R] floating, already turned by the rotary embedding. NaN and infinity
            count as 0.
        summaries: [nblk, R] shared by all queries (prefill), or [Q, nblk, R] with one set per query
            (decode: one query per sequence).

    Returns:
        fp32 [Q, nblk].

    Raises:
        ValueError: A shape does not fit.

    Source:
        vLLM `dash_attention.py`, `dash_attention`.
    """
    check_tensor("router_query", router_query, ("Q", "R"), FLOAT_DTYPES)
    queries, dim = router_query.shape
    if summaries.dim() == 2:
        check_tensor("summaries", summaries, ("nblk", dim), FLOAT_DTYPES)
    else:
        check_tensor("summaries", summaries, (queries, "nblk", dim), FLOAT_DTYPES)
    return block_scores_naive(router_query, summaries)


def route_blocks(
    scores: torch.Tensor,
    remote: torch.Tensor,
    candidate: torch.Tensor,
    policy: RouterPolicy,
    layer_index: int = 0,
) -> RoutedBlocks:
    """Return the blocks each query reads: entmax over its `topn` best, of which `topk` are kept.

    A query chooses among its remote candidates. Without any, `policy.fallback` lets it choose among
    all remote blocks or leaves it with none. Equal scores go to the lower block index.

    Args:
        scores: fp32 [Q, nblk] from `block_scores`. Scores of blocks that are not remote may be NaN.
        remote: bool [Q, nblk], blocks that lie before the query's local window.
        candidate: bool [Q, nblk], blocks with at least one image token of the query's page.
        policy: The switches.
        layer_index: Decoder layer, from 0, for `policy.per_layer`.

    Returns:
        Blocks with K = min(topk, nblk).

    Raises:
        ValueError: A shape or dtype does not fit.

    Source:
        Call contract: vLLM `dash_attention.py`. Steps: entmax-1.5 over the 16 best scores, 12 kept,
        bias log p (DashAttention, arXiv 2605.18753). The body in use is not published; the README
        lists what is assumed.
    """
    check_tensor("scores", scores, ("Q", "nblk"), torch.float32)
    check_tensor("remote", remote, scores.shape, torch.bool)
    check_tensor("candidate", candidate, scores.shape, torch.bool)
    if scores.shape[1] == 0:
        raise ValueError("scores must cover at least one block, got 0")
    return RoutedBlocks(
        *route_blocks_naive(scores, remote, candidate, policy.for_layer(layer_index))
    )
