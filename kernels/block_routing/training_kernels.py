# mypy: allow-untyped-defs
"""Kernels of trainable routing: block summaries, and the choice of blocks with its gradient.

Legend: `B` pages, `S` tokens, `R` router width, `nb` blocks of the prompt. Scores and biases are
stored `[B, nb, S]`. A program of the choice owns `ROWS` neighbouring queries and holds all their
blocks, so that the best ones are found in registers: one pass takes out the largest score of every
query, `TOPN` times, and keeps the running sums from which the threshold of entmax follows (see
`naive._threshold`). The backward kernel repeats the passes instead of reading what was chosen.
"""

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

_NEVER = tl.constexpr(-1e9)
_NOT_SELECTED = tl.constexpr(-1e5)
_SCORE_LIMIT = tl.constexpr(1e4)
_LOWEST = tl.constexpr(-3.4028234663852886e38)
_ROWS = 32


@triton.jit
def _load_block(key_ptr, page, block, num_image, seq_len, BLOCK: tl.constexpr, R: tl.constexpr):
    """Returns one block's keys `[BLOCK, R]`, what counts of them, and which tokens are real."""
    position = block * BLOCK + tl.arange(0, BLOCK)
    present = position < num_image
    offset = (page * seq_len + position).to(tl.int64)[:, None] * R + tl.arange(0, R)[None, :]
    key = tl.load(key_ptr + offset, mask=present[:, None], other=0.0)
    # NaN compares unequal to itself, infinity exceeds the largest finite number.
    usable = present[:, None] & (key == key) & (tl.abs(key) <= -_LOWEST)
    return tl.where(usable, key, 0.0), usable, present, offset


@triton.jit
def _weights(key, cls, present, scale):
    """Returns the softmax of the logits of one block's tokens, and which were not cut off."""
    raw = tl.sum(key * cls[None, :], 1) * scale
    logit = tl.minimum(tl.maximum(raw, -_SCORE_LIMIT), _SCORE_LIMIT)
    logit = tl.where(present, logit, _LOWEST)
    weight = tl.exp(logit - tl.max(logit, 0))
    return weight / tl.sum(weight, 0), present & (tl.abs(raw) <= _SCORE_LIMIT)


@triton.jit(do_not_specialize=["num_image", "seq_len"])
def summary_kernel(
    key_ptr, cls_ptr, out_ptr, num_image, seq_len, scale, BLOCK: tl.constexpr, R: tl.constexpr
):
    """Writes one block's summary; grid (nb, B)."""
    block, page = tl.program_id(0), tl.program_id(1)
    key, _, present, _ = _load_block(key_ptr, page, block, num_image, seq_len, BLOCK, R)
    cls = tl.load(cls_ptr + tl.arange(0, R))
    weight, _ = _weights(key, cls, present, scale)
    index = page * tl.num_programs(0) + block
    tl.store(out_ptr + index * R + tl.arange(0, R), tl.sum(weight[:, None] * key, 0))


@triton.jit(do_not_specialize=["num_image", "seq_len"])
def summary_grad_kernel(
    dout_ptr,
    key_ptr,
    cls_ptr,
    dkey_ptr,
    dcls_ptr,
    num_image,
    seq_len,
    scale,
    BLOCK: tl.constexpr,
    R: tl.constexpr,
):
    """Writes the gradient of one block's keys and its share of that of `head_cls`; grid (nb, B)."""
    block, page = tl.program_id(0), tl.program_id(1)
    key, usable, present, offset = _load_block(key_ptr, page, block, num_image, seq_len, BLOCK, R)
    columns = tl.arange(0, R)
    cls = tl.load(cls_ptr + columns)
    weight, moved = _weights(key, cls, present, scale)
    index = page * tl.num_programs(0) + block
    dout = tl.load(dout_ptr + index * R + columns)
    dweight = tl.sum(key * dout[None, :], 1)
    dlogit = weight * (dweight - tl.sum(weight * dweight, 0))
    dlogit = tl.where(moved, dlogit, 0.0) * scale
    dkey = weight[:, None] * dout[None, :] + dlogit[:, None] * cls[None, :]
    tl.store(dkey_ptr + offset, tl.where(usable, dkey, 0.0))
    tl.store(dcls_ptr + index * R + columns, tl.sum(dlogit[:, None] * key, 0))


@triton.jit
def _load_scores(
    product_ptr,
    offset,
    known,
    position,
    blocks,
    scale,
    prompt_length,
    LOCAL: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Returns scores `[NB, ROWS]`, which may be chosen, and which were not cut off.

    Blocks that a query may not choose have `_NEVER`, places beyond the last block minus infinity.
    """
    raw = tl.load(product_ptr + offset, mask=known, other=0.0) * scale
    score = tl.minimum(tl.maximum(raw, -_SCORE_LIMIT), _SCORE_LIMIT)
    section = tl.where(position >= prompt_length, prompt_length, 0)
    window = tl.maximum(position - LOCAL + 1, section)
    allowed = known & ((blocks * BLOCK)[:, None] < window[None, :])
    score = tl.where(allowed, score, _NEVER)
    score = tl.where(blocks[:, None] * BLOCK < prompt_length, score, float("-inf"))
    return score, allowed, allowed & (tl.abs(raw) <= _SCORE_LIMIT)


@triton.jit
def _choose(score, blocks, num_blocks, policy_scale, TOPN: tl.constexpr, TOPK: tl.constexpr):
    """Returns per query what entmax needs, and which blocks are among the best.

    Returns:
        The best score, its block, the threshold, size and sums of the support, and two masks
        `[NB, ROWS]`: the `TOPN` and the `TOPK` best.
    """
    left = score
    best = tl.max(score, 0) * policy_scale  # [ROWS]
    zero = best * 0.0
    total, square, threshold = zero, zero, zero
    support, root, summed = zero + 1.0, zero + 1.0, zero
    first = tl.zeros_like(best).to(tl.int32)
    growing = best == best
    kept = score > float("inf")
    for rank in tl.static_range(TOPN):
        peak = tl.max(left, 0)
        place = tl.min(tl.where(left == peak[None, :], blocks[:, None], 1 << 30), 0)
        if rank == 0:
            first = place
        half = tl.maximum((peak * policy_scale - best) * 0.5, -2.0)
        total += half
        square += half * half
        under = total * total - (rank + 1) * (square - 1.0)
        new_root = tl.sqrt(tl.maximum(under, 1e-20))
        tau = (total - new_root) / (rank + 1)
        growing = growing & (tau <= half) & (rank < num_blocks)
        threshold = tl.where(growing, tau, threshold)
        support = tl.where(growing, rank + 1.0, support)
        root = tl.where(growing, new_root, root)
        summed = tl.where(growing, total, summed)
        left = tl.where(blocks[:, None] == place[None, :], float("-inf"), left)
        if rank == TOPK - 1:
            kept = (left == float("-inf")) & (score > float("-inf"))
    ranked = (left == float("-inf")) & (score > float("-inf"))
    return best, first, threshold, support, root, summed, ranked, kept


@triton.jit(do_not_specialize=["num_blocks", "prompt_length", "seq_len"])
def bias_kernel(
    product_ptr,
    out_ptr,
    num_blocks,
    prompt_length,
    seq_len,
    scale,
    policy_scale,
    floor,
    LOCAL: tl.constexpr,
    BLOCK: tl.constexpr,
    TOPN: tl.constexpr,
    TOPK: tl.constexpr,
    NB: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Writes the bias of all blocks of `ROWS` queries; grid (tiles of S, B)."""
    blocks = tl.arange(0, NB)
    position = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    known = (blocks < num_blocks)[:, None] & (position < seq_len)[None, :]
    origin = tl.program_id(1).to(tl.int64) * num_blocks * seq_len
    offset = origin + blocks[:, None] * seq_len + position[None, :]
    score, _, _ = _load_scores(
        product_ptr, offset, known, position, blocks, scale, prompt_length, LOCAL, BLOCK
    )
    best, _, threshold, _, _, _, _, kept = _choose(
        score, blocks, num_blocks, policy_scale, TOPN, TOPK
    )
    half = tl.maximum((score * policy_scale - best[None, :]) * 0.5, -2.0)
    above = tl.maximum(half - threshold[None, :], 0.0)
    probability = above * above
    valid = kept & (probability > 0.0) & (score > _NEVER * 0.1)
    bias = tl.log(tl.maximum(probability, floor))
    tl.store(out_ptr + offset, tl.where(valid, bias, _NOT_SELECTED), mask=known)


@triton.jit(do_not_specialize=["num_blocks", "prompt_length", "seq_len"])
def bias_grad_kernel(
    dout_ptr,
    product_ptr,
    dproduct_ptr,
    num_blocks,
    prompt_length,
    seq_len,
    scale,
    policy_scale,
    floor,
    LOCAL: tl.constexpr,
    BLOCK: tl.constexpr,
    TOPN: tl.constexpr,
    TOPK: tl.constexpr,
    NB: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Writes the gradient of the products of `ROWS` queries; grid (tiles of S, B)."""
    blocks = tl.arange(0, NB)
    position = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    known = (blocks < num_blocks)[:, None] & (position < seq_len)[None, :]
    origin = tl.program_id(1).to(tl.int64) * num_blocks * seq_len
    offset = origin + blocks[:, None] * seq_len + position[None, :]
    score, _, moved = _load_scores(
        product_ptr, offset, known, position, blocks, scale, prompt_length, LOCAL, BLOCK
    )
    best, first, threshold, support, root, summed, ranked, kept = _choose(
        score, blocks, num_blocks, policy_scale, TOPN, TOPK
    )
    raw_half = (score * policy_scale - best[None, :]) * 0.5
    half = tl.maximum(raw_half, -2.0)
    above = tl.maximum(half - threshold[None, :], 0.0)
    probability = above * above
    valid = kept & (probability > 0.0) & (score > _NEVER * 0.1)
    # Below the floor the bias is constant.
    steep = valid & (probability >= floor)
    dout = tl.load(dout_ptr + offset, mask=known, other=0.0)
    dhalf = tl.where(steep, 2.0 * dout / tl.where(steep, above, 1.0), 0.0)
    dthreshold = -tl.sum(dhalf, 0)
    # tau = (A - root) / k with root^2 = A^2 - k (B - 1), A and B sums over the support.
    slope = (1.0 - summed / root) / support
    shared = dthreshold[None, :] * (slope[None, :] + half / root[None, :])
    dhalf += tl.where(ranked & (half >= threshold[None, :]), shared, 0.0)
    dranked = tl.where(raw_half >= -2.0, 0.5 * dhalf, 0.0)
    # All are measured from the best one.
    is_first = blocks[:, None] == first[None, :]
    dranked -= tl.where(is_first, tl.sum(dranked, 0)[None, :], 0.0)
    dproduct = tl.where(moved, dranked * (policy_scale * scale), 0.0)
    tl.store(dproduct_ptr + offset, dproduct, mask=known)


def launch_summary(key: Tensor, head_cls: Tensor, lengths: tuple[int, int, int, int]) -> Tensor:
    """Returns the summaries `[B, nb, R]` of contiguous keys `[B, S, R]`.

    Args:
        key: Router keys, float32.
        head_cls: `[R]` float32.
        lengths: Image tokens, padded prompt, local window and block size, in tokens.
    """
    num_image, prompt_length, _, block = lengths
    batch, seq_len, dim = key.shape
    out = torch.empty(batch, prompt_length // block, dim, device=key.device)
    summary_kernel[(out.shape[1], batch)](
        key,
        head_cls,
        out,
        num_image,
        seq_len,
        1.0 / math.sqrt(dim),
        BLOCK=block,
        R=dim,
        num_warps=4,
    )
    return out


def launch_summary_backward(
    grad: Tensor, key: Tensor, head_cls: Tensor, lengths: tuple[int, int, int, int]
) -> tuple[Tensor, Tensor]:
    """Returns the gradients of keys `[B, S, R]` and `head_cls` `[R]`.

    Args:
        grad: Gradient of the summaries, `[B, nb, R]`, contiguous.
        key: As given to `launch_summary`.
        head_cls: As given to `launch_summary`.
        lengths: As given to `launch_summary`.
    """
    num_image, _, _, block = lengths
    batch, seq_len, dim = key.shape
    # Zeros, because the response has no block.
    grad_key = torch.zeros_like(key)
    grad_cls = torch.empty_like(grad)
    summary_grad_kernel[(grad.shape[1], batch)](
        grad,
        key,
        head_cls,
        grad_key,
        grad_cls,
        num_image,
        seq_len,
        1.0 / math.sqrt(dim),
        BLOCK=block,
        R=dim,
        num_warps=4,
    )
    return grad_key, grad_cls.sum((0, 1))


def launch_bias(
    products: Tensor,
    dim: int,
    lengths: tuple[int, int, int, int],
    limits: tuple[int, int, float, float],
) -> Tensor:
    """Returns the bias `[B, nb, S]` of products of summaries and queries.

    Args:
        products: `[B, nb, S]` float32, contiguous.
        dim: Router width R.
        lengths: As given to `launch_summary`.
        limits: `topn`, `topk`, `scale` and `bias_floor` of the policy.
    """
    out = torch.empty_like(products)
    _launch(bias_kernel, (products, out), dim, lengths, limits)
    return out


def launch_bias_backward(
    grad: Tensor,
    products: Tensor,
    dim: int,
    lengths: tuple[int, int, int, int],
    limits: tuple[int, int, float, float],
) -> Tensor:
    """Returns the gradient of the products, `[B, nb, S]`.

    Args:
        grad: Gradient of the bias, `[B, nb, S]`, contiguous.
        products: As given to `launch_bias`.
        dim: As given to `launch_bias`.
        lengths: As given to `launch_bias`.
        limits: As given to `launch_bias`.
    """
    out = torch.empty_like(products)
    _launch(bias_grad_kernel, (grad, products, out), dim, lengths, limits)
    return out


def _launch(kernel, tensors, dim, lengths, limits) -> None:
    _, prompt_length, local, block = lengths
    topn, topk, policy_scale, floor = limits
    batch, num_blocks, seq_len = tensors[-1].shape
    places = max(16, triton.next_power_of_2(num_blocks))
    kernel[(triton.cdiv(seq_len, _ROWS), batch)](
        *tensors,
        num_blocks,
        prompt_length,
        seq_len,
        1.0 / math.sqrt(dim),
        float(policy_scale),
        max(floor, torch.finfo(torch.float32).tiny),
        LOCAL=local,
        BLOCK=block,
        TOPN=topn,
        TOPK=topk,
        NB=places,
        ROWS=_ROWS,
        # A warp holds 32 queries of 16 blocks in its registers without spilling.
        num_warps=max(1, places // 16),
    )
