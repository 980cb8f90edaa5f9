"""Trainable routing of page-isolated rows: from router vectors to the bias of every block.

Inference routes token by token over a paged cache; training has whole pages in one batch and needs
gradients. The fused GPU path lives in `training_kernels`; it is imported on first use because
Triton is optional.
"""

import os
from typing import Any

import torch
from torch import Tensor

from ocrcli.kernels.block_routing import RouterPolicy, route_blocks
from ocrcli.kernels.block_summary import block_summary

__all__ = ["routing_bias_training", "routing_bias_training_reference"]

NOT_SELECTED = -1e5
"""Bias of a block that a query does not read."""
_SCORE_LIMIT = 1e4


def routing_bias_training(
    router_query: Tensor,
    router_key: Tensor,
    head_cls: Tensor,
    policy: RouterPolicy,
    num_image_tokens: int,
    prompt_length: int,
    local: int,
    block_size: int,
) -> Tensor:
    """Return the bias of every prompt block for every query, differentiable in all three tensors.

    Each block of the prompt is summed up in one vector (`block_summary`); a query chooses among the
    blocks that begin before its local window (`route_blocks`). What it does not read gets
    `NOT_SELECTED`.

    CUDA tensors take the Triton kernels where the policy is entmax with bias log p; anything else
    takes the reference.

    Args:
        router_query: float32 [B, S, R], turned by the rotary embedding; S = prompt_length + T.
        router_key: float32 [B, S, R], likewise.
        head_cls: float32 [R], learned query of the summaries.
        policy: The switches of routing, those of the layer in place.
        num_image_tokens: Tokens of the prompt before its padding.
        prompt_length: Tokens of the padded prompt, a multiple of `block_size`.
        local: Local window in tokens, the query included.
        block_size: Tokens per block.

    Returns:
        float32 [B, S, prompt_length // block_size].

    Raises:
        ValueError: A shape, dtype or length does not fit.

    Example:
        >>> vectors = torch.randn(2, 1, 40, 8)
        >>> cls, policy = torch.zeros(8), RouterPolicy(block_size=8)
        >>> routing_bias_training(*vectors, cls, policy, 30, 32, 16, 8).shape
        torch.Size([1, 40, 4])
    """
    _check(router_query, router_key, head_cls, num_image_tokens, prompt_length, block_size)
    fused = router_query.is_cuda or os.environ.get("TRITON_INTERPRET") == "1"
    if not fused or not _has_kernel(policy, block_size, prompt_length, router_query.shape[2]):
        return routing_bias_training_reference(
            router_query,
            router_key,
            head_cls,
            policy,
            num_image_tokens,
            prompt_length,
            local,
            block_size,
        )
    return _run_fused(
        router_query,
        router_key,
        head_cls,
        (num_image_tokens, prompt_length, local, block_size),
        (policy.topn, policy.topk, policy.scale, policy.bias_floor),
    )


def routing_bias_training_reference(
    router_query: Tensor,
    router_key: Tensor,
    head_cls: Tensor,
    policy: RouterPolicy,
    num_image_tokens: int,
    prompt_length: int,
    local: int,
    block_size: int,
) -> Tensor:
    """Return what `routing_bias_training` returns, through the operations of inference.

    Args:
        router_query: See `routing_bias_training`.
        router_key: See `routing_bias_training`.
        head_cls: See `routing_bias_training`.
        policy: See `routing_bias_training`.
        num_image_tokens: See `routing_bias_training`.
        prompt_length: See `routing_bias_training`.
        local: See `routing_bias_training`.
        block_size: See `routing_bias_training`.

    Returns:
        float32 [B, S, prompt_length // block_size].

    Raises:
        ValueError: As `routing_bias_training`.
    """
    _check(router_query, router_key, head_cls, num_image_tokens, prompt_length, block_size)
    batch, length, dim = router_query.shape
    device = router_query.device
    readable = torch.arange(prompt_length, device=device) < num_image_tokens
    summaries = block_summary(
        router_key[:, :prompt_length].flatten(0, 1), head_cls, readable.repeat(batch), block_size
    ).view(batch, -1, dim)
    scores = torch.einsum("bsr,bnr->bsn", router_query, summaries) * dim**-0.5
    scores = scores.clamp(-_SCORE_LIMIT, _SCORE_LIMIT).flatten(0, 1)
    position = torch.arange(length, device=device)
    section = torch.where(position < prompt_length, 0, prompt_length)
    window = torch.maximum(position - local + 1, section)
    starts = torch.arange(0, prompt_length, block_size, device=device)
    remote = (starts[None] < window[:, None]).repeat(batch, 1)
    routed = route_blocks(scores, remote, remote, policy)
    chosen = routed.bias.masked_fill(~routed.valid, NOT_SELECTED)
    bias = torch.full_like(scores, NOT_SELECTED).scatter(1, routed.selected, chosen)
    return bias.view(batch, length, -1)


class _Routing(torch.autograd.Function):
    """Connects the kernels to autograd; the products between them are plain batched products."""

    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        head_cls: Tensor,
        lengths: tuple[int, int, int, int],
        limits: tuple[int, int, float, float],
    ) -> Tensor:
        from ocrcli.kernels.block_routing.training_kernels import launch_bias, launch_summary

        summaries = launch_summary(key, head_cls, lengths)
        # The attention kernels read one block's bias for many neighbouring queries at a time.
        products = torch.bmm(summaries, query.transpose(1, 2))  # [B, nb, S]
        ctx.save_for_backward(query, key, head_cls, summaries, products)
        ctx.lengths, ctx.limits = lengths, limits
        return launch_bias(products, query.shape[2], lengths, limits)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        from ocrcli.kernels.block_routing.training_kernels import (
            launch_bias_backward,
            launch_summary_backward,
        )

        query, key, head_cls, summaries, products = ctx.saved_tensors
        grad = launch_bias_backward(
            grads[0].contiguous(), products, query.shape[2], ctx.lengths, ctx.limits
        )
        grad_query = torch.bmm(grad.transpose(1, 2), summaries)
        grad_summaries = torch.bmm(grad, query)
        grad_key, grad_cls = launch_summary_backward(grad_summaries, key, head_cls, ctx.lengths)
        return grad_query, grad_key, grad_cls, None, None


@torch.compiler.disable
def _run_fused(
    query: Tensor,
    key: Tensor,
    head_cls: Tensor,
    lengths: tuple[int, int, int, int],
    limits: tuple[int, int, float, float],
) -> Tensor:
    # The kernels launch on the current device, which need not be the one that holds `query`.
    with torch.cuda.device_of(query):
        bias: Tensor = _Routing.apply(
            query.contiguous(), key.contiguous(), head_cls.contiguous(), lengths, limits
        )
    return bias.transpose(1, 2)


def _has_kernel(policy: RouterPolicy, block_size: int, prompt_length: int, dim: int) -> bool:
    plain = policy.alpha == 1.5 and policy.bias_mode == "logp" and not policy.renormalise
    powers = dim & (dim - 1) == 0 and block_size & (block_size - 1) == 0
    return plain and powers and 0 < prompt_length // block_size <= 256


def _check(
    query: Tensor,
    key: Tensor,
    head_cls: Tensor,
    num_image_tokens: int,
    prompt_length: int,
    block_size: int,
) -> None:
    if query.dim() != 3 or query.dtype != torch.float32:
        raise ValueError(
            f"router_query must be [B, S, R] float32, got {tuple(query.shape)} {query.dtype}"
        )
    for name, tensor, shape in (
        ("router_key", key, query.shape),
        ("head_cls", head_cls, query.shape[2:]),
    ):
        if tensor.shape != shape or tensor.dtype != query.dtype or tensor.device != query.device:
            raise ValueError(
                f"{name} must be {tuple(shape)} {query.dtype} on {query.device}, "
                f"got {tuple(tensor.shape)} {tensor.dtype} on {tensor.device}"
            )
    if prompt_length % block_size or not 0 < prompt_length <= query.shape[1]:
        raise ValueError(
            f"prompt_length must be a multiple of {block_size} in 1..{query.shape[1]}, "
            f"got {prompt_length}; pad the prompt to whole blocks"
        )
    if not 0 <= num_image_tokens <= prompt_length:
        raise ValueError(
            f"num_image_tokens must be in 0..{prompt_length} (prompt_length), "
            f"got {num_image_tokens}"
        )
