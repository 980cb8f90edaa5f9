"""Routing in plain PyTorch: the reference, and the path on every device.

The decode step runs this once per layer, so it counts operations: one sort serves the choice of the
best blocks, the entmax threshold and the final cut.
"""

import math

import torch

from ocrcli.kernels.block_routing.policy import RouterPolicy

_SCORE_LIMIT = 1e4
_NEVER = -1e9


def block_scores_naive(router_query: torch.Tensor, summaries: torch.Tensor) -> torch.Tensor:
    """Return fp32 [Q, nblk] scaled and bounded products of queries and block summaries."""
    query = torch.nan_to_num(router_query.float(), nan=0.0, posinf=0.0, neginf=0.0)
    query = query * (1.0 / math.sqrt(query.shape[-1]))
    if summaries.dim() == 2:
        products = query @ summaries.float().T
    else:
        products = torch.matmul(summaries.float(), query[:, :, None]).squeeze(-1)
    return products.clamp(-_SCORE_LIMIT, _SCORE_LIMIT)


def entmax15_naive(z: torch.Tensor) -> torch.Tensor:
    """Return entmax-1.5 of `z` along its last dimension, in the order of `z`."""
    half = (z - z.amax(-1, keepdim=True)) * 0.5
    threshold = _threshold(half.sort(-1, descending=True).values.clamp(min=-2.0))
    return (half - threshold).clamp(min=0.0).square()


def route_blocks_naive(
    scores: torch.Tensor, remote: torch.Tensor, candidate: torch.Tensor, policy: RouterPolicy
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return (selected, bias, valid), each [Q, K], best block first."""
    allowed = _allowed(remote, candidate, policy)
    # Stable, so that equal scores go to the lower block index on every device.
    ranked, order = scores.masked_fill(~allowed, _NEVER).sort(stable=True, dim=-1, descending=True)
    ranked = ranked[:, : policy.topn]
    probability = _probability_of_ranked(ranked * policy.scale, policy.alpha)
    kept = min(policy.topk, ranked.shape[-1])
    ranked, probability = ranked[:, :kept], probability[:, :kept]
    valid = (probability > 0) & (ranked > _NEVER * 0.1)
    return order[:, :kept], _bias(probability, valid, policy), valid


def _allowed(remote: torch.Tensor, candidate: torch.Tensor, policy: RouterPolicy) -> torch.Tensor:
    """Return bool [Q, nblk]: the blocks among which each query chooses."""
    if not policy.page_gate:
        return remote
    eligible = remote & candidate
    if policy.fallback == "local_only":
        return eligible
    gated = eligible if policy.candidate_scope == "candidate_and_remote" else candidate
    return torch.where(gated.any(-1, keepdim=True), eligible, remote)


def _probability_of_ranked(ranked: torch.Tensor, alpha: float) -> torch.Tensor:
    """Return the probabilities of scores that are sorted from high to low."""
    if alpha == 1.0:
        return ranked.softmax(-1)
    half = ((ranked - ranked[:, :1]) * 0.5).clamp(min=-2.0)
    return (half - _threshold(half)).clamp(min=0.0).square()


def _threshold(half: torch.Tensor) -> torch.Tensor:
    """Return tau with `sum(max(half - tau, 0)^2) = 1` for rows sorted from 0 downwards.

    With the k largest values in the support, tau is the lower root of
    `k tau^2 - 2 A tau + B - 1 = 0`, where A and B are the sums of the values and of their squares.
    The support is the longest prefix whose tau does not exceed its last value. Since tau >= -1,
    values at or below -1 never join it, and callers cut them at -2 to keep the sums small.
    """
    count = torch.arange(1, half.shape[-1] + 1, device=half.device, dtype=half.dtype)
    total = half.cumsum(-1)
    excess = half.square().cumsum(-1) - 1.0
    # The floor keeps the gradient of the root finite for prefixes that are no solution.
    root = (total.square() - count * excess).clamp(min=1e-20).sqrt()
    tau = (total - root) / count
    # The first value is always in the support; the others tell the place of the last one.
    last = (tau[..., 1:] <= half[..., 1:]).sum(-1, keepdim=True)
    return tau.gather(-1, last)


def _bias(probability: torch.Tensor, valid: torch.Tensor, policy: RouterPolicy) -> torch.Tensor:
    """Return the additive fp32 bias per kept block, 0 where it is not valid."""
    if policy.bias_mode == "zero":
        return torch.zeros_like(probability)
    if policy.renormalise:
        shared = (probability * valid).sum(-1, keepdim=True)
        probability = probability / shared.clamp(min=torch.finfo(probability.dtype).tiny)
    floor = max(policy.bias_floor, torch.finfo(probability.dtype).tiny)
    bias = probability.clamp(min=floor).log()
    if policy.bias_mode == "logp_minus_logbs":
        bias = bias - math.log(policy.block_size)
    elif policy.bias_mode == "centered":
        bias = bias.masked_fill(~valid, 0.0)
        mean = bias.sum(-1, keepdim=True) / valid.sum(-1, keepdim=True).clamp(min=1)
        bias = (bias - mean) / policy.bias_sigma
    return bias.masked_fill(~valid, 0.0)
