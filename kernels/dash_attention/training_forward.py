# mypy: allow-untyped-defs
"""Forward kernel of the training attention, and the tile arithmetic its backward pass repeats.

Legend: `B` pages, `S` tokens, `H` heads, `D` head size; a tile is `BLOCK_M` queries by `BLOCK_N`
keys. Scores and log norms are base 2. The bias comes transposed, `[B, nb, S]`, so that one block's
bias for a run of queries is contiguous.

Query tiles are cut separately in the prompt and in the response, so no tile spans both. Key tiles
come in two kinds. A *free* tile lies before the window of every query in the tile and holds image
keys only: all of it is remote and nothing needs a mask. A *mixed* tile is anything else, masked
key by key. A response key has no block, so its bias reads as minus infinity; that hides response
keys before the window without a further condition.
"""

import math
from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor


@dataclass(frozen=True)
class TileShape:
    """Launch shape of one kernel: queries and keys per tile, warps, pipeline stages."""

    block_m: int
    block_n: int
    num_warps: int
    num_stages: int


FORWARD_TILE = TileShape(block_m=128, block_n=64, num_warps=4, num_stages=3)

_LOG2E = tl.constexpr(math.log2(math.e))
_UNSELECTED_BIAS = tl.constexpr(-1e4)


@triton.jit
def region_tile(tile, prompt_length, seq_len, BLOCK: tl.constexpr):
    """Returns the first position of a tile and the end of its region, prompt tiles first."""
    prompt_tiles = tl.cdiv(prompt_length, BLOCK)
    in_prompt = tile < prompt_tiles
    start = tl.where(in_prompt, tile * BLOCK, prompt_length + (tile - prompt_tiles) * BLOCK)
    return start, tl.where(in_prompt, prompt_length, seq_len)


@triton.jit
def window_start(rows, prompt_length, LOCAL: tl.constexpr):
    """Returns the first local key of each query position."""
    return tl.maximum(rows - LOCAL + 1, tl.where(rows >= prompt_length, prompt_length, 0))


@triton.jit
def mixed_key_tile(step, first_step_key, prompt_steps, near_key, num_image, seq_len, BLOCK_N):
    """Returns the first key and the key limit of a mixed tile: prompt tiles, then the window."""
    in_prompt = step < prompt_steps
    key_start = tl.where(
        in_prompt, first_step_key + step * BLOCK_N, near_key + (step - prompt_steps) * BLOCK_N
    )
    return key_start, tl.where(in_prompt, num_image, seq_len)


@triton.jit
def load_rows(
    base_ptr, start, stride, row_ok, ROWS: tl.constexpr, D: tl.constexpr, MASKED: tl.constexpr
):
    """Returns `[ROWS, D]` from a row-strided matrix, zeros where `row_ok` is False."""
    # Only the tile's origin needs 64 bits.
    origin = base_ptr + tl.cast(start, tl.int64) * stride
    pointers = origin + (tl.arange(0, ROWS)[:, None] * stride + tl.arange(0, D)[None, :])
    if MASKED:
        return tl.load(pointers, mask=row_ok[:, None], other=0.0)
    else:
        return tl.load(pointers)


@triton.jit
def load_bias_column(bias_ptr, block, rows, row_ok, num_blocks, seq_len):
    """Returns one block's base-2 bias per query, minus infinity where not selected."""
    column = tl.load(
        bias_ptr + block * seq_len + rows,
        mask=row_ok & (block < num_blocks),
        other=float("-inf"),
    )
    return tl.where(column > _UNSELECTED_BIAS, column * _LOG2E, float("-inf"))


@triton.jit
def score_tile(
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
    MASKED: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
):
    """Returns biased, masked base-2 scores, `[BLOCK_M, BLOCK_N]`."""
    score = tl.dot(b_q, tl.trans(b_k), input_precision="tf32x3") * scale
    offset = tl.arange(0, BLOCK_N)[None, :]
    first_block = key_start // BLOCK_SIZE
    b_bias = load_bias_column(bias_ptr, first_block, rows, row_ok, num_blocks, seq_len)[:, None]
    for part in tl.static_range(1, BLOCK_N // BLOCK_SIZE):
        column = load_bias_column(bias_ptr, first_block + part, rows, row_ok, num_blocks, seq_len)
        b_bias = tl.where(offset >= part * BLOCK_SIZE, column[:, None], b_bias)

    if MASKED:
        b_key = key_start + offset
        score += tl.where(b_key < window[:, None], b_bias, 0.0)
        score = tl.where((b_key <= rows[:, None]) & (b_key < key_limit), score, float("-inf"))
    else:
        score += b_bias
    return score


@triton.jit
def _forward_step(
    acc,
    norm,
    peak,
    b_q,
    k_ptr,
    v_ptr,
    stride_k,
    stride_v,
    bias_ptr,
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
    key_ok = key_start + tl.arange(0, BLOCK_N) < key_limit
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
    new_peak = tl.maximum(peak, tl.max(score, 1))
    # A row that has read nothing yet keeps -inf as its peak; -inf - -inf would be NaN.
    shift = tl.where(new_peak == float("-inf"), 0.0, new_peak)
    weight = tl.exp2(score - shift[:, None])
    decay = tl.exp2(peak - shift)
    norm = norm * decay + tl.sum(weight, 1)
    acc = tl.dot(weight.to(b_v.dtype), b_v, acc * decay[:, None], input_precision="tf32x3")
    return acc, norm, new_peak


@triton.jit(do_not_specialize=["num_image", "prompt_length", "seq_len"])
def forward_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    bias_ptr,
    out_ptr,
    log_norm_ptr,
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
    scale,
    H: tl.constexpr,
    D: tl.constexpr,
    LOCAL: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """Writes the output and base-2 log norm of one query tile; grid (query tiles, B * H)."""
    # Late tiles read the most keys; starting them first keeps the last wave short.
    tile = tl.num_programs(0) - 1 - tl.program_id(0)
    page_head = tl.program_id(1).to(tl.int64)
    page = page_head // H
    head = page_head % H
    num_blocks = prompt_length // BLOCK_SIZE
    q_ptr += page * stride_qb + head * stride_qh
    k_ptr += page * stride_kb + head * stride_kh
    v_ptr += page * stride_vb + head * stride_vh
    bias_ptr += page * num_blocks * seq_len

    start, limit = region_tile(tile, prompt_length, seq_len, BLOCK_M)
    stop = tl.minimum(start + BLOCK_M, limit)
    rows = start + tl.arange(0, BLOCK_M)
    row_ok = rows < limit
    window = window_start(rows, prompt_length, LOCAL)
    first_window = window_start(start, prompt_length, LOCAL)
    b_q = load_rows(q_ptr, start, stride_qs, row_ok, BLOCK_M, D, True)

    acc = tl.zeros([BLOCK_M, D], dtype=tl.float32)
    norm = tl.zeros([BLOCK_M], dtype=tl.float32)
    peak = tl.full([BLOCK_M], float("-inf"), dtype=tl.float32)

    free_end = tl.minimum(first_window, num_image) // BLOCK_N * BLOCK_N
    for key_start in tl.range(0, free_end, BLOCK_N):
        acc, norm, peak = _forward_step(
            acc,
            norm,
            peak,
            b_q,
            k_ptr,
            v_ptr,
            stride_ks,
            stride_vs,
            bias_ptr,
            key_start,
            num_image,
            rows,
            row_ok,
            window,
            num_blocks,
            seq_len,
            scale,
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
        acc, norm, peak = _forward_step(
            acc,
            norm,
            peak,
            b_q,
            k_ptr,
            v_ptr,
            stride_ks,
            stride_vs,
            bias_ptr,
            key_start,
            key_limit,
            rows,
            row_ok,
            window,
            num_blocks,
            seq_len,
            scale,
            True,
            D,
            BLOCK_M,
            BLOCK_N,
            BLOCK_SIZE,
        )

    empty = norm == 0.0
    norm = tl.where(empty, 1.0, norm)
    log_norm = tl.where(empty, 0.0, peak + tl.log2(norm))
    out_rows = (page * seq_len + rows) * (H * D) + head * D  # [BLOCK_M]
    out_pointers = out_ptr + out_rows[:, None] + tl.arange(0, D)[None, :]
    b_out = (acc / norm[:, None]).to(out_ptr.dtype.element_ty)
    tl.store(out_pointers, b_out, mask=row_ok[:, None])
    tl.store(log_norm_ptr + page_head * seq_len + rows, log_norm, mask=row_ok)


def query_tiles(prompt_length: int, seq_len: int, block: int) -> int:
    """Returns the number of tiles when prompt and response are cut separately."""
    return triton.cdiv(prompt_length, block) + triton.cdiv(seq_len - prompt_length, block)


def launch_forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    block_bias: Tensor,
    num_image_tokens: int,
    prompt_length: int,
    local: int,
    block_size: int,
) -> tuple[Tensor, Tensor]:
    """Returns the attention output `[B, S, H, D]` and its base-2 log norms `[B, H, S]` float32.

    Args:
        q: Queries `[B, S, H, D]`; the last dimension is contiguous, as for `k` and `v`.
        k: Keys `[B, S, H, D]`.
        v: Values `[B, S, H, D]`.
        block_bias: `[B, nb, S]` float32, contiguous.
        num_image_tokens: See `dash_attention_training`.
        prompt_length: See `dash_attention_training`.
        local: See `dash_attention_training`.
        block_size: See `dash_attention_training`.
    """
    batch, seq_len, heads, head_size = q.shape
    shape = FORWARD_TILE
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    log_norm = torch.empty(batch, heads, seq_len, dtype=torch.float32, device=q.device)
    grid = (query_tiles(prompt_length, seq_len, shape.block_m), batch * heads)
    forward_kernel[grid](
        q,
        k,
        v,
        block_bias,
        out,
        log_norm,
        *q.stride()[:3],
        *k.stride()[:3],
        *v.stride()[:3],
        num_image_tokens,
        prompt_length,
        seq_len,
        math.log2(math.e) / math.sqrt(head_size),
        H=heads,
        D=head_size,
        LOCAL=local,
        BLOCK_SIZE=block_size,
        BLOCK_M=shape.block_m,
        BLOCK_N=max(shape.block_n, block_size),
        num_warps=shape.num_warps,
        num_stages=shape.num_stages,
    )
    return out, log_norm
