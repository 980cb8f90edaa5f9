# mypy: allow-untyped-defs
"""Backward kernels of the training attention: gradients of queries, bias, keys and values.

Both kernels recompute the scores from the saved log norms. One program owns one output tile and
nothing is accumulated through atomics, so gradients repeat bit for bit. Legend and tile kinds are
those of `training_forward`.
"""

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

from ocrcli.kernels.dash_attention.training_forward import (
    TileShape,
    load_rows,
    mixed_key_tile,
    query_tiles,
    region_tile,
    score_tile,
    window_start,
)

QUERY_GRAD_TILE = TileShape(block_m=128, block_n=64, num_warps=8, num_stages=3)
KEY_GRAD_TILE = TileShape(block_m=64, block_n=64, num_warps=4, num_stages=2)


@triton.jit
def _query_grad_step(
    dq,
    b_q,
    b_do,
    log_norm,
    delta,
    k_ptr,
    v_ptr,
    stride_k,
    stride_v,
    bias_ptr,
    dbias_ptr,
    key_start,
    key_limit,
    rows,
    row_ok,
    window,
    num_blocks,
    seq_len,
    scale,
    MASKED: tl.constexpr,
    D: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
):
    offset = tl.arange(0, BLOCK_N)
    key_ok = key_start + offset < key_limit
    b_k = load_rows(k_ptr, key_start, stride_k, key_ok, BLOCK_N, D, MASKED)
    b_v = load_rows(v_ptr, key_start, stride_v, key_ok, BLOCK_N, D, MASKED)
    score = score_tile(
        b_q,
        b_k,
        bias_ptr,
        key_start,
        key_limit,
        rows,
        row_ok,
        window,
        num_blocks,
        seq_len,
        scale,
        MASKED,
        BLOCK_N,
        BLOCK_SIZE,
    )
    weight = tl.exp2(score - log_norm[:, None])
    dweight = tl.dot(b_do, tl.trans(b_v), input_precision="tf32x3")
    dscore = weight * (dweight - delta[:, None])
    dq = tl.dot(dscore.to(b_k.dtype), b_k, dq, input_precision="tf32x3")

    remote = dscore
    if MASKED:
        remote = tl.where((key_start + offset)[None, :] < window[:, None], dscore, 0.0)
    first_block = key_start // BLOCK_SIZE
    for part in tl.static_range(BLOCK_N // BLOCK_SIZE):
        inside = offset // BLOCK_SIZE == part
        column = tl.sum(tl.where(inside[None, :], remote, 0.0), 1)
        block = first_block + part
        tl.store(dbias_ptr + block * seq_len + rows, column, mask=row_ok & (block < num_blocks))
    return dq


@triton.jit(do_not_specialize=["num_image", "prompt_length", "seq_len"])
def query_grad_kernel(
    do_ptr,
    q_ptr,
    k_ptr,
    v_ptr,
    bias_ptr,
    out_ptr,
    log_norm_ptr,
    delta_ptr,
    dq_ptr,
    dbias_ptr,
    stride_qb,
    stride_qs,
    stride_qh,
    stride_kb,
    stride_ks,
    stride_kh,
    stride_vb,
    stride_vs,
    stride_vh,
    num_image,
    prompt_length,
    seq_len,
    score_scale,
    grad_scale,
    H: tl.constexpr,
    D: tl.constexpr,
    LOCAL: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """Writes delta, dq and one head's dbias of one query tile; grid (query tiles, B * H)."""
    tile = tl.num_programs(0) - 1 - tl.program_id(0)
    page_head = tl.program_id(1).to(tl.int64)
    page = page_head // H
    head = page_head % H
    num_blocks = prompt_length // BLOCK_SIZE
    q_ptr += page * stride_qb + head * stride_qh
    k_ptr += page * stride_kb + head * stride_kh
    v_ptr += page * stride_vb + head * stride_vh
    bias_ptr += page * num_blocks * seq_len
    dbias_ptr += page_head * num_blocks * seq_len
    # do, out and dq are contiguous [B, S, H, D].
    dense_offset = page * seq_len * (H * D) + head * D
    row_offset = page_head * seq_len

    start, limit = region_tile(tile, prompt_length, seq_len, BLOCK_M)
    stop = tl.minimum(start + BLOCK_M, limit)
    rows = start + tl.arange(0, BLOCK_M)
    row_ok = rows < limit
    window = window_start(rows, prompt_length, LOCAL)
    first_window = window_start(start, prompt_length, LOCAL)
    b_q = load_rows(q_ptr, start, stride_qs, row_ok, BLOCK_M, D, True)
    b_do = load_rows(do_ptr + dense_offset, start, H * D, row_ok, BLOCK_M, D, True)
    b_out = load_rows(out_ptr + dense_offset, start, H * D, row_ok, BLOCK_M, D, True)
    delta = tl.sum(b_do.to(tl.float32) * b_out.to(tl.float32), 1)
    tl.store(delta_ptr + row_offset + rows, delta, mask=row_ok)
    # An infinite norm gives rows outside the tile's region a weight of zero.
    log_norm = tl.load(log_norm_ptr + row_offset + rows, mask=row_ok, other=float("inf"))
    dq = tl.zeros([BLOCK_M, D], dtype=tl.float32)

    free_end = tl.minimum(first_window, num_image) // BLOCK_N * BLOCK_N
    for key_start in tl.range(0, free_end, BLOCK_N):
        dq = _query_grad_step(
            dq,
            b_q,
            b_do,
            log_norm,
            delta,
            k_ptr,
            v_ptr,
            stride_ks,
            stride_vs,
            bias_ptr,
            dbias_ptr,
            key_start,
            num_image,
            rows,
            row_ok,
            window,
            num_blocks,
            seq_len,
            score_scale,
            False,
            D,
            BLOCK_M,
            BLOCK_N,
            BLOCK_SIZE,
        )

    prompt_steps = tl.cdiv(tl.maximum(tl.minimum(stop, num_image) - free_end, 0), BLOCK_N)
    near_key = tl.maximum(first_window, prompt_length)
    near_steps = tl.cdiv(tl.maximum(stop - near_key, 0), BLOCK_N)
    for step in tl.range(0, prompt_steps + near_steps):
        key_start, key_limit = mixed_key_tile(
            step, free_end, prompt_steps, near_key, num_image, seq_len, BLOCK_N
        )
        dq = _query_grad_step(
            dq,
            b_q,
            b_do,
            log_norm,
            delta,
            k_ptr,
            v_ptr,
            stride_ks,
            stride_vs,
            bias_ptr,
            dbias_ptr,
            key_start,
            key_limit,
            rows,
            row_ok,
            window,
            num_blocks,
            seq_len,
            score_scale,
            True,
            D,
            BLOCK_M,
            BLOCK_N,
            BLOCK_SIZE,
        )

    pointers = dq_ptr + dense_offset + rows.to(tl.int64)[:, None] * (H * D)
    pointers += tl.arange(0, D)[None, :]
    tl.store(pointers, (dq * grad_scale).to(dq_ptr.dtype.element_ty), mask=row_ok[:, None])


@triton.jit
def _key_grad_step(
    dk,
    dv,
    b_k,
    b_v,
    q_ptr,
    do_ptr,
    log_norm_ptr,
    delta_ptr,
    stride_q,
    stride_do,
    bias_ptr,
    row_start,
    key_start,
    key_limit,
    num_blocks,
    prompt_length,
    seq_len,
    scale,
    MASKED: tl.constexpr,
    D: tl.constexpr,
    LOCAL: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
):
    rows = row_start + tl.arange(0, BLOCK_M)
    row_ok = rows < seq_len
    b_q = load_rows(q_ptr, row_start, stride_q, row_ok, BLOCK_M, D, True)
    b_do = load_rows(do_ptr, row_start, stride_do, row_ok, BLOCK_M, D, True)
    log_norm = tl.load(log_norm_ptr + rows, mask=row_ok, other=float("inf"))
    delta = tl.load(delta_ptr + rows, mask=row_ok, other=0.0)
    score = score_tile(
        b_q,
        b_k,
        bias_ptr,
        key_start,
        key_limit,
        rows,
        row_ok,
        window_start(rows, prompt_length, LOCAL),
        num_blocks,
        seq_len,
        scale,
        MASKED,
        BLOCK_N,
        BLOCK_SIZE,
    )
    weight = tl.exp2(score - log_norm[:, None])
    dv = tl.dot(tl.trans(weight.to(b_do.dtype)), b_do, dv, input_precision="tf32x3")
    dweight = tl.dot(b_do, tl.trans(b_v), input_precision="tf32x3")
    dscore = weight * (dweight - delta[:, None])
    dk = tl.dot(tl.trans(dscore.to(b_q.dtype)), b_q, dk, input_precision="tf32x3")
    return dk, dv


@triton.jit(do_not_specialize=["num_image", "prompt_length", "seq_len"])
def key_grad_kernel(
    do_ptr,
    q_ptr,
    k_ptr,
    v_ptr,
    bias_ptr,
    log_norm_ptr,
    delta_ptr,
    dk_ptr,
    dv_ptr,
    stride_qb,
    stride_qs,
    stride_qh,
    stride_kb,
    stride_ks,
    stride_kh,
    stride_vb,
    stride_vs,
    stride_vh,
    num_image,
    prompt_length,
    seq_len,
    score_scale,
    grad_scale,
    H: tl.constexpr,
    D: tl.constexpr,
    LOCAL: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """Writes dk and dv of one key tile; grid (key tiles, B * H)."""
    page_head = tl.program_id(1).to(tl.int64)
    page = page_head // H
    head = page_head % H
    num_blocks = prompt_length // BLOCK_SIZE
    q_ptr += page * stride_qb + head * stride_qh
    k_ptr += page * stride_kb + head * stride_kh
    v_ptr += page * stride_vb + head * stride_vh
    bias_ptr += page * num_blocks * seq_len
    # do, dk and dv are contiguous [B, S, H, D].
    dense_offset = page * seq_len * (H * D) + head * D
    do_ptr += dense_offset
    log_norm_ptr += page_head * seq_len
    delta_ptr += page_head * seq_len

    start, limit = region_tile(tl.program_id(0), prompt_length, seq_len, BLOCK_N)
    in_prompt = start < prompt_length
    key_limit = tl.where(in_prompt, num_image, seq_len)
    keys = start + tl.arange(0, BLOCK_N)
    key_ok = keys < key_limit
    b_k = load_rows(k_ptr, start, stride_ks, key_ok, BLOCK_N, D, True)
    b_v = load_rows(v_ptr, start, stride_vs, key_ok, BLOCK_N, D, True)
    dk = tl.zeros([BLOCK_N, D], dtype=tl.float32)
    dv = tl.zeros([BLOCK_N, D], dtype=tl.float32)

    # From the diagonal on, until the tile has left the window of every query; nobody reads a tile
    # of padding only.
    mixed_begin = tl.where(start < key_limit, start, seq_len)
    mixed_end = tl.minimum(start + (BLOCK_N + LOCAL - 1), seq_len)
    mixed_steps = tl.cdiv(tl.maximum(mixed_end - mixed_begin, 0), BLOCK_M)
    free_begin = mixed_begin + mixed_steps * BLOCK_M
    for row_start in tl.range(mixed_begin, free_begin, BLOCK_M):
        dk, dv = _key_grad_step(
            dk,
            dv,
            b_k,
            b_v,
            q_ptr,
            do_ptr,
            log_norm_ptr,
            delta_ptr,
            stride_qs,
            H * D,
            bias_ptr,
            row_start,
            start,
            key_limit,
            num_blocks,
            prompt_length,
            seq_len,
            score_scale,
            True,
            D,
            LOCAL,
            BLOCK_M,
            BLOCK_N,
            BLOCK_SIZE,
        )

    # All later queries, image or response, read an image tile as remote keys.
    free_end = tl.where(in_prompt, seq_len, free_begin)
    for row_start in tl.range(free_begin, free_end, BLOCK_M):
        dk, dv = _key_grad_step(
            dk,
            dv,
            b_k,
            b_v,
            q_ptr,
            do_ptr,
            log_norm_ptr,
            delta_ptr,
            stride_qs,
            H * D,
            bias_ptr,
            row_start,
            start,
            key_limit,
            num_blocks,
            prompt_length,
            seq_len,
            score_scale,
            False,
            D,
            LOCAL,
            BLOCK_M,
            BLOCK_N,
            BLOCK_SIZE,
        )

    # The free loop does not mask single keys, so rows of padding keys hold garbage.
    dk = tl.where(key_ok[:, None], dk * grad_scale, 0.0)
    dv = tl.where(key_ok[:, None], dv, 0.0)
    offsets = dense_offset + keys.to(tl.int64)[:, None] * (H * D) + tl.arange(0, D)[None, :]
    key_stored = (keys < limit)[:, None]
    tl.store(dk_ptr + offsets, dk.to(dk_ptr.dtype.element_ty), mask=key_stored)
    tl.store(dv_ptr + offsets, dv.to(dv_ptr.dtype.element_ty), mask=key_stored)


def launch_backward(
    grad_out: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    block_bias: Tensor,
    out: Tensor,
    log_norm: Tensor,
    num_image_tokens: int,
    prompt_length: int,
    local: int,
    block_size: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Returns the gradients of `q`, `k`, `v` (`[B, S, H, D]`) and `block_bias` (`[B, nb, S]`).

    Args:
        grad_out: Gradient of the output, `[B, S, H, D]`, contiguous, dtype of `q`.
        q: Queries as given to `launch_forward`.
        k: Keys as given to `launch_forward`.
        v: Values as given to `launch_forward`.
        block_bias: Bias as given to `launch_forward`.
        out: Output of `launch_forward`.
        log_norm: Log norms of `launch_forward`.
        num_image_tokens: See `dash_attention_training`.
        prompt_length: See `dash_attention_training`.
        local: See `dash_attention_training`.
        block_size: See `dash_attention_training`.
    """
    batch, seq_len, heads, head_size = q.shape
    num_blocks = block_bias.shape[1]
    dq, dk, dv = (torch.empty(q.shape, dtype=q.dtype, device=q.device) for _ in range(3))
    delta = torch.empty_like(log_norm)
    # Zeros, because tiles that a query cannot read are never visited.
    head_bias_grad = torch.zeros(batch, heads, num_blocks, seq_len, device=q.device)
    strides = (*q.stride()[:3], *k.stride()[:3], *v.stride()[:3])
    lengths = (num_image_tokens, prompt_length, seq_len)
    grad_scale = 1.0 / math.sqrt(head_size)
    scales = (math.log2(math.e) * grad_scale, grad_scale)
    constants = {"H": heads, "D": head_size, "LOCAL": local, "BLOCK_SIZE": block_size}

    shape = QUERY_GRAD_TILE
    query_grad_kernel[(query_tiles(prompt_length, seq_len, shape.block_m), batch * heads)](
        grad_out,
        q,
        k,
        v,
        block_bias,
        out,
        log_norm,
        delta,
        dq,
        head_bias_grad,
        *strides,
        *lengths,
        *scales,
        **constants,
        BLOCK_M=shape.block_m,
        BLOCK_N=max(shape.block_n, block_size),
        num_warps=shape.num_warps,
        num_stages=shape.num_stages,
    )
    # Runs after the kernel above, which writes delta.
    shape = KEY_GRAD_TILE
    block_n = max(shape.block_n, block_size)
    key_grad_kernel[(query_tiles(prompt_length, seq_len, block_n), batch * heads)](
        grad_out,
        q,
        k,
        v,
        block_bias,
        log_norm,
        delta,
        dk,
        dv,
        *strides,
        *lengths,
        *scales,
        **constants,
        BLOCK_M=shape.block_m,
        BLOCK_N=block_n,
        num_warps=shape.num_warps,
        num_stages=shape.num_stages,
    )
    return dq, dk, dv, head_bias_grad.sum(1)
